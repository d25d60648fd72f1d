"""Durations and other numbers on the command line."""

import math
from typing import Any

import click


class Duration(click.ParamType[int]):
    """Whole seconds, in the formats of :func:`~hpcdispatch.base.time_texts.seconds_of`.

    Parameters
    ----------
    least
        The shortest allowed duration, seconds.
    """

    name = "duration"

    def __init__(self, least: int = 0) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the seconds."""
        if isinstance(value, int):
            return value
        from ..base import seconds_of  # noqa: PLC0415 - numpy, which it imports, takes longer than all of --help

        try:
            seconds = seconds_of(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if seconds < self.least:
            self.fail(f"expected at least {self.least} s, got {value!r}", param, ctx)
        return seconds


class DurationWithUnit(Duration):
    """A duration for which a plain number is refused, since Slurm counts minutes where hpcdispatch counts seconds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the seconds."""
        text = str(value).strip()
        if not isinstance(value, int) and text.isdecimal() and text.strip("0"):
            self.fail(
                f"expected a unit, got {text!r:.30}: write {text:.30}m for minutes, {text:.30}s for seconds", param, ctx
            )
        return super().convert(value, param, ctx)


class Number(click.FloatRange):
    """A number in a range. ``nan`` and ``inf`` are none, although no comparison tells ``nan``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"expected a finite number, got {value!r}", param, ctx)
        return number


class SecondsOrDuration(Number):
    """A number of seconds, or a duration such as ``5m``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds."""
        try:
            float(value)
        except ValueError:
            value = Duration().convert(value, param, ctx)
        return super().convert(value, param, ctx)


class Whole(click.IntRange):
    """A whole number in a range, of at most 2^53: what floats and the compiled code hold exactly."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        number: int = super().convert(value, param, ctx)
        if number > 1 << 53:
            self.fail(f"expected at most {1 << 53}, got {value!r:.60}", param, ctx)
        return number
