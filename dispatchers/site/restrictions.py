"""The constraints of a dispatcher: what they say of jobs, and what they leave of one state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...base import BoolArray, InputError, IntArray
from ...base.checks import LONGEST, check_number, check_whole, shown
from ...models import WHENEVER, Answer, Problem, Schedule, Status, Variables, count_slots, quotas_beside, shift
from ...workloads import Machine
from ..columns import RunningJobs
from ..problems import closed_amounts, closed_rows, held, summed
from ..protocol import Action, JobView, Placement, Reject, Running, Start, State, Waiting, Wake
from .plan_parts import (
    PlanConstraint,
    PlannedJob,
    PlanView,
    Surroundings,
    checked_holds,
    checked_next_change,
    planned_jobs,
    surroundings,
)
from .site_constraints import Closed, SiteConstraint, label

T = TypeVar("T")
#: How far ahead a place is looked for before a job is said to have none, seconds, and after how many closures.
_AHEAD, _TRIES = 366 * 86400, 400
#: How many of its next starts an empty machine waits for in vain, or for how many changes that a constraint on plans
#: announces, before the jobs of the plan are rejected.
_STARTS, _CHANGES = 100, 1500
#: Earlier than any time.
_UNKNOWN = -1
#: What running jobs take together: the number of a constraint, and its name for what.
Quota = tuple[int, str]


class PlugInError(Exception):
    """A constraint or an objective failed, after it had worked; the message names it."""


class PlugInCalls:
    """Calls of parts that a third party may have written.

    What fails the first time it is asked is an error of the input; what fails later is left to the caller, so that a
    long simulation does not end.

    Attributes
    ----------
    kind
        What messages call the parts.
    now
        Seconds on the clock of the simulation; ``None`` before it begins.
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
            found = function(*arguments)
        except Exception as error:  # a third party's code may raise anything
            reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            failure = InputError if key not in self._worked else PlugInError
            where = "".join(f" {word}" for word in (self.time(), _jobs(arguments)) if word)
            raise failure(f"{self.kind} {label(part)}{where}: {' '.join(reason.split())[:300]}") from error
        self._worked.add(key)
        return found

    def time(self) -> str:
        """Return the time as messages name it."""
        return "" if self.now is None else f"at {self.now} s"


def _jobs(arguments: tuple[Any, ...]) -> str:
    """Return the job, or the jobs, that a call is about, as messages name them."""
    for given in arguments:
        if isinstance(given, JobView):
            return f"for job {given.id}"
        jobs = getattr(given, "jobs", given)  # Those of a plan, or waiting ones.
        if isinstance(jobs, Mapping | Sequence) and len(jobs) and not isinstance(jobs, str):
            first = next(iter(jobs))
            name = first.job.id if isinstance(first, Waiting) else first
            return f"for job {name}" + (f" and {len(jobs) - 1} more" if len(jobs) > 1 else "")
    return ""


def checked_uses(constraint: SiteConstraint, job: JobView) -> dict[str, tuple[int, int]]:
    """Return what a job takes and how much there is, by name, without what it takes nothing of.

    Raises
    ------
    ValueError
        If an amount is no whole number, or below 0.
    """
    uses = {what: check_whole(f"uses: {what}", amount, 0) for what, amount in constraint.uses(job).items()}
    return {
        what: (amount, check_whole(f"most: {what}", constraint.most(what), 0))
        for what, amount in uses.items()
        if amount
    }


def overrides(part: SiteConstraint, method: str) -> bool:
    """Return whether a constraint says something of its own in a method."""
    return getattr(type(part), method) is not getattr(SiteConstraint, method)


def checked_latest_end(part: SiteConstraint, job: JobView) -> int | None:
    """Return when a job must have ended, or ``None``."""
    end = part.latest_end(job)
    return None if end is None else check_whole("latest_end", end, 0)


def checked_earliest(part: SiteConstraint, job: JobView, now: int) -> int:
    """Return when a job may start."""
    return check_whole("earliest", part.earliest(job, now), now)


def checked_factor(part: SiteConstraint, job: JobView, now: int) -> float:
    """Return by what the cost of a job's delay is multiplied."""
    factor = part.factor(job, now)
    check_number("factor", factor, above=0)
    return factor


