"""Table V of RLScheduler (Zhang et al., SC 2020) under its own rules, on the traces at hand.

Run it by ``python -m hpcdispatch.bench.studies.published.rlscheduler``. It prints the mean bounded slowdown over ten
windows of 1,024 jobs, each on an empty machine, by three orders with and without backfilling.

The rules: the job that is chosen is kept until it starts. While it waits, others start in the order of submission if
they fit and would end, by their requests, before the shadow time. That is when the chosen job could start by the
requests of the running jobs. It is fixed at the choice. There are no extra nodes. In one second arrivals come before
ends. A run time of -1 counts as 10 s, and jobs of 0 s are left out. Their columns of WFP3 and UNICEP rest on a wait of
-1, and are not made again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

import click
import numpy as np
from oracles.paper_rules import rlscheduler_starts

from ....dispatchers import Action, ListScheduler, Start, State
from ....dispatchers.protocol import id_of
from ....models import pool_placement
from ....simulation import Result, conventions, simulate
from ....workloads import Machine, Workload, read
from ....workloads.fetching import fetch
from ..one_line_errors import in_one_line
from ..printed_tables import show
from .rules import check_pool, cores, shadow_time
from .values import Value, equal_starts, table_of

#: First job of each window, among the first 10,000 of the trace.
WINDOWS = (1981, 2756, 4299, 8850, 3316, 2714, 5228, 7762, 4022, 7085)
LENGTH, JOBS = 1024, 10_000
#: Trace to the published values of each order without and with backfilling.
TABLE: dict[str, dict[str, tuple[float, float]]] = {
    "lublin-256": {"FCFS": (7273.77, 235.82), "SJF": (277.35, 73.31), "F1": (258.37, 75.07)},
    "sdsc-sp2": {"FCFS": (1727.54, 1595.12), "SJF": (2680.55, 2167.84), "F1": (1232.06, 1098.22)},
    "hpc2n": {"FCFS": (297.18, 127.38), "SJF": (157.71, 122.04), "F1": (118.01, 71.95)},
}
RULES = conventions("rlscheduler")


#: Name in the paper to the order here.
ORDERS = {"FCFS": "submission", "SJF": "sjf", "F1": "f1"}


@dataclass(frozen=True)
class Committed(ListScheduler):
    """Start jobs in an order, and keep a chosen job until it starts, with the backfilling of RLScheduler.

    Attributes
    ----------
    placement, order, blocked, commit
        As in :class:`~hpcdispatch.dispatchers.ListScheduler`.
    backfill
        Whether others start while the chosen job waits.
    """

    commit: bool = True
    backfill: bool = True

    @cached_property
    def _shadow(self) -> list[int]:
        """The shadow time of the job that is kept, from the decision on at which it was chosen."""
        return []

    def reset(self, machine: Machine | None, rng: np.random.Generator | None = None) -> None:
        """Begin anew. Backfilling needs a pool of cores."""
        super().reset(machine, rng)
        if machine is not None and self.backfill:
            check_pool(machine)

    def dispatch(self, state: State) -> list[Action]:
        """Start chosen jobs while they fit, then those that end before the shadow time of the one that does not."""
        before = self._blocking[:]
        starts = list(super().dispatch(state))
        if not self.backfill or not self._blocking:
            return starts
        now, gone = state.now, {id_of(action.job) for action in starts if isinstance(action, Start)}
        waiting = [job for job in state.queue if job.id not in gone]
        started = [job for job in state.queue if job.id in gone]
        free = int(state.free.sum()) - sum(map(cores, started))
        if self._blocking != before:
            chosen = next(job for job in waiting if job.id in self._blocking)
            ends = [(run.start + run.job.walltime, cores(run)) for run in state.running]
            ends += [(now + job.job.walltime, cores(job)) for job in started]
            self._shadow[:] = [shadow_time(cores(chosen), free, sorted(ends), now)]
        for job in waiting:
            if job.id not in self._blocking and cores(job) <= free and now + job.job.walltime < self._shadow[0]:
                free -= cores(job)
                starts.append(Start(job, pool_placement(job.nodes)))
        return starts


def jobs_of(path: str | PathLike[str]) -> Workload:
    """Return the first 10,000 jobs of a trace, as the paper's simulator reads them."""
    return read(path, head=JOBS, **RULES.read)


def windows(workload: Workload, order: str, backfill: bool) -> Iterator[tuple[Workload, Result]]:
    """Yield the ten windows and their simulations."""
    for first in WINDOWS:
        window = workload.slice(first, first + LENGTH)
        yield window, simulate(window, Committed(order=ORDERS[order], backfill=backfill), **RULES.simulate)


def value(trace: str, workload: Workload, order: str, backfill: bool) -> Value:
    """Return a published value, and the mean over the ten windows."""
    slowdowns, equal = [], 0
    for window, result in windows(workload, order, backfill):
        slowdowns.append(result.summary()["bounded_slowdown_mean"])
        starts = rlscheduler_starts(window.jobs, int(window.machine.capacity.sum()), order, backfill)
        equal += equal_starts(result, starts)
    setting = f"{order}, backfilling" if backfill else order
    theirs = TABLE[trace][order][backfill]
    return Value(trace, setting, LENGTH * len(WINDOWS), theirs, float(np.mean(slowdowns)), equal)


def values(trace: str, path: Path) -> Iterator[Value]:
    """Yield the values of a trace, of each order without and with backfilling."""
    jobs = jobs_of(path)
    for order in TABLE[trace]:
        for backfill in (False, True):
            yield value(trace, jobs, order, backfill)


@click.command(help=__doc__)
@click.option("--trace", "traces", multiple=True, type=click.Choice([*TABLE]), default=tuple(TABLE), show_default=True)
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(traces: tuple[str, ...], as_markdown: bool) -> None:
    """Print the table."""
    figures = [value for trace in traces for value in values(trace, fetch(trace))]
    show([table_of("RLScheduler, Table V: mean bounded slowdown", figures, 2)], as_markdown)


if __name__ == "__main__":
    main()
