"""The state from which a simulation can start: what runs where since when, and what has been before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..base import InputError
from .job import Job
from .workload import Workload


@dataclass(frozen=True, slots=True)
class RunningSince:
    """A job of the workload that runs.

    Attributes
    ----------
    id
        Which one.
    start
        When it started, seconds on the clock of the workload.
    placement
        Node index of each of its slots; ``None`` where that is not known: wherever there is room.
    limit
        Seconds after its start at which it will be ended, ``None``: as the simulation ends jobs.
    shape
        On which of its shapes it runs; ``None``: its own request.
    write
        Seconds at the end of its limit in which it writes a checkpoint.
    predicted_end
        When it is predicted to end by now, seconds; ``None``: as was predicted before it started, and what has been
        outlived of that is corrected by what is known at the instant of the state.
    misses
        How often that was corrected.
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
class Ended:
    """A job that ended before.

    Attributes
    ----------
    job
        The job, with what it asked for and for how long it ran on the machine when it was there last.
    start
        When that began, seconds.
    ran
        How long it ran in all, seconds; ``None``: not before then.
    """

    job: Job
    start: int
    ran: int | None = None

    @property
    def end(self) -> int:
        """When it ended, seconds."""
        return self.start + self.job.runtime

    @property
    def whole(self) -> Job:
        """The job with the time that it ran in all, as predictors learn from it."""
        return self.job if self.ran is None else replace(self.job, runtime=self.ran)


@dataclass(frozen=True, slots=True)
class MachineState:
    """A machine and a queue at one instant, before anything happens then.

    The jobs of the workload that were submitted before the instant and do not run are waiting, since their submission.

    Attributes
    ----------
    at
        The instant, seconds on the clock of the workload.
    running
        What runs.
    predicted
        Run times that were predicted at submission, seconds, by id; those of other jobs, and on other shapes, are
        predicted anew.
    ended
        What ended before: predictors learn from it, and so does a dispatcher that counts past usage.
    timers
        When the dispatcher wants to be asked again; ``None``: it is asked at the instant.
    memory
        What dispatchers keep from one decision to the next, as their ``memory()`` has it, by their names.

    Raises
    ------
    InputError
        If a job stands there twice, starts at the instant or later, or ended after it.
    """

    at: int
    running: tuple[RunningSince, ...] = ()
    predicted: Mapping[str, int] = field(default_factory=dict)
    ended: tuple[Ended, ...] = ()
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


def recorded_state(workload: Workload, at: int | None = None) -> tuple[Workload, MachineState]:
    """Return the jobs of a trace that had not ended at an instant, and what really ran then.

    Parameters
    ----------
    workload
        Jobs with their recorded waits (``records["wait"]``); one without a wait is taken to come, or to wait.
    at
        The instant, seconds; by default when the first job ends: what ended before that is not on record.

    Raises
    ------
    InputError
        If no waits are recorded, or all jobs had ended by then.
    """
    if workload.records is None or "wait" not in workload.records:
        raise InputError(f"{workload.provenance.source}: expected recorded waits, got none")
    wait, jobs = workload.records["wait"].to_numpy(dtype=np.float64), workload.columns
    known = np.isfinite(wait) & (wait >= 0)
    start = np.where(known, jobs.submit + np.where(known, wait, 0), np.inf)
    end = start + jobs.runtime
    instant = int(end.min(initial=np.inf)) if at is None and known.any() else at or 0
    stays, runs = end >= instant, (start < instant) & (end >= instant)
    if not stays.any():
        raise InputError(f"{workload.provenance.source}: expected jobs that end at {instant} s or later, got none")
    rows = np.flatnonzero(runs).tolist()
    texts = workload.records["placement"].tolist() if "placement" in workload.records else [""] * len(runs)
    where = {row: tuple(map(int, texts[row].split())) or None for row in rows}
    running = [RunningSince(workload.jobs[row].id, int(start[row]), where[row]) for row in rows]
    ended = [Ended(workload.jobs[row], int(start[row])) for row in np.flatnonzero(~stays).tolist()]
    kept = tuple(workload.jobs[row] for row in np.flatnonzero(stays).tolist())
    records = workload.records[stays].reset_index(drop=True)
    return replace(workload, jobs=kept, records=records), MachineState(instant, tuple(running), ended=tuple(ended))
