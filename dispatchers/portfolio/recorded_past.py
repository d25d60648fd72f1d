"""Record of recent events: arrivals, actions, and run times as far as known."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

import numpy as np

from ...base import BoolArray
from ...models.portfolio.goals import ReplayMetrics
from ...workloads import Job, Machine, Shape
from ..columns import NewJobs
from ..protocol import Action, Dispatcher, JobView, Reject, Running, Start, State, Stop, Waiting, id_of

#: Fields of a job that dispatchers see unchanged.
_SHOWN = sorted(set(JobView.__slots__) - {"shapes", "law"})
#: Fields that a queued job no longer has, or that are hidden, such as dependencies.
_NOT_SHOWN: Mapping[str, Any] = {
    each.name: each.default for each in fields(Job) if each.name not in {*JobView.__slots__, "runtime"}
}
#: An action and its time.
Done = tuple[int, Start | Stop]


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """A period of the past, for replays.

    Attributes
    ----------
    machine
        Machine of the jobs.
    jobs
        Jobs submitted before the end that had not left at the begin, in order of submission. With their run times if
        known, else predictions.
    predicted
        Prediction of each job at its arrival, seconds, by id.
    begin, end
        Begin and end, seconds.
    script
        Actions before the begin, in order of time.
    waiting
        Which jobs had not started at the begin, shape (jobs,).
    predictor
        Predictor that corrects overrun predictions. ``None`` for the simulation's.
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
class ReplayResult:
    """Result of a replay.

    Attributes
    ----------
    outcome
        The outcome, or ``None``.
    decisions
        Number of decisions.
    failure
        Why there is no outcome, one line. Empty if the budget is used up, or if there is one.
    """

    outcome: ReplayMetrics | None
    decisions: int
    failure: str = ""


class Replay(Protocol):
    """Function that simulates a past under another dispatcher."""

    def __call__(self, past: Past, dispatcher: Dispatcher, budget: int) -> ReplayResult:
        """Return the outcome if the dispatcher decides from the begin of the period on.

        Earlier actions are repeated. At most `budget` decisions.
        """
        ...


@dataclass(slots=True)
class RecordedJob:
    """A job as first seen, and its later events.

    Attributes
    ----------
    entry
        Queue entry at its arrival.
    done
        Actions on it.
    ended
        When it left, or ``None``.
    ran
        Run time on its own request, seconds. The prediction until it has ended.
    """

    entry: Waiting
    done: list[Done] = field(default_factory=list)
    ended: int | None = None
    ran: int = 0
    _job: Job | None = None

    @property
    def started(self) -> int | None:
        """First start, or ``None``."""
        return next((time for time, action in self.done if isinstance(action, Start)), None)

    def on_own_request(self, ran: int) -> int:
        """Convert a run time on the shape of its last start to its own request, seconds."""
        last = next((action.shape for _, action in reversed(self.done) if isinstance(action, Start)), None)
        if last is None:
            return ran
        return -(-ran * self.entry.predicted // max(1, self.entry.job.shapes[last].predicted))

    def job(self) -> Job:
        """Return the job with its run time."""
        if self._job is None:
            self._job = job_of(self.entry, self.ran)
        elif self._job.runtime != self.ran:
            self._job = replace(self._job, runtime=self.ran, shapes=_shapes_of(self.entry, self.ran))
        return self._job


class RecordedPast:
    """Jobs that have not left before the window.

    Parameters
    ----------
    machine
        Machine of the jobs.

    Attributes
    ----------
    begin
        Time of the first look, seconds.
    predicted
        Whether any job had a prediction other than its walltime so far.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.begin: int | None = None
        self.predicted = False
        self._jobs: dict[str, RecordedJob] = {}

    def see(self, state: State) -> None:
        """Record new jobs, and at the first call also running ones."""
        if self.begin is None:
            self.begin = state.now
            for run in state.running:
                self._jobs[run.id] = _standing(run, state)
        for entry in state.queue.followed(self, NewJobs).taken():
            self.predicted = self.predicted or entry.predicted != entry.walltime
            if entry.id not in self._jobs:
                self._jobs[entry.id] = RecordedJob(entry, ran=entry.done + entry.predicted)

    def act(self, now: int, actions: Sequence[Action]) -> None:
        """Record actions."""
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
        """Record the total run time of an ended job."""
        job = self._jobs.get(id_)
        if job is not None:
            job.ended, job.ran = now, job.on_own_request(ran)

    def look(self, state: State, since: int) -> None:
        """Update predictions of jobs that have not ended, and drop jobs that left by `since`.

        A job that vanished without a report keeps its prediction as run time.
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
        """Return the ids of the recorded jobs."""
        return self._jobs.keys()

    def longest_run(self) -> RecordedJob | None:
        """Return the ended job with the longest run time."""
        ended = [job for job in self._jobs.values() if job.ended is not None]
        return max(ended, key=lambda job: job.ran, default=None)

    def stretch(self, begin: int, end: int) -> Past:
        """Return the past between two times."""
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
    """Return a running job as if its arrival and start had been recorded."""
    own = state.machine.demand(run.job.per_node)
    entry = Waiting(run.job, _whole(run, state.now), run.job.submit, 0, run.order, own, run.job.law)
    asks = [(run.job.nodes, own), *((shape.nodes, shape.demand) for shape in run.job.shapes)]
    place = asks.index((run.nodes, run.demand)) if (run.nodes, run.demand) in asks else 0
    limit = None if run.kill_at is None else run.kill_at - run.start
    start = Start(run.id, run.placement.copy(), limit, place - 1 if place else None)
    return RecordedJob(entry, [(run.start, start)], ran=entry.predicted)


def _whole(run: Running, now: int) -> int:
    """Return the predicted total run time of a running job, seconds."""
    return max(1, run.done + run.expected_end(now) - run.start - run.restart)


def job_of(entry: Waiting, ran: int) -> Job:
    """Return a queued job as submitted, with `ran` as its run time, seconds."""
    shown = {name: getattr(entry.job, name) for name in _SHOWN}
    return Job.trusted(**shown, **_NOT_SHOWN, runtime=ran, shapes=_shapes_of(entry, ran), law=entry.law)


def _shapes_of(entry: Waiting, ran: int) -> tuple[Shape, ...]:
    """Return a job's shapes, with run times in proportion to the predictions."""
    own = max(1, entry.predicted)
    return tuple(
        Shape(shape.nodes, -(-ran * shape.predicted // own), shape.walltime, shape.per_node)
        for shape in entry.job.shapes
    )
