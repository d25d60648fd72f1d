"""Checks of options that more than one predictor has."""

from __future__ import annotations

import operator


def at_least(option: str, value: int, low: int) -> int:
    """Return `value` as an int.

    Raises
    ------
    ValueError
        If it is no whole number or less than `low`; the message names option, range and what was received.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{option} must be a whole number >= {low}, got {value!r}") from None
    if number < low:
        raise ValueError(f"{option} must be >= {low}, got {number}")
    return number
