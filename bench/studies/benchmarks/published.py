"""Our figures and published ones, on traces of the Parallel Workloads Archive.

``python -m hpcdispatch.bench.studies.benchmarks.published`` prints two tables. The first has the filter and the rules
of the study of Gaussier et al. (SC 2015). Jobs without a walltime are dropped. Jobs are killed at their request.
Bounded slowdown has a threshold of 10 s. Within a second arrivals come before completions, as in pyss. Beside it stands
the default, one dispatch an instant. The rows of EASY with AVG2 are not met: pyss has another EASY for them.
The second table has jobs that run on to their real end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import click

from ....base.corrections import Correction, walltime_correction
from ....predictors import LastTwo
from ....simulation import SameInstant, conventions, simulate
from ....workloads import Job, read
from ....workloads.fetching import fetch
from ...reports.tables import Table
from ..one_line_errors import in_one_line
from ..printed_tables import show

_RULES = conventions("sc15")
COLUMNS = ("trace", "dispatcher", "predictor", "jobs", "metric", "published", "arrivals first", "batch")

#: Trace to the published mean bounded slowdowns of each dispatcher and predictor.
STUDY: dict[str, dict[tuple[str, str], float]] = {
    "kth-sp2": {
        ("easy", "walltime"): 92.58,
        ("easy", "oracle"): 71.72,
        ("easy-sjbf", "walltime"): 69.41,
        ("easy-sjbf", "oracle"): 49.85,
        ("easy-sjbf", "2x request"): 58.91,
        ("easy-sjbf", "AVG2, reqtime"): 62.86,
        ("easy-sjbf", "AVG2, doubling"): 64.53,
        ("easy-sjbf", "AVG2, tsafrir"): 63.50,
        ("easy", "AVG2, reqtime"): 65.72,
        ("easy", "AVG2, tsafrir"): 85.44,
    },
    "ctc-sp2": {
        ("easy", "walltime"): 49.57,
        ("easy", "oracle"): 37.17,
        ("easy-sjbf", "walltime"): 30.04,
        ("easy-sjbf", "oracle"): 17.57,
        ("easy-sjbf", "2x request"): 30.40,
        ("easy-sjbf", "AVG2, reqtime"): 26.53,
        ("easy-sjbf", "AVG2, doubling"): 55.64,
        ("easy-sjbf", "AVG2, tsafrir"): 85.77,
        ("easy", "AVG2, reqtime"): 35.32,
        ("easy", "AVG2, tsafrir"): 64.65,
    },
    "sdsc-sp2": {
        ("easy", "walltime"): 87.87,
        ("easy", "oracle"): 70.48,
        ("easy-sjbf", "walltime"): 84.89,
        ("easy-sjbf", "oracle"): 56.84,
        ("easy-sjbf", "2x request"): 77.90,
        ("easy-sjbf", "AVG2, reqtime"): 65.06,
        ("easy-sjbf", "AVG2, doubling"): 98.00,
        ("easy-sjbf", "AVG2, tsafrir"): 79.40,
        ("easy", "AVG2, reqtime"): 79.21,
        ("easy", "AVG2, tsafrir"): 100.02,
    },
}

#: Dispatcher to mean wait (s) and mean bounded slowdown of an independent simulator. On KTH, jobs running on.
RUNNING_ON = {
    "easy": (6844.4, 91.29),
    "easy-sjbf": (6012.8, 72.52),
    "conservative": (7506.4, 92.46),
    "conservative:compress=once": (7454.9, 91.00),
    "fcfs": (389669.9, 7507.1),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A published figure and ours.

    Attributes
    ----------
    trace, dispatcher, predictor
        What was simulated.
    jobs
        How many jobs ran.
    metric
        What is compared.
    published
        The figure.
    arrivals_first, batch
        Ours with an arrival or an end at a time, and with one dispatch an instant; NaN where it was not run.
    """

    trace: str
    dispatcher: str
    predictor: str
    jobs: int
    metric: str
    published: float
    arrivals_first: float
    batch: float


class AVG2(LastTwo):
    """The mean of the last two run times, rounded down, with another correction than Tsafrir's steps."""

    def __init__(self, correction: Correction, above_walltime: bool = False) -> None:
        super().__init__(correction="sc15")
        self._other = correction
        self.above_walltime = above_walltime

    def correct(self, job: Job, elapsed: int, misses: int) -> float:
        """Return the corrected run time, seconds."""
        return self._other(job, elapsed, misses)


def doubled(job: Job, elapsed: int, misses: int) -> float:
    """Return twice the prediction, which may exceed the request."""
    return 2.0 * elapsed


#: The predictors of the study that have no name here.
PREDICTORS: dict[str, Callable[[], Any]] = {
    "2x request": lambda: "scaled:factor=2",
    "AVG2, reqtime": lambda: AVG2(walltime_correction),
    "AVG2, doubling": lambda: AVG2(doubled, above_walltime=True),
    "AVG2, tsafrir": lambda: LastTwo(correction="sc15"),
}
ORDERS: tuple[SameInstant, ...] = ("arrivals-first", "batch")


def study(traces: tuple[str, ...]) -> Iterator[Row]:
    """Yield the rows of the study for some traces."""
    for trace in traces:
        workload = read(fetch(trace), **_RULES.reading(trace))
        for (dispatcher, predictor), published in STUDY[trace].items():
            found = [
                simulate(
                    workload,
                    dispatcher,
                    PREDICTORS[predictor]() if predictor in PREDICTORS else predictor,
                    **{**_RULES.simulate, "same_instant": order},
                ).summary()
                for order in ORDERS
            ]
            slowdowns = [each["bounded_slowdown_mean"] for each in found]
            jobs = int(found[0]["jobs"])
            yield Row(trace, dispatcher, predictor, jobs, "bounded slowdown", published, *slowdowns)


def running_on() -> Iterator[Row]:
    """Yield the rows of KTH with jobs that run on to their real end."""
    workload = read(fetch("kth-sp2"))
    for dispatcher, (wait, slowdown) in RUNNING_ON.items():
        ours = simulate(workload, dispatcher, overrun="run").summary()
        jobs, nan = int(ours["jobs"]), float("nan")
        found = ours["bounded_slowdown_mean"]
        yield Row("kth-sp2", dispatcher, "walltime", jobs, "wait, s", wait, nan, ours["wait_mean"])
        yield Row("kth-sp2", dispatcher, "walltime", jobs, "bounded slowdown", slowdown, nan, found)


def cells(row: Row) -> list[str]:
    """Return a row as text, with the deviation of ours from the published figure."""
    made = [row.trace, row.dispatcher, row.predictor, f"{row.jobs:,}", row.metric, f"{row.published:,.2f}"]
    for value in (row.arrivals_first, row.batch):
        made.append("" if math.isnan(value) else f"{value:,.2f} ({value / row.published - 1:+.1%})")
    return made


@click.command(help=__doc__)
@click.option("--trace", "traces", multiple=True, type=click.Choice([*STUDY]), default=tuple(STUDY), show_default=True)
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(traces: tuple[str, ...], as_markdown: bool) -> None:
    """Print both tables."""
    found = {"Killed at the request (Gaussier et al., SC 2015)": study(traces)}
    if "kth-sp2" in traces:
        found["Running on to the real end"] = running_on()
    tables = [Table(title, COLUMNS, list(map(cells, rows)), labels=5) for title, rows in found.items()]
    show(tables, as_markdown)


if __name__ == "__main__":
    main()
