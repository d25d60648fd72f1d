"""Signals of the grid over time: grams of CO2 per kWh, or a price per MWh; and jobs that wait for a better hour."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np

from ..base import FloatArray, InputError, IntArray, shown, time_text
from ..base.files import open_regular
from ..base.time_texts import seconds_option
from .workload import Workload

Kind = Literal["emissions", "price"]
#: Heads of the second column of a file, for each kind.
HEADS: dict[Kind, str] = {"emissions": "g_per_kwh", "price": "price_per_mwh"}
#: A step so many times as long as the median one is a gap.
_GAP = 1.5
_MOST = 10_000_000


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
    """

    times: IntArray
    values: FloatArray
    kind: Kind = "emissions"
    name: str = "signal"

    def __post_init__(self) -> None:
        times, values = np.asarray(self.times, dtype=np.int64), np.asarray(self.values, dtype=np.float64)
        if times.ndim != 1 or len(times) < 2 or times.shape != values.shape:
            raise InputError(
                f"{self.name}: expected two steps or more, each with a time and a value, got {times.shape}"
            )
        if not np.isfinite(values).all() or (self.kind == "emissions" and values.min() < 0):
            place = int(np.flatnonzero(~(np.isfinite(values) & ((values >= 0) | (self.kind == "price"))))[0])
            raise InputError(f"{self.name}: expected a number at t={times[place]}, got {values[place]}")
        steps = np.diff(times)
        if steps.min() <= 0:
            place = int(np.argmin(steps > 0)) + 1
            raise InputError(f"{self.name}: expected times that rise, got {times[place]} after {times[place - 1]}")
        if steps.max() > _GAP * np.median(steps):
            place = int(np.argmax(steps))
            raise InputError(
                f"{self.name}: a gap from t={times[place]} to {times[place + 1]}; other steps take "
                f"{time_text(float(np.median(steps)))}; fill it"
            )
        for name, column in (("times", times), ("values", values)):
            column.flags.writeable = False
            object.__setattr__(self, name, column)

    @property
    def end(self) -> int:
        """End of the last step: it is as long as the one before, seconds."""
        return int(2 * self.times[-1] - self.times[-2])

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
        with open_regular(where) as file:
            rows = csv.reader(io.TextIOWrapper(file, encoding="utf-8-sig", newline=""))
            try:
                head = [name.strip().lower() for name in next(rows, [])]
                found = [kind for kind, name in HEADS.items() if name in head]
                if "time" not in head or len(found) != 1:
                    expected = f"time and one of {', '.join(HEADS.values())}"
                    raise InputError(f"{where}: expected the columns {expected} in the first line, got {shown(head)}")
                (kind,) = found
                pairs = list(_numbers(where, rows, (head.index("time"), head.index(HEADS[kind]))))
            except (csv.Error, UnicodeDecodeError) as error:
                raise InputError(f"{where}: expected CSV, got {error}") from None
        times, values = zip(*pairs, strict=True) if pairs else ((), ())
        return cls(np.array(times, dtype=np.int64), np.array(values, dtype=np.float64), kind, str(where))

    def total(self, begin: IntArray | int, end: IntArray | int) -> FloatArray:
        """Return the integral of the value over [begin, end), value times seconds.

        Raises
        ------
        InputError
            If the signal does not cover all of it.
        """
        first, last = int(np.min(begin, initial=self.end)), int(np.max(end, initial=self.times[0]))
        if first < self.times[0] or last > self.end:
            raise InputError(
                f"{self.name}: it tells of t={self.times[0]:,} to {self.end:,}, and is asked for {first:,} to {last:,}"
            )
        ends = np.append(self.times, self.end)
        summed = np.concatenate([[0.0], np.cumsum(self.values * np.diff(ends))])
        found: FloatArray = np.interp(end, ends, summed) - np.interp(begin, ends, summed)
        return found


def _numbers(path: Path, rows: Iterator[list[str]], places: Sequence[int]) -> Iterator[tuple[int, float]]:
    """Yield time and value of each row."""
    for count, row in enumerate(rows):
        if count >= _MOST:
            raise InputError(f"{path}: expected at most {_MOST:,} steps")
        if not row:
            continue
        try:
            yield int(row[places[0]]), float(row[places[1]])
        except (IndexError, ValueError):
            told = "a whole number of seconds and a number"
            raise InputError(f"{path}:{count + 2}: expected {told}, got {shown(','.join(row))}") from None


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
    told = f"{moved:,} of {len(jobs):,} jobs wait up to {time_text(delay)}"
    note = f"{told} for a better hour of {Path(signal.name).name}"
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
