"""What each second implementation gains: the same simulations with it and without it.

Run it by ``python -m hpcdispatch.bench.studies.benchmarks.fast_paths``. Both forms must give the same starts. If they
differ in a row, the command ends with an error. CPU seconds are the least of some runs, after one that compiles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import click
import numpy as np

from ....base import InputError, IntArray
from ....dispatchers import State
from ....dispatchers.backfilling import counted
from ....dispatchers.backfilling.conservative import Conservative
from ....dispatchers.backfilling.reservations import Reservations
from ....simulation import Budget, simulate
from ....simulation.events import compiled_events
from ....workloads import Job, Machine, Workload, generate
from ...reports.tables import Table
from .. import standing_rounds  # noqa: F401 - it simulates them
from ..one_line_errors import in_one_line
from ..printed_tables import show
from .measurements import measured

#: More decisions than any simulation here takes. With a budget the engine decides one by one.
_ENGINE = Budget(decisions=10**12)


class _OnAnyMachine(Conservative):
    """Conservative backfilling in the reservations for any machine."""

    def open(self, state: State) -> Reservations:
        return Reservations(state, self.options.placement)


def waiting_together(count: int) -> Workload:
    """Return jobs submitted within ten minutes to 256 cores. So nearly all wait together."""
    rng = np.random.default_rng(1)
    submit = np.sort(rng.integers(0, 600, count)).tolist()
    cores = (2 ** rng.integers(0, 7, count)).tolist()
    runs = rng.integers(60, 7200, count).tolist()
    slack = rng.uniform(1, 4, count).tolist()
    rows = enumerate(zip(submit, runs, slack, cores, strict=True))
    jobs = (Job(str(row), at, run, int(run * more), nodes=size) for row, (at, run, more, size) in rows)
    return Workload(tuple(jobs), Machine.pool(256))


def _starts(workload: Workload, dispatcher: object, budget: Budget | None, long: int, worth: int) -> IntArray:
    before = counted.LONG, compiled_events.WORTH
    counted.LONG = long
    compiled_events.WORTH = worth
    try:
        starts: IntArray = simulate(workload, dispatcher, budget=budget).jobs["start"].to_numpy()  # type: ignore[arg-type]
    finally:
        counted.LONG, compiled_events.WORTH = before
    return starts


def cases(scale: float) -> list[tuple[str, str, Callable[[], IntArray], Callable[[], IntArray]]]:
    """Return the gain of each: its name, the case, and the simulation with it and without it."""
    many, never = 10**9, 10**9
    comparisons: list[tuple[str, str, Callable[[], IntArray], Callable[[], IntArray]]] = []
    for name, load, jobs in (
        ("easy", 0.85, 30_000),
        ("easy", 1.2, 30_000),
        ("lxf", 1.2, 30_000),
        ("lookahead", 0.9, 10_000),
    ):
        trace = generate("lublin", jobs=int(jobs * scale), processors=256, load=load, seed=1)
        case = f"`{name}`, {len(trace):,} Lublin jobs, load {load}"
        plain = partial(_starts, trace, name, _ENGINE, 256, never)
        comparisons.append(("event loop", case, partial(_starts, trace, name, None, 256, 1), plain))
    for name in ("easy", "lxf"):
        for count in (600, 2600, 10_000):
            together = waiting_together(int(count * scale))
            index = partial(_starts, together, name, _ENGINE, 0, never)
            loop = partial(_starts, together, name, _ENGINE, many, never)
            comparisons.append(("queue index", f"`{name}`, {len(together):,} jobs waiting", index, loop))
    for load in (0.9, 3.0):
        trace = generate("lublin", jobs=int(1000 * scale), processors=256, load=load, seed=1)
        book = partial(_starts, trace, Conservative(), None, 256, never)
        general = partial(_starts, trace, _OnAnyMachine(), None, 256, never)
        comparisons.append(
            ("reservations on a pool", f"`conservative`, {len(trace):,} Lublin jobs, load {load}", book, general)
        )
    trace = generate("lublin", jobs=int(4000 * scale), processors=256, load=0.9, seed=1)
    rounds = "rounds:move=never"
    case = f"`{rounds}`, {len(trace):,} Lublin jobs, load 0.9, killed at the walltime"
    comparisons.append(("standing rounds", case, *_killed(trace, rounds)))
    return comparisons


def _killed(trace: Workload, name: str) -> tuple[Callable[[], IntArray], Callable[[], IntArray]]:
    def run(budget: Budget | None) -> IntArray:
        starts: IntArray = simulate(trace, name, overrun="kill", budget=budget).jobs["start"].to_numpy()
        return starts

    return partial(run, None), partial(run, _ENGINE)


@click.command(help=__doc__)
@click.option("--small", is_flag=True, help="A smoke test on few jobs.")
@click.option("--repeat", type=click.IntRange(1), default=3, show_default=True, help="Runs of each.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line(InputError)
def main(small: bool, repeat: int, as_markdown: bool) -> None:
    """Print the table."""
    rows = []
    for what, case, fast, plain in cases(0.02 if small else 1.0):
        seconds, starts = [], []
        for run in (fast, plain):
            starts.append(run())
            seconds.append(min(measured(run)[1].cpu for _ in range(repeat)))
        if not np.array_equal(starts[0], starts[1]):
            raise click.ClickException(f"{what}, {case}: the starts differ")
        rows.append([what, case, f"{seconds[0]:.2f}", f"{seconds[1]:.2f}", f"{seconds[1] / seconds[0]:.1f}"])
    heads = ("second implementation", "case", "with it, CPU s", "without", "factor")
    show([Table("What second implementations gain", heads, rows, labels=2)], as_markdown)


if __name__ == "__main__":
    main()
