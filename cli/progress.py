"""Progress on stderr: nothing where stderr is no terminal, nothing for what is over in a moment."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

_PATIENCE = 0.5


class RateColumn(ProgressColumn):
    """Jobs per second."""

    def render(self, task: Task) -> Text:
        """Return the rate, once there is one."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f} jobs/s")


class JobBar:
    """A bar that counts jobs, with their rate and the remaining time.

    Used as a context; it appears after half a second and leaves nothing behind.

    Parameters
    ----------
    label
        What stands before the bar.
    total
        How many jobs there are.
    """

    def __init__(self, label: str, total: int) -> None:
        self.label = label
        self.total = total
        self.done = 0
        self._bar = _bar() if sys.stderr.isatty() else None
        self._clock = threading.Timer(_PATIENCE, self._appear)
        self._clock.daemon = True

    def __enter__(self) -> JobBar:
        """Start to wait for the bar to be worth it."""
        if self._bar is not None:
            self._bar.add_task(self.label, total=self.total)
            self._clock.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._clock.cancel()
            self._clock.join()
            self._bar.stop()

    def update(self, done: int, label: str | None = None) -> None:
        """Say how many jobs are done."""
        self.done = done
        self.label = label or self.label
        if self._bar is not None:
            completed = min(done, self.total)
            self._bar.update(self._bar.task_ids[0], completed=completed, total=self.total, description=self.label)

    def _appear(self) -> None:
        if self._bar is not None:
            self._bar.start()


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Show that something goes on that cannot be counted."""
    if not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status(Text(text)):
        yield


def _bar() -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f}", markup=False),
        RateColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
