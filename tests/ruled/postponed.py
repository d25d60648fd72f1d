"""Random small problems for schedule-or-postpone, against the optimum over all orders."""

from collections import Counter

import numpy as np
from oracles.pooled_orders import least_cost

from hpcdispatch.models import Problem
from hpcdispatch.models.cp.postponing import schedule_or_postpone


def drawn(seed):
    """Draw a problem of up to six jobs on a pool of two resources, beside running jobs."""
    rng = np.random.default_rng(seed)
    jobs = int(rng.integers(1, 7))
    capacity = rng.integers(2, 6, size=(1, 2))
    demand = np.minimum(rng.integers(0, 5, size=(jobs, 2)), capacity[0])
    demand[demand.sum(axis=1) == 0, 0] = 1
    held = int(rng.integers(0, 3))
    return Problem(
        rng.integers(1, 15, jobs),
        np.ones(jobs, dtype=np.int64),
        demand,
        rng.integers(0, 20, jobs),
        capacity,
        due=rng.integers(-5, 8, jobs) * int(rng.integers(2)),
        held_from=np.zeros(held, dtype=np.int64),
        held_to=rng.integers(1, 15, held),
        held_node=np.zeros(held, dtype=np.int64),
        held_amount=np.minimum(rng.integers(0, 2, size=(held, 2)), capacity // 3),
        earliest=rng.integers(0, 6, jobs) * int(rng.integers(2)),
    )


def valid(problem, starts):
    """Return whether starts keep capacity and earliest times, second by second."""
    for time in range(int((starts + problem.duration).max())):
        runs = (starts <= time) & (time < starts + problem.duration)
        held = (problem.held_from <= time) & (time < problem.held_to)
        used = runs @ problem.demand + held @ problem.held_amount
        if (used > problem.capacity[0]).any():
            return False
    return bool((starts >= problem.earliest).all())


def wrong(seed, counts=None):
    """Return what is wrong with the schedule of one problem."""
    counts = Counter() if counts is None else counts
    problem = drawn(seed)
    found = schedule_or_postpone(problem, problem.horizon, 1.0)
    columns = (problem.duration, problem.demand, problem.weight, problem.due_start, problem.earliest)
    jobs = list(zip(*(column.tolist() for column in columns), strict=True))
    held = list(zip(problem.held_to.tolist(), problem.held_amount.tolist(), strict=True))
    end = 6 + int(problem.duration.sum()) + int(problem.held_to.max(initial=0))
    best = least_cost(jobs, problem.capacity[0].tolist(), held, end)
    counts.update(instances=1, jobs=problem.jobs, proved=found.proved)
    if found.starts is None:
        return ["no schedule"]
    cost = sum(
        weight * max(start - due, 0) for start, (_, _, weight, due, _) in zip(found.starts.tolist(), jobs, strict=True)
    )
    told = [] if valid(problem, found.starts) else ["over capacity, or too early"]
    told += [f"costs {cost}, less than the optimum {best}"] if cost < best else []
    told += [f"proves {cost}, the optimum is {best}"] if found.proved and cost != best else []
    counts["not proved, and no optimum"] += not found.proved and cost != best
    return told
