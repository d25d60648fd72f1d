"""A workload: jobs in the order of their submission, the machine they ran on, and where they came from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from ..base import InputError
from .job import Job
from .machine import Machine


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a workload came from and what happened on the way.

    Attributes
    ----------
    source
        File name or generator call.
    options
        What was asked of the reader or generator.
    header
        Header lines of the trace, as they stood, without their line ends.
    notes
        One line for everything that was left out, filled in or rounded.
    counts
        The same as numbers: reason to how many records.
    """

    source: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    header: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Workload:
    """Jobs, the machine, and the provenance.

    Attributes
    ----------
    jobs
        In order of submission; ties in the order of the trace.
    machine
        What they run on.
    provenance
        Where they came from.
    records
        The fields of the trace that a :class:`Job` has no room for, one row a job in the same order, or
        ``None``. Kept so that a trace can be written back whole.

    Raises
    ------
    InputError
        If two jobs share an id or the submission times fall.
    """

    jobs: tuple[Job, ...]
    machine: Machine
    provenance: Provenance = field(default_factory=Provenance)
    records: pd.DataFrame | None = field(default=None, compare=False, repr=False)
    _digest: str = field(default="", init=False, compare=False, repr=False)
    _frame: pd.DataFrame | None = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "jobs", tuple(self.jobs))
        seen: set[str] = set()
        last = 0
        for job in self.jobs:
            if job.id in seen:
                raise InputError(f"job {job.id}: id must be unique in a workload, got it twice")
            if job.submit < last:
                raise InputError(f"job {job.id}: submit must not fall, got {job.submit} after {last}")
            seen.add(job.id)
            last = job.submit
        if self.records is not None and len(self.records) != len(self.jobs):
            raise InputError(f"workload: records must have {len(self.jobs)} rows, one a job, got {len(self.records)}")

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self.jobs)

    def head(self, count: int) -> Workload:
        """Return the workload of the first `count` jobs."""
        return self.slice(0, count)

    def slice(self, start: int, stop: int) -> Workload:
        """Return the workload of the jobs in the half-open range [`start`, `stop`) of the trace order."""
        records = None if self.records is None else self.records.iloc[start:stop].reset_index(drop=True)
        return replace(self, jobs=self.jobs[start:stop], records=records)

    def with_jobs(self, jobs: Iterable[Job]) -> Workload:
        """Return the same workload with other jobs, sorted by submission; ties keep their order."""
        return replace(self, jobs=tuple(sorted(jobs, key=lambda job: job.submit)), records=None)

    def frame(self) -> pd.DataFrame:
        """Return a row a job: ``id, submit, runtime, walltime, nodes`` and ``user, group, name, queue, kind``.

        Times in seconds; texts that repeat are categories. The caller may change it.
        """
        if self._frame is None:
            object.__setattr__(self, "_frame", _frame(self.jobs))
        assert self._frame is not None
        return self._frame.copy()

    def digest(self) -> str:
        """Return the SHA-256 of machine and jobs, the same on any machine and in any process."""
        if self._digest:
            return self._digest
        sha = hashlib.sha256()
        sha.update(repr((self.machine.resources, self.machine.capacity.shape)).encode())
        sha.update(self.machine.capacity.astype("<i8").tobytes())
        for job in self.jobs:
            sha.update(_canonical(job).encode())
        object.__setattr__(self, "_digest", sha.hexdigest())
        return self._digest


def _frame(jobs: tuple[Job, ...]) -> pd.DataFrame:
    numbers = ("submit", "runtime", "walltime", "nodes")
    texts = ("user", "group", "name", "queue", "kind")
    names = ("id", *numbers, *texts)
    rows = map(attrgetter(*names), jobs)
    columns = dict(zip(names, zip(*rows, strict=True) if jobs else [()] * len(names), strict=True))
    fields: dict[str, Any] = {"id": list(columns["id"])}
    for name in numbers:
        fields[name] = np.array(columns[name], dtype=np.int64)
    for name in texts:
        fields[name] = pd.Categorical(columns[name])
    return pd.DataFrame(fields)


def _canonical(job: Job) -> str:
    law = None if job.law is None else (job.law.dist.name, job.law.args, sorted(job.law.kwds.items()))
    return repr((
        job.id, job.submit, job.runtime, job.walltime, job.nodes, sorted(job.per_node.items()), job.user,
        job.group, job.name, job.queue, job.kind, job.shapes, job.checkpoint, law,
        *(() if job.deadline is None else (job.deadline,)),
    ))  # fmt: skip
