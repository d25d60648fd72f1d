"""Stretches of time as people write them."""

from __future__ import annotations

import math
import re
import sys

from .checks import LONGEST, check_number, shown

_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_PATTERN = re.compile("".join(rf"(?:(?P<{unit}>\d+){unit}{'?' if unit == 's' else ''})?" for unit in _UNITS))


def seconds_of(value: float | str) -> int:
    """Return whole seconds, given as a number or written as ``90``, ``90s``, ``15m``, ``1h30m`` or ``2d``.

    Raises
    ------
    ValueError
        For anything else, or more than :data:`~.checks.LONGEST`.
    """
    if not isinstance(value, str):
        check_number("a time", value, least=0, most=LONGEST)
        return int(value)
    found = _PATTERN.fullmatch(value.strip().lower())
    if not found or not any(found.groups()):
        raise ValueError(f"expected a time such as 90s, 15m or 1h30m, got {shown(value)}")
    seconds = sum(float(number) * _UNITS[unit] for unit, number in found.groupdict().items() if number)
    if seconds > LONGEST:
        raise ValueError(f"expected at most {LONGEST} s, got {shown(value)}")
    return int(seconds)


def seconds_option(name: str, value: float | str, least: int = 0, infinite: bool = False) -> int:
    """Return the whole seconds of an option, as :func:`seconds_of` does; ``sys.maxsize`` for ``inf``, where it may be.

    Raises
    ------
    ValueError
        For what is no time, or below `least`; the option is named.
    """
    if infinite and value in (math.inf, "inf"):
        return sys.maxsize
    try:
        seconds = seconds_of(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if seconds < least:
        raise ValueError(f"{name} must be at least {least} s, got {value!r}")
    return seconds
