"""Levels of a machine under EASY: time against a machine without levels, groups per job, and the cost in waits.

Run it by ``python -m hpcdispatch.bench.studies.benchmarks.engine.level_speed``. Lublin jobs run on 1,024 nodes in racks
of 32 and rows of 256. The forms of a round run one after the other. CPU seconds are the least of all rounds, and the
ratio is the median over the rounds. ``--small`` is a smoke test.

* A machine with levels, whose jobs lie anywhere: they start as without levels.
* ``placement=compact``: they start as well as without levels, and use few groups.
* Each job asks for one group (``within``), of racks or rows by its size. The engine then decides one by one. So it is
  compared with the same engine without levels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import click
import numpy as np

from .....simulation import Budget, Result, simulate
from .....workloads import Machine, Workload, generate
from ....reports.tables import Table
from ...one_line_errors import in_one_line
from ...printed_tables import show
from ..measurements import measured

#: Nodes, and the sizes of groups.
NODES = 1024
LEVELS: Mapping[str, Any] = {"rack": 32, "row": 256}
#: More decisions than any simulation here takes. With a budget the engine decides one by one.
_ENGINE = Budget(decisions=10**12)
JOBS, _SMALL = 10_000, 600


class LevelCase(NamedTuple):
    """A form with levels, and the form without levels that it is compared with."""

    name: str
    form: Callable[[], Result]
    plain: Callable[[], Result]


def on_racks(jobs: int, seed: int = 1, load: float = 0.85) -> Workload:
    """Return Lublin jobs on nodes of one core, in racks and rows."""
    made = generate("lublin", jobs=jobs, processors=NODES, load=load, users=8, seed=seed)
    name = made.machine.resources[0]
    rigid = [replace(job, nodes=job.nodes * job.per_node[name], per_node={name: 1}) for job in made.jobs]
    return Workload(rigid, Machine((name,), np.ones((NODES, 1), dtype=np.int64), levels=dict(LEVELS)))


def in_groups(workload: Workload) -> Workload:
    """Return a workload whose jobs each ask for one group of the smallest level that can hold them."""
    jobs = []
    for job in workload.jobs:
        level = next((name for name, size in LEVELS.items() if job.nodes <= size), "")
        jobs.append(replace(job, within=level) if level else job)
    return Workload(jobs, workload.machine)


def cases(jobs: int, seed: int) -> list[LevelCase]:
    """Return the forms."""
    made = on_racks(jobs, seed)
    plain = Workload(made.jobs, replace(made.machine, levels={}))
    loop = partial(simulate, plain, "easy")
    engine = partial(simulate, plain, "easy", budget=_ENGINE)
    return [
        LevelCase("first-fit, levels for metrics alone", partial(simulate, made, "easy"), loop),
        LevelCase("`placement=compact`", partial(simulate, made, "easy:placement=compact"), loop),
        LevelCase("`within` for each job", partial(simulate, in_groups(made), "easy", budget=_ENGINE), engine),
    ]


@click.command(help=__doc__)
@click.option("--small", is_flag=True, help="Smoke test on few jobs.")
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Rounds of both forms.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of the jobs.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(small: bool, rounds: int, seed: int, as_markdown: bool) -> None:
    """Measure, and print the table."""
    rows = []
    base = None
    jobs = _SMALL if small else JOBS
    for case in cases(jobs, seed):
        summary = case.form().summary()  # Compiled before it is measured.
        case.plain()
        base = summary if base is None else base
        times = [(measured(case.form)[1].cpu, measured(case.plain)[1].cpu) for _ in range(rounds)]
        rows.append(
            (
                case.name,
                f"{min(mine for mine, _ in times):.3f}",
                f"{min(other for _, other in times):.3f}",
                f"{median(mine / other for mine, other in times):.2f}",
                f"{summary['groups_mean']:.2f}",
                f"{100 * summary['crossed_share']:.1f}%",
                f"{100 * summary['fragmentation']:.2f}%",
                f"{summary['wait_mean']:,.0f}",
                f"{100 * (summary['wait_mean'] / base['wait_mean'] - 1):+.1f}%" if base["wait_mean"] else "-",
            )
        )
    heads = ("form", "CPU s", "without levels", "ratio", "groups per job", "crossed", "fragmentation", "mean wait, s")
    text = f"EASY, {jobs:,} Lublin jobs on {NODES:,} nodes, seed {seed}, rounds {rounds}"
    show([Table(text, (*heads, "to first-fit"), rows)], as_markdown)


if __name__ == "__main__":
    main()
