"""Table V of RLScheduler (Zhang et al., SC 2020) under its own rules, on the traces at hand.

Run it by ``python -m hpcdispatch.bench.studies.published.rlscheduler``. It prints the mean bounded slowdown over ten
windows of 1,024 jobs, each on an empty machine, by three orders with and without backfilling.

The rules: the job that is chosen is kept until it starts. While it waits, others start in the order of submission if
they fit and would end, by their requests, before the shadow time. That is when the chosen job could start by the
requests of the running jobs. It is fixed at the choice. There are no extra nodes. In one second arrivals come before
ends. A run time of -1 counts as 10 s, and jobs of 0 s are left out. Their columns of WFP3 and UNICEP rest on a wait of
-1, and are not made again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import click
import numpy as np

from ....dispatchers import JobView, Start, State, Waiting
from ....models import pool_placement
from ....simulation import simulate
from ....workloads import Job, Machine, Workload
from ....workloads.fetching import fetch
from ...reports.tables import Table
from ..one_line_errors import in_one_line
from ..printed_tables import show
from .rules import records, shadow_time

#: First job of each window, among the first 10,000 of the trace.
WINDOWS = (1981, 2756, 4299, 8850, 3316, 2714, 5228, 7762, 4022, 7085)
LENGTH, JOBS = 1024, 10_000
#: Trace to processors, and to published values of each order without and with backfilling.
TABLE: dict[str, tuple[int, dict[str, tuple[float, float]]]] = {
    "lublin-256": (256, {"FCFS": (7273.77, 235.82), "SJF": (277.35, 73.31), "F1": (258.37, 75.07)}),
    "sdsc-sp2": (128, {"FCFS": (1727.54, 1595.12), "SJF": (2680.55, 2167.84), "F1": (1232.06, 1098.22)}),
    "hpc2n": (240, {"FCFS": (297.18, 127.38), "SJF": (157.71, 122.04), "F1": (118.01, 71.95)}),
}
#: Seconds that a run time of -1 counts.
UNKNOWN = 10


def submission(job: JobView) -> float:
    """Return the key of FCFS."""
    return job.submit


def request(job: JobView) -> float:
    """Return the key of SJF."""
    return job.walltime


def f1(job: JobView) -> float:
    """Return the key of F1 of Carastan-Santos and de Camargo (SC 2017)."""
    return math.log10(job.walltime) * job.nodes + 870 * math.log10(max(job.submit, 0.1))


ORDERS: dict[str, Callable[[JobView], float]] = {"FCFS": submission, "SJF": request, "F1": f1}


class Committed:
    """Start jobs one after another in an order, and keep a chosen job until it starts.

    Parameters
    ----------
    key
        The job with the least value is chosen.
    backfill
        Whether others start meanwhile.
    """

    def __init__(self, key: Callable[[JobView], float], backfill: bool) -> None:
        self._key = key
        self._backfill = backfill
        self._chosen: Waiting | None = None
        self._shadow = 0

    def reset(self, machine: Machine, rng: np.random.Generator) -> None:
        """Forget the chosen job."""
        self._chosen = None

    def dispatch(self, state: State) -> list[Start]:
        """Start chosen jobs while they fit, then those that end before the shadow time of the one that does not."""
        now, free = state.now, int(state.free.sum())
        queue = list(state.queue)
        ends = [(run.start + run.job.walltime, run.nodes) for run in state.running]
        starts = []

        def start(waiting: Waiting) -> None:
            nonlocal free
            free -= waiting.nodes
            ends.append((now + waiting.job.walltime, waiting.nodes))
            queue.remove(waiting)
            starts.append(Start(waiting, pool_placement(waiting.nodes)))

        while queue:
            if self._chosen is None:
                self._chosen = min(queue, key=lambda waiting: self._key(waiting.job))
                self._shadow = shadow_time(self._chosen.nodes, free, sorted(ends), now)
            if self._chosen.nodes > free:
                break
            start(self._chosen)
            self._chosen = None
        if self._backfill and self._chosen is not None:
            for waiting in queue[:]:
                if waiting is not self._chosen and waiting.nodes <= free and now + waiting.job.walltime < self._shadow:
                    start(waiting)
        return starts


class NeverMet:
    """A prediction that no job meets, so that no end counts as foreseen and comes before an arrival."""

    def predict(self, job: Job, now: int) -> float:
        """Return ten years, seconds."""
        return 10 * 365 * 86400.0

    def observe(self, job: Job) -> None:
        """Learn nothing."""


def jobs_of(path: Path) -> list[Job]:
    """Return the first 10,000 jobs of a trace, as the paper's simulator reads them."""
    made = []
    counted = islice((each for each in records(path) if each[1] != 0), JOBS)
    for number, (submit, ran, used, nodes, requested) in enumerate(counted):
        runtime = UNKNOWN if ran < 0 else ran
        walltime = runtime if requested < 0 else max(1, requested)
        made.append(Job(str(number), submit, runtime, walltime, max(used, nodes), {"core": 1}))
    return made


def bounded_slowdown(jobs: list[Job], processors: int, order: str, backfill: bool) -> float:
    """Return the mean over the ten windows."""
    values = []
    for first in WINDOWS:
        window = Workload(jobs[first : first + LENGTH], Machine.pool(processors))
        found = simulate(window, Committed(ORDERS[order], backfill), NeverMet(), same_instant="arrivals-first")
        values.append(found.summary()["bounded_slowdown_mean"])
    return float(np.mean(values))


def rows(traces: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield a row of each trace and order, without and with backfilling."""
    for trace in traces:
        processors, published = TABLE[trace]
        jobs = jobs_of(Path(fetch(trace)))
        for order, values in published.items():
            for backfill, theirs in zip((False, True), values, strict=True):
                ours = bounded_slowdown(jobs, processors, order, backfill)
                deviation = f"{ours / theirs - 1:+.2%}"
                yield [trace, order, "yes" if backfill else "no", f"{theirs:,.2f}", f"{ours:,.2f}", deviation]


@click.command(help=__doc__)
@click.option("--trace", "traces", multiple=True, type=click.Choice([*TABLE]), default=tuple(TABLE), show_default=True)
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(traces: tuple[str, ...], as_markdown: bool) -> None:
    """Print the table."""
    columns = ("trace", "order", "backfilling", "published", "ours", "deviation")
    show([Table("RLScheduler, Table V: mean bounded slowdown", columns, list(rows(traces)), 3)], as_markdown)


if __name__ == "__main__":
    main()
