"""Constraints of a dispatcher: their answers about jobs, and what they leave of a state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...base import LONGEST, BoolArray, InputError, IntArray, check_number, check_whole, shown
from ...models import WHENEVER, Answer, Problem, Schedule, Status, Variables, count_slots, quotas_beside, shift
from ...workloads import Machine
from ..columns import RunningJobs
from ..problems import closed_amounts, closed_rows, held, summed
from ..protocol import Action, JobView, Placement, Reject, Running, Start, State, Waiting, Wake
from ..rule_book import request_of
from .plan_parts import (
    PlanConstraint,
    PlannedJob,
    PlannedJobs,
    PlanView,
    Surroundings,
    checked_holds,
    checked_next_change,
    planned_jobs,
    surroundings,
)
from .site_constraints import Closed, SiteConstraint, label

T = TypeVar("T")
#: How far ahead a start is searched, seconds, and after how many closures the search ends.
_AHEAD, _TRIES = 366 * 86400, 400
#: How many planned starts, and how many announced changes of plan constraints, an idle machine awaits in vain. Then
#: jobs are rejected that could not start alone either.
_STARTS, _CHANGES = 16, 1500
#: After so many planned starts in vain the next attempts come ever later. The longest pause between two, seconds.
_PATIENCE, _PAUSE = 3, 3600
#: How many jobs are tried as the one to reject if waiting jobs wait for each other.
_TRIED = 50
#: Earlier than any time.
_UNKNOWN = -1
#: A shared amount of running jobs: the number of a constraint, and its name for the amount.
Quota = tuple[int, str]


class PlugInError(Exception):
    """A constraint or an objective failed after it had worked. The message names it."""


class PlugInCalls:
    """Calls of plug-in parts.

    A failure at the first call is an input error. A later failure is left to the caller, so that a long simulation
    continues.

    Attributes
    ----------
    kind
        Name of the kind of part, for messages.
    now
        Seconds on the simulation's clock. ``None`` before it begins.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.now: int | None = None
        self._worked: set[tuple[int, str]] = set()

    def call(self, part: Any, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function of a part.

        Raises
        ------
        InputError
            If it fails and has not worked before.
        PlugInError
            If it fails later.
        """
        key = id(part), function.__name__
        try:
            result = self.attempt(part, function, *arguments)
        except PlugInError as error:
            if key in self._worked:
                raise
            raise InputError(str(error)) from error.__cause__
        self._worked.add(key)
        return result

    def attempt(self, part: Any, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function of a part. Raise :class:`PlugInError` if it fails, also at its first call."""
        try:
            return function(*arguments)
        except Exception as error:  # a third party's code may raise anything
            reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            where = "".join(f" {word}" for word in (self.time(), _jobs(arguments)) if word)
            raise PlugInError(f"{self.kind} {label(part)}{where}: {' '.join(reason.split())[:300]}") from error

    def time(self) -> str:
        """Return the time for messages."""
        return "" if self.now is None else f"at {self.now} s"


def _jobs(arguments: tuple[Any, ...]) -> str:
    """Return the jobs in the arguments of a call, for messages."""
    for given in arguments:
        if isinstance(given, JobView):
            return f"for job {given.id}"
        jobs = getattr(given, "jobs", given)  # Jobs of a plan, or waiting jobs.
        if isinstance(jobs, Mapping | Sequence) and len(jobs) and not isinstance(jobs, str):
            first = next(iter(jobs))
            name = first.job.id if isinstance(first, Waiting) else first
            return f"for job {name}" + (f" and {len(jobs) - 1} more" if len(jobs) > 1 else "")
    return ""


def checked_uses(constraint: SiteConstraint, job: JobView) -> dict[str, tuple[int, int]]:
    """Return amount and limit by name of what a job uses, without zero amounts.

    Raises
    ------
    ValueError
        If an amount is not a whole number of at least 0.
    """
    uses = {what: check_whole(f"uses: {what}", amount, 0) for what, amount in constraint.uses(job).items()}
    return {
        what: (amount, check_whole(f"most: {what}", constraint.most(what), 0))
        for what, amount in uses.items()
        if amount
    }


def overrides(part: SiteConstraint, method: str) -> bool:
    """Return whether a constraint overrides a method."""
    return getattr(type(part), method) is not getattr(SiteConstraint, method)


def checked_latest_end(part: SiteConstraint, job: JobView) -> int | None:
    """Return when a job must have ended, or ``None``."""
    end = part.latest_end(job)
    return None if end is None else check_whole("latest_end", end, 0)


def checked_earliest(part: SiteConstraint, job: JobView, now: int) -> int:
    """Return the earliest start of a job."""
    return check_whole("earliest", part.earliest(job, now), now)


def checked_factor(part: SiteConstraint, job: JobView, now: int) -> float:
    """Return the factor on the cost of a job's delay."""
    factor = part.factor(job, now)
    check_number("factor", factor, above=0)
    return factor


def checked_closed(part: SiteConstraint, begin: int, end: int, nodes: int) -> list[Closed]:
    """Return a constraint's closures in [begin, end)."""
    closures = [_window(closed, nodes) for closed in part.closed(begin, end)]
    return [closed for closed in closures if closed.begin < end and begin < closed.end]


def _window(given: Any, nodes: int) -> Closed:
    try:
        closed = Closed(*given)
        begin = check_whole("begin", closed.begin, -LONGEST, LONGEST)
        end = check_whole("end", closed.end, 0, LONGEST)
        known = np.asarray(closed.nodes)
        whole = known.ndim == 1 and known.dtype.kind in "iu" and known.size > 0
        if not whole or known.min() < 0 or known.max() >= nodes or end <= begin:
            raise ValueError
    except (TypeError, ValueError) as error:
        raise ValueError(f"closed: expected nodes in 0..{nodes - 1} and begin < end, got {shown(given)}") from error
    return Closed(closed.nodes, begin, end, closed.amounts)


class Said(NamedTuple):
    """Answers of the constraints about a job.

    Attributes
    ----------
    uses
        Quotas that it uses while it runs.
    latest_end
        When it must have ended, or ``None``.
    never
        Why it can never start. Empty if it can.
    first
        Its first start on the empty machine, as far as searched.
    failure
        The constraint that failed to answer. Empty if none did.
    """

    uses: tuple[tuple[Quota, int], ...] = ()
    latest_end: int | None = None
    never: str = ""
    failure: str = ""
    first: int = _UNKNOWN


#: Job, and walltime, slots and amounts of its request, of which a moldable job has several.
_RequestKey = tuple[int, int, int, tuple[tuple[str, int], ...]]


def _key(job: Waiting | Running, request: JobView) -> _RequestKey:
    return job.order, request.walltime, request.nodes, tuple(request.per_node.items())


def bound_of(entry: Waiting) -> int:
    """Return how long a job may run: its walltime, or its prediction if longer."""
    return max(entry.job.walltime, entry.predicted)


class SiteRules:
    """Constraints of a dispatcher during a simulation.

    Attributes
    ----------
    constraints
        The constraints.
    most
        Limits of all quotas used so far.
    """

    def __init__(self, constraints: Sequence[SiteConstraint]) -> None:
        self.constraints = tuple(constraints)
        #: Rules of the machine. They only say whether a job can ever start.
        self._of_machine: tuple[SiteConstraint, ...] = ()
        self.timed = [part for part in constraints if overrides(part, "earliest")]
        self.closing = [part for part in constraints if overrides(part, "closed")]
        self.weighing = [part for part in constraints if overrides(part, "factor")]
        self.noting = [part for part in constraints if overrides(part, "started")]
        self.planning = [part for part in constraints if isinstance(part, PlanConstraint)]

    def reset(self, machine: Machine, of_machine: Sequence[SiteConstraint] = ()) -> None:
        """Begin a simulation. `of_machine` are the rules of the machine, which the profile of a state knows.

        Raises
        ------
        InputError
            If a constraint does not fit the machine.
        """
        self.machine = machine
        self._of_machine = tuple(of_machine)
        self.calls = PlugInCalls("constraint")
        self.most: dict[Quota, int] = {}
        self._said: dict[_RequestKey, Said] = {}
        self._placed: dict[tuple[object, ...], int | None] = {}
        self._announced: tuple[int | None, int | None] = None, None
        self._vain_starts, self._vain_changes = 0, 0
        for part in (*self.constraints, *of_machine):
            PlugInCalls("constraint").call(part, part.reset, machine)

    @property
    def _closing(self) -> list[SiteConstraint]:
        return [part for part in self._all if overrides(part, "closed")]

    @property
    def _all(self) -> tuple[SiteConstraint, ...]:
        """All parts that say whether a job can ever start."""
        return self.constraints + self._of_machine

    def of(self, entry: Waiting, now: int) -> Said:
        """Return the answers about a waiting job, including whether it can ever start from `now` on."""
        key = _key(entry, entry.job)
        said = self._said.get(key)
        if said is not None and (said.never or said.first >= now or not (self._closing or self.timed)):
            return said
        try:
            if said is None:
                said = self._ask(entry.job)
            elif not self._closing and self.earliest(entry.job, now) <= now:
                return said
            if not said.never:
                first = self.first_start(entry, now, self._all)
                said = said._replace(never=self._never(entry, now)) if first is None else said._replace(first=first)
        except PlugInError as error:
            return Said(failure=str(error))
        self._said[key] = said
        return said

    def of_running(self, run: Running | Waiting) -> Said:
        """Return the answers about a running job, or any job without regard to closures."""
        request = request_of(run)
        key = _key(run, request)
        if key not in self._said:
            try:
                self._said[key] = self._ask(request)
            except PlugInError as error:
                return Said(failure=str(error))
        return self._said[key]

    def _ask(self, job: JobView) -> Said:
        uses: list[tuple[Quota, int]] = []
        ends: list[int] = []
        never = ""
        for number, part in enumerate(self.constraints):
            for what, (amount, most) in self.calls.call(part, checked_uses, part, job).items():
                uses.append(((number, what), amount))
                self.most[number, what] = most
                if amount > most:
                    never = f"constraint {label(part)}: takes {amount} of {what}, there are {most}"
            end = self.calls.call(part, checked_latest_end, part, job)
            if end is not None:
                ends.append(end)
        return Said(tuple(uses), min(ends, default=None), never)

    @property
    def put_off(self) -> bool:
        """Whether plan constraints have put off several planned starts in a row."""
        return self._vain_starts >= _PATIENCE

    def next_attempt(self, now: int, started: bool, start: int | None) -> tuple[int | None, str]:
        """Return when to wake for a planned start, and a message if such starts were put off again and again.

        Attempts that start nothing come ever later: after 2, 4, 8 seconds and so on.

        Parameters
        ----------
        now
            Time of this decision.
        started
            Whether a job starts now.
        start
            The next planned start that no end of a running job announces.
        """
        announced = self._announced[0]
        if started:
            self._vain_starts = 0
        elif announced is not None and announced <= now:
            self._vain_starts += 1
        vain = self._vain_starts
        if start is not None and vain >= _PATIENCE:
            start = max(start, now + min(2 ** (vain - _PATIENCE + 1), _PAUSE))
        self._announced = start, self._announced[1]
        if start is None or vain < _PATIENCE:
            return start, ""
        names = ", ".join(map(label, self.planning))
        return (
            start,
            f"constraint {names} at {now} s: put off {vain} planned starts in a row; next attempt at {start} s",
        )

    def in_vain(self, now: int, idle: bool, change: int | None) -> bool:
        """Return whether the idle machine has reached too many announced times in a row.

        Parameters
        ----------
        now
            Time of this decision.
        idle
            Whether no job runs or starts now.
        change
            Next change of a plan constraint.
        """
        announced = self._announced[1]
        reached = announced is not None and announced <= now
        self._vain_changes = self._vain_changes + reached if idle else 0
        self._announced = self._announced[0], change
        return idle and (self._vain_starts > _STARTS or self._vain_changes > _CHANGES)

    def started(self, jobs: Sequence[Start], now: int) -> None:
        """Tell the constraints which jobs start now."""
        for part in self.noting:
            for start in jobs:
                self.calls.call(part, part.started, start.job.job, now)

    def earliest(self, job: JobView, now: int) -> int:
        """Return the earliest start of a job, from `now` on."""
        return max((self.calls.call(part, checked_earliest, part, job, now) for part in self.timed), default=now)

    def closures(self, begin: int, end: int, parts: Iterable[SiteConstraint] | None = None) -> list[Closed]:
        """Return the closures in [begin, end)."""
        closures: list[Closed] = []
        for part in self.closing if parts is None else parts:
            closures += self.calls.call(part, checked_closed, part, begin, end, self.machine.nodes)
        return closures

    def factor(self, job: JobView, now: int) -> float:
        """Return the factor on the cost of a job's delay."""
        factor = 1.0
        for part in self.weighing:
            factor *= self.calls.call(part, checked_factor, part, job, now)
        return factor

    def too_late(self, entry: Waiting, now: int) -> str:
        """Return which constraint a job would break by its end if it started now."""
        bound = bound_of(entry)
        end = self.of(entry, now).latest_end
        labels = (
            label(part)
            for part in self.constraints
            if self.calls.call(part, checked_latest_end, part, entry.job) == end
        )
        return f"constraint {next(labels)}: must have ended by {end}, and may run for {bound} s from {now} on"

    def _never(self, entry: Waiting, now: int) -> str:
        """Return the constraints that never allow a job on the empty machine."""
        for part in self._all:
            if self.first_start(entry, now, (part,)) is None:
                return f"constraint {label(part)}: leaves it no place ever"
        for pair in combinations(self._all, 2):
            if self.first_start(entry, now, pair) is None:
                return f"constraints {label(pair[0])} and {label(pair[1])} exclude each other for it"
        return f"constraints {', '.join(map(label, self._all))} leave it no place together"

    def first_start(self, entry: Waiting, now: int, parts: Sequence[SiteConstraint]) -> int | None:
        """Return a job's first start on the empty machine under some constraints, or ``None``.

        The result is shared by equal jobs without bounds on start and end.
        """
        job = entry.job
        bound = bound_of(entry)
        time = now
        ends = [self.calls.call(part, checked_latest_end, part, job) for part in parts]
        last = min([now + _AHEAD, *(end - bound for end in ends if end is not None)])
        timed, closing = ([part for part in parts if part in known] for known in (self.timed, self._closing))
        shape = entry.nodes, entry.demand, bound, *map(id, closing)
        known = self._placed.get(shape, _UNKNOWN) if not timed and last == now + _AHEAD else _UNKNOWN
        if known is None or known >= now:
            return known
        start = None
        for _ in range(_TRIES):
            later = max((self.calls.call(part, checked_earliest, part, job, time) for part in timed), default=time)
            if later > last:
                break
            windows = self.closures(later, later + bound, closing) if later == time else []
            if later == time and (not windows or self._fits(entry.nodes, entry.demand, windows)):
                start = later
                break
            time = min((window.end for window in windows), default=later)
        if not timed and last == now + _AHEAD:
            self._placed[shape] = start
        return start

    def _fits(self, nodes: int, demand: tuple[int, ...], windows: Sequence[Closed]) -> bool:
        left = self.machine.capacity - np.minimum(closed_amounts(windows, None, self.machine), self.machine.capacity)
        return int(count_slots(left, demand).sum()) >= nodes


def open_until(closures: Sequence[Closed], now: int, nodes: int) -> IntArray:
    """Return for how many seconds each node stays open, shape (nodes,). The largest integer if it never closes."""
    left = np.full(nodes, np.iinfo(np.int64).max)
    for closed in closures:
        if closed.amounts is not None:
            continue
        chosen = np.asarray(closed.nodes)
        left[chosen] = np.minimum(left[chosen], max(closed.begin - now, 0))
    return left


@dataclass
class PlannedConstraint:
    """A site's constraint on a plan, for the models. A failing one admits nothing.

    Attributes
    ----------
    part
        The constraint.
    view
        The jobs.
    calls
        Calls of the constraint.
    fail
        Receives the reason of a failure.
    """

    part: PlanConstraint
    view: PlanView
    calls: PlugInCalls
    fail: Callable[[str], None]

    def add_to(self, variables: Variables) -> None:
        """Add it to the model."""
        try:
            self.calls.attempt(self.part, self.part.add_to, self.view.model(variables))
        except PlugInError as error:
            self.fail(str(error))

    def holds(self, schedule: Schedule) -> bool:
        """Return whether a schedule meets it."""
        try:
            return self.calls.attempt(self.part, checked_holds, self.part, self.view.schedule(schedule))
        except PlugInError as error:
            self.fail(str(error))
            return False


class Restrictions:
    """Constraints at one decision.

    A job about which a constraint does not answer waits while other jobs run. Alone on the machine it starts, and
    `failure` names the constraint. So a constraint that fails never loses a job.

    Future closures are expressed by extra resources, one per closing time. A job that may run longer needs one unit per
    slot. Nodes that close by then have none. So any placement rule avoids these nodes.

    Parameters
    ----------
    rules
        The constraints.
    state
        Present state.

    Attributes
    ----------
    queue
        Jobs neither rejected nor held back.
    rejected
        Jobs that can never start, with reasons.
    failure
        The constraint that failed. Empty if none did.
    """

    def __init__(self, rules: SiteRules, state: State) -> None:
        self.rules = rules
        self.given = state
        self.rejected: list[Reject] = []
        self.failure = ""
        self.rules.calls.now = state.now
        self._earliest: dict[int, int] = {}
        self._planned: list[PlannedJob] = []
        self._starting: dict[str, PlannedJob] = {}
        self._unanswered: set[int] = set()
        self._next: int | None = None
        self._taken: Counter[Quota] = Counter()
        for run in state.running:
            self._taken.update(dict(rules.of_running(run).uses))
        queue = [entry for entry in state.queue if self._judge(entry)]
        self.closures, shut = self._closures(queue)
        self.queue: Sequence[Waiting] = [] if shut else queue

    @cached_property
    def _beside(self) -> Surroundings:
        """Jobs by id, for constraints on whole plans."""
        return surroundings(self.given)

    @cached_property
    def state(self) -> State:
        """State with the extra resources, without rejected and held-back jobs."""
        return shown_state(self.given, self.queue, self.closures)

    @cached_property
    def allowed(self) -> BoolArray:
        """Which jobs of its queue may start now by the constraints, apart from nodes. Shape (jobs,)."""
        return np.array([self.admits(entry) for entry in self.state.queue], dtype=np.bool_)

    def answer(self, starts: Sequence[Start]) -> list[Action]:
        """Return starts, rejections, and a timer for the next closure end or allowed start."""
        actions: list[Action] = [*starts, *self.rejected]
        now = self.given.now
        left = len(self.given.queue) - len(actions)
        times = [closed.end for closed in self.closures if closed.end > now]
        times += [time for time in self._earliest.values() if time > now]
        if self.planned:
            changes = self._changes()
            attempt, postponed = self.rules.next_attempt(now, bool(starts), self._next)
            if postponed:
                self._fail(postponed)
            times += [*changes, *([] if attempt is None else [attempt])]
            idle = not (starts or len(self.given.running))
            in_vain = self.rules.in_vain(now, idle, min(changes, default=None))
            if idle and (in_vain or not times):
                never = self._never_admitted(in_vain)
                actions += never
                left -= len(never)
                times += [now + 1] if never else []  # The others may start without them.
        return [*actions, Wake(min(times))] if times and left > 0 else actions

    def _never_admitted(self, in_vain: bool) -> list[Reject]:
        """Return rejections of jobs that plan constraints keep off an empty machine for good.

        These are the jobs that could not start with nothing else waiting. If each could, they wait for each other. Then
        one is rejected whose absence lets another start.
        """
        now = self.given.now
        queue = [entry for entry in self.queue if self._earliest[entry.order] <= now]
        names = ", ".join(map(label, self.rules.planning))
        rejections = [
            Reject(entry, f"constraint {self._refusing(entry, ())}") for entry in queue if self._refusing(entry, ())
        ]
        if rejections or not queue:
            why = "puts it off again and again" if in_vain else "never admits it, even with nothing else waiting"
            return [Reject(each.job, f"{each.reason}: {why}, at {now} s on an empty machine") for each in rejections]
        chosen = queue[-1]
        for entry in reversed(queue[-_TRIED:]):
            others = [other for other in queue if other is not entry]
            if any(not self._refusing(other, others) for other in others):
                chosen = entry
                break
        reason = f"constraint {self._refusing(chosen, queue) or names}: it waits for jobs that wait for it"
        self.failure = f"{reason}, at {now} s for job {chosen.job.id}"
        return [Reject(chosen, f"{reason}, at {now} s on an empty machine")]

    def _refusing(self, entry: Waiting, waiting: Sequence[Waiting]) -> str:
        """Return the plan constraints that keep a job off the empty machine while some others wait."""
        others = [PlannedJob(other.job, other.predicted) for other in waiting if other is not entry]
        start = PlannedJob(entry.job, entry.predicted, 0)
        jobs = {planned.job.id: planned.job for planned in (*others, start)}
        plan = planned_jobs(Surroundings(self.given.now, self.given.machine, jobs, {}), [*others, start])
        return ", ".join(label(part) for part in self.rules.planning if self._answers(part, plan) is False)

    def _answers(self, part: PlanConstraint, plan: PlannedJobs) -> bool | None:
        """Return whether a plan meets a constraint. ``None`` if the constraint fails."""
        try:
            return self.rules.calls.attempt(part, checked_holds, part, plan)
        except PlugInError as error:
            self._fail(str(error))
            return None

    def _judge(self, entry: Waiting) -> bool:
        """Return whether a waiting job may ever start. Otherwise reject it, or hold it back if a constraint fails."""
        now = self.given.now
        said = self.rules.of(entry, self.given.now)
        never, failure = said.never, said.failure
        if not never and said.latest_end is not None and now + bound_of(entry) > said.latest_end:
            never = self.rules.too_late(entry, now)
        if not (never or failure):
            try:
                self._earliest[entry.order] = self.rules.earliest(entry.job, now)
            except PlugInError as error:
                failure = str(error)
        if failure:
            self.failure = failure
            if len(self.given.running):
                return False
            self._unanswered.add(entry.order)
            self._earliest[entry.order] = now
        if never:
            self.rejected.append(Reject(entry, never))
        return not never

    def _closures(self, queue: Sequence[Waiting]) -> tuple[list[Closed], bool]:
        """Return the closures that a job could reach, and whether no job may start.

        Jobs count that start by the end of all running jobs. No job may start beside running ones if a constraint fails
        to answer.
        """
        now = self.given.now
        if not self.rules.closing or not queue:
            return [], False
        longest = max(map(bound_of, queue))
        reach = int(self.given.running.predicted_end.max(initial=now)) - now + longest
        try:
            return self.rules.closures(now, now + reach), False
        except PlugInError as error:
            self.failure = str(error)
            return [], bool(len(self.given.running))

    def admits(self, entry: Waiting) -> bool:
        """Return whether a job may start now beside running and starting jobs, apart from nodes."""
        if entry.order in self._unanswered and self._starting:
            return False
        return self._earliest[entry.order] <= self.given.now and self.has_quotas(entry)

    def has_quotas(self, entry: Waiting) -> bool:
        """Return whether a job's quotas are available beside running and starting jobs."""
        return all(take <= self.left(what) for what, take in self.uses_of(entry))

    def take_quotas(self, uses: Sequence[tuple[Quota, int]]) -> bool:
        """Use these quotas if available. Return whether they are."""
        there = all(take <= self.left(what) for what, take in uses)
        if there:
            self._taken.update(dict(uses))
        return there

    def uses_of(self, entry: Waiting) -> tuple[tuple[Quota, int], ...]:
        """Return the quotas of a job."""
        return self.rules.of(entry, self.given.now).uses

    def left(self, quota: Quota) -> int:
        """Return the free amount of a quota."""
        return self.rules.most[quota] - self._taken[quota]

    def together(self, entries: Sequence[Waiting]) -> bool:
        """Return whether jobs may all start now by the constraints, apart from nodes."""
        if self._unanswered and len(entries) > 1:
            return False
        taken: Counter[Quota] = Counter()
        for entry in entries:
            taken.update(dict(self.uses_of(entry)))
        return all(map(self.admits, entries)) and all(take <= self.left(what) for what, take in taken.items())

    @property
    def planned(self) -> bool:
        """Whether only a plan tells which jobs may start."""
        return bool(self.rules.planning)

    @property
    def put_off(self) -> bool:
        """Whether plan constraints have put off several planned starts in a row."""
        return self.rules.put_off

    @property
    def delay(self) -> int:
        """How much later than without plan constraints a plan may end, seconds."""
        return max((part.delay for part in self.rules.planning), default=0)

    def follow(self, answer: Answer, waiting: Sequence[Waiting]) -> None:
        """Record the plan's next start, or why there is no schedule.

        A start at the predicted end of a running job needs no timer: its real end comes as an event.
        """
        if answer.schedule is not None:
            ends = self.given.running.predicted_end - self.given.now
            later = np.setdiff1d(answer.schedule.starts[answer.schedule.starts > 0], np.maximum(ends, 1))
            self._next = self.given.now + int(later.min()) if len(later) else None
        elif not self.failure:
            names = ", ".join(map(label, self.rules.planning))
            ids = [entry.job.id for entry in waiting]
            reason = "no schedule was found"
            if answer.refused:
                reason = "its holds refuses the schedule that its add_to admits"
            elif answer.status is Status.INFEASIBLE:
                reason = "no schedule meets it"
            more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
            self.failure = f"constraint {names} at {self.given.now} s for job {ids[0]}{more}: {reason}"

    def trial(self) -> Restrictions:
        """Return a copy that tells which jobs could start, without effect on this one."""
        copied = copy(self)
        copied._starting = dict(self._starting)
        copied._taken = Counter(self._taken)
        return copied

    def takes(self, entry: Waiting, placement: Placement | None) -> bool:
        """Start a job at a placement if all plan constraints admit it. Return whether they do."""
        nodes = () if placement is None else tuple(np.asarray(placement).tolist())
        start = PlannedJob(entry.job, entry.predicted, 0, nodes)
        if self.planned:
            others = [job for job in self._planned if job.job.id not in self._starting and job.job.id != entry.job.id]
            plan = planned_jobs(self._beside, [*others, *self._starting.values(), start])
            # Without an answer it may start alone: waiting would not change it.
            alone = not (len(self.given.running) or self._starting)
            if any(self._answers(part, plan) not in {True, None if alone else True} for part in self.rules.planning):
                return False
        self._starting[entry.job.id] = start
        self._taken.update(dict(self.uses_of(entry)))
        return True

    def _fail(self, reason: str) -> None:
        self.failure = self.failure or reason

    def _changes(self) -> list[int]:
        """Return when plan constraints may admit more jobs."""
        now, times = self.given.now, []
        for part in self.rules.planning:
            try:
                change = self.rules.calls.attempt(part, checked_next_change, part, now)
                times += [] if change is None else [change]
            except PlugInError as error:
                self._fail(str(error))
        return times

    def narrow(
        self, problem: Problem, waiting: Sequence[Waiting], overdue: bool
    ) -> tuple[Problem, list[PlannedConstraint]]:
        """Return the problem under the constraints, and the constraints on the whole plan.

        A job whose walltime reaches the next closure is planned with its walltime.

        Parameters
        ----------
        problem, waiting
            The jobs, as in the state, on a pool or on nodes.
        overdue
            As for :func:`.problems.problem_of`.
        """
        now = self.given.now
        bounds = np.array([bound_of(entry) for entry in waiting], dtype=np.int64)
        begins = min((closed.begin - now for closed in self.closures), default=WHENEVER)
        ends = [self.rules.of(entry, now).latest_end for entry in waiting]
        latest = [
            WHENEVER if end is None else end - now - bound for end, bound in zip(ends, bounds.tolist(), strict=True)
        ]
        problem = replace(
            problem,
            duration=np.where(bounds > begins, np.maximum(problem.duration, bounds), problem.duration),
            earliest=np.maximum(problem.earliest, [self._earliest[entry.order] - now for entry in waiting]),
            latest=np.array(latest, dtype=np.int64),
        )
        if self.closures:
            problem = self._hold_closed(problem, overdue)
        problem = self._limited(problem, waiting)
        view = PlanView(self._beside, waiting, problem)
        self._planned = [PlannedJob(entry.job, entry.predicted) for entry in waiting]
        return problem, [PlannedConstraint(part, view, self.rules.calls, self._fail) for part in self.rules.planning]

    def relaxed(self, problem: Problem) -> Problem:
        """Return the problem without latest starts, for use if it has no schedule.

        Jobs that are planned too late do not start then, and are rejected.
        """
        if int(problem.latest.min(initial=WHENEVER)) == WHENEVER:
            return problem
        self.failure = self.failure or "no schedule keeps every deadline"
        return replace(problem, latest=np.full(problem.jobs, WHENEVER))

    def _hold_closed(self, problem: Problem, overdue: bool) -> Problem:
        """Occupy closed amounts, as far as running jobs do not occupy them already."""
        state = self.given
        busy = held(state.running, state.now, state.machine.capacity, pooled=False, overdue=overdue)
        rows = closed_rows(self.closures, state, busy)
        if problem.nodes == 1:
            rows = summed(rows)
        amount = np.pad(rows.amount, ((0, 0), (0, problem.capacity.shape[1] - rows.amount.shape[1])))
        return replace(
            problem,
            held_from=np.append(problem.held_from, rows.begin),
            held_to=np.append(problem.held_to, rows.end),
            held_node=np.append(problem.held_node, rows.node),
            held_amount=np.append(problem.held_amount, amount, axis=0),
        )

    def _limited(self, problem: Problem, waiting: Sequence[Waiting]) -> Problem:
        """Add the quotas that the jobs could exceed."""
        uses = [dict(self.uses_of(entry)) for entry in waiting]
        asked = sum(map(Counter, uses), Counter())
        scarce = [what for what, take in asked.items() if take > self.left(what)]
        if not scarce:
            return problem
        need = np.array([[use.get(what, 0) for what in scarce] for use in uses], dtype=np.int64)
        running = [dict(self.rules.of_running(run).uses) for run in self.given.running]
        taken = np.array([[use.get(what, 0) for what in scarce] for use in running], dtype=np.int64)
        most = np.array([self.rules.most[what] for what in scarce], dtype=np.int64)
        ends = np.maximum(self.given.running.predicted_end - self.given.now, 1)
        return problem.with_quotas(quotas_beside(need, most, ends, taken.reshape(-1, len(scarce))))


def shown_state(state: State, queue: Sequence[Waiting], closures: Sequence[Closed]) -> State:
    """Return the state with another queue, and with extra resources for future closures.

    For closures of amounts, such a resource is the amount they leave at their begin.
    """
    nodes = state.machine.nodes
    bounds = np.array([bound_of(entry) for entry in queue], dtype=np.int64)
    opened = open_until(closures, state.now, nodes)
    times = np.unique(opened[opened < bounds.max(initial=0)])
    partial = _left_at_begins(state, closures, int(bounds.max(initial=0)))
    if not (len(times) or partial):
        if len(queue) == len(state.queue):
            return state
        return State(state.now, queue, state.running, state.free, state.machine)
    most = max(entry.nodes for entry in queue)
    names = [f"open for more than {time} s" for time in times.tolist()]
    names += [f"{state.machine.resources[resource]} in {time} s" for time, resource, _ in partial]
    left = np.column_stack([most * (opened[:, None] > times), *(left for _, _, left in partial)])
    there = np.column_stack([np.full((nodes, len(times)), most), *(left for _, _, left in partial)])
    capacity = np.append(state.machine.capacity, there, axis=1)
    machine = Machine((*state.machine.resources, *names), capacity, levels=state.machine.levels, _layouts=False)
    asked = (bounds[:, None] > times).astype(np.int64)
    for time, resource, _ in partial:
        need = np.array([entry.demand[resource] for entry in queue], dtype=np.int64)
        asked = np.column_stack((asked, np.where(bounds > time, need, 0)))
    entries = [entry.shown_as(demand=(*entry.demand, *more)) for entry, more in zip(queue, asked.tolist(), strict=True)]
    free = np.append(state.free, left, axis=1)
    return State(state.now, entries, WidenedJobs(state.running, len(names)), free, machine)


def _left_at_begins(state: State, closures: Sequence[Closed], longest: int) -> list[tuple[int, int, IntArray]]:
    """Return begin, resource and remaining amount of closures of amounts that begin within `longest`.

    Running jobs outside of reservations count if their walltimes reach past the begin, where something is closed.
    """
    now = state.now
    machine = state.machine
    remaining = []
    begins = {max(closed.begin - now, 0) for closed in closures if closed.amounts is not None}
    for time in sorted(begin for begin in begins if begin < longest):
        closed = closed_amounts(closures, now + time, machine)
        left = machine.capacity.copy()
        for run in state.running:
            if run.walltime_end(now) > now + time and not run.job.reservation:
                shift(left, run.placement, run.demand, -1)
        for resource in np.flatnonzero(closed.any(axis=0)).tolist():
            rest = np.maximum(left[:, resource] - closed[:, resource], 0)
            remaining.append((time, resource, np.where(closed[:, resource] > 0, rest, machine.capacity[:, resource])))
    return remaining


class WidenedJobs(RunningJobs[Running]):
    """Running jobs that need none of some extra resources."""

    def __init__(self, jobs: RunningJobs[Running], more: int) -> None:
        super().__init__(list(jobs), jobs.demand.shape[1])
        self._more = more

    @property
    def demand(self) -> IntArray:
        """Amounts per slot, shape (jobs, resources)."""
        return np.pad(super().demand, ((0, 0), (0, self._more)))
