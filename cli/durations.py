"""Stretches of time on the command line."""

from __future__ import annotations

import math
import re
from typing import Any

import click

from ..base.checks import LONGEST, shown

_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_PATTERN = re.compile("".join(rf"(?:(?P<{unit}>\d+){unit}{'?' if unit == 's' else ''})?" for unit in _UNITS))


class Duration(click.ParamType[int]):
    """Whole seconds, written as ``90``, ``90s``, ``15m``, ``1h30m`` or ``2d``.

    Parameters
    ----------
    least
        The shortest that is taken, seconds.
    """

    name = "duration"

    def __init__(self, least: int = 0) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the seconds."""
        if isinstance(value, int):
            return value
        found = _PATTERN.fullmatch(value.strip().lower())
        if not found or not any(found.groups()):
            self.fail(f"expected a time such as 90s, 15m or 1h30m, got {shown(value)}", param, ctx)
        seconds = sum(float(number) * _UNITS[unit] for unit, number in found.groupdict().items() if number)
        if seconds > LONGEST:
            self.fail(f"expected at most {LONGEST} s, got {shown(value)}", param, ctx)
        if seconds < self.least:
            self.fail(f"expected at least {self.least} s, got {value!r}", param, ctx)
        return int(seconds)


def clock(seconds: float) -> str:
    """Return a time, rounded up to seconds, as ``0:00`` or ``1:00:00``, minutes or hours first."""
    minutes, rest = divmod(math.ceil(round(seconds, 6)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
