"""What the constraints of a dispatcher say of jobs, asked once a job and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...base import BoolArray, InputError, IntArray
from ...base.checks import LONGEST, check_number, check_whole, shown
from ...models import count_slots
from ...workloads import Machine
from ..protocol import JobView, Running, Waiting
from .site_constraints import Closed, SiteConstraint, checked_uses, label

T = TypeVar("T")
#: How far ahead a place is looked for before a job is said to have none, seconds, and after how many closures.
_AHEAD, _TRIES = 366 * 86400, 400
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
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
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
            raise failure(f"{self.kind} {label(part)}: {reason}") from error
        self._worked.add(key)
        return found


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
        self.timed = [part for part in constraints if _says(part, "earliest")]
        self.closing = [part for part in constraints if _says(part, "closed")]
        self.weighing = [part for part in constraints if _says(part, "factor")]

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

    def of_running(self, run: Running) -> Said:
        """Return what is said of a running job."""
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
            end = self.calls.call(part, _latest_end, part, job)
            if end is not None:
                ends.append(end)
        return Said(tuple(uses), min(ends, default=None), never)

    def earliest(self, job: JobView, now: int) -> int:
        """Return when a job may start, from `now` on."""
        return max((self.calls.call(part, _earliest, part, job, now) for part in self.timed), default=now)

    def closures(self, begin: int, end: int, parts: Iterable[SiteConstraint] | None = None) -> list[Closed]:
        """Return what is closed at some time in [begin, end)."""
        found: list[Closed] = []
        for part in self.closing if parts is None else parts:
            found += self.calls.call(part, _closed, part, begin, end, self.machine.nodes)
        return found

    def factor(self, job: JobView, now: int) -> float:
        """Return by what the cost of a second's delay of a job is multiplied."""
        factor = 1.0
        for part in self.weighing:
            factor *= self.calls.call(part, _factor, part, job, now)
        return factor

    def too_late(self, entry: Waiting, now: int) -> str:
        """Return which constraint a job that starts now would end too late for."""
        bound, end = bound_of(entry), self.of(entry, now).latest_end
        found = (label(part) for part in self.constraints if self.calls.call(part, _latest_end, part, entry.job) == end)
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
        ends = [self.calls.call(part, _latest_end, part, job) for part in parts]
        last = min([now + _AHEAD, *(end - bound for end in ends if end is not None)])
        timed, closing = ([part for part in parts if part in known] for known in (self.timed, self.closing))
        shape = entry.nodes, entry.demand, bound, *map(id, closing)
        known = self._placed.get(shape, _UNKNOWN) if not timed and last == now + _AHEAD else _UNKNOWN
        if known is None or known >= now:
            return known
        found = None
        for _ in range(_TRIES):
            later = max((self.calls.call(part, _earliest, part, job, time) for part in timed), default=time)
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
        there = np.ones(self.machine.nodes, dtype=np.bool_)
        for window in windows:
            there[np.asarray(window.nodes)] = False
        return int(count_slots(self.machine.capacity[there], demand).sum()) >= nodes


def open_until(closures: Sequence[Closed], now: int, nodes: int) -> IntArray:
    """Return how many seconds from now each node stays open, shape (nodes,); the largest integer if none closes it."""
    left = np.full(nodes, np.iinfo(np.int64).max)
    for closed in closures:
        chosen = np.asarray(closed.nodes)
        left[chosen] = np.minimum(left[chosen], max(closed.begin - now, 0))
    return left


def covered(closures: Sequence[Closed], time: int, nodes: int) -> BoolArray:
    """Return which nodes are closed at a time, shape (nodes,)."""
    mask = np.zeros(nodes, dtype=np.bool_)
    for closed in closures:
        if closed.begin <= time < closed.end:
            mask[np.asarray(closed.nodes)] = True
    return mask


def _says(part: SiteConstraint, method: str) -> bool:
    return getattr(type(part), method) is not getattr(SiteConstraint, method)


def _latest_end(part: SiteConstraint, job: JobView) -> int | None:
    end = part.latest_end(job)
    return None if end is None else check_whole("latest_end", end, 0)


def _earliest(part: SiteConstraint, job: JobView, now: int) -> int:
    return check_whole("earliest", part.earliest(job, now), now)


def _factor(part: SiteConstraint, job: JobView, now: int) -> float:
    factor = part.factor(job, now)
    check_number("factor", factor, above=0)
    return factor


def _closed(part: SiteConstraint, begin: int, end: int, nodes: int) -> list[Closed]:
    found = [_checked_closed(closed, nodes) for closed in part.closed(begin, end)]
    return [closed for closed in found if closed.begin < end and begin < closed.end]


def _checked_closed(given: Any, nodes: int) -> Closed:
    try:
        closed = Closed(*given)
        begin, end = check_whole("begin", closed.begin, -LONGEST, LONGEST), check_whole("end", closed.end, 0, LONGEST)
        known = np.asarray(closed.nodes)
        whole = known.ndim == 1 and known.dtype.kind in "iu" and known.size > 0
        if not whole or known.min() < 0 or known.max() >= nodes or end <= begin:
            raise ValueError
    except (TypeError, ValueError) as error:
        raise ValueError(f"closed: expected nodes in 0..{nodes - 1} and begin < end, got {shown(given)}") from error
    return Closed(closed.nodes, begin, end)
