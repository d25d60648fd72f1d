"""Decide when jobs enter the queue: begin times, dependencies on other jobs, and limits of arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ..workloads import Workload
from ..workloads.dependencies import Link
from ..workloads.fitting_requests import fitting_requests
from ..workloads.job import REACT
from ..workloads.job_columns import JobColumns
from .events.event_calendar import ELIGIBLE, EventCalendar
from .simulated_job import SimulatedJob

#: Status of a job that is held for ever. It meets no condition.
_HELD = "held"
#: Statuses of the other job that meet each condition. ``after`` is also met by its start.
_MEETS: Mapping[str, frozenset[str]] = {
    "after": frozenset(("completed", "killed", "rejected")),
    "afterok": frozenset(("completed",)),
    "afternotok": frozenset(("killed", "rejected")),
    "afterany": frozenset(("completed", "killed", "rejected")),
    "singleton": frozenset(("completed", "killed", "rejected")),
    REACT: frozenset(("completed", "killed", "rejected")),
}
#: A held job that can never enter the queue, and the reason.
Lost = tuple[SimulatedJob, str]


def has_rules(columns: JobColumns, arrays: bool) -> bool:
    """Return whether a job may have to wait before it enters the queue. Array limits count only with `arrays`."""
    fields = columns.depends, columns.begin, columns.hold
    return any(any(field.values) for field in fields) or (arrays and any("%" in each for each in columns.array.values))


def eligibility_of(workload: Workload, calendar: EventCalendar, arrays: bool) -> Eligibility | None:
    """Return the rules for entering the queue, ``None`` if every job enters at its submission.

    Parameters
    ----------
    workload, calendar
        The jobs, and the future events.
    arrays
        Whether the queue enforces limits of arrays. Otherwise the dispatcher does.
    """
    columns = workload.columns
    return Eligibility(workload, calendar, arrays) if has_rules(columns, arrays) else None


class Eligibility:
    """Holds jobs until they may enter the queue.

    Attributes
    ----------
    held
        Submitted jobs that are not in the queue yet, by place in the workload.
    """

    def __init__(self, workload: Workload, calendar: EventCalendar, arrays: bool) -> None:
        self.held: dict[int, SimulatedJob] = {}
        self._jobs = workload.jobs
        self._waits_for = waits_for = dict(workload.links)
        self._calendar = calendar
        self._scheduled: set[int] = set()
        self._lost: set[int] = set()
        self._started: dict[int, int] = {}
        self._ended: dict[int, tuple[str, int]] = {}
        self._limits: dict[str, int] = {}
        if arrays:
            limited = (each.split("%") for each in workload.columns.array.values if "%" in each)
            self._limits = {name: max(1, int(most)) for name, most in limited}
        #: Per array with a limit: the number of its tasks in the queue or on the machine, and the next tasks.
        self._inside: Counter[str] = Counter()
        self._behind: dict[str, list[SimulatedJob]] = {}
        self._children: dict[int, list[int]] = {}
        for place, listed in waits_for.items():
            for parent in {link.parent for link in listed}:
                self._children.setdefault(parent, []).append(place)
        for parent in sorted(self._children):
            job = self._jobs[parent]
            if not fitting_requests(job, workload.machine):
                self._ended[parent] = "rejected", job.submit
                self._hand_on(parent)

    def enter(self, job: SimulatedJob, now: int) -> tuple[bool, list[Lost]]:
        """Add a submitted job.

        Returns
        -------
        bool
            Whether it enters the queue at once. Otherwise it is held.
        list
            It and its dependents, if they can never enter.
        """
        if job.job.hold:
            return False, self._lose(job, "it is held and never released", _HELD, now)
        reason, at = self._outlook(job.order)
        if reason:
            return False, self._lose(job, reason, "rejected", now)
        if at is not None and max(at, job.job.begin) <= now:
            job.eligible = max(at, job.job.begin, job.queued_time)
            if self._has_room(job):
                return True, []
            self._scheduled.add(job.order)
        else:
            self._schedule(job, at, now)
        self.held[job.order] = job
        return False, []

    def started(self, order: int, now: int) -> None:
        """Record the first start of a job."""
        if order in self._children:
            self._started[order] = now
            self._look(order, now)

    def ended(self, job: SimulatedJob, status: str, now: int) -> list[Lost]:
        """Record that a job has left. Return held jobs that can no longer enter the queue."""
        order, name = job.order, self._array(job)
        if name and order not in self._lost:
            self._inside[name] -= 1
            if self._behind.get(name):
                self._calendar.add(now, ELIGIBLE, self._behind[name].pop(0))
        if order not in self._children:
            return []
        self._ended[order] = status, now
        return self._look(order, now)

    def release(self, job: SimulatedJob, now: int) -> bool:
        """Release a held job. Return whether it enters the queue; a limit of its array may prevent this."""
        if not self._has_room(job):
            return False
        del self.held[job.order]
        return True

    def rest(self, order: int) -> tuple[tuple[tuple[str, str, int], ...], int]:
        """Return the open dependencies of a job outside the queue, and its earliest time to enter."""
        left, begin = [], self._jobs[order].begin
        for link in self._waits_for.get(order, ()):
            at = self._met(link)
            if at is None:
                single = link.condition == "singleton"
                left.append(("" if single else self._jobs[link.parent].id, link.condition, link.delay))
            else:
                begin = max(begin, at)
        return tuple(dict.fromkeys(left)), begin

    def _look(self, order: int, now: int) -> list[Lost]:
        """Update the held jobs that depend on a job that has started or ended."""
        lost: list[Lost] = []
        for child in self._children[order]:
            job = self.held.get(child)
            if job is None or child in self._scheduled:
                continue
            reason, at = self._outlook(child)
            if reason:
                del self.held[child]
                lost += self._lose(job, reason, "rejected", now)
            else:
                self._schedule(job, at, now)
        return lost

    def _lose(self, job: SimulatedJob, reason: str, status: str, now: int) -> list[Lost]:
        self._lost.add(job.order)
        if status != _HELD:
            self._hand_on(job.order)
        return [(job, reason), *self.ended(job, status, now)]

    def _hand_on(self, order: int) -> None:
        """Let singletons behind a job that never enters the queue wait for the jobs that it waits for."""
        behind = [link for link in self._waits_for.get(order, ()) if link.condition == "singleton"]
        for child in self._children.get(order, ()):
            listed: list[Link] = []
            for link in self._waits_for[child]:
                listed.append(link)
                if link.condition == "singleton" and link.parent == order:
                    listed += [each._replace(delay=link.delay) for each in behind]
            if tuple(listed) != self._waits_for[child]:
                self._waits_for[child] = tuple(listed)
                for link in behind:
                    self._children[link.parent].append(child)

    def _array(self, job: SimulatedJob) -> str:
        """Return the array of a job, if the array has a limit."""
        name, _, limited = job.job.array.partition("%")
        return name if limited and name in self._limits else ""

    def _has_room(self, job: SimulatedJob) -> bool:
        """Admit a job if its array has room. Otherwise it follows when a task of the array leaves."""
        name = self._array(job)
        if not name:
            return True
        if self._inside[name] >= self._limits[name]:
            self._behind.setdefault(name, []).append(job)
            return False
        self._inside[name] += 1
        return True

    def _schedule(self, job: SimulatedJob, at: int | None, now: int) -> None:
        if at is not None:
            self._scheduled.add(job.order)
            job.eligible = max(at, job.job.begin, now)
            self._calendar.add(job.eligible, ELIGIBLE, job)

    def _outlook(self, order: int) -> tuple[str, int | None]:
        """Return why a job can never enter the queue, or when it may. ``None`` if the time is still unknown."""
        latest, open_ = 0, False
        for link in self._waits_for.get(order, ()):
            at = self._met(link)
            if at is not None:
                latest = max(latest, at)
            elif link.parent in self._ended:
                status = self._ended[link.parent][0]
                id_ = self._jobs[link.parent].id
                return f"its dependency {link.condition}:{id_} can never be met: job {id_} is {status}", None
            else:
                open_ = True
        return "", None if open_ else latest

    def _met(self, link: Link) -> int | None:
        """Return when a dependency is met, ``None`` if not yet or never."""
        if link.condition == "after" and link.parent in self._started:
            return self._started[link.parent] + link.delay
        status, at = self._ended.get(link.parent, ("", 0))
        return at + link.delay if status in _MEETS[link.condition] else None
