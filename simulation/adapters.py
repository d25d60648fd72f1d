"""Use our dispatchers and predictors in an ordinary AccaSim script."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..base import InputError
from ..base.argument_types import names_wrong_types
from ..base.contracts import PredictorContract
from ..base.corrections import correction_of
from ..dispatchers import Dispatcher, JobView, Reject, Running, Start, State, Waiting, Wake, create_dispatcher
from ..dispatchers.registered import reset_part
from ..predictors import Predictor
from ..predictors import create as create_predictor
from ..workloads import Job, Machine
from .accasim_compat import AdditionalData, JobVerification, SchedulerBase
from .simulation_errors import ActionError

PlanEntry = tuple[int | None, str, list[str]]


class AccaSimScheduler(SchedulerBase):  # type: ignore[misc]
    """A dispatcher as AccaSim's scheduler and allocator; see :func:`accasim_scheduler`."""

    def __init__(self, dispatcher: Dispatcher, name: str) -> None:
        before = random.getstate()  # AccaSim seeds the process-wide generator.
        super().__init__(0, allocator=None, job_check=JobVerification.CHECK_REQUEST)
        random.setstate(before)
        self._dispatcher = dispatcher
        self._id = name
        self._machine: Machine | None = None
        self._names: list[str] = []
        self._index: dict[str, int] = {}
        self._order: dict[str, int] = {}
        self._entries: dict[str, Waiting] = {}
        self._wakes: set[int] = set()

    @property
    def name(self) -> str:
        """Name of the dispatcher."""
        return self._id

    def get_id(self) -> str:
        """Return the name of the dispatcher."""
        return self._id

    def set_resource_manager(self, resource_manager: Any) -> None:
        """Set the machine. AccaSim calls this when it makes a simulator."""
        super().set_resource_manager(resource_manager)
        self._system_capacity = self._nodes_capacity = None  # AccaSim keeps those of the last machine.
        self._machine = None

    def scheduling_method(
        self, cur_time: int, es: Sequence[Any], es_dict: Mapping[str, Any]
    ) -> tuple[list[PlanEntry], list[str]]:
        """Call the dispatcher. Return AccaSim's plan, one entry per queued job, and the rejected ids."""
        if self._machine is None:
            self._set_machine()
        assert self._machine is not None
        free = self._free()
        state = State(cur_time, self._queue(es), self._running(es_dict), free, self._machine)
        room = free.copy()
        started: dict[str, list[str]] = {}
        rejected: list[str] = []
        for action in self._dispatcher.dispatch(state):
            if isinstance(action, Start):
                waiting = self._take(cur_time, "start", action.job)
                started[waiting.id] = self._placement(cur_time, waiting, action, room)
            elif isinstance(action, Reject):
                rejected.append(self._take(cur_time, "reject", action.job).id)
            elif isinstance(action, Wake):
                self._wakes.add(int(action.at))
            else:
                raise ActionError(f"{self._id} at t={cur_time}: AccaSim's simulator cannot carry out {action!r}")
        plan: list[PlanEntry] = [(cur_time, id_, nodes) for id_, nodes in started.items()]
        plan += self._postponed(cur_time, [event.id for event in es if event.id in self._entries])
        return plan, rejected

    def _postponed(self, now: int, ids: Sequence[str]) -> list[PlanEntry]:
        """Leave jobs in the queue. The first entry has the time of the next timer."""
        self._wakes = {at for at in self._wakes if at > now}
        timer = min(self._wakes, default=None)
        return [(None if place else timer, id_, []) for place, id_ in enumerate(ids)]

    def _take(self, now: int, verb: str, named: Any) -> Waiting:
        """Remove a job from the queue."""
        id_ = named if isinstance(named, str) else named.id
        waiting = self._entries.pop(id_, None)
        if waiting is None:
            raise ActionError(f"{self._id} at t={now}: cannot {verb} job {id_}: it is not waiting")
        return waiting

    def _placement(self, now: int, waiting: Waiting, action: Start, room: Any) -> list[str]:
        """Return the node names of a starting job, and take its amounts from `room`."""
        where = f"{self._id} at t={now}: job {waiting.id}"
        if action.limit is not None or action.shape is not None or action.write:
            raise ActionError(f"{where}: AccaSim's simulator can neither stop a job nor change its shape")
        nodes, demand = waiting.nodes, waiting.demand
        placement = np.asarray(action.placement)
        if placement.shape != (nodes,) or placement.min() < 0 or placement.max() >= len(self._names):
            raise ActionError(f"{where}: placement must be {nodes} nodes in 0..{len(self._names) - 1}, got {placement}")
        room -= np.bincount(placement, minlength=len(room))[:, None] * np.array(demand)
        if room.min() < 0:
            raise ActionError(f"{where}: no room for {nodes} x {demand} at {placement}")
        return [self._names[node] for node in placement]

    def _set_machine(self) -> None:
        nodes = self.resource_manager.system_capacity("nodes")
        resources = tuple(self.resource_manager.resource_types)
        capacity = np.array([[nodes[name][resource] for resource in resources] for name in nodes], dtype=np.int64)
        self._machine = Machine(resources, capacity)
        self._names = list(nodes)
        self._index = {name: index for index, name in enumerate(self._names)}
        self._order = {}
        self._entries = {}
        self._wakes = set()
        reset_part(self._dispatcher, self._machine, np.random.default_rng(0))

    def _free(self) -> Any:
        assert self._machine is not None
        available = self.resource_manager.current_availability
        free = np.zeros_like(self._machine.capacity)
        for name, amounts in available.items():
            free[self._index[name]] = [amounts[resource] for resource in self._machine.resources]
        free.flags.writeable = False
        return free

    def _queue(self, es: Sequence[Any]) -> list[Waiting]:
        queue = []
        for event in es:
            entry = self._entries.get(event.id)
            predicted = max(1, int(event.expected_duration))
            if entry is None or entry.predicted != predicted:
                job = job_of(event)
                order = self._order.setdefault(event.id, len(self._order))
                view = JobView(job, self._machine)  # type: ignore[arg-type]
                demand = self._machine.demand(job.per_node)  # type: ignore[union-attr]
                entry = self._entries[event.id] = Waiting(view, predicted, event.queued_time, 0, order, demand)
            queue.append(entry)
        queue.sort(key=lambda waiting: waiting.place)
        return queue

    def _running(self, es_dict: Mapping[str, Any]) -> list[Running]:
        assert self._machine is not None
        runs = []
        for id_ in self.resource_manager.current_allocations:
            event = es_dict[id_]
            job = job_of(event)
            placement = np.array([self._index[name] for name in event.assigned_nodes], dtype=np.int64)
            order = self._order.get(id_, -1)
            run = Running(
                JobView(job, self._machine), event.start_time, placement, self._machine.demand(job.per_node), order
            )
            run.predicted_end = event.start_time + max(1, int(event.expected_duration))
            runs.append(run)
        runs.sort(key=lambda run: run.predicted_end)
        return runs


