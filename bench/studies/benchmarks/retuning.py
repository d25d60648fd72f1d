"""Cost of a new choice by a portfolio, on a site of 1,000 nodes.

``python -m hpcdispatch.bench.studies.benchmarks.retuning`` simulates some weeks of the sampled year of 500,000 jobs.
The ``slurm`` benchmark has the same year. It runs on nodes and on one pool. It prints the time of each decision that
tuned after a whole window. It also prints the number of decisions in its replays. The baseline are the same replays on
the pool in the engine, not in compiled code. Jobs that come back at their requests are replayed in this way. None of
these jobs reaches its request.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import click
import pandas as pd

from ....base import InputError
from ....dispatchers import Portfolio, create_dispatcher
from ....simulation import simulate
from ....workloads import Machine, Workload
from ...reports.number_formats import short
from ...reports.tables import Table
from ..one_line_errors import in_one_line
from ..printed_tables import show
from .slurm.slurm_tables import NODES, YEAR, drawn


def on_a_pool(workload: Workload) -> Workload:
    """Return the same jobs on one pool."""
    return Workload(workload.columns, Machine.pool(workload.machine.nodes))


def held(workload: Workload) -> Workload:
    """Return the jobs. None of them exceeds its request."""
    jobs = workload.columns
    return Workload(jobs.take(jobs.runtime <= jobs.walltime), workload.machine)


def tunings(workload: Workload, name: str, overrun: str = "run") -> pd.DataFrame:
    """Return the decisions that tuned after a whole window, with the time of each in ``seconds``.

    Raises
    ------
    InputError
        If the dispatcher is no portfolio.
    """
    made = create_dispatcher(name, internal=True)
    if not isinstance(made, Portfolio):
        raise InputError(f"expected a portfolio, got {name!r}")
    result = simulate(workload, made, overrun=overrun)
    decisions = result.decisions.assign(seconds=result.timings["seconds"].to_numpy()[: len(result.decisions)])
    begin = int(workload.columns.submit[0]) + made.options.length
    return decisions[(decisions["tuned"] == 1) & (decisions["time"] >= begin)]


def rows_of(workload: Workload, name: str) -> Iterator[list[str]]:
    """Yield the tuning times on the machines, with the ratio to the baseline's time per decision."""
    on_pool, base = on_a_pool(workload), math.nan
    for where, jobs, overrun in (
        ("one pool, in the engine", on_pool, "resubmit"),
        ("one pool", on_pool, "run"),
        ("nodes", workload, "run"),
    ):
        decisions = tunings(jobs, name, overrun)
        seconds = decisions["seconds"]
        replayed = decisions["replayed"]
        if decisions.empty:
            yield [where, f"`{name}`", "0", "-", "-", "-", "-"]
            continue
        each = float(seconds.sum() / max(1, replayed.sum()))
        base = each if math.isnan(base) else base
        times = short(float(seconds.mean())), short(float(seconds.max()))
        yield [where, f"`{name}`", f"{len(decisions)}", *times, f"{replayed.mean():,.0f}", f"{each / base:.2f}"]


@click.command(help=__doc__)
@click.option("--days", type=click.IntRange(1), default=18, show_default=True, help="Of the year.")
@click.option("--dispatcher", "dispatchers", multiple=True, default=("portfolio",), show_default=True)
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(days: int, dispatchers: tuple[str, ...], as_markdown: bool) -> None:
    """Print the table."""
    jobs = days * YEAR // 365
    workload = held(drawn(jobs))
    rows = [row for name in dispatchers for row in rows_of(workload, name)]
    columns = ("machine", "dispatcher", "tunings", "mean, s", "most, s", "decisions replayed, mean", "time a decision")
    note = f"{NODES:,} nodes, {len(workload):,} jobs in {days} days; wall clock, one process; baseline first."
    show([Table("A tuning with a whole window", columns, rows, note=note)], as_markdown)


if __name__ == "__main__":
    main()
