"""What it takes a portfolio to choose anew, on a site of 1,000 nodes.

``python -m hpcdispatch.bench.benchmarks.retuning`` simulates some weeks of the drawn year of 500,000 jobs that the
benchmark of ``slurm`` has too, on nodes and on one pool, and prints how long a decision took that tuned with a whole
window behind it, and how many decisions its replays had.
"""

from __future__ import annotations

import click
import pandas as pd

from ...base import InputError
from ...dispatchers import Portfolio, create_dispatcher
from ...simulation import simulate
from ...workloads import Machine, Workload
from ..one_line_errors import in_one_line
from ..reports.number_formats import short
from ..reports.tables import Table, show
from .slurm.slurm_tables import NODES, YEAR, drawn


def on_a_pool(workload: Workload) -> Workload:
    """Return the same jobs on one pool."""
    return Workload(workload.columns, Machine.pool(workload.machine.nodes))


def tunings(workload: Workload, name: str) -> pd.DataFrame:
    """Return the decisions that tuned with a whole window behind them, with the time that each took in ``seconds``.

    Raises
    ------
    InputError
        If the dispatcher is no portfolio.
    """
    made = create_dispatcher(name)
    if not isinstance(made, Portfolio):
        raise InputError(f"expected a portfolio, got {name!r}")
    result = simulate(workload, made)
    found = result.decisions.assign(seconds=result.timings["seconds"].to_numpy()[: len(result.decisions)])
    begin = int(workload.columns.submit[0]) + made.options.length
    return found[(found["tuned"] == 1) & (found["time"] >= begin)]


def row(where: str, workload: Workload, name: str) -> list[str]:
    """Return what the tunings on a machine took."""
    found = tunings(workload, name)
    seconds, replayed = found["seconds"], found["replayed"]
    if found.empty:
        return [where, f"`{name}`", "0", "-", "-", "-"]
    mean = short(float(seconds.mean()))
    return [where, f"`{name}`", f"{len(found)}", mean, short(float(seconds.max())), f"{replayed.mean():,.0f}"]


@click.command(help=__doc__)
@click.option("--days", type=click.IntRange(1), default=18, show_default=True, help="Of the year.")
@click.option("--dispatcher", "dispatchers", multiple=True, default=("portfolio",), show_default=True)
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(days: int, dispatchers: tuple[str, ...], as_markdown: bool) -> None:
    """Print the table."""
    jobs = days * YEAR // 365
    workload = drawn(jobs)
    machines = {"one pool": on_a_pool(workload), "nodes": workload}
    rows = [row(where, jobs_of, name) for where, jobs_of in machines.items() for name in dispatchers]
    columns = ("machine", "dispatcher", "tunings", "mean, s", "most, s", "decisions replayed, mean")
    note = f"{NODES:,} nodes, {jobs:,} jobs in {days} days; wall clock, one process."
    show([Table("A tuning with a whole window", columns, rows, note=note)], as_markdown)


if __name__ == "__main__":
    main()
