"""Check a finished schedule against the constraints of a site.

Only the constraints themselves are shared with the dispatchers. The rule of a built-in constraint is written here a
second time, from its options. Any other constraint is checked by its own methods.
"""

from collections import Counter, defaultdict, namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from ..base.printed import first_of
from ..dispatchers.site import (
    AtMostOf,
    Deadline,
    NeverTogether,
    PlanConstraint,
    PlannedJob,
    PlannedJobs,
    PowerByHour,
    Precedence,
    SameRack,
    ShareOf,
    SiteConstraint,
    SpreadOver,
)
from ..workloads import Job, Workload
from ..workloads.levels import read_levels
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
    placement
        Node of each slot.
    """

    job: Job
    start: int
    end: int
    answered_until: int
    slots: Mapping[int, int]
    placement: tuple[int, ...] = ()

    def amount(self, resource: str, node: int | None = None) -> int:
        """Return the amount of a resource of all its slots, or of those on one node."""
        if self.job.slots is None:
            return (self.job.nodes if node is None else self.slots.get(node, 0)) * self.job.per_node.get(resource, 0)
        pairs = zip(self.placement, self.job.slots, strict=True)
        return sum(slot.get(resource, 0) for place, slot in pairs if node in (None, place))

    @property
    def nodes(self) -> frozenset[int]:
        """Indices of the nodes."""
        return frozenset(self.slots)


#: A resource, the amount that an attempt uses of it, and the capacity.
Take = tuple[str, float, float]


def rows_of(table: pd.DataFrame, *names: str) -> Iterator[Any]:
    """Return some columns of a table as named tuples. On small tables this is faster than ``itertuples``."""
    return map(_row_type(names)._make, zip(*(table[name].tolist() for name in names), strict=True))


@cache
def _row_type(names: tuple[str, ...]) -> Any:
    return namedtuple("Row", names)


def broken_constraints(workload: Workload, result: Result, constraints: Sequence[SiteConstraint]) -> Iterator[str]:
    """Yield a line for every constraint that a schedule breaks, at the first such time."""
    if not constraints:
        return
    stays = list(stays_of(workload, result))
    for constraint in constraints:
        name = constraint.name or type(constraint).__name__
        own = _BUILT_IN.get(type(constraint))
        lines = _guarded(_asked(constraint, stays, workload)) if own is None else own(constraint, stays, result)
        for line in lines:
            yield f"constraint {name}: {line}"
        if own is None and isinstance(constraint, PlanConstraint):
            for line in _guarded(_of_plans(constraint, stays, workload, result)):
                yield f"constraint {name}: {line}"


def stays_of(workload: Workload, result: Result) -> Iterator[Stay]:
    """Yield the attempts of all jobs, in the order of the records."""
    jobs = {job.id: job for job in workload.jobs}
    runs_on = str(result.manifest.get("overrun", "run")) == "run"
    for row in rows_of(result.attempts, "id", "shape", "start", "end", "placement"):
        job = jobs[row.id].on_shape(None if row.shape < 0 else row.shape)
        until = min(row.end, row.start + job.walltime) if runs_on else row.end
        nodes = row.placement.tolist()
        yield Stay(job, row.start, row.end, until, Counter(nodes), tuple(nodes))


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


def _deadline(deadline: Deadline, stays: Sequence[Stay], _: Result) -> Iterator[str]:
    for stay in stays:
        if deadline.kind == "soft" or not _chosen(deadline.which, stay.job):
            continue
        ends = [] if deadline.within is None else [stay.job.submit + deadline.within]
        ends += [] if deadline.at is None else [deadline.at]
        if stay.answered_until > min(ends):
            yield f"job {stay.job.id} ends at {stay.end}, must have by {min(ends)}"


def _never_together(rule: NeverTogether, stays: Sequence[Stay], _: Result) -> Iterator[str]:
    """Sweep over the starts. A pair that runs together does so at the later start of both."""
    one, other = (
        [stay for stay in stays if fnmatchcase(getattr(stay.job, rule.by), which)] for which in (rule.one, rule.other)
    )
    for stay in one:
        for peer in other:
            begin, end = max(stay.start, peer.start), min(stay.end, peer.end)
            if stay is not peer and begin < end:
                yield f"jobs {stay.job.id} and {peer.job.id} both run at t={begin}"
                return


def _at_most(rule: AtMostOf, stays: Sequence[Stay], _: Result) -> Iterator[str]:
    def takes(stay: Stay) -> list[Take]:
        owner = getattr(stay.job, rule.by)
        return [(f"jobs of {rule.by} {owner}", 1, rule.count)] if fnmatchcase(owner, rule.who) else []

    return over(stays, takes)


def _precedence(rule: Precedence, stays: Sequence[Stay], result: Result) -> Iterator[str]:
    """Compare each start with the first jobs that were in the queue or ran then."""
    jobs = {stay.job.id: stay.job for stay in stays}

    def named(id_: str, pattern: str) -> bool:
        return fnmatchcase(id_, pattern) or (id_ in jobs and fnmatchcase(jobs[id_].name, pattern))

    leaders = [
        row
        for row in rows_of(result.jobs, "id", "submit", "eligible", "end")
        if named(row.id, rule.first) and not named(row.id, rule.then)
    ]
    for stay in stays:
        if not named(stay.job.id, rule.then):
            continue
        for row in leaders:
            if max(row.eligible, row.submit) <= stay.start < row.end:
                yield f"job {stay.job.id} starts at {stay.start}, before the end of job {row.id} at {row.end}"
                return


def _share(rule: ShareOf, stays: Sequence[Stay], _: Result) -> Iterator[str]:
    taken: Counter[tuple[str, int]] = Counter()
    for stay in stays:
        owner = getattr(stay.job, rule.by)
        if fnmatchcase(owner, rule.who):
            units = stay.amount(rule.of)
            taken[owner, stay.start // rule.period] += units * stay.job.walltime
    for (owner, period), amount in taken.items():
        if amount > 3600 * rule.hours:
            begin = period * rule.period
            yield f"{rule.by} {owner} takes {amount / 3600:g} hours from {begin} on, may take {rule.hours}"
            return


def _power_by_hour(rule: PowerByHour, stays: Sequence[Stay], _: Result) -> Iterator[str]:
    """Sum the watts at each start and at each full hour."""
    ends = [stay.answered_until for stay in stays]
    hours = range(0, max(ends, default=0), 3600)
    for time in sorted({*hours, *(stay.start for stay in stays)}):
        hour = time // 3600 % 24
        inside = rule.begin <= hour < rule.end or (rule.begin > rule.end and not rule.end <= hour < rule.begin)
        most = rule.limit if inside else rule.otherwise
        units = sum(stay.amount(rule.of) for stay, end in zip(stays, ends, strict=True) if stay.start <= time < end)
        if most is not None and units * rule.watts > most:
            yield f"{units * rule.watts} watts at t={time}, may be {most}"
            return


def _same_rack(rule: SameRack, stays: Sequence[Stay], result: Result) -> Iterator[str]:
    for job, groups, _ in _groups_of(rule, stays, result):
        if groups != 1:
            yield f"job {job.id} lies on {groups} groups of level {rule.level}, may lie on 1"


def _spread_over(rule: SpreadOver, stays: Sequence[Stay], result: Result) -> Iterator[str]:
    for job, groups, there in _groups_of(rule, stays, result):
        least = min(rule.groups, job.nodes, there)
        if groups < least:
            yield f"job {job.id} lies on {groups} groups of level {rule.level}, must lie on {least}"


def _groups_of(rule: SameRack | SpreadOver, stays: Sequence[Stay], result: Result) -> Iterator[tuple[Job, int, int]]:
    """Yield each concerned job, the number of groups of the level that hold it, and the number of all groups."""
    machine = result.manifest["machine"]
    groups = read_levels(machine.get("levels", {}), machine["nodes"]).get(rule.level, ())
    for stay in stays:
        if fnmatchcase(getattr(stay.job, rule.by), rule.who):
            yield stay.job, sum(not stay.nodes.isdisjoint(group) for group in groups), len(groups)


#: The rules of built-in constraints, written a second time from their options.
_BUILT_IN: Mapping[type, Callable[[Any, Sequence[Stay], Result], Iterator[str]]] = {
    AtMostOf: _at_most,
    Deadline: _deadline,
    NeverTogether: _never_together,
    PowerByHour: _power_by_hour,
    Precedence: _precedence,
    SameRack: _same_rack,
    ShareOf: _share,
    SpreadOver: _spread_over,
}


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
            ids = first_of([stay.job.id for stay in starting])
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
