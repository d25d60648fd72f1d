"""Parameters of which day has a part: every pair of values, every value, or the first ones. Nights have all."""

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import pytest


def each_pair(*axes: Sequence[Any]) -> list[Any]:
    """Return all combinations of a value of each axis, as parameters of a test.

    A fault seldom needs more than two values that meet. Those combinations are left to the nights of which each two
    values are in another combination as well.
    """
    return _thinned(axes, 2)


def each_value(*axes: Sequence[Any]) -> list[Any]:
    """Return all combinations of a value of each axis. By day each value is in one of them."""
    return _thinned(axes, 1)


def some(values: Sequence[Any], by_day: int = 1) -> list[Any]:
    """Return all values, as parameters of a test. By day there are the first `by_day` of them."""
    return [
        pytest.param(*_values([values], [place]), marks=() if place < by_day else pytest.mark.nightly)
        for place in range(len(values))
    ]


def _thinned(axes: Sequence[Sequence[Any]], size: int) -> list[Any]:
    """Return all combinations; day has so many that each `size` values are in one of them."""
    every = list(product(*(range(len(axis)) for axis in axes)))
    left = {part for combination in every for part in _parts(combination, size)}
    by_day = set()
    while left:
        best = max(every, key=lambda combination: len(left & _parts(combination, size)))
        by_day.add(best)
        left -= _parts(best, size)
    return [
        pytest.param(*_values(axes, combination), marks=() if combination in by_day else pytest.mark.nightly)
        for combination in every
    ]


def _parts(combination: Sequence[int], size: int) -> set[tuple[tuple[int, int], ...]]:
    """Return each `size` places of a combination with their values; all of them if there are fewer."""
    places = list(enumerate(combination))
    return set(combinations(places, min(size, len(places))))


def _values(axes: Sequence[Sequence[Any]], combination: Sequence[int]) -> list[Any]:
    """Return the values; a tuple stands for several parameters."""
    found: list[Any] = []
    for axis, place in zip(axes, combination, strict=True):
        value = axis[place]
        found += value if isinstance(value, tuple) else [value]
    return found
