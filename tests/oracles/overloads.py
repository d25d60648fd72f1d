"""Errors of a schedule, counted at every start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hpcdispatch.base import IntArray
from hpcdispatch.models import Problem


def overloads(problem: Problem, starts: IntArray, counts: IntArray | None = None) -> Sequence[str]:
    """Return what is wrong with a schedule, in words; empty if nothing is.

    Parameters
    ----------
    starts
        Shape (jobs,).
    counts
        Slots of each job on each node, shape (jobs, nodes). On one node they are not needed.
    """
    if counts is None:
        if problem.nodes > 1:
            raise ValueError(f"counts are needed on {problem.nodes} nodes")
        counts = problem.slots[:, None]
    wrong = [f"job {job} starts at {starts[job]}" for job in np.flatnonzero(starts < 0)]
    wrong += [
        f"job {job} has {counts[job].sum()} slots of {problem.slots[job]}"
        for job in np.flatnonzero((counts.sum(axis=1) != problem.slots) | (counts < 0).any(axis=1))
    ]
    for time in np.unique(np.concatenate((np.maximum(starts, 0), problem.held_from))).tolist():
        used = np.zeros_like(problem.capacity)
        held = (problem.held_from <= time) & (time < problem.held_to)
        np.add.at(used, problem.held_node[held], problem.held_amount[held])
        runs = (starts <= time) & (time < starts + problem.duration)
        used += np.einsum("jn,jr->nr", counts[runs], problem.demand[runs])
        wrong += [
            f"node {node} holds {used[node].tolist()} of {problem.capacity[node].tolist()} at {time}"
            for node in np.flatnonzero((used > problem.capacity).any(axis=1))
        ]
    return wrong
