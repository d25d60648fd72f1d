"""Published values beside ours, as rows of the tables of these studies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ....workloads.fetching import fetch
from ...reports.tables import Table

#: Largest deviation of a value that counts as met.
NEAR = 1e-3


@dataclass(frozen=True, slots=True)
class Value:
    """A published value and ours.

    Attributes
    ----------
    trace, setting
        What was simulated.
    jobs
        How many jobs ran.
    theirs, ours
        The values.
    """

    trace: str
    setting: str
    jobs: int
    theirs: float
    ours: float

    @property
    def deviation(self) -> float:
        """Ours above theirs, as a share."""
        return self.ours / self.theirs - 1

    @property
    def met(self) -> bool:
        """Whether ours is within :data:`NEAR` of theirs."""
        return abs(self.deviation) <= NEAR


def table_of(title: str, values: Iterable[Value], digits: int) -> Table:
    """Return values as a table. `digits` are behind the point."""
    rows = [
        [
            each.trace,
            each.setting,
            f"{each.jobs:,}",
            f"{each.theirs:,.{digits}f}",
            f"{each.ours:,.{digits}f}",
            f"{each.deviation:+.2%}",
        ]
        for each in values
    ]
    return Table(title, ("trace", "setting", "jobs", "published", "ours", "deviation"), rows, 2)


def at_hand(traces: Iterable[str]) -> Iterator[tuple[str, Path | None]]:
    """Yield each trace with its file, ``None`` if it is neither there nor can be downloaded."""
    for trace in traces:
        try:
            yield trace, fetch(trace)
        except OSError:
            yield trace, None
        except ValueError as error:
            if "no address to download it from" not in str(error):
                raise
            yield trace, None