def checked_closed(part: SiteConstraint, begin: int, end: int, nodes: int) -> list[Closed]:
    """Return what a constraint closes in [begin, end)."""
    found = [_window(closed, nodes) for closed in part.closed(begin, end)]
    return [closed for closed in found if closed.begin < end and begin < closed.end]


def _window(given: Any, nodes: int) -> Closed:
    try:
        closed = Closed(*given)
        begin, end = check_whole("begin", closed.begin, -LONGEST, LONGEST), check_whole("end", closed.end, 0, LONGEST)
        known = np.asarray(closed.nodes)
        whole = known.ndim == 1 and known.dtype.kind in "iu" and known.size > 0
        if not whole or known.min() < 0 or known.max() >= nodes or end <= begin:
            raise ValueError
    except (TypeError, ValueError) as error:
        raise ValueError(f"closed: expected nodes in 0..{nodes - 1} and begin < end, got {shown(given)}") from error
    return Closed(closed.nodes, begin, end, closed.amounts)


class Said(NamedTuple):
    """What the constraints say of a job.

    Attributes
    ----------
    uses
        What it takes while it runs.
    latest_end
        When it must have ended, or ``None``.
    never
        Why it can never start; empty if it can.
    first
        When it could start on the empty machine, as far as was looked.
    failure
        Which constraint failed to say; empty if none did.
    """

    uses: tuple[tuple[Quota, int], ...] = ()
    latest_end: int | None = None
    never: str = ""
    failure: str = ""
    first: int = _UNKNOWN


def bound_of(entry: Waiting) -> int:
    """Return for how long a job may run: its requested time, or its prediction if that is longer."""
    return max(entry.job.walltime, entry.predicted)


