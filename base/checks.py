"""The checks of options: each raises one line with the name, what was expected and what was received."""

from __future__ import annotations

import operator
from math import isfinite
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
    wanted = f"a whole number >= {least}" + (f" and <= {most}" if most is not None else "")
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be {wanted}, got {value!r}") from None
    if isinstance(value, bool) or number < least or (most is not None and number > most):
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
    return number


def check_least(name: str, value: float | None, least: float) -> None:
    """Raise ``ValueError`` unless `value` is ``None`` or a finite number >= `least`."""
    if value is not None and not least <= value < float("inf"):
        raise ValueError(f"{name} must be a number >= {least:g}, got {value!r}")


def is_number(value: Any) -> bool:
    """Tell whether `value` is a finite number."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_) and isfinite(value)


def check_number(
    name: str, value: Any, *, least: float | None = None, above: float | None = None, most: float | None = None
) -> None:
    """Raise ``ValueError`` unless `value` is a finite number of at least `least`, above `above`, at most `most`."""
    bounds = [f"{sign} {bound:g}" for sign, bound in ((">=", least), (">", above), ("<=", most)) if bound is not None]
    if (
        not is_number(value)
        or (least is not None and value < least)
        or (above is not None and value <= above)
        or (most is not None and value > most)
    ):
        raise ValueError(f"{name} must be a number {' and '.join(bounds)}".rstrip() + f", got {value!r}")
