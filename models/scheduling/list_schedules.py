"""Schedules from permutations: serial schedule generation, list schedules, and a local search over the order.

Every job in turn is started at the first time at which it fits until its end beside those before it; each schedule that
is left-shifted comes from some order (Kolisch, European Journal of Operational Research 90, 1996).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import compiled
from .node_layout import NodeData, NodeRoom, node_arrays
from .placement import PlacementRule
from .problem import Problem
from .serial_on_nodes import choose_nodes, earliest_on_nodes, hold_on_nodes, learn, open_room
from .serial_on_pool import Pool, earliest_on_pool, hold_on_pool, open_pool

_NO_BOUND = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Schedule:
    """Start times that hold, the cost of them, and where the slots lie.

    Attributes
    ----------
    starts
        Seconds from now, shape (jobs,).
    cost
        ``problem.cost(starts)``.
    counts
        Slots of each job on each node, shape (jobs, nodes).
    """

    starts: IntArray
    cost: int
    counts: IntArray


def list_schedule(problem: Problem, order: IntArray, rule: PlacementRule = "best-fit") -> Schedule | None:
    """Start the jobs in `order`, each as early as it fits; ``None`` if one never does.

    Parameters
    ----------
    problem
        The jobs and the machine.
    order
        A permutation of the jobs, shape (jobs,).
    rule
        How nodes are chosen among those that are free all the time.
    """
    starts, counts = np.zeros(problem.jobs, dtype=np.int64), _no_counts(problem)
    cost = _decode(np.ascontiguousarray(order, dtype=np.int64), _inputs(problem, rule), _NO_BOUND, starts, counts)
    return None if cost < 0 else Schedule(starts, cost, _counts(problem, counts))


def earliest_starts(problem: Problem) -> IntArray | None:
    """Return the earliest time at which each job alone fits until its end, shape (jobs,); or ``None``."""
    starts = np.zeros(problem.jobs, dtype=np.int64)
    return starts if _alone(_inputs(problem, "first-fit"), starts) else None


def list_orders(problem: Problem, first: IntArray | None = None) -> list[IntArray]:
    """Return orders worth trying: `first` (as given, by default the numbers of the jobs), then by falling weight.

    The weight itself, a second of duration, a part of the machine, and a unit of work; where the cost of a start is
    linear, the latter is Smith's rule for the machine as a whole. Ties in the order of `first`.
    """
    given = np.arange(problem.jobs) if first is None else np.asarray(first, dtype=np.int64)
    weight = problem.weight[given].astype(np.float64)
    duration, share = problem.duration[given], np.maximum(problem.share[given], 1e-12)
    keys = (weight / (duration * share), weight / duration, weight / share, weight)
    return [given, *(given[np.argsort(-key, kind="stable")] for key in keys)]


def best_of(
    problem: Problem, orders: Sequence[IntArray], rule: PlacementRule = "best-fit"
) -> tuple[Schedule | None, int]:
    """Return the schedule of least cost that one of `orders` leads to, and which; the first among equals."""
    best, which = None, 0
    for index, order in enumerate(orders):
        schedule = list_schedule(problem, order, rule)
        if schedule is not None and (best is None or schedule.cost < best.cost):
            best, which = schedule, index
    return best, which


def improve(
    problem: Problem, order: IntArray, iterations: int, rng: np.random.Generator, rule: PlacementRule = "best-fit"
) -> tuple[Schedule, IntArray]:
    """Improve an order by random swaps and moves, each kept if the schedule is not worse.

    A fixed number of iterations, so that the same generator gives the same schedule anywhere. A decoding is given up
    as soon as its partial cost is above the best.

    Parameters
    ----------
    problem, order, rule
        As in :func:`list_schedule`; the order must lead to a schedule.
    iterations
        How many orders are tried.
    rng
        Draws the changes.

    Returns
    -------
    schedule, order
        Never worse than that of the given order.

    Raises
    ------
    ValueError
        If the order leads to no schedule, or `iterations` is negative.
    """
    if iterations < 0:
        raise ValueError(f"iterations must be >= 0, got {iterations}")
    jobs = problem.jobs
    best = np.array(order, dtype=np.int64)
    starts, counts = np.zeros(jobs, dtype=np.int64), _no_counts(problem)
    inputs = _inputs(problem, rule)
    cost = _decode(best, inputs, _NO_BOUND, starts, counts)
    if cost < 0:
        raise ValueError("order leads to no schedule: more is held than there is")
    if jobs > 1 and iterations and cost:
        places = rng.integers(0, jobs, size=(iterations, 2))
        moves = np.column_stack((places, rng.integers(0, 2, size=iterations)))
        if problem.nodes > 1:
            learn(*inputs[2:])
        cost = _search(best, moves, inputs, cost, starts, counts)
    return Schedule(starts, cost, _counts(problem, counts)), best


class _Costs(NamedTuple):
    """What a start costs, by job."""

    weight: IntArray
    due: IntArray


_Inputs = tuple[_Costs, Pool, NodeData, NodeRoom]


def _inputs(problem: Problem, rule: PlacementRule) -> _Inputs:
    """Lay out a problem as the compiled code wants it; of the two machines, one is empty."""
    times, free = problem.profile
    jobs, resources = problem.demand.shape
    no_job, nothing = np.zeros(0, dtype=np.int64), np.zeros((0, resources), dtype=np.int64)
    if problem.nodes == 1:
        most = len(times) + jobs + 1
        profile = (times[:0], free[:0])
        room = (np.empty(most, dtype=np.int64), np.empty((most, resources), dtype=np.int64))
        pool = Pool(problem.duration, problem.need, times, np.ascontiguousarray(free[:, 0]), *room)
        nodes = node_arrays(profile, no_job, no_job, nothing, problem.capacity, False)
    else:
        pool = Pool(no_job, nothing, no_job, nothing, no_job, nothing)
        nodes = node_arrays(
            problem.profile, problem.duration, problem.slots, problem.demand, problem.capacity, rule == "best-fit"
        )
    return _Costs(problem.weight, problem.due), pool, *nodes


def _no_counts(problem: Problem) -> IntArray:
    return np.zeros((problem.jobs, problem.nodes if problem.nodes > 1 else 0), dtype=np.int64)


def _counts(problem: Problem, counts: IntArray) -> IntArray:
    return counts if problem.nodes > 1 else problem.slots[:, None]


@compiled
def _search(
    best: IntArray,
    moves: IntArray,
    inputs: _Inputs,
    cost: int,
    starts: IntArray,
    counts: IntArray,
) -> int:
    """Change `best`, `starts` and `counts` in place to the best order found; return its cost."""
    trial = best.copy()
    trial_starts = np.empty_like(starts)
    trial_counts = np.empty_like(counts)
    for move in range(len(moves)):
        here, there = moves[move, 0], moves[move, 1]
        if here == there:
            continue
        if moves[move, 2]:
            trial[here], trial[there] = trial[there], trial[here]
        else:
            _relocate(trial, here, there)
        found = _decode(trial, inputs, cost, trial_starts, trial_counts)
        if 0 <= found <= cost:
            cost = found
            # Loops: assigning to slices takes seconds to compile.
            for job in range(len(best)):
                best[job] = trial[job]
                starts[job] = trial_starts[job]
                for node in range(counts.shape[1]):
                    counts[job, node] = trial_counts[job, node]
            if not cost:
                break
        else:
            for job in range(len(best)):
                trial[job] = best[job]
    return cost


@compiled
def _relocate(order: IntArray, here: int, there: int) -> None:
    """Take the job at position `here` out and put it in at position `there`."""
    job = order[here]
    step = 1 if there > here else -1
    for position in range(here, there, step):
        order[position] = order[position + step]
    order[there] = job


@compiled
def _alone(inputs: _Inputs, starts: IntArray) -> bool:
    """Fill `starts` with the earliest time of each job on its own; return whether all have one."""
    _, pool, data, room = inputs
    on_pool = len(pool.times) > 0
    _open(inputs)
    for job in range(len(starts)):
        if on_pool:
            first, _ = earliest_on_pool(job, pool, len(pool.times))
        else:
            first, _ = earliest_on_nodes(job, data, room, len(data.times))
        if first < 0:
            return False
        starts[job] = pool.at[first] if on_pool else room.at[first]
    return True


@compiled
def _open(inputs: _Inputs) -> int:
    """Begin with the profile beside what is held; return its number of steps."""
    _, pool, data, room = inputs
    if len(pool.times):
        open_pool(pool)
        return len(pool.times)
    open_room(data, room)
    return len(data.times)


@compiled
def _decode(order: IntArray, inputs: _Inputs, bound: int, starts: IntArray, counts: IntArray) -> int:
    """Fill `starts` and `counts` from an order; return the cost, one above `bound` when given up, -1 if impossible."""
    costs, pool, data, room = inputs
    on_pool = len(pool.times) > 0
    steps = _open(inputs)
    cost: int = 0
    for job in order:
        if on_pool:
            first, last = earliest_on_pool(job, pool, steps)
        else:
            first, last = earliest_on_nodes(job, data, room, steps)
        if first < 0:
            return -1
        starts[job] = pool.at[first] if on_pool else room.at[first]
        if starts[job] > costs.due[job]:
            cost += costs.weight[job] * (starts[job] - costs.due[job])
            if cost > bound:
                return cost
        if on_pool:
            steps = hold_on_pool(job, pool, steps, first, last)
        else:
            choose_nodes(job, data, room, counts[job])
            steps = hold_on_nodes(job, data, room, steps, first, last, counts[job])
    return cost
