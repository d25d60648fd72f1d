"""``hpcdispatch list``."""

import json

import pytest

from hpcdispatch.dispatchers import registry as dispatchers
from hpcdispatch.predictors import registry as predictors


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_everything_registered_with_its_options(invoke, columns):
    found = invoke("list", columns=columns)
    assert found.exit_code == 0
    for name in [*dispatchers.names(), *predictors.names(), "lublin", "kth-sp2"]:
        assert name in found.stdout
    assert "compress=until-stable (until-stable|once|never)" in " ".join(found.stdout.split())
    assert all(len(line) <= columns for line in found.stdout.splitlines())


def test_json(invoke):
    shown = json.loads(invoke("list", "--json").stdout)
    assert set(shown) == {"dispatchers", "objectives", "constraints", "predictors", "workloads", "traces"}
    [lublin] = [entry for entry in shown["workloads"] if entry["name"] == "lublin"]
    assert {"name": "jobs", "default": 1000}.items() <= lublin["options"][0].items()


def test_parts_that_do_not_load_are_listed_with_their_error(invoke, plugin):
    found = invoke("list", "--json")
    assert found.exit_code == 0
    entries = {entry["name"]: entry for entry in json.loads(found.stdout)["dispatchers"]}
    assert "nosuchmodule" in entries["absent"]["error"]
    assert "NotThere" in entries["gone"]["error"]
    assert entries["broken"]["error"].endswith("RuntimeError: not today")
    assert entries["boom"]["error"] is None
    assert entries["stuck"]["options"][0]["required"]
    assert "RuntimeError: not today" in " ".join(invoke("list").stdout.split())
