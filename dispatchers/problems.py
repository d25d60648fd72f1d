"""From the state of the system to the problem that the models solve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..base import IntArray
from ..models import Problem
from .protocol import Running, State, Waiting

#: The largest weight of a problem: enough digits for the ratios, small enough for 64-bit sums.
WEIGHT = 1_000_000


def problem_of(
    state: State,
    waiting: Sequence[Waiting],
    rates: NDArray[np.float64],
    *,
    due: IntArray | None = None,
    pooled: bool = True,
    overdue: bool = True,
    pinned: Sequence[tuple[Waiting, int]] = (),
) -> tuple[Problem, float]:
    """Return the problem of starting `waiting` beside what runs, and the weight that stands for a rate of one.

    Parameters
    ----------
    state
        Now.
    waiting
        Who wants a start time.
    rates
        Cost of a second's delay of each, shape (waiting,), above 0; they become whole weights of at most `WEIGHT`.
    due
        Seconds from now until which a start costs nothing, shape (waiting,).
    pooled
        Whether the nodes are one.
    overdue
        Whether running jobs whose predicted end has passed hold what they have for one more second; otherwise they
        hold nothing.
    pinned
        Waiting jobs with fixed starts, seconds from now; only with `pooled`.
    """
    scale = WEIGHT / float(rates.max())
    demand = np.array([entry.demand for entry in waiting], dtype=np.int64)
    begin, end, node, amount = held(state, pooled=pooled, overdue=overdue)
    capacity = state.machine.capacity
    problem = Problem(
        duration=np.array([entry.predicted for entry in waiting], dtype=np.int64),
        slots=np.array([entry.nodes for entry in waiting], dtype=np.int64),
        demand=demand,
        weight=np.maximum(np.rint(rates * scale).astype(np.int64), 1),
        capacity=capacity.sum(axis=0, keepdims=True) if pooled else capacity,
        due=np.zeros(len(waiting), dtype=np.int64) if due is None else due,
        held_from=begin,
        held_to=end,
        held_node=node,
        held_amount=amount,
    )
    if pinned:
        starts = np.array([start for _, start in pinned], dtype=np.int64)
        ends = starts + np.array([entry.predicted for entry, _ in pinned], dtype=np.int64)
        amounts = np.array([[entry.nodes * unit for unit in entry.demand] for entry, _ in pinned], dtype=np.int64)
        problem = problem.beside(starts, ends, np.zeros(len(pinned), dtype=np.int64), amounts)
    return problem, scale


def held(state: State, *, pooled: bool, overdue: bool = True) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return from when, until when (seconds from now), on which node and how much the running jobs hold."""
    now = state.now
    running = [run for run in state.running if overdue or run.predicted_end > now]
    ends = [max(run.predicted_end - now, 1) for run in running]
    resources = state.machine.capacity.shape[1]
    if pooled or len(state.free) == 1:
        amounts = [[run.nodes * unit for unit in run.demand] for run in running]
        zeros = np.zeros(len(running), dtype=np.int64)
        amount = np.array(amounts, dtype=np.int64).reshape(-1, resources)
        return zeros, np.array(ends, dtype=np.int64), zeros, amount
    nodes, slots, rows = _spread(running)
    demand = np.array([run.demand for run in running], dtype=np.int64).reshape(-1, resources)
    return (
        np.zeros(len(nodes), dtype=np.int64),
        np.array(ends, dtype=np.int64)[rows],
        nodes,
        demand[rows] * slots[:, None],
    )


def _spread(running: Sequence[Running]) -> tuple[IntArray, IntArray, IntArray]:
    """Return a row for every node of every running job: the node, its slots there, and which job it is."""
    nodes = [np.zeros(0, dtype=np.int64)]
    slots = [np.zeros(0, dtype=np.int64)]
    rows = [np.zeros(0, dtype=np.int64)]
    for row, run in enumerate(running):
        found, counts = np.unique(run.placement, return_counts=True)
        nodes.append(found.astype(np.int64))
        slots.append(counts)
        rows.append(np.full(len(found), row, dtype=np.int64))
    return np.concatenate(nodes), np.concatenate(slots), np.concatenate(rows)
