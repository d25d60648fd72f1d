"""Published values beside ours, as rows of the tables of these studies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ....simulation import Result
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
    equal_starts
        How many jobs start when they do in an independent simulator with the rules of the paper. ``None`` where it was
        not run.
    """

    trace: str
    setting: str
    jobs: int
    theirs: float
    ours: float
    equal_starts: int | None = None

    @property
    def deviation(self) -> float:
        """Ours above theirs, as a share."""
        return self.ours / self.theirs - 1

    @property
    def met(self) -> bool:
        """Whether ours is within :data:`NEAR` of theirs."""
        return abs(self.deviation) <= NEAR


def equal_starts(result: Result, starts: Mapping[str, int]) -> int:
    """Return how many jobs of a result have the start that another simulator gives them."""
    return sum(starts.get(job) == start for job, start in zip(result.jobs["id"], result.jobs["start"], strict=True))


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
            "" if each.equal_starts is None else f"{each.equal_starts:,}",
        ]
        for each in values
    ]
    columns = ("trace", "setting", "jobs", "published", "ours", "deviation", "equal starts")
    return Table(title, columns, rows, 2)


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
