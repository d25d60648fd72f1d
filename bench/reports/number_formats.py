"""Format numbers in all tables and printed lines: thousands have commas, missing values are a dash."""

import math
from collections.abc import Callable

NOTHING = "-"
#: Turns a number into its text.
Show = Callable[[float], str]


def seconds(value: float) -> str:
    """Return seconds, whole from 100 on."""
    return fixed(value, 0 if abs(value) >= 100 else 1)


def ratio(value: float) -> str:
    """Return a number without unit, or milliseconds, with about three digits."""
    if 0 < abs(value) < 0.01:
        return f"{value:.2g}"
    return fixed(value, next((digits for least, digits in ((1000, 0), (100, 1), (1, 2)) if abs(value) >= least), 3))


def short(value: float) -> str:
    """Return a number with the digits that are useful in a sentence."""
    return fixed(value, 0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else 2)


def percent(value: float) -> str:
    """Return a share in percent, without the sign."""
    return fixed(100 * value, 1)


def count(value: float, noun: str = "", several: str = "") -> str:
    """Return a count, or a mean of counts with one digit.

    With a noun: ``1 job`` or ``2,000 jobs``; `several` is another plural, as in ``2 entries``.
    """
    named = noun if value == 1 or not noun else several or f"{noun}s"
    return fixed(value, 0 if float(value).is_integer() else 1) + (f" {named}" if named else "")


def fixed(value: float, digits: int) -> str:
    """Return a number with `digits` digits after the point. Zero has no sign."""
    if math.isnan(value):
        return NOTHING
    text = f"{value:,.{digits}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text


def interval(low: float, high: float, show: Show) -> str:
    """Return the ends of an interval in brackets; empty if there is none."""
    return "" if math.isnan(low) or math.isnan(high) else f"[{show(low)}, {show(high)}]"
