"""Cost of dependencies and a weekly maintenance under EASY, on the compiled event loop.

Run it by ``python -m hpcdispatch.bench.studies.benchmarks.engine.site_rules``: CPU seconds of whole simulations, the
least of three, in one process. ``--small`` is a smoke test in seconds. Fewer than 10,000 jobs run in the engine, one
decision at a time.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import click

from .....simulation import simulate
from .....workloads import Reservation, Workload, generate
from ....reports.tables import Table
from ...one_line_errors import in_one_line
from ...printed_tables import show
from ..measurements import measured

WEEK, LENGTH = 7 * 86400, 4 * 3600
JOBS, _SMALL = 100_000, 12_000
_ROUNDS = 3


def workloads(jobs: int, seed: int = 1) -> dict[str, Workload]:
    """Return jobs of Lublin and Feitelson without and with both. Each tenth waits for the one before it."""
    made = generate("lublin", jobs=jobs, processors=256, load=0.8, seed=seed)
    plain = [replace(job, walltime=min(job.walltime, WEEK - LENGTH)) for job in made.jobs]
    linked = [
        replace(job, depends=((plain[place - 1].id, "afterany"),)) if place % 10 == 1 else job
        for place, job in enumerate(plain)
    ]
    closed = replace(made.machine, reservations=(Reservation(WEEK, WEEK + LENGTH, every=WEEK),))
    return {
        "neither": Workload(plain, made.machine),
        "dependencies": Workload(linked, made.machine),
        "maintenance": Workload(plain, closed),
        "both": Workload(linked, closed),
    }


def waits_by_prediction(jobs: int, seeds: int) -> Table:
    """Return mean waits under a weekly maintenance, with walltimes and with perfect predictions as predictions."""
    names = ("walltime", "oracle")
    rows, sums = [], [0.0, 0.0]
    for seed in range(1, seeds + 1):
        workload = workloads(jobs, seed)["maintenance"]
        waits = [simulate(workload, "easy", name).summary()["wait_mean"] for name in names]
        sums = [total + wait for total, wait in zip(sums, waits, strict=True)]
        rows.append([str(seed), *(f"{wait:,.0f}" for wait in waits)])
    rows.append(["mean", *(f"{total / seeds:,.0f}" for total in sums)])
    return Table(f"EASY with a weekly maintenance, {jobs:,} jobs: mean wait (s)", ["seed", *names], rows)


@click.command(help=__doc__)
@click.option("--small", is_flag=True, help="Smoke test: 12,000 jobs.")
@click.option("--jobs", "count", type=click.IntRange(1), help="Number of jobs.")
@click.option("--seeds", type=click.IntRange(1), help="Print mean waits of walltimes and perfect predictions instead.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(small: bool, count: int | None, seeds: int | None, as_markdown: bool) -> None:
    """Measure, and print the table."""
    jobs = count or (_SMALL if small else JOBS)
    if seeds is not None:
        show([waits_by_prediction(jobs, seeds)], as_markdown)
        return
    rows, base = [], None
    for name, workload in workloads(jobs).items():
        simulate(workload, "easy")  # Compiled before it is measured.
        rounds = [measured(partial(simulate, workload, "easy")) for _ in range(_ROUNDS)]
        seconds = min(took.cpu for _, took in rounds)
        wait = rounds[0][0].summary()["wait_mean"]
        base = base or seconds
        rows.append([name, f"{seconds:.2f}", f"{seconds / base:.2f}", f"{wait:,.0f}"])
    heads = ["jobs with", "CPU s", "ratio", "mean wait (s)"]
    show([Table(f"EASY, {jobs:,} jobs on 256 cores, load 0.8", heads, rows)], as_markdown)


if __name__ == "__main__":
    main()
