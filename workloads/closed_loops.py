"""Let users react: within a session a job is submitted after the one before has ended, not at its recorded time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..base import BoolArray, InputError, IntArray, check_whole
from ..base.argument_types import names_wrong_types
from ..base.time_texts import seconds_of
from .fitting_requests import fitting_requests, room_for
from .job import REACT
from .job_columns import Coded, JobColumns
from .workload import Workload

#: Longest think time within a session, seconds.
GAP = 20 * 60
#: Names of unknown users in traces.
UNKNOWN_USERS = ("", "-1")


@names_wrong_types
def closed_loop(workload: Workload, gap: int | str = GAP) -> Workload:
    """Return the workload with users that react to the ends of their jobs.

    The recorded think time of a job is its submission minus the recorded end of the previous job of its user.

    * Above `gap`, the job begins a session and keeps its recorded submission.
    * From 0 to `gap`, the job is submitted by its think time after the end of the previous job.
    * Below 0, it belongs to a batch: it follows the submission of the previous job by the recorded difference.

    The submissions of the last two kinds are part of a simulation: they are in ``Result.jobs["submit"]``. In the
    workload such a job has a dependency ``(id, "react", seconds)``. Its ``submit`` there is the earliest possible one,
    with all jobs before it of 0 s.

    Jobs of unknown users keep their submissions, and so do held jobs and jobs without room on the machine. No job
    follows one of the latter two. A job without a recorded wait counts as started at its submission. The last of the
    notes in ``provenance`` counts all of these.

    Parameters
    ----------
    workload
        The trace; it is not changed. Resample, shorten or shift it before.
    gap
        Longest think time within a session: seconds, or text such as ``"20m"``.

    Raises
    ------
    InputError
        If no job has a known user, if users react already, or if `gap` is no whole number of at least 0.

    Notes
    -----
    After Zakay and Feitelson, "Preserving user behavior characteristics in trace-driven simulation of parallel job
    scheduling", MASCOTS 2014.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> reacting = hd.closed_loop(hd.example(), gap="20m")
    >>> print(reacting.provenance.notes[-1].partition(";")[0])
    users react: 645 sessions (gaps above 1200 s), 98 jobs after a think time, 157 in batches
    >>> next(job.depends for job in reacting.jobs if job.depends)
    (('4', 'react', 34),)
    """
    try:
        if not isinstance(gap, str):
            check_whole("gap, seconds,", gap, 0)
        gap = seconds_of(gap)
    except ValueError as error:
        raise InputError(f"closed_loop: {error}") from None
    jobs = workload.columns
    if reacting(jobs).any():
        raise InputError("closed_loop: the users of this workload react already")
    known = np.array([value not in UNKNOWN_USERS for value in jobs.user.values], dtype=bool)[jobs.user.codes]
    if not known.any():
        raise InputError(
            "closed_loop: no job has a known user, so that its sessions are unknown; replay it as recorded"
        )
    end, recorded = _ends(workload)
    follows = known & _fits(workload) & ~jobs.hold.numbers(bool).astype(bool)
    parent, delay, kinds = _followed(jobs, follows, end, gap)
    submit = _earliest(jobs.submit, parent, delay)
    order = np.argsort(submit, kind="stable")
    ids = jobs.texts()
    depends = [
        (*listed, (ids[before], REACT, seconds)) if before >= 0 else listed
        for listed, before, seconds in zip(jobs.depends.each(), parent.tolist(), delay.tolist(), strict=True)
    ]
    changed: dict[str, Any] = {"submit": submit[order], "depends": Coded.gathered(depends).take(order)}
    records = None if workload.records is None else workload.records.iloc[order].reset_index(drop=True)
    note = _note(kinds, int((~follows).sum()), int((follows & ~recorded).sum()), gap)
    provenance = replace(workload.provenance, notes=(*workload.provenance.notes, note))
    return replace(workload, jobs=jobs.take(order, **changed), records=records, provenance=provenance)


def reacting(jobs: JobColumns) -> BoolArray:
    """Return which submissions follow the ends of other jobs, shape (jobs,)."""
    return jobs.depends.numbers(lambda listed: any(each[1] == REACT for each in listed)).astype(bool)


def _ends(workload: Workload) -> tuple[IntArray, BoolArray]:
    """Return the recorded end of each job, seconds, and whether its wait is known."""
    jobs = workload.columns
    wait = workload.recorded_waits
    if wait is None:
        return jobs.submit + jobs.runtime, np.zeros(len(jobs), dtype=bool)
    return jobs.submit + np.nan_to_num(wait).astype(np.int64) + jobs.runtime, ~np.isnan(wait)


def _fits(workload: Workload) -> BoolArray:
    """Return which jobs fit the empty machine."""
    jobs, machine = workload.columns, workload.machine
    fits: BoolArray = jobs.nodes <= jobs.per_node.numbers(lambda amounts: room_for(machine, amounts))
    if any(jobs.shapes.values):
        for place in np.flatnonzero(~fits & jobs.shapes.numbers(len).astype(bool)).tolist():
            fits[place] = bool(fitting_requests(jobs[place], machine))
    return fits


def _followed(jobs: JobColumns, follows: BoolArray, end: IntArray, gap: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the job whose end each job follows (-1: none), by how many seconds, and the number of jobs of each kind.

    The kinds are first jobs of sessions, jobs after a think time, and further jobs of batches.
    """
    count = len(jobs)
    parent, delay = np.full(count, -1, dtype=np.int64), np.zeros(count, dtype=np.int64)
    kinds = np.zeros(3, dtype=np.int64)
    before: dict[int, int] = {}
    submit = jobs.submit.tolist()
    ends = end.tolist()
    rows = np.flatnonzero(follows).tolist()
    for row, user in zip(rows, jobs.user.codes[rows].tolist(), strict=True):
        last = before.get(user)
        before[user] = row
        if last is None or submit[row] - ends[last] > gap:
            kinds[0] += 1
        elif submit[row] >= ends[last]:
            parent[row], delay[row] = last, submit[row] - ends[last]
            kinds[1] += 1
        else:
            parent[row], delay[row] = parent[last], delay[last] + submit[row] - submit[last]
            kinds[2] += 1
    delay[parent < 0] = 0
    return parent, delay, kinds


def _earliest(submit: IntArray, parent: IntArray, delay: IntArray) -> IntArray:
    """Return the earliest submissions. A job follows one that comes earlier in the trace."""
    least = submit.copy()
    for row in np.flatnonzero(parent >= 0).tolist():
        least[row] = least[parent[row]] + delay[row]
    return least


def _note(kinds: IntArray, fixed: int, unknown: int, gap: int) -> str:
    first, think, batch = kinds.tolist()
    told = (
        f"users react: {first:,} sessions (gaps above {gap} s), {think:,} jobs after a think time, {batch:,} in batches"
    )
    told += f"; {fixed:,} jobs without a known user, held or too large keep their time" if fixed else ""
    return told + (f"; {unknown:,} jobs without a recorded wait count as started at once" if unknown else "")
