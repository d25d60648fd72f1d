"""Errors that end a command of the benchmarks and reproductions in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from ...base import InputError
from ...simulation import SimulationError
from ..campaigns.execution import WorkerError


@contextmanager
def in_one_line(*others: type[Exception]) -> Iterator[None]:
    """End a command with a one-line error if an input, a simulation or its process fails.

    It decorates a command's function, or surrounds some lines of it.

    Parameters
    ----------
    *others
        What else ends it so.
    """
    expected: tuple[type[Exception], ...] = InputError, OSError, SimulationError, WorkerError, *others
    try:
        yield
    except expected as error:
        raise click.ClickException(str(error)) from None
