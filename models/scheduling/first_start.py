"""The first time at which slots fit on nodes, in an availability profile."""

from __future__ import annotations

import numpy as np

from ...base import IntArray
from ..compiled import compiled


@compiled
def first_start(
    amounts: IntArray,
    places: IntArray,
    times: IntArray,
    demand: IntArray,
    slots: int,
    duration: int,
    index: int,
    after: int,
    before: int,
) -> tuple[int, int, IntArray]:
    """Return the step at which slots first fit for long enough, the one after the last they need, and how many fit.

    Parameters
    ----------
    amounts
        What is free, shape (places, nodes, resources).
    places, times
        Of each step: where it stands in `amounts`, and when it begins.
    demand
        What a slot asks for, shape (resources,).
    slots, duration
        How many slots, and for how many seconds.
    index, after
        The step to look at first, and the time in it.
    before
        A start must lie before it.

    Returns
    -------
    tuple
        The first step is -1 if there is none; the array has the slots that fit on each node all the time.
    """
    fits = np.empty(amounts.shape[1], dtype=np.int64)
    while index < len(times):
        start = max(after, times[index])
        if start >= before:
            break
        step, following = index, -1
        while step == index or (step < len(times) and times[step] < start + duration):
            alone, together = _narrow(fits, amounts[places[step]], demand, step == index)
            if together < slots:
                following = (step if alone < slots else index) + 1
                break
            step += 1
        if following < 0:
            return index, step, fits
        index = following
    return -1, 0, fits


@compiled
def _narrow(fits: IntArray, free: IntArray, demand: IntArray, first: bool) -> tuple[int, int]:
    """Bring `fits` down to what fits at a step; return the slots at this step, and at it and all before."""
    alone = together = 0
    for node in range(len(fits)):
        count = -1
        for resource in range(len(demand)):
            if demand[resource] > 0:
                fitting = max(free[node, resource], 0) // demand[resource]
                if count < 0 or fitting < count:
                    count = fitting
        alone += count
        if first or count < fits[node]:
            fits[node] = count
        together += fits[node]
    return alone, together
