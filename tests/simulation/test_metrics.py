"""Metrics of backfilling, users and workflows, against definitions and cases by hand."""

from dataclasses import replace

import pandas as pd
import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from random_workloads import workloads

from hpcdispatch.base import InputError
from hpcdispatch.simulation import Result, simulate
from hpcdispatch.simulation import metrics as module
from hpcdispatch.workloads import Job, Machine, Workload

POOL = Machine.pool(4)


def summary(*jobs, dispatcher="easy", machine=POOL, **given):
    return simulate(Workload(sorted(jobs, key=lambda job: job.submit), machine), dispatcher, **given).summary()


def job(id_, submit, runtime, nodes, **others):
    return Job(id_, submit, runtime, runtime, nodes, **others)


@pytest.mark.parametrize(
    ("dispatcher", "rate"),
    # `b` waits for `a`; `c` and `d` come later and fit beside `a`, `e` does not.
    [("fcfs", 0.0), ("easy", 2 / 5), ("easy:depth=0", 0.0)],
)
def test_backfill_rate_counts_jobs_that_overtake(dispatcher, rate):
    jobs = [job("a", 0, 100, 2), job("b", 1, 100, 4), job("c", 2, 50, 1), job("d", 3, 20, 1), job("e", 4, 100, 1)]
    assert summary(*jobs, dispatcher=dispatcher)["backfill_rate"] == pytest.approx(rate)


def test_a_job_of_the_same_instant_is_not_overtaken():
    assert summary(job("a", 0, 100, 4), job("b", 1, 50, 4), job("c", 1, 10, 4), dispatcher="sjf")["backfill_rate"] == 0


def test_a_job_that_waits_for_another_is_overtaken_from_its_entry_on():
    jobs = [job("a", 0, 100, 4), job("b", 0, 10, 4, depends=(("a", "afterok"),)), job("c", 50, 20, 4)]
    # Job b enters the queue at 100. By then c has waited for 50 s. It overtakes nothing.
    assert summary(*jobs)["backfill_rate"] == 0


@settings(max_examples=number_of_inputs(60))
@given(
    workloads().filter(len),
    st.sampled_from(["easy", "conservative", "lxf", "sjf:blocked=skip"]),
    st.sampled_from(["run", "resubmit"]),
)
def test_backfill_rate_is_its_definition(workload, dispatcher, overrun):
    result = simulate(workload, dispatcher, overrun=overrun)
    rows = result.jobs[["eligible", "start", "end"]].to_numpy().tolist()
    started = [row for row in rows if row[1] >= 0]
    overtaking = sum(
        any(entered < row[0] and (start if start >= 0 else end) > row[1] for entered, start, end in rows)
        for row in started
    )
    assert result.summary()["backfill_rate"] == pytest.approx(overtaking / len(started))


def test_fairness_by_users():
    # Bounded slowdowns: ann has 1 and 3, ben 1.5. The job of an unknown user does not count.
    jobs = [
        job("1", 0, 100, 4, user="ann"),
        job("2", 50, 100, 4, user="ben"),
        job("3", 100, 50, 4, user="ann"),
        job("4", 200, 10, 4),
    ]
    found = summary(*jobs, dispatcher="fcfs")
    assert found["users"] == 2
    assert found["user_slowdown_max"] == pytest.approx(2)
    assert found["user_slowdown_mean"] == pytest.approx(1.75)
    assert found["jain_index"] == pytest.approx(3.5**2 / (2 * (4 + 1.5**2)))


@pytest.mark.parametrize(("users", "index"), [(1, 1.0), (4, 1.0)])
def test_users_who_are_served_alike(users, index):
    jobs = [job(str(place), 100 * place, 50, 4, user=f"u{place % users}") for place in range(8)]
    assert summary(*jobs)["jain_index"] == pytest.approx(index)


def test_no_users_no_fairness():
    assert not {"users", "jain_index"} & set(summary(job("1", 0, 1, 1)))


def test_makespans_of_workflows():
    jobs = [
        job("a", 0, 100, 1),
        job("b", 5, 10, 1, depends=(("a", "afterok"),)),
        job("c", 5, 20, 1, depends=(("a", "afterok", 30),)),
        job("d", 6, 10, 1, depends=(("b", "afterok"), ("c", "afterany"))),
        job("alone", 7, 1000, 1),
        job("x", 10, 10, 1),
        job("y", 20, 30, 1, depends=(("x", "afterany"),)),
    ]
    result = simulate(Workload(jobs, POOL), "easy")
    assert dict(zip(result.jobs["id"], result.jobs["workflow"], strict=True)) == {
        "a": 0,
        "b": 0,
        "c": 0,
        "d": 0,
        "alone": -1,
        "x": 1,
        "y": 1,
    }
    found = result.summary()
    # a [0, 100), b [100, 110), c [130, 150), d [150, 160); x [10, 20), y [20, 50).
    assert (found["workflows"], found["workflows_broken"]) == (2, 0)
    assert found["workflow_makespan_max"] == 160
    assert found["workflow_makespan_mean"] == 100


def test_a_broken_workflow_has_no_makespan(tmp_path):
    jobs = [
        Job("a", 0, 100, 50, 1),
        job("b", 0, 10, 1, depends=(("a", "afterok"),)),
        job("c", 0, 10, 1),
        job("d", 0, 10, 1, depends=(("c", "afterok"),)),
    ]
    result = simulate(Workload(jobs, POOL), "easy", overrun="kill")
    found = Result.load(result.save(tmp_path / "r")).summary()
    assert (found["workflows"], found["workflows_broken"], found["workflow_makespan_mean"]) == (1, 1, 20)
    assert "workflow" not in simulate(Workload([job("a", 0, 1, 1)], POOL), "easy").jobs


def plug_in(monkeypatch, function):
    """Register a metric beside the built-in ones."""
    known = module.metrics.names()
    factory = module.metrics.factory
    monkeypatch.setattr(module.metrics, "names", lambda: [*known, "mine"])
    monkeypatch.setattr(module.metrics, "factory", lambda name: function if name == "mine" else factory(name))


def test_a_plug_in_adds_numbers(monkeypatch):
    result = simulate(Workload([job("1", 0, 7, 1)], POOL), "fcfs")
    plug_in(monkeypatch, lambda result: {"longest_run": result.jobs["run"].max()})
    assert result.summary()["longest_run"] == 7


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda result: {"wait_mean": 1.0}, "metric 'mine': expected names of its own, got 'wait_mean'"),
        (lambda result: {"text": "far"}, "metric 'mine': ValueError: could not convert string to float: 'far'"),
        (lambda result: 1 / 0, "metric 'mine': ZeroDivisionError"),
        (lambda result: None, "metric 'mine': TypeError"),
    ],
)
def test_a_plug_in_that_fails_is_named(monkeypatch, function, message):
    result = simulate(Workload([job("1", 0, 7, 1)], POOL), "fcfs")
    plug_in(monkeypatch, function)
    with pytest.raises(InputError, match=message):
        replace(result).summary()


def test_many_jobs_in_reasonable_steps():
    # A row of a million jobs is a few sorts, no pairs.
    rows = 200_000
    jobs = pd.DataFrame({"submit": range(rows), "start": range(rows), "end": range(1, rows + 1)})
    jobs.loc[0, "start"] = rows
    assert module.backfill_rate(_Only(jobs))["backfill_rate"] == (rows - 1) / rows


class _Only:
    def __init__(self, jobs):
        self.jobs = jobs
