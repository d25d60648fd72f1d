"""Tiny placement problems and all their schedules, without the tested models."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
from hypothesis import strategies as st

from hpcdispatch.models.placement import IntArray
from hpcdispatch.models.scheduling.problem import Problem


def placements(problem: Problem, job: int) -> list[tuple[int, ...]]:
    """Return all placements of a job's slots that fit the empty machine."""
    found = []
    for nodes in combinations_with_replacement(range(problem.nodes), int(problem.slots[job])):
        counts = tuple(nodes.count(node) for node in range(problem.nodes))
        used = np.outer(counts, problem.demand[job])
        if (used <= np.maximum(problem.capacity, 0)).all():
            found.append(counts)
    return found


def usage(problem: Problem, length: int) -> IntArray:
    """Return the held amounts, shape (length, nodes, resources)."""
    held = np.zeros((length, *problem.capacity.shape), dtype=np.int64)
    for begin, end, node, amount in zip(
        problem.held_from, problem.held_to, problem.held_node, problem.held_amount, strict=True
    ):
        held[begin:end, node] += amount
    return held


def left_now(problem: Problem) -> IntArray:
    """Return the free amounts now, shape (nodes, resources). They are negative if too much is held."""
    return problem.capacity - usage(problem, 1)[0]


def can_be_placed(problem: Problem, starts: tuple[int, ...], jobs: list[int] | None = None) -> bool:
    """Return whether some placement holds second by second, found by trying all."""
    jobs = list(range(problem.jobs)) if jobs is None else jobs
    length = max([int(starts[job] + problem.duration[job]) for job in jobs], default=0) + 1
    length = max(length, int(problem.held_to.max(initial=0)) + 1)
    return _place(problem, starts, jobs, usage(problem, length))


def _place(problem: Problem, starts: tuple[int, ...], jobs: list[int], used: IntArray) -> bool:
    if not jobs:
        return True
    job, rest = jobs[0], jobs[1:]
    span = slice(int(starts[job]), int(starts[job] + problem.duration[job]))
    asked = problem.demand[job] > 0
    for counts in placements(problem, job):
        amount = np.outer(counts, problem.demand[job])
        trial = used.copy()
        trial[span] += amount
        touched = (np.array(counts)[:, None] > 0) & asked[None]
        if (trial[span] <= problem.capacity)[:, touched].all() and _place(problem, starts, rest, trial):
            return True
    return False


def least_cost(problem: Problem, horizon: int) -> tuple[int, tuple[int, ...]] | None:
    """Return the least cost of a schedule with all starts before a horizon. Also return the first such start times."""
    ranked = sorted(
        product(range(horizon), repeat=problem.jobs), key=lambda starts: (problem.cost(np.array(starts)), starts)
    )
    for starts in ranked:
        if can_be_placed(problem, starts):
            return problem.cost(np.array(starts)), starts
    return None


@st.composite
def problems(draw: st.DrawFn, *, most_jobs: int = 4, late_holds: bool = False) -> Problem:
    """Draw problems of a few jobs on two or three nodes. Each job fits on the empty machine."""
    nodes, resources = draw(st.integers(2, 3)), draw(st.integers(1, 3))
    capacity = np.array(
        draw(
            st.lists(
                st.lists(st.integers(0, 4), min_size=resources, max_size=resources), min_size=nodes, max_size=nodes
            )
        )
    )
    capacity[0] = np.maximum(capacity[0], 1)
    duration, slots, demand, weight, due = [], [], [], [], []
    for _ in range(draw(st.integers(1, most_jobs))):
        node = capacity[draw(st.integers(0, nodes - 1))]
        amounts = [draw(st.integers(0, max(int(most), 0))) for most in node]
        if not any(amounts):
            amounts = [int(index == 0) for index in range(resources)]
        fit = sum(
            min(int(room) // asked for room, asked in zip(row, amounts, strict=True) if asked) for row in capacity
        )
        if not fit:
            amounts, fit = [int(index == 0) for index in range(resources)], int(capacity[:, 0].sum())
        duration.append(draw(st.integers(1, 2)))
        slots.append(draw(st.integers(1, min(fit, 3))))
        demand.append(amounts)
        weight.append(draw(st.integers(0, 5)))
        due.append(draw(st.integers(-2, 2)))
    held = []
    for _ in range(draw(st.integers(0, 2))):
        node = draw(st.integers(0, nodes - 1))
        begin = draw(st.integers(0, 2)) if late_holds else 0
        amount = [draw(st.integers(0, max(int(most) // 2, 0))) for most in capacity[node]]
        held.append((begin, begin + draw(st.integers(1, 2)), node, amount))
    return Problem(
        np.array(duration),
        np.array(slots),
        np.array(demand),
        np.array(weight),
        capacity,
        np.array(due),
        np.array([part[0] for part in held], dtype=np.int64),
        np.array([part[1] for part in held], dtype=np.int64),
        np.array([part[2] for part in held], dtype=np.int64),
        np.array([part[3] for part in held], dtype=np.int64).reshape(-1, resources),
    )
