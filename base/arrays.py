"""Array types, and the count of slots that fit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def rises(values: NDArray[Any]) -> bool:
    """Return whether each number is above the one before it. False for texts."""
    return values.dtype.kind in "iuf" and bool((values[1:] > values[:-1]).all())


def count_slots(free: IntArray, demand: tuple[int, ...]) -> IntArray:
    """Return how many slots of `demand` fit on each node of `free`. Shape (nodes,).

    Parameters
    ----------
    free
        Amounts, shape (nodes, resources).
    demand
        Amounts per slot.

    Raises
    ------
    ValueError
        If a slot needs no resource.
    """
    counts: IntArray | None = None
    for index, amount in enumerate(demand):
        if amount:
            column = free[:, index]
            fits = column if amount == 1 else column // amount
            counts = fits if counts is None else np.minimum(counts, fits)
    if counts is None:
        raise ValueError("a slot must ask for at least one resource, got none")
    return counts
