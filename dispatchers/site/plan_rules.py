"""Rules of a site, ready to use: over whole plans, and on amounts of running jobs.

Each is a registered constraint of the CP dispatchers, as ``never-together(alice;bob)``. Lists alone know the rules of
:class:`AtMostOf`, and the hours in which a job of :class:`PowerByHour` fits alone. For the others they start jobs by
priority, each if the rule admits it. CP-SAT plans with all of them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import combinations, pairwise
from typing import Literal, TypeVar

from ...base import check_choice, check_whole, shown
from ...base.checks import check_text
from ...models import IntVar
from ...workloads import Machine
from ..protocol import JobView
from .plan_parts import ModelJob, PlanConstraint, PlanModel, PlannedJob, PlannedJobs
from .site_constraints import SiteConstraint

#: What the jobs of one owner have in common.
Owner = Literal["user", "group", "name", "queue"]
_OWNERS = ("user", "group", "name", "queue")
_HOUR, _DAY, _WEEK = 3600, 86_400, 604_800
#: Further periods of :class:`ShareOf` in a model. A start after them counts in none.
_PERIODS = 4
#: A start that no simulation reaches.
_NEVER = 10**9
_Planned = TypeVar("_Planned", PlannedJob, ModelJob)


class NeverTogether(PlanConstraint):
    """No job of one user runs at the same time as a job of another user.

    ``end[i] <= start[j]`` or ``end[j] <= start[i]`` for each job i of `one` and each other job j of `other`. With the
    same pattern twice, the jobs of the pattern run one after another.

    Parameters
    ----------
    one, other
        Patterns with ``*`` and ``?``.
    by
        What they match: the user, group, name or queue of a job.
    """

    name = "never-together"

    def __init__(self, one: str, other: str, by: Owner = "user") -> None:
        check_choice("by", by, _OWNERS)
        self.one, self.other, self.by = one, other, by

    def pairs(self, jobs: Mapping[str, _Planned]) -> Iterator[tuple[_Planned, _Planned]]:
        """Yield the pairs of jobs that exclude each other."""
        sides: list[tuple[_Planned, bool, bool]] = [
            (job, self.sides(job.job)[0], self.sides(job.job)[1]) for job in jobs.values()
        ]
        concerned = [each for each in sides if each[1] or each[2]]
        for first, second in combinations(concerned, 2):
            if (first[1] and second[2]) or (first[2] and second[1]):
                yield first[0], second[0]

    def sides(self, job: JobView) -> tuple[bool, bool]:
        """Return whether a job belongs to `one`, and to `other`."""
        owner = getattr(job, self.by)
        return fnmatchcase(owner, self.one), fnmatchcase(owner, self.other)

    def add_to(self, plan: PlanModel) -> None:
        """Exclude overlaps of planned jobs, and starts before the end of running ones."""
        for job, peer in self.pairs(plan.jobs):
            plan.model.add_no_overlap([job.interval, peer.interval])
        for running in plan.running.values():
            one, other = self.sides(running.job)
            for planned in plan.jobs.values() if one or other else ():
                of_planned, beside = self.sides(planned.job)
                if (one and beside) or (other and of_planned):
                    plan.model.add(planned.start >= (running.end or 1))

    def holds(self, plan: PlannedJobs) -> bool:
        """Compare the times of all pairs of which one job is planned."""
        known = {name: job for name, job in {**plan.running, **plan.jobs}.items() if job.start is not None}
        return not any(
            _overlap(job, peer)
            for job, peer in self.pairs(known)
            if job.job.id in plan.jobs or peer.job.id in plan.jobs
        )


def _overlap(job: PlannedJob, peer: PlannedJob) -> bool:
    assert job.start is not None
    assert peer.start is not None
    return job.start < peer.start + peer.duration and peer.start < job.start + job.duration


class AtMostOf(SiteConstraint):
    """At most `count` jobs of each user run at the same time.

    Parameters
    ----------
    by
        Whose jobs count together: of one user, group, name or queue.
    count
        Number of jobs, at least 1.
    who
        Pattern with ``*`` and ``?``. Others have no limit.
    """

    name = "at-most"

    def __init__(self, by: Owner, count: int, who: str = "*") -> None:
        check_choice("by", by, _OWNERS)
        self.by, self.count, self.who = by, check_whole("count", count, 1), who

    def uses(self, job: JobView) -> Mapping[str, int]:
        """Return one job under its owner."""
        owner = getattr(job, self.by)
        return {f"jobs of {self.by} {owner}": 1} if fnmatchcase(owner, self.who) else {}

    def most(self, what: str) -> int:
        """Return the limit, equal for all owners."""
        return self.count


class Precedence(PlanConstraint):
    """A job starts after all waiting and running jobs that come before it have ended.

    ``start[j] >= end[i]`` for each job j of `then` and each waiting or running job i of `first`. A job that is not
    submitted yet holds no other job back.

    Parameters
    ----------
    first, then
        Patterns with ``*`` and ``?`` for the id or the name of jobs. A job of both counts as one of `then` alone.
    """

    name = "precedence"

    def __init__(self, first: str, then: str) -> None:
        self.first, self.then = first, then

    def follows(self, job: JobView) -> bool:
        """Return whether a job waits for others."""
        return fnmatchcase(job.id, self.then) or fnmatchcase(job.name, self.then)

    def leads(self, job: JobView) -> bool:
        """Return whether others wait for a job."""
        return (fnmatchcase(job.id, self.first) or fnmatchcase(job.name, self.first)) and not self.follows(job)

    def add_to(self, plan: PlanModel) -> None:
        """Add an inequality per pair. Jobs outside of the plan cannot end now."""
        ends = [job.end for job in plan.jobs.values() if self.leads(job.job)]
        ends += [job.end or 1 for job in plan.running.values() if self.leads(job.job)]
        if any(self.leads(job) for name, job in plan.waiting.items() if name not in plan.jobs):
            ends.append(1)
        for job in plan.jobs.values():
            for end in ends if self.follows(job.job) else ():
                plan.model.add(job.start >= end)

    def holds(self, plan: PlannedJobs) -> bool:
        """Compare the first start with the last end. An unknown end is later than any start."""
        starts = [job.start for job in plan.jobs.values() if job.start is not None and self.follows(job.job)]
        if not starts:
            return True
        ends = [job.end for job in (*plan.jobs.values(), *plan.running.values()) if self.leads(job.job)]
        outside = any(self.leads(job) for name, job in plan.waiting.items() if name not in plan.jobs)
        return not (outside and min(starts) == 0) and all(end is not None and end <= min(starts) for end in ends)


class ShareOf(PlanConstraint):
    """Jobs of each user that start in the same week take at most some core hours, by their walltimes.

    ``sum(units[j] * walltime[j] : j of the user, start[j] in the week) <= hours``. Weeks begin at multiples of `period`
    on the simulation's clock. A job that takes more than the share is rejected.

    Parameters
    ----------
    by
        Whose jobs count together: of one user, group, name or queue.
    hours
        Hours times units of the resource in a period, at least 1.
    who
        Pattern with ``*`` and ``?``. Others have no limit.
    of
        The resource.
    period
        Seconds, at least 1.
    """

    name = "share"

    def __init__(self, by: Owner, hours: int, who: str = "*", of: str = "core", period: int = _WEEK) -> None:
        check_choice("by", by, _OWNERS)
        self.by, self.hours, self.who, self.of = by, check_whole("hours", hours, 1), who, of
        self.period = check_whole("period", period, 1)
        self.delay = (_PERIODS + 1) * self.period
        self._starts: dict[tuple[str, int], JobView] = {}

    def reset(self, machine: Machine) -> None:
        """Forget past starts."""
        _check_resource(self.of, machine)
        self._starts = {}

    def started(self, job: JobView, now: int) -> None:
        """Note a start. Those of past periods no longer count."""
        begin = now // self.period * self.period
        self._starts = {key: past for key, past in self._starts.items() if key[1] >= begin}
        self._starts[job.id, now] = job

    def amount(self, job: JobView) -> int:
        """Return the units times seconds of a job. 0 if its owner has no limit."""
        units = job.nodes * job.per_node.get(self.of, 0)
        return units * job.walltime if fnmatchcase(getattr(job, self.by), self.who) else 0

    def uses(self, job: JobView) -> Mapping[str, int]:
        """Return the amount of a job that can never start."""
        amount = self.amount(job)
        return {f"{self.of} seconds in one period": amount} if amount > self.most("") else {}

    def most(self, what: str) -> int:
        """Return the share, units times seconds."""
        return self.hours * _HOUR

    def taken(self, plan: PlanModel | PlannedJobs) -> Counter[tuple[str, int]]:
        """Return the amount of each owner in each period, by past starts and running jobs."""
        starts = dict(self._starts)
        starts.update({(name, plan.now + (job.start or 0)): job.job for name, job in plan.running.items()})
        taken: Counter[tuple[str, int]] = Counter()
        for (_, start), job in starts.items():
            taken[getattr(job, self.by), start // self.period] += self.amount(job)
        return taken

    def add_to(self, plan: PlanModel) -> None:
        """Add a literal per job and period, and a sum per owner and period, where a share could be exceeded."""
        taken = self.taken(plan)
        first = plan.now // self.period
        owners: dict[str, list[ModelJob]] = {}
        for job in plan.jobs.values():
            owners.setdefault(getattr(job.job, self.by), []).append(job)
        for owner, jobs in owners.items():
            left = self.most("") - taken[owner, first]
            if sum(self.amount(job.job) for job in jobs) <= left:
                continue
            inside = [self._periods(plan, job) for job in jobs]
            for place in range(_PERIODS):
                literals = [(each[place], self.amount(job.job)) for each, job in zip(inside, jobs, strict=True)]
                most = self.most("") - taken[owner, first + place]
                plan.model.add(sum(literal * amount for literal, amount in literals) <= max(most, 0))

    def _periods(self, plan: PlanModel, job: ModelJob) -> list[IntVar]:
        """Return whether a job starts in each of the next periods, and after them."""
        literals = [plan.model.new_bool_var(f"period[{job.job.id},{place}]") for place in range(_PERIODS + 1)]
        plan.model.add_exactly_one(literals)
        begin = plan.now // self.period * self.period - plan.now
        for place, literal in enumerate(literals):
            plan.model.add(job.start >= max(begin + place * self.period, 0)).only_enforce_if(literal)
            if place < _PERIODS:
                plan.model.add(job.start < begin + (place + 1) * self.period).only_enforce_if(literal)
        return literals

    def holds(self, plan: PlannedJobs) -> bool:
        """Sum the amounts of each owner in each of the next periods."""
        taken = self.taken(plan)
        first = plan.now // self.period
        planned: Counter[tuple[str, int]] = Counter()
        for job in plan.jobs.values():
            if job.start is not None:
                planned[getattr(job.job, self.by), (plan.now + job.start) // self.period] += self.amount(job.job)
        return all(
            not amount or amount + taken[owner, period] <= self.most("")
            for (owner, period), amount in planned.items()
            if period < first + _PERIODS
        )

    def next_change(self, now: int) -> int:
        """Return when the next period begins."""
        return (now // self.period + 1) * self.period


class PowerByHour(PlanConstraint):
    """Running jobs draw at most `most` watts from `begin` to `end` o'clock each day.

    ``sum(watts * units[j] : j runs at t) <= cap(t)`` at every time t. A job counts until the end of its walltime. With
    the default of one watt, `most` is the number of units.

    Parameters
    ----------
    most
        Watts from `begin` to `end`, at least 0.
    begin, end
        Hours of the day, 0 to 24. If `begin` is the larger one, the time includes midnight.
    otherwise
        Watts at other hours. By default unlimited.
    watts
        Watts per unit of the resource, at least 1.
    of
        The resource.
    """

    name = "power-by-hour"

    def __init__(
        self, most: int, begin: int, end: int, otherwise: int | None = None, watts: int = 1, of: str = "core"
    ) -> None:
        self.limit, self.watts, self.of = check_whole("most", most, 0), check_whole("watts", watts, 1), of
        self.begin, self.end = check_whole("begin", begin, 0, 24), check_whole("end", end, 0, 24)
        if self.begin == self.end:
            raise ValueError(f"begin and end must differ, got {begin} and {end}")
        self.otherwise = None if otherwise is None else check_whole("otherwise", otherwise, 0)
        self._all = 0

    def reset(self, machine: Machine) -> None:
        """Note what the whole machine draws."""
        self._all = self.watts * int(machine.capacity[:, _check_resource(self.of, machine)].sum())

    def draw(self, job: JobView) -> int:
        """Return the watts of a job."""
        return self.watts * job.nodes * job.per_node.get(self.of, 0)

    def cap(self, time: int) -> int:
        """Return the cap at a time of the simulation."""
        hour = time % _DAY / _HOUR
        inside = self.begin <= hour < self.end
        if self.begin > self.end:
            inside = hour >= self.begin or hour < self.end
        return self.limit if inside else self._all if self.otherwise is None else self.otherwise

    def changes(self, begin: int, end: int) -> Iterator[int]:
        """Yield the times in (begin, end) at which the cap may change."""
        times = (day + hour * _HOUR for day in range(begin // _DAY * _DAY, end, _DAY) for hour in self._hours())
        return (time for time in times if begin < time < end)

    def _hours(self) -> tuple[int, ...]:
        return tuple(sorted({self.begin % 24, self.end % 24}))

    def earliest(self, job: JobView, now: int) -> int:
        """Return when a job fits alone, until the end of its walltime."""
        draw = self.draw(job)
        for start in (now, *self.changes(now, now + 2 * _DAY)):
            end = start + min(job.walltime, _DAY)
            if all(draw <= self.cap(time) for time in (start, *self.changes(start, end))):
                return start
        return now + _NEVER

    def _draws(self, plan: PlanModel | PlannedJobs) -> list[tuple[int, int, int]]:
        """Return begin, end and watts of running jobs, seconds from now."""
        return [
            (0, max((job.start or 0) + job.job.walltime, job.end or 1), self.draw(job.job))
            for job in plan.running.values()
        ]

    def add_to(self, plan: PlanModel) -> None:
        """Add a cumulative constraint. What a cap is below the highest one is an interval of its own."""
        longest = max(max(job.job.walltime, job.duration) for job in plan.jobs.values())
        last = plan.horizon + longest
        held = self._draws(plan)
        times = [plan.now, *self.changes(plan.now, plan.now + last), plan.now + last]
        most = max(map(self.cap, times))
        held += [(a - plan.now, b - plan.now, most - self.cap(a)) for a, b in pairwise(times)]
        intervals = [
            plan.model.new_fixed_size_interval_var(begin, end - begin, f"cap[{begin},{end}]")
            for begin, end, draw in held
            if draw
        ]
        for name, job in plan.jobs.items():
            size = max(job.job.walltime, job.duration)
            intervals.append(plan.model.new_fixed_size_interval_var(job.start, size, f"draw[{name}]"))
        draws = [draw for *_, draw in held if draw] + [self.draw(job.job) for job in plan.jobs.values()]
        plan.model.add_cumulative(intervals, draws, most)

    def holds(self, plan: PlannedJobs) -> bool:
        """Sum the watts whenever a job starts or the cap may change. Running jobs alone may exceed it."""
        spans = [
            (job.start, job.start + max(job.job.walltime, job.duration), self.draw(job.job))
            for job in plan.jobs.values()
            if job.start is not None
        ]
        held = self._draws(plan)
        last = max((end for _, end, _ in spans), default=0)
        times = {start for start, _, _ in spans} | {at - plan.now for at in self.changes(plan.now, plan.now + last)}
        for time in times:
            planned = sum(draw for start, end, draw in spans if start <= time < end)
            beside = sum(draw for start, end, draw in held if start <= time < end)
            if planned and planned + beside > self.cap(plan.now + time):
                return False
        return True

    def next_change(self, now: int) -> int:
        """Return when the cap may change next."""
        return next(self.changes(now, now + 2 * _DAY))


class _OnGroups(PlanConstraint):
    """A rule on the groups of a level on which each job lies.

    Parameters
    ----------
    level
        A level of the machine, such as ``rack``.
    who
        Pattern with ``*`` and ``?``. Others lie anywhere.
    by
        What it matches: the user, group, name or queue of a job.
    """

    def __init__(self, level: str, who: str, by: Owner) -> None:
        check_choice("by", by, _OWNERS)
        check_text("level", level)
        self.level, self.who, self.by = level, who, by
        self._labels: tuple[int, ...] = ()

    def reset(self, machine: Machine) -> None:
        """Take the groups of the level from the machine. Raise ``ValueError`` if it has no such level."""
        if self.level not in machine.levels:
            has = ", ".join(machine.level_names) or "none"
            raise ValueError(f"{self.name}: expected a level of the machine: {has}; got {shown(self.level)}")
        self._labels = tuple(machine.labels[machine.level_names.index(self.level)].tolist())

    def concerns(self, job: JobView) -> bool:
        """Return whether a job has to keep the rule."""
        return fnmatchcase(getattr(job, self.by), self.who)

    def admits(self, job: JobView, groups: int) -> bool:
        """Return whether a job may lie on so many groups."""
        raise NotImplementedError

    def _limit(self, plan: PlanModel, job: ModelJob, used: list[IntVar]) -> None:
        """Limit the groups that a job of the model uses. `used` is a literal per group."""
        raise NotImplementedError

    def add_to(self, plan: PlanModel) -> None:
        """Limit the groups of each concerned job."""
        for job in plan.jobs.values():
            if job.on and self.concerns(job.job):
                self._limit(plan, job, self.used(plan, job))

    def groups_of(self, nodes: Iterable[int]) -> int:
        """Return the number of groups of some nodes."""
        return len({self._labels[node] for node in nodes})

    def used(self, plan: PlanModel, job: ModelJob) -> list[IntVar]:
        """Return a literal per group: whether the job uses a node of it. Empty if the model has no nodes."""
        members: dict[int, list[IntVar]] = {}
        for node, literal in job.on.items():
            members.setdefault(self._labels[node], []).append(literal)
        group_uses = []
        for group, literals in members.items():
            uses = plan.model.new_bool_var(f"{self.name}_{job.job.id}_{group}")
            plan.model.add_max_equality(uses, literals)
            group_uses.append(uses)
        return group_uses

    def holds(self, plan: PlannedJobs) -> bool:
        """Count the groups of all planned jobs whose nodes are decided."""
        return all(
            self.admits(planned.job, self.groups_of(planned.nodes))
            for planned in plan.jobs.values()
            if planned.nodes and planned.start is not None and self.concerns(planned.job)
        )


class SameRack(_OnGroups):
    """All slots of a job lie in one group of a level.

    The sum of ``used[j, g]`` over the groups g is 1 for each concerned job j. ``used[j, g]`` is the largest
    ``on[j, n]`` of its nodes n.

    Parameters
    ----------
    level
        A level of the machine, such as ``rack``.
    who
        Pattern with ``*`` and ``?``. Others lie anywhere.
    by
        What it matches: the user, group, name or queue of a job.
    """

    name = "same-rack"

    def __init__(self, level: str = "rack", who: str = "*", by: Owner = "user") -> None:
        super().__init__(level, who, by)

    def admits(self, job: JobView, groups: int) -> bool:
        """Return whether it is one group."""
        return groups == 1

    def _limit(self, plan: PlanModel, job: ModelJob, used: list[IntVar]) -> None:
        """Let a job use one group."""
        plan.model.add_exactly_one(used)


class SpreadOver(_OnGroups):
    """The slots of a job lie in at least some groups of a level, so that a failure of one group does not stop all.

    The sum of ``used[j, g]`` over the groups g is at least `groups` for each concerned job j. A job with fewer slots
    uses as many groups as it has slots. With fewer groups on the machine it uses all.

    Parameters
    ----------
    groups
        Least number of groups, at least 1.
    level
        A level of the machine, such as ``rack``.
    who
        Pattern with ``*`` and ``?``. Others lie anywhere.
    by
        What it matches: the user, group, name or queue of a job.
    """

    name = "spread-over"

    def __init__(self, groups: int = 2, level: str = "rack", who: str = "*", by: Owner = "user") -> None:
        super().__init__(level, who, by)
        self.groups = check_whole("groups", groups, 1)

    def least(self, job: JobView) -> int:
        """Return the least number of groups of a job."""
        return min(self.groups, job.nodes, len(set(self._labels)))

    def admits(self, job: JobView, groups: int) -> bool:
        """Return whether these are enough groups."""
        return groups >= self.least(job)

    def _limit(self, plan: PlanModel, job: ModelJob, used: list[IntVar]) -> None:
        """Let a job use enough groups."""
        plan.model.add(sum(used) >= self.least(job.job))


def _check_resource(name: str, machine: Machine) -> int:
    """Return the index of a resource."""
    if name not in machine.resources:
        raise ValueError(f"of must be a resource of the machine ({', '.join(machine.resources)}), got {name!r}")
    return machine.resources.index(name)
