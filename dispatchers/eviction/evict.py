"""Evict batch jobs for on-demand jobs, under any dispatcher for the batch jobs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Unpack

import numpy as np

from ...workloads import Machine
from ..options import Layer
from ..protocol import Action, Running, State, Waiting, Wake
from ..registered import layers, reported, reset_part
from .decision_round import Holds, Round
from .evict_options import EvictGiven, EvictOptions
from .eviction_candidates import EvictionCandidate, decide
from .orders import Order
from .partition import Partition

_COUNTED = ("kill", "system", "application")


class Evict(Layer[EvictOptions]):
    """Evicts batch jobs at the least loss, to start on-demand jobs by their deadlines (Maurya et al., DS-RT 2020).

    Another dispatcher schedules the batch jobs. It sees neither waiting on-demand jobs nor the nodes reserved for them.
    Without on-demand jobs its schedule is unchanged.

    On-demand jobs are served in order of submission. A job that does not fit gets a plan (section III). It says which
    jobs to kill, to checkpoint at once, or to let work up to their own next checkpoint. Then the on-demand job fits by
    its deadline. Checkpoints are written one after another, unless `sharing` is on. Nodes that come free early are
    reserved. Jobs to kill run until their nodes are needed, and are then chosen again.

    Rules of the machine hold for plans as well. An on-demand job that lacks a licence, power or a limit is left to the
    other dispatcher, and so is one for which nodes close too soon. With the static partition, starts against a rule
    are left out.

    Without a feasible plan no job is evicted. The on-demand job starts when enough is free, before any batch job. A job
    past its deadline does the same. With `ends`, a job predicted to end in time may be left to end. If it does not,
    other jobs are chosen.

    The parameters are the :class:`EvictOptions`, by name.

    Raises
    ------
    ValueError
        For a value outside its range.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import Evict
    >>> from hpcdispatch.testing import urgent
    >>> result = hd.simulate(urgent(), Evict(over="easy"))
    >>> int(result.decisions["stopped"].sum()), int((result.jobs["attempts"] > 1).sum())
    (4, 3)
    """

    Options = EvictOptions
    uses: ClassVar[tuple[str, ...]] = ("numba", "ortools")

    def __init__(self, options: EvictOptions | None = None, /, **given: Unpack[EvictGiven]) -> None:
        super().__init__(options, **given)
        if any(isinstance(part, Evict) for part in layers(self.over)):
            raise ValueError("over must be another dispatcher than evict")

    @property
    def on_profile(self) -> bool:
        """Whether starts heed the machine's rules. Those in a partition do not."""
        return self.options.policy != "static"

    def forget(self) -> None:
        """Drop the evictions and the partition."""
        self._partition: Partition | None = None
        self._holds = Holds()
        self._orders: dict[str, Order] = {}
        self._record: dict[str, Any] = {}
        self._evicted: Counter[str] = Counter()
        self._written = 0
        self._wakes: set[int] = set()

    def reset(self, machine: Machine, rng: np.random.Generator | None = None) -> None:
        """Drop the evictions, and create the partition.

        Raises
        ------
        InputError
            If the partition is larger than the machine.
        """
        self.forget()
        shown = machine
        if self.options.policy == "static":
            self._partition = Partition.of(machine, self.options.reserve)
            shown = self._partition.rest
        reset_part(self.over, shown, rng)

    def report(self) -> Mapping[str, Any]:
        """Return the report of the other dispatcher, and the number of evicted jobs.

        ``evicted_kill``, ``evicted_system``, ``evicted_application``: number of jobs, in decisions with on-demand jobs.
        """
        return self._record

    def dispatch(self, state: State) -> Sequence[Action]:
        """Serve the on-demand jobs, then run the other dispatcher on the remaining state."""
        self._record = {}
        if self._partition is not None:
            actions, rest = self._partition.serve(state)
            return [*actions, *self._ask(rest)]
        urgent = [waiting for waiting in state.queue if waiting.job.kind == "on-demand"]
        if not urgent:
            self._orders.clear()
            self._holds.clear()
            return self._ask(state, due=True)  # a timer may be of the other dispatcher and from before a cut
        self._record = dict.fromkeys((f"evicted_{how}" for how in _COUNTED), 0)
        round_ = Round(state)
        self._orders = {
            waiting.id: self._orders.get(waiting.id)
            or Order(waiting.since + (self.options.deadline if waiting.job.deadline is None else waiting.job.deadline))
            for waiting in urgent
        }
        for order in self._orders.values():
            order.follow(round_.running)
        left: list[Waiting] = []
        for waiting in urgent:
            if round_.could_start(waiting, left):
                self._serve(waiting, round_)
            else:
                left.append(waiting)
        others = set(map(id, left))
        batch = [waiting for waiting in state.queue if waiting.job.kind != "on-demand" or id(waiting) in others]
        rest = round_.shown(batch, self._holds)
        return [*round_.actions, *self._timers(state.now), *self._ask(rest)]

    def _ask(self, state: State, *, due: bool = False) -> Sequence[Action]:
        """Run the other dispatcher if it is `due` or would run alone. Record its timers and report."""
        if not due and not state.queue and state.now not in self._wakes:
            return []
        actions = self.over.dispatch(state)
        self._wakes = {at for at in self._wakes if at > state.now}
        self._wakes |= {action.at for action in actions if isinstance(action, Wake)}
        self._record = {**reported(self.over), **self._record}
        return actions

    def _serve(self, waiting: Waiting, round_: Round) -> None:
        """Start an on-demand job, or make room for it and reserve free amounts."""
        order = self._orders[waiting.id]
        if not round_.start(waiting):
            if self.options.policy != "wait":
                self._make_room(waiting, order, round_)
            if not round_.start(waiting):
                round_.keep(waiting, order.leaving, order.due)
                return
        del self._orders[waiting.id]

    def _make_room(self, waiting: Waiting, order: Order, round_: Round) -> None:
        """Choose jobs to evict, unless a valid choice exists. Stop those that are due."""
        if not order.pending or order.outlived(round_.now) or round_.lacking(waiting, order.leaving) > 0:
            order.recall()
            if round_.now <= order.due and round_.lacking(waiting, order.leaving) > 0:
                self._plan(waiting, order, round_)
        else:
            order.trim(waiting, round_)
        for id_, eviction in list(order.evictions.items()):
            if eviction.writes and not eviction.begun and eviction.stop_at <= round_.now:
                eviction.begun = True
                self._written = max(self._written, eviction.free_at)
                self._stop(eviction.run, eviction.how, eviction.free_at - round_.now, round_)
                if eviction.free_at == round_.now:
                    del order.evictions[id_]
        if not order.pending:
            for eviction in order.evictions.values():
                self._stop(eviction.run, "kill", None, round_)
            order.evictions.clear()

    def _plan(self, waiting: Waiting, order: Order, round_: Round) -> None:
        """Choose jobs to evict for a job, beside those already evicted for it."""
        now = round_.now
        taken = {id_ for other in self._orders.values() for id_ in other.evictions}
        candidates = [
            EvictionCandidate.of(run, now, self.options, round_.state.machine.primary)
            for run in round_.running.values()
            if run.id not in taken and self._may_leave(run, round_)
        ]
        written = [
            eviction.free_at
            for other in self._orders.values()
            for eviction in other.evictions.values()
            if eviction.writes
        ]
        idle = max([now, self._written, *written])
        due = now if self.options.policy == "kill" else order.due
        chosen = decide(waiting, round_, candidates, order.leaving, idle, due, self.options)
        before = dict(order.evictions)
        order.add(chosen, now, idle, self.options)
        at = max((eviction.free_at for eviction in order.evictions.values()), default=now)
        if not round_.admits(waiting, order.leaving, at):
            order.evictions = before

    def _may_leave(self, run: Running, round_: Round) -> bool:
        """Return whether a running job may be evicted. The nodes of a reservation are closed to on-demand jobs."""
        return (
            run.job.kind == "batch"
            and not run.stopping
            and (self.options.most is None or self._evicted[run.id] < self.options.most)
            and not (round_.ruled and round_.state.machine.rules.is_on(run.job.reservation, round_.now))
        )

    def _stop(self, run: Running, how: str, delay: int | None, round_: Round) -> None:
        self._evicted[run.id] += 1
        self._record[f"evicted_{how}"] += 1
        round_.stop(run, delay)

    def _timers(self, now: int) -> list[Wake]:
        """Return timers for future checkpoints."""
        evictions = (eviction for order in self._orders.values() for eviction in order.evictions.values())
        times = {eviction.stop_at for eviction in evictions if not eviction.begun}
        return [Wake(at) for at in sorted(times) if at > now]
