"""Describe a workload for a reader."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import FloatArray, InputError, time_text
from ..base.argument_types import names_wrong_types
from ..base.printed import plain
from .job_columns import Coded
from .workload import Workload

SHORT, LONG = 3600, 5 * 3600
TOP = 5


@dataclass(frozen=True, slots=True)
class Share:
    """A name (a user, a queue, a class of run times). Also its shares of the jobs and the work."""

    name: str
    jobs: float
    work: float


@dataclass(frozen=True, slots=True)
class Description:
    """A workload in numbers. Shares are fractions in [0, 1]; unknown values are nan.

    Attributes
    ----------
    source, machine
        Its origin and its machine.
    jobs
        Number of jobs.
    span
        Seconds from first to last submission.
    jobs_per_hour
        Arrival rate over the span.
    load
        Offered load: processor-seconds of all jobs over processors times span.
    processors
        Of the machine, counted in its primary resource.
    serial, power_of_two
        Shares of jobs with one processor, and with a power of two. The latter includes 1.
    size_mean, size_median, size_max
        Processors of a job.
    classes
        Short (< 1 h), medium (1-5 h) and long (> 5 h) run times.
    requested_median
        Median walltime, seconds.
    requested_top
        The most used walltimes and their share of the jobs.
    accuracy
        Mean of run time over walltime.
    loose, overrun
        Share of jobs that use less than a tenth of their walltime. Share that use more than all of it.
    users
        Number of users.
    top_users, queues
        Users with the most work, and all queues.
    notes
        Notes of the reader.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.workloads import describe
    >>> described = describe(hd.example())
    >>> described.jobs, described.users, round(described.load, 2)
    (900, 22, 0.35)
    """

    source: str
    machine: str
    jobs: int
    span: int
    jobs_per_hour: float
    load: float
    processors: int
    serial: float
    power_of_two: float
    size_mean: float
    size_median: float
    size_max: int
    classes: tuple[Share, ...]
    requested_median: float
    requested_top: tuple[tuple[int, float], ...]
    accuracy: float
    loose: float
    overrun: float
    users: int
    top_users: tuple[Share, ...]
    queues: tuple[Share, ...]
    notes: tuple[str, ...]

    def rows(self, time: Callable[[float], str] = time_text) -> list[tuple[str, str]]:
        """Return labels and values as text, in reading order; `time` formats durations."""
        return [
            ("source", self.source or "made in memory"),
            ("machine", self.machine),
            ("jobs", f"{self.jobs:,}"),
            ("span", time(self.span)),
            ("arrivals", f"{self.jobs_per_hour:,.1f} jobs per hour"),
            ("offered load", f"{self.load:.2f}"),
            (
                "processors per job",
                f"mean {self.size_mean:,.1f}, median {self.size_median:,.0f}, max {self.size_max:,}",
            ),
            ("serial jobs", f"{self.serial:.0%}"),
            ("powers of two", f"{self.power_of_two:.0%} (serial included)"),
            *((f"{one.name} run times", f"{one.jobs:.0%} of jobs, {one.work:.0%} of work") for one in self.classes),
            *self._requests(time),
            ("users", f"{self.users:,}"),
            ("most active users", _shares(self.top_users)),
            ("queues", _shares(self.queues)),
            *(("note", note) for note in self.notes),
        ]

    def _requests(self, time: Callable[[float], str]) -> list[tuple[str, str]]:
        if not self.requested_top:
            return [("walltime", "not recorded")]
        top = ", ".join(f"{time(value)} ({share:.0%})" for value, share in self.requested_top)
        return [
            ("walltime", f"median {time(self.requested_median)}; most used: {top}"),
            ("run / requested", f"mean {self.accuracy:.2f}"),
            ("under a tenth of it", f"{self.loose:.0%} of jobs"),
            ("over it (overruns)", f"{self.overrun:.1%} of jobs"),
        ]


def reading_report(workload: Workload) -> dict[str, Any]:
    """Return the dropped, merged, sorted, renumbered and inferred records.

    They come with counts and an example of each.
    """
    said = workload.provenance
    findings = [
        {"what": reason, "count": count, "example": said.examples.get(reason)} for reason, count in said.counts.items()
    ]
    return {
        "source": said.source,
        "jobs": len(workload),
        "machine": workload.machine.describe(),
        "options": said.options,
        "findings": findings,
        "notes": list(said.notes),
    }


@names_wrong_types
def describe(workload: Workload, *, requests: bool = True) -> Description:
    """Return statistics of a workload.

    A workload without jobs has zero counts. Its quotients are nan.

    Parameters
    ----------
    workload
        The jobs and the machine.
    requests
        Whether the walltimes are the jobs' own. Otherwise they are left out.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.workloads import describe
    >>> described = describe(hd.example())
    >>> [(share.name, round(share.jobs, 2)) for share in described.classes]
    [('short (< 1 h)', 0.68), ('medium (1-5 h)', 0.24), ('long (> 5 h)', 0.08)]
    """
    jobs = workload.columns
    machine = workload.machine
    size = jobs.amounts(machine.resources[machine.primary]).astype(np.float64)
    runtime = jobs.runtime.astype(np.float64)
    requested = jobs.walltime.astype(np.float64)
    processors = int(machine.capacity[:, machine.primary].sum())
    span = int(jobs.submit[-1] - jobs.submit[0]) if jobs else 0
    work = size * runtime
    ratio = runtime / requested
    ones = np.log2(np.maximum(size, 1))
    whole = size >= 1
    return Description(
        source=workload.provenance.source,
        machine=machine.describe(),
        jobs=len(jobs),
        span=span,
        jobs_per_hour=_ratio(3600.0 * len(jobs), span),
        load=_ratio(float(work.sum()), processors * span),
        processors=processors,
        serial=_mean(size == 1),
        power_of_two=_mean(whole & (ones == np.rint(ones))),
        size_mean=_mean(size),
        size_median=float(np.median(size)) if jobs else np.nan,
        size_max=int(size.max(initial=0)),
        classes=_classes(runtime, work),
        requested_median=float(np.median(requested)) if jobs and requests else np.nan,
        requested_top=_most_used(requested) if requests else (),
        accuracy=_mean(ratio) if requests else np.nan,
        loose=_mean(ratio < 0.1) if requests else np.nan,
        overrun=_mean(ratio > 1) if requests else np.nan,
        users=sum(name != "" for name in jobs.user.categories().categories),
        top_users=_by_work(jobs.user, work)[:TOP],
        queues=_by_work(jobs.queue, work),
        notes=workload.provenance.notes,
    )


@names_wrong_types
def expected_waits(workload: Workload) -> dict[str, float]:
    """Return the mean recorded wait of each queue, seconds, at least 1.

    These are the expected waiting times of the CP dispatchers' versions 0 to 2. Source: Galleguillos et al., CP 2019,
    section 5.

    Raises
    ------
    InputError
        If the trace has no waits. Generated traces have none.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.workloads import expected_waits
    >>> with TemporaryDirectory() as folder:
    ...     path = hd.simulate(hd.example(), "easy").to_swf(f"{folder}/recorded.swf")
    ...     recorded = hd.read(f"{folder}/recorded.swf")
    >>> {queue: round(wait) for queue, wait in expected_waits(recorded).items()}
    {'1': 2846, '2': 6229, '3': 16538}
    """
    waits = workload.recorded_waits
    mean_waits: dict[str, float] = {}
    if waits is not None:
        known = ~np.isnan(waits)
        queues = workload.columns.queue.take(known).categories()
        waits = waits[known]
        mean_waits = {queue: max(1.0, float(waits[queues == queue].mean())) for queue in queues.categories}
    if not mean_waits:
        raise InputError(f"{workload.provenance.source or 'workload'}: no recorded waits to measure ewt from")
    return mean_waits


def _classes(runtime: FloatArray, work: FloatArray) -> tuple[Share, ...]:
    short, long = runtime < SHORT, runtime > LONG
    total = float(work.sum())
    masks = (("short (< 1 h)", short), ("medium (1-5 h)", ~short & ~long), ("long (> 5 h)", long))
    return tuple(Share(name, _mean(mask), _ratio(float(work[mask].sum()), total)) for name, mask in masks)


def _most_used(requested: FloatArray) -> tuple[tuple[int, float], ...]:
    values, counts = np.unique(requested, return_counts=True)
    order = np.lexsort((values, -counts))[:TOP]
    return tuple((int(values[one]), float(counts[one]) / len(requested)) for one in order.tolist())


def _by_work(column: Coded, work: FloatArray) -> tuple[Share, ...]:
    """Return the shares of each name, most work first, then by name. Jobs without a name are left out."""
    names = column.categories()
    known = np.array(names.categories, dtype=np.str_)
    codes = names.codes
    jobs = np.bincount(codes, minlength=len(known))
    sums = np.bincount(codes, work, minlength=len(known))
    total = float(work.sum())
    return tuple(
        Share(str(known[one]), float(jobs[one]) / len(names), _ratio(float(sums[one]), total))
        for one in np.lexsort((known, -sums)).tolist()
        if known[one]
    )


def _mean(values: NDArray[np.float64] | NDArray[np.bool_]) -> float:
    return float(values.mean()) if len(values) else np.nan


def _ratio(above: float, below: float) -> float:
    return above / below if below else np.nan


def _shares(shares: tuple[Share, ...]) -> str:
    shown = ", ".join(f"{plain(one.name)} ({one.jobs:.0%} of jobs, {one.work:.0%} of work)" for one in shares)
    return shown or "not recorded"
