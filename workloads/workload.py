"""A workload: jobs in the order of their submission, the machine they ran on, and where they came from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ..base import InputError, IntArray
from ..base.checks import shown
from ..base.facts import Facts
from ..base.time_texts import time_text
from .dependencies import Link, links, without_missing
from .job import Job
from .job_columns import NUMBERS, TEXTS, JobColumns
from .machine import Machine

#: Units times seconds that all jobs of a workload may ask for: sums of it are whole numbers of 64 bits.
MOST_WORK = 2**60


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
    examples
        An example of each reason, such as ``line 12``, where there is one.
    """

    source: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    header: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Workload:
    """Jobs, the machine, and the provenance.

    Attributes
    ----------
    jobs
        In order of submission; ties in the order of the trace. A tuple, or :class:`JobColumns`, a sequence that makes
        each :class:`Job` when it is asked for, which is how readers and generators keep many jobs in little memory.
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
        If two jobs share an id, the submission times fall, a job depends on one that is not there or on itself, or all
        jobs together are more work, in units of the machine's primary resource times seconds, than can be counted.
    """

    jobs: Sequence[Job]
    machine: Machine
    provenance: Provenance = field(default_factory=Provenance)
    records: pd.DataFrame | None = field(default=None, compare=False, repr=False)
    _digest: str = field(default="", init=False, compare=False, repr=False)
    _columns: JobColumns | None = field(default=None, init=False, compare=False, repr=False)
    _links: Mapping[int, tuple[Link, ...]] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.machine, Machine):
            raise InputError(f"workload: machine must be one such as Machine.pool(64), got {shown(self.machine)}")
        if isinstance(self.jobs, JobColumns):
            _check_order(self.jobs.ids, self.jobs.submit)
        else:
            object.__setattr__(self, "jobs", tuple(self.jobs) if isinstance(self.jobs, Iterable) else (self.jobs,))
            for job in self.jobs:
                if not isinstance(job, Job):
                    raise InputError(f"workload: jobs must be a sequence of Job objects, got {shown(job)} as one")
            submit = np.array([job.submit for job in self.jobs], dtype=np.int64)
            _check_order([job.id for job in self.jobs], submit)
        self._check_work()
        object.__setattr__(self, "_links", links(self.columns))
        if self.records is not None and len(self.records) != len(self.jobs):
            raise InputError(f"workload: records must have {len(self.jobs)} rows, one a job, got {len(self.records)}")

    def _check_work(self) -> None:
        primary = self.machine.resources[self.machine.primary]
        jobs = self.columns
        units = jobs.nodes * jobs.per_node.numbers(lambda amounts: amounts.get(primary, 0)).astype(np.float64)
        work = float((units * np.maximum(jobs.runtime, jobs.walltime)).sum())
        if work > MOST_WORK:
            expected = f"expected at most {MOST_WORK} {primary}-seconds together"
            raise InputError(f"workload: {expected}, got {work:.3g}; is a time or a size in another unit?")

    @property
    def columns(self) -> JobColumns:
        """The jobs as columns, read-only arrays."""
        if isinstance(self.jobs, JobColumns):
            return self.jobs
        if self._columns is None:
            object.__setattr__(self, "_columns", JobColumns.of(self.jobs))
        assert self._columns is not None
        return self._columns

    @property
    def links(self) -> Mapping[int, tuple[Link, ...]]:
        """What each job waits for, by its place, see :func:`.links`; jobs that wait for none are not there."""
        return self._links

    def __repr__(self) -> str:
        """Return where it comes from, its jobs and its machine, short."""
        return self._facts().text()

    def _repr_html_(self) -> str:
        return self._facts().html()

    def _facts(self) -> Facts:
        jobs, machine = self.columns, self.machine
        span = f", submitted in {time_text(int(jobs.submit[-1] - jobs.submit[0]))}" if len(jobs) else ""
        totals = zip(machine.resources, machine.capacity.sum(axis=0), strict=True)
        rows = [
            ("jobs", f"{len(jobs):,}{span}"),
            ("machine", f"{machine.nodes:,} node{'s' * (machine.nodes > 1)} with "
                        + ", ".join(f"{total:,} {name}" for name, total in totals)),
        ]  # fmt: skip
        for label, column in (("run time", jobs.runtime), ("walltime", jobs.walltime)) if len(jobs) else ():
            median, mean, most = np.median(column), column.mean(), column.max()
            rows.append((label, f"median {time_text(median)}, mean {time_text(mean)}, max {time_text(most)}"))
        notes = self.provenance.notes
        rows += [("notes", note) for note in notes[:3]]
        rows += [("", f"and {len(notes) - 3} more in .provenance.notes")] if len(notes) > 3 else []
        return Facts(f"Workload {self.provenance.source}".rstrip(), rows)

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self.jobs)

    def head(self, count: int) -> Workload:
        """Return the workload of the first `count` jobs."""
        return self.slice(0, count)

    def slice(self, start: int, stop: int) -> Workload:
        """Return the workload of the jobs in the half-open range [`start`, `stop`) of the trace order.

        Dependencies on other jobs are left out.
        """
        records = None if self.records is None else self.records.iloc[start:stop].reset_index(drop=True)
        jobs = self.jobs[start:stop]
        if self._links:
            jobs = without_missing(jobs)
        return replace(self, jobs=jobs, records=records)

    def with_jobs(self, jobs: Iterable[Job]) -> Workload:
        """Return the same workload with other jobs, sorted by submission; ties keep their order."""
        return replace(self, jobs=tuple(sorted(jobs, key=lambda job: job.submit)), records=None)

    def frame(self) -> pd.DataFrame:
        """Return a row a job: ``id, submit, runtime, walltime, nodes`` and ``user, group, name, queue, kind``.

        Times in seconds; texts that repeat are categories. The caller may change it.
        """
        columns = self.columns
        fields: dict[str, Any] = {"id": columns.texts()}
        fields |= {name: getattr(columns, name).copy() for name in NUMBERS}
        fields |= {name: getattr(columns, name).categories() for name in TEXTS}
        return pd.DataFrame(fields, copy=False)

    def digest(self) -> str:
        """Return the SHA-256 of machine and jobs, the same on any machine and in any process."""
        if self._digest:
            return self._digest
        sha = hashlib.sha256()
        sha.update(repr((self.machine.resources, self.machine.capacity.shape)).encode())
        sha.update(self.machine.capacity.astype("<i8").tobytes())
        if self.machine.rules:
            sha.update(repr(self.machine.rules.fields()).encode())
        self.columns.add_to(sha)
        object.__setattr__(self, "_digest", sha.hexdigest())
        return self._digest


def _check_order(ids: Any, submit: IntArray) -> None:
    """Refuse the first job whose id was there before, or that was submitted before the one before it."""
    twice = pd.Series(ids, dtype=None if len(ids) else object).duplicated().to_numpy()
    wrong = np.flatnonzero(twice | (np.diff(submit, prepend=0) < 0))
    if len(wrong):
        row = int(wrong[0])
        if twice[row]:
            raise InputError(f"job {ids[row]}: id must be unique in a workload, got it twice")
        raise InputError(f"job {ids[row]}: submit must not fall, got {submit[row]} after {submit[row - 1]}")
