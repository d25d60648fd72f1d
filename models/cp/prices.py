"""Lower bounds on the cost of a schedule on a pool, also if one job starts now or later.

Lagrangian relaxation of the capacity in intervals of time. Subgradient steps set the prices (Held, Wolfe and Crowder,
Mathematical Programming 6, 1974). Prices make jobs independent. The start of each is exact to the second.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import FloatArray, IntArray
from ..compiled import borrowing
from ..scheduling.node_classes import equal_rows
from ..scheduling.problem import Problem, rising
from .packing import slots_asked

#: Subgradient steps, and intervals of time.
STEPS, INTERVALS = 60, 48
#: Most demands with a price for slots on the nodes now.
DEMANDS = 12
#: What a job pays: until an edge, and per second after it.
PAYMENT = np.dtype([("until", np.float64), ("each_second", np.float64)])
#: Of a job that starts now, or later: the bound of all schedules, and its own least cost.
STARTS = np.dtype([(name, np.float64) for name in ("now", "later", "cost_now", "cost_later")])


class CostBounds(NamedTuple):
    """Lower bounds on the cost of schedules.

    Attributes
    ----------
    least
        Bound of all schedules.
    now, later
        Bound of the schedules in which each job starts now, or later. Shape (jobs,), infinite where impossible.
    """

    least: int
    now: FloatArray
    later: FloatArray


class EqualJobs(NamedTuple):
    """Groups of equal jobs: with equal prices they start at the same time.

    `asked` lists the resources that each job needs. Its last column is their number.
    """

    need: FloatArray
    asked: IntArray
    duration: IntArray
    weight: FloatArray
    due: IntArray
    earliest: IntArray
    many: IntArray
    later: IntArray


def price_bounds(problem: Problem, starts: IntArray, cost: int, steps: int = STEPS) -> CostBounds:
    """Return lower bounds on the cost of schedules on a pool.

    Parameters
    ----------
    problem
        Jobs and a pool.
    starts, cost
        Start times and cost of a schedule. They place the intervals and scale the steps.
    steps
        Subgradient steps.
    """
    edges = _edges(problem, starts)
    times, free = problem.profile
    room = _room(times, np.maximum(free, 0), edges)
    asked = problem.need.any(axis=0)
    slots, most = _slots_now(problem)
    # Later slots are unlimited: the free amounts of nodes are known only now.
    rooms = np.concatenate((room[:, asked], np.diff(edges)[:, None] * slots.sum(axis=0)), axis=1)
    rooms[0, asked.sum() :] = edges[1] * most
    jobs, kind = _kinds(problem, np.concatenate((problem.need[:, asked], slots), axis=1))
    there = np.ascontiguousarray(rooms.T, np.float64)
    count = len(jobs.many)
    ends = np.empty(count, dtype=STARTS)
    # Capacity of an interval is the sum over its seconds, a relaxation of the capacity per second.
    best = ascend(
        jobs,
        edges,
        there,
        np.zeros_like(there),
        np.zeros_like(there),
        np.zeros(len(edges), dtype=PAYMENT),
        np.empty(count, dtype=np.int64),
        ends,
        float(cost),
        steps,
    )
    slack = 1e-9 * abs(best) + 1e-6
    alone = problem.cost(problem.earliest)
    return CostBounds(max(alone, int(np.ceil(best - slack))), ends["now"][kind] - slack, ends["later"][kind] - slack)


def _room(times: IntArray, free: IntArray, edges: IntArray) -> IntArray:
    """Return the free amounts between edges, summed over seconds. Shape (intervals, resources)."""
    step = np.searchsorted(times, edges, side="right") - 1
    before = np.cumsum(np.diff(times, prepend=0)[1:, None] * free[:-1], axis=0)
    until = np.concatenate((np.zeros((1, free.shape[1]), dtype=np.int64), before))[step]
    return np.diff(until + (edges - times[step])[:, None] * free[step], axis=0)


def _kinds(problem: Problem, need: IntArray) -> tuple[EqualJobs, IntArray]:
    """Return the groups of equal jobs and the group of each job. Shape (jobs,).

    `need` holds the amounts that have a price.
    """
    columns = np.column_stack((need, problem.duration, problem.weight, problem.due, problem.earliest))
    first, kind = equal_rows(columns)
    absent = need[first] <= 0
    jobs = EqualJobs(
        need[first].astype(np.float64),
        np.column_stack((np.argsort(absent, axis=1, kind="stable"), (~absent).sum(axis=1))),
        problem.duration[first],
        problem.weight[first].astype(np.float64),
        problem.due[first],
        problem.earliest[first],
        np.bincount(kind),
        np.array([problem.first_later]),
    )
    return jobs, kind


def _edges(problem: Problem, starts: IntArray) -> IntArray:
    """Return the interval begins and the last end: releases, and starts and ends of a schedule."""
    ends = starts + problem.duration
    times = np.concatenate((problem.profile[0], starts, ends, np.array([0, problem.first_later])))
    times = rising(times[times <= max(int(ends.max(initial=1)), 1)])
    if len(times) > INTERVALS:
        spread = np.linspace(0, len(times) - 1, INTERVALS).astype(np.int64)
        times = times[np.unique(np.append(spread, 1))]  # Nothing starts between now and the second time.
    return np.append(times, times[-1] + 1) if len(times) < 2 else times


def _slots_now(problem: Problem) -> tuple[IntArray, IntArray]:
    """Return required and available slots of the scarcest demands, shapes (jobs, demands) and (demands,).

    A demand counts every job that needs at least as much. Demands with enough slots are left out.
    """
    slots, most = slots_asked(problem)
    wanted = slots.sum(axis=0)
    scarce = np.argsort(most / np.maximum(wanted, 1), kind="stable")[:DEMANDS]
    scarce = scarce[most[scarce] < wanted[scarce]] if len(scarce) else scarce
    return slots[:, scarce], most[scarce]


@borrowing
def ascend(
    jobs: EqualJobs,
    edges: IntArray,
    room: FloatArray,
    price: FloatArray,
    use: FloatArray,
    paid: NDArray[np.void],
    starts: IntArray,
    ends: NDArray[np.void],
    cost: float,
    steps: int,
) -> float:
    """Return the best bound. Write the bounds of each job to `ends`.

    Parameters
    ----------
    jobs, edges, room
        Jobs, interval edges, and free amounts of each interval. Shape of `room`: (resources, intervals).
    price, use
        Price and use of each resource in each interval, shaped like `room`. Prices start at zero.
    paid
        Buffer for what a job pays, of type :data:`PAYMENT`. Shape (edges,), zeros.
    starts, ends
        Buffers for the cheapest start of each job, and for bounds and costs, of type :data:`STARTS`. Shape (jobs,).
    cost, steps
        Cost of a schedule, and number of steps.
    """
    (resources, intervals) = room.shape
    best = -np.inf
    scale = 1.0
    vain = 0
    for _ in range(steps):
        bound = _priced(jobs, edges, price, paid, starts, ends)
        for interval in range(intervals):
            for resource in range(resources):
                bound -= price[resource, interval] * room[resource, interval]
        if bound > best:
            vain, best = 0, bound
            for job in range(len(starts)):
                least = min(ends[job].cost_now, ends[job].cost_later)
                ends[job].now = bound - least + ends[job].cost_now
                ends[job].later = bound - least + ends[job].cost_later
        else:
            vain += 1
            if vain == 8:
                scale, vain = scale / 2, 0
        _usage(jobs, edges, starts, use)
        # Raise the price of overused resources and lower the others. Shares of the room make long intervals and rare
        # resources count alike.
        norm = 0.0
        distance = scale * max(cost - bound, 0.0)
        for interval in range(intervals):
            for resource in range(resources):
                unit = max(room[resource, interval], 1.0)
                over = (use[resource, interval] - room[resource, interval]) / unit
                if over > 0 or price[resource, interval] > 0:
                    norm += over * over
        if norm <= 0 or distance <= 0:
            break
        for interval in range(intervals):
            for resource in range(resources):
                unit = max(room[resource, interval], 1.0)
                over = (use[resource, interval] - room[resource, interval]) / unit
                price[resource, interval] = max(price[resource, interval] + distance / norm * over / unit, 0.0)
    return best


@borrowing
def _priced(
    jobs: EqualJobs,
    edges: IntArray,
    price: FloatArray,
    paid: NDArray[np.void],
    starts: IntArray,
    ends: NDArray[np.void],
) -> float:
    """Return the sum of the least costs.

    Also writes each job's cheapest start and its least costs for a start now and a later start.
    """
    total, last = 0.0, len(edges) - 1
    for job in range(len(starts)):
        weight = jobs.weight[job]
        due = jobs.due[job]
        duration = jobs.duration[job]
        for edge in range(last):
            paid[edge].each_second = 0.0
        for place in range(jobs.asked[job, -1]):
            resource = jobs.asked[job, place]
            need = jobs.need[job, jobs.asked[job, place]]
            for edge in range(last):
                paid[edge].each_second += need * price[resource, edge]
        for edge in range(last):
            paid[edge + 1].until = paid[edge].until + paid[edge].each_second * (edges[edge + 1] - edges[edge])
        first = np.inf
        lowest = max(jobs.earliest[job], jobs.later[0])
        if not jobs.earliest[job]:
            first = weight * max(-due, 0) + (_paid(duration, edges, paid) - paid[0].until)
        second, when = _best_later(lowest, weight, due, duration, edges, paid)
        starts[job] = 0 if first <= second else when
        ends[job].cost_now, ends[job].cost_later = first, second
        total += jobs.many[job] * min(first, second)
    return total


@borrowing
def _paid(time: int, edges: IntArray, paid: NDArray[np.void]) -> float:
    """Return what a job pays from now until `time`."""
    edge, end = 0, len(edges)
    while end - edge > 1:
        middle = (edge + end) // 2
        if edges[middle] <= time:
            edge = middle
        else:
            end = middle
    value: float = paid[edge].until
    if edge < len(edges) - 1:
        value += (time - edges[edge]) * paid[edge].each_second
    return value


@borrowing
def _best_later(
    lowest: int, weight: float, due: int, duration: int, edges: IntArray, paid: NDArray[np.void]
) -> tuple[float, int]:
    """Return the least cost of a start at or after a time, and that start.

    Candidates are `lowest`, the due date, and each start or end at which a price changes. One pass over the edges finds
    the other end of the job for all of them.
    """
    last = len(edges) - 1
    behind = 0
    ahead = 0
    when = lowest
    best = weight * max(lowest - due, 0) + (_paid(lowest + duration, edges, paid) - _paid(lowest, edges, paid))
    for edge in range(len(edges)):
        start = edges[edge]
        if weight * (start - duration - due) >= best:
            break  # Payments never fall, so no later start costs less.
        if start > lowest:
            while ahead < last and edges[ahead + 1] <= start + duration:
                ahead += 1
            until = paid[ahead].until
            if ahead < last:
                until += (start + duration - edges[ahead]) * paid[ahead].each_second
            cost = weight * max(start - due, 0) + (until - paid[edge].until)
            if cost < best:
                best, when = cost, start
        start -= duration
        if start > lowest:
            while behind < last and edges[behind + 1] <= start:
                behind += 1
            until = paid[behind].until
            if behind < last:
                until += (start - edges[behind]) * paid[behind].each_second
            cost = weight * max(start - due, 0) + (paid[edge].until - until)
            if cost < best:
                best, when = cost, start
    if due > lowest:
        cost = _paid(due + duration, edges, paid) - _paid(due, edges, paid)
        if cost < best:
            best, when = cost, due
    return best, when


@borrowing
def _usage(jobs: EqualJobs, edges: IntArray, starts: IntArray, use: FloatArray) -> None:
    """Compute each interval's resource use."""
    for resource in range(use.shape[0]):
        for interval in range(use.shape[1]):
            use[resource, interval] = 0.0
    for job in range(len(starts)):
        interval = 0
        end = starts[job] + jobs.duration[job]
        while interval + 1 < len(edges) and edges[interval + 1] <= starts[job]:
            interval += 1
        while interval < use.shape[1] and edges[interval] < end:
            seconds = min(end, edges[interval + 1]) - max(starts[job], edges[interval])
            for place in range(jobs.asked[job, -1]):
                resource = jobs.asked[job, place]
                use[resource, interval] += seconds * jobs.need[job, resource] * jobs.many[job]
            interval += 1
