"""The compiled parts of an availability profile of nodes: where slots fit first, and taking them."""

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
    nodes = amounts.shape[1]
    fits = np.empty(nodes, dtype=np.int64)
    counts, totals = np.empty((len(times), nodes), dtype=np.int64), np.full(len(times), -1)
    while index < len(times):
        start = max(after, times[index])
        if start >= before:
            break
        step, following = index, -1
        while step == index or (step < len(times) and times[step] < start + duration):
            if totals[step] < 0:
                totals[step] = _count(counts[step], amounts[places[step]], demand)
            together = totals[step] if step == index else _narrow(fits, counts[step])
            if step == index:
                fits[:] = counts[step]
            if totals[step] < slots or together < slots:
                following = (step if totals[step] < slots else index) + 1
                break
            step += 1
        if following < 0:
            return index, step, fits
        index = following
    return -1, 0, fits


@compiled
def _count(counts: IntArray, free: IntArray, demand: IntArray) -> int:
    """Set how many slots fit on each node; return how many on all."""
    counts[:] = -1
    for resource in range(len(demand)):
        asked = demand[resource]
        if asked > 0:
            for node in range(len(counts)):
                fitting = max(free[node, resource], 0)
                if asked > 1:
                    fitting //= asked
                if counts[node] < 0 or fitting < counts[node]:
                    counts[node] = fitting
    return int(counts.sum())


@compiled
def _narrow(fits: IntArray, counts: IntArray) -> int:
    """Bring `fits` down to what fits at one more step; return how many that is on all nodes."""
    together = 0
    for node in range(len(fits)):
        fits[node] = min(fits[node], counts[node])
        together += fits[node]
    return together


@compiled
def add_slots(amounts: IntArray, places: IntArray, placement: IntArray, demand: IntArray) -> None:
    """Add to what is free, shape (places, nodes, resources), at some places, what slots on nodes ask for."""
    for place in places:
        for node in placement:
            for resource in range(len(demand)):
                amounts[place, node, resource] += demand[resource]
