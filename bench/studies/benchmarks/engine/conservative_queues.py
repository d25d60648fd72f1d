"""Conservative backfilling with long queues.

Run it by ``python -m hpcdispatch.bench.studies.benchmarks.engine.conservative_queues``.

It prints CPU seconds for jobs submitted at once. Walltimes are up to 5 times their run times. So every early end moves
many reservations. It also prints the cost of a decision against the number of waiting jobs. ``--small`` is a smoke test
in seconds.
"""

from __future__ import annotations

from functools import partial

import click
import numpy as np

from .....simulation import simulate
from .....workloads import Job, Machine, Workload
from ....reports.tables import Table
from ...one_line_errors import in_one_line
from ...printed_tables import show
from ..measurements import measured
from ..scaling import CORES, measure_point, tables, warm_up

JOBS = (500, 1_000, 2_000)
WAITING = (1_000, 10_000, 100_000)
_SMALL = (20, 40)
_NAME = "conservative"


def early_ends(jobs: int, seed: int = 1) -> Workload:
    """Return jobs submitted at once to a pool of 1,000 cores. Walltimes are 1 to 5 times their run times."""
    rng = np.random.default_rng(seed)
    runs = np.maximum(60, rng.lognormal(7.5, 1.2, jobs)).astype(int)
    walltimes = np.ceil(runs * rng.uniform(1, 5, jobs)).astype(int)
    cores = np.exp(rng.uniform(0, np.log(256), jobs)).astype(int)
    rows = enumerate(zip(runs.tolist(), walltimes.tolist(), cores.tolist(), strict=True))
    made = (Job(str(place), 0, run, walltime, nodes=each) for place, (run, walltime, each) in rows)
    return Workload(tuple(made), Machine.pool(CORES))


def seconds_at_once(sizes: tuple[int, ...]) -> Table:
    """Return CPU seconds and decisions of whole simulations."""
    simulate(early_ends(40), _NAME)  # Compiled before it is measured.
    rows = []
    for jobs in sizes:
        workload = early_ends(jobs)
        result, took = measured(partial(simulate, workload, _NAME))
        decisions = len(result.decisions)
        each = 1000 * took.cpu / decisions
        rows.append([f"{jobs:,}", f"{took.cpu:.1f}", f"{decisions:,}", f"{each:.2f}", str(result.jobs["start"].sum())])
    heads = ["jobs", "CPU s", "decisions", "ms a decision", "sum of starts"]
    return Table("Jobs submitted at once, walltimes up to 5 times the run times, 1,000 cores", heads, rows)


@click.command(help=__doc__)
@click.option("--small", is_flag=True, help="Smoke test: short queues.")
@click.option("--seconds", type=click.FloatRange(0.01), default=5.0, show_default=True, help="CPU time for a queue.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(small: bool, seconds: float, as_markdown: bool) -> None:
    """Measure, and print the tables."""
    points = []
    for size in _SMALL if small else WAITING:
        warm_up("queue", _NAME, size)
        points.append(measure_point("queue", _NAME, size, seconds))
    show([seconds_at_once(_SMALL if small else JOBS), *tables(points)], as_markdown)


if __name__ == "__main__":
    main()
