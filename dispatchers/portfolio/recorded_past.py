"""What really happened of late: who came when, what was done with it, and how long it ran as far as that is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

import numpy as np

from ...base import BoolArray
from ...models.portfolio import Outcome
from ...workloads import Job, Machine, Shape
from ..protocol import Action, Dispatcher, JobView, Reject, Running, Start, State, Stop, Waiting, id_of

#: What dispatchers are shown of a job as it is.
_SHOWN = sorted(set(JobView.__slots__) - {"shapes", "law"})
#: What a job that is in the queue has no more, or is not shown: what it waited for before, and the like.
_NOT_SHOWN: Mapping[str, Any] = {
    each.name: each.default for each in fields(Job) if each.name not in {*JobView.__slots__, "runtime"}
}
#: What was done when.
Done = tuple[int, Start | Stop]


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """A stretch of the past, for replays.

    Attributes
    ----------
    machine
        What the jobs ran on.
    jobs
        Those that had not left when the stretch began and that were submitted before it ends, in order of submission,
        with their run times as far as these are known, else as predicted.
    predicted
        What was predicted of each when it came, seconds, by id.
    begin, end
        From when to when, seconds.
    script
        What was done with the jobs before it begins, in order of time.
    waiting
        Which of the jobs had not started when it began, shape (jobs,).
    predictor
        Who corrects predictions that were too short; ``None`` for that of the simulation.
    """

    machine: Machine
    jobs: Sequence[Job]
    predicted: Mapping[str, int]
    begin: int
    end: int
    script: Sequence[Done]
    waiting: BoolArray
    predictor: Any = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came out of a replay.

    Attributes
    ----------
    outcome
        ``None`` if there is none.
    decisions
        How many decisions it took.
    failure
        Why there is no outcome, one line; empty if the budget is spent, or if there is one.
    """

    outcome: Outcome | None
    decisions: int
    failure: str = ""


class Replay(Protocol):
    """Simulates a past under another dispatcher."""

    def __call__(self, past: Past, dispatcher: Dispatcher, budget: int) -> Replayed:
        """Return what becomes of the jobs if the dispatcher decides from the beginning of the stretch on.

        Until then is done what was done. It may take as many decisions as `budget` says.
        """
        ...


