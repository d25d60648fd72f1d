"""Features of a job for learned predictors: one row of named columns, from its request and its user's past."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..workloads import Job

#: Numeric columns in order. ``ln`` is a tenth of ln(1 + x), at most 2.4 for times in seconds.
NUMBERS: Mapping[str, str] = {
    "walltime": "ln of the walltime, seconds",
    "nodes": "ln of the node slots",
    "cores": "ln of the cores of all slots; of the slots where a job asks for no cores",
    "hour_sin": "sine of the hour of submission",
    "hour_cos": "cosine of the hour of submission",
    "weekday": "day of the week of submission, 0 to 1, on the clock of the trace",
    "user_jobs": "ln of how many jobs of the user have ended",
    "user_last": "ln of the run time of the user's last job; of the walltime without one",
    "user_last2": "the same of the mean of the last two",
    "user_ratio": "recent mean of ln(run time / walltime) of the user, a tenth; 0 without a job",
    "user_error": "recent mean distance of the user's ln(run time / walltime) from that mean, a tenth",
    "user_idle": "ln of the seconds since the user's last job ended; 0 without one",
    "name_last": "ln of the run time of the user's last job of this name; that of the user without one",
    "name_ratio": "as user_ratio, of the user's jobs of this name; that of the user without one",
    "same_last": "as name_last, of the user's jobs of this name, walltime and size; that of the name without one",
    "user_running": "ln of how many jobs of the user run",
    "user_running_cores": "ln of the cores that they have",
    "user_longest": "ln of the seconds for which the one that started first has run",
}
#: Text columns, as in the trace, "" if unknown.
TEXTS: Mapping[str, str] = {
    "user": "user",
    "group": "group",
    "name": "name of the job or its executable",
    "queue": "queue",
}
#: Field of a job that a column needs.
NEEDS = {name: "user" for name in NUMBERS if name.startswith("user_")}
NEEDS |= {"name_last": "name", "name_ratio": "name", "same_last": "name", **{name: name for name in TEXTS}}
_DAY = 86_400
#: Share of a new job in a recent mean.
_SHARE = 1 / 3
_Key = tuple[Any, ...]


def _ln(value: float) -> float:
    return math.log1p(value) / 10


class Features:
    """Columns of jobs, and the past from which they are computed.

    The past holds what a scheduler knows at that time: ended jobs and running jobs. The run time of a job is first read
    in :meth:`observe`, after its end.
    """

    def __init__(self) -> None:
        #: By key, such as a user: jobs, last two run times, mean of ln(run time / walltime), error, last end.
        self._past: dict[_Key, tuple[int, int, int, float, float, int]] = {}
        #: By user: running jobs by id, with start and cores.
        self._running: dict[str, dict[str, tuple[int, int]]] = {}

    def row(self, job: Job, now: int) -> list[Any]:
        """Return the columns of a job at a time: those of :data:`NUMBERS`, then those of :data:`TEXTS`."""
        none = (0, job.walltime, job.walltime, 0.0, 0.0, now)
        user_key, name_key, same_key = _keys(job)
        user = self._past.get(user_key, none)
        name = self._past.get(name_key, user)
        same = self._past.get(same_key, name)
        running = self._running.get(job.user)
        mine = running.values() if running else ()
        hour = 2 * math.pi * (job.submit % _DAY) / _DAY
        return [
            _ln(job.walltime),
            _ln(job.nodes),
            _ln(cores_of(job)),
            math.sin(hour),
            math.cos(hour),
            job.submit // _DAY % 7 / 6,
            _ln(user[0]),
            _ln(user[1]),
            _ln((user[1] + user[2]) / 2),
            user[3] / 10,
            user[4] / 10,
            _ln(max(0, now - user[5])),
            _ln(name[1]),
            name[3] / 10,
            _ln(same[1]),
            _ln(len(mine)),
            _ln(sum(cores for _, cores in mine)),
            _ln(max(0, now - min(start for start, _ in mine))) if mine else 0.0,
            job.user,
            job.group,
            job.name,
            job.queue,
        ]

    def started(self, job: Job, now: int) -> None:
        """Record that a job runs."""
        self._running.setdefault(job.user, {})[job.id] = now, cores_of(job)

    def stopped(self, job: Job) -> None:
        """Record that a job no longer runs."""
        self._running.get(job.user, {}).pop(job.id, None)

    def ended(self) -> Features:
        """Return the past without the jobs that run."""
        made = Features()
        made._past = dict(self._past)
        return made

    def move(self, seconds: int) -> None:
        """Move the past on the clock. Nothing runs in it."""
        self._past = {key: (*each[:5], each[5] + seconds) for key, each in self._past.items()}
        self._running.clear()

    def observe(self, job: Job, now: int) -> None:
        """Learn the run time of an ended job."""
        self.stopped(job)
        ratio = math.log(max(1, job.runtime) / job.walltime)
        for key in _keys(job):
            count, last, _, mean, error, _ = self._past.get(key, (0, job.runtime, 0, ratio, 0.0, 0))
            error += _SHARE * (abs(ratio - mean) - error)
            self._past[key] = count + 1, job.runtime, last, mean + _SHARE * (ratio - mean), error, now


def cores_of(job: Job) -> int:
    """Return the cores of all slots of a job. Without requested cores, its slots."""
    return job.nodes * (job.per_node.get("core", 0) or 1)


def _keys(job: Job) -> tuple[_Key, _Key, _Key]:
    user, name = job.user, job.name
    return (user,), (user, name), (user, name, job.walltime, job.nodes)
