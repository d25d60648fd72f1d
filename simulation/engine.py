"""Run a workload through AccaSim's main loop."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from os import PathLike
from time import perf_counter
from types import SimpleNamespace
from typing import Any, Literal, get_args

import numpy as np

from ..base import InputError, IntArray, part_label
from ..base.argument_types import names_wrong_types
from ..base.contracts import PredictorContract
from ..base.user_warnings import warn
from ..dispatchers import Dispatcher, create_dispatcher
from ..dispatchers.protocol import DispatcherContract
from ..dispatchers.registered import knows_site, layers, places_compactly
from ..dispatchers.rule_book import unknown_level
from ..predictors import Oracle, Predictor
from ..predictors import create as create_predictor
from ..workloads import Job, Machine, OperatingConditions, Signal, Workload
from ..workloads.fitting_requests import (
    Refusals,
    as_request,
    fitting_requests,
    lies_on,
    nodes_in_use,
    on_nodes,
    room_for,
    units_of,
)
from ..workloads.job_columns import Coded
from ..workloads.machine_state import MachineState
from ..workloads.sources import WorkloadLike, workload_of
from .accasim_compat import Simulator
from .beginning import begin_from
from .budget import Budget
from .events.compiled_events import CompiledEvents, compiled_events
from .events.event_manager import DispatchEvents
from .overrun import Overrun
from .portfolio import Replayer, let_learn
from .recorder import Recorder
from .result import Result, manifest
from .simulated_job import SimulatedJob
from .simulation_errors import asked
from .vain_rules import warn_of_vain_rules

#: Whether the events of one instant get one dispatch together, or one each.
SameInstant = Literal["batch", "sequence", "arrivals-first", "arrivals-alone-first"]
#: Jobs read at a time: few, since each job needs several objects until it leaves.
_BLOCK = 64
#: Jobs taken from a workload at a time: many, since each part of its columns needs several arrays.
_TAKEN = 4096
#: New objects between two garbage collections during a simulation.
_NEW_OBJECTS = 50_000
#: The resource that keeps other jobs off the nodes of exclusive jobs.
_SHARES = "node shares"


class Arrivals:
    """The jobs of a workload in their order, in the form of the simulator.

    Jobs that cannot run on the empty machine are recorded as rejected. Shapes that do not fit are counted.

    Parameters
    ----------
    recorder
        Of the workload.

    Attributes
    ----------
    position
        Place in the trace of the next job to read.
    changed
        Replacements of jobs that were not read yet, by their place.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.position = 0
        self.changed: dict[int, Job] = {}
        self.recorder = recorder
        self._block: Sequence[Job] = ()
        self._first = 0
        self._refusals = Refusals(recorder.machine)
        self._known: dict[Any, tuple[int, tuple[int, ...]]] = {}

    def __iter__(self) -> Arrivals:
        return self

    def __next__(self) -> SimulatedJob:
        while True:
            order = self.position
            if order - self._first >= len(self._block):
                jobs = self.recorder.workload.jobs
                if order >= len(jobs):  # The main loop asks at every step: an empty slice of many columns is slow.
                    raise StopIteration
                self._first = order
                self._block = tuple(jobs[order : order + _TAKEN])
            self.position += 1
            job = self._block[order - self._first]
            event = self.event(self.changed.pop(order, job) if self.changed else job, order)
            if event is not None:
                return event

    def event(self, job: Job, order: int) -> SimulatedJob | None:
        """Return a job in the form of the simulator; ``None`` if it is recorded as rejected."""
        machine = self.recorder.workload.machine
        room_and_demand = self._known.get(job.per_node)
        if room_and_demand is None:
            room = room_for(machine, job.per_node)
            room_and_demand = self._known[job.per_node] = room, machine.demand(job.per_node) if room >= 0 else ()
        fits = job.nodes <= room_and_demand[0]
        if fits and (job.within or job.slots):
            fits = lies_on(machine, job)
        event = SimulatedJob(job, order, room_and_demand[1]) if fits else None
        if job.shapes:
            fitting = fitting_requests(job, machine)
            self.recorder.dropped_shapes += len(job.shapes) - sum(place >= 0 for place in fitting)
            if fitting and len(fitting) <= len(job.shapes):
                asks = as_request(job, fitting)
                event = SimulatedJob(asks, order, machine.demand(asks.per_node), fitting)
        if event is None:
            self.recorder.fail(order, "rejected", job.submit, self._refusals.reason(job))
        return event