class AccaSimPredictor(AdditionalData):  # type: ignore[misc]
    """A predictor as AccaSim's additional data; see :func:`accasim_predictor`."""

    def __init__(self, predictor: Predictor) -> None:
        self.event_mapper: Any = None
        self._predictor = predictor
        self._correct = correction_of(predictor)
        self._seen: set[str] = set()
        self._running: dict[str, int] = {}

    def set_event_manager(self, event_manager: Any) -> None:
        """Set the event manager of a new simulation. AccaSim passes ``None`` before it has one."""
        if event_manager is None or event_manager is self.event_mapper:
            return
        self.event_mapper = event_manager
        self._seen.clear()
        self._running.clear()
        reset = PredictorContract(self._predictor).reset
        if reset is not None:
            reset()

    def exec_before_dispatching(self, job_dict: Mapping[str, Any], queued_jobs: Sequence[str]) -> None:
        """Predict the new jobs of the queue, and correct the predictions of overrun jobs."""
        for id_ in queued_jobs:
            if id_ not in self._seen:
                self._seen.add(id_)
                event = job_dict[id_]
                event.requested_duration = event.expected_duration
                predicted = self._predictor.predict(job_of(event), event.queued_time)
                event.expected_duration = max(1, int(np.ceil(predicted)))
        for id_ in list(self._running):
            self._correct_prediction(job_dict[id_])

    def exec_after_dispatching(
        self, job_dict: Mapping[str, Any], to_dispatch_jobs: Sequence[PlanEntry], rejected_jobs: Sequence[str]
    ) -> None:
        """Watch the started jobs, to correct their predictions."""
        self._seen.difference_update(rejected_jobs)
        now = self.event_mapper.current_time
        self._running.update((id_, 0) for time, id_, nodes in to_dispatch_jobs if nodes and time == now)

    def exec_after_completion(self, removed_jobs: Sequence[Any]) -> None:
        """Pass the ended jobs to the predictor."""
        for event in removed_jobs:
            self._seen.discard(event.id)
            self._running.pop(event.id, None)
            self._predictor.observe(job_of(event))

    def _correct_prediction(self, event: Any) -> None:
        """Correct the prediction of a running job until it is in the future. Stop if the predictor has no answer."""
        elapsed = event.expected_duration
        while event.start_time + elapsed <= self.event_mapper.current_time:
            whole = self._correct(job_of(event), elapsed, self._running[event.id])
            if whole <= elapsed:
                del self._running[event.id]
                return
            elapsed = event.expected_duration = max(int(np.ceil(whole)), elapsed + 1)
            self._running[event.id] += 1

    def exec_before_submission(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing."""

    def exec_after_submission(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing."""

    def exec_before_completion(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""


@names_wrong_types
def accasim_scheduler(dispatcher: str | Dispatcher) -> AccaSimScheduler:
    """Wrap a dispatcher for AccaSim's own ``Simulator``.

    Each job's ``expected_duration`` is its predicted run time. AccaSim's simulator cannot stop a job or change its
    shape. A dispatcher that does so, or returns an impossible action, raises :class:`ActionError`.

    Parameters
    ----------
    dispatcher
        An object with ``dispatch(state)``, or ``NAME:key=value,...``.

    Examples
    --------
    >>> from hpcdispatch.simulation import accasim_scheduler
    >>> type(accasim_scheduler("easy")).__name__
    'AccaSimScheduler'
    """
    name = dispatcher if isinstance(dispatcher, str) else type(dispatcher).__name__
    return AccaSimScheduler(create_dispatcher(dispatcher), name)


@names_wrong_types
def accasim_predictor(predictor: str | Predictor) -> AccaSimPredictor:
    """Wrap a predictor for the ``additional_data`` of AccaSim's own ``Simulator``.

    A job's ``expected_duration`` becomes the prediction when the job enters the queue. An overrun job gets the
    corrected one. Therefore every AccaSim scheduler works with it. The walltime stays in ``requested_duration``.

    Parameters
    ----------
    predictor
        An object with ``predict`` and ``observe``, or ``NAME:key=value,...``.

    Examples
    --------
    >>> from hpcdispatch.simulation import accasim_predictor
    >>> type(accasim_predictor("last2")).__name__
    'AccaSimPredictor'
    """
    return AccaSimPredictor(create_predictor(predictor))


def job_of(event: Any) -> Job:
    """Return AccaSim's event as a job.

    Raises
    ------
    InputError
        If it has no walltime. AccaSim's reader allows this.
    """
    walltime = getattr(event, "requested_duration", None)
    if walltime is None:
        walltime = getattr(event, "expected_duration", event.duration)
    if walltime < 1:
        raise InputError(f"job {event.id}: walltime must be >= 1 s, got {walltime}")
    return Job(
        id=event.id,
        submit=event.queued_time,
        runtime=max(0, event.duration),
        walltime=int(walltime),
        nodes=event.requested_nodes,
        per_node=event.requested_resources,
        user=_text(event, "user_id"),
        group=_text(event, "group_id"),
        name=_text(event, "executable"),
        queue=_text(event, "queue"),
    )


def _text(event: Any, name: str) -> str:
    value = getattr(event, name, None)
    return "" if value in (None, -1, "-1") else str(value)
