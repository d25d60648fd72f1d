"""Schedules from permutations: list schedules, and a local search over orders.

A list schedule starts each job in turn at the first time where it fits until its end. Some order gives each
left-shifted schedule (Kolisch, European Journal of Operational Research 90, 1996).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...base import IntArray
from ...base.argument_types import names_wrong_types
from ..placement import PlacementRule
from ..profiles.amounts import AmountSteps, make_steps
from .list_search import NodeSearch, alone, decode_on_nodes, search_on_nodes
from .modes import KINDS_OF_MOVES, falling_orders, mode_orders
from .node_groups import place_in_order
from .pool_search import PoolSearch, earliest_steps, open_search, search_orders, step_of
from .problem import WHENEVER, Problem
from .serial_on_nodes import node_arrays

_NOTHING = np.zeros(0, dtype=np.int64)
_NO_MOVES = np.zeros((0, 3), dtype=np.int64)
_NO_ORDERS = np.zeros((0, 0), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Schedule:
    """Valid start times, their cost, and the placement of slots.

    Attributes
    ----------
    starts
        Seconds from now. Shape (jobs,). -1 for a mode that is not chosen.
    cost
        ``problem.cost(starts)``.
    counts
        Slots of each job on each node, shape (jobs, nodes). For a pool with nodes now, slots on those nodes. Then jobs
        that start later have zeros.
    """

    starts: IntArray
    cost: int
    counts: IntArray


@names_wrong_types
def list_schedule(problem: Problem, order: IntArray, rule: PlacementRule = "best-fit") -> Schedule | None:
    """Start the jobs in `order`, each at its earliest fit. Return ``None`` if one never fits.

    Parameters
    ----------
    problem
        Jobs and machine.
    order
        A permutation of the jobs, shape (jobs,). For jobs with modes, one row per job.
    rule
        How to choose among the nodes that are free for the whole duration.
    """
    return best_of(problem, [order], rule)[0]


@names_wrong_types
def in_order(starts: IntArray) -> IntArray:
    """Return the jobs in order of start, each in its chosen mode."""
    order = np.argsort(starts, kind="stable")
    return order[starts[order] >= 0]


@names_wrong_types
def earliest_starts(problem: Problem) -> IntArray | None:
    """Return the earliest start of each job alone. Shape (jobs,), or ``None`` if one never fits."""
    starts = np.full(problem.jobs, -1)
    if problem.nodes > 1:
        alone(_node_search(problem, "first-fit"), starts)
        return None if starts.min(initial=0) < 0 else starts
    search = _pool_search(problem)
    after, profile, count = search.jobs["after"], search.best.profiles[0], int(search.best.steps[0])
    for job in range(problem.jobs):
        step, _ = earliest_steps(
            search.jobs, search.need, job, profile, count, step_of(profile, count, int(after[job]))
        )
        if step == count:
            return None
        starts[job] = profile[0, step]
    return starts


@names_wrong_types
def list_orders(problem: Problem) -> list[IntArray]:
    """Return candidate orders: the jobs as given, then four by falling weight, see :func:`.falling_orders`.

    Jobs with modes have more orders, see :func:`.mode_orders`.
    """
    if problem.has_modes:
        return mode_orders(problem, _pool_search(problem))
    return falling_orders(problem, np.arange(problem.jobs))


@names_wrong_types
def best_of(
    problem: Problem, orders: Sequence[IntArray], rule: PlacementRule = "best-fit"
) -> tuple[Schedule | None, int]:
    """Return the cheapest schedule of these orders and the order's position. Ties go to the first."""
    tried = np.array(orders, dtype=np.int64)
    if problem.nodes == 1:
        on_pool = _pool_search(problem)
        which, _ = search_orders(on_pool, tried, _NO_MOVES)
        return _pool_schedule(problem, on_pool), which
    search = _node_search(problem, rule)
    best = tried[0].copy()
    starts = np.zeros(problem.jobs, dtype=np.int64)
    which, cost = search_on_nodes(search, tried, _NO_MOVES, best, starts, np.inf)
    return _node_schedule(problem, search, best, cost), which


