"""SA: a moldable job chooses its size against the state of the machine (Cirne and Berman, JSSPP 2000)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from ...base import InputError
from ...base.checks import check_choice, check_number, check_whole
from ...workloads import Machine
from ...workloads.machine_state import MachineState
from ..backfilling import Conservative
from ..options import Configured
from ..protocol import Action, Dispatcher, Start, State, Waiting
from ..registered import create_inner, layers, reported, reset_part
from .forecast import earliest_end, forecast_start, starts_now
from .rigid_jobs import Size, as_rigid, sizes_of

#: By what a job chooses: the least predicted turnaround, or without a look at the machine.
Rule = Literal["turnaround", "user", "widest", "narrowest", "knee", "range"]


@dataclass(frozen=True)
class SAOptions:
    """The options of :class:`SA`.

    Attributes
    ----------
    over
        The dispatcher of the rigid jobs that come out: an object, or ``NAME``, or ``NAME:key=value/key=value`` with
        ``/`` in place of the comma.
    by
        ``"turnaround"``: the request with the least predicted turnaround, ties to fewer processors. ``"user"``: the
        job's own. ``"widest"``, ``"narrowest"``: the most or the fewest processors. ``"knee"``: the most speedup times
        efficiency, which is the least processors times the square of the time (Eager, Zahorjan and Lazowska, IEEE
        Transactions on Computers 1989). ``"range"``: as Slurm's ``-N min-max``, the job waits as the narrowest, and
        when `over` would start that it gets the most processors with which `over` starts it at the same instant.
    share
        Share of the moldable jobs that may choose, drawn with the seed of the simulation; the others keep their own
        request.
    again
        How often a job by ``"turnaround"`` may choose anew while it waits. At every decision what is predicted of it on
        all its requests is forecast, as if it were withdrawn and came again with another at its place in the queue.
    gain
        By how much of the time until its predicted end, in percent, the new one must end sooner.

    Raises
    ------
    ValueError
        For a value outside its range.
    """

    over: str | Dispatcher = "conservative"
    by: Rule = "turnaround"
    share: float = 1.0
    again: int = 0
    gain: float = 10.0

    def __post_init__(self) -> None:
        check_choice("by", self.by, Rule)
        check_number("share", self.share, least=0, most=1)
        check_whole("again", self.again, 0)
        check_number("gain", self.gain, least=0, below=100)
        if self.again and self.by != "turnaround":
            raise ValueError(f"again must be 0 unless by is turnaround, got {self.again} with by {self.by}")


class SA(Configured[SAOptions]):
    """Chooses one of the shapes of every moldable job as it arrives; then `over` sees a rigid job.

    Under ``conservative`` the predicted start of a request is that of the reservation it would get, as in the paper
    (section 2). Under any other dispatcher it is a forecast: the present state is run forward in a copy of it, with
    predictions as run times and nobody else to come. A job keeps its choice, also when it comes back, unless it may
    choose `again`; then decisions have a column ``changed``, how many did.

    Its options are those of :class:`SAOptions`.

    Attributes
    ----------
    over
        The dispatcher underneath.
    predicted_ends, changes
        By the place of a job in the trace: when it was predicted to end as it first chose by ``"turnaround"``, seconds;
        and how often it has chosen anew since, where it has.
    """

    uses: ClassVar[tuple[str, ...]] = ("numba",)
    Options: ClassVar[type] = SAOptions

    def __init__(self, options: SAOptions | None = None, /, **given: object) -> None:
        super().__init__(options, **given)
        self.over = create_inner(self.options.over)
        if any(isinstance(part, SA) or _molds(part) for part in layers(self.over)):
            raise InputError("over: expected a dispatcher of rigid jobs, got one that chooses shapes itself")
        if self.options.again:
            self.report = self._report
        elif hasattr(self.over, "report"):
            self.report = self.over.report

    def forget(self) -> None:
        """Forget every choice."""
        self._chosen: dict[int, Size] = {}
        self._ids: dict[int, str] = {}
        self._recalled: Mapping[str, Any] = {}
        self._choosers: set[int] = set()
        self.predicted_ends: dict[int, int] = {}
        self.changes: dict[int, int] = {}
        self._changed = 0
        self._shown: dict[int, tuple[Waiting, Waiting]] = {}
        self._rng = np.random.default_rng(0)

    def reset(self, machine: Machine, rng: np.random.Generator | None = None) -> None:
        """Forget what the last simulation left."""
        self.forget()
        self._rng = np.random.default_rng(0) if rng is None else rng
        reset_part(self.over, machine, rng)

    def memory(self) -> dict[str, Any]:
        """Return what every job has chosen, and where the draws stand; see :meth:`recall`."""
        chosen = {
            self._ids[order]: {
                "shape": size.shape,
                "chooses": order in self._choosers,
                "changes": self.changes.get(order, 0),
                "predicted_end": self.predicted_ends.get(order),
            }
            for order, size in self._chosen.items()
        }
        return {"chosen": chosen, "draws": self._rng.bit_generator.state}

    def recall(self, state: MachineState, memory: Mapping[str, Any] | None) -> None:
        """Let jobs keep what they have chosen; where nobody knows, they choose when they are seen."""
        if memory is not None:
            self._recalled = memory["chosen"]
            self._rng.bit_generator.state = memory["draws"]

    def dispatch(self, state: State) -> Sequence[Action]:
        """Choose for who arrived, and let the dispatcher underneath start jobs."""
        self._changed = 0
        if not any(waiting.job.shapes for waiting in state.queue.entries):
            return self.over.dispatch(state)
        before = self._shown
        shown = {w.order: before[w.order][1] for w in state.queue if w.order in before and before[w.order][0] is w}
        for waiting in state.queue:
            # One after the other: who comes later in the same second is not there yet.
            if waiting.order not in shown:
                shown[waiting.order] = self._rigid(waiting, state, shown)
        if self.options.again:
            self._choose_anew(state, shown)
        elif self.options.by == "range":
            self._widen(state, shown)
        self._shown = {waiting.order: (waiting, shown[waiting.order]) for waiting in state.queue}
        actions = self.over.dispatch(_with_queue(state, shown))
        return [self._of_shape(action, shown) if isinstance(action, Start) else action for action in actions]

    def _rigid(self, waiting: Waiting, state: State, shown: dict[int, Waiting]) -> Waiting:
        """Return a job that has just come, or come back, as the dispatcher underneath is shown it."""
        if not waiting.job.shapes:
            return waiting
        if waiting.order not in self._chosen and waiting.id in self._recalled:
            self._keep(waiting, state.machine)
        size = self._chosen.get(waiting.order)
        if size is None:
            return self._choose(waiting, state, shown)
        if size.shape is None:
            return waiting
        shape = waiting.job.shapes[size.shape]
        return as_rigid(waiting, replace(size, predicted=shape.predicted, walltime=shape.walltime))

    def _keep(self, waiting: Waiting, machine: Machine) -> None:
        """Take over what a job had chosen before the simulation began."""
        order, known = waiting.order, self._recalled[waiting.id]
        size = next((size for size in sizes_of(waiting, machine) if size.shape == known["shape"]), None)
        if size is None:
            return
        self._chosen[order], self._ids[order] = size, waiting.id
        self._shown[order] = waiting, waiting  # It has been shown before, and may choose anew.
        if known["chooses"]:
            self._choosers.add(order)
        if known["changes"]:
            self.changes[order] = known["changes"]
        if known["predicted_end"] is not None:
            self.predicted_ends[order] = known["predicted_end"]

    def _choose(self, waiting: Waiting, state: State, shown: dict[int, Waiting]) -> Waiting:
        """Choose the size of a job that has just arrived."""
        sizes = sizes_of(waiting, state.machine)
        size = sizes[0]
        if len(sizes) > 1 and (self.options.share == 1 or self._rng.random() < self.options.share):
            self._choosers.add(waiting.order)
            size = self._best(waiting, sizes, state, shown)
        self._chosen[waiting.order], self._ids[waiting.order] = size, waiting.id
        return as_rigid(waiting, size)

    def _best(self, waiting: Waiting, sizes: list[Size], state: State, shown: dict[int, Waiting]) -> Size:
        """Return the size that the rule chooses; the first of several that are as good."""
        primary = state.machine.primary
        units = [size.nodes * size.demand[primary] for size in sizes]
        times = [float(size.predicted) for size in sizes]
        by = self.options.by
        if by == "user":
            return sizes[0]
        if by == "turnaround":
            starts = self._starts(waiting, sizes, state, shown)  # Infinite also where another one ends sooner.
            costs = [(start + time, unit) for start, time, unit in zip(starts, times, units, strict=True)]
            if math.isfinite(end := min(costs)[0]):
                self.predicted_ends[waiting.order] = int(end)
        elif by == "knee":
            costs = [(unit * time * time, unit) for unit, time in zip(units, times, strict=True)]
        else:
            costs = [(-unit if by == "widest" else unit, 0) for unit in units]
        return sizes[costs.index(min(costs))]

    def _starts(self, waiting: Waiting, sizes: list[Size], state: State, shown: dict[int, Waiting]) -> list[float]:
        """Return when a job would start on each size, infinite where it never would or cannot be the first to end."""
        if not isinstance(self.over, Conservative):
            return self._forecasts(waiting, sizes, state, shown)
        self.over.update(_with_queue(state, shown))
        starts = [self.over.earliest_start(size.nodes, size.demand, size.predicted) for size in sizes]
        return [math.inf if start is None else start for start in starts]

    def _forecasts(
        self, waiting: Waiting, sizes: list[Size], state: State, shown: dict[int, Waiting], known: int | None = None
    ) -> list[float]:
        """Return when a job would start on each size if nobody else came, infinite where it never would.

        Each is followed only for as long as it may be the first to end; that of size `known` to its start, before the
        others, which are asked in order of the least time at which they could end.
        """
        starts, least = [math.inf] * len(sizes), math.inf
        order = sorted(range(len(sizes)), key=lambda place: (place != known, earliest_end(state, sizes[place])))
        for place in order:
            size = sizes[place]
            # One second more: who ends at the same time may be narrower.
            before = math.inf if place == known else least - size.predicted + 1
            ahead = _with_queue(state, {**shown, waiting.order: as_rigid(waiting, size)})
            start = forecast_start(self.over, ahead, waiting.order, before)
            if start is not None:
                starts[place], least = start, min(least, start + size.predicted)
        return starts

    def _choose_anew(self, state: State, shown: dict[int, Waiting]) -> None:
        """Let jobs that wait already take another size, if that is predicted to end so much sooner."""
        for waiting in state.queue:
            order = waiting.order
            # Who is shown for the first time has just chosen.
            if order not in self._choosers or order not in self._shown:
                continue
            if self.changes.get(order, 0) == self.options.again:
                continue
            sizes = sizes_of(waiting, state.machine)
            now = next(place for place, size in enumerate(sizes) if size.shape == self._chosen[order].shape)
            starts = self._forecasts(waiting, sizes, state, shown, now)
            left = [start + size.predicted - state.now for start, size in zip(starts, sizes, strict=True)]
            best = left.index(min(left))
            if left[best] < left[now] * (1 - self.options.gain / 100):
                self._take(waiting, sizes[best], shown)
                self.changes[order] = self.changes.get(order, 0) + 1
                self._changed += 1

    def _widen(self, state: State, shown: dict[int, Waiting]) -> None:
        """Let jobs that would start now on their narrowest size start on the widest with which they still do."""
        primary = state.machine.primary
        entries = {waiting.order: waiting for waiting in state.queue if waiting.order in self._choosers}
        for order in [order for order in starts_now(self.over, _with_queue(state, shown)) if order in entries]:
            sizes = sizes_of(entries[order], state.machine)
            units = {size.shape: size.nodes * size.demand[primary] for size in sizes}
            own = units[self._chosen[order].shape]
            for size in sorted(sizes, key=lambda size: -units[size.shape]):
                rigid = as_rigid(entries[order], size)
                if units[size.shape] <= own:
                    break
                if order in starts_now(self.over, _with_queue(state, {**shown, order: rigid})):
                    self._take(entries[order], size, shown)
                    break

    def _take(self, waiting: Waiting, size: Size, shown: dict[int, Waiting]) -> None:
        """Give a job that waits another size."""
        self._chosen[waiting.order] = size
        shown[waiting.order] = as_rigid(waiting, size)

    def _report(self) -> dict[str, object]:
        return {**reported(self.over), "changed": self._changed}

    def _of_shape(self, action: Start, shown: dict[int, Waiting]) -> Start:
        """Return the start of a rigid job as one of the moldable job it stands for."""
        rigid = action.job if isinstance(action.job, Waiting) else None
        if rigid is None:
            id_ = getattr(action.job, "id", action.job)
            rigid = next(waiting for waiting in shown.values() if waiting.id == id_)
        size = self._chosen.get(rigid.order)
        return action if size is None or size.shape is None else replace(action, shape=size.shape)


def _molds(part: Dispatcher) -> bool:
    """Return whether a dispatcher has an option by which it chooses shapes, and it is set."""
    return bool(getattr(getattr(part, "options", None), "molds", False))


def _with_queue(state: State, shown: dict[int, Waiting]) -> State:
    """Return a state with some of its jobs in the queue, as they are shown."""
    entries = [shown[waiting.order] for waiting in state.queue.entries if waiting.order in shown]
    return State(state.now, entries, state.running, state.free, state.machine)