class SiteRules:
    """The constraints of a dispatcher, through a simulation.

    Attributes
    ----------
    constraints
        The constraints.
    most
        How much there is of what jobs have been seen to take.
    """

    def __init__(self, constraints: Sequence[SiteConstraint]) -> None:
        self.constraints = tuple(constraints)
        self.timed = [part for part in constraints if overrides(part, "earliest")]
        self.closing = [part for part in constraints if overrides(part, "closed")]
        self.weighing = [part for part in constraints if overrides(part, "factor")]
        self.planning = [part for part in constraints if isinstance(part, PlanConstraint)]

    def reset(self, machine: Machine) -> None:
        """Begin a simulation.

        Raises
        ------
        InputError
            If a constraint does not fit the machine.
        """
        self.machine = machine
        self.calls = PlugInCalls("constraint")
        self.most: dict[Quota, int] = {}
        self._said: dict[tuple[int, int], Said] = {}
        self._placed: dict[tuple[object, ...], int | None] = {}
        self._announced: tuple[int | None, int | None] = None, None
        self._in_vain = 0, 0
        for part in self.constraints:
            PlugInCalls("constraint").call(part, part.reset, machine)

    def of(self, entry: Waiting, now: int) -> Said:
        """Return what is said of a waiting job, with whether it can ever start from `now` on."""
        key = entry.order, entry.job.walltime
        said = self._said.get(key)
        if said is not None and (said.never or said.first >= now or not (self.closing or self.timed)):
            return said
        try:
            if said is None:
                said = self._ask(entry.job)
            elif not self.closing and self.earliest(entry.job, now) <= now:
                return said
            if not said.never:
                said = self._place(entry, now, said)
        except PlugInError as error:
            return Said(failure=str(error))
        self._said[key] = said
        return said

    def of_running(self, run: Running | Waiting) -> Said:
        """Return what is said of a running job, or of one for which closed nodes do not count."""
        key = run.order, run.job.walltime
        if key not in self._said:
            try:
                self._said[key] = self._ask(run.job)
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

    def in_vain(self, idle: bool, now: int, start: int | None, change: int | None) -> bool:
        """Return whether the machine has stood idle at too many times that were announced, one after the other.

        Parameters
        ----------
        idle
            Whether nothing runs and nothing starts now.
        now, start, change
            This decision's time; when the plan starts its next job, and a constraint may admit more.
        """
        starts, changes = (
            count + (time is not None and time <= now) if idle else 0
            for count, time in zip(self._in_vain, self._announced, strict=True)
        )
        self._announced, self._in_vain = (start, change), (starts, changes)
        return starts > _STARTS or changes > _CHANGES

    def earliest(self, job: JobView, now: int) -> int:
        """Return when a job may start, from `now` on."""
        return max((self.calls.call(part, checked_earliest, part, job, now) for part in self.timed), default=now)

    def closures(self, begin: int, end: int, parts: Iterable[SiteConstraint] | None = None) -> list[Closed]:
        """Return what is closed at some time in [begin, end)."""
        found: list[Closed] = []
        for part in self.closing if parts is None else parts:
            found += self.calls.call(part, checked_closed, part, begin, end, self.machine.nodes)
        return found

    def factor(self, job: JobView, now: int) -> float:
        """Return by what the cost of a second's delay of a job is multiplied."""
        factor = 1.0
        for part in self.weighing:
            factor *= self.calls.call(part, checked_factor, part, job, now)
        return factor

    def too_late(self, entry: Waiting, now: int) -> str:
        """Return which constraint a job that starts now would end too late for."""
        bound, end = bound_of(entry), self.of(entry, now).latest_end
        found = (
            label(part)
            for part in self.constraints
            if self.calls.call(part, checked_latest_end, part, entry.job) == end
        )
        return f"constraint {next(found)}: must have ended by {end}, and may run for {bound} s from {now} on"

    def _place(self, entry: Waiting, now: int, said: Said) -> Said:
        """Note when a job could start on the empty machine, or which constraints leave it no place ever."""
        first = self.first_start(entry, now, self.constraints)
        return said._replace(never=self._never(entry, now)) if first is None else said._replace(first=first)

    def _never(self, entry: Waiting, now: int) -> str:
        """Return which constraint, or which of them together, leave a job no place on the empty machine."""
        for part in self.constraints:
            if self.first_start(entry, now, (part,)) is None:
                return f"constraint {label(part)}: leaves it no place ever"
        for pair in combinations(self.constraints, 2):
            if self.first_start(entry, now, pair) is None:
                return f"constraints {label(pair[0])} and {label(pair[1])} exclude each other for it"
        return f"constraints {', '.join(map(label, self.constraints))} leave it no place together"

    def first_start(self, entry: Waiting, now: int, parts: Sequence[SiteConstraint]) -> int | None:
        """Return when a job could start on the empty machine if only some constraints counted, or ``None``.

        Of jobs that are alike and may start and end whenever they like, the first one is asked for.
        """
        job, bound, time = entry.job, bound_of(entry), now
        ends = [self.calls.call(part, checked_latest_end, part, job) for part in parts]
        last = min([now + _AHEAD, *(end - bound for end in ends if end is not None)])
        timed, closing = ([part for part in parts if part in known] for known in (self.timed, self.closing))
        shape = entry.nodes, entry.demand, bound, *map(id, closing)
        known = self._placed.get(shape, _UNKNOWN) if not timed and last == now + _AHEAD else _UNKNOWN
        if known is None or known >= now:
            return known
        found = None
        for _ in range(_TRIES):
            later = max((self.calls.call(part, checked_earliest, part, job, time) for part in timed), default=time)
            if later > last:
                break
            windows = self.closures(later, later + bound, closing) if later == time else []
            if later == time and (not windows or self._fits(entry.nodes, entry.demand, windows)):
                found = later
                break
            time = min((window.end for window in windows), default=later)
        if not timed and last == now + _AHEAD:
            self._placed[shape] = found
        return found

    def _fits(self, nodes: int, demand: tuple[int, ...], windows: Sequence[Closed]) -> bool:
        left = self.machine.capacity - np.minimum(closed_amounts(windows, None, self.machine), self.machine.capacity)
        return int(count_slots(left, demand).sum()) >= nodes


def open_until(closures: Sequence[Closed], now: int, nodes: int) -> IntArray:
    """Return how many seconds from now each node stays open, shape (nodes,); the largest integer if none closes it."""
    left = np.full(nodes, np.iinfo(np.int64).max)
    for closed in closures:
        if closed.amounts is not None:
            continue
        chosen = np.asarray(closed.nodes)
        left[chosen] = np.minimum(left[chosen], max(closed.begin - now, 0))
    return left


