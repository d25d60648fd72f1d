"""Dispatchers that choose the walltimes of stochastic jobs, on top of any other dispatcher."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypedDict, Unpack

import numpy as np

from ...base.checks import Checked
from ...workloads import Machine
from ..columns import RunningJobs
from ..options import Layer
from ..ordered_jobs import ChangesSeen, WaitingQueue, by_place
from ..protocol import (
    Action,
    Dispatcher,
    DispatcherContract,
    Placement,
    Reject,
    Running,
    Start,
    State,
    Stop,
    Waiting,
    by_end,
    id_of,
)
from ..registered import reset_part
from ..rule_book import rule_book
from ..site.start_check import StartCheck
from ..space import space_of
from .gaps import Gaps, ShadowGaps, expected_utilization
from .request_strategies import CheckpointingStrategy, RequestStrategy, SequenceStep, UpperBound

#: Whether stochastic jobs are tried in gaps shorter than their walltimes.
Backfill = Literal["plain", "speculative"]


@dataclass(frozen=True)
class SequenceOptions(Checked):
    """Options of :class:`ReservationSequences`.

    Attributes
    ----------
    over
        Inner dispatcher, or ``NAME:key=value/key=value``, with ``/`` instead of the comma. ``"easy"`` for a trace,
        ``"rounds"`` for a set of jobs, as in the paper.
    backfill
        ``"plain"``: only the backfilling of `over`. ``"speculative"`` also tries jobs in gaps shorter than their
        walltimes.
    """

    over: str | Dispatcher = "easy"
    backfill: Backfill = "plain"


class SequenceGiven(TypedDict, total=False):
    """The options of :class:`SequenceOptions` by name, for type checkers."""

    over: str | Dispatcher
    backfill: Backfill


@dataclass(slots=True)
class _JobWithRequest:
    """A waiting job with its chosen request.

    Attributes
    ----------
    entry
        The job as the system shows it.
    shown
        The job for the inner dispatcher. Its prediction is the request.
    request
        The request without a restart. ``None`` for a job without a distribution, which is shown unchanged.
    """

    entry: Waiting
    shown: Waiting
    request: SequenceStep | None


@dataclass(slots=True)
class _Known:
    """Data of an unfinished job.

    Attributes
    ----------
    law, walltime
        Input of its requests.
    requests
        Requests in sequence.
    above
        Longest run that was too short, seconds.
    kept
        Work saved in a checkpoint, seconds.
    """

    law: Any
    walltime: int
    requests: Sequence[SequenceStep]
    above: int = 0
    kept: int = 0


@dataclass(slots=True)
class _Trial:
    """A run under a request.

    Attributes
    ----------
    request
        The request without a restart.
    end
        Its end.
    speculative
        Whether it is in a gap shorter than the request.
    """

    request: SequenceStep
    end: int
    speculative: bool


class ReservationSequences(Layer[SequenceOptions]):
    """Replaces the walltimes of stochastic jobs, and requests more after a timeout.

    The runtime framework of Gainaru et al. (ICPP 2019, figure 1 and section 4.3). It handles jobs with a run-time
    distribution, known (`Job.law`) or learned (from a predictor). Such a job goes to the dispatcher `over` with the
    first request of a sequence. If it is killed there, it returns to the end of the queue with the next longer request.
    The last request is the user's walltime. A job that reaches it is left to the simulation. Jobs without a
    distribution are unchanged.

    Speculative backfilling fills free amounts after a dispatch. The job with the largest expected use of the gap
    starts, although its request does not fit. If killed, it goes to the head of the queue with the same request. A gap
    ends at the reservations of the inner dispatcher, if it reports them (``conservative``, ``rounds``). Otherwise it
    ends when the first job of the queue can start.

    The options are those of :class:`SequenceOptions`. As an attribute, `over` is the inner dispatcher itself.

    Parameters
    ----------
    strategy
        Strategy of the requests.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import TOptimal
    >>> from hpcdispatch.testing import stochastic
    >>> result = hd.simulate(stochastic(), TOptimal(over="easy"))
    >>> int(result.jobs["attempts"].max())
    3
    """

    on_profile: ClassVar[bool] = True
    plans_closures: ClassVar[bool] = True
    Options = SequenceOptions
    _queue: WaitingQueue

    def __init__(
        self, strategy: RequestStrategy, options: SequenceOptions | None = None, /, **given: Unpack[SequenceGiven]
    ) -> None:
        super().__init__(options, **given)
        self.strategy = strategy
        # Checked once, because protocol checks take longer than most decisions.
        self._checkpointing = strategy if isinstance(strategy, CheckpointingStrategy) else None
        self._gaps = self.over if isinstance(self.over, Gaps) else None
        if self._checkpointing is not None and self.options.backfill == "speculative":
            raise ValueError("backfill must be 'plain' with checkpoints, got 'speculative'")
        report = DispatcherContract(self.over).report
        if report is not None:
            self.report = report

    def forget(self) -> None:
        """Drop all jobs."""
        self._asked: dict[str, _JobWithRequest] = {}
        self._machine: Machine | None = None
        self._waits: ChangesSeen[Waiting] = ChangesSeen()
        self._runs: ChangesSeen[Running] = ChangesSeen()
        self._known: dict[str, _Known] = {}
        self._trials: dict[str, _Trial] = {}
        self._first: list[str] = []

    def reset(self, machine: Machine, rng: np.random.Generator | None = None) -> None:
        """Drop all jobs, and reset the strategy and the inner dispatcher."""
        self.forget()
        draws, others = (np.random.default_rng(0) if rng is None else rng).spawn(2)
        self.strategy.reset(machine, draws)
        reset_part(self.over, machine, others)

    def dispatch(self, state: State) -> Sequence[Action]:
        """Run the inner dispatcher with other requests, then fill the gaps."""
        self.strategy.observe(state)
        running, _ = self._runs.look(state.running)
        waiting, changed = self._waits.look(state.queue)
        self._learn(waiting, running)
        self._follow(waiting, changed, state.machine)
        queue = self._queue.shown if state.queue.kept and not self._first else self._in_order(state.queue)
        runs = self._reserved(state.running, running, state.now)
        shown = state.showing(queue, runs)
        actions = [self._carry_out(action, state.now) for action in self.over.dispatch(shown)]
        if self.options.backfill == "speculative":
            actions += self._speculate(shown, actions)
        return actions

    def _learn(self, waiting: Mapping[str, Waiting], running: Mapping[str, Running]) -> None:
        """Find jobs that returned: they run longer than their requests."""
        over = {id_: self._trials.pop(id_) for id_ in [id_ for id_ in self._trials if id_ not in running]}
        back = [waiting[id_] for id_ in over if id_ in waiting]
        for entry in sorted(back, key=by_place):
            trial = over.pop(entry.id)
            if entry.since < trial.end:  # It may have been stopped early for another reason.
                continue
            known = self._known[entry.id]
            known.above = max(trial.request.reached, known.above)
            known.kept = trial.request.reached if trial.request.write else trial.request.kept
            if entry.id in self._first:
                self._first.remove(entry.id)
            if trial.speculative:
                self._first.append(entry.id)
        for id_ in over:
            del self._known[id_]

    def _follow(self, waiting: Mapping[str, Waiting], changed: Iterable[str], machine: Machine) -> None:
        """Update the queue of the inner dispatcher: drop jobs that left, and choose requests for new ones."""
        if self._machine is not machine:
            self._machine = machine
            self._queue = WaitingQueue(len(machine.resources))
            self._asked = {}
        came = []
        for id_ in changed:
            before = self._asked.get(id_)
            entry = waiting.get(id_)
            if before is not None and before.entry is not entry:
                self._queue.remove(before.shown)
                del self._asked[id_]
            if entry is not None and (before is None or before.entry is not entry):
                came.append(entry)
        for entry in sorted(came, key=by_place):
            asked = self._asked[entry.id] = self._ask(entry)
            self._queue.add(asked.shown)
        self._first = [id_ for id_ in self._first if id_ in self._asked]

    def _in_order(self, queue: Iterable[Waiting]) -> Sequence[Waiting]:
        """Return the queue in order, with jobs after a failed trial at its head."""
        ahead = set(self._first)
        others = [self._asked[entry.id].shown for entry in queue if entry.id not in ahead]
        return [self._asked[id_].shown for id_ in self._first] + others

    def _ask(self, entry: Waiting) -> _JobWithRequest:
        """Return the request of a waiting job, constant during its wait."""
        if entry.law is None:
            return _JobWithRequest(entry, entry, None)
        law, walltime = entry.law, entry.job.walltime
        known = self._known.get(entry.id)
        if known is None or known.law is not law or known.walltime != walltime:
            above, kept = (0, 0) if known is None else (known.above, known.kept)
            known = self._known[entry.id] = _Known(law, walltime, self._requests(entry, above, kept), above, kept)
        last = SequenceStep(max(walltime, known.above + 1), known.kept)
        request = next((one for one in known.requests if one.reached > known.above), last)
        seconds = request.length + (_restart(entry) if request.kept else 0)
        return _JobWithRequest(entry, entry.shown_as(predicted=seconds), request)

    def _requests(self, entry: Waiting, above: int, kept: int) -> Sequence[SequenceStep]:
        """Return the requests of a job with a known lower bound of its run time."""
        law, walltime = entry.law, entry.job.walltime
        if type(self.strategy) is UpperBound and law is not entry.job.law:
            return [SequenceStep(walltime)]
        if self._checkpointing is not None:
            return self._checkpointing.reservations(law, walltime, _restart(entry), above, kept)
        application = entry.job.user, entry.job.name
        return [SequenceStep(seconds) for seconds in self.strategy.requests(law, walltime, application)]

    def _reserved(self, running: RunningJobs[Running], by_id: Mapping[str, Running], now: int) -> Sequence[Running]:
        """Return running jobs with the ends of their requests, during which they occupy their nodes."""
        ends = {id_: trial.end for id_, trial in self._trials.items() if trial.end > now}
        if all(by_id[id_].predicted_end == end or by_id[id_].stopping for id_, end in ends.items()):
            return running
        shown = []
        for run in running:
            other = run.id in ends and not run.stopping
            shown.append(run.shown_as(predicted_end=ends[run.id]) if other else run)
        shown.sort(key=by_end)
        return shown

    def _carry_out(self, action: Action, now: int) -> Action:
        """Add the request to an action of the inner dispatcher, as the limit of the run."""
        if isinstance(action, Stop | Reject):
            self._trials.pop(id_of(action.job), None)
            return action
        if not isinstance(action, Start):
            return action
        asked = self._asked.get(id_of(action.job))
        if asked is None or asked.request is None:
            return action
        request = asked.request
        if action.shape is not None or (action.limit is not None and action.limit < request.length):
            return replace(action, job=asked.entry)
        self._trials[asked.entry.id] = _Trial(request, now + asked.shown.predicted, speculative=False)
        if request.reached >= asked.entry.job.walltime:
            return replace(action, job=asked.entry)
        return replace(action, job=asked.entry, limit=request.length, write=request.write)

    def _speculate(self, state: State, actions: Sequence[Action]) -> list[Start]:
        """Start the jobs with the largest expected use of the gaps, one after another."""
        left = {entry.id for entry in state.queue}
        left -= {id_of(action.job) for action in actions if isinstance(action, Start | Reject)}
        waiting = [entry for entry in state.queue if entry.id in left]
        candidates = [entry for entry in waiting if entry.law is not None]
        if not candidates or any(isinstance(action, Stop) for action in actions):
            return []
        known = {entry.id: entry for entry in state.queue}
        starts = [replace(action, job=known[id_of(action.job)]) for action in actions if isinstance(action, Start)]
        gaps = self._gaps or ShadowGaps(state, starts, waiting[0])
        space = space_of(state)
        for start in starts:
            space.put(np.asarray(start.placement), start.job.demand)
        book = rule_book(state)
        check = None if book is None else StartCheck(book, state)
        if check is not None:
            for start in starts:
                check.count(start)
        trial_starts: list[Start] = []
        while candidates:
            candidates = [entry for entry in candidates if _may_fit(entry, space.totals)]
            best = self._most_useful(gaps, candidates, state.machine.primary)
            if best is None:
                break
            entry, placement, seconds = best
            candidates.remove(entry)
            start = Start(entry, placement, limit=seconds)
            if check is not None and check.refusal(start):  # The gap may be one of nodes alone.
                continue
            if not space.put(placement, entry.demand):  # Occupied by a job that overruns its prediction.
                continue
            gaps.occupy(entry, placement, seconds)
            self._trials[entry.id] = _Trial(SequenceStep(seconds), state.now + seconds, speculative=True)
            trial_starts.append(replace(start, job=self._asked[entry.id].entry))
        return trial_starts

    def _most_useful(
        self, gaps: Gaps, candidates: Sequence[Waiting], primary: int
    ) -> tuple[Waiting, Placement, int] | None:
        """Return the job with the largest expected use of its gap, its nodes and seconds. ``None`` if none has any."""
        best, most = None, 0.0
        for entry in candidates:
            gap = gaps.gap(entry)
            if gap is None or gap[0] is None or gap[0] >= entry.predicted:
                continue
            share = expected_utilization(entry.law, entry.job.walltime, self._known[entry.id].above, gap[0])
            if share * entry.nodes * entry.demand[primary] > most:
                most = share * entry.nodes * entry.demand[primary]
                best = entry, gap[1], gap[0]
        return best


def _may_fit(entry: Waiting, free: Sequence[int]) -> bool:
    """Return whether a job needs at most the free amounts of all nodes together."""
    return all(entry.nodes * amount <= left for amount, left in zip(entry.demand, free, strict=True))


def _restart(entry: Waiting) -> int:
    """Return the seconds that a job needs to restart from a checkpoint."""
    return entry.job.checkpoint.restart if entry.job.checkpoint is not None else 0
