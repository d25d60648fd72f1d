"""Which waiting jobs are to be predicted anew, now that jobs like them have ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...workloads import Job

#: User, name and walltime.
_Kind = tuple[str, str, int]


@dataclass(slots=True)
class _Waiting:
    """Jobs of one kind that wait, how many of it have ended since they were due, and after how many they are due."""

    ids: dict[str, None] = field(default_factory=dict)
    ended: int = 0
    due: int = 1


class PredictedAnew:
    """Jobs are of a kind that have the same user, name and walltime.

    A job that comes with thousands of its kind is predicted before any of them has ended. So all that wait are due to
    be predicted anew after the first of their kind that ends, after two more, four more and so on, until none waits.
    """

    def __init__(self) -> None:
        self._kinds: dict[_Kind, _Waiting] = {}
        self._due: dict[str, None] = {}

    def wait(self, job: Job) -> None:
        """Take note of a job that waits."""
        self._kinds.setdefault(_kind_of(job), _Waiting()).ids[job.id] = None

    def leave(self, job: Job) -> None:
        """Take note of a job that no longer waits."""
        waiting = self._kinds[_kind_of(job)]
        del waiting.ids[job.id]
        self._due.pop(job.id, None)
        if not waiting.ids:
            del self._kinds[_kind_of(job)]

    def end(self, job: Job) -> None:
        """Take note of a job that has ended."""
        waiting = self._kinds.get(_kind_of(job))
        if waiting is None:
            return
        waiting.ended += 1
        if waiting.ended == waiting.due:
            waiting.ended, waiting.due = 0, 2 * waiting.due
            self._due |= waiting.ids

    def taken(self) -> Iterable[str]:
        """Return the ids of those that are due, and begin anew."""
        due, self._due = self._due, {}
        return due


def _kind_of(job: Job) -> _Kind:
    return job.user, job.name, job.walltime
