"""The job with the longest wait, and the jobs that delayed it.

``python -m hpcdispatch.bench.studies.benchmarks.longest_wait TRACE...`` prints a table per trace, with a row per
dispatcher. It shows the job that waited longest, and its wait under the reference as well. It shows what used the
machine meanwhile, in parts of the capacity. These are jobs that ran when it arrived, that arrived before it, and that
overtook it. It also shows for how long the job would have fitted.

A TRACE is what :mod:`.tradeoff` takes.
"""

from __future__ import annotations

from dataclasses import dataclass

import click
import numpy as np
import pandas as pd

from ....base import BoolArray, FloatArray, InputError
from ....dispatchers import create_dispatcher
from ....simulation import Result, simulate
from ....workloads import GENERATORS, Machine, Workload, generate
from ...reports.tables import Table
from ..one_line_errors import in_one_line
from ..printed_tables import show
from .traces import named_trace

COLUMNS = (
    "dispatcher",
    "job",
    "units",
    "wait, h",
    "under the reference, h",
    "ran before",
    "came before",
    "overtook",
    "idle",
    "room for it, h",
    "overtakers",
    "ended last",
)


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Jobs on the machine while a job waited for its first start.

    Shares are of the capacity of the machine's primary resource times the wait. With `idle` they sum to 1.

    Attributes
    ----------
    id, units, submit, wait
        The job, its request of the primary resource, its arrival, and its wait, seconds.
    running
        Share of the jobs that ran when it came.
    older
        Of those that came before it, waited then, and started before it.
    overtaking
        Of those that came after it and started before it.
    idle
        Unused share.
    room
        Seconds of the wait in which it would have fitted, for the time being.
    overtakers
        How many started before it and came after it.
    last
        The job that let it start by ending, the one with the most units. Empty if none ended then.
    """

    id: str
    units: int
    submit: int
    wait: int
    running: float
    older: float
    overtaking: float
    idle: float
    room: int
    overtakers: int
    last: str


def longest_waiter(result: Result) -> str:
    """Return the id of the job with the longest wait for its first start. Ties go in trace order.

    Raises
    ------
    InputError
        If none has started.
    """
    jobs = result.jobs[result.jobs["start"] >= 0]
    if not len(jobs):
        raise InputError("expected a job that has started, got none")
    return str(jobs["id"].iloc[int((jobs["start"] - jobs["submit"]).to_numpy().argmax())])


def held_back(result: Result, machine: Machine, id_: str) -> HeldBack:
    """Return the jobs on the machine while a job waited for its first start.

    Parameters
    ----------
    result
        Of a simulation.
    machine
        What it was on.
    id_
        The job.

    Raises
    ------
    InputError
        If there is no such job, or if it did not start.
    """
    rows = np.flatnonzero((result.jobs["id"] == id_).to_numpy())
    if not len(rows) or result.jobs["start"].iloc[rows[0]] < 0:
        raise InputError(f"job {id_}: expected one that has started")
    job = result.jobs.iloc[rows[0]]
    begin = int(job["submit"])
    end = int(job["start"])
    stays = _stays(result, begin, end)
    stays = stays[stays["id"] != id_]
    came = stays["place"].to_numpy() < rows[0]
    ran = (stays["start"] < begin).to_numpy()
    work = _work(stays, begin, end)
    capacity = int(machine.capacity[:, machine.primary].sum())
    whole = max(1, capacity * (end - begin))
    running, older, overtaking = (float(work[which].sum() / whole) for which in (ran, came & ~ran, ~came & ~ran))
    at_end = stays[stays["end"] == end]
    last = "" if not len(at_end) else str(at_end["id"].iloc[int(at_end["units"].to_numpy().argmax())])
    units = int(job["units"])
    return HeldBack(
        id=id_,
        units=units,
        submit=begin,
        wait=end - begin,
        running=running,
        older=older,
        overtaking=overtaking,
        idle=1 - running - older - overtaking,
        room=_seconds_with_room(stays, begin, end, capacity - units),
        overtakers=int(stays["id"][~came & ~ran].nunique()),
        last=last,
    )


def _stays(result: Result, begin: int, end: int) -> pd.DataFrame:
    """Return jobs on the machine between two times, or that left at the second, with their trace indices."""
    attempts = result.attempts
    here = attempts[(attempts["start"] < end) & (attempts["end"] > begin)]
    place = pd.Series(np.arange(len(result.jobs)), index=result.jobs["id"])
    return here.assign(place=place.loc[here["id"]].to_numpy())[["id", "start", "end", "units", "place"]]


def _work(stays: pd.DataFrame, begin: int, end: int) -> FloatArray:
    """Return the unit-seconds of each between two times."""
    seconds = np.minimum(stays["end"], end) - np.maximum(stays["start"], begin)
    work: FloatArray = (seconds * stays["units"]).to_numpy(dtype=np.float64)
    return work


def _seconds_with_room(stays: pd.DataFrame, begin: int, end: int, most: int) -> int:
    """Return the seconds in which at most this many units were in use."""
    times = np.concatenate((np.maximum(stays["start"], begin), np.minimum(stays["end"], end), [begin, end]))
    change = np.concatenate((stays["units"], -stays["units"], [0, 0]))
    order = np.argsort(times, kind="stable")
    times = times[order]
    held = np.cumsum(change[order])
    fits: BoolArray = held[:-1] <= most
    return int(np.diff(times)[fits].sum())


def explained(workload: Workload, dispatchers: tuple[str, ...], predictor: str) -> list[list[str]]:
    """Return the cells of a row per dispatcher, the reference first."""
    rows = list[list[str]]()
    reference = dict[str, int]()
    for name in dispatchers:
        result = simulate(workload, create_dispatcher(name, internal=True), predictor)
        waits = dict(zip(result.jobs["id"], result.jobs["start"] - result.jobs["submit"], strict=True))
        reference = reference or waits
        explanation = held_back(result, workload.machine, longest_waiter(result))
        shares = (
            f"{share:.0%}"
            for share in (explanation.running, explanation.older, explanation.overtaking, explanation.idle)
        )
        hours = (f"{seconds / 3600:.1f}" for seconds in (explanation.wait, reference[explanation.id]))
        room = f"{explanation.room / 3600:.1f}"
        rows.append(
            [
                f"`{name}`",
                explanation.id,
                f"{explanation.units}",
                *hours,
                *shares,
                room,
                f"{explanation.overtakers}",
                explanation.last,
            ]
        )
    return rows


def workload_of(trace: str) -> Workload:
    """Return a trace, jobs of it, or a sample of a generator."""
    if trace.partition(":")[0] in GENERATORS.names():
        return generate(trace, seed=1)
    return named_trace(trace)


@click.command(help=__doc__)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option("--dispatcher", "dispatchers", multiple=True, default=("easy", "lookahead"), help="The reference first.")
@click.option("--predictor", default="walltime", show_default=True)
@click.option("--jobs", type=click.IntRange(1), help="The first so many only.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(
    traces: tuple[str, ...], dispatchers: tuple[str, ...], predictor: str, jobs: int | None, as_markdown: bool
) -> None:
    """Print a table a trace."""
    for trace in traces:
        workload = workload_of(trace)
        rows = explained(workload if jobs is None else workload.head(jobs), dispatchers, predictor)
        show([Table(f"{trace}, {predictor}", COLUMNS, rows)], as_markdown)


if __name__ == "__main__":
    main()
