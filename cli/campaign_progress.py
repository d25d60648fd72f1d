"""Progress of a campaign on stderr: how far it is, and what is being simulated."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from ..bench.campaigns.execution import CampaignProgress
from .progress import RateColumn

#: Running cells that are shown.
_SHOWN = 8


class CampaignBar:
    """A bar that counts jobs, with their rate and the remaining time, and a line for each running cell.

    Used as a context; it leaves nothing behind. Nothing shows where stderr is no terminal.
    """

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._now: CampaignProgress | None = None
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=16),
            TextColumn("{task.percentage:>3.0f}%", markup=False),
            RateColumn(),
            TimeRemainingColumn(),
            console=self._console,
        )
        self._task = self._progress.add_task("checking the store", total=None)
        live = Live(console=self._console, transient=True, refresh_per_second=8, get_renderable=self._shown)
        self._live = live if sys.stderr.isatty() else None

    def __enter__(self) -> CampaignBar:
        """Show it."""
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take it away."""
        if self._live is not None:
            self._live.stop()

    def update(self, now: CampaignProgress) -> None:
        """Say how far it is."""
        self._now = now
        failed = f", {now.failed} failed" if now.failed else ""
        self._progress.update(
            self._task,
            completed=now.jobs,
            total=now.expected,
            description=f"{now.cells} of {now.planned} cells{failed}",
        )

    def _shown(self) -> Group:
        """Return the bar, and below it the running cells."""
        running = self._now.running if self._now is not None else ()
        lines = [Text(f"  {label}", no_wrap=True, overflow="ellipsis", style="dim") for label in running[:_SHOWN]]
        if len(running) > _SHOWN:
            lines.append(Text(f"  and {len(running) - _SHOWN} more", style="dim"))
        return Group(self._progress, *lines)
