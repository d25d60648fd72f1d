"""Plans for stochastic jobs without kills: a quantile for scheduling, while the walltime stays the user's."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypedDict, Unpack

import numpy as np

from ...base import IntArray
from ...base.checks import Checked, number
from ...models.lookahead.shadow import ShadowJobs, lengthen, open_shadow, replay
from ...models.onthefly import RemainingTimes
from ...workloads import Machine
from ..options import Layer
from ..protocol import Action, Dispatcher, DispatcherContract, Running, Start, State, Waiting, by_end, id_of
from ..registered import layers, reported
from ..rule_book import closures_ahead
from .request_strategies import TimeOptimal

#: Number of compared jobs, the last that started in every replay. And the least for a result.
WINDOW, LEAST = 1000, 100
#: Number of new jobs between updates of the replays.
STEP = 25


class PlanTrials:
    """One replay of EASY per plan, as far as run times are known.

    Parameters
    ----------
    machine
        Machine of the jobs, as a pool.
    now
        Begin, seconds.
    plans
        Number of plans.
    """

    def __init__(self, machine: Machine, now: int, plans: int) -> None:
        capacity = machine.capacity.sum(axis=0)
        self._replays: list[ShadowJobs] = [open_shadow(capacity, now) for _ in range(plans)]
        self._rows: dict[str, int] = {}
        self._running: dict[str, tuple[int, int]] = {}
        self._compared = 0

    def see(self, state: State) -> list[Waiting]:
        """Record ended jobs. Return the new jobs.

        The dispatcher is not called when the queue is empty. A job that ended then is taken to have ended now, or at
        its walltime if earlier.
        """
        running = {run.id for run in state.running}
        for id_ in [id_ for id_ in self._running if id_ not in running]:
            row = self._rows[id_]
            (start, most) = self._running.pop(id_)
            for each in self._replays:
                each.run[row] = max(1, min(state.now - start, most))
                each.known[row] = 1
        # New jobs may be anywhere in the queue, because machine rules hide jobs for a time.
        return [entry for entry in state.queue if entry.id not in self._rows]

    def start(self, ids: Iterable[str], state: State) -> None:
        """Record starting jobs."""
        waiting = {entry.id: entry.job.walltime for entry in state.queue}
        for id_ in ids:
            self._running[id_] = state.now, waiting[id_]

    def add(self, entry: Waiting, now: int, plans: Sequence[int]) -> None:
        """Add a new job, with its run time by each plan, seconds."""
        row = self._rows[entry.id] = len(self._rows)
        if row == len(self._replays[0].running):
            self._replays = [lengthen(each, max(1024, 2 * row)) for each in self._replays]
        for each, plan in zip(self._replays, plans, strict=True):
            each.submit[row] = min(entry.job.submit, now)
            each.arrival[row] = now
            each.duration[row] = plan
            each.queue.amount[row] = [entry.nodes * amount for amount in entry.demand]
            each.run[row] = 1

    def starts(self) -> IntArray:
        """Return the start of each job in each replay, -1 for none. Shape (plans, jobs)."""
        return np.maximum([each.queue.start[: len(self._rows)] for each in self._replays], -1)

    def best(self, now: int) -> int | None:
        """Return the plan with the least mean wait of the last jobs, the first of ties.

        ``None`` if the replays were not updated, or there are too few jobs.
        """
        arrived = len(self._rows)
        if arrived < self._compared + STEP:
            return None
        self._compared = arrived
        for each in self._replays:
            for id_, (start, _) in self._running.items():
                each.run[self._rows[id_]] = max(1, now - start)
            replay(each, arrived, now)
        starts = self.starts()
        started = np.flatnonzero((starts >= 0).all(axis=0))[-WINDOW:]
        return int(np.argmin(starts[:, started].sum(axis=1))) if len(started) >= LEAST else None


#: Compared plans: quantiles, 1 for the walltime, and 0 for the sequence of TOptimal.
PLANS = (1.0, 0.9, 0.75, 0.5, 0.25, 0.0)
#: Number of cached laws.
_KEPT = 256


@dataclass(frozen=True)
class SoftOptions(Checked):
    """Options of :class:`SoftTOptimal`.

    Attributes
    ----------
    over
        Inner dispatcher, or ``NAME:key=value/key=value``, with ``/`` instead of the comma.
    quantile
        Quantile of the run time to plan with. 1 for the walltime, 0 for the sequence of least expected time. ``None``
        learns which of 1, 0.9, 0.75, 0.5, 0.25 and 0 gives the shortest wait.
    """

    over: str | Dispatcher = "easy"
    quantile: Annotated[float | None, number(least=0, most=1)] = None


class SoftGiven(TypedDict, total=False):
    """The options of :class:`SoftOptions` by name, for type checkers."""

    over: str | Dispatcher
    quantile: float | None


class SoftTOptimal(Layer[SoftOptions]):
    """Plans stochastic jobs with a quantile of their run time, learned from waits. Walltimes stay.

    The prediction shown to `over` is a quantile of the job's law, known or learned. After that has passed, it is the
    same quantile of the remaining law. No job is killed for it. The quantile is learned online. EASY is replayed with
    each quantile on all jobs so far, as far as run times are known. The quantile with the least mean wait of the last
    jobs is used.

    The options are those of :class:`SoftOptions`. As attributes, `over` is the inner dispatcher itself, and `quantile`
    the current quantile.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import SoftTOptimal
    >>> from hpcdispatch.testing import stochastic
    >>> result = hd.simulate(stochastic(), SoftTOptimal(over="easy"))
    >>> int(result.jobs["attempts"].max())
    1
    """

    on_profile: ClassVar[bool] = True
    plans_closures: ClassVar[bool] = True
    Options = SoftOptions
    uses: ClassVar[tuple[str, ...]] = ("numba", "scipy")

    if TYPE_CHECKING:

        def __init__(self, options: SoftOptions | None = None, /, **given: Unpack[SoftGiven]) -> None: ...

    def forget(self) -> None:
        """Drop all jobs."""
        fixed = self.options.quantile
        self.quantile = PLANS[0] if fixed is None else fixed
        self._shown: dict[str, tuple[Waiting, float, Waiting]] = {}
        self._runs: dict[str, Running] = {}
        self._laws: dict[str, Any] = {}
        self._trials: PlanTrials | None = None

    def dispatch(self, state: State) -> Sequence[Action]:
        """Run the inner dispatcher with other predictions."""
        if self.options.quantile is None:
            self._learn(state)
        # Elsewhere than on the profile, closures need the walltimes.
        on_profile = all(DispatcherContract(part).on_profile for part in layers(self.over))
        queue = state.queue if on_profile or not closures_ahead(state, 1) else []
        shown = {entry.id: self._plan(entry) for entry in queue if entry.law is not None and not entry.attempt}
        self._shown = shown
        queue = [shown[entry.id][2] if entry.id in shown else entry for entry in state.queue]
        for entry, _, _ in shown.values():
            self._laws[entry.id] = entry.law
        seen = state.showing(queue, self._running(state))
        actions = self.over.dispatch(seen)
        if self._trials is not None:
            self._trials.start((id_of(action.job) for action in actions if isinstance(action, Start)), state)
        return actions

    def report(self) -> dict[str, Any]:
        """Return the current quantile, and the report of the inner dispatcher."""
        return {**reported(self.over), "quantile": self.quantile}

    def _plan(self, entry: Waiting) -> tuple[Waiting, float, Waiting]:
        """Return a waiting job, its quantile, and the job with that prediction."""
        known = self._shown.get(entry.id)
        if known is not None and known[0] is entry and known[1] == self.quantile:
            return known
        seconds = planned(entry.law, self.quantile, entry.job.walltime)
        return entry, self.quantile, entry.shown_as(predicted=seconds)

    def _running(self, state: State) -> Sequence[Running]:
        """Return the running jobs with planned ends."""
        before, self._runs = self._runs, {}
        shown = []
        for run in state.running:
            law = self._laws.get(run.id)
            if law is None or run.stopping or run.done:
                shown.append(run)
                continue
            copy = before.get(run.id)
            if copy is None or copy.start != run.start or copy.predicted_end <= state.now:
                above = state.now - run.start
                end = run.start + planned(law, self.quantile, run.job.walltime, above)
                copy = run.shown_as(predicted_end=end)
            copy.kill_at = run.kill_at
            self._runs[run.id] = copy
            shown.append(copy)
        for id_ in before.keys() - self._runs.keys():
            self._laws.pop(id_, None)
        shown.sort(key=by_end)
        return shown

    def _learn(self, state: State) -> None:
        if self._trials is None:
            self._trials = PlanTrials(state.machine, state.now, len(PLANS))
        for entry in self._trials.see(state):
            known = entry.law is not None and not entry.attempt
            plans = [planned(entry.law, share, entry.job.walltime) if known else entry.predicted for share in PLANS]
            self._trials.add(entry, state.now, plans)
        best = self._trials.best(state.now)
        if best is not None:
            self.quantile = PLANS[best]


def planned(law: Any, quantile: float, walltime: int, above: int = 0) -> int:
    """Return a quantile of a run time above `above`, whole seconds, at most the walltime.

    Parameters
    ----------
    law
        Run-time law: of a predictor, or a frozen scipy distribution.
    quantile
        In [0, 1]: 1 for the walltime, 0 for the next value of the sequence of least expected time.
    walltime
        Seconds.
    above
        Known lower bound, seconds. Beyond the law the result is the walltime. Beyond the walltime it is the next
        second.
    """
    if quantile >= 1 or above >= walltime:
        return max(walltime, above + 1)
    if not quantile:
        run_time: float = next((seconds for seconds in _SEQUENCE.requests(law, walltime) if seconds > above), walltime)
    elif hasattr(law, "ppf") and not hasattr(law, "values"):
        below = float(law.cdf(above))
        run_time = float(law.ppf(below + quantile * (1 - below))) if below < 1 else walltime
    else:
        left = _remaining(law).quantile(quantile, above)
        run_time = walltime if left is None else above + left
    return int(min(max(math.ceil(run_time), above + 1), walltime))


_SEQUENCE = TimeOptimal()
_remaining = lru_cache(_KEPT)(RemainingTimes)
