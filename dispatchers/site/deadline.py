"""Deadlines of jobs."""

import math
from fnmatch import fnmatchcase
from typing import Literal

from ...base import check_choice, check_number, check_whole
from ..protocol import JobView
from .site_constraints import SiteConstraint


class JobPattern:
    """Jobs whose name, queue and user match patterns with ``*`` and ``?``."""

    def __init__(self, job: str = "*", queue: str = "*", user: str = "*") -> None:
        self.job = job
        self.queue = queue
        self.user = user

    def matches(self, job: JobView) -> bool:
        """Return whether a job matches."""
        named = ((job.name, self.job), (job.queue, self.queue), (job.user, self.user))
        return all(fnmatchcase(value, pattern) for value, pattern in named)


class Deadline(SiteConstraint):
    """Requires that jobs end by a time: some seconds after their submission, or one time for all.

    Hard: a job does not start if it could end later, by its walltime. Once this is so, it is rejected. With
    ``overrun=kill`` no job ends late. Plans start no such job after its latest start. If no plan can meet all
    deadlines, this condition is dropped.

    Soft: a second of delay costs ``1 + weight * exp(-max(0, slack) / (k * walltime))`` times as much. Slack is the time
    until the job's latest start. It is the urgency of the apparent tardiness cost rule (Vepsalainen and Morton,
    Management Science 33, 1987). Nothing is rejected.

    Parameters
    ----------
    within
        Seconds after submission, above 0.
    at
        Seconds on the simulation's clock. If both are given, the earlier counts.
    kind
        ``"hard"`` or ``"soft"``.
    job, queue, user
        Applies only to jobs whose name, queue and user match these patterns.
    weight, k
        Parameters of the soft kind, above 0.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers.cp import HCP3, Deadline
    >>> from hpcdispatch.testing import tiny
    >>> result = hd.simulate(tiny(), HCP3(constraints=[Deadline(within=150)]), overrun="kill")
    >>> result.jobs[["id", "start", "status"]]
      id  start     status
    0  a      0  completed
    1  b      0  completed
    2  c    100  completed
    3  d     20  completed
    4  e     -1   rejected
    """

    name = "deadline"

    def __init__(
        self,
        within: int | None = None,
        at: int | None = None,
        kind: Literal["hard", "soft"] = "hard",
        job: str = "*",
        queue: str = "*",
        user: str = "*",
        weight: float = 10.0,
        k: float = 2.0,
    ) -> None:
        if within is None and at is None:
            raise ValueError("within or at must be given, got neither")
        self.within = None if within is None else check_whole("within", within, 1)
        self.at = None if at is None else check_whole("at", at, 0)
        check_choice("kind", kind, ("hard", "soft"))
        check_number("weight", weight, above=0)
        check_number("k", k, above=0)
        self.kind = kind
        self.weight = weight
        self.k = k
        self.which = JobPattern(job, queue, user)

    def due(self, job: JobView) -> int | None:
        """Return when a job must have ended, or ``None``."""
        if not self.which.matches(job):
            return None
        times = (None if self.within is None else job.submit + self.within, self.at)
        return min(time for time in times if time is not None)

    def latest_end(self, job: JobView) -> int | None:
        """Return when a job must have ended, for the hard kind."""
        return self.due(job) if self.kind == "hard" else None

    def factor(self, job: JobView, now: int) -> float:
        """Return the urgency, for the soft kind."""
        due = self.due(job) if self.kind == "soft" else None
        if due is None:
            return 1.0
        slack = max(0, due - job.walltime - now)
        return 1 + self.weight * math.exp(-slack / (self.k * job.walltime))
