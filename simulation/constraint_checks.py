"""Check a finished schedule against the constraints of a site.

Only the constraints themselves are shared with the dispatchers. The rule of a built-in constraint is written here a
second time, from its options. Any other constraint is checked by its own methods.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import groupby
from typing import Any, NamedTuple, cast

import numpy as np

from ..dispatchers.site import Deadline, PlanConstraint, PlannedJob, PlannedJobs, SiteConstraint
from ..workloads import Job, Workload
from .result import Result

#: Allowed rounding of sums of real numbers, as a share of the capacity.
_SLACK = 1e-6


class Stay(NamedTuple):
    """An attempt of a job on the machine.

    Attributes
    ----------
    job
        The job.
    start, end
        Half-open.
    answered_until
        End of the part that the dispatcher decides. Where jobs run past their walltime, it ends there.
    slots
        Number of slots on each of its nodes, by index.
    """

    job: Job
    start: int
    end: int
    answered_until: int
    slots: Mapping[int, int]

    @property
    def nodes(self) -> frozenset[int]:
        """Indices of the nodes."""
        return frozenset(self.slots)


#: A resource, the amount that an attempt uses of it, and the capacity.
Take = tuple[str, float, float]


def broken_constraints(workload: Workload, result: Result, constraints: Sequence[SiteConstraint]) -> Iterator[str]:
    """Yield a line for every constraint that a schedule breaks, at the first such time."""
    if not constraints:
        return
    stays = list(stays_of(workload, result))
    for constraint in constraints:
        name = constraint.name or type(constraint).__name__
        own = type(constraint) is Deadline
        for line in (
            _deadline(cast(Deadline, constraint), stays) if own else _guarded(_asked(constraint, stays, workload))
        ):
            yield f"constraint {name}: {line}"
        if isinstance(constraint, PlanConstraint):
            for line in _guarded(_of_plans(constraint, stays, workload, result)):
                yield f"constraint {name}: {line}"


def stays_of(workload: Workload, result: Result) -> Iterator[Stay]:
    """Yield the attempts of all jobs, in the order of the records."""
    jobs = {job.id: job for job in workload.jobs}
    runs_on = str(result.manifest.get("overrun", "run")) == "run"
    for row in cast(Any, result.attempts).itertuples(index=False):
        job = jobs[row.id].on_shape(None if row.shape < 0 else row.shape)
        until = min(row.end, row.start + job.walltime) if runs_on else row.end
        yield Stay(job, row.start, row.end, until, Counter(row.placement.tolist()))


def over(stays: Sequence[Stay], takes: Callable[[Stay], Sequence[Take]]) -> Iterator[str]:
    """Yield the first time at which attempts use more than the capacity. Ends are half-open."""
    events: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    for stay in stays:
        if stay.end > stay.start:
            for what, amount, most in takes(stay):
                events[what] += [(stay.start, amount, most), (stay.end, -amount, most)]
    for what, changes in events.items():
        level = 0.0
        for time, amount, most in sorted(changes):
            level += amount
            if level > most + _SLACK * max(most, 1):
                yield f"{level:g} of {what} taken at t={time}, there are {most:g}"
                break


def _chosen(which: Any, job: Job) -> bool:
    patterns = ((job.name, which.job), (job.queue, which.queue), (job.user, which.user))
    return all(fnmatchcase(value, pattern) for value, pattern in patterns)


def _deadline(deadline: Deadline, stays: Sequence[Stay]) -> Iterator[str]:
    for stay in stays:
        if deadline.kind == "soft" or not _chosen(deadline.which, stay.job):
            continue
        ends = [] if deadline.within is None else [stay.job.submit + deadline.within]
        ends += [] if deadline.at is None else [deadline.at]
        if stay.answered_until > min(ends):
            yield f"job {stay.job.id} ends at {stay.end}, must have by {min(ends)}"


def _guarded(lines: Iterator[str]) -> Iterator[str]:
    try:
        yield from lines
    except Exception as error:  # noqa: BLE001 - a third party's code may raise anything
        yield f"cannot be checked: {type(error).__name__}: {error}"


def _of_plans(constraint: PlanConstraint, stays: Sequence[Stay], workload: Workload, result: Result) -> Iterator[str]:
    """Yield the first time at which starting and running jobs break a constraint on plans.

    The run time of a job is the one predicted at its submission. A job beyond that runs for one more second. A job
    waits from its submission to its start or rejection.
    """
    predicted = dict(zip(result.jobs["id"], result.jobs["predicted"], strict=True))
    refused = result.jobs[result.jobs["status"] == "rejected"]
    gone = dict(zip(refused["id"], refused["end"], strict=True))
    events = sorted(stays, key=lambda stay: stay.start)
    submitted = sorted(workload.jobs, key=lambda job: job.submit)
    running: list[Stay] = []
    waiting: dict[str, Job] = {}
    arrived = 0
    for now, group in groupby(events, key=lambda stay: stay.start):
        starting = list(group)
        while arrived < len(submitted) and submitted[arrived].submit <= now:
            waiting[submitted[arrived].id] = submitted[arrived]
            arrived += 1
        running = [stay for stay in running if stay.end > now]
        for id_ in [id_ for id_ in waiting if gone.get(id_, now) < now]:
            del waiting[id_]
        plan = PlannedJobs(
            now,
            workload.machine,
            cast(Any, dict(waiting)),
            {stay.job.id: _planned(stay, now, predicted) for stay in running},
            {stay.job.id: _planned(stay, now, predicted) for stay in starting},
        )
        if not constraint.holds(plan):
            ids = ", ".join(stay.job.id for stay in starting[:3]) + ", ..." * (len(starting) > 3)
            yield f"does not hold at t={now}, at which there start: {ids}"
            return
        running += starting
        for stay in starting:
            waiting.pop(stay.job.id, None)


def _planned(stay: Stay, now: int, predicted: Mapping[str, int]) -> PlannedJob:
    """Return an attempt at a time as constraints on plans see it."""
    nodes = tuple(np.repeat(list(stay.slots), list(stay.slots.values())).tolist())
    duration = max(int(predicted[stay.job.id]), now - stay.start + 1)
    return PlannedJob(cast(Any, stay.job), duration, stay.start - now, nodes)


def _asked(constraint: SiteConstraint, stays: Sequence[Stay], workload: Workload) -> Iterator[str]:
    constraint.reset(workload.machine)

    def takes(stay: Stay) -> list[Take]:
        uses = constraint.uses(cast(Any, stay.job))
        return [(what, amount, constraint.most(what)) for what, amount in uses.items()]

    yield from over(stays, takes)
    for stay in stays:
        job, shown = stay.job, cast(Any, stay.job)
        for nodes, begin, end, *_ in constraint.closed(stay.start, max(stay.answered_until, stay.start + 1)):
            if begin < stay.answered_until and stay.start < end and stay.nodes & set(np.asarray(nodes).tolist()):
                yield f"job {job.id} in [{stay.start}, {stay.end}) on nodes that are closed in [{begin}, {end})"
        if constraint.earliest(shown, stay.start) > stay.start:
            yield f"job {job.id} starts at {stay.start}, may from {constraint.earliest(shown, stay.start)} on"
        last = constraint.latest_end(shown)
        if last is not None and stay.answered_until > last:
            yield f"job {job.id} ends at {stay.end}, must have by {last}"
