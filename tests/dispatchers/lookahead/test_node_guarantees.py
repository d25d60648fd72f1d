"""Starts that are held on nodes for the oldest jobs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.dispatchers.lookahead.node_plan import guarantee_on_nodes
from hpcdispatch.dispatchers.problems import Held
from hpcdispatch.dispatchers.protocol import Waiting
from hpcdispatch.models import WHENEVER
from hpcdispatch.models.lookahead.guarantees import PlanSettings, Queue
from hpcdispatch.simulation import simulate
from hpcdispatch.simulation.invariants import check
from hpcdispatch.workloads import Job, Machine, Workload

NONE = np.zeros((0, 0), dtype=np.int64)


def how(due, guards=30, tolerance=0.0):
    return PlanSettings(due, tolerance, 0, guards, 0, -1.0)


def guarantees(jobs, running, capacity, how, planned=()):
    """Waiting jobs are (wait, duration, slots, amount per slot). Running jobs are (end, node, amount)."""
    entries = [
        Waiting(Job(str(place), 0, length, length, nodes=slots), length, 0, 0, place, (amount,))
        for place, (_, length, slots, amount) in enumerate(jobs)
    ]
    columns = [np.array([job[column] for job in jobs]) for column in (0, 1)]
    need = np.array([[slots * amount] for _, _, slots, amount in jobs])
    queue = Queue(*columns, need, np.zeros(len(jobs), dtype=bool))
    end, node, amount = (np.array([each[column] for each in running], dtype=np.int64) for column in range(3))
    busy = Held(np.zeros_like(end), end, node, amount[:, None])
    mask = np.isin(np.arange(len(jobs)), list(planned))
    found = guarantee_on_nodes(queue, entries, mask, busy, np.array(capacity)[:, None], NONE, how, "first-fit")
    return found, [column[len(running) :] for column in found.busy]


def free_at(held, capacity, time):
    free = np.array(capacity)
    for begin, end, node, amount in zip(*held, strict=True):
        if begin <= time < end:
            free[node] -= amount[0]
    return free


def last_start(held, capacity, length, slots, amount, due):
    """Try every second, from the due time down."""
    for start in range(due, -1, -1):
        free = np.array([free_at(held, capacity, time) for time in range(start, start + length)]).min(axis=0)
        if (np.maximum(free, 0) // amount).sum() >= slots:
            return start
    return -1


@settings(max_examples=number_of_inputs(150), deadline=None)
@given(st.data())
def test_each_gets_the_last_start_that_fits_before_it_is_due(data):
    capacity = data.draw(st.lists(st.integers(2, 4), min_size=2, max_size=3))
    running = [
        (data.draw(st.integers(1, 8)), node, data.draw(st.integers(1, room))) for node, room in enumerate(capacity)
    ]
    jobs = [
        (data.draw(st.integers(0, 8)), data.draw(st.integers(1, 6)), data.draw(st.integers(1, 2)), 1)
        for _ in range(data.draw(st.integers(1, 4)))
    ]
    jobs.sort(reverse=True)
    due = 9
    found, _ = guarantees(jobs, running, capacity, how(due))
    assert found.overdue == -1
    held = Held(*(column[: len(running)] for column in found.busy))
    given_starts = 0
    for wait, length, slots, amount in jobs:
        start = last_start(held, capacity, length, slots, amount, due - wait)
        if start < 0:
            return  # In backward time it lies before now. It may delay younger ones.
        begin, end, node, taken = (column[len(held.begin) :] for column in found.busy)
        mine = np.cumsum(taken[:, 0]) <= slots * amount
        assert set(begin[mine]) == {start}
        assert set(end[mine]) == {start + length}
        assert taken[mine].sum() == slots * amount
        rows = len(held.begin) + int(mine.sum())
        held = Held(*(column[:rows] for column in found.busy))
        given_starts += 1
    assert found.given == given_starts
    for time, node in product(range(30), range(len(capacity))):
        assert free_at(found.busy, capacity, time)[node] >= 0


def test_the_oldest_past_its_time_is_held_its_earliest_start_and_the_next_one_around_it():
    found, held = guarantees([(20, 5, 2, 1), (4, 5, 2, 1)], [(6, 0, 1)], [1, 1], how(due=20))
    assert (found.overdue, found.given) == (0, 2)
    assert found.start.starts.tolist() == [6]
    assert held[0].tolist() == [6, 6, 16, 16]


def test_nothing_is_held_for_another_one_that_cannot_be_on_time():
    found, held = guarantees([(20, 5, 2, 1), (15, 5, 2, 1)], [(6, 0, 1)], [1, 1], how(due=20))
    assert (found.overdue, found.given) == (0, 1)
    assert held[0].tolist() == [6, 6]


@pytest.mark.parametrize(("tolerance", "start"), [(0.0, 6), (0.5, 9)])
def test_a_young_job_may_be_put_off_past_its_earliest_start(tolerance, start):
    # It fits at 6 s at the earliest. It is due in 6 s.
    _, held = guarantees([(4, 5, 2, 1)], [(6, 0, 1)], [1, 1], how(10, tolerance=tolerance))
    assert held[0].tolist() == [start, start]


@pytest.mark.parametrize("nothing", [how(-1), how(10, guards=0)])
def test_nothing_is_held_without_due_times_or_guards(nothing):
    found, held = guarantees([(20, 5, 2, 1), (4, 5, 2, 1)], [(6, 0, 1)], [1, 1], nothing)
    assert (found.given, found.overdue, len(held[0])) == (0, -1, 0)


def test_reservations_of_planned_jobs_are_not_held():
    jobs = [(20, 5, 1, 1), (4, 5, 1, 1), (3, 5, 1, 1)]
    found, held = guarantees(jobs, [(6, 0, 1)], [1, 1], how(10), planned=(0, 1))
    assert (found.given, found.overdue) == (3, 0)
    # The first starts now, the last when it is due in 7 s. The second has to be planned by 6 s.
    assert held[0].tolist() == [0, 7]
    assert found.latest.tolist() == [WHENEVER, 6, WHENEVER]


HOUR = 3600


@pytest.mark.parametrize("most", [0, 256])
def test_on_nodes_of_several_kinds_each_old_job_starts_on_time(most, monkeypatch):
    monkeypatch.setattr("hpcdispatch.dispatchers.lookahead.node_plan.MOST_NODES", most)
    # Each kind has two nodes. Short jobs follow each other there. A long job requests both.
    kinds = [f"kind{index}" for index in range(6)]
    machine = Machine(tuple(kinds), np.repeat(np.eye(6, dtype=np.int64), 2, axis=0))
    jobs = [
        Job(f"{kind} {at}", at * HOUR // 2, HOUR, HOUR, per_node={kind: 1}) for at in range(60) for kind in kinds
    ] + [Job(kind, 10 + index, 30 * HOUR, 30 * HOUR, nodes=2, per_node={kind: 1}) for index, kind in enumerate(kinds)]
    workload = Workload(tuple(sorted(jobs, key=lambda job: job.submit)), machine)
    result = simulate(workload, "lookahead:blocked=0")
    check(workload, result)
    waits = result.jobs.set_index("id")["wait"][kinds]
    assert (waits > 11 * HOUR).all()
    assert (waits <= 13 * HOUR).all()
