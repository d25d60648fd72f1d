"""Convert the state of the system to a scheduling problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base import FloatArray, IntArray
from ..models import Problem
from ..workloads import Machine
from ..workloads.machine_rules import Closure
from .columns import RunningJobs
from .protocol import Running, State, Waiting

#: Largest weight of a problem: precise enough for ratios, and small enough for 64-bit sums.
WEIGHT = 1_000_000


def problem_of(
    state: State,
    waiting: Sequence[Waiting],
    rates: FloatArray,
    *,
    due: IntArray | None = None,
    pooled: bool = True,
    overdue: bool = True,
    pinned: Sequence[tuple[Waiting, int]] = (),
    earliest: IntArray | None = None,
    instant: bool = False,
) -> tuple[Problem, float]:
    """Return the problem of starting `waiting` beside running jobs, and the weight for a rate of one.

    Parameters
    ----------
    state
        Present state.
    waiting
        Jobs to start.
    rates
        Cost per second of delay, shape (waiting,), at least 0. Converted to whole weights of at most `WEIGHT`.
    due
        Latest start without cost, seconds from now, shape (waiting,).
    pooled
        Whether all nodes form one pool.
    overdue
        Whether running jobs past their predicted ends occupy their amounts for one more second. Otherwise they occupy
        nothing.
    pinned
        Waiting jobs with fixed starts, seconds from now. Only with `pooled`.
    earliest
        Earliest starts, seconds from now, shape (waiting,).
    instant
        With `pooled`: whether jobs that start now must still fit on the nodes.
    """
    capacity = state.machine.capacity
    busy = held(state.running, state.now, capacity, pooled=pooled, overdue=overdue)
    if pinned:
        starts = np.array([start for _, start in pinned], dtype=np.int64)
        ends = starts + np.array([entry.predicted for entry, _ in pinned], dtype=np.int64)
        amounts = np.array([[entry.nodes * unit for unit in entry.demand] for entry, _ in pinned], dtype=np.int64)
        busy = busy.beside(Held(starts, ends, np.zeros_like(starts), amounts))
    more: dict[str, IntArray] = {} if earliest is None else {"earliest": earliest}
    if instant and pooled and len(capacity) > 1:
        more["free_now"] = state.free
    return problem_beside(
        busy, capacity.sum(axis=0, keepdims=True) if pooled else capacity, waiting, rates, due, **more
    )


def problem_beside(
    busy: Held, capacity: IntArray, jobs: Sequence[Waiting], rates: FloatArray, due: IntArray | None = None, **more: Any
) -> tuple[Problem, float]:
    """Return the problem of starting `jobs` beside occupied amounts, as :func:`problem_of`. `more` sets fields."""
    scale = WEIGHT / (float(rates.max()) or 1.0)
    problem = Problem(
        duration=np.array([entry.predicted for entry in jobs], dtype=np.int64),
        slots=np.array([entry.nodes for entry in jobs], dtype=np.int64),
        demand=np.array([entry.demand for entry in jobs], dtype=np.int64),
        weight=np.maximum(np.rint(rates * scale).astype(np.int64), rates > 0),
        capacity=capacity,
        due=np.zeros(len(jobs), dtype=np.int64) if due is None else due,
        held_from=busy.begin,
        held_to=busy.end,
        held_node=busy.node,
        held_amount=busy.amount,
        **more,
    )
    return problem, scale


class Held(NamedTuple):
    """Occupied amounts of the machine.

    Attributes
    ----------
    begin, end
        Begin and end, seconds from now, shape (held,).
    node, amount
        Node, shape (held,), and amounts, shape (held, resources).
    """

    begin: IntArray
    end: IntArray
    node: IntArray
    amount: IntArray

    def beside(self, more: Held) -> Held:
        """Return both together."""
        return Held(*(np.concatenate(columns) for columns in zip(self, more, strict=True)))


def closed_amounts(closures: Sequence[Closure], time: int | None, machine: Machine) -> IntArray:
    """Return the closed amounts at a time, or of all closures if it is ``None``. Shape (nodes, resources)."""
    closed: IntArray = np.zeros_like(machine.capacity)
    for closure in closures:
        if time is None or closure.begin <= time < closure.end:
            nodes = np.asarray(closure.nodes)
            taken = closure.amounts
            if taken is None:
                closed[nodes] = machine.capacity[nodes]
            else:
                closed[nodes] += [taken.get(name, 0) for name in machine.resources]
    return np.minimum(closed, machine.capacity)


def closed_rows(closures: Sequence[Closure], state: State, busy: Held) -> Held:
    """Return closed amounts beside occupied ones of the same nodes, a row per time and node.

    Jobs that run in a reservation occupy a part of its closed amounts.
    """
    machine = state.machine
    now = state.now
    capacity = state.machine.capacity
    inside = [run for run in state.running if machine.rules.is_on(run.job.reservation, now)]
    own = held(inside, now, capacity, pooled=False)
    spans = np.array([(max(closed.begin - now, 0), closed.end - now) for closed in closures], dtype=np.int64)
    times = np.unique(np.concatenate((spans.ravel(), busy.end, own.end)))
    rows = []
    for begin, end in zip(times[:-1].tolist(), times[1:].tolist(), strict=True):
        if not ((spans[:, 0] <= begin) & (begin < spans[:, 1])).any():
            continue
        closed = closed_amounts(closures, now + begin, machine) - _used(own, begin, capacity)
        nodes = np.flatnonzero((closed > 0).any(axis=1))
        if len(nodes):
            amount = np.clip(np.minimum(closed, capacity - _used(busy, begin, capacity)), 0, None)[nodes]
            rows.append(Held(np.full(len(nodes), begin), np.full(len(nodes), end), nodes, amount))
    nothing = np.zeros(0, dtype=np.int64)
    return Held(*map(np.concatenate, zip(Held(nothing, nothing, nothing, capacity[:0]), *rows, strict=True)))


def _used(busy: Held, time: int, capacity: IntArray) -> IntArray:
    """Return the occupied amounts at a time, shape (nodes, resources)."""
    used = np.zeros_like(capacity)
    still = (busy.begin <= time) & (busy.end > time)
    np.add.at(used, busy.node[still], busy.amount[still])
    return used


def summed(rows: Held) -> Held:
    """Return the occupied amounts at each time, summed over nodes."""
    spans, which = np.unique(np.column_stack((rows.begin, rows.end)), axis=0, return_inverse=True)
    amount = np.zeros((len(spans), rows.amount.shape[1]), dtype=np.int64)
    np.add.at(amount, which.ravel(), rows.amount)
    return Held(spans[:, 0], spans[:, 1], np.zeros(len(spans), dtype=np.int64), amount)


def held(running: Sequence[Running], now: int, capacity: IntArray, *, pooled: bool, overdue: bool = True) -> Held:
    """Return the amounts of running jobs. `overdue` as in :func:`problem_of`."""
    jobs = running if isinstance(running, RunningJobs) else RunningJobs(running, capacity.shape[1])
    rows = np.flatnonzero(overdue | (jobs.predicted_end > now))
    ends = np.maximum(jobs.predicted_end[rows] - now, 1)
    demand = jobs.demand[rows]
    if pooled or len(capacity) == 1:
        zeros = np.zeros(len(rows), dtype=np.int64)
        return Held(zeros, ends, zeros, demand * jobs.nodes[rows][:, None])
    # One row per node of each job, with its slots there.
    places = np.concatenate([np.zeros(0, dtype=np.int64), *(jobs[row].placement for row in rows.tolist())])
    job = np.repeat(np.arange(len(rows)), jobs.nodes[rows])
    keys, slots = np.unique(job * len(capacity) + places, return_counts=True)
    job, node = np.divmod(keys, len(capacity))
    return Held(np.zeros(len(keys), dtype=np.int64), ends[job], node, demand[job] * slots[:, None])
