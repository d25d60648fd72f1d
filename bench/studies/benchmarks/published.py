"""Our figures and published ones, on traces of the Parallel Workloads Archive.

``python -m hpcdispatch.bench.studies.benchmarks.published`` prints two tables. The first has the filter and the rules
of the study of Gaussier et al. (SC 2015). Jobs without a walltime are dropped. Jobs are killed at their request.
Bounded slowdown has a threshold of 10 s. The second has jobs that run on to their real end.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import click

from ....simulation import simulate
from ....workloads import Workload, read
from ....workloads.fetching import fetch
from ...reports.tables import Table
from ..one_line_errors import in_one_line
from ..printed_tables import show

_NO_REQUEST = 10**9
COLUMNS = ("trace", "dispatcher", "predictor", "jobs", "metric", "published", "batch", "sequence")

#: (trace, dispatcher, predictor) to published average bounded slowdown.
STUDY = {
    ("kth-sp2", "easy", "walltime"): 92.58,
    ("kth-sp2", "easy-sjbf", "walltime"): 69.41,
    ("kth-sp2", "easy-sjbf", "last2:correction=sc15"): 63.50,
    ("kth-sp2", "easy-sjbf", "last2"): 63.50,
    ("kth-sp2", "easy", "oracle"): 71.72,
    ("kth-sp2", "easy-sjbf", "oracle"): 49.85,
    ("ctc-sp2", "easy", "walltime"): 49.57,
    ("ctc-sp2", "easy-sjbf", "walltime"): 30.04,
    ("ctc-sp2", "easy-sjbf", "last2:correction=sc15"): 85.77,
    ("ctc-sp2", "easy", "oracle"): 37.17,
    ("ctc-sp2", "easy-sjbf", "oracle"): 17.57,
    ("sdsc-sp2", "easy", "walltime"): 87.87,
    ("sdsc-sp2", "easy-sjbf", "walltime"): 84.89,
    ("sdsc-sp2", "easy-sjbf", "last2:correction=sc15"): 79.40,
    ("sdsc-sp2", "easy", "oracle"): 70.48,
    ("sdsc-sp2", "easy-sjbf", "oracle"): 56.84,
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
    batch, sequence
        Ours with one dispatch an instant, and with one after each event; NaN where it was not run.
    """

    trace: str
    dispatcher: str
    predictor: str
    jobs: int
    metric: str
    published: float
    batch: float
    sequence: float


def load(name: str) -> Workload:
    """Return a published trace without the jobs that have no walltime."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        workload = read(fetch(name), default_walltime=_NO_REQUEST)
    return workload.with_jobs(job for job in workload.jobs if job.walltime != _NO_REQUEST)


def study(traces: tuple[str, ...]) -> Iterator[Row]:
    """Yield the rows of the study for some traces."""
    for trace in traces:
        workload = load(trace)
        for (name, dispatcher, predictor), published in STUDY.items():
            if name == trace:
                batch = simulate(workload, dispatcher, predictor, overrun="kill").summary()
                sequence = simulate(workload, dispatcher, predictor, overrun="kill", same_instant="sequence").summary()
                yield Row(
                    trace,
                    dispatcher,
                    predictor,
                    int(batch["jobs"]),
                    "bounded slowdown",
                    published,
                    batch["bounded_slowdown_mean"],
                    sequence["bounded_slowdown_mean"],
                )


def running_on() -> Iterator[Row]:
    """Yield the rows of KTH with jobs that run on to their real end."""
    workload = read(fetch("kth-sp2"))
    for dispatcher, (wait, slowdown) in RUNNING_ON.items():
        ours = simulate(workload, dispatcher, overrun="run").summary()
        jobs, nan = int(ours["jobs"]), float("nan")
        yield Row("kth-sp2", dispatcher, "walltime", jobs, "wait, s", wait, ours["wait_mean"], nan)
        yield Row(
            "kth-sp2", dispatcher, "walltime", jobs, "bounded slowdown", slowdown, ours["bounded_slowdown_mean"], nan
        )


def cells(row: Row) -> list[str]:
    """Return a row as text, with the deviation of ours from the published figure."""
    made = [row.trace, row.dispatcher, row.predictor, f"{row.jobs:,}", row.metric, f"{row.published:,.2f}"]
    for value in (row.batch, row.sequence):
        made.append("" if math.isnan(value) else f"{value:,.2f} ({value / row.published - 1:+.1%})")
    return made


@click.command(help=__doc__)
@click.option("--trace", "traces", multiple=True, default=("kth-sp2", "ctc-sp2", "sdsc-sp2"), show_default=True)
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
