"""``hpcdispatch report``."""

import shutil
import subprocess
import sys

import pytest

from hpcdispatch.bench.compare import Generated, compare

SPEC = "lublin:jobs=40,processors=32,load=0.9"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    out = tmp_path_factory.mktemp("saved")
    compare(Generated(SPEC), ["fcfs", "easy"], seeds=2, out=out)
    return out


@pytest.fixture(autouse=True)
def undrawn(monkeypatch):
    """Leave out the files of figures, which take their time."""
    monkeypatch.setattr("hpcdispatch.bench.report.images", lambda figure: {})


@pytest.fixture
def changed(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "changed")


def test_prints_where_the_page_is(invoke, changed):
    found = invoke("report", changed)
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout == f"{changed / 'report.html'}\n"
    assert (changed / "report.html").stat().st_size < 8_000_000
    assert (changed / "report_files" / "leaderboard.tex").is_file()
    again = invoke("report", changed)
    assert (again.exit_code, again.stderr) == (0, "")


def test_options(invoke, saved, tmp_path):
    out = tmp_path / "new" / "page.html"
    found = invoke("report", saved, "--out", out, "--baseline", "fcfs", "--warm-up", "10%", "--cool-down", 3600)
    assert (found.exit_code, found.stderr) == (0, "")
    text = out.read_text(encoding="utf-8")
    assert "<dt>Baseline</dt><dd>fcfs</dd>" in text
    assert "<dt>Warm-up left out</dt><dd>10% of the jobs</dd>" in text
    assert "<dt>Cool-down left out</dt><dd>3,600 s</dd>" in text
    assert not (saved / "report.html").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--baseline", "sjf"), "--baseline: expected one of easy; fcfs, got 'sjf'"),
        (("--warm-up", "much"), "--warm-up: expected seconds >= 0 or a share of the jobs such as 5%, got 'much'"),
        (("--cool-down", "100%"), "--cool-down: expected seconds >= 0 or a share of the jobs such as 5%, got '100%'"),
        (("--warm-up", "1e12"), "warm-up of 1e+12 s, cool-down of 0 s: expected jobs in between, got none"),
    ],
)
def test_bad_options(invoke, saved, options, message):
    found = invoke("report", saved, *options)
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == f"hpcdispatch: error: {message}\n"


def test_bad_folders(invoke, tmp_path):
    for folder, message in (
        (tmp_path / "none", "expected a folder of saved results, got none"),
        (tmp_path, f"expected saved results (compare --out {tmp_path} writes them), got none"),
        (__file__, "expected a folder of saved results, got a file"),
    ):
        found = invoke("report", folder)
        assert (found.exit_code, found.stdout) == (2, "")
        assert found.stderr == f"hpcdispatch: error: {folder}: {message}\n"
    assert not list(tmp_path.iterdir())


def test_out_is_a_folder(invoke, saved, tmp_path):
    found = invoke("report", saved, "--out", tmp_path)
    assert found.exit_code == 2
    assert found.stderr == f"hpcdispatch: error: {tmp_path}: expected a file for --out, got a folder\n"


def test_a_damaged_result_is_named_and_left_out(invoke, changed):
    (changed / "easy_walltime_seed0" / "jobs.parquet").write_bytes(b"")
    found = invoke("report", changed)
    assert found.exit_code == 1
    assert found.stdout == f"{changed / 'report.html'}\n"
    (line,) = found.stderr.splitlines()
    where = changed / "easy_walltime_seed0" / "jobs.parquet"
    assert line.startswith(f"hpcdispatch: warning: left out: {where}: expected a Parquet table, got ")
    assert "Left out or to be known" in (changed / "report.html").read_text(encoding="utf-8")


def test_nothing_but_damaged_results(invoke, changed):
    for file in changed.glob("*/timings.parquet"):
        file.unlink()
    found = invoke("report", changed)
    assert (found.exit_code, found.stdout) == (2, "")
    assert len(found.stderr.splitlines()) == 1
    assert "expected a result that can be read, got none" in found.stderr
    assert not (changed / "report.html").exists()


def test_other_commands_do_without_the_libraries_of_the_report():
    code = (
        "import sys, hpcdispatch.cli.compare, hpcdispatch.cli.report; "
        "print(sorted({'matplotlib', 'plotly', 'jinja2'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
