"""``hpcdispatch list``."""

import json

import pytest

from hpcdispatch.cli.commands.list_parts import meanings
from hpcdispatch.dispatchers import orders
from hpcdispatch.dispatchers import registry as dispatchers
from hpcdispatch.predictors import registry as predictors
from hpcdispatch.workloads import GENERATORS


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_everything_registered_has_a_line(invoke, columns):
    found = invoke("list", columns=columns)
    assert found.exit_code == 0
    lines = found.stdout.splitlines()
    for name in [*dispatchers.names(), *predictors.names(), *GENERATORS.names(), *orders.names()]:
        kinds = (dispatchers, predictors, GENERATORS, orders)
        assert len([line for line in lines if line.startswith(f"{name} ")]) == sum(
            name in kind.names() for kind in kinds
        )
    assert "kth-sp2" in found.stdout
    assert all(len(line) <= columns for line in lines)
    assert "…" not in found.stdout


@pytest.mark.parametrize("kind", ["predictors", "predictor"])
def test_a_kind_lists_its_parts_only(invoke, kind):
    lines = invoke("list", kind).stdout.splitlines()
    assert {line.partition(" ")[0] for line in lines} >= set(predictors.names())
    assert not any(line.startswith("conservative ") for line in lines)


def test_json(invoke):
    shown = json.loads(invoke("list", "--json").stdout)
    assert set(shown) == {
        "schema",
        "command",
        "answer",
        "dispatchers",
        "objectives",
        "constraints",
        "goals",
        "orders",
        "predictors",
        "corrections",
        "workloads",
        "traces",
    }
    [lublin] = [entry for entry in shown["workloads"] if entry["name"] == "lublin"]
    assert {"name": "jobs", "default": 1000}.items() <= lublin["options"][0].items()


def test_parts_that_do_not_load_are_listed_with_their_error(invoke, plugin):
    found = invoke("list", "--json")
    assert found.exit_code == 0
    entries = {entry["name"]: entry for entry in json.loads(found.stdout)["dispatchers"]}
    assert "nosuchmodule" in entries["absent"]["error"]
    assert "NotThere" in entries["nothere"]["error"]
    assert entries["broken"]["error"].endswith("RuntimeError: not today")
    assert entries["boom"]["error"] is None
    assert entries["stuck"]["options"][0]["required"]
    assert "RuntimeError: not today" in " ".join(invoke("list").stdout.split())


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("evict", ["Maurya et al., DS-RT 2020", "policy=dp (dp|greedy|kill|random|wait|static)", "least loss"]),
        ("last2", ["IEEE TPDS 18(6), 2007", "count=2", "Number of last jobs, at least 1."]),
        ("lublin", ["jobs=1000", "Lublin"]),
        ("conservative", ["compress=until-stable (until-stable|once|never)"]),
        ("deadline", ["(constraint)"]),
    ],
)
def test_one_part_is_explained(invoke, name, told):
    found = invoke("list", name)
    assert found.exit_code == 0
    text = " ".join(found.stdout.split())
    assert [part for part in told if part not in text] == []
    assert "``" not in text


@pytest.mark.parametrize("registry", [dispatchers, predictors, GENERATORS], ids=lambda registry: registry.kind)
def test_every_option_has_a_meaning(registry):
    silent = {
        f"{name}:{option.name}"
        for name in registry.names()
        for option in registry.options(name)
        if not meanings(registry, name).get(option.name)
    }
    assert silent == set()


def test_an_unknown_part_is_one_line(invoke):
    found = invoke("list", "esay")
    assert found.exit_code == 2
    assert "'esay': no part of this name (did you mean easy?)" in found.stderr
