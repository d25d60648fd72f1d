"""The state from which a simulation can begin."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..base import InputError
from ..base.argument_types import names_wrong_types
from .job import Job
from .workload import Workload


@dataclass(frozen=True, slots=True)
class RunningSince:
    """A running job of the workload.

    Attributes
    ----------
    id
        Of the job.
    start
        Its start, seconds on the clock of the workload.
    placement
        Node index of each of its slots. ``None`` if unknown: any nodes with room.
    limit
        Seconds from its start to its kill; ``None``: by the rules of the simulation.
    shape
        Index of its current shape; ``None``: its own request.
    write
        Seconds for a checkpoint at the end of its limit.
    predicted_end
        Its current predicted end, seconds. ``None``: as predicted before its start. An overrun prediction is then
        corrected with the knowledge at the instant of the state.
    misses
        Number of corrections so far.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.testing import tiny
    >>> from hpcdispatch.workloads import MachineState, RunningSince
    >>> running = RunningSince("a", start=0, placement=(0, 0), predicted_end=100)
    >>> hd.simulate(tiny(), "fcfs", state=MachineState(at=5, running=(running,))).jobs["start"].tolist()
    [0, 5, 100, 160, 160]
    """

    id: str
    start: int
    placement: tuple[int, ...] | None = None
    limit: int | None = None
    shape: int | None = None
    write: int = 0
    predicted_end: int | None = None
    misses: int = 0


@dataclass(frozen=True, slots=True)
class EndedJob:
    """A job that ended before.

    Attributes
    ----------
    job
        The job, with its request, and with the run time of its last attempt.
    start
        Start of that attempt, seconds.
    ran
        Total run time, seconds; ``None``: there were no earlier attempts.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.workloads import EndedJob, MachineState
    >>> past = hd.Job("a", submit=0, runtime=600, walltime=900)
    >>> state = MachineState(at=1000, ended=(EndedJob(past, start=100),))
    >>> len(state.ended)
    1
    """

    job: Job
    start: int
    ran: int | None = None

    @property
    def end(self) -> int:
        """Its end, seconds."""
        return self.start + self.job.runtime

    @property
    def whole(self) -> Job:
        """The job with its total run time, from which predictors learn."""
        return self.job if self.ran is None else replace(self.job, runtime=self.ran)


@dataclass(frozen=True, slots=True)
class MachineState:
    """A machine and a queue at one instant, before the events of this instant.

    Jobs that were submitted before the instant and do not run have waited since their submission.

    Attributes
    ----------
    at
        The instant, seconds on the clock of the workload.
    running
        The running jobs.
    predicted
        Run times predicted at submission, seconds, by id. Those of other jobs, and on other shapes, are predicted
        again.
    ended
        Jobs that ended before. Predictors learn from them, and so do dispatchers that count past usage.
    timers
        Times at which the dispatcher must be called; ``None``: it is called at the instant.
    memory
        Data that dispatchers keep between decisions, from their ``memory()``, by their names.

    Raises
    ------
    InputError
        If a job occurs twice, or starts at the instant or later. If an ended job ended after it.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.testing import tiny
    >>> from hpcdispatch.workloads import MachineState, RunningSince
    >>> state = MachineState(at=20, running=(RunningSince("a", start=0), RunningSince("b", start=0)))
    >>> hd.simulate(tiny(), "easy", state=state).jobs["start"].tolist()
    [0, 0, 100, 20, 160]
    """

    at: int
    running: tuple[RunningSince, ...] = ()
    predicted: Mapping[str, int] = field(default_factory=dict)
    ended: tuple[EndedJob, ...] = ()
    timers: tuple[int, ...] | None = None
    memory: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for id_, times in Counter([job.id for job in self.running] + [each.job.id for each in self.ended]).items():
            if times > 1:
                raise InputError(f"state: job {id_}: id must be unique, got it {times} times")
        for job in self.running:
            if job.start >= self.at:
                raise InputError(f"state: job {job.id}: start must lie before {self.at}, got {job.start}")
        for each in self.ended:
            if each.end > self.at:
                raise InputError(f"state: job {each.job.id}: expected an end at {self.at} or before, got {each.end}")


@names_wrong_types
def recorded_state(workload: Workload, at: int | None = None) -> tuple[Workload, MachineState]:
    """Return the jobs of a trace that had not ended at an instant. Also return the state then.

    Parameters
    ----------
    workload
        Jobs with their recorded waits (``records["wait"]``). A job without a wait arrives later, or waits.
    at
        The instant, seconds. The default is the first end of a job. Earlier ends are not recorded. A job that ends at
        the instant has ended.

    Raises
    ------
    InputError
        If no waits are recorded, or all jobs had ended by then.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.workloads import recorded_state
    >>> with TemporaryDirectory() as folder:
    ...     path = hd.simulate(hd.example(), "easy").to_swf(f"{folder}/recorded.swf")
    ...     recorded = hd.read(f"{folder}/recorded.swf")
    >>> rest, state = recorded_state(recorded, at=int(recorded.columns.submit[500]))
    >>> len(state.running), len(rest.jobs)
    (3, 408)
    """
    wait, records = workload.recorded_waits, workload.records
    if wait is None or records is None:
        raise InputError(f"{workload.provenance.source}: expected recorded waits, got none")
    jobs = workload.columns
    known = ~np.isnan(wait)
    start = np.where(known, jobs.submit + np.where(known, wait, 0), np.inf)
    end = start + jobs.runtime
    earlier = _attempts(workload)
    first = min([end.min(initial=np.inf), *(times[2] for each in earlier.values() for times in each)])
    instant = int(first) if at is None and known.any() else at or 0
    stays = end > instant  # A job that ends at the instant has ended: dispatchers count its usage.
    if at is None and not stays.any():
        stays = end >= instant
    runs = (start < instant) & stays
    if not stays.any():
        raise InputError(f"{workload.provenance.source}: expected jobs that end at {instant} s or later, got none")
    jobs_ = list(workload.jobs)
    for row, attempts in earlier.items():  # A preempted job runs in one of its attempts, or waits between them.
        for begin, _, back, again in attempts:
            if begin < instant < back:
                runs[row], start[row] = True, begin
            elif back <= instant < again:
                jobs_[row] = replace(jobs_[row], begin=again)
    rows = np.flatnonzero(runs).tolist()
    texts = records["placement"].tolist() if "placement" in records else [""] * len(runs)
    where = {row: tuple(map(int, texts[row].split())) or None for row in rows}
    running = [RunningSince(workload.jobs[row].id, int(start[row]), where[row]) for row in rows]
    ended = [EndedJob(workload.jobs[row], int(start[row])) for row in np.flatnonzero(~stays).tolist()]
    kept = tuple(jobs_[row] for row in np.flatnonzero(stays).tolist())
    records = records[stays].reset_index(drop=True)
    return replace(workload, jobs=kept, records=records), MachineState(instant, tuple(running), ended=tuple(ended))


def _attempts(workload: Workload) -> dict[int, list[tuple[int, int, int, int]]]:
    """Return the earlier attempts of preempted jobs by row.

    Each has its start, its end, when the job was back in the queue, and when it could start again.
    """
    records = workload.records
    if records is None or "attempts" not in records:
        return {}
    zero = next(
        (int(line.partition(":")[2]) for line in workload.provenance.header if line.startswith("; UnixStartTime:")), 0
    )
    attempts: dict[int, list[tuple[int, int, int, int]]] = {}
    for row, text in enumerate(records["attempts"].tolist()):
        for part in filter(None, text.split(";")):
            begin, end, back, again = (int(time) - zero for time in part.split())
            attempts.setdefault(row, []).append((begin, end, back, again))
    return attempts


def stop_time(workload: Workload) -> int | None:
    """Return the median time from the preemption of a job until it is back in the queue, seconds. ``None``: none is."""
    gaps = [back - end for attempts in _attempts(workload).values() for _, end, back, _ in attempts]
    return max(int(np.median(gaps)), 1) if gaps else None
