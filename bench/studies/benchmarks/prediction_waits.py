"""Mean waits under predictors and their corrections: all registered ones, and three of a user's own.

``python -m hpcdispatch.bench.studies.benchmarks.prediction_waits kth-sp2 sdsc-sp2``. Each own predictor runs with the
default correction, and with none: a job past its prediction may then end at any second.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from statistics import median

import click

from ....predictors import Predictor, create, with_correction
from ....simulation import simulate
from ....workloads import Job, Workload
from ...reports.tables import Table
from ..one_line_errors import in_one_line
from ..printed_tables import show
from .traces import named_trace

DISPATCHERS = ("easy", "easy-sjbf", "conservative")
#: With the one regressor that needs no long fits.
REGISTERED = (
    "walltime",
    "oracle",
    "last2",
    "last2:correction=none",
    "heuristic",
    "empirical",
    "regression",
    "sklearn:estimator=Ridge",
    "ranges",
    "ranges:correction=tsafrir",
    "scaled:factor=2",
)


class HalfWalltime:
    """Half of the walltime."""

    def predict(self, job: Job, now: int) -> float:
        """Return seconds."""
        return job.walltime / 2

    def observe(self, job: Job) -> None:
        """Learn nothing."""


class UserMedian:
    """The median run time of the user's last nine jobs."""

    def __init__(self) -> None:
        self._past: dict[str, list[int]] = {}

    def reset(self) -> None:
        """Drop all jobs."""
        self._past.clear()

    def predict(self, job: Job, now: int) -> float:
        """Return seconds, at most the walltime."""
        past = self._past.get(job.user, [])
        return min(float(median(past[-9:])), float(job.walltime)) if past else float(job.walltime)

    def observe(self, job: Job) -> None:
        """Store the run time."""
        self._past.setdefault(job.user, []).append(job.runtime)


class UserRatio:
    """The walltime times the user's usual ratio of run time to walltime, as in the tutorial."""

    def __init__(self, memory: float = 0.7) -> None:
        self.memory = memory
        self._ratio: dict[str, float] = {}

    def reset(self) -> None:
        """Drop all jobs."""
        self._ratio.clear()

    def predict(self, job: Job, now: int) -> float:
        """Return seconds."""
        return max(1.0, job.walltime * self._ratio.get(job.user, 1.0))

    def observe(self, job: Job) -> None:
        """Update the ratio of the user."""
        old = self._ratio.get(job.user, 1.0)
        self._ratio[job.user] = self.memory * old + (1 - self.memory) * min(1.0, job.runtime / job.walltime)


def contenders() -> list[tuple[str, Predictor]]:
    """Return all predictors with their names."""
    own = [
        (f"{type(made).__name__}{suffix}", with_correction(made, name))
        for made in (HalfWalltime(), UserMedian(), UserRatio())
        for suffix, name in (("", "own"), (":correction=none", "none"))
    ]
    return [*((name, create(name)) for name in REGISTERED), *own]


def mean_waits(
    workload: Workload, dispatchers: Sequence[str], chosen: Sequence[tuple[str, Predictor]]
) -> list[list[str]]:
    """Return a row per predictor: its mean wait under each dispatcher, seconds, and the ratio to walltimes."""
    rows = []
    first: dict[str, float] = {}
    for name, predictor in chosen:
        row = [f"`{name}`"]
        for dispatcher in dispatchers:
            wait = float(simulate(workload, dispatcher, predictor).jobs["wait"].mean())
            ratio = wait / first.setdefault(dispatcher, wait)
            row.append(f"{wait:,.0f} ({ratio:.2f})")
        print(*row, sep="  ", file=sys.stderr, flush=True)
        rows.append(row)
    return rows


@click.command(help=__doc__)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option("--dispatcher", "dispatchers", multiple=True, default=DISPATCHERS, show_default=True)
@click.option("--jobs", type=click.IntRange(1), help="The first so many only.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(traces: tuple[str, ...], dispatchers: tuple[str, ...], jobs: int | None, as_markdown: bool) -> None:
    """Print a table a trace."""
    for trace in traces:
        workload = named_trace(trace)
        part = workload if jobs is None else workload.head(jobs)
        rows = mean_waits(part, dispatchers, contenders())
        title = f"Mean wait on {trace}, {len(part):,} jobs, seconds (ratio to walltimes)"
        show([Table(title, ["predictor", *dispatchers], rows)], as_markdown)


if __name__ == "__main__":
    main()
