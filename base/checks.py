"""The checks of options: each raises one line with the name, what was expected and what was received."""

from __future__ import annotations

import operator
from math import inf, isfinite
from typing import Any, get_args

import numpy as np


def check_choice(name: str, value: Any, choices: Any) -> None:
    """Raise ``ValueError`` unless `value` is one of `choices`, a ``Literal`` or a sequence."""
    known = get_args(choices) or choices
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(str, known))}, got {value!r}")


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return `value` as an int.

    Raises
    ------
    ValueError
        Unless it is a whole number from `least` to `most`.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least or (most is not None and number > most):
        wanted = f"a whole number >= {least}" + (f" and <= {most}" if most is not None else "")
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
    return number


def is_number(value: Any) -> bool:
    """Tell whether `value` is a finite number."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_) and isfinite(value)


def check_number(
    name: str,
    value: Any,
    *,
    least: float = -inf,
    above: float = -inf,
    most: float = inf,
    below: float = inf,
    none: bool = False,
) -> None:
    """Raise ``ValueError`` unless `value` is a finite number within the bounds, or, with `none`, ``None``."""
    if (value is None and none) or (is_number(value) and least <= value <= most and above < value < below):
        return
    bounds = ((">=", least), (">", above), ("<=", most), ("<", below))
    wanted = " and ".join(f"{sign} {bound:g}" for sign, bound in bounds if isfinite(bound))
    raise ValueError(f"{name} must be {' '.join(filter(None, ('a number', wanted, 'or none' * none)))}, got {value!r}")