@dataclass(slots=True)
class RecordedJob:
    """A job as it was first seen, and what has become of it.

    Attributes
    ----------
    entry
        The job in the queue, as it came.
    done
        What was done with it.
    ended
        When it left, ``None`` if it has not.
    ran
        Its run time on its own request, seconds; until it has ended, as predicted.
    """

    entry: Waiting
    done: list[Done] = field(default_factory=list)
    ended: int | None = None
    ran: int = 0
    _job: Job | None = None

    @property
    def started(self) -> int | None:
        """When it started first."""
        return next((time for time, action in self.done if isinstance(action, Start)), None)

    def on_own_request(self, ran: int) -> int:
        """Return the run time on its own request, given that on the shape of its last start, seconds."""
        last = next((action.shape for _, action in reversed(self.done) if isinstance(action, Start)), None)
        if last is None:
            return ran
        return -(-ran * self.entry.predicted // max(1, self.entry.job.shapes[last].predicted))

    def job(self) -> Job:
        """Return it with its run time."""
        if self._job is None:
            self._job = job_of(self.entry, self.ran)
        elif self._job.runtime != self.ran:
            self._job = replace(self._job, runtime=self.ran, shapes=_shapes_of(self.entry, self.ran))
        return self._job


class NewJobs:
    """Those that came to the queue since somebody looked."""

    def __init__(self, entries: Iterable[Waiting]) -> None:
        self._new = list(entries)

    def changed(self, job: Waiting, came: bool) -> bool:
        """Take note of a job that came."""
        if came:
            self._new.append(job)
        return True

    def taken(self) -> list[Waiting]:
        """Return them, and begin anew."""
        new, self._new = self._new, []
        return new


class RecordedPast:
    """The jobs that have not left for longer than a window.

    Parameters
    ----------
    machine
        What they run on.

    Attributes
    ----------
    begin
        When it was looked at first, seconds.
    predicted
        Whether anything but its request has been predicted of a job so far.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.begin: int | None = None
        self.predicted = False
        self._jobs: dict[str, RecordedJob] = {}

    def see(self, state: State) -> None:
        """Take note of who is new, the first time also of what runs."""
        if self.begin is None:
            self.begin = state.now
            for run in state.running:
                self._jobs[run.id] = _standing(run, state)
        for entry in state.queue.followed(self, NewJobs).taken():
            self.predicted = self.predicted or entry.predicted != entry.walltime
            if entry.id not in self._jobs:
                self._jobs[entry.id] = RecordedJob(entry, ran=entry.done + entry.predicted)

    def act(self, now: int, actions: Sequence[Action]) -> None:
        """Take note of what is done."""
        for action in actions:
            if isinstance(action, Start):
                plain = replace(action, job=id_of(action.job), placement=np.array(action.placement, dtype=np.int64))
                self._note(plain.job, now, plain)
            elif isinstance(action, Stop):
                self._note(id_of(action.job), now, replace(action, job=id_of(action.job)))
            elif isinstance(action, Reject) and id_of(action.job) in self._jobs:
                self._jobs[id_of(action.job)].ended = now

    def _note(self, id_: str, now: int, action: Start | Stop) -> None:
        if id_ in self._jobs:
            self._jobs[id_].done.append((now, action))

    def end(self, id_: str, ran: int, now: int) -> None:
        """Take note that a job has ended, and how long it ran in all."""
        job = self._jobs.get(id_)
        if job is not None:
            job.ended, job.ran = now, job.on_own_request(ran)

    def look(self, state: State, since: int) -> None:
        """Take what is predicted now of the jobs that have not ended, and forget those that had left at a time.

        Of a job that has vanished without a word the run time is what was predicted.
        """
        here: dict[str, int] = {entry.id: entry.done + entry.predicted for entry in state.queue}
        here |= {run.id: _whole(run, state.now) for run in state.running}
        for id_, job in list(self._jobs.items()):
            if job.ended is None and id_ not in here:
                job.ended = state.now
            elif job.ended is None:
                job.ran = here[id_]
            if job.ended is not None and job.ended <= since:
                del self._jobs[id_]

    def ids(self) -> Iterable[str]:
        """Return the ids of the jobs that are remembered."""
        return self._jobs.keys()

    def longest_run(self) -> RecordedJob | None:
        """Return the job that ran longest, of those that have ended."""
        ended = [job for job in self._jobs.values() if job.ended is not None]
        return max(ended, key=lambda job: job.ran, default=None)

    def stretch(self, begin: int, end: int) -> Past:
        """Return what happened between two times."""
        chosen = [
            job
            for job in self._jobs.values()
            if job.entry.job.submit < end and (job.ended is None or job.ended > begin)
        ]
        chosen.sort(key=lambda job: (job.entry.job.submit, -job.entry.job.priority, job.entry.order))
        script = [done for job in chosen for done in job.done if done[0] < begin]
        script.sort(key=lambda done: done[0])
        started = [begin if job.started is None else job.started for job in chosen]
        predicted = {job.entry.id: job.entry.done + job.entry.predicted for job in chosen}
        jobs = [job.job() for job in chosen]
        return Past(self.machine, jobs, predicted, begin, end, script, np.array(started, dtype=np.int64) >= begin)


def _standing(run: Running, state: State) -> RecordedJob:
    """Return a job that runs already, as if it had been seen to come and to start."""
    own = state.machine.demand(run.job.per_node)
    entry = Waiting(run.job, _whole(run, state.now), run.job.submit, 0, run.order, own, run.job.law)
    asks = [(run.job.nodes, own), *((shape.nodes, shape.demand) for shape in run.job.shapes)]
    place = asks.index((run.nodes, run.demand)) if (run.nodes, run.demand) in asks else 0
    limit = None if run.kill_at is None else run.kill_at - run.start
    start = Start(run.id, run.placement.copy(), limit, place - 1 if place else None)
    return RecordedJob(entry, [(run.start, start)], ran=entry.predicted)


def _whole(run: Running, now: int) -> int:
    """Return how long a running job is predicted to run in all, seconds."""
    return max(1, run.done + run.expected_end(now) - run.start - run.restart)


def job_of(entry: Waiting, ran: int) -> Job:
    """Return a job of the queue as it was submitted, with what is known of its run time, seconds."""
    shown = {name: getattr(entry.job, name) for name in _SHOWN}
    return Job.trusted(**shown, **_NOT_SHOWN, runtime=ran, shapes=_shapes_of(entry, ran), law=entry.law)


def _shapes_of(entry: Waiting, ran: int) -> tuple[Shape, ...]:
    """Return the alternatives of a job, their run times in proportion to those predicted."""
    own = max(1, entry.predicted)
    return tuple(
        Shape(shape.nodes, -(-ran * shape.predicted // own), shape.walltime, shape.per_node)
        for shape in entry.job.shapes
    )
