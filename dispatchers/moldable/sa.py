"""SA: a moldable job chooses its size by the state of the machine (Cirne and Berman, JSSPP 2000)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, TypedDict, Unpack

import numpy as np

from ...base import InputError
from ...base.checks import Checked, number, whole
from ...workloads import Machine
from ...workloads.machine_state import MachineState
from ..backfilling.conservative import Conservative
from ..options import Layer
from ..protocol import Action, Dispatcher, DispatcherContract, Start, State, Waiting
from ..registered import layers, option_of, reported
from ..rule_book import has_rules
from .forecast import earliest_end, forecast_start, starts_now
from .rigid_jobs import Size, allowed_sizes, as_rigid, sizes_of

#: Rule of the choice: least predicted turnaround, or a rule that ignores the machine's state.
Rule = Literal["turnaround", "user", "widest", "narrowest", "knee", "range"]


@dataclass(frozen=True)
class SAOptions(Checked):
    """Options of :class:`SA`.

    Attributes
    ----------
    over
        Dispatcher of the resulting rigid jobs: an object, or ``NAME``, or ``NAME:key=value/key=value`` with ``/``
        instead of the comma.
    by
        ``"turnaround"``: the request with the least predicted turnaround, ties to fewer processors. ``"user"``: the
        job's own. ``"widest"``, ``"narrowest"``: the most or the fewest processors. ``"knee"``: the most speedup times
        efficiency. That is the least processors times the square of the time (Eager, Zahorjan and Lazowska, IEEE
        Transactions on Computers 1989). ``"range"``: as Slurm's ``-N min-max``. The job waits on its narrowest request.
        When `over` would start it, it gets the most processors with which `over` still starts it at that instant.
    share
        Share of the moldable jobs that may choose, at random by the seed of the simulation. The others keep their own
        request.
    again
        How often a waiting job may choose again, with ``"turnaround"``. Every decision forecasts all its requests. The
        forecast assumes that it is resubmitted with the request at its position in the queue.
    gain
        How much sooner the new predicted end must be, in percent of the time until the old one.

    Raises
    ------
    ValueError
        For a value outside its range.
    """

    over: str | Dispatcher = "conservative"
    by: Rule = "turnaround"
    share: Annotated[float, number(least=0, most=1)] = 1.0
    again: Annotated[int, whole(0)] = 0
    gain: Annotated[float, number(least=0, below=100)] = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.again and self.by != "turnaround":
            raise ValueError(f"again must be 0 unless by is turnaround, got {self.again} with by {self.by}")


class SAGiven(TypedDict, total=False):
    """The options of :class:`SAOptions` by name, for type checkers."""

    over: str | Dispatcher
    by: Rule
    share: float
    again: int
    gain: float


class SA(Layer[SAOptions]):
    """Chooses one of the shapes of every moldable job as it arrives. Then `over` sees a rigid job.

    Under ``conservative``, a request's predicted start is the reservation it would get, as in the paper (section 2).
    Under any other dispatcher it is a forecast. A copy of the dispatcher is simulated from the present state, with
    predictions as run times and no further arrivals. A job keeps its choice, even when it returns, unless it may choose
    `again`, or the rules of the machine no longer allow its size. With `again`, decisions have a column ``changed``:
    the number of jobs that chose again.

    Its options are those of :class:`SAOptions`. As an attribute, `over` is the inner dispatcher itself.

    Attributes
    ----------
    predicted_ends, changes
        By a job's position in the trace. Its predicted end, seconds, at its first choice by ``"turnaround"``. And how
        often it has chosen again.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import SA
    >>> from hpcdispatch.testing import moldable
    >>> result = hd.simulate(moldable(), SA(over="conservative"))
    >>> int((result.jobs["shape"] >= 0).sum())
    29
    """

    Options: ClassVar[type] = SAOptions
    on_profile: ClassVar[bool] = True

    def __init__(self, options: SAOptions | None = None, /, **given: Unpack[SAGiven]) -> None:
        super().__init__(options, **given)
        if any(isinstance(part, SA) or _molds(part) for part in layers(self.over)):
            raise InputError("over: expected a dispatcher of rigid jobs, got one that chooses shapes itself")
        if self.options.again:
            self.report: Callable[[], Mapping[str, Any]] = self._report
        elif (report := DispatcherContract(self.over).report) is not None:
            self.report = report

    def forget(self) -> None:
        """Drop every choice."""
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
        """Drop the data of the last simulation."""
        super().reset(machine, rng)
        self._rng = np.random.default_rng(0) if rng is None else rng

    def memory(self) -> dict[str, Any]:
        """Return the choice of every job, and the state of the random generator. See :meth:`recall`."""
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
        """Restore the choices of jobs. Without a memory, jobs choose when first seen."""
        if memory is not None:
            self._recalled = memory["chosen"]
            self._rng.bit_generator.state = memory["draws"]

    def dispatch(self, state: State) -> Sequence[Action]:
        """Choose sizes of new jobs, and let the inner dispatcher start jobs."""
        self._changed = 0
        if not any(waiting.job.shapes for waiting in state.queue.entries):
            return self.over.dispatch(state)
        if not len(state.running) and has_rules(state):
            self._forget_impossible(state)
        before = self._shown
        shown = {w.order: before[w.order][1] for w in state.queue if w.order in before and before[w.order][0] is w}
        for waiting in state.queue:
            # One after the other: a job that arrives later in the same second is not there yet.
            if waiting.order not in shown:
                shown[waiting.order] = self._rigid(waiting, state, shown)
        if self.options.again:
            self._choose_anew(state, shown)
        elif self.options.by == "range":
            self._widen(state, shown)
        self._shown = {waiting.order: (waiting, shown[waiting.order]) for waiting in state.queue}
        actions = self.over.dispatch(_with_queue(state, shown))
        return [self._of_shape(action, shown) if isinstance(action, Start) else action for action in actions]

    def _forget_impossible(self, state: State) -> None:
        """Forget the sizes that jobs chose and that may no longer start, as before closures that repeat."""
        for waiting in state.queue:
            size = self._chosen.get(waiting.order)
            if size is not None and size.shape not in {other.shape for other in allowed_sizes(waiting, state)}:
                del self._chosen[waiting.order]
                self._shown.pop(waiting.order, None)

    def _rigid(self, waiting: Waiting, state: State, shown: dict[int, Waiting]) -> Waiting:
        """Return a new or returning job as a rigid one for the inner dispatcher."""
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
        """Restore the choice of a job from before the simulation."""
        order = waiting.order
        known = self._recalled[waiting.id]
        size = next((size for size in sizes_of(waiting, machine) if size.shape == known["shape"]), None)
        if size is None:
            return
        self._chosen[order] = size
        self._ids[order] = waiting.id
        self._shown[order] = waiting, waiting  # It was seen before, and may choose again.
        if known["chooses"]:
            self._choosers.add(order)
        if known["changes"]:
            self.changes[order] = known["changes"]
        if known["predicted_end"] is not None:
            self.predicted_ends[order] = known["predicted_end"]

    def _choose(self, waiting: Waiting, state: State, shown: dict[int, Waiting]) -> Waiting:
        """Choose the size of a new job."""
        sizes = allowed_sizes(waiting, state)
        size = sizes[0]
        if len(sizes) > 1 and (self.options.share == 1 or self._rng.random() < self.options.share):
            self._choosers.add(waiting.order)
            size = self._best(waiting, sizes, state, shown)
        self._chosen[waiting.order], self._ids[waiting.order] = size, waiting.id
        return as_rigid(waiting, size)

    def _best(self, waiting: Waiting, sizes: list[Size], state: State, shown: dict[int, Waiting]) -> Size:
        """Return the size that the rule chooses, the first of ties."""
        primary = state.machine.primary
        units = [size.nodes * size.demand[primary] for size in sizes]
        times = [float(size.predicted) for size in sizes]
        by = self.options.by
        if by == "user":
            return sizes[0]
        if by == "turnaround":
            starts = self._starts(waiting, sizes, state, shown)  # Also infinite if another size ends sooner.
            costs = [(start + time, unit) for start, time, unit in zip(starts, times, units, strict=True)]
            if math.isfinite(end := min(costs)[0]):
                self.predicted_ends[waiting.order] = int(end)
        elif by == "knee":
            costs = [(unit * time * time, unit) for unit, time in zip(units, times, strict=True)]
        else:
            costs = [(-unit if by == "widest" else unit, 0) for unit in units]
        return sizes[costs.index(min(costs))]

    def _starts(self, waiting: Waiting, sizes: list[Size], state: State, shown: dict[int, Waiting]) -> list[float]:
        """Return the start of a job on each size. Infinite if it never starts or cannot be the first to end."""
        if not isinstance(self.over, Conservative):
            return self._forecasts(waiting, sizes, state, shown)
        self.over.update(_with_queue(state, shown))
        if has_rules(state):
            starts = [self.over.earliest_for(as_rigid(waiting, size)) for size in sizes]
        else:
            starts = [self.over.earliest_start(size.nodes, size.demand, size.predicted) for size in sizes]
        return [math.inf if start is None else start for start in starts]

    def _forecasts(
        self, waiting: Waiting, sizes: list[Size], state: State, shown: dict[int, Waiting], known: int | None = None
    ) -> list[float]:
        """Return the forecast start of a job on each size. Infinite if it never starts.

        A forecast ends once its size can no longer be the first to end. Size `known` comes first and is simulated to
        its start. The others follow in order of their earliest possible ends.
        """
        starts = [math.inf] * len(sizes)
        least = math.inf
        order = sorted(range(len(sizes)), key=lambda place: (place != known, earliest_end(state, sizes[place])))
        for place in order:
            size = sizes[place]
            # One second more: a size with the same end may be narrower.
            before = math.inf if place == known else least - size.predicted + 1
            ahead = _with_queue(state, {**shown, waiting.order: as_rigid(waiting, size)})
            start = forecast_start(self.over, ahead, waiting.order, before)
            if start is not None:
                starts[place] = start
                least = min(least, start + size.predicted)
        return starts

    def _choose_anew(self, state: State, shown: dict[int, Waiting]) -> None:
        """Let waiting jobs change their size if the new predicted end is sufficiently earlier."""
        for waiting in state.queue:
            order = waiting.order
            # A new job has just chosen.
            if order not in self._choosers or order not in self._shown:
                continue
            if self.changes.get(order, 0) == self.options.again:
                continue
            sizes = allowed_sizes(waiting, state)
            chosen = self._chosen[order].shape
            now = next((place for place, size in enumerate(sizes) if size.shape == chosen), None)
            starts = self._forecasts(waiting, sizes, state, shown, now)
            left = [start + size.predicted - state.now for start, size in zip(starts, sizes, strict=True)]
            best = left.index(min(left))
            before = math.inf if now is None else left[now]  # It may have missed its last chance on its size.
            if left[best] < before * (1 - self.options.gain / 100):
                self._take(waiting, sizes[best], shown)
                self.changes[order] = self.changes.get(order, 0) + 1
                self._changed += 1

    def _widen(self, state: State, shown: dict[int, Waiting]) -> None:
        """Widen jobs that would start now: the widest size with which they still start."""
        primary = state.machine.primary
        entries = {waiting.order: waiting for waiting in state.queue if waiting.order in self._choosers}
        for order in [order for order in starts_now(self.over, _with_queue(state, shown)) if order in entries]:
            sizes = allowed_sizes(entries[order], state)
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
        """Change the size of a waiting job."""
        self._chosen[waiting.order] = size
        shown[waiting.order] = as_rigid(waiting, size)

    def _report(self) -> dict[str, object]:
        return {**reported(self.over), "changed": self._changed}

    def _of_shape(self, action: Start, shown: dict[int, Waiting]) -> Start:
        """Return the start of a rigid job as a start of its moldable job."""
        rigid = action.job if isinstance(action.job, Waiting) else None
        if rigid is None:
            id_ = getattr(action.job, "id", action.job)
            rigid = next(waiting for waiting in shown.values() if waiting.id == id_)
        size = self._chosen.get(rigid.order)
        return action if size is None or size.shape is None else replace(action, shape=size.shape)


def _molds(part: Dispatcher) -> bool:
    """Return whether a dispatcher's option lets it choose shapes itself."""
    return bool(option_of(part, "molds"))


def _with_queue(state: State, shown: dict[int, Waiting]) -> State:
    """Return a state with only the jobs in `shown` in the queue, in their rigid form."""
    entries = [shown[waiting.order] for waiting in state.queue.entries if waiting.order in shown]
    return State(state.now, entries, state.running, state.free, state.machine)
