"""The table of HPCOpt's public leaderboard under its own rules: mean waits of FIFO, EASY and conservative backfilling.

Run it by ``python -m hpcdispatch.bench.studies.published.hpcopt``.

The rules: running jobs hold their processors until their real ends, which are known. Waiting jobs count for their
requests. EASY has no extra nodes: behind a first job that does not fit, others start if they end by its shadow time. If
the first job fits, all that fits starts, in the order of submission. Conservative backfilling plans all jobs anew at
each instant, in that order. Records of unknown run times are left out of SDSC-SP2; on the other traces jobs of 0 s
count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

import click

from ....dispatchers import Dispatcher, Start, State, Waiting
from ....models import pool_placement
from ....simulation import simulate
from ....workloads import Job, Machine, Workload
from ....workloads.fetching import fetch
from ...reports.tables import Table
from ..one_line_errors import in_one_line
from ..printed_tables import show
from .rules import records, shadow_time


class BackfillsToTheRealEnd:
    """EASY by the rules of HPCOpt. Its predictor is the oracle, so that the ends of running jobs are the real ones."""

    def dispatch(self, state: State) -> list[Start]:
        """Start all that fits, or what ends by the shadow time of the first job."""
        queue, free, starts = state.queue, int(state.free.sum()), list[Start]()
        first = queue[0]
        ends = ((run.predicted_end, run.nodes) for run in state.running)
        last = None if first.nodes <= free else shadow_time(first.nodes, free, ends, state.now)
        for waiting in queue:
            if waiting.nodes <= free and (last is None or state.now + waiting.job.walltime <= last):
                free -= waiting.nodes
                starts.append(_start(waiting))
        return starts


class PlansAnew:
    """Conservative backfilling by the rules of HPCOpt, with the oracle as predictor."""

    def dispatch(self, state: State) -> list[Start]:
        """Plan the queue in order of submission, and start what is planned now."""
        now, free, starts = state.now, int(state.free.sum()), list[Start]()
        times, left = [now], [free]
        for run in state.running:
            if run.predicted_end <= times[-1]:
                left[-1] += run.nodes
            else:
                times.append(run.predicted_end)
                left.append(left[-1] + run.nodes)
        for waiting in state.queue:
            if not free:
                break
            begin, end = _earliest(times, left, waiting.nodes, waiting.job.walltime)
            if times[begin] == now:
                free -= waiting.nodes
                starts.append(_start(waiting))
            for step in range(begin, end):
                left[step] -= waiting.nodes
        return starts


def _start(waiting: Waiting) -> Start:
    return Start(waiting, pool_placement(waiting.nodes))


def _earliest(times: list[int], left: list[int], nodes: int, seconds: int) -> tuple[int, int]:
    """Return the first and the one after the last step of the earliest place of a job. The last step has no end."""
    begin = step = 0
    while step < len(times) and times[step] < times[begin] + seconds:
        if left[step] < nodes:
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
#: Trace to its processors, whether jobs of 0 s count, and published mean waits in seconds.
TABLE: dict[str, tuple[int, bool, dict[str, float]]] = {
    "sdsc-sp2": (128, False, {"FIFO": 1_552_128, "EASY": 34_010, "conservative": 28_708}),
    "ctc-sp2": (512, True, {"FIFO": 6_183, "EASY": 2_466, "conservative": 2_270}),
    "hpc2n": (240, True, {"FIFO": 16_189, "EASY": 12_369}),
}


def jobs_of(path: Path, with_zero: bool) -> list[Job]:
    """Return the jobs of a trace. A missing request is the run time."""
    made = []
    for number, (submit, ran, used, nodes, requested) in enumerate(records(path)):
        if ran > 0 or with_zero:
            runtime = max(ran, 0)
            walltime = max(1, requested if requested > 0 else runtime)
            made.append(Job(str(number), submit, runtime, walltime, nodes if nodes > 0 else used, {"core": 1}))
    return made


def rows(traces: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield a row of each trace and dispatcher."""
    for trace in traces:
        processors, with_zero, published = TABLE[trace]
        workload = Workload(jobs_of(Path(fetch(trace)), with_zero), Machine.pool(processors))
        for name, theirs in published.items():
            ours = float(simulate(workload, DISPATCHERS[name], "oracle").jobs["wait"].mean())
            yield [trace, name, f"{len(workload):,}", f"{theirs:,}", f"{ours:,.0f}", f"{ours / theirs - 1:+.2%}"]


@click.command(help=__doc__)
@click.option("--trace", "traces", multiple=True, type=click.Choice([*TABLE]), default=tuple(TABLE), show_default=True)
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(traces: tuple[str, ...], as_markdown: bool) -> None:
    """Print the table."""
    columns = ("trace", "dispatcher", "jobs", "published", "ours", "deviation")
    show([Table("HPCOpt: mean wait, s", columns, list(rows(traces)), 2)], as_markdown)


if __name__ == "__main__":
    main()
