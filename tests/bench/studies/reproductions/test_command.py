"""``hpcdispatch reproduce`` as a user sees it."""

import json

import pytest
from click.testing import CliRunner

from hpcdispatch.bench.campaigns.execution import CampaignInterrupted, CampaignOutcome
from hpcdispatch.bench.studies.reproductions import SimulationFailedError
from hpcdispatch.cli import cli


@pytest.fixture
def invoke(monkeypatch):
    """Run a command in this process, as wide as it says."""

    def run(*args, columns=100):
        monkeypatch.setenv("COLUMNS", str(columns))
        return CliRunner().invoke(cli, [str(arg) for arg in args])

    return run


def test_lists_all_with_status_and_last_result(invoke, tmp_path):
    found = invoke("reproduce", "--list", columns=160)
    assert (found.exit_code, found.stderr) == (0, "")
    for name in ("cp2019/table2", "icpp2019/fig4", "jsspp2000/table2", "ijhpca2019/fig8", "dsrt2020/fig5"):
        assert name in found.stdout
    assert "built" in found.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.nightly
def test_makes_one_and_keeps_it(invoke, tmp_path):
    out = tmp_path / "results"
    found = invoke("reproduce", "cp2019/fig1", "--out", out, columns=160)
    assert (found.exit_code, found.stderr) == (0, "")
    for text in (
        "Accuracy of the three predictions",
        "scale smoke",
        "not public",
        "heuristic",
        "paper",
        "25.8",
        "not decided",
        "claims: 0 hold (not counted: 5 calibrated)",
    ):
        assert text in found.stdout
    for suffix in ("json", "png", "svg", "csv"):
        path = out / "cp2019" / f"fig1.{suffix}"
        assert path.is_file()
        assert str(path) in found.stdout.replace("\n", "")
    assert json.loads((out / "cp2019" / "fig1.json").read_text())["scale"] == "smoke"
    listed = invoke("reproduce", "--list", "--out", out, columns=160)
    assert "smoke: 0 hold" in listed.stdout
    page = tmp_path / "page.md"
    written = invoke("reproduce", "--docs", page, "--out", out)
    assert (written.exit_code, written.stderr) == (0, f"hpcdispatch: note: {page}: 1 result\n")
    assert written.stdout == "Nothing was run.\n"
    assert "### cp2019/fig1: Accuracy of the three predictions" in page.read_text(encoding="utf-8")


def test_without_out_nothing_is_kept(invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = invoke("reproduce", "cp2019/fig1")
    assert found.exit_code == 0
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("cp2019/fig33",), "unknown reproduction 'cp2019/fig33' (did you mean cp2019/fig3?); known: cp2019/fig1, "),
        (("cp2019/fig1", "--scale", "tiny"), "Invalid value for '--scale': 'tiny' is not one of 'smoke', 'brief', "),
        ((), "expected a NAME, --all, --list or --docs (see hpcdispatch reproduce --help)"),
        (("cp2019/fig1", "--all"), "expected NAMEs or --all, got both"),
        (("--docs", "page.html"), "--docs page.html: expected a file name that ends in .md"),
        (("--list", "--out", "nowhere"), "nowhere: expected a folder of results, got none"),
        (("cp2019/fig1", "--out", __file__), f"{__file__}: expected a directory for --out, got a file"),
    ],
)
def test_usage_errors(invoke, args, message):
    found = invoke("reproduce", *args)
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.startswith(f"hpcdispatch: error: {message}")


def test_what_is_not_built_says_so_and_nothing_is_faked(invoke, monkeypatch):
    monkeypatch.setattr("hpcdispatch.bench.studies.reproductions.catalogue._runs", lambda paper: {})
    found = invoke("reproduce", "cp2019/fig1", "icpp2019/fig4")
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == "hpcdispatch: error: cp2019/fig1: not built; built: none\n"
    assert " not built " in invoke("reproduce", "--list", columns=160).stdout


def test_an_interrupted_one_says_how_far_it_came(invoke, monkeypatch):
    def stopped(*args, **options):
        raise CampaignInterrupted(CampaignOutcome(3))

    monkeypatch.setattr("hpcdispatch.bench.studies.reproductions.simulations.run_campaign", stopped)
    found = invoke("reproduce", "cp2019/fig1")
    assert (found.exit_code, found.stdout) == (1, "")
    assert found.stderr == "hpcdispatch: interrupted: cp2019/fig1: 0 of 3 simulations finished\n"


def test_a_failed_simulation_is_told(invoke, monkeypatch):
    def fails(*args, **options):
        raise SimulationFailedError("hcp3, seed 0: KeyError: 'boom'", "Traceback of the worker")

    monkeypatch.setattr("hpcdispatch.bench.studies.reproductions.cp2019.contenders.simulate_all", fails)
    found = invoke("reproduce", "cp2019/fig1", "--debug")
    assert (found.exit_code, found.stdout) == (1, "")
    assert "Traceback of the worker" in found.stderr
    assert "hpcdispatch: error: cp2019/fig1: hcp3, seed 0: KeyError: 'boom'" in found.stderr


def test_a_figure_without_data_has_no_numbers_and_a_page(invoke, tmp_path):
    out = tmp_path / "results"
    page = tmp_path / "page.md"
    found = invoke("reproduce", "ijhpca2019/fig5", "--out", out, "--docs", page, columns=160)
    assert (found.exit_code, found.stderr) == (0, f"hpcdispatch: note: {page}: 1 result\n")
    assert "not testable here" in found.stdout
    assert "claims: 0 hold (not counted: 1 not testable here)" in found.stdout
    assert "Measured" not in page.read_text().replace("Measured times have a file of their own.", "")