class Engine(Simulator):  # type: ignore[misc]
    """AccaSim's simulator, reduced to its main loop.

    Its constructor fills process-wide constants, adds a log handler and makes a results folder. This one does not, so
    any number of simulations can run in one process.
    """

    def __init__(self, events: Arrivals, mapper: DispatchEvents | CompiledEvents) -> None:
        self.arrivals = events
        self.ahead: list[SimulatedJob] = []
        self.mapper: Any = mapper
        self.constants = SimpleNamespace(
            load_constant=lambda name, value: None,
            BENCHMARK_OUTPUT=False,
            SHOW_STATISTICS=False,
            STATISTICS_OUTPUT=False,
        )
        self.timeout = None
        self.max_sample = 2
        self._loaded = 0
        self.dispatched_jobs = 0
        self.rejected_jobs = 0
        self._logger = logging.getLogger("hpcdispatch.simulation")

    @property
    def loaded_jobs(self) -> int:
        """Number of read jobs that enter the queue. AccaSim compares it with the number of started jobs."""
        return self._loaded - int(self.mapper.lost)

    @loaded_jobs.setter
    def loaded_jobs(self, count: int) -> None:
        self._loaded = count + self.mapper.lost

    def load_events(
        self, current_time: int, jobs_dict: dict[str, SimulatedJob], mapper: DispatchEvents, _: int = 2
    ) -> None:
        """Read the next block of jobs, with all jobs of its last instant."""
        events = [*self.ahead, *islice(self.arrivals, _BLOCK)]
        self.ahead.clear()
        for event in self.arrivals:
            if event.queued_time != events[-1].queued_time:
                self.ahead.append(event)
                break
            events.append(event)
        self.loaded_jobs += len(events)
        jobs_dict.update([(event.id, event) for event in events])
        mapper.load_events(events)


