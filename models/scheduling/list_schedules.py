"""Schedules from permutations: serial schedule generation, list schedules, and a local search over the order.

Every job in turn is started at the first time at which it fits until its end beside those before it; each schedule that
is left-shifted comes from some order (Kolisch, European Journal of Operational Research 90, 1996).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...base import IntArray
from ..placement import PlacementRule
from ..profiles.amounts import Steps, make_steps
from .list_search import NodeSearch, alone, decode_on_nodes, search_on_nodes
from .modes import KINDS_OF_MOVES, falling_orders, mode_orders
from .node_groups import place_in_order
from .pool_search import AFTER, BEST, PoolSearch, earliest_steps, open_search, search_orders, step_of
from .problem import WHENEVER, Problem
from .serial_on_nodes import node_arrays

_NOTHING = np.zeros(0, dtype=np.int64)
_NO_MOVES, _NO_ORDERS = np.zeros((0, 3), dtype=np.int64), np.zeros((0, 0), dtype=np.int64)


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
    starts = np.full(problem.jobs, -1)
    if problem.nodes > 1:
        alone(_node_search(problem, "first-fit"), starts)
        return None if starts.min(initial=0) < 0 else starts
    search = _pool_search(problem)
    profile, count = search.kept[BEST, 0], search.counts[BEST, 0, 0]
    for job in range(problem.jobs):
        step, _ = earliest_steps(search.jobs, job, profile, count, step_of(profile, count, search.jobs[job, AFTER]))
        if step == count:
            return None
        starts[job] = profile[0, step]
    return starts


def list_orders(problem: Problem) -> list[IntArray]:
    """Return orders worth trying: the jobs as they come, then four by falling weight, see :func:`.falling_orders`.

    Where jobs have modes there are more orders: see :func:`.mode_orders`.
    """
    if problem.has_modes:
        return mode_orders(problem, _pool_search(problem))
    return falling_orders(problem, np.arange(problem.jobs))


def best_of(
    problem: Problem, orders: Sequence[IntArray], rule: PlacementRule = "best-fit"
) -> tuple[Schedule | None, int]:
    """Return the schedule of least cost that one of `orders` leads to, and which; the first among equals."""
    tried = np.array(orders, dtype=np.int64)
    if problem.nodes == 1:
        found = _pool_search(problem)
        which, _ = search_orders(found, tried, _NO_MOVES)
        return _pool_schedule(problem, found), which
    search, best, starts = _node_search(problem, rule), tried[0].copy(), np.zeros(problem.jobs, dtype=np.int64)
    which, cost = search_on_nodes(search, tried, _NO_MOVES, best, starts, np.inf)
    return _node_schedule(problem, search, best, cost), which


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
    given, steps = np.array(order, dtype=np.int64), -(-iterations // parts)
    find = _improve_on_pool if problem.nodes == 1 else _improve_on_nodes
    schedule, best = find(problem, given, [steps] * parts, rng, rule)
    if schedule is None:
        raise ValueError("order leads to no schedule: more is held than there is")
    return schedule, best


def _improve_on_pool(
    problem: Problem, order: IntArray, parts: Sequence[int], rng: np.random.Generator, rule: PlacementRule
) -> tuple[Schedule | None, IntArray]:
    del rule  # There are no nodes to choose, but those of the instant, always by best fit.
    found = _pool_search(problem)
    search_orders(found, order[None], _NO_MOVES)
    for steps in parts:
        cost, starts, order = found.cost[0], found.starts[BEST].copy(), found.order[BEST].copy()
        moves = _moves(len(order), steps if cost else 0, rng, KINDS_OF_MOVES if problem.has_modes else 2)
        search_orders(found, _NO_ORDERS, moves)
        if len(parts) > 1 and found.cost[0] >= cost:
            found.starts[BEST], found.order[BEST] = starts, order
            break
    return _pool_schedule(problem, found), found.order[BEST]


def _improve_on_nodes(
    problem: Problem, order: IntArray, parts: Sequence[int], rng: np.random.Generator, rule: PlacementRule
) -> tuple[Schedule | None, IntArray]:
    search, best, starts = _node_search(problem, rule), order, np.zeros(problem.jobs, dtype=np.int64)
    _, cost = search_on_nodes(search, order[None], _NO_MOVES, best, starts, np.inf)
    for steps in parts:
        before, order = cost, best.copy()
        moves = _moves(problem.jobs, steps if cost else 0, rng)
        _, cost = search_on_nodes(search, _NO_ORDERS, moves, best, starts, cost)
        if len(parts) > 1 and cost >= before:
            best = order
            break
    return _node_schedule(problem, search, best, cost), best


def _moves(jobs: int, iterations: int, rng: np.random.Generator, kinds: int = 2) -> IntArray:
    """Draw the changes of an order, see :func:`.search`; none where there is nothing to change."""
    if not iterations or (jobs < 2 and kinds == 2):
        return np.zeros((0, 3), dtype=np.int64)
    places = rng.integers(0, jobs, size=(iterations, 2))
    return np.column_stack((places, rng.integers(0, kinds, size=iterations)))


def _pool_search(problem: Problem) -> PoolSearch:
    """Lay out a problem on a pool."""
    bounded = bool(problem.earliest.any() or int(problem.latest.min(initial=WHENEVER)) < WHENEVER)
    short = problem.shortage
    return open_search(
        problem.weight.astype(np.float64), problem.due_start, problem.duration, short.need, np.full(problem.jobs, -1),
        Steps(short.times, short.free), problem.mode_of, problem.kind if bounded or len(problem.free_now) else _NOTHING,
        problem.instant, problem.earliest, problem.latest,
    )  # fmt: skip


def _pool_schedule(problem: Problem, found: PoolSearch) -> Schedule | None:
    """Return the best schedule of a search on a pool; ``None`` if a job never fits, or no order keeps latest starts."""
    if found.starts[BEST].min(initial=0) < 0:
        return None
    starts = np.full(problem.jobs, -1)
    starts[found.order[BEST]] = found.starts[BEST]
    counts = (problem.slots * (starts >= 0))[:, None]
    if len(problem.free_now):
        counts = np.zeros((problem.jobs, len(problem.free_now)), dtype=np.int64)
        place_in_order(problem.instant, found.order[BEST], starts, counts)
    return Schedule(starts, problem.cost(starts), counts)


def _node_search(problem: Problem, rule: PlacementRule) -> NodeSearch:
    """Lay out a problem on nodes, with what jobs take of quotas, and what is left of these beside what is held."""
    classes = problem.classes.at(np.union1d(problem.classes.times, problem.earliest))
    nodes = node_arrays(classes, problem.duration, problem.slots, problem.demand, rule == "best-fit")
    nothing = make_steps(0, 1)
    need, left = nothing.free, nothing
    if problem.quotas is not None:
        need, left = problem.quotas.need, Steps(problem.quotas.times, problem.quotas.left)
    return NodeSearch(
        problem.weight.astype(np.float64), problem.due, problem.latest, problem.earliest, need, left,
        make_steps(len(left.at) + 3 * problem.jobs + 1, need.shape[1]), *nodes, problem.kind,
    )  # fmt: skip


def _node_schedule(problem: Problem, search: NodeSearch, order: IntArray, cost: float) -> Schedule | None:
    """Return the schedule of an order on nodes; ``None`` if a job never fits, or no order keeps latest starts."""
    starts, counts = np.zeros(problem.jobs, dtype=np.int64), np.zeros(problem.jobs * problem.nodes, dtype=np.int64)
    if cost < np.inf:
        decode_on_nodes(search, order, np.inf, starts, counts, starts, 0)
    if cost == np.inf or starts.min(initial=0) < 0:
        return None
    return Schedule(starts, problem.cost(starts), counts.reshape(problem.jobs, problem.nodes))
