"""Stretches of time on the command line."""

from __future__ import annotations

import math
from typing import Any

import click

from ..base.time_texts import seconds_of


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
        try:
            seconds = seconds_of(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if seconds < self.least:
            self.fail(f"expected at least {self.least} s, got {value!r}", param, ctx)
        return seconds


def clock(seconds: float) -> str:
    """Return a time, rounded up to seconds, as ``0:00`` or ``1:00:00``, minutes or hours first."""
    minutes, rest = divmod(math.ceil(round(seconds, 6)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
