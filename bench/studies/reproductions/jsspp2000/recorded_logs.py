"""The logs of the paper, cut to its months (table 1)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

import numpy as np

from .....workloads import TraceWarning, Workload, fetch, read
from ..outcome import Claim, ComparedFigure, StudyOutcome, StudySettings

#: A job count off by at most this share matches the paper's.
_NEAR = 0.05


@dataclass(frozen=True, slots=True)
class PublishedLog:
    """A log of table 1.

    Attributes
    ----------
    trace
        The trace that it is part of, or empty.
    processors, jobs
        What the paper prints.
    begin, end
        Year and month: the first one, and the first excluded one.
    """

    trace: str
    processors: int
    jobs: int
    begin: tuple[int, int]
    end: tuple[int, int]


LOGS = {
    "ANL": PublishedLog("", 120, 5921, (1996, 11), (1997, 1)),
    "CTC": PublishedLog("ctc-sp2", 430, 60196, (1996, 7), (1997, 3)),
    "KTH": PublishedLog("kth-sp2", 100, 25954, (1996, 11), (1997, 9)),
    "SDSC": PublishedLog("sdsc-sp2", 128, 19405, (1999, 1), (1999, 6)),
}
#: Those that are simulated: the public ones.
PUBLIC = tuple(name for name, log in LOGS.items() if log.trace)
LOGS_NOTE = (
    "Simulated are the public logs CTC, KTH and SDSC, cut to the paper's months. The log of ANL is not public. Jobs "
    "run under `conservative` and are killed at their walltimes. CTC has 338 processors of its batch partition (430 in "
    "the paper). The machine is empty at the begin of the first month."
)


@cache
def recorded(name: str, uncut: bool = False) -> Workload:
    """Return a log, cut to its months in its machine's time zone. With `uncut`, return all of it."""
    log = LOGS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TraceWarning)
        whole = read(fetch(log.trace))
    if uncut:
        return whole
    first, offset = (_number(whole, field) for field in ("UnixStartTime", "TimeZone"))
    edges = [datetime(year, month, 1, tzinfo=UTC).timestamp() - offset - first for year, month in (log.begin, log.end)]
    begin, end = np.searchsorted(whole.columns.submit, edges).tolist()
    return whole.slice(begin, end)


def _number(workload: Workload, field: str) -> int:
    """Return a number from the header of a log."""
    values = (line.partition(f"{field}:")[2] for line in workload.provenance.header if f"; {field}:" in line)
    return int(next(values))


def table1(means: StudySettings) -> StudyOutcome:
    """Return the machines and the months of the logs."""
    workloads = {name: recorded(name, means.broken("months")) for name in PUBLIC}
    rows, claims = list[ComparedFigure](), list[Claim]()
    for name, log in LOGS.items():
        workload = workloads.get(name)
        processors = None if workload is None else int(workload.machine.capacity[0, 0])
        jobs = None if workload is None else len(workload)
        rows += [
            ComparedFigure(name, "processors", processors, log.processors),
            ComparedFigure(name, "jobs", jobs, log.jobs),
        ]
        if jobs is not None:
            text = f"{name} has the paper's number of jobs, to {100 * _NEAR:g}%"
            evidence = f"{jobs:,} jobs; the paper: {log.jobs:,}"
            claims.append(Claim(text, abs(jobs / log.jobs - 1) <= _NEAR, evidence))
    notes = (
        "The logs of the Parallel Workloads Archive, without records with a run time of 0, cut to the paper's months.",
    )
    return StudyOutcome(notes, tuple(rows), tuple(claims))
