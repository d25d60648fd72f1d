"""Schedules from permutations: serial schedule generation, list schedules, and a local search over the order.

Every job in turn is started at the first time at which it fits until its end beside those before it; each schedule that
is left-shifted comes from some order (Kolisch, European Journal of Operational Research 90, 1996).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...base import IntArray
from .list_search import Costs, Inputs, alone, best_order, by_falling_weight, on_nodes, on_the_pool, search
from .modes import KINDS_OF_MOVES, mode_orders
from .node_groups import place_in_order
from .node_layout import node_arrays
from .placement import PlacementRule
from .pool_search import BEST, PoolSearch, best_of_orders, improve_order, open_mode_search
from .problem import WHENEVER, Problem
from .serial_on_nodes import learn
from ..profiles.amounts import Steps, make_steps

_NO_BOUND = np.iinfo(np.int64).max
_NO_KINDS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Schedule:
    """Start times that hold, the cost of them, and where the slots lie.

    Attributes
    ----------
    starts
        Seconds from now, shape (jobs,); -1 for a mode that is not taken.
    cost
        ``problem.cost(starts)``.
    counts
        Slots of each job on each node, shape (jobs, nodes). Where the problem is one of the instant, on each node now,
        zeros for what starts later.
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
        A permutation of the jobs, shape (jobs,), or of some row of each where they have modes.
    rule
        How nodes are chosen among those that are free all the time.
    """
    return best_of(problem, [order], rule)[0]


def in_order(starts: IntArray) -> IntArray:
    """Return the jobs as they start, each in the mode that is taken."""
    order = np.argsort(starts, kind="stable")
    return order[starts[order] >= 0]


def earliest_starts(problem: Problem) -> IntArray | None:
    """Return the earliest time at which each job alone fits until its end, shape (jobs,); or ``None``."""
    starts = np.zeros(problem.jobs, dtype=np.int64)
    alone(_inputs(problem, "first-fit"), starts)
    return None if starts.min(initial=0) < 0 else starts


def list_orders(problem: Problem, first: IntArray | None = None) -> list[IntArray]:
    """Return orders worth trying: `first` (as given, by default the numbers of the jobs), then four by falling weight.

    Ties in the order of `first`; see :func:`.by_falling_weight`. Where jobs have modes, `first` is a row of each, and
    there are more orders: see :func:`.mode_orders`.
    """
    if problem.has_modes:
        return mode_orders(problem, first, _pool_search(problem))
    given = np.arange(problem.jobs) if first is None else np.asarray(first, dtype=np.int64)
    falling = np.empty((4, problem.jobs), dtype=np.int64)
    by_falling_weight(problem.weight[given].astype(np.float64), problem.duration[given], problem.share[given], falling)
    return [given, *given[falling]]


def best_of(
    problem: Problem, orders: Sequence[IntArray], rule: PlacementRule = "best-fit"
) -> tuple[Schedule | None, int]:
    """Return the schedule of least cost that one of `orders` leads to, and which; the first among equals."""
    tried = np.array(orders, dtype=np.int64)
    if _is_plain_pool(problem):
        found = _pool_search(problem)
        which = best_of_orders(found, tried, _NO_BOUND)
        return _pool_schedule(problem, found), which
    starts, counts = _no_schedule(problem)
    inputs = _inputs(problem, rule)
    cost, which = best_order(tried, inputs, _NO_BOUND, starts, counts)
    return _schedule(problem, inputs, tried[which], starts, cost, counts), which


def improve(
    problem: Problem,
    order: IntArray,
    iterations: int,
    rng: np.random.Generator,
    rule: PlacementRule = "best-fit",
    parts: int = 1,
) -> tuple[Schedule, IntArray]:
    """Improve an order by random swaps and moves, and changes of mode, each kept if the schedule is not worse.

    A fixed number of iterations, so that the same generator gives the same schedule anywhere.

    Parameters
    ----------
    problem, order, rule
        As in :func:`list_schedule`; the order must lead to a schedule.
    iterations
        How many orders are tried.
    rng
        Draws the changes.
    parts
        In how many parts; one that brings nothing is undone, and the last.

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
    best, steps = np.array(order, dtype=np.int64), [-(-iterations // parts)] * parts
    if _is_plain_pool(problem):
        schedule, best = _improve_on_pool(problem, best, steps, rng)
    else:
        schedule, best = _improve_otherwise(problem, best, steps, rng, rule)
    if schedule is None:
        raise ValueError("order leads to no schedule: more is held than there is")
    return schedule, best


def _improve_on_pool(
    problem: Problem, order: IntArray, parts: Sequence[int], rng: np.random.Generator
) -> tuple[Schedule | None, IntArray]:
    found = _pool_search(problem)
    best_of_orders(found, order[None], _NO_BOUND)
    kinds = KINDS_OF_MOVES if problem.has_modes else 2
    for steps in parts:
        cost, starts, order = found.cost[BEST, -1], found.starts[BEST].copy(), found.order[BEST].copy()
        improve_order(found, _moves(len(order), steps if cost else 0, rng, kinds))
        if len(parts) > 1 and found.cost[BEST, -1] >= cost:
            found.starts[BEST], found.order[BEST] = starts, order
            break
    return _pool_schedule(problem, found), found.order[BEST]


def _improve_otherwise(
    problem: Problem, best: IntArray, parts: Sequence[int], rng: np.random.Generator, rule: PlacementRule
) -> tuple[Schedule | None, IntArray]:
    """Do so where jobs have nodes, or times of their own."""
    inputs = _inputs(problem, rule)
    starts, counts = _no_schedule(problem)
    cost, _ = best_order(best[None], inputs, _NO_BOUND, starts, counts)
    for steps in parts:
        moves = _moves(problem.jobs, steps if cost else 0, rng)
        if len(moves) and problem.nodes > 1:
            learn(inputs.nodes, inputs.node_room)
        before, order = cost, best.copy()
        cost = search(best, moves, inputs, problem.kind, cost, starts)
        if len(parts) > 1 and cost >= before:
            best = order
            break
    best_order(best[None], inputs, _NO_BOUND, starts, counts)
    return _schedule(problem, inputs, best, starts, cost, counts), best


def _is_plain_pool(problem: Problem) -> bool:
    """Return whether jobs may start whenever the pool has room for them, and the nodes if that is now."""
    whenever = not problem.earliest.any() and int(problem.latest.min(initial=WHENEVER)) == WHENEVER
    return problem.nodes == 1 and whenever


def _moves(jobs: int, iterations: int, rng: np.random.Generator, kinds: int = 2) -> IntArray:
    """Draw the changes of an order, see :func:`.search`; none where there is nothing to change."""
    if not iterations or (jobs < 2 and kinds == 2):
        return np.zeros((0, 3), dtype=np.int64)
    places = rng.integers(0, jobs, size=(iterations, 2))
    return np.column_stack((places, rng.integers(0, kinds, size=iterations)))


def _pool_search(problem: Problem) -> PoolSearch:
    """Lay out a problem on a pool where nothing but room matters."""
    nothing, kind = np.full(problem.jobs, -1), problem.kind if len(problem.free_now) else _NO_KINDS
    short = problem.shortage
    return open_mode_search(
        problem.weight, problem.due_start, problem.duration, short.need, nothing, Steps(short.times, short.free),
        problem.mode_of, kind, problem.instant,
    )  # fmt: skip


def _pool_schedule(problem: Problem, found: PoolSearch) -> Schedule | None:
    """Return the best schedule of a search on a pool."""
    if found.starts[BEST].min(initial=0) < 0:
        return None
    cost, starts = int(found.cost[BEST, -1]), np.full(problem.jobs, -1)
    starts[found.order[BEST]] = found.starts[BEST]
    if len(problem.free_now):
        counts = np.zeros((problem.jobs, len(problem.free_now)), dtype=np.int64)
        place_in_order(problem.instant, found.order[BEST], starts, counts)
        return Schedule(starts, cost, counts)
    return Schedule(starts, cost, (problem.slots * (starts >= 0))[:, None])


def _inputs(problem: Problem, rule: PlacementRule) -> Inputs:
    """Lay out a problem as the compiled code wants it."""
    costs = Costs(problem.weight, problem.due, problem.latest)
    if problem.nodes > 1:
        jobs = (problem.duration, problem.slots, problem.demand)
        classes = problem.classes.at(np.union1d(problem.classes.times, problem.earliest))
        arrays = node_arrays(classes, *jobs, rule == "best-fit")
        return on_nodes(costs, *arrays, problem.earliest, *_quotas(problem))
    return on_the_pool(costs, problem.duration, problem.need, _held(problem), problem.earliest, problem.instant)


def _held(problem: Problem) -> Steps:
    """Return what is free of a pool beside what is held."""
    times, free = problem.profile
    return Steps(times, np.ascontiguousarray(free[:, 0]))


def _quotas(problem: Problem) -> tuple[IntArray, Steps]:
    """Return what jobs on nodes take of quotas, and what is left of these beside what is held; no steps without any."""
    if problem.quotas is None:
        nothing = make_steps(0, 1)
        return nothing.free, nothing
    return problem.quotas.need, Steps(problem.quotas.times, problem.quotas.left)


def _no_schedule(problem: Problem) -> tuple[IntArray, IntArray]:
    """Return room for starts, and for counts where all jobs have nodes to choose."""
    nodes = problem.nodes if problem.nodes > 1 else 0
    return np.zeros(problem.jobs, dtype=np.int64), np.zeros((problem.jobs, nodes), dtype=np.int64)


def _schedule(
    problem: Problem, inputs: Inputs, order: IntArray, starts: IntArray, cost: float, counts: IntArray
) -> Schedule | None:
    if starts.min(initial=0) < 0 or (cost == _NO_BOUND and problem.jobs):  # No order kept the latest starts.
        return None
    if len(problem.free_now):  # The nodes of those that start now are not noted before the order is known.
        counts = np.zeros((problem.jobs, len(problem.free_now)), dtype=np.int64)
        best_order(order[None], inputs, _NO_BOUND, starts, counts)
        return Schedule(starts, int(cost), counts)
    return Schedule(starts, int(cost), counts if problem.nodes > 1 else problem.slots[:, None])