@names_wrong_types
def simulate(
    workload: WorkloadLike,
    dispatcher: str | Dispatcher,
    predictor: str | Predictor = "walltime",
    *,
    overrun: str | Overrun = "run",
    seed: int = 0,
    same_instant: SameInstant = "batch",
    progress: Callable[[int], None] | None = None,
    budget: Budget | None = None,
    state: MachineState | None = None,
    failures: str | PathLike[str] | None = None,
    signal: Signal | str | PathLike[str] | None = None,
    may_wait: float | str | None = None,
    power_cap: str | PathLike[str] | None = None,
) -> Result:
    """Simulate a workload under a dispatcher.

    At each instant, completions come before arrivals, and arrivals before the one dispatch. The same arguments give the
    same records, byte for byte; only the measured times differ. Shapes that do not fit the empty machine are dropped.
    ``Result.manifest["dropped_shapes"]`` counts them. A job whose own request does not fit, or can never start under
    the rules of the machine, gets its first shape that can. It is rejected if there is none.

    Parameters
    ----------
    workload
        Jobs and machine. Or the path of a trace, ``NAME:key=value,...`` of a generator, or the name of a published
        trace.
    dispatcher
        An object with ``dispatch(state)``, or ``NAME:key=value,...`` of a registered one. An object with
        ``reset(machine, rng)`` is reset first.
    predictor
        An object with ``predict`` and ``observe``, or ``NAME:key=value,...``. One with ``reset()`` is reset first.
    overrun
        What happens to a job that reaches its walltime: ``"run"``, ``"kill"`` or ``"resubmit"``. The last may have
        options, such as ``"resubmit:factor=1.3,cap=86400"``. Or an :class:`Overrun`.
    seed
        For the random numbers of a generated workload and of a dispatcher.
    same_instant
        ``"batch"``: one dispatch after all completions and arrivals of an instant. ``"sequence"``: one after each of
        them, completions first. There, jobs that end exactly as predicted count as one completion.
        ``"arrivals-first"``: the order of pyss and of studies with it, such as SC 2015. Predictions are corrected
        first. Then come the arrivals and then the completions, with a dispatch after each. Nodes of jobs that end
        exactly as predicted are free from the first arrival on. ``"arrivals-alone-first"``: likewise, but no node is
        free before the completion of its job, as in RLScheduler.
    progress
        Called from time to time, and at the end, with the number of jobs that have left the system.
    budget
        Most decisions or seconds. Without a budget it runs as long as there is progress.
    state
        The state to begin from: its running jobs and its past. Without one, the machine is empty. Jobs that run at the
        beginning keep their starts and waits. The use of the machine counts from there.
    failures
        Nodes fail and return, as with :func:`.with_failures` and this seed: ``"mtbf=5y,repair=4h"``, or the path of a
        log.
    signal
        Emissions or prices of the grid, or the path of a file, for :meth:`.Result.with_signal`.
    may_wait
        With a signal: jobs wait for a better hour, at most so long, see :func:`.wait_for_better_hours`.
    power_cap
        Path of a cap on the power that changes over time, see :func:`.with_power_cap`. To check a result under
        failures, waiting jobs or this cap, make the workload by :meth:`.OperatingConditions.on` first.

    Returns
    -------
    Result
        Jobs, attempts, decisions and measured times.

    Raises
    ------
    InputError
        For an unknown name or option, an unreadable workload, or an impossible state.
    SimulationError
        If the dispatcher returns an impossible action, leaves jobs waiting for ever, or makes no progress. Also if a
        part raises an error: the message has its name, the time and the job.
    BudgetError
        If the budget is used up. It is a :class:`SimulationError`, too.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> result = hd.simulate(hd.example(), "easy", predictor="last2")
    >>> round(result.summary()["wait_mean"]), int(result.jobs["wait"].max())
    (7263, 148720)
    """
    workload = workload_of(workload, seed)
    conditions = OperatingConditions(failures, signal, may_wait, power_cap)
    workload = conditions.on(workload, seed)
    named = {"dispatcher": dispatcher, "predictor": predictor}
    policy = Overrun.parse(overrun)
    dispatching = create_dispatcher(dispatcher)
    predicting = create_predictor(predictor)
    nodes = np.arange(workload.machine.nodes)
    if state is None and not _shows_all(workload, dispatching):
        nodes = nodes_in_use(workload)
    recorder = recorder_on(workload, nodes)
    simulated = recorder.workload
    _check_levels(workload)
    warn_of_vain_rules(workload)
    dispatching, predicting = fresh_parts(simulated.machine, dispatching, predicting, seed)
    begin = perf_counter()
    plain = budget is None and state is None
    engine = compiled_engine(recorder, dispatching, predicting, policy, progress, same_instant) if plain else None
    if engine is None:
        engine = engine_of(recorder, dispatching, predicting, policy, same_instant, progress, budget)
    if state is not None:
        begin_from(engine, dispatching, predicting, state)
    with settled_heap():
        engine.start_hpc_simulation()
    seconds = perf_counter() - begin
    if not isinstance(engine.mapper, CompiledEvents):
        engine.mapper.cycle.close()
    if progress is not None:
        progress(len(workload))
    if simulated is not workload:
        recorder.move_to(nodes, workload)
    options: dict[str, Any] = {"overrun": str(policy), "seed": seed, "same_instant": same_instant}
    unheeded = _unheeded(workload, len(nodes), dispatching)
    if unheeded:
        options["unheeded"] = unheeded
    unbounded = next((why for part in layers(dispatching) if (why := DispatcherContract(part).unbounded)), "")
    if unbounded:
        options["unbounded"] = unbounded
        told = f"{_name(dispatching)} did not bound all waits: {unbounded}"
        warn(told, UnboundedWarning)
    if not isinstance(engine.mapper, CompiledEvents) and engine.mapper.decisions.refused:
        options["refused"] = engine.mapper.decisions.refused
        options["first_refused"] = engine.mapper.decisions.first_refused
    if recorder.dropped_shapes:
        options["dropped_shapes"] = recorder.dropped_shapes
    cut = 0 if isinstance(engine.mapper, CompiledEvents) else engine.mapper.forecasts.cut
    if cut and not isinstance(predicting, Oracle):  # An oracle knows of the kill.
        options["cut_predictions"] = cut
        told = f"{part_label(predicting)}: {cut} predictions above the walltime count as the walltime"
        reason = f"because overrun={policy} ends jobs there; the predictor scaled:factor=2 keeps longer ones"
        warn(f"{told}, {reason}", PredictionWarning)
    counts = PredictorContract(predicting).counts
    if counts is not None:
        options["predictions"] = dict(asked(lambda: type(predicting).__name__, "counts", counts))
    notes = PredictorContract(predicting).notes
    for note in () if notes is None else asked(lambda: type(predicting).__name__, "notes", notes):
        warn(f"predictor {part_label(predicting)}: {note}", PredictionWarning)
    if state is not None:
        options["state"] = {"at": state.at, "running": len(state.running)}
    drawn = workload.provenance.options.get("failures")
    if drawn is not None:
        options["failures"] = drawn
    constraints = tuple(DispatcherContract(dispatching).constraints)
    made = manifest(workload, named, options)
    result = Result.from_recorder(workload, recorder, made, seconds, constraints, state)
    if drawn is not None and (result.attempts["end"] > drawn["until"]).any():
        last = int(result.attempts["end"].max())
        warn(f"the last job ended at t={last:,}; failures were drawn until t={drawn['until']:,} only", FailureWarning)
    return result if conditions.grid is None else result.with_signal(conditions.grid)