@dataclass
class PlannedConstraint:
    """A constraint of a site on a plan, as the models know it; what fails admits nothing.

    Attributes
    ----------
    part
        The constraint.
    view
        The jobs.
    calls
        What calls it.
    fail
        Told why it failed.
    """

    part: PlanConstraint
    view: PlanView
    calls: PlugInCalls
    fail: Callable[[str], None]

    def add_to(self, variables: Variables) -> None:
        """Add it to the model."""
        try:
            self.calls.call(self.part, self.part.add_to, self.view.model(variables))
        except PlugInError as error:
            self.fail(str(error))

    def holds(self, schedule: Schedule) -> bool:
        """Return whether a schedule meets it."""
        try:
            return self.calls.call(self.part, checked_holds, self.part, self.view.schedule(schedule))
        except PlugInError as error:
            self.fail(str(error))
            return False


class Restrictions:
    """The constraints at one decision.

    Nodes that will be closed are told apart by a resource for each time at which some close: a job that may run for
    longer asks for a unit a slot of it, of which the nodes that close by then have none left. So whatever places jobs
    keeps them off.

    Parameters
    ----------
    rules
        The constraints.
    state
        Now.

    Attributes
    ----------
    queue
        The jobs that are neither rejected nor held back.
    rejected
        Jobs that can never start, and why.
    failure
        Which constraint failed; empty if none did.
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
        self._blocked: dict[int, str] = {}
        self._next: int | None = None
        self._taken: Counter[Quota] = Counter()
        for run in state.running:
            self._taken.update(dict(rules.of_running(run).uses))
        queue = [entry for entry in state.queue if self._judge(entry)]
        self.closures, shut = self._closures(queue)
        self.queue: Sequence[Waiting] = [] if shut else queue

    @cached_property
    def _beside(self) -> Surroundings:
        """The jobs by id, which constraints on whole plans are shown."""
        return surroundings(self.given)

    @cached_property
    def state(self) -> State:
        """The state with these resources, and without the jobs that are rejected or held back."""
        return shown_state(self.given, self.queue, self.closures)

    @cached_property
    def allowed(self) -> BoolArray:
        """Which jobs of its queue may start now, as far as constraints tell beside the nodes, shape (jobs,)."""
        return np.array([self.admits(entry) for entry in self.state.queue], dtype=np.bool_)

    def answer(self, starts: Sequence[Start]) -> list[Action]:
        """Return these starts, what is rejected, and when to look again: a closure ends, or a job may start."""
        actions: list[Action] = [*starts, *self.rejected]
        now, left = self.given.now, len(self.given.queue) - len(actions)
        times = [closed.end for closed in self.closures if closed.end > now]
        times += [time for time in self._earliest.values() if time > now]
        changes = self._changes()
        times += [*changes, *([] if self._next is None else [self._next])]
        if self.planned:
            idle = not (starts or len(self.given.running))
            in_vain = self.rules.in_vain(idle, now, self._next, min(changes, default=None))
            if idle and (in_vain or not times):
                actions += self._never_admitted(in_vain)
        return [*actions, Wake(min(times))] if times and left else actions

    def _never_admitted(self, in_vain: bool) -> list[Reject]:
        """Return the waiting jobs that constraints on plans keep from an empty machine for good, and why.

        Those are all of the plan if the machine has waited in vain, or else those that were to start.
        """
        reasons = dict(self._blocked)
        if in_vain:
            names, now = ", ".join(map(label, self.rules.planning)), self.given.now
            planned = {job.job.id for job in self._planned}
            reasons |= {
                entry.order: f"constraint {names}: puts it off again and again, at {now} s on an empty machine"
                for entry in self.given.queue
                if entry.job.id in planned
            }
        return [Reject(entry, reasons[entry.order]) for entry in self.given.queue if entry.order in reasons]

    # Who may start.

    def _judge(self, entry: Waiting) -> bool:
        """Return whether a waiting job may ever start; reject it if not, hold it back if a constraint fails."""
        now, said = self.given.now, self.rules.of(entry, self.given.now)
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
            never = "" if len(self.given.running) else failure  # Nothing would ever call again.
        if never:
            self.rejected.append(Reject(entry, never))
        return not (never or failure)

    def _closures(self, queue: Sequence[Waiting]) -> tuple[list[Closed], bool]:
        """Return what a job could reach that starts by the time all that runs has ended, and whether none may start.

        None may where a constraint fails to say what is closed.
        """
        now = self.given.now
        if not self.rules.closing or not queue:
            return [], False
        longest = max(map(bound_of, queue))
        reach = int(self.given.running.predicted_end.max(initial=now)) - now + longest
        try:
            return self.rules.closures(now, now + reach), False
        except PlugInError as error:
            if not len(self.given.running):
                raise InputError(str(error)) from error
            self.failure = str(error)
            return [], True

    def admits(self, entry: Waiting) -> bool:
        """Return whether a job may start now beside what runs and what was taken, on nodes that are open."""
        return self._earliest[entry.order] <= self.given.now and self.has_quotas(entry)

    def has_quotas(self, entry: Waiting) -> bool:
        """Return whether what a job uses is there beside what runs and what was taken."""
        return all(take <= self.left(what) for what, take in self.uses_of(entry))

    def take_quotas(self, uses: Sequence[tuple[Quota, int]]) -> bool:
        """Take so much of quotas, if it is there; return whether it is."""
        there = all(take <= self.left(what) for what, take in uses)
        if there:
            self._taken.update(dict(uses))
        return there

    def uses_of(self, entry: Waiting) -> tuple[tuple[Quota, int], ...]:
        """Return what a job uses of the quotas."""
        return self.rules.of(entry, self.given.now).uses

    def left(self, quota: Quota) -> int:
        """Return how much of a quota is left."""
        return self.rules.most[quota] - self._taken[quota]

    def together(self, entries: Sequence[Waiting]) -> bool:
        """Return whether jobs may all start now, as far as constraints tell beside the nodes."""
        taken: Counter[Quota] = Counter()
        for entry in entries:
            taken.update(dict(self.uses_of(entry)))
        return all(map(self.admits, entries)) and all(take <= self.left(what) for what, take in taken.items())

    # What is planned.

    @property
    def planned(self) -> bool:
        """Whether only a plan tells which jobs may start."""
        return bool(self.rules.planning)

    def _of_plan(self, waiting: Sequence[Waiting], problem: Problem) -> list[PlannedConstraint]:
        """Return the constraints that see the whole plan of some jobs."""
        view = PlanView(self._beside, waiting, problem)
        self._planned = [PlannedJob(entry.job, entry.predicted) for entry in waiting]
        return [PlannedConstraint(part, view, self.rules.calls, self._fail) for part in self.rules.planning]

    def follow(self, answer: Answer, waiting: Sequence[Waiting]) -> None:
        """Note when the plan starts its next job, or that no schedule was found that meets the constraints."""
        if answer.schedule is not None:
            later = answer.schedule.starts[answer.schedule.starts > 0]
            self._next = self.given.now + int(later.min()) if len(later) else None
        elif not self.failure:
            names, ids = ", ".join(map(label, self.rules.planning)), [entry.job.id for entry in waiting]
            found = "no schedule meets it" if answer.status is Status.INFEASIBLE else "no schedule was found"
            more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
            self.failure = f"constraint {names} at {self.given.now} s for job {ids[0]}{more}: {found}"

    def takes(self, entry: Waiting, placement: Placement | None) -> bool:
        """Take what a job uses that starts now at a place, if all constraints on plans admit that."""
        nodes = () if placement is None else tuple(np.asarray(placement).tolist())
        start = PlannedJob(entry.job, entry.predicted, 0, nodes)
        others = [job for job in self._planned if job.job.id not in self._starting and job.job.id != entry.job.id]
        plan = planned_jobs(self._beside, [*others, *self._starting.values(), start]) if self.planned else None
        for part in self.rules.planning:
            try:
                if self.rules.calls.call(part, checked_holds, part, plan):
                    continue
                self._blocked.setdefault(entry.order, f"constraint {label(part)}: never admits it")
            except PlugInError as error:
                self._fail(str(error))
                self._blocked.setdefault(entry.order, str(error))
            return False
        self._starting[entry.job.id] = start
        self._taken.update(dict(self.uses_of(entry)))
        return True

    def _fail(self, reason: str) -> None:
        self.failure = self.failure or reason

    def _changes(self) -> list[int]:
        """Return when constraints on plans may admit more, as they say."""
        now, times = self.given.now, []
        for part in self.rules.planning:
            try:
                change = self.rules.calls.call(part, checked_next_change, part, now)
                times += [] if change is None else [change]
            except PlugInError as error:
                self._fail(str(error))
        return times

    def narrow(
        self, problem: Problem, waiting: Sequence[Waiting], overdue: bool
    ) -> tuple[Problem, list[PlannedConstraint]]:
        """Return the problem in which the constraints count as well, and those that see the whole plan.

        A job that could reach the next closure if it ran for all that it requested is planned with that.

        Parameters
        ----------
        problem, waiting
            The jobs, as in the state, on a pool or on nodes.
        overdue
            As for :func:`.problems.problem_of`.
        """
        now, bounds = self.given.now, np.array([bound_of(entry) for entry in waiting], dtype=np.int64)
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
        return problem, self._of_plan(waiting, problem)

    def relaxed(self, problem: Problem) -> Problem:
        """Return the problem in which jobs may start after their latest time, where no schedule was found otherwise.

        Those that are planned too late are not started then, and rejected.
        """
        if int(problem.latest.min(initial=WHENEVER)) == WHENEVER:
            return problem
        self.failure = self.failure or "no schedule keeps every deadline"
        return replace(problem, latest=np.full(problem.jobs, WHENEVER))

    def _hold_closed(self, problem: Problem, overdue: bool) -> Problem:
        """Hold what is closed, as far as what runs there does not hold it already."""
        state = self.given
        busy = held(state.running, state.now, state.machine.capacity, pooled=False, overdue=overdue)
        rows = closed_rows(self.closures, state, busy)
        if problem.nodes == 1:
            rows = summed(rows)
        amount = np.pad(rows.amount, ((0, 0), (0, problem.capacity.shape[1] - rows.amount.shape[1])))
        return replace(
            problem,
            held_from=np.append(problem.held_from, rows.begin), held_to=np.append(problem.held_to, rows.end),
            held_node=np.append(problem.held_node, rows.node),
            held_amount=np.append(problem.held_amount, amount, axis=0),
        )  # fmt: skip

    def _limited(self, problem: Problem, waiting: Sequence[Waiting]) -> Problem:
        """Add the quotas of which the jobs and what runs could take more than there is."""
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
    """Return the state with another queue, and with resources that tell apart nodes that will be closed.

    Of closures that take amounts, such a resource is what they leave of one at their begin.
    """
    nodes, bounds = state.machine.nodes, np.array([bound_of(entry) for entry in queue], dtype=np.int64)
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
    machine = Machine((*state.machine.resources, *names), np.append(state.machine.capacity, there, axis=1))
    asked = (bounds[:, None] > times).astype(np.int64)
    for time, resource, _ in partial:
        need = np.array([entry.demand[resource] for entry in queue], dtype=np.int64)
        asked = np.column_stack((asked, np.where(bounds > time, need, 0)))
    entries = [entry.shown_as(demand=(*entry.demand, *more)) for entry, more in zip(queue, asked.tolist(), strict=True)]
    free = np.append(state.free, left, axis=1)
    return State(state.now, entries, WidenedJobs(state.running, len(names)), free, machine)


def _left_at_begins(state: State, closures: Sequence[Closed], longest: int) -> list[tuple[int, int, IntArray]]:
    """Return for closures of amounts that begin within some time: when, of which resource, and what is left there.

    What runs beyond the begin by its walltime, and is in no reservation, counts where something is closed.
    """
    now, machine, found = state.now, state.machine, []
    begins = {max(closed.begin - now, 0) for closed in closures if closed.amounts is not None}
    for time in sorted(begin for begin in begins if begin < longest):
        closed, left = closed_amounts(closures, now + time, machine), machine.capacity.copy()
        for run in state.running:
            if run.walltime_end(now) > now + time and not run.job.reservation:
                shift(left, run.placement, run.demand, -1)
        for resource in np.flatnonzero(closed.any(axis=0)).tolist():
            rest = np.maximum(left[:, resource] - closed[:, resource], 0)
            found.append((time, resource, np.where(closed[:, resource] > 0, rest, machine.capacity[:, resource])))
    return found


class WidenedJobs(RunningJobs[Running]):
    """Running jobs that ask for nothing of some more resources."""

    def __init__(self, jobs: RunningJobs[Running], more: int) -> None:
        super().__init__(list(jobs), jobs.demand.shape[1])
        self._more = more

    @property
    def demand(self) -> IntArray:
        """What a slot asks for, shape (jobs, resources)."""
        return np.pad(super().demand, ((0, 0), (0, self._more)))
