"""Every example in the documentation runs and prints what it says."""

import doctest
import re
from pathlib import Path

import pytest

from hpcdispatch.dispatchers import registry as dispatchers
from hpcdispatch.predictors import registry as predictors
from hpcdispatch.workloads import GENERATORS
from hpcdispatch.workloads.slurm_workload import SACCT_COLUMNS

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_print_what_they_say(page):
    if page.name == "learning.md":
        pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'hpcdispatch[learn]'")
    result = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("name", [*dispatchers.names(), *predictors.names()])
def test_a_page_lists_what_is_registered(name):
    rows = [
        line
        for line in (ROOT / "docs" / "dispatchers.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    assert any(f"`{name}`" in row.split("|")[1] for row in rows)


@pytest.mark.parametrize("name", GENERATORS.names())
def test_a_page_tells_of_every_generator(name):
    assert any(re.search(rf"\b{name}\b", page.read_text(encoding="utf-8")) for page in PAGES)


def test_every_page_is_linked():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [page.name for page in PAGES if page.parent != ROOT and f"{page.name})" not in text] == []


def test_a_page_shows_the_plugin_as_it_is():
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:python|toml)\n(.*?)```", page, flags=re.DOTALL)
    plugin = ROOT / "examples" / "plugin"
    for file in (plugin / "myhpc.py", plugin / "pyproject.toml"):
        assert file.read_text(encoding="utf-8") in blocks, f"docs/extending.md does not show {file.name} as it is"


def test_the_readme_is_one_page():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 600


def test_the_plugin_stays_short():
    lines = (ROOT / "examples" / "plugin" / "myhpc.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 60


def test_the_columns_of_the_accounting_are_those_that_the_commands_ask_for():
    assert f" -o {SACCT_COLUMNS} > " in (ROOT / "docs" / "slurm.md").read_text(encoding="utf-8")