class FailureWarning(UserWarning):
    """Warns of a simulation that took longer than failures were drawn."""


class UnheededWarning(UserWarning):
    """Warns of a field of jobs that has no effect under the dispatcher of a simulation.

    Examples
    --------
    >>> import warnings
    >>> import hpcdispatch as hd
    >>> workload = hd.Workload([hd.Job("a", 0, 60, 60, licences={"matlab": 1})], hd.Machine(("core",), [[4]]))
    >>> with warnings.catch_warnings(record=True) as given:
    ...     warnings.simplefilter("always")
    ...     result = hd.simulate(workload, "easy")
    >>> print(given[0].message)
    jobs name licences, and the machine has no number of any: they are not counted
    """


class PredictionWarning(UserWarning):
    """Warns of predictions that were replaced: cut to the walltime, or walltimes where a predictor gave no number.

    Examples
    --------
    >>> import warnings
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.testing import tiny
    >>> class Double:
    ...     "Predict twice the walltime."
    ...
    ...     def predict(self, job, now):
    ...         return 2 * job.walltime
    ...
    ...     def observe(self, job):
    ...         pass
    >>> with warnings.catch_warnings(record=True) as given:
    ...     warnings.simplefilter("always")
    ...     result = hd.simulate(tiny(), "easy", Double(), overrun="kill")
    >>> str(given[0].message).partition(";")[0]
    'Double: 5 predictions above the walltime count as the walltime, because overrun=kill ends jobs there'
    """


class UnboundedWarning(UserWarning):
    """Warns of decisions where a dispatcher could not keep its bound of waits.

    Examples
    --------
    >>> from hpcdispatch.simulation import UnboundedWarning
    >>> issubclass(UnboundedWarning, UserWarning)
    True
    """


def _name(dispatcher: Dispatcher) -> str:
    return DispatcherContract(dispatcher).name or type(dispatcher).__name__


