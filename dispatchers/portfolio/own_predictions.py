"""View of a state with another predictor's answers instead of the simulation's."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, Protocol, runtime_checkable

from ...base import LONGEST, InputError, part_label
from ...base import shown as shown_value
from ...base.checks import is_number
from ...base.contracts import PredictorContract
from ...base.corrections import PredictorRegistry, correction_of
from ...base.errors import raised
from ...workloads import Job, Machine
from ..ordered_jobs import ChangesSeen, JobsOnMachine, WaitingQueue
from ..protocol import Action, Running, Start, State, Waiting, id_of
from .recorded_past import Past, job_of

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
            waiting.ended = 0
            waiting.due = 2 * waiting.due
            self._due |= waiting.ids

    def taken(self) -> Iterable[str]:
        """Return the ids of jobs to predict again, and reset them."""
        due, self._due = self._due, {}
        return due


def _kind_of(job: Job) -> _Kind:
    return job.user, job.name, job.walltime


#: Registered predictors. A separate instance, because dispatchers must not import predictors.
predictors = PredictorRegistry()


@runtime_checkable
class Predicting(Protocol):
    """Interface of a predictor here. It may have more, see :class:`.PredictorContract`."""

    def predict(self, job: Job, now: int) -> float:
        """Return the predicted run time of a job, seconds."""
        ...

    def observe(self, job: Job) -> None:
        """Learn from an ended job."""
        ...


def predictor_of(spec: str | Predicting) -> Predicting:
    """Create a registered predictor from ``NAME:key=value,...``, untrained. Of an object, return a copy.

    Raises
    ------
    InputError
        For an unknown name or option.
    """
    made = predictors.create(spec) if isinstance(spec, str) else deepcopy(spec)
    if isinstance(made, type) or not isinstance(made, Predicting):
        raise InputError(f"predictor: expected one with predict and observe, got {shown_value(spec)}")
    reset = PredictorContract(made).reset
    if reset is not None:
        try:
            reset()
        except Exception as error:
            raise InputError(f"predictor {part_label(spec)}: reset raised {raised(error)}") from error
    return made


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    """A waiting job: original, view, form for the predictor, and least prediction."""

    entry: Waiting
    shown: Waiting
    job: Job
    least: int


@dataclass(slots=True, eq=False)
class _Run:
    """A running job: original, view, and its queue entry. `unknown` if no end can be predicted."""

    run: Running
    shown: Running
    entry: _Entry | None
    unknown: bool = False


class OwnPredictions:
    """Predicts every arriving job, learns from ended ones, and shows states accordingly.

    Requests, actions and run-time laws stay unchanged. A prediction never exceeds the walltime. The predictor sees jobs
    with the simulation's prediction as run time, because the real one is unknown.

    Parameters
    ----------
    given
        ``NAME:key=value,...`` of the predictor, or an object, which is copied.
    machine
        Machine of the jobs.
    ended
        Earlier ended jobs, in order, to learn from.
    repredicts
        Whether waiting jobs are predicted again after ends of their kind, see :class:`.PredictedAnew`.

    Attributes
    ----------
    failure
        The error, one line. From then on, states are shown unchanged.
    """

    def __init__(
        self, given: str | Predicting, machine: Machine, ended: Iterable[Job] = (), repredicts: bool = False
    ) -> None:
        self.failure = ""
        self._name = part_label(given)
        self._predictor = predictor_of(given)
        self._correct = correction_of(self._predictor)
        self._queue = WaitingQueue(len(machine.resources))
        self._waiting = ChangesSeen[Waiting]()
        self._machine = JobsOnMachine(len(machine.resources))
        self._running = ChangesSeen[Running]()
        self._entries: dict[str, _Entry] = {}
        self._left: dict[str, _Entry] = {}
        self._runs: dict[str, _Run] = {}
        self._starts: dict[str, tuple[int, int | None]] = {}
        self._asks: dict[str, Job] = {}
        self._misses: Counter[str] = Counter()
        self._whole: dict[str, int] = {}
        self._anew = PredictedAnew()
        self._repredicts = repredicts
        for job in ended:
            self._asked("observe", self._predictor.observe, job, job.submit)

    def see(self, state: State) -> State:
        """Return the state with own predictions. The state itself after a failure of the predictor."""
        if not self.failure:
            self._see_queue(state)
            self._see_running(state)
            self._correct_ends(state.now)
        if self.failure:
            return state
        return state.showing(self._queue.shown, self._machine.shown)

    def act(self, now: int, actions: Sequence[Action]) -> None:
        """Record starts."""
        for action in actions:
            if isinstance(action, Start):
                self._starts[id_of(action.job)] = now, action.shape

    def ended(self, id_: str, ran: int, now: int) -> None:
        """Learn from an ended job's run time, after corrections due before."""
        asked = self._asks.pop(id_, None)
        _, shape = self._starts.pop(id_, (0, None))
        self._misses.pop(id_, None)
        if asked is not None and not self.failure:
            self._correct_ends(now - 1)
            self._asked("observe", self._predictor.observe, replace(asked.on_shape(shape), runtime=ran), now)
            if self._repredicts:
                self._anew.end(asked)

    def of_past(self, past: Past) -> Past:
        """Return a past with this predictor's predictions at arrival, or the last ones if it predicts again."""
        predicted = {id_: self._whole.get(id_, seconds) for id_, seconds in past.predicted.items()}
        return replace(past, predicted=predicted, predictor=self._predictor)

    def forget(self, ids: Iterable[str]) -> None:
        """Drop the predictions of all jobs except `ids`."""
        self._whole = {id_: self._whole[id_] for id_ in ids if id_ in self._whole}

    def _see_queue(self, state: State) -> None:
        present, touched = self._waiting.look(state.queue)
        for id_ in touched:
            entry = present.get(id_)
            known = self._entries.get(id_)
            if known is not None and known.entry is not entry:
                self._queue.remove(known.shown)
                self._anew.leave(known.job)
                self._left[id_] = self._entries.pop(id_)
            if entry is not None and id_ not in self._entries:
                job = job_of(entry, entry.done + entry.predicted)
                self._asks[id_] = job
                self._anew.wait(job)
                start, _ = self._starts.pop(id_, (entry.since, None))
                ran = 0 if entry.done else max(0, entry.since - start)  # before it returned after a kill at its limit
                self._enter(entry, job, ran + 1, state.now)
        for id_ in self._anew.taken():
            known = self._entries[id_]
            self._queue.remove(known.shown)
            self._enter(known.entry, known.job, known.least, state.now)

    def _enter(self, entry: Waiting, known: Job, least: int, now: int) -> None:
        """Add a job to the queue with its current prediction."""
        whole = self._predicted(known, now)
        self._whole[entry.id] = whole if self._repredicts else self._whole.get(entry.id, whole)
        seconds = min(max(1, whole - entry.done, least), entry.walltime)
        before = max(1, entry.predicted)
        job = entry.job.with_shapes_predicted(lambda shape: -(-shape.predicted * seconds // before))
        record = _Entry(entry, entry.shown_as(job=job, predicted=seconds), known, least)
        self._entries[entry.id] = record
        self._queue.add(record.shown)

    def _see_running(self, state: State) -> None:
        present, touched = self._running.look(state.running)
        for id_ in touched:
            run = present.get(id_)
            known = self._runs.get(id_)
            follows = known is not None and known.run is run and known.entry is not None
            if follows and run is not None and not run.stopping:
                continue
            entry = self._left.pop(id_, None)
            if known is not None:
                self._machine.remove(self._runs.pop(id_).shown)
                entry = known.entry if known.run is run else entry
            if run is not None:
                shown = run.shown_as(predicted_end=self._end_of(run, entry))
                self._runs[id_] = _Run(run, shown, entry)
                self._machine.add(shown)
        self._left.clear()

    def _end_of(self, run: Running, entry: _Entry | None) -> int:
        """Return the predicted end of a new running job, by its view in the queue."""
        if entry is None or run.stopping:
            return run.predicted_end
        _, shape = self._starts.get(run.id, (0, None))
        seconds = entry.shown.predicted if shape is None else entry.shown.job.shapes[shape].predicted
        end = run.start + seconds
        return end if run.kill_at is None else min(end, run.kill_at)

    def _correct_ends(self, now: int) -> None:
        """Correct the ends of jobs that overran their predictions, repeatedly if needed."""
        for shown in list(takewhile(lambda run: run.predicted_end <= now, self._machine.entries)):
            run = self._runs[shown.id]
            while not run.unknown and shown.predicted_end <= now and run.entry is not None and not shown.stopping:
                self._machine.expect(shown, self._corrected(run, run.entry))

    def _corrected(self, run: _Run, entry: _Entry) -> int:
        """Return the new expected end of an overrunning job. The same end if unknown."""
        shown = run.shown
        job = entry.job.on_shape(self._starts.get(run.run.id, (0, None))[1])
        at = shown.predicted_end
        elapsed = shown.done + max(0, at - shown.start - shown.restart)
        whole = self._asked("correct", self._correct, job, at, elapsed, self._misses[job.id])
        self._misses[job.id] += 1
        run.unknown = not is_number(whole) or not elapsed < whole <= LONGEST
        return at if run.unknown else shown.corrected_end(whole, at)

    def _predicted(self, job: Job, now: int) -> int:
        """Return the predicted run time of a job, seconds, from 1 to its walltime. The walltime if there is none."""
        predicted = self._asked("predict", self._predictor.predict, job, now, now)
        if self.failure:
            return job.walltime
        if not is_number(predicted) or not 0 <= predicted <= LONGEST:
            self.failure = f"{self._name}: a prediction must be >= 0 s, got {shown_value(predicted)} of job {job.id}"
            return job.walltime
        seconds: int = math.ceil(predicted)
        return min(max(1, seconds), job.walltime)

    def _asked(self, call: str, function: Any, job: Job, now: int, *given: Any) -> Any:
        """Return the predictor's answer about a job. An error is stored, and the answer is ``None``."""
        try:
            return function(job, *given)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugged-in part may raise anything
            self.failure = self.failure or f"{self._name}: {call} raised {raised(error)}, job {job.id} at t={now}"
            return None
