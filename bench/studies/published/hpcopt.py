"""The table of HPCOpt's public leaderboard under its own rules: mean waits of FIFO, EASY and conservative backfilling.

Run it by ``python -m hpcdispatch.bench.studies.published.hpcopt``.

The rules: running jobs hold their processors until their real ends, which are known. Waiting jobs count for their
requests. EASY has no extra nodes: behind a first job that does not fit, others start if they end by its shadow time. If
the first job fits, all that fits starts, in the order of submission. Conservative backfilling plans all jobs anew at
each instant, in that order. Records of unknown run times are left out, and jobs of 0 s count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
from oracles.paper_rules import hpcopt_starts

from ....dispatchers import Dispatcher, Start, State, Waiting
from ....models import pool_placement
from ....simulation import Result, conventions, simulate
from ....workloads import Machine, Workload, read
from ....workloads.fetching import fetch
from ..one_line_errors import in_one_line
from ..printed_tables import show
from .rules import check_pool, cores, shadow_time
from .values import Value, equal_starts, table_of


class BackfillsToTheRealEnd:
    """EASY by the rules of HPCOpt. Its predictor is the oracle, so that the ends of running jobs are the real ones."""

    def reset(self, machine: Machine, rng: np.random.Generator) -> None:
        """Refuse another machine than a pool of cores."""
        check_pool(machine)

    def dispatch(self, state: State) -> list[Start]:
        """Start all that fits, or what ends by the shadow time of the first job."""
        queue, free, starts = state.queue, int(state.free.sum()), list[Start]()
        first = queue[0]
        ends = ((run.predicted_end, cores(run)) for run in state.running)
        last = None if cores(first) <= free else shadow_time(cores(first), free, ends, state.now)
        for waiting in queue:
            if cores(waiting) <= free and (last is None or state.now + waiting.job.walltime <= last):
                free -= cores(waiting)
                starts.append(_start(waiting))
        return starts


class PlansAnew:
    """Conservative backfilling by the rules of HPCOpt, with the oracle as predictor."""

    def reset(self, machine: Machine, rng: np.random.Generator) -> None:
        """Refuse another machine than a pool of cores."""
        check_pool(machine)

    def dispatch(self, state: State) -> list[Start]:
        """Plan the queue in order of submission, and start what is planned now."""
        now, free, starts = state.now, int(state.free.sum()), list[Start]()
        times, left = [now], [free]
        for run in state.running:
            if run.predicted_end <= times[-1]:
                left[-1] += cores(run)
            else:
                times.append(run.predicted_end)
                left.append(left[-1] + cores(run))
        for waiting in state.queue:
            if not free:
                break
            begin, end = _earliest(times, left, cores(waiting), waiting.job.walltime)
            if times[begin] == now:
                free -= cores(waiting)
                starts.append(_start(waiting))
            for step in range(begin, end):
                left[step] -= cores(waiting)
        return starts


def _start(waiting: Waiting) -> Start:
    return Start(waiting, pool_placement(waiting.nodes))


def _earliest(times: list[int], left: list[int], amount: int, seconds: int) -> tuple[int, int]:
    """Return the first and the one after the last step of the earliest place of a job. The last step has no end."""
    begin = step = 0
    while step < len(times) and times[step] < times[begin] + seconds:
        if left[step] < amount:
            begin = step + 1
        step += 1
    end = times[begin] + seconds
    last = bisect_left(times, end)
    if last == len(times) or times[last] != end:
        times.insert(last, end)
        left.insert(last, left[last - 1])
    return begin, last


#: Names of the leaderboard, and the dispatchers.
DISPATCHERS: dict[str, str | Dispatcher] = {
    "FIFO": "fcfs",
    "EASY": BackfillsToTheRealEnd(),
    "conservative": PlansAnew(),
}
#: Trace to published mean waits in seconds.
TABLE: dict[str, dict[str, float]] = {
    "sdsc-sp2": {"FIFO": 1_552_128, "EASY": 34_010, "conservative": 28_708},
    "ctc-sp2": {"FIFO": 6_183, "EASY": 2_466, "conservative": 2_270},
    "hpc2n": {"FIFO": 16_189, "EASY": 12_369},
}
RULES = conventions("hpcopt")


def simulated(workload: Workload, name: str, predictor: str = RULES.predictor) -> Result:
    """Simulate a dispatcher of the leaderboard."""
    return simulate(workload, DISPATCHERS[name], predictor, **RULES.simulate)


def mean_wait(workload: Workload, name: str, predictor: str = RULES.predictor) -> float:
    """Return the mean wait under a dispatcher of the leaderboard, seconds."""
    return float(simulated(workload, name, predictor).jobs["wait"].mean())


def values(trace: str, path: Path) -> Iterator[Value]:
    """Yield the values of a trace."""
    workload = read(path, **RULES.reading(trace))
    for name, theirs in TABLE[trace].items():
        result = simulated(workload, name)
        starts = hpcopt_starts(workload.jobs, int(workload.machine.capacity.sum()), name)
        wait, equal = float(result.jobs["wait"].mean()), equal_starts(result, starts)
        yield Value(trace, name, len(workload), theirs, wait, equal)


@click.command(help=__doc__)
@click.option("--trace", "traces", multiple=True, type=click.Choice([*TABLE]), default=tuple(TABLE), show_default=True)
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(traces: tuple[str, ...], as_markdown: bool) -> None:
    """Print the table."""
    figures = [value for trace in traces for value in values(trace, fetch(trace))]
    show([table_of("HPCOpt: mean wait, s", figures, 0)], as_markdown)


if __name__ == "__main__":
    main()
