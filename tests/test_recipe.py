"""The conda recipe needs what the package needs."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RECIPE = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")
#: Names of packages on conda-forge that differ.
CONDA = {"ortools": "ortools-python"}


def listed(section):
    block = re.search(rf"^  {section}:\n((?:    - .*\n)+)", RECIPE, re.MULTILINE)
    return [line.removeprefix("    - ") for line in block[1].splitlines()]


def as_conda(requirement):
    name, least = requirement.split(">=")
    return f"{CONDA.get(name, name)} >={least}"


def test_runs_with_the_dependencies_of_the_project():
    python = f"python {PROJECT['project']['requires-python']}"
    assert listed("run") == [python, *map(as_conda, PROJECT["project"]["dependencies"])]


def test_builds_with_the_requirements_of_the_build():
    assert set(map(as_conda, PROJECT["build-system"]["requires"])) <= set(listed("host"))


@pytest.mark.parametrize("field", ["description", "license"])
def test_says_what_the_project_says(field):
    assert PROJECT["project"][field] in RECIPE


def test_has_the_command_of_the_project():
    name, target = next(iter(PROJECT["project"]["scripts"].items()))
    assert f"- {name} = {target}" in RECIPE
