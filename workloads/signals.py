"""Signals of the grid over time: grams of CO2 per kWh, or a price per MWh; and jobs that wait for a better hour."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np

from ..base import BoolArray, FloatArray, InputError, IntArray, time_text
from ..base.argument_types import names_wrong_types
from ..base.time_texts import seconds_option
from .step_files import check_covered, check_steps, end_of, read_steps
from .workload import Workload

#: Part of the note in ``provenance``.
MAY_WAIT = " for a better hour of "
#: Message for a machine without power.
NO_POWER = "expected a machine with power, got none; give one in a machine file"
Kind = Literal["emissions", "price"]
#: Heads of the second column of a file, for each kind.
HEADS: dict[Kind, str] = {"emissions": "g_per_kwh", "price": "price_per_mwh"}


@dataclass(frozen=True, eq=False)
class Signal:
    """A number of the grid that changes in steps.

    Attributes
    ----------
    times
        Begin of each step, seconds on the clock of the workload, shape (steps,), rising.
    values
        Grams of CO2 per kWh, or the price per MWh, from then on. Shape (steps,).
    kind
        ``"emissions"`` or ``"price"``.
    end
        End of the last step, seconds.
    name
        Where it is from.

    Raises
    ------
    InputError
        If there are fewer than two steps, if times do not rise or have a gap, or a value is no number. Prices may be
        negative, emissions not.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.workloads import Signal
    >>> signal = Signal(np.array([0, 3600, 7200]), np.array([300.0, 120.0, 300.0]))
    >>> float(signal.total(1800, 5400)), signal.end
    (756000.0, 10800)
    """

    times: IntArray
    values: FloatArray
    kind: Kind = "emissions"
    name: str = "signal"

    def __post_init__(self) -> None:
        times, values = np.asarray(self.times, dtype=np.int64), np.asarray(self.values, dtype=np.float64)
        if times.shape == values.shape and not self._known(values).all():
            place = int(np.flatnonzero(~self._known(values))[0])
            raise InputError(f"{self.name}: expected a number at t={times[place]}, got {values[place]}")
        check_steps(self.name, times, values)
        for name, column in (("times", times), ("values", values)):
            column.flags.writeable = False
            object.__setattr__(self, name, column)

    def _known(self, values: FloatArray) -> BoolArray:
        """Return which values may stand in a signal of this kind."""
        known: BoolArray = np.isfinite(values) & ((values >= 0) | (self.kind == "price"))
        return known

    @property
    def end(self) -> int:
        """End of the last step: it is as long as the one before, seconds."""
        return end_of(self.times)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of kind, times and values. The name does not count."""
        sha = hashlib.sha256(self.kind.encode())
        for column in (self.times.astype("<i8"), self.values.astype("<f8")):
            sha.update(column.tobytes())
        return sha.hexdigest()

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Signal:
        """Read a signal from CSV with the columns ``time`` and ``g_per_kwh`` or ``price_per_mwh``.

        Times are seconds on the clock of the workload.

        Raises
        ------
        InputError
            If it is not such a file, or the signal has gaps. The message has the line.
        OSError
            If it cannot be read.
        """
        where = Path(path)
        head, times, values = read_steps(where, list(HEADS.values()))
        kind = next(kind for kind, name in HEADS.items() if name == head)
        return cls(times, values, kind, str(where))

    def check_covers(self, workload: Workload) -> None:
        """Raise :class:`InputError` if the signal ends before the trace, or the machine has no power.

        So a simulation that could not be measured by it does not begin. A schedule may still last longer.
        """
        submit, records = workload.columns.submit, workload.records
        measured = records is not None and {"power", "energy"} & set(records.columns)
        if workload.machine.power is None and not measured:
            raise InputError(f"{self.name}: {NO_POWER}")
        if len(submit):
            check_covered(self.name, self.times, int(submit[0]), int(submit[-1]))

    def total(self, begin: IntArray | int, end: IntArray | int) -> FloatArray:
        """Return the integral of the value over [begin, end), value times seconds.

        Raises
        ------
        InputError
            If the signal does not cover all of it.
        """
        first, last = int(np.min(begin, initial=self.end)), int(np.max(end, initial=self.times[0]))
        check_covered(self.name, self.times, first, last)
        ends = np.append(self.times, self.end)
        summed = np.concatenate([[0.0], np.cumsum(self.values * np.diff(ends))])
        integral: FloatArray = np.interp(end, ends, summed) - np.interp(begin, ends, summed)
        return integral


@names_wrong_types
def wait_for_better_hours(workload: Workload, signal: Signal, most: float | str) -> Workload:
    """Return the workload with jobs that enter the queue when the signal is best for them, at most so much later.

    A job waits for the time in [submission, submission + `most`] from which its walltime has the lowest mean of the
    signal; the earliest one of several. It then enters the queue: ``begin`` of the job. So every dispatcher keeps its
    order and its guarantees from there on, and no job is put off by more than `most`. ``Result.jobs["eligible"]`` minus
    ``submit`` is what it was put off by. Waits count from ``eligible``.

    Parameters
    ----------
    workload
        The jobs; it is not changed. Jobs with a later begin of their own, and on-demand jobs, stay as they are.
    signal
        Over all times that a job could run at, as the walltime allows.
    most
        Seconds, or a text such as ``"6h"``.

    Raises
    ------
    InputError
        If the signal does not cover these times, or `most` is no time.

    Examples
    --------
    >>> import numpy as np
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.testing import tiny
    >>> from hpcdispatch.workloads import Signal, wait_for_better_hours
    >>> signal = Signal(np.array([0, 300, 600]), np.array([500.0, 100.0, 500.0]))
    >>> patient = wait_for_better_hours(tiny(), signal, most="10m")
    >>> [job.begin for job in patient.jobs]
    [300, 300, 300, 300, 300]
    """
    try:
        delay = seconds_option("wait_for_better_hours: most", most)
    except ValueError as error:
        raise InputError(str(error)) from None
    submit, walltime = workload.columns.submit, workload.columns.walltime
    if len(submit):
        signal.total(int(submit.min()), int((submit + walltime).max()) + delay)
    edges = np.append(signal.times, signal.end)
    jobs = []
    moved = 0
    for job in workload.jobs:
        begin = _best(signal, edges, job.submit, job.walltime, delay)
        delayed = begin > job.submit and job.kind == "batch" and job.begin <= job.submit
        moved += delayed
        jobs.append(replace(job, begin=begin) if delayed else job)
    note = f"up to {time_text(delay)}{MAY_WAIT}{Path(signal.name).name}: {moved:,} of {len(jobs):,} jobs wait"
    provenance = replace(workload.provenance, notes=(*workload.provenance.notes, note))
    return replace(workload, jobs=jobs, provenance=provenance)


def _best(signal: Signal, edges: IntArray, submit: int, walltime: int, delay: int) -> int:
    """Return the begin with the lowest total over the walltime: it changes its slope where a step begins or ends."""
    last = submit + delay
    at_begin = edges[np.searchsorted(edges, submit) : np.searchsorted(edges, last, "right")]
    first, stop = np.searchsorted(edges, [submit + walltime, last + walltime])
    begins = np.unique(np.concatenate([[submit, last], at_begin, edges[first:stop] - walltime]))
    begins = begins[(begins >= submit) & (begins <= last)]
    totals = signal.total(begins, begins + walltime)
    return int(begins[int(np.argmin(np.round(totals, 6)))])