#: Fields of jobs that only a dispatcher with the rules of the site keeps to.
_OF_SLURM = {
    "together": "components of heterogeneous jobs start one by one",
    "spread": "numbers of nodes of jobs with tasks (-N 2-4 -n 8) are not kept to",
}


def _unheeded(workload: Workload, nodes: int, dispatcher: Dispatcher) -> list[str]:
    """Return the fields of jobs that have no effect on so many nodes, and warn of them."""
    fields = []
    if any(workload.columns.licences.values) and not workload.machine.licences:
        told = "jobs name licences, and the machine has no number of any: they are not counted"
        warn(told, UnheededWarning)
        fields.append("licences")
    if places_compactly(dispatcher) and nodes > 1 and not workload.machine.levels:
        warn("placement=compact fills nodes in their order: the machine has no levels", UnheededWarning)
        fields.append("placement")
    if any(workload.columns.exclusive.values) and nodes == 1:
        warn("exclusive jobs share a machine of one node as any others do", UnheededWarning)
        fields.append("exclusive")
    for name, told in _OF_SLURM.items():
        if any(getattr(workload.columns, name).values) and not knows_site(dispatcher):
            warn(told, UnheededWarning)
            fields.append(name)
    reservation = workload.columns.reservation
    known = any(each.name for each in workload.machine.reservations)
    if known or not any(reservation.values) or knows_site(dispatcher):
        return fields
    named = int(reservation.numbers(bool).sum())
    jobs = "1 job names" if named == 1 else f"{named} jobs name"
    warn(f"{_name(dispatcher)} knows no reservations: {jobs} one and may start outside it", UnheededWarning)
    return [*fields, "reservation"]


def _check_levels(workload: Workload) -> None:
    """Refuse jobs that ask for a level which the machine does not have."""
    levels = workload.machine.levels
    unknown = [level for level in workload.columns.within.values if level and level not in levels]
    if unknown:
        job = next(job for job in workload.jobs if job.within in unknown)
        raise InputError(unknown_level(job.id, job.within, workload.machine))


def _shows_all(workload: Workload, dispatcher: Dispatcher) -> bool:
    """Return whether the rules of the machine, or the dispatcher, number nodes."""
    if workload.machine.rules.closing or knows_site(dispatcher):
        return True
    return any(DispatcherContract(part).constraints for part in layers(dispatcher))


def recorder_on(workload: Workload, nodes: IntArray) -> Recorder:
    """Return the recorder of a simulation on some of the nodes.

    Its workload has the machine as dispatchers see it. A state is taken and continued on this one, or the reservations
    that a dispatcher keeps would have the form of another machine.
    """
    whole = _with_layouts(_with_exclusive_nodes(workload, len(nodes)))
    return Recorder(on_nodes(whole, nodes), whole.machine)


