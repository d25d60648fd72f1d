"""Simulations and comparisons with a bar in notebooks and at prompts."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .. import simulation
from ..bench.campaigns import comparison
from ..models.compiled import notice
from ..workloads import Workload, fetching, read

P = ParamSpec("P")
R = TypeVar("R")


def fetch(name: str) -> Workload:
    """Return a published trace, downloaded if it is not at hand; see :func:`hpcdispatch.workloads.fetch`."""
    return read(fetching.fetch(name))


def interactive() -> bool:
    """Return whether Python is used line by line: a notebook, IPython, or its own prompt."""
    return hasattr(sys, "ps1") or "IPython" in sys.modules


def with_bar(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that shows its finished jobs, if it is called without `progress` where a person waits for it.

    The bar leaves nothing behind. That functions are compiled, which takes a first call some time, is said above it.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        console = Console(stderr=True)
        shown = interactive() and (console.is_terminal or console.is_jupyter)
        if not shown or kwargs.get("progress") is not None:
            return function(*args, **kwargs)
        columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=30), MofNCompleteColumn())
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*ipywidgets")  # without which rich shows the bar as text
            bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True)
        name = function.__name__
        task = bar.add_task(name, total=len(args[0]) if args and isinstance(args[0], Workload) else None)

        def advance(now: Any) -> None:
            """Take a number of jobs, or how far a campaign is."""
            done, total = (now, None) if isinstance(now, int) else (now.jobs, now.expected)
            bar.update(task, completed=done, total=total, description=name)

        said, notice.tell = notice.tell, partial(_tell, console)
        try:
            with bar:
                return function(*args, **{**kwargs, "progress": advance})  # type: ignore[arg-type]
        finally:
            notice.tell = said

    return call


def _tell(console: Console, seconds: float) -> None:
    """Say above the bar for about how long functions are compiled."""
    console.print(f"compiling for about {seconds:.0f} s, which the next call finds done", markup=False, highlight=False)


simulate = with_bar(simulation.simulate)
compare = with_bar(comparison.compare)
