"""A word on stderr where compiling takes longer than a second, which looks like a program that hangs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from ..models.compiled import compiling

#: Seconds of compiling, altogether, after which it is said.
PATIENCE = 1.0
NOTICE = "hpcdispatch: compiling, which is kept for the next call"


class CompileClock:
    """Says :data:`NOTICE` once, when compiling has taken longer than :data:`PATIENCE`."""

    def __init__(self) -> None:
        self._depth = 0
        self._begun = self._spent = 0.0
        self._said = False
        self._clock: threading.Timer | None = None

    def begin(self) -> None:
        """Begin to count, unless what is compiled is called by what is being compiled."""
        self._depth += 1
        if self._depth == 1 and not self._said:
            self._begun = time.monotonic()
            self._clock = threading.Timer(max(0.0, PATIENCE - self._spent), self._say)
            self._clock.daemon = True
            self._clock.start()

    def end(self) -> None:
        """Stop counting."""
        self._depth -= 1
        if self._depth == 0 and self._clock is not None:
            self._clock.cancel()
            self._clock = None
            self._spent += time.monotonic() - self._begun

    def _say(self) -> None:
        if not self._said:
            self._said = True
            click.echo(NOTICE, err=True)


@contextmanager
def compile_notice() -> Iterator[None]:
    """Say that functions are being compiled, if that takes longer than a moment."""
    clock = CompileClock()
    with compiling(clock.begin, clock.end):
        yield
