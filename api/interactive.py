"""Simulations and comparisons with a progress bar in notebooks and at prompts."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .. import simulation
from ..base.argument_types import names_wrong_types
from ..bench.campaigns import comparison
from ..models.compiled import COMPILING, notice
from ..workloads import Workload, fetching, read
from ..workloads.sources import EXAMPLE_FILE

P = ParamSpec("P")
R = TypeVar("R")
#: Shows the number of finished jobs and their total.
Show = Callable[[int, int | None], None]
#: Shows a line of text.
Tell = Callable[[str], None]


@names_wrong_types
def fetch(name: str, **reading: Any) -> Workload:
    """Return a published trace. It is downloaded if it is not in the cache. See :func:`hpcdispatch.workloads.fetch`.

    Parameters
    ----------
    name
        Its name, such as ``kth-sp2``.
    **reading
        Settings of :func:`hpcdispatch.read`, such as ``conventions("sc15").reading(name)``.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> workload = hd.fetch("kth-sp2")  # doctest: +SKIP
    >>> try:
    ...     hd.fetch("kth-sp3")
    ... except ValueError as error:
    ...     print(str(error).partition(";")[0])
    unknown trace 'kth-sp3'
    """
    return read(fetching.fetch(name), **reading)


def example() -> Workload:
    """Return the sample trace of every installation: 900 jobs on 128 cores, three weeks, generated and no site's.

    The command line and :func:`hpcdispatch.simulate` take it as ``example``.

    >>> import hpcdispatch as hd
    >>> len(hd.example())
    900
    """
    return read(EXAMPLE_FILE)


def interactive() -> bool:
    """Return whether Python is interactive. It is in notebooks, IPython and its own prompt."""
    return hasattr(sys, "ps1") or "IPython" in sys.modules


def with_bar(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that shows a progress bar on interactive use, unless it is called with `progress`.

    The bar disappears at the end. A line above it announces the compilation of functions. It takes time on a first
    call. In a notebook the line disappears with the bar, so that outputs do not depend on numba's cache.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        console = Console(stderr=True)
        shown = interactive() and (console.is_terminal or console.is_jupyter)
        if not shown or kwargs.get("progress") is not None:
            return function(*args, **kwargs)
        bar = _notebook_bar if console.is_jupyter else _terminal_bar
        known = len(args[0]) if args and isinstance(args[0], Workload) else None
        log = notice.tell
        try:
            with bar(function.__name__, console) as (show, tell):
                notice.tell = lambda seconds: tell(COMPILING.format(seconds))

                def advance(now: Any) -> None:
                    """Update the bar from a number of jobs or the progress of a campaign."""
                    show(*((now, known) if isinstance(now, int) else (now.jobs, now.expected)))

                show(0, known)
                return function(*args, **{**kwargs, "progress": advance})  # type: ignore[arg-type]
        finally:
            notice.tell = log

    return call


@contextmanager
def _terminal_bar(name: str, console: Console) -> Iterator[tuple[Show, Tell]]:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=30), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield (
            lambda done, total: bar.update(task, completed=done, total=total),
            lambda text: console.print(text, markup=False, highlight=False),
        )


@contextmanager
def _notebook_bar(name: str, _console: Console) -> Iterator[tuple[Show, Tell]]:
    """Yield a bar of HTML. That of rich needs ipywidgets."""
    from IPython.display import HTML, display  # noqa: PLC0415 - there in a notebook only

    handle = display(HTML(""), display_id=True)
    text = "{} <progress value='{}' max='{}'></progress> {:,} jobs"
    try:
        yield (
            lambda done, total: handle.update(HTML(text.format(name, done, total or done, done))),
            lambda line: handle.update(HTML(line)),
        )
    finally:
        handle.update(HTML(""))


simulate = with_bar(simulation.simulate)
if TYPE_CHECKING:  # the wrapper has the same parameters, which its type cannot say of an overloaded function
    compare = comparison.compare
else:
    compare = with_bar(comparison.compare)
