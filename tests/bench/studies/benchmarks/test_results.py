"""The results table: what is kept, what is run again, what is printed."""

from __future__ import annotations

import json
import shutil

import pytest
from click.testing import CliRunner

from hpcdispatch.bench.campaigns.store import Store
from hpcdispatch.bench.studies.benchmarks.results import Setting, main
from hpcdispatch.simulation import Result, simulate
from hpcdispatch.workloads import generate, read, write

NAMES = ("easy", "fcfs")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a trace and the runs of it."""
    made = tmp_path_factory.mktemp("results")
    write(generate("lublin:jobs=120,processors=32,load=0.9", seed=3), made / "small.swf")
    done = call(made)
    assert done.exit_code == 0, done.output
    return made


def call(folder, *arguments, out="kept"):
    options = ["--trace", str(folder / "small.swf"), "--slice", "20:100", "--seeds", "2", "--out", str(folder / out)]
    return CliRunner().invoke(main, [*options, "--dispatchers", ",".join(NAMES), *arguments])


def records(folder, out="kept"):
    store = Store(folder / out)
    cells = {key: json.loads((store.path(key) / "cell.json").read_text()) for key in store.finished()}
    return {key: cell | {"summary": Result.load(store.path(key)).summary()} for key, cell in cells.items()}


def test_every_run_is_kept(folder):
    found = records(folder)
    keys = {(one["dispatcher"], one["summary"]["jobs"], one["jitter"], one["seed"]) for one in found.values()}
    slices = {(name, 80, 60, seed) for name in NAMES for seed in (0, 1)}
    assert keys == slices | {(name, 120, None, 0) for name in NAMES}
    assert not list((folder / "kept").rglob(".unfinished*"))


def test_the_whole_trace_is_run_as_it_stands(folder):
    expected = simulate(read(folder / "small.swf"), "easy").summary()
    [found] = [one for one in records(folder).values() if one["dispatcher"] == "easy" and one["jitter"] is None]
    for name in ("jobs", "wait_mean", "slowdown_mean", "utilization"):
        assert found["summary"][name] == expected[name]


def test_what_is_kept_is_not_run_again(folder):
    before = records(folder)
    done = call(folder)
    assert done.exit_code == 0
    assert "simulated in" not in done.stderr
    assert records(folder) == before


def test_goes_on_where_it_was(folder):
    store = Store(folder / "kept")
    gone = next(store.finished())
    store.discard(gone)
    done = call(folder)
    assert done.stderr.count("simulated in") == 1
    assert store.has(gone)


def test_one_dispatcher_is_run_again(folder):
    done = call(folder, "--again", "fcfs")
    lines = [line for line in done.stderr.splitlines() if "simulated in" in line]
    assert len(lines) == 3
    assert all("fcfs" in line for line in lines)


def test_a_run_on_another_workload_does_not_count(folder):
    store = Store(folder / "kept")
    write(read(folder / "small.swf").head(110), folder / "fewer.swf")
    for trace, kept in (("small", True), ("fewer", False)):
        [_, whole], _ = Setting((str(folder / f"{trace}.swf"),), NAMES, (20, 100), seeds=2).planned
        assert store.has(whole.cells["easy"][0].key) is kept


def test_the_tables_show_means_and_intervals(folder):
    text = call(folder).stdout
    assert "Jobs 20-100 of each trace: mean of 2 seeds [95% interval], submissions shifted by 0-60 s" in text
    assert "Whole traces, once, as they stand" in text
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 170
    markdown = call(folder, "--markdown", "--kept").stdout.splitlines()
    header, *_ = [line for line in markdown if line.startswith("| trace")]
    assert header.count("|") == 10
    for name in NAMES:
        sliced, whole = [line.split(" | ") for line in markdown if f"| small | {name} |" in line]
        assert (sliced[2], whole[2]) == ("2", "120")
        assert "[" in sliced[3]
        assert "[" not in whole[3]


def test_several_workers_find_the_same(folder):
    assert call(folder, "--workers", "2", "--no-whole", out="pooled").exit_code == 0
    one = records(folder)
    two = records(folder, "pooled")
    assert len(two) == 4
    for name, record in two.items():
        assert record["summary"]["wait_mean"] == one[name]["summary"]["wait_mean"]


def test_failed_runs_are_told_and_not_kept(folder, monkeypatch):
    def fails(self, state):
        raise RuntimeError("no plan today")

    monkeypatch.setattr("hpcdispatch.dispatchers.backfilling.list_scheduling.FCFS.dispatch", fails, raising=False)
    done = call(folder, "--no-whole", out="failed")
    assert done.exit_code == 1
    assert done.stderr.count("RuntimeError: no plan today") == 2
    assert {one["dispatcher"] for one in records(folder, "failed").values()} == {"easy"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--slice", "100:20"), "expected FIRST:LAST"),
        (("--slice", "100:121"), "expected a slice within its 120 jobs, got 100:121"),
        (("--dispatchers", "fcfs,esay"), "unknown dispatcher 'esay'"),
        (("--again", "lxf"), "--again lxf: expected one of easy, fcfs"),
    ],
)
def test_bad_input_is_told_in_one_line(folder, arguments, message):
    done = call(folder, *arguments)
    assert done.exit_code != 0
    assert message in done.stderr


def test_a_damaged_record_is_named(folder):
    shutil.copytree(folder / "kept", folder / "damaged")
    store = Store(folder / "damaged")
    path = store.path(next(store.finished())) / "jobs.parquet"
    path.write_text("{")
    done = call(folder, "--kept", out="damaged")
    assert f"{path.parent}: expected what was written, got a damaged cell: jobs.parquet is not" in done.stderr