def _with_exclusive_nodes(workload: Workload, nodes: int) -> Workload:
    """Return the workload with one more resource if there are exclusive jobs and several `nodes` in use.

    An exclusive job takes all of it on its nodes.
    """
    machine = workload.machine
    if nodes < 2 or not any(workload.columns.exclusive.values):
        return workload
    # Slots that fit in a reservation of amounts take one each, and as many are left to others.
    most = 2 * int(machine.capacity.max())
    column = np.full((machine.nodes, 1), most)
    reserved = tuple(
        each if not each.amounts else replace(each, amounts={**each.amounts, _SHARES: max(each.amounts.values())})
        for each in machine.reservations
    )
    wider = replace(
        machine,
        resources=(*machine.resources, _SHARES),
        capacity=np.append(machine.capacity, column, axis=1),
        reservations=reserved,
    )

    def asks(job: Job, per_node: Mapping[str, int]) -> dict[str, int]:
        return {**per_node, _SHARES: most if job.exclusive else 1}

    def unequal(job: Job) -> tuple[Mapping[str, int], ...] | None:
        if job.slots is None:
            return None
        _, unit, _ = units_of(job)
        name = next(iter(unit))
        return tuple({**slot, _SHARES: slot.get(name, 0) // unit[name]} for slot in job.slots)

    jobs = [
        replace(
            job,
            per_node=asks(job, job.per_node),
            slots=unequal(job),
            shapes=tuple(replace(each, per_node=asks(job, each.per_node or job.per_node)) for each in job.shapes),
        )
        for job in workload.jobs
    ]
    return replace(workload, jobs=jobs, machine=wider)


def _with_layouts(workload: Workload) -> Workload:
    """Return the workload with unequal slots as units of the amount of which they are multiples.

    Its machine says whether jobs ask for groups of a level, or have such slots.
    """
    columns = workload.columns
    unequal = any(columns.slots.values)
    layouts = unequal or any(columns.within.values)
    machine = workload.machine
    if layouts != machine.rules.layouts:
        machine = replace(machine, _layouts=layouts)
    if not unequal:
        return workload if machine is workload.machine else replace(workload, jobs=columns, machine=machine)
    units = [units_of(job) if job.slots else (job.nodes, job.per_node, ()) for job in workload.jobs]
    columns = columns.take(
        slice(None),
        nodes=np.array([nodes for nodes, _, _ in units], dtype=np.int64),
        per_node=Coded.gathered(per_node for _, per_node, _ in units),
    )
    return replace(workload, jobs=columns, machine=machine)


def fresh_parts(
    machine: Machine, dispatcher: str | Dispatcher, predictor: str | Predictor, seed: int
) -> tuple[Dispatcher, Predictor]:
    """Return dispatcher and predictor, made from their names and reset where possible."""
    dispatching = create_dispatcher(dispatcher)
    predicting = create_predictor(predictor)
    begin = DispatcherContract(dispatching).reset
    if begin is not None:
        asked(lambda: type(dispatching).__name__, "reset", begin, machine, np.random.default_rng(seed))
    forget = PredictorContract(predicting).reset
    if forget is not None:
        asked(lambda: type(predicting).__name__, "reset", forget)
    return dispatching, predicting


def engine_of(
    recorder: Recorder,
    dispatcher: Dispatcher,
    predictor: Predictor,
    overrun: Overrun,
    same_instant: SameInstant,
    progress: Callable[[int], None] | None = None,
    budget: Budget | None = None,
) -> Engine:
    """Return the engine for the workload of a recorder, as for :func:`simulate`."""
    if same_instant not in get_args(SameInstant):
        raise InputError(f"same_instant: expected one of {', '.join(get_args(SameInstant))}, got {same_instant!r}")
    told = let_learn(dispatcher, Replayer(engine_of, predictor, overrun, same_instant))
    mapper = DispatchEvents(
        recorder.workload.machine,
        dispatcher,
        predictor,
        overrun,
        recorder,
        same_instant=same_instant,
        progress=progress,
        budget=budget,
        told=told,
    )
    return Engine(Arrivals(recorder), mapper)


def compiled_engine(
    recorder: Recorder,
    dispatcher: Dispatcher,
    predictor: Predictor,
    overrun: Overrun,
    progress: Callable[[int], None] | None,
    same_instant: SameInstant = "batch",
) -> Engine | None:
    """Return the engine of a simulation that compiled code can run whole; ``None`` for others."""
    mapper = compiled_events(recorder, dispatcher, predictor, overrun, progress, same_instant)
    if mapper is None:
        return None
    arrivals = Arrivals(recorder)
    arrivals.position = len(recorder.workload)
    return Engine(arrivals, mapper)


@contextmanager
def settled_heap() -> Iterator[None]:
    """Freeze the existing objects for the garbage collector, and collect new ones less often.

    A simulation makes several objects per job. They are freed when their last user is.
    """
    if gc.get_freeze_count():  # Frozen elsewhere, for example by another simulation: leave it so.
        yield
        return
    often, *rarely = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(max(often, _NEW_OBJECTS) if often else 0, *rarely)
    try:
        yield
    finally:
        gc.set_threshold(often, *rarely)
        gc.unfreeze()
