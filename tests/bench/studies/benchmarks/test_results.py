"""The results table: whole traces, what is kept, what is printed."""

import pytest
from click.testing import CliRunner

from hpcdispatch.bench.campaigns.store import Store
from hpcdispatch.bench.studies.benchmarks.results import main
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import generate, read, write

NAMES = ("easy", "fcfs")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a trace of six weeks and more, and the runs of it."""
    made = tmp_path_factory.mktemp("results")
    write(generate("lublin:jobs=4000,processors=32,load=0.6", seed=3), made / "small.swf")
    assert call(made).exit_code == 0
    return made


def call(folder, *arguments, names=NAMES):
    chosen = [part for name in names for part in ("--dispatcher", name)]
    options = ["--trace", str(folder / "small.swf"), "--out", str(folder / "kept"), "--markdown"]
    return CliRunner().invoke(main, [*options, *chosen, *arguments])


def table(done):
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines() if "|" in line]
    return {row[1]: dict(zip(lines[0], row, strict=True)) for row in lines[2:]}


@pytest.mark.nightly
def test_it_shows_each_whole_trace_against_the_first_dispatcher(folder):
    shown = table(call(folder))
    expected = {name: simulate(read(folder / "small.swf"), name).summary() for name in NAMES}
    for name in NAMES:
        assert shown[name]["mean wait, s"] == f"{expected[name]['wait_mean']:,.0f}"
        assert shown[name]["longest wait, h"] == f"{expected[name]['wait_max'] / 3600:,.1f}"
    assert shown["easy"]["against the first"] == ""
    assert "worse" in shown["fcfs"]["against the first"]
    assert "blocks of the trace" in shown["fcfs"]["against the first"]


def test_another_first_dispatcher_is_the_baseline(folder):
    shown = table(call(folder, names=NAMES[::-1]))
    assert shown["fcfs"]["against the first"] == ""
    assert "better" in shown["easy"]["against the first"]


def test_what_is_kept_is_not_run_again(folder):
    store = Store(folder / "kept" / "small")
    written = {key: store.path(key).stat().st_mtime_ns for key in store.finished()}
    assert len(written) == 2
    assert call(folder).exit_code == 0
    assert {key: store.path(key).stat().st_mtime_ns for key in store.finished()} == written


@pytest.mark.nightly
def test_failed_runs_are_told_and_not_kept(folder, monkeypatch):
    def fails(self, state):
        raise RuntimeError("no plan today")

    monkeypatch.setattr("hpcdispatch.dispatchers.backfilling.list_scheduling.FCFS.dispatch", fails, raising=False)
    done = call(folder, "--out", str(folder / "failed"))
    assert done.exit_code == 1
    assert "dispatch raised RuntimeError: no plan today" in done.stderr
    assert len(list(Store(folder / "failed" / "small").finished())) == 1
    # Nothing is held against a first one that failed.
    others = table(call(folder, "--out", str(folder / "failed"), "--dispatcher", "easy-sjbf", names=NAMES[::-1]))
    assert [others[name]["against the first"] for name in ("easy", "easy-sjbf")] == ["", ""]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("--dispatcher", "esay"), "unknown dispatcher 'esay'"), (("--trace", "nothing.swf"), "no such file")],
)
def test_bad_input_is_told_in_one_line(folder, arguments, message):
    done = call(folder, *arguments)
    assert done.exit_code != 0
    assert message in done.stderr
