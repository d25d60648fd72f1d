"""Progress on stderr. Without a terminal, and for short work, it prints nothing."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from ..bench.campaigns.board import CampaignProgress
from ..bench.reports.tables import PlainConsole

_PATIENCE = 0.5
#: Most running simulations in the list.
_SHOWN = 8


class RateColumn(ProgressColumn):
    """Jobs per second."""

    def render(self, task: Task) -> Text:
        """Return the rate, once there is one."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f} jobs/s")


class JobBar:
    """A bar that counts jobs, with their rate and the remaining time.

    Use it as a context. It appears after half a second and disappears at the end.

    Parameters
    ----------
    label
        Text before the bar.
    total
        Number of jobs; ``None`` if unknown.
    """

    def __init__(self, label: str, total: int | None = None) -> None:
        self.done = 0
        self._running: Sequence[str] = ()
        console = PlainConsole(stderr=True)
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(bar_width=20))
        self._progress = Progress(*columns, MofNCompleteColumn(), RateColumn(), TimeRemainingColumn(), console=console)
        self._task = self._progress.add_task(label, total=total)
        self._live = Live(console=console, transient=True, refresh_per_second=8, get_renderable=self._shown)
        self._clock = threading.Timer(_PATIENCE, self._live.start)
        self._clock.daemon = True

    def __enter__(self) -> JobBar:
        """Start the timer after which the bar appears."""
        if sys.stderr.isatty():
            self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the bar."""
        self._clock.cancel()
        if self._clock.ident is not None:
            self._clock.join()
            self._live.stop()

    def update(self, done: int) -> None:
        """Set the number of finished jobs."""
        self.done = done
        self._progress.update(self._task, completed=done)

    def show(self, now: CampaignProgress, noun: str = "cells") -> None:
        """Show the progress of a campaign, with its running cells below the bar."""
        self.done = now.jobs
        self._running = now.running
        failed = f", {now.failed} failed" if now.failed else ""
        label = f"{now.cells} of {now.planned} {noun}{failed}"
        self._progress.update(self._task, completed=now.jobs, total=now.expected, description=label)

    def _shown(self) -> Group:
        lines = [Text(f"  {label}", no_wrap=True, overflow="ellipsis", style="dim") for label in self._running[:_SHOWN]]
        if len(self._running) > _SHOWN:
            lines.append(Text(f"  and {len(self._running) - _SHOWN} more", style="dim"))
        return Group(self._progress, *lines)


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Show a spinner for work that cannot be counted."""
    if not sys.stderr.isatty():
        yield
        return
    with PlainConsole(stderr=True).status(Text(text)):
        yield
