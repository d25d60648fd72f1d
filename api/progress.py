"""A bar on stderr or in a notebook, where a person looks at it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ..models.compiled import CompileClock, compiling

#: Called with the jobs that are finished, and how many there are.
Advance = Callable[[int, int], None]


def interactive() -> bool:
    """Return whether Python is used line by line: a notebook, IPython, or its own prompt."""
    return hasattr(sys, "ps1") or "IPython" in sys.modules


@contextmanager
def job_bar(label: str, shown: bool | None) -> Iterator[Advance]:
    """Give a function that moves a bar of finished jobs; the bar leaves nothing behind, and is not written to a file.

    While functions are compiled, which a first call takes some time for, the bar says so.

    Parameters
    ----------
    label
        What stands before the bar.
    shown
        Whether there is one; ``None``: where Python is :func:`interactive`.
    """
    console = Console(stderr=True)
    if not (interactive() if shown is None else shown) or not (console.is_terminal or console.is_jupyter):
        yield lambda _done, _total: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=30), MofNCompleteColumn())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*ipywidgets")  # without which rich shows the bar as text
        with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
            task = bar.add_task(label, total=None)
            note = f"{label} (compiling, which is kept for the next call)"
            clock = CompileClock(lambda: bar.update(task, description=note))
            with compiling(clock.begin, clock.end):
                yield lambda done, total: bar.update(task, completed=done, total=total, description=label)
