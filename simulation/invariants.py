"""Check a finished schedule against the invariants, independently of the engine.

The check reads only the workload and the tables of the result. It shares no code with the engine.
:mod:`.constraint_checks` has the constraints of a site.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base import InputError
from ..base.argument_types import names_wrong_types
from ..dispatchers.cp import SiteConstraint
from ..workloads import Job, Machine, Workload
from .constraint_checks import broken_constraints, rows_of
from .result import Result
from .rule_checks import broken_rules
from .simulation_errors import InvariantError

_SHOWN = 5
#: Finished share of a job's work, and one second of each attempt as such a share.
Work = tuple[Fraction, Fraction]


@names_wrong_types
def check(workload: Workload, result: Result, constraints: Sequence[SiteConstraint] | None = None) -> None:
    """Raise an error unless the schedule meets every invariant and every constraint.

    The invariants are:

    * No resource of any node is over its capacity.
    * No job starts before its submission, its begin time or its dependencies allow. No held job starts.
    * Submissions are those of the workload. Where users react, they follow the end of the other job by the think time.
    * No rule of the machine is broken.
    * Each job ends exactly once or is rejected with a reason. The attempts of a job do not overlap.
    * A completed job did all its work, and work done + work lost = time used.
    * Jobs that ran at the beginning of the simulation continue.

    Parameters
    ----------
    workload, result
        The simulated workload and its records.
    constraints
        Further constraints on the schedule. The default are those of the dispatcher. A result that was saved and loaded
        has none.

    Raises
    ------
    InputError
        If the arguments have other types.
    InvariantError
        With the first violations, one per line.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.testing import tiny
    >>> result = hd.simulate(tiny(), "easy")
    >>> hd.check(tiny(), result)
    >>> result.jobs.loc[0, "start"] += 1
    >>> try:
    ...     hd.check(tiny(), result)
    ... except hd.simulation.InvariantError as error:
    ...     print(error)
    job a: on the machine in [0, 100), on record [1, 100)
    """
    if not (isinstance(workload, Workload) and isinstance(result, Result)):
        given = f"{type(workload).__name__} and {type(result).__name__}"
        raise InputError(f"check: expected a Workload and then a Result, got {given}")
    messages = list(violations(workload, result, constraints))
    if messages:
        more = f"\n... and {len(messages) - _SHOWN} more" if len(messages) > _SHOWN else ""
        raise InvariantError("\n".join(messages[:_SHOWN]) + more)


@names_wrong_types
def violations(
    workload: Workload, result: Result, constraints: Sequence[SiteConstraint] | None = None
) -> Iterator[str]:
    """Yield a line for every broken invariant and constraint, see :func:`check`.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.simulation import violations
    >>> from hpcdispatch.testing import tiny
    >>> list(violations(tiny(), hd.simulate(tiny(), "easy")))
    []
    """
    broken = list(_tables(workload, result))
    if broken:
        yield from broken
        return
    yield from _jobs(workload, result)
    yield from _submissions(workload, result)
    yield from _attempts(workload, result)
    yield from _dependencies(workload, result)
    yield from _capacity(workload, result)
    yield from _beginning(result)
    yield from broken_rules(workload, result)
    yield from broken_constraints(workload, result, result.constraints if constraints is None else constraints)


def _tables(workload: Workload, result: Result) -> Iterator[str]:
    if result.jobs["id"].tolist() != [job.id for job in workload.jobs]:
        yield "jobs: the records must name every job of the workload once, in its order"
    known = {job.id for job in workload.jobs}
    for id_ in result.attempts["id"].tolist():
        if id_ not in known:
            yield f"attempts: job {id_} is not in the workload"


def _jobs(workload: Workload, result: Result) -> Iterator[str]:
    starts: dict[str, int] = {}
    ends: dict[str, int] = {}
    for stay in rows_of(result.attempts, "id", "start", "end"):
        starts[stay.id] = min(stay.start, starts.get(stay.id, stay.start))
        ends[stay.id] = max(stay.end, ends.get(stay.id, stay.end))
    counts = Counter(result.attempts["id"].tolist())
    outcomes = zip(result.attempts["id"].tolist(), result.attempts["outcome"].tolist(), strict=True)
    completed = Counter(id_ for id_, outcome in outcomes if outcome == "completed")
    rows = rows_of(result.jobs, "status", "attempts", "reason", "start", "end")
    for job, row in zip(workload.jobs, rows, strict=True):
        status, where = row.status, f"job {job.id}"
        if status not in ("completed", "killed", "rejected"):
            yield f"{where}: must end exactly once or be rejected, got status {status!r}"
            continue
        if row.attempts != counts[job.id]:
            yield f"{where}: {counts[job.id]} stays on record, but attempts says {row.attempts}"
        if completed[job.id] != (status == "completed"):
            yield f"{where}: {status}, but completed {completed[job.id]} times"
        if status in ("rejected", "killed") and not row.reason:
            yield f"{where}: {status} without a reason"
        refused_later = status == "rejected" and job.id in ends and row.end > ends[job.id]
        if job.id in ends and ((row.end != ends[job.id] and not refused_later) or row.start != starts[job.id]):
            yield f"{where}: on the machine in [{starts[job.id]}, {ends[job.id]}), on record [{row.start}, {row.end})"
        if job.id not in ends and status != "rejected":
            yield f"{where}: {status} without ever having started"


def _submissions(workload: Workload, result: Result) -> Iterator[str]:
    """Check when each job was submitted. A job rejected before that was submitted at its rejection."""
    end = dict(zip(result.jobs["id"].tolist(), result.jobs["end"].tolist(), strict=True))
    named = _named(workload) if any(workload.columns.depends.values) else {}
    for job, row in zip(workload.jobs, rows_of(result.jobs, "status", "submit", "end"), strict=True):
        reacts = [
            (end[other.id] + sum(delay), f", {sum(delay)} s after the end of job {other.id}")
            for id_, condition, *delay in job.depends
            if condition == "react"
            for other in named.get(id_, ())
            if end[other.id] >= 0
        ]
        expected, why = max([(job.submit, ""), *reacts])
        if row.status == "rejected" and 0 <= row.end < expected:
            expected = row.end
        if row.submit != expected:
            yield f"job {job.id}: submitted at {row.submit}, expected {expected}{why}"


def _attempts(workload: Workload, result: Result) -> Iterator[str]:
    jobs = {job.id: job for job in workload.jobs}
    status = dict(zip(result.jobs["id"].tolist(), result.jobs["status"].tolist(), strict=True))
    submit = dict(zip(result.jobs["id"].tolist(), result.jobs["submit"].tolist(), strict=True))
    last: dict[str, int] = {}
    work: dict[str, Work] = {}
    primary = workload.machine.resources[workload.machine.primary]
    lost: dict[str, int] = {}
    for row in rows_of(result.attempts, "id", "shape", "start", "end", "placement", "useful", "units", "outcome"):
        job = jobs[row.id]
        nodes, per_node, runtime = _shape(job, row.shape)
        if row.start < max(submit[row.id], last.get(row.id, 0)):
            yield f"job {row.id}: starts at {row.start}, before its submission or the end of its last stay"
        if row.end < row.start:
            yield f"job {row.id}: ends at {row.end}, before its start at {row.start}"
        last[row.id] = row.end
        if len(row.placement) != nodes:
            yield f"job {row.id}: {nodes} slots, but placed on {len(row.placement)}"
        if not 0 <= row.useful <= row.end - row.start:
            yield f"job {row.id}: {row.useful} s of useful work in a stay of {row.end - row.start} s"
        units = nodes * per_node.get(primary, 0) if job.slots is None else sum(s.get(primary, 0) for s in job.slots)
        if row.units != units:
            yield f"job {row.id}: holds {row.units} units, expected {units}"
        lost[row.id] = lost.get(row.id, 0) + (row.end - row.start - row.useful) * row.units
        done, slack = work.get(row.id, (Fraction(0), Fraction(0)))
        if runtime:
            work[row.id] = done + Fraction(row.useful, runtime), slack + Fraction(1, runtime)
        else:  # on a shape without run time, the rest is done at once
            work[row.id] = max(done, Fraction(row.outcome == "completed")), slack
    yield from _conservation(result, jobs, status, work, lost)


def _dependencies(workload: Workload, result: Result) -> Iterator[str]:
    """Check begin times, holds and dependencies of started jobs, and of jobs rejected for a dependency."""
    columns = workload.columns
    if not any(any(field.values) for field in (columns.depends, columns.begin, columns.hold)):
        return
    rows = {row.id: row for row in rows_of(result.jobs, "id", "status", "submit", "start", "end", "eligible")}
    named = _named(workload)
    earlier: dict[tuple[str, str], list[Job]] = {}
    for job in workload.jobs:
        row = rows[job.id]
        same = earlier.setdefault((job.user, job.name), [])
        before = tuple(same) if any(each[1] == "singleton" for each in job.depends) else ()
        same.append(job)
        if row.start < 0:
            continue
        if job.hold:
            yield f"job {job.id}: starts at {row.start}, but is held"
        if row.start < max(job.begin, row.eligible) or row.eligible < max(job.begin, row.submit):
            yield f"job {job.id}: starts at {row.start}, eligible at {row.eligible}, before its begin time {job.begin}"
        for id_, condition, *delay in job.depends:
            others: Sequence[Job]
            if condition == "singleton":
                others = before
            elif condition == "aftercorr" and id_ not in rows:
                others = named[f"{id_}_{job.id.split('_')[-1]}"]
            else:
                others = named[id_]
            for other in others:
                least = _freed(rows[other.id], condition)
                if least is None or row.eligible < least + sum(delay):
                    told = "is not met" if least is None else f"is met at {least + sum(delay)}"
                    yield f"job {job.id}: eligible at {row.eligible}, but {condition} of job {other.id} {told}"


def _named(workload: Workload) -> dict[str, list[Job]]:
    """Return the jobs that a dependency may name: each by its id, and all tasks of an array by that of the array."""
    named = {job.id: [job] for job in workload.jobs}
    ids = set(named)
    for job in workload.jobs:
        array = job.array.split("%")[0]
        if array and array not in ids:
            named.setdefault(array, []).append(job)
    return named


def _freed(other: Any, condition: str) -> int | None:
    """Return when a job met the condition of another, ``None`` for never."""
    if condition == "after" and other.start >= 0:
        return int(other.start)
    wanted = {"afterok": ("completed",), "aftercorr": ("completed",), "afternotok": ("killed", "rejected")}
    return int(other.end) if other.status in wanted.get(condition, ("completed", "killed", "rejected")) else None


def _beginning(result: Result) -> Iterator[str]:
    """Check that initially running jobs continue on their nodes. No other job may have started before."""
    state = result.state
    if state is None:
        return
    ran = {since.id: since for since in state.running}
    stays = result.attempts[result.attempts["start"] < state.at]
    for row in rows_of(stays, "id", "start", "end", "placement"):
        since = ran.pop(row.id, None)
        if since is None:
            yield f"job {row.id}: starts at {row.start}, before the state of {state.at}, in which it does not run"
        elif row.start != since.start or row.end < state.at:
            yield f"job {row.id}: runs since {since.start} at {state.at}, on record [{row.start}, {row.end})"
        elif since.placement is not None and not np.array_equal(row.placement, since.placement):
            yield f"job {row.id}: runs on {list(since.placement)}, on record {list(row.placement)}"
    for id_ in ran:
        yield f"job {id_}: runs at {state.at}, but has no stay since then"


def _conservation(
    result: Result, jobs: dict[str, Job], status: dict[str, str], work: dict[str, Work], lost: dict[str, int]
) -> Iterator[str]:
    """Check the work done, as exact shares of the job. A change of shape may round up by a second."""
    on_record = dict(zip(result.jobs["id"].tolist(), result.jobs["lost"].tolist(), strict=True))
    for id_, (done, slack) in work.items():
        job = jobs[id_]
        if status[id_] == "completed" and job.runtime and not 1 <= done <= 1 + (slack if job.shapes else 0):
            yield f"job {id_}: completed with {float(done):.6f} of its work done"
        if status[id_] != "completed" and done > 0:
            yield f"job {id_}: {status[id_]}, but work is booked as done"
    for id_, amount in on_record.items():
        if amount != lost.get(id_, 0):
            yield f"job {id_}: used - done = {lost.get(id_, 0)} unit-seconds, but {amount} are booked as lost"


def _shape(job: Job, shape: int) -> tuple[int, dict[str, int], int]:
    if shape < 0:
        return job.nodes, dict(job.per_node), job.runtime
    chosen = job.shapes[shape]
    return chosen.nodes, dict(chosen.per_node or job.per_node), chosen.runtime


def _capacity(workload: Workload, result: Result) -> Iterator[str]:
    """Sweep over time, for every node and resource at once."""
    machine = workload.machine
    attempts = result.attempts[result.attempts["end"] > result.attempts["start"]]
    if attempts.empty:
        return
    slots = np.array([len(placement) for placement in attempts["placement"]])
    demand = _demands(workload, attempts, slots)
    nodes = np.concatenate(list(attempts["placement"])).astype(np.int64)
    if nodes.min() < 0 or nodes.max() >= machine.nodes:
        yield f"attempts: placements must lie in 0..{machine.nodes - 1}, got {nodes.min()}..{nodes.max()}"
        return
    starts = np.repeat(attempts["start"].to_numpy(), slots)
    ends = np.repeat(attempts["end"].to_numpy(), slots)
    for index, name in enumerate(machine.resources):
        yield from _sweep(machine, index, name, nodes, starts, ends, demand[:, index])


def _demands(workload: Workload, attempts: pd.DataFrame, slots: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the amounts of each slot of each attempt, shape (slots, resources). Unequal slots have their own."""
    jobs = {job.id: job for job in workload.jobs}
    names = workload.machine.resources
    rows: list[NDArray[np.int64]] = []
    for id_, shape, count in zip(attempts["id"].tolist(), attempts["shape"].tolist(), slots.tolist(), strict=True):
        unequal = jobs[id_].slots
        if unequal is not None and len(unequal) == count:
            rows.append(np.array([[slot.get(name, 0) for name in names] for slot in unequal], dtype=np.int64))
            continue
        per_node = _shape(jobs[id_], shape)[1]
        rows.append(np.tile(np.array([per_node.get(name, 0) for name in names], dtype=np.int64), (count, 1)))
    return np.concatenate(rows)


def _sweep(
    machine: Machine,
    index: int,
    name: str,
    nodes: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    amounts: NDArray[np.int64],
) -> Iterator[str]:
    node = np.r_[nodes, nodes]
    time = np.r_[starts, ends]
    change = np.r_[amounts, -amounts]
    order = np.lexsort((change, time, node))
    node = node[order]
    time = time[order]
    level = np.cumsum(change[order])
    over = level > machine.capacity[node, index]
    for at in np.flatnonzero(over)[:_SHOWN]:
        limit = machine.capacity[node[at], index]
        yield f"node {node[at]} at t={time[at]}: {level[at]} of {name} in use, capacity {limit}"
