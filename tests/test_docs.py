"""Every example in the documentation runs and prints what it says."""

import doctest
import re
from pathlib import Path

import nbformat
import pytest
from notebooks import TUTORIALS, executed, printed

from hpcdispatch import simulate
from hpcdispatch.bench.campaigns.comparison_plots import ComparisonPlots, ComparisonsPlots
from hpcdispatch.dispatchers import registry as dispatchers
from hpcdispatch.predictors import registry as predictors
from hpcdispatch.simulation.plots.result_plots import ResultPlots
from hpcdispatch.workloads import GENERATORS
from hpcdispatch.workloads.slurm_workload import SACCT_COLUMNS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
#: Pages of users; the site has the studies' pages as downloads.
SITE = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *SITE]


def short(page):
    return page.relative_to(ROOT).as_posix()


#: Pages whose examples take several seconds, for nights.
SLOW = {
    "docs/dispatchers/eviction.md",
    "docs/dispatchers/lookahead.md",
    "docs/dispatchers/site.md",
    "docs/how-to/power-and-failures.md",
    "docs/reference/gallery.md",
    "docs/reference/plugins.md",
}
MARKED = [pytest.param(page, marks=[pytest.mark.nightly] * (short(page) in SLOW), id=short(page)) for page in PAGES]


@pytest.mark.parametrize("page", MARKED)
def test_examples_print_what_they_say(page):
    if page.name == "learning.md":
        pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'hpcdispatch[learn]'")
    result = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=short)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_gallery_has_every_plot_with_its_picture():
    text = (DOCS / "reference" / "gallery.md").read_text(encoding="utf-8")
    plots = {name for name in (*vars(ResultPlots), *vars(ComparisonPlots)) if not name.startswith("_")}
    assert set(re.findall(r"\.plot\.(\w+)\(", text)) == plots
    several = {name for name in vars(ComparisonsPlots) if not name.startswith("_")}
    assert set(re.findall(r"several\.plot\.(\w+)\(", text)) == several


@pytest.mark.parametrize("name", [*dispatchers.names(), *predictors.names()])
def test_a_page_lists_what_is_registered(name):
    rows = [
        line
        for line in (DOCS / "dispatchers" / "index.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    assert any(f"`{name}`" in row.split("|")[1] for row in rows)


@pytest.mark.parametrize("family", sorted(path.parent.name for path in ROOT.glob("dispatchers/*/__init__.py")))
def test_a_family_has_a_page(family):
    assert (DOCS / "dispatchers" / f"{family}.md").is_file()


@pytest.mark.parametrize("name", GENERATORS.names())
def test_a_page_tells_of_every_generator(name):
    assert any(re.search(rf"\b{name}\b", page.read_text(encoding="utf-8")) for page in PAGES)


@pytest.mark.parametrize("table", ["jobs", "attempts", "decisions"])
def test_a_page_has_the_columns_of_results(table):
    page = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")
    rows = page.partition(f"| column of `result.{table}` |")[2].partition("\n\n")[0]
    documented = {name for row in rows.splitlines()[1:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    result = simulate("lublin:jobs=20,processors=8", "easy")
    assert set(getattr(result, table).columns) - documented == set()


@pytest.mark.parametrize("path", sorted(TUTORIALS.glob("*.ipynb")), ids=short)
def test_tutorials_have_their_outputs(path):
    assert len(printed(nbformat.read(path, as_version=4))) >= 2


@pytest.mark.nightly
@pytest.mark.parametrize("path", sorted(TUTORIALS.glob("*.ipynb")), ids=short)
def test_tutorials_print_what_they_say(path):
    kept = nbformat.read(path, as_version=4)
    assert printed(executed(path)) == printed(kept)


def test_a_page_shows_the_plugin_as_it_is():
    page = (DOCS / "reference" / "plugins.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:python|toml)\n(.*?)```", page, flags=re.DOTALL)
    plugin = ROOT / "examples" / "plugin"
    for file in (plugin / "myhpc.py", plugin / "pyproject.toml"):
        assert file.read_text(encoding="utf-8") in blocks, f"reference/plugins.md does not show {file.name} as it is"


def test_the_readme_has_the_numbers_of_the_site():
    """One number in two places has one value, whatever is measured anew."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", readme, re.MULTILINE)
    results = (DOCS / "evidence" / "results.md").read_text(encoding="utf-8")
    means = re.findall(r"^\|[^|]*\| `([\w-]+)` \| \**([\d,]+)", results, re.MULTILINE)
    assert sorted(means) == sorted((name, mean) for name, *row in rows for mean in row)
    traces = re.findall(r"^\| (\S+) \| `easy`", results, re.MULTILINE)
    assert "| | " + " | ".join(traces) + " |" in readme
    assert f"| dispatchers | {len(dispatchers.names())}, plug-ins in Python |" in readme
    performance = (DOCS / "evidence" / "performance.md").read_text(encoding="utf-8")
    factors = [int(factor) for factor in re.findall(r"\| (\d+) times(?: as fast)? \|$", performance, re.MULTILINE)]
    assert f"[{min(factors)} to {max(factors)} times AccaSim]" in readme
    for reference, ours, factor in re.findall(r"\| ([\d,]+) \| ([\d,]+) \| (\d+) times", performance):
        assert int(ours.replace(",", "")) / int(reference.replace(",", "")) == pytest.approx(int(factor), rel=0.02)


def test_the_site_has_the_numbers_of_the_studies():
    studies = ROOT / "bench" / "studies" / "pages"
    study = (studies / "performance.md").read_text(encoding="utf-8")
    against = (DOCS / "evidence" / "performance.md").read_text(encoding="utf-8").partition("## Whole")[0]
    rows = re.findall(r"\| ([\d,]+) \| ([\d,]+) \|", against)
    assert len(rows) == 6
    assert set(rows) <= set(re.findall(r"\| ([\d,]+) \| ([\d,]+) \|", study))
    table = (studies / "lookahead.md").read_text(encoding="utf-8").partition("## Whole traces")[2].partition("## ")[0]
    results = (DOCS / "evidence" / "results.md").read_text(encoding="utf-8")
    for name in ("easy", "easy-sjbf", "conservative", "lxf", "lookahead"):
        means = re.findall(rf"\| \**{name}\** \| ([\d,.]+) \(", table)
        shown = re.findall(rf"\| `{name}` \| \**([\d,]+)", results)
        assert len(means) == len(shown) == 4
        for mean, rounded in zip(means, shown, strict=True):
            assert abs(float(mean.replace(",", "")) - int(rounded.replace(",", ""))) < 0.6


@pytest.mark.parametrize("page", ["README.md", "SUPPORT.md", "docs/start/install.md", "docs/start/index.md"])
def test_pages_name_the_supported_pythons(page):
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    versions = re.findall(r"Python :: (3\.\d+)", project)
    text = (ROOT / page).read_text(encoding="utf-8")
    assert f"{versions[0]} to {versions[-1]}" in text or ", ".join(versions) in text


def test_the_columns_of_the_accounting_are_those_that_the_commands_ask_for():
    assert f" -o {SACCT_COLUMNS} > " in (DOCS / "how-to" / "traces.md").read_text(encoding="utf-8")
