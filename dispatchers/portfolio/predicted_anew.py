"""Waiting jobs to predict again after similar jobs have ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...workloads import Job

#: User, name and walltime.
_Kind = tuple[str, str, int]


@dataclass(slots=True)
class _Waiting:
    """Waiting jobs of one kind, ends of this kind since the last prediction, and ends until the next."""

    ids: dict[str, None] = field(default_factory=dict)
    ended: int = 0
    due: int = 1


class PredictedAnew:
    """Kinds of jobs by user, name and walltime.

    A job that arrives with thousands of its kind is predicted before any has ended. So all waiting jobs of a kind are
    predicted again after the first end, after two more, four more and so on.
    """

    def __init__(self) -> None:
        self._kinds: dict[_Kind, _Waiting] = {}
        self._due: dict[str, None] = {}

    def wait(self, job: Job) -> None:
        """Record a waiting job."""
        self._kinds.setdefault(_kind_of(job), _Waiting()).ids[job.id] = None

    def leave(self, job: Job) -> None:
        """Record a job that no longer waits."""
        waiting = self._kinds[_kind_of(job)]
        del waiting.ids[job.id]
        self._due.pop(job.id, None)
        if not waiting.ids:
            del self._kinds[_kind_of(job)]

    def end(self, job: Job) -> None:
        """Record an ended job."""
        waiting = self._kinds.get(_kind_of(job))
        if waiting is None:
            return
        waiting.ended += 1
        if waiting.ended == waiting.due:
            waiting.ended, waiting.due = 0, 2 * waiting.due
            self._due |= waiting.ids

    def taken(self) -> Iterable[str]:
        """Return the ids of jobs to predict again, and reset them."""
        due, self._due = self._due, {}
        return due


def _kind_of(job: Job) -> _Kind:
    return job.user, job.name, job.walltime
