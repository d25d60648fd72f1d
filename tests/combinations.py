"""Combinations of parameters: ``make test`` has every pair of values in one of them, nights have all."""

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import pytest


def each_pair(*axes: Sequence[Any]) -> list[Any]:
    """Return all combinations of a value of each axis, as parameters of a test.

    A fault seldom needs more than two values that meet. Those combinations are left to the nights of which each two
    values are in another combination as well.
    """
    every = list(product(*(range(len(axis)) for axis in axes)))
    left = {pair for combination in every for pair in _pairs(combination)}
    by_day = set()
    while left:
        best = max(every, key=lambda combination: len(left & _pairs(combination)))
        by_day.add(best)
        left -= _pairs(best)
    return [
        pytest.param(*_values(axes, combination), marks=() if combination in by_day else pytest.mark.nightly)
        for combination in every
    ]


def _pairs(combination: Sequence[int]) -> set[tuple[tuple[int, int], ...]]:
    """Return each two places of a combination with their values; the single one if there is but one axis."""
    places = list(enumerate(combination))
    return set(combinations(places, min(2, len(places))))


def _values(axes: Sequence[Sequence[Any]], combination: Sequence[int]) -> list[Any]:
    """Return the values; a tuple stands for several parameters."""
    found: list[Any] = []
    for axis, place in zip(axes, combination, strict=True):
        value = axis[place]
        found += value if isinstance(value, tuple) else [value]
    return found
