"""Numbers as text, for every table and line that is printed: thousands have commas, what is not there is a dash."""

from __future__ import annotations

import math
from collections.abc import Callable

NOTHING = "-"
#: Turns a number into its text.
Show = Callable[[float], str]


def seconds(value: float) -> str:
    """Return seconds, whole from 100 on."""
    return fixed(value, 0 if abs(value) >= 100 else 1)


def ratio(value: float) -> str:
    """Return a number of no unit, or milliseconds, with three digits or so."""
    if 0 < abs(value) < 0.01:
        return f"{value:.2g}"
    return fixed(value, next((digits for least, digits in ((1000, 0), (100, 1), (1, 2)) if abs(value) >= least), 3))


def short(value: float) -> str:
    """Return a number with as many digits as are of use in a sentence."""
    return fixed(value, 0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else 2)


def percent(value: float) -> str:
    """Return a share in percent, without the sign."""
    return fixed(100 * value, 1)


def count(value: float, noun: str = "") -> str:
    """Return a count, or a mean of counts with one digit; with a noun ``1 job`` or ``2,000 jobs``."""
    plural = "" if value == 1 else "s"
    return fixed(value, 0 if float(value).is_integer() else 1) + (f" {noun}{plural}" if noun else "")


def fixed(value: float, digits: int) -> str:
    """Return a number with so many digits behind the point, a zero without a sign."""
    if math.isnan(value):
        return NOTHING
    text = f"{value:,.{digits}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text


def interval(low: float, high: float, show: Show) -> str:
    """Return the two ends of an interval in brackets; nothing where there is none."""
    return "" if math.isnan(low) or math.isnan(high) else f"[{show(low)}, {show(high)}]"
