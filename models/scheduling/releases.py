"""When a job finds places on the nodes if nothing else starts: as what runs ends, one job after the other."""

from __future__ import annotations

import numpy as np

from ...base import IntArray
from ..compiled import compiled


@compiled
def first_release(
    free: IntArray, runs: IntArray, places: IntArray, held: IntArray, slots: int, demand: IntArray
) -> int:
    """Return after how many ends a job fits, 0 if it does now; -1 if it never does.

    Parameters
    ----------
    free
        What is free now on each node, shape (nodes, resources); changed.
    runs
        Where the slots of each running job, in order of their ends, begin in `places`, shape (runs + 1,).
    places
        The node of each slot.
    held
        What a slot of each holds, shape (runs, resources).
    slots, demand
        Of the job, shape (resources,).
    """
    fits = np.empty(len(free), dtype=np.int64)
    total = 0
    for node in range(len(free)):
        fits[node] = _fit(free[node], slots, demand)
        total += fits[node]
    for run in range(len(runs)):
        if total >= slots:
            return run
        if run == len(runs) - 1:
            break
        for place in range(runs[run], runs[run + 1]):
            node = places[place]
            for resource in range(free.shape[1]):
                free[node, resource] += held[run, resource]
            total -= fits[node]
            fits[node] = _fit(free[node], slots, demand)
            total += fits[node]
    return -1


@compiled
def _fit(free: IntArray, slots: int, demand: IntArray) -> int:
    fit = slots
    for resource in range(len(demand)):
        if demand[resource]:
            fit = min(fit, max(free[resource], 0) // demand[resource])
    return fit
