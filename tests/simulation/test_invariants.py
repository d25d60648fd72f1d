"""The validator finds and names every kind of error of a schedule."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hpcdispatch.simulation import InvariantError, check, simulate, violations
from hpcdispatch.testing import tiny
from hpcdispatch.workloads import Job, Machine, Shape, Workload


@pytest.fixture
def result():
    # a [0, 100), b [0, 50), c [100, 160), d [160, 190), e [160, 360); a and b start first.
    return simulate(tiny(), "fcfs")


def change(result, table, column, id_, value):
    """Return the result with another value in one cell."""
    frame = getattr(result, table).copy()
    row = frame.index[frame["id"] == id_][0]
    values = frame[column].tolist()
    values[row] = value
    frame[column] = pd.Series(values, dtype=object if column == "placement" else None)
    return replace(result, **{table: frame})


def without(result, table, id_):
    frame = getattr(result, table)
    return replace(result, **{table: frame[frame["id"] != id_].reset_index(drop=True)})


def again(result, id_, **changes):
    """Return the result with a second row of an attempt."""
    frame = result.attempts
    row = frame[frame["id"] == id_].assign(**changes)
    return replace(result, attempts=pd.DataFrame(list(frame.to_dict("records")) + row.to_dict("records")))


def test_a_valid_schedule_passes(result):
    check(tiny(), result)
    assert list(violations(tiny(), result)) == []


def test_a_job_whose_shape_takes_no_time_has_done_its_work():
    job = Job("a", 0, 100, 200, 2, shapes=(Shape(1, 0, 200),))
    workload = Workload([Job("b", 0, 50, 50), job], Machine.homogeneous(1, core=2))
    result = simulate(workload, "sa:over=fcfs")
    assert result.jobs["shape"].tolist() == [-1, 0]
    check(workload, result)


def set_attempt(column, value, id_="c"):
    return lambda result: change(result, "attempts", column, id_, value)


def set_job(column, value, id_="c"):
    return lambda result: change(result, "jobs", column, id_, value)


@pytest.mark.parametrize(
    ("corrupt", "named"),
    [
        (set_attempt("start", 90), "node 0 at t=90: 6 of core in use, capacity 4"),
        (set_attempt("end", 101, "a"), "node 0 at t=100: 6 of core in use, capacity 4"),
        (set_attempt("start", 5), "job c: starts at 5, before its submission"),
        (set_attempt("end", 90), "job c: ends at 90, before its start at 100"),
        (set_job("start", 90), r"job c: on the machine in \[100, 160\), on record \[90, 160\)"),
        (set_job("end", 170), r"job c: on the machine in \[100, 160\), on record \[100, 170\)"),
        (lambda r: again(r, "b", start=60, end=110), "job b: completed, but completed 2 times"),
        (lambda r: again(r, "b", start=60, end=110), "job b: 2 stays on record, but attempts says 1"),
        (lambda r: again(r, "b", start=40, end=90), "job b: starts at 40, before its submission or the end of its"),
        (set_attempt("useful", 59), "job c: completed with 0.983333 of its work done"),
        (set_attempt("useful", 61), "job c: 61 s of useful work in a stay of 60 s"),
        (set_job("lost", 7), "job c: used - done = 0 unit-seconds, but 7 are booked as lost"),
        (lambda r: without(r, "attempts", "c"), "job c: completed without ever having started"),
        (lambda r: without(r, "jobs", "c"), "the records must name every job of the workload once, in its order"),
        (set_attempt("id", "x"), "attempts: job x is not in the workload"),
        (set_attempt("placement", np.zeros(3, int)), "job c: 4 slots, but placed on 3"),
        (set_attempt("placement", np.array([0, 0, 0, 1])), r"placements must lie in 0..0, got 0..1"),
        (set_attempt("units", 3), "job c: holds 3 units, expected 4"),
        (set_attempt("outcome", "killed"), "job c: completed, but completed 0 times"),
        (set_job("status", "lost"), "job c: must end exactly once or be rejected, got status 'lost'"),
        (set_job("status", None), "job c: must end exactly once or be rejected, got status (None|nan)"),
        (set_job("status", "rejected"), "job c: rejected without a reason"),
        (set_job("status", "killed"), "job c: killed, but work is booked as done"),
    ],
)
def test_what_is_wrong_is_named(result, corrupt, named):
    with pytest.raises(InvariantError, match=named):
        check(tiny(), corrupt(result))


def test_one_node_of_many_over_its_capacity():
    machine = Machine(("core", "gpu"), np.array([[4, 0], [4, 2]]))
    jobs = tuple(Job(id_, 0, 10, 10, 1, {"core": 1, "gpu": 1}) for id_ in "ab")
    workload = Workload((*jobs, Job("c", 0, 10, 10, 1, {"gpu": 1})), machine)
    result = simulate(workload, "fcfs")
    check(workload, result)
    moved = change(result, "attempts", "start", "c", 3)
    moved = change(moved, "jobs", "start", "c", 3)
    with pytest.raises(InvariantError, match="node 1 at t=3: 3 of gpu in use, capacity 2"):
        check(workload, moved)
    with pytest.raises(InvariantError, match="node 0 at t=0: 1 of gpu in use, capacity 0"):
        check(workload, change(result, "attempts", "placement", "a", np.array([0])))


def test_many_violations_are_counted(result):
    with pytest.raises(InvariantError, match=r"\.\.\. and \d+ more"):
        check(tiny(), replace(result, attempts=result.attempts.assign(useful=0, units=9)))


def test_jobs_in_another_order(result):
    shuffled = replace(result, jobs=result.jobs.iloc[::-1].reset_index(drop=True))
    with pytest.raises(InvariantError, match="every job of the workload once, in its order"):
        check(tiny(), shuffled)
