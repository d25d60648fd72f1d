"""Our figures and published ones, on traces of the Parallel Workloads Archive.

``python -m hpcdispatch.bench.studies.benchmarks.published`` prints two tables. The first has the filter and the rules
of the study of Gaussier et al. (SC 2015). Jobs without a walltime are dropped. Jobs are killed at their request.
Bounded slowdown has a threshold of 10 s. Within a second arrivals come before completions, as in pyss. Beside it stands
the default, one dispatch an instant. EASY of pyss is ``pyss-easy`` with arrivals first, and ``easy`` by default.
The second table has jobs that run on to their real end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import click

from ....simulation import simulate
from ....workloads import read
from ....workloads.fetching import fetch
from ...reports.tables import Table
from ..one_line_errors import in_one_line
from ..printed_tables import show
from ..published.sc15 import FILES, RULES, TABLE, slowdown, values

COLUMNS = ("trace", "dispatcher", "predictor", "jobs", "metric", "published", "arrivals first", "batch", "equal starts")

#: Dispatcher to mean wait (s) and mean bounded slowdown of an independent simulator. On KTH, jobs running on.
RUNNING_ON = {
    "easy": (6844.4, 91.29),
    "easy-sjbf": (6012.8, 72.52),
    "conservative": (7506.4, 92.46),
    "conservative:compress=once": (7454.9, 91.00),
    "fcfs": (389669.9, 7507.1),
}


@dataclass(frozen=True, slots=True)
class PublishedFigure:
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
    equal_starts
        How many jobs start with arrivals first as in an independent simulator. ``None`` where it was not run.
    """

    trace: str
    dispatcher: str
    predictor: str
    jobs: int
    metric: str
    published: float
    arrivals_first: float
    batch: float
    equal_starts: int | None = None


_FETCHED = tuple(trace for trace in TABLE if trace not in FILES)


def study(traces: tuple[str, ...]) -> Iterator[PublishedFigure]:
    """Yield the rows of the study for some traces."""
    for trace in traces:
        path = fetch(trace)
        workload = read(path, **RULES.reading(trace))
        for (dispatcher, predictor), value in zip(TABLE[trace], values(trace, path), strict=True):
            batch = slowdown(workload, dispatcher.removeprefix("pyss-"), predictor, same_instant="batch")
            yield PublishedFigure(
                trace,
                dispatcher,
                predictor,
                value.jobs,
                "bounded slowdown",
                value.theirs,
                value.ours,
                batch,
                value.equal_starts,
            )


def running_on() -> Iterator[PublishedFigure]:
    """Yield the rows of KTH with jobs that run on to their real end."""
    workload = read(fetch("kth-sp2"))
    for dispatcher, (wait, bounded) in RUNNING_ON.items():
        ours = simulate(workload, dispatcher, overrun="run").summary()
        jobs, nan = int(ours["jobs"]), float("nan")
        mean_slowdown = ours["bounded_slowdown_mean"]
        yield PublishedFigure("kth-sp2", dispatcher, "walltime", jobs, "wait, s", wait, nan, ours["wait_mean"])
        yield PublishedFigure("kth-sp2", dispatcher, "walltime", jobs, "bounded slowdown", bounded, nan, mean_slowdown)


def cells(row: PublishedFigure) -> list[str]:
    """Return a row as text, with the deviation of ours from the published figure."""
    made = [row.trace, row.dispatcher, row.predictor, f"{row.jobs:,}", row.metric, f"{row.published:,.2f}"]
    for value in (row.arrivals_first, row.batch):
        made.append("" if math.isnan(value) else f"{value:,.2f} ({value / row.published - 1:+.1%})")
    return [*made, "" if row.equal_starts is None else f"{row.equal_starts:,}"]


@click.command(help=__doc__)
@click.option("--trace", "traces", multiple=True, type=click.Choice(_FETCHED), default=_FETCHED, show_default=True)
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(traces: tuple[str, ...], as_markdown: bool) -> None:
    """Print both tables."""
    by_title = {"Killed at the request (Gaussier et al., SC 2015)": study(traces)}
    if "kth-sp2" in traces:
        by_title["Running on to the real end"] = running_on()
    tables = [Table(title, COLUMNS, list(map(cells, rows)), labels=5) for title, rows in by_title.items()]
    show(tables, as_markdown)


if __name__ == "__main__":
    main()
