"""``hpcdispatch report``."""

import shutil
import subprocess
import sys
from itertools import product

import pytest

from hpcdispatch.bench.campaigns.comparison import Generated, compare
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import generate

AMOUNT = (
    "a share of the jobs such as 5%, a number such as 200 jobs, or a time such as 90s, 15m, 2h, 1d12h or 2-00:00:00"
)
SPEC = "lublin:jobs=40,processors=32,load=0.9"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    out = tmp_path_factory.mktemp("saved")
    for name, seed in product(("fcfs", "easy"), range(2)):
        simulate(generate(SPEC, seed=seed), name, seed=seed).save(out / f"{name}_walltime_seed{seed}")
    return out


@pytest.fixture(autouse=True)
def undrawn(monkeypatch):
    """Leave out the files of figures, which take their time."""
    monkeypatch.setattr("hpcdispatch.bench.reports.html_page.images", lambda figure: {"svg": b"<svg/>"})


@pytest.fixture
def changed(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "changed")


def test_prints_where_the_page_is(invoke, changed):
    found = invoke("report", changed)
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout.splitlines()[0] == str(changed / "report.html")
    assert "easy has the least mean wait" in found.stdout.splitlines()[-1]
    assert (changed / "report.html").stat().st_size < 8_000_000
    assert (changed / "report_files" / "leaderboard.tex").is_file()
    again = invoke("report", changed)
    assert (again.exit_code, again.stderr) == (0, "")


def test_a_store_of_a_comparison(invoke, tmp_path):
    compare(Generated(SPEC), ["fcfs", "easy"], seeds=2, out=tmp_path / "store")
    found = invoke("report", tmp_path / "store")
    assert (found.exit_code, found.stderr) == (0, "")
    assert "<dt>Baseline</dt><dd>easy</dd>" in (tmp_path / "store" / "report.html").read_text(encoding="utf-8")


def test_options(invoke, saved, tmp_path):
    out = tmp_path / "new" / "page.html"
    found = invoke("report", saved, "--out", out, "--baseline", "fcfs", "--warm-up", "10%", "--cool-down", "1 h")
    assert (found.exit_code, found.stderr) == (0, "")
    text = out.read_text(encoding="utf-8")
    assert "<dt>Baseline</dt><dd>fcfs</dd>" in text
    assert "<dt>Warm-up left out</dt><dd>10%</dd>" in text
    assert "<dt>Cool-down left out</dt><dd>3600 s</dd>" in text
    assert not (saved / "report.html").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--baseline", "sjf"), "--baseline: expected one of easy; fcfs, got 'sjf'"),
        (("--warm-up", "much"), f"--warm-up: expected {AMOUNT}, got 'much'"),
        (("--cool-down", "101%"), f"--cool-down: expected {AMOUNT}, got '101%'"),
        (("--window", "2 d"), f"--window: expected START:END, each {AMOUNT}, got '2 d'"),
        (("--window", "2 d:1 d"), "--window: expected START:END with START before END, got '2 d:1 d'"),
        (("--campaign", "x"), "--campaign: expected one of {saved} (none is recorded), got 'x'"),
    ],
)
def test_bad_options(invoke, saved, options, message):
    found = invoke("report", saved, *options)
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == f"hpcdispatch: error: {message.replace('{saved}', str(saved))}\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--window", "900 d:901 d"), "window 77760000 s:77846400 s: expected a stretch that begins by the last subm"),
        (("--warm-up", "900 d"), "warm-up 900d: no job of 40 is left between"),
    ],
)
def test_nothing_is_left(invoke, saved, options, message):
    found = invoke("report", saved, *options)
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.startswith(f"hpcdispatch: error: {SPEC}")
    assert message in found.stderr
    assert found.stderr.count("\n") == 1


def test_the_report_of_a_campaign_has_its_names_and_cuts(invoke, tmp_path):
    file = tmp_path / "study.toml"
    store = tmp_path / "store"
    head = 'dispatchers = ["fcfs", "easy"]\nseeds = 2\nwarm_up = "5%"\ncool_down = "3 jobs"\n'
    file.write_text(head + f'[[workload]]\nname = "busy & <small>"\nsource = "{SPEC}"\n')
    assert invoke("campaign", file, "--out", store, "--workers", 1).exit_code == 0
    found = invoke("report", store, "--window", "10%:40%")
    assert (found.exit_code, found.stderr) == (0, "")
    text = (store / "report.html").read_text(encoding="utf-8")
    assert "<dt>Campaign</dt><dd>study</dd>" in text
    assert ">busy &amp; &lt;small&gt;</h2>" in text
    assert "35 jobs measured in each" in text
    assert "Simulated and not measured: warm-up 5%, cool-down 3 jobs." in text
    assert "after the first submission, as asked for with 10%:40%." in text


def test_bad_folders(invoke, tmp_path):
    for folder, message in (
        (
            tmp_path / "none",
            f"expected a folder of saved results, got none (compare --out {tmp_path / 'none'} makes one)",
        ),
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
    assert found.stdout.splitlines()[0] == str(changed / "report.html")
    (line,) = found.stderr.splitlines()
    said = "expected what was written, got a damaged result: jobs.parquet is not what was written"
    assert line == f"hpcdispatch: warning: left out: {changed / 'easy_walltime_seed0'}: {said}"
    assert "Left out or to be known" in (changed / "report.html").read_text(encoding="utf-8")


def test_nothing_but_damaged_results(invoke, changed):
    for file in changed.glob("*/timings.parquet"):
        file.unlink()
    found = invoke("report", changed)
    assert (found.exit_code, found.stdout) == (2, "")
    assert len(found.stderr.splitlines()) == 1
    assert "expected a result that can be read, got none" in found.stderr
    assert not (changed / "report.html").exists()


@pytest.mark.nightly
def test_other_commands_do_without_the_libraries_of_the_report():
    code = (
        "import sys, hpcdispatch.cli.commands.compare, hpcdispatch.cli.commands.report; "
        "print(sorted({'matplotlib', 'jinja2'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


@pytest.mark.parametrize(
    "name",
    [
        "jobs.parquet",
        "SHA256SUMS",
        *(pytest.param(name, marks=pytest.mark.nightly) for name in ("cell.json", "manifest.json")),
    ],
)
def test_a_damaged_cell_of_a_store_is_named(invoke, tmp_path, name):
    invoke("compare", "lublin:jobs=30,processors=32", "--dispatchers", "fcfs,easy", "--out", tmp_path / "s")
    [folder, _] = sorted((tmp_path / "s").glob("cells/??/*"))
    data = bytearray((folder / name).read_bytes())
    data[-9] ^= 1
    (folder / name).write_bytes(data)
    found = invoke("report", tmp_path / "s")
    assert "got a damaged cell" in found.stderr
    assert folder.name in found.stderr