@names_wrong_types
def improve(
    problem: Problem,
    order: IntArray,
    iterations: int,
    rng: np.random.Generator,
    rule: PlacementRule = "best-fit",
    parts: int = 1,
) -> tuple[Schedule, IntArray]:
    """Improve an order by local search. Accept each change that does not raise the cost.

    Changes are random swaps, moves and changes of mode. Their number is fixed. So equal generators give equal schedules
    on any machine.

    Parameters
    ----------
    problem, order
        As in :func:`list_schedule`. The order must give a schedule.
    iterations
        Number of changes to try.
    rng
        Random generator of the changes.
    rule
        As in :func:`list_schedule`.
    parts
        Number of parts of the search. A part without improvement is undone and ends the search.

    Returns
    -------
    schedule, order
        Never worse than the initial order.

    Raises
    ------
    ValueError
        If the order gives no schedule, or `iterations` is negative.
    """
    if iterations < 0:
        raise ValueError(f"iterations must be >= 0, got {iterations}")
    given = np.array(order, dtype=np.int64)
    steps = -(-iterations // parts)
    find = _improve_on_pool if problem.nodes == 1 else _improve_on_nodes
    schedule, best = find(problem, given, [steps] * parts, rng, rule)
    if schedule is None:
        raise ValueError("order leads to no schedule: more is held than there is")
    return schedule, best


def _improve_on_pool(
    problem: Problem, order: IntArray, parts: Sequence[int], rng: np.random.Generator, rule: PlacementRule
) -> tuple[Schedule | None, IntArray]:
    del rule  # A pool has no nodes to choose. Nodes of the instant always use best fit.
    search = _pool_search(problem)
    best = search.best
    search_orders(search, order[None], _NO_MOVES)
    for steps in parts:
        cost = search.cost[0]
        starts = best.starts.copy()
        order = best.order.copy()
        moves = _moves(len(order), steps if cost else 0, rng, KINDS_OF_MOVES if problem.has_modes else 2)
        search_orders(search, _NO_ORDERS, moves)
        if len(parts) > 1 and search.cost[0] >= cost:
            best.starts[:] = starts
            best.order[:] = order
            break
    return _pool_schedule(problem, search), best.order


def _improve_on_nodes(
    problem: Problem, order: IntArray, parts: Sequence[int], rng: np.random.Generator, rule: PlacementRule
) -> tuple[Schedule | None, IntArray]:
    search = _node_search(problem, rule)
    best = order
    starts = np.zeros(problem.jobs, dtype=np.int64)
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
    """Generate random changes of an order, see :func:`.search`. None if no change is possible."""
    if not iterations or (jobs < 2 and kinds == 2):
        return np.zeros((0, 3), dtype=np.int64)
    places = rng.integers(0, jobs, size=(iterations, 2))
    return np.column_stack((places, rng.integers(0, kinds, size=iterations)))


def _pool_search(problem: Problem) -> PoolSearch:
    """Prepare the search on a pool."""
    bounded = bool(problem.earliest.any() or int(problem.latest.min(initial=WHENEVER)) < WHENEVER)
    short = problem.shortage
    return open_search(
        problem.weight.astype(np.float64),
        problem.due_start,
        problem.duration,
        short.need,
        np.full(problem.jobs, -1),
        AmountSteps(short.times, short.free),
        problem.mode_of,
        problem.kind if bounded or len(problem.free_now) else _NOTHING,
        problem.instant,
        problem.earliest,
        problem.latest,
    )


def _pool_schedule(problem: Problem, search: PoolSearch) -> Schedule | None:
    """Return the best schedule of a search on a pool.

    ``None`` if a job never fits, or every order breaks a latest start.
    """
    best = search.best
    if best.starts.min(initial=0) < 0:
        return None
    starts = np.full(problem.jobs, -1)
    starts[best.order] = best.starts
    counts = (problem.slots * (starts >= 0))[:, None]
    if len(problem.free_now):
        counts = np.zeros((problem.jobs, len(problem.free_now)), dtype=np.int64)
        place_in_order(problem.instant, best.order, starts, counts)
    return Schedule(starts, problem.cost(starts), counts)


def _node_search(problem: Problem, rule: PlacementRule) -> NodeSearch:
    """Prepare the search on nodes, with needs and free amounts of quotas."""
    classes = problem.classes.at(np.union1d(problem.classes.times, problem.earliest))
    nodes = node_arrays(classes, problem.duration, problem.slots, problem.demand, rule == "best-fit")
    nothing = make_steps(0, 1)
    need, left = nothing.free, nothing
    if problem.quotas is not None:
        need = np.ascontiguousarray(problem.quotas.need)  # else the search would compile once more
        left = AmountSteps(problem.quotas.times, problem.quotas.left)
    return NodeSearch(
        problem.weight.astype(np.float64),
        problem.due,
        problem.latest,
        problem.earliest,
        need,
        left,
        make_steps(len(left.at) + 3 * problem.jobs + 1, need.shape[1]),
        *nodes,
        problem.kind,
    )


def _node_schedule(problem: Problem, search: NodeSearch, order: IntArray, cost: float) -> Schedule | None:
    """Return the schedule of an order on nodes.

    ``None`` if a job never fits, or every order breaks a latest start.
    """
    starts = np.zeros(problem.jobs, dtype=np.int64)
    counts = np.zeros(problem.jobs * problem.nodes, dtype=np.int64)
    if cost < np.inf:
        decode_on_nodes(search, order, np.inf, starts, counts, starts, 0)
    if cost == np.inf or starts.min(initial=0) < 0:
        return None
    return Schedule(starts, problem.cost(starts), counts.reshape(problem.jobs, problem.nodes))
