"""Inequalities that every placeable schedule meets.

Pooling lets slots lie across nodes. What a pool does not know is counted here: how many slots of a size the nodes take,
what is free on the nodes that a kind of job can use at all, and which jobs cannot be packed together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ...base import IntArray
from ..compiled import compiled
from ..scheduling.problem import Problem

#: How many sizes of slot are looked at, and how many inequalities one schedule may break at a time.
SIZES = 200
MOST_BROKEN = 6


@dataclass(frozen=True, eq=False)
class Cut:
    """What the jobs that run at a time may hold together.

    Attributes
    ----------
    demand
        What each job counts while it runs, shape (jobs,), not negative.
    level
        How much there is, from each time of the problem's profile on, shape (steps,), not negative.
    """

    demand: IntArray
    level: IntArray

    @property
    def key(self) -> bytes:
        """The same for the same inequality."""
        return self.demand.tobytes() + self.level.tobytes()


@dataclass(frozen=True, eq=False)
class Family:
    """Many inequalities of one kind.

    Attributes
    ----------
    demand
        Shape (jobs, cuts).
    level
        Shape (steps, cuts).
    """

    demand: IntArray
    level: IntArray

    def broken(self, problem: Problem, starts: IntArray, most: int = MOST_BROKEN) -> list[Cut]:
        """Return inequalities that a schedule breaks: at each time the one broken most, `most` of them at most."""
        if not self.demand.shape[1]:
            return []
        moments = np.unique(np.concatenate((starts, problem.classes.times)))
        runs = (starts <= moments[:, None]) & (moments[:, None] < starts + problem.duration)
        step = np.searchsorted(problem.classes.times, moments, side="right") - 1
        excess = runs.astype(np.float64) @ self.demand.astype(np.float64) - self.level[step]
        relative = excess / np.maximum(self.level[step], 1)
        worst = relative.argmax(axis=1)
        amount = excess[np.arange(len(moments)), worst]
        order = [int(worst[moment]) for moment in np.argsort(-amount, kind="stable") if amount[moment] > 0]
        return [self.cut(index) for index in list(dict.fromkeys(order))[:most]]

    def cut(self, index: int) -> Cut:
        """Return one of them."""
        return Cut(np.ascontiguousarray(self.demand[:, index]), np.ascontiguousarray(self.level[:, index]))


def sizes(problem: Problem, most: int = SIZES) -> IntArray:
    """Return sizes of slot worth counting, shape (sizes, resources).

    What the jobs ask for, that of each resource alone, and what two jobs both ask for.
    """
    asked = np.unique(problem.demand, axis=0)
    alone = np.concatenate([np.where(np.arange(asked.shape[1]) == r, asked, 0) for r in range(asked.shape[1])])
    pairs = np.minimum(asked[:, None], asked[None]).reshape(-1, asked.shape[1])
    found = np.concatenate((asked, np.unique(alone, axis=0), np.unique(pairs, axis=0)))
    _, index = np.unique(found, axis=0, return_index=True)
    found = found[np.sort(index)]
    return np.ascontiguousarray(found[found.any(axis=1)][:most])


def slot_cuts(problem: Problem, size: IntArray) -> Family:
    """Count slots of each size: a job holds so many, and so many fit on the nodes.

    A slot of a job has room for ``min(demand // size)`` slots of the size; if the job's slots can be placed, so can
    those, on nodes that are otherwise as they are.

    Parameters
    ----------
    size
        Shape (sizes, resources), each with at least one amount.
    """
    demand = problem.slots[:, None] * _count(problem.demand, size)
    level = np.zeros((len(problem.classes.times), len(size)), dtype=np.int64)
    fitting_slots(problem.classes.free, problem.classes.count, size, level)
    return Family(demand, level)


def usable_cuts(problem: Problem, size: IntArray) -> Family:
    """Count each resource on the nodes where a slot of each size fits: no job that asks for more runs elsewhere."""
    resources = problem.demand.shape[1]
    bigger = np.all(problem.demand[:, None] >= size[None], axis=2).reshape(problem.jobs, -1)
    demand = (bigger[:, :, None] * problem.need[:, None, :]).reshape(problem.jobs, -1)
    level = np.zeros((len(problem.classes.times), len(size), resources), dtype=np.int64)
    usable_slots(problem.classes.free, problem.classes.count, size, level)
    return Family(demand, level.reshape(len(level), -1))


def joined(families: Iterable[Family]) -> Family:
    """Return several families as one, without what no schedule can break."""
    parts = list(families)
    demand = np.concatenate([part.demand for part in parts], axis=1)
    level = np.concatenate([part.level for part in parts], axis=1)
    level = np.minimum(level, demand.sum(axis=0))
    useful = demand.sum(axis=0) > level.min(axis=0)
    return Family(np.ascontiguousarray(demand[:, useful]), np.ascontiguousarray(level[:, useful]))


def _count(demand: IntArray, size: IntArray) -> IntArray:
    """Return how many slots of each size a slot has room for, shape (jobs, sizes)."""
    count = np.full((len(demand), len(size)), np.iinfo(np.int64).max)
    for resource in range(demand.shape[1]):
        asked = size[:, resource]
        fits = demand[:, resource, None] // np.maximum(asked, 1)
        count = np.where(asked > 0, np.minimum(count, fits), count)
    return count


@compiled
def fitting_slots(free: IntArray, count: IntArray, size: IntArray, level: IntArray) -> None:
    """Add up the slots of each size that fit on the nodes at each step."""
    for step in range(free.shape[0]):
        for which in range(size.shape[0]):
            for part in range(free.shape[1]):
                fits = -1
                for resource in range(free.shape[2]):
                    asked = size[which, resource]
                    if asked:
                        there = free[step, part, resource]
                        if there < asked:
                            fits = 0
                            break
                        if fits < 0 or there < fits * asked:
                            fits = there // asked
                level[step, which] += fits * count[part]


@compiled
def usable_slots(free: IntArray, count: IntArray, size: IntArray, level: IntArray) -> None:
    """Add up what is free at each step on the nodes where a slot of each size fits."""
    for step in range(free.shape[0]):
        for which in range(size.shape[0]):
            for part in range(free.shape[1]):
                fits = True
                for resource in range(free.shape[2]):
                    if free[step, part, resource] < size[which, resource]:
                        fits = False
                        break
                if fits:
                    for resource in range(free.shape[2]):
                        level[step, which, resource] += count[part] * max(free[step, part, resource], 0)
