"""Checks of the options of generators; every refusal is one line with the option, expected and received."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from ...base import InputError


def require_whole(owner: str, name: str, value: Any, least: int, most: int | None = None) -> None:
    """Raise :class:`InputError` unless `value` is a whole number from `least` to `most`."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        upper = "" if most is None else f" and <= {most}"
        raise InputError(f"workload {owner}: {name}: expected a whole number >= {least}{upper}, got {value!r}")


def require_choice(owner: str, name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise :class:`InputError` unless `value` is one of `choices`."""
    if value not in choices:
        raise InputError(f"workload {owner}: {name}: expected one of {', '.join(choices)}, got {value!r}")


def is_number(value: Any) -> bool:
    """Tell whether `value` is a finite number."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and isfinite(value)


def require_number(owner: str, name: str, value: Any, *, least: float = 0, above: bool = True) -> None:
    """Raise :class:`InputError` unless `value` is a finite number above `least`, or else at least that."""
    if not is_number(value) or not (value > least if above else value >= least):
        raise InputError(
            f"workload {owner}: {name}: expected a number {'>' if above else '>='} {least:g}, got {value!r}"
        )
