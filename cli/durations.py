"""Durations on the command line."""

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
