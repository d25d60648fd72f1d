"""Time of EASY under rules of a machine, against the time without: paired runs in one process.

Run it by ``python -m hpcdispatch.bench.studies.benchmarks.engine.rule_speed``. Each round runs both forms one after the
other. The ratio is the median over the rounds, so that another load on the computer changes it little. CPU seconds are
the least. ``--small`` is a smoke test.

* A weekly maintenance in the Python engine, one decision at a time, on a pool and on nodes.
* A whole trace in the compiled event loop.
* The EASY of the docs, on the profile of the state, against ``easy`` under maintenance, limits and an hourly cap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from statistics import median

import click
import numpy as np

from .....dispatchers import Action, State
from .....simulation import Budget, Result, simulate
from .....workloads import Limit, Machine, Power, Reservation, Workload, generate
from ....reports.tables import Table
from ...one_line_errors import in_one_line
from ...printed_tables import show
from ..measurements import measured

_DAY, _LENGTH = 86_400, 4 * 3600
_WEEK = 7 * _DAY
#: More decisions than any simulation here takes. With a budget the engine decides one by one.
_ENGINE = Budget(decisions=10**12)
#: Jobs in the engine, in the event loop and on rules of all kinds.
JOBS, _SMALL = (3000, 100_000, 1000), (300, 12_000, 100)


class Backfilling:
    """EASY as the docs write it: the first job that does not fit keeps its room."""

    on_profile = True

    def dispatch(self, state: State) -> Sequence[Action]:
        """Start jobs in order, keep room for the first that does not fit, and start others that leave it."""
        room = state.profile()
        starts = room.start_now(state.queue, skip=False)
        if room.behind:
            head, *others = room.behind
            room.keep(head)
            starts += room.start_now(others)
        return starts


def on_pool(jobs: int, seed: int = 1) -> Workload:
    """Return Lublin jobs on 256 cores, with walltimes that fit between two maintenances."""
    made = generate("lublin", jobs=jobs, processors=256, load=0.8, users=8, seed=seed)
    return Workload([replace(job, walltime=min(job.walltime, _WEEK - _LENGTH)) for job in made.jobs], made.machine)


def on_nodes(jobs: int, seed: int = 1) -> Workload:
    """Return the same jobs on 64 nodes of 4 cores."""
    pool = on_pool(jobs, seed)
    name = pool.machine.resources[0]
    made = []
    for job in pool.jobs:
        cores = job.nodes * job.per_node[name]
        made.append(replace(job, nodes=-(-cores // 4), per_node={name: min(cores, 4)}))
    return Workload(made, Machine((name,), np.full((64, 1), 4)))


def maintained(workload: Workload) -> Workload:
    """Return a workload with a weekly maintenance of four hours."""
    weekly = Reservation(_WEEK, _WEEK + _LENGTH, every=_WEEK)
    return Workload(workload.jobs, replace(workload.machine, reservations=(weekly,)))


def ruled(workload: Workload) -> Workload:
    """Return a workload with a weekly maintenance, a limit per user and a cap that is lower by day."""
    machine = maintained(workload).machine
    name = machine.resources[0]
    cap = ((0, 2500.0), (8 * 3600, 2000.0), (18 * 3600, 2500.0))
    rules = replace(
        machine,
        limits=(Limit(128, of=name, by="user"),),
        power=Power({name: 10.0}, idle=0.0, cap=cap, every=_DAY),
    )
    return Workload(workload.jobs, rules)


def pairs(sizes: tuple[int, int, int]) -> list[tuple[str, float, Callable[[], Result], Callable[[], Result]]]:
    """Return name, the ratio that is asked for, and both forms of each row."""
    engine, loop, rules = sizes
    decided = partial(simulate, budget=_ENGINE, overrun="kill")
    rows: list[tuple[str, float, Callable[[], Result], Callable[[], Result]]] = []
    for name, made in (("pool", on_pool(engine)), ("64 nodes", on_nodes(engine))):
        row = f"`easy`, maintenance against none, engine, {name}, {engine:,} jobs"
        rows.append((row, 5.0, partial(decided, maintained(made), "easy"), partial(decided, made, "easy")))
    whole = on_pool(loop)
    row = f"`easy`, maintenance against none, event loop, {loop:,} jobs"
    rows.append((row, 1.5, partial(simulate, maintained(whole), "easy"), partial(simulate, whole, "easy")))
    for name, made in (("pool", ruled(on_pool(rules))), ("64 nodes", ruled(on_nodes(rules)))):
        row = f"EASY of the docs against `easy`, all rules, {name}, {rules:,} jobs"
        rows.append((row, 1.5, partial(decided, made, Backfilling()), partial(decided, made, "easy")))
    return rows


@click.command(help=__doc__)
@click.option("--small", is_flag=True, help="Smoke test on few jobs.")
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Rounds of both forms.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(small: bool, rounds: int, as_markdown: bool) -> None:
    """Measure, and print the table."""
    rows = []
    for name, most, first, second in pairs(_SMALL if small else JOBS):
        mine, theirs = first(), second()  # Compiled before it is measured.
        equal = "of the docs" not in name or bool((mine.jobs["start"] == theirs.jobs["start"]).all())
        if not equal:
            raise click.ClickException(f"{name}: the starts differ")
        times = [(measured(first)[1].cpu, measured(second)[1].cpu) for _ in range(rounds)]
        least = [min(column) for column in zip(*times, strict=True)]
        ratio = median(one / other for one, other in times)
        rows.append([name, f"{least[0]:.2f}", f"{least[1]:.2f}", f"{ratio:.2f}", f"{most:g}"])
    heads = ["first against second", "first, CPU s", "second", "ratio", "at most"]
    show([Table("EASY under rules of the machine", heads, rows)], as_markdown)


if __name__ == "__main__":
    main()
