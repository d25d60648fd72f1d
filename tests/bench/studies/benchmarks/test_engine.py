"""The engine's benchmark runs, and its floor is the same EASY."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner
from oracles.stock_accasim import on_one_core_nodes, write_inputs
from rich.console import Console

from hpcdispatch.bench.studies.benchmarks.engine.bare_easy import bare_jobs, easy_starts
from hpcdispatch.bench.studies.benchmarks.engine.engine_parts import PARTS, shares
from hpcdispatch.bench.studies.benchmarks.engine.engine_rates import (
    MeasuredRate,
    RatesSetting,
    large,
    main,
    rate_of,
    table,
)
from hpcdispatch.bench.studies.benchmarks.measurements import run_module
from hpcdispatch.bench.studies.benchmarks.traces import lay_end_to_end, theta_like
from hpcdispatch.predictors import Walltime
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import Workload, generate, read


@pytest.fixture(scope="module")
def found() -> dict:
    done = CliRunner().invoke(main, ["--small", "--jobs", "60", "--repeat", "1", "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture
def all_rows(found) -> list[MeasuredRate]:
    return [MeasuredRate(**{key: value for key, value in row.items() if key != "passed"}) for row in found["rows"]]


@pytest.fixture
def rows(all_rows) -> list[MeasuredRate]:
    return [row for row in all_rows if row.unit != "us"]


@pytest.mark.nightly
def test_every_requirement_has_its_row(rows):
    required = [(row.required, row.unit, row.at_least) for row in rows]
    assert required == [
        (220, "x", True),
        (120, "x", True),
        (50, "x", True),
        (50, "x", True),
        (3, "x", False),
        (None, "x", False),
        (700, "MB", False),
        (60, "s", False),
        (1000, "MB", False),
        (60, "s", False),
        (1000, "MB", False),
        (60, "s", False),
        (3000, "jobs/s", True),
        (6000, "jobs/s", True),
        (92, "s", False),
        (1, "s", False),
        (1, "s", False),
        (90, "s", False),
        (1000, "MB", False),
        (1.5, "x", False),
        (None, "s", False),
        (None, "s", False),
    ]


@pytest.mark.nightly
def test_ratios_are_those_of_the_rates(rows):
    for row in rows[:4]:
        assert row.jobs == 60
        assert row.value == pytest.approx(row.ours / row.reference)
    for row in (*rows[4:6], *rows[-3:-2]):
        assert row.value == pytest.approx(row.reference / row.ours)


@pytest.mark.nightly
def test_the_parts_are_all_of_the_plug_in_s_time(all_rows, rows):
    parts = [row for row in all_rows if row.case.startswith("a job of it: ")]
    assert sum(row.value for row in parts) == pytest.approx(1e6 / rows[5].ours)
    assert {row.case.removeprefix("a job of it: ") for row in parts} <= {*PARTS.values(), "elsewhere"}


def test_what_takes_long_is_seen_where_it_is(monkeypatch):
    class Slow(Walltime):
        def predict(self, job, now):
            sum(range(200_000))
            return super().predict(job, now)

    workload = generate("lublin", jobs=100, seed=1)
    monkeypatch.setitem(PARTS, __name__, "a slow predictor")
    found = shares(lambda: simulate(workload, "fcfs", predictor=Slow()), 1)
    assert found["a slow predictor"] > 0.5
    assert sum(found.values()) == pytest.approx(1)


def test_what_is_short_is_looked_at_again():
    calls = []
    found = shares(lambda: calls.append(sum(range(1000))), 1)
    assert len(calls) > 1
    assert sum(found.values()) == pytest.approx(1)


@pytest.mark.nightly
def test_the_schedules_agree(rows):
    for row in (rows[0], rows[2], rows[4]):
        assert "equal for 60 of 60 jobs" in row.note


@pytest.mark.nightly
def test_large_traces_are_skipped_with_a_word_in_the_small_setting(rows):
    for row in rows[6:-3]:
        assert row.value is None
        assert row.passed is None
        assert row.note == "skipped: not in the small setting"


def test_large_traces_are_skipped_with_a_word_where_they_are_not_at_hand():
    (row,) = large(RatesSetting(), "nowhere", "easy", "nowhere.swf", None, 700)
    assert row.value is None
    assert row.note == "skipped: nowhere.swf is not there; set HPCDISPATCH_DATA"


@pytest.mark.nightly
def test_a_large_trace_is_measured_in_a_process_of_its_own(tmp_path):
    swf, _ = write_inputs(on_one_core_nodes(generate("lublin", jobs=40, processors=64, seed=1)), tmp_path)
    seconds, megabytes = large(RatesSetting(jobs=30), "small", "easy", swf, 60, 700)
    assert (seconds.jobs, seconds.unit, megabytes.unit) == (30, "s", "MB")
    assert seconds.value > 0
    assert megabytes.value > 10


@pytest.mark.nightly
def test_the_rate_of_the_first_jobs_of_a_trace_is_measured(tmp_path):
    swf, _ = write_inputs(on_one_core_nodes(generate("lublin", jobs=40, processors=64, seed=1)), tmp_path)
    row = rate_of(RatesSetting(), "small", "fcfs", swf, 3, head=30)
    assert (row.jobs, row.unit, row.passed) == (30, "jobs/s", True)
    assert row.value == row.ours > 3


def test_a_trace_is_laid_end_to_end(tmp_path):
    workload = generate("lublin", jobs=40, processors=64, seed=1)
    swf, _ = write_inputs(on_one_core_nodes(workload), tmp_path)
    lay_end_to_end(swf, 100, tmp_path / "laid.swf")
    once = read(swf)
    laid = read(tmp_path / "laid.swf")
    span = once.jobs[-1].submit + 3600
    assert laid.machine == once.machine
    assert [job.id for job in laid.jobs] == [str(number) for number in range(1, 101)]
    for number, job in enumerate(laid.jobs):
        times, row = divmod(number, len(once))
        first = once.jobs[row]
        assert job == replace(first, id=job.id, submit=first.submit + times * span)


@pytest.mark.nightly
def test_the_table_shows_every_row(all_rows):
    console = Console(width=300)
    with console.capture() as capture:
        console.print(table(all_rows, RatesSetting(small=True)))
    text = capture.get()
    assert all(row.case in text for row in all_rows)
    assert "skipped" in text


@pytest.mark.parametrize(("value", "at_least", "passed"), [(9.9, True, False), (10, True, True), (10.1, False, False)])
def test_the_verdict_follows_the_bound(value, at_least, passed):
    assert MeasuredRate("case", 1, 1.0, 1.0, value, "x", 10, at_least).passed is passed


def crowded(workload: Workload) -> Workload:
    """Submissions at the same instants, and requests that every third job outruns."""
    return workload.with_jobs(
        replace(
            job, submit=job.submit // 900 * 900, walltime=max(1, job.runtime // 2) if number % 3 == 0 else job.walltime
        )
        for number, job in enumerate(workload.jobs)
    )


@pytest.mark.parametrize("change", [lambda workload: workload, crowded], ids=["as generated", "crowded"])
@pytest.mark.parametrize("load", [0.6, 1.2])
def test_the_floor_is_our_easy_job_by_job(change, load):
    workload = change(generate("lublin", jobs=1500, processors=64, load=load, seed=5))
    starts = simulate(workload, "easy", overrun="run").jobs["start"].tolist()
    assert easy_starts(bare_jobs(workload), 64) == starts


def test_the_theta_like_workload_is_what_it_says():
    workload = theta_like(500, seed=2)
    sizes = {job.nodes for job in workload.jobs}
    assert min(sizes) == 128
    assert max(sizes) == 1024
    assert all(job.per_node == {"core": 64} and job.runtime <= job.walltime for job in workload.jobs)
    assert workload == theta_like(500, seed=2)


@pytest.mark.nightly
def test_a_failing_child_is_told_in_one_line():
    with pytest.raises(RuntimeError, match=r"engine.engine_process nothing 1: exit code 1: KeyError: 'nothing'"):
        run_module("engine.engine_process", "nothing", "1")
