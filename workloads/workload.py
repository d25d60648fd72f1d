"""A workload: jobs in order of submission, their machine and their origin."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ..base import FloatArray, InputError, IntArray, rises, shown, time_text
from ..base.argument_types import names_wrong_types
from ..base.facts import Facts
from .dependencies import Link, links, without_missing
from .job import Job
from .job_columns import NUMBERS, TEXTS, JobColumns
from .machine import Machine

#: Most units times seconds of all jobs together. Sums must fit whole numbers of 64 bits.
MOST_WORK = 2**60


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a workload and its changes.

    Attributes
    ----------
    source
        File name or generator call.
    options
        Options of the reader or generator.
    header
        Header lines of the trace, unchanged, without their line ends.
    notes
        One line for each kind of dropped, inferred or rounded record.
    counts
        The same as numbers: reason to number of records.
    examples
        An example of each reason, such as ``line 12``, if there is one.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> hd.generate("lublin", jobs=10, seed=1).provenance.options["jobs"]
    10
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
        In order of submission; ties in the order of the trace. A tuple, or :class:`JobColumns`. The latter makes a
        :class:`Job` on access. Readers and generators then need little memory for many jobs.
    machine
        Their machine.
    provenance
        Their origin.
    records
        The fields of the trace that :class:`Job` lacks. One row per job in the same order, or ``None``. They allow to
        write a trace back completely.

    Raises
    ------
    InputError
        If two jobs share an id, or the submission times fall. If tasks of an array have different limits. If a job
        depends on a missing job or on itself. If all jobs together have too much work, in units of the machine's
        primary resource times seconds.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> jobs = [hd.Job("a", 0, 100, 120, nodes=2), hd.Job("b", 10, 60, 60, nodes=4)]
    >>> workload = hd.Workload(jobs, hd.Machine(("core",), [[4]]))
    >>> workload.columns.submit
    array([ 0, 10])
    >>> len(workload.slice(1, 2).jobs)
    1
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
        _check_arrays(self.columns.array.values)
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
    def recorded_waits(self) -> FloatArray | None:
        """Recorded wait of each job, seconds, NaN if unknown, shape (jobs,). ``None`` if no waits are recorded."""
        if self.records is None or "wait" not in self.records:
            return None
        waits = self.records["wait"].to_numpy(dtype=np.float64)
        known: FloatArray = np.where(np.isfinite(waits) & (waits >= 0), waits, np.nan)
        return known

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
        """The dependencies of each job that has any, by its place, see :func:`.links`."""
        return self._links

    def __repr__(self) -> str:
        """Return a short text with its source, its jobs and its machine."""
        return self._facts().text()

    def _repr_html_(self) -> str:
        return self._facts().html()

    def _facts(self) -> Facts:
        jobs, machine = self.columns, self.machine
        span = f", submitted in {time_text(int(jobs.submit[-1] - jobs.submit[0]))}" if len(jobs) else ""
        totals = zip(machine.resources, machine.capacity.sum(axis=0), strict=True)
        rows = [
            ("jobs", f"{len(jobs):,}{span}"),
            (
                "machine",
                f"{machine.nodes:,} node{'s' * (machine.nodes > 1)} with "
                + ", ".join(f"{total:,} {name}" for name, total in totals),
            ),
        ]
        for label, column in (("run time", jobs.runtime), ("walltime", jobs.walltime)) if len(jobs) else ():
            median = np.median(column)
            mean = column.mean()
            most = column.max()
            rows.append((label, f"median {time_text(median)}, mean {time_text(mean)}, max {time_text(most)}"))
        notes = self.provenance.notes
        rows += [("notes", note) for note in notes[:3]]
        rows += [("", f"and {len(notes) - 3} more in .provenance.notes")] if len(notes) > 3 else []
        return Facts(f"Workload {self.provenance.source}".rstrip(), rows)

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self.jobs)

    @names_wrong_types
    def head(self, count: int) -> Workload:
        """Return the workload of the first `count` jobs."""
        return self.slice(0, count)

    @names_wrong_types
    def slice(self, start: int, stop: int) -> Workload:
        """Return the workload of the jobs in the half-open range [`start`, `stop`) of the trace order.

        Dependencies on jobs outside the range are left out.
        """
        records = None if self.records is None else self.records.iloc[start:stop].reset_index(drop=True)
        jobs = self.jobs[start:stop]
        if self._links:
            jobs = without_missing(jobs)
        return replace(self, jobs=jobs, records=records)

    def with_jobs(self, jobs: Iterable[Job]) -> Workload:
        """Return the same workload with other jobs, sorted by submission. Ties keep their order."""
        return replace(self, jobs=tuple(sorted(jobs, key=lambda job: job.submit)), records=None)

    def frame(self) -> pd.DataFrame:
        """Return one row per job: ``id, submit, runtime, walltime, nodes`` and ``user, group, name, queue, kind``.

        Times are in seconds. Repeated texts are categories. The caller may change the table.
        """
        return pd.DataFrame(self.frame_columns(), copy=False)

    def frame_columns(self) -> dict[str, Any]:
        """Return the columns of :meth:`frame`. A table of all its columns at once is made faster than one by one."""
        columns = self.columns
        fields: dict[str, Any] = {"id": columns.texts()}
        fields |= {name: getattr(columns, name).copy() for name in NUMBERS}
        fields |= {name: getattr(columns, name).categories() for name in TEXTS}
        return fields

    def digest(self) -> str:
        """Return the SHA-256 of machine and jobs. It is the same on any machine and in any process."""
        if self._digest:
            return self._digest
        sha = hashlib.sha256()
        sha.update(repr((self.machine.resources, self.machine.capacity.shape)).encode())
        sha.update(self.machine.capacity.astype("<i8").tobytes())
        if self.machine.rules.fields():
            sha.update(repr(self.machine.rules.fields()).encode())
        if self.machine.levels:
            sha.update(repr(sorted(self.machine.levels.items())).encode())
        self.columns.add_to(sha)
        object.__setattr__(self, "_digest", sha.hexdigest())
        return self._digest


def _check_arrays(names: Iterable[str]) -> None:
    limits: dict[str, str] = {}
    for name, _, most in (each.partition("%") for each in names if "%" in each):
        if limits.setdefault(name, most) != most:
            expected = "expected the same limit of running tasks for each of its tasks"
            raise InputError(f"workload: array {shown(name)}: {expected}, got {limits[name]} and {most}")


def _check_order(ids: Any, submit: IntArray) -> None:
    """Refuse repeated ids, and submissions before that of the previous job."""
    if isinstance(ids, np.ndarray) and rises(ids):
        twice = np.zeros(len(ids), dtype=np.bool_)
    else:
        twice = pd.Series(ids, dtype=None if len(ids) else object).duplicated().to_numpy()
    wrong = np.flatnonzero(twice | (np.diff(submit, prepend=0) < 0))
    if len(wrong):
        row = int(wrong[0])
        if twice[row]:
            raise InputError(f"job {ids[row]}: id must be unique in a workload, got it twice")
        raise InputError(f"job {ids[row]}: submit must not fall, got {submit[row]} after {submit[row - 1]}")
