"""A word on stderr where compiling takes longer than a second, which looks like a program that hangs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from ..models.compiled import CompileClock, compiling
from .progress import NOTICE


@contextmanager
def compile_notice() -> Iterator[None]:
    """Say that functions are being compiled, if that takes longer than a moment."""
    clock = CompileClock(lambda: click.echo(NOTICE, err=True))
    with compiling(clock.begin, clock.end):
        yield
