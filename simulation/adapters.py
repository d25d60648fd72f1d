"""Use the parts alone: our dispatchers and predictors in an ordinary AccaSim script."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dispatchers import Dispatcher, JobView, Reject, Running, Start, State, Waiting, create_dispatcher
from ..predictors import Predictor
from ..predictors import create as create_predictor
from ..workloads import Job, Machine
from ._accasim import AdditionalData, JobVerification, SchedulerBase
from .errors import ActionError


class AccaSimScheduler(SchedulerBase):  # type: ignore[misc]
    """A dispatcher as AccaSim's scheduler and allocator in one; see :func:`accasim_scheduler`."""

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

    @property
    def name(self) -> str:
        """Name of the dispatcher."""
        return self._id

    def get_id(self) -> str:
        """Return the name of the dispatcher."""
        return self._id

    def set_resource_manager(self, resource_manager: Any) -> None:
        """Take over the machine; AccaSim calls this when a simulator is made."""
        super().set_resource_manager(resource_manager)
        self._machine = None

    def scheduling_method(
        self, cur_time: int, es: Sequence[Any], es_dict: Mapping[str, Any]
    ) -> tuple[list[tuple[int | None, str, list[str]]], list[str]]:
        """Ask the dispatcher; return AccaSim's plan, one entry a queued job, and the rejected ids."""
        if self._machine is None:
            self._set_machine()
        assert self._machine is not None
        free = self._free()
        state = State(cur_time, self._queue(cur_time, es), self._running(es_dict), free, self._machine)
        started: dict[str, list[str]] = {}
        rejected: list[str] = []
        for action in self._dispatcher.dispatch(state):
            if isinstance(action, Start):
                started[_id(action.job)] = [self._names[node] for node in action.placement]
            elif isinstance(action, Reject):
                rejected.append(_id(action.job))
            else:
                raise ActionError(f"{self._id} at t={cur_time}: AccaSim's simulator cannot {action!r}")
        plan: list[tuple[int | None, str, list[str]]] = []
        for event in es:
            if event.id in started:
                plan.append((cur_time, event.id, started[event.id]))
            elif event.id not in rejected:
                plan.append((None, event.id, []))
        for gone in (*started, *rejected):
            self._entries.pop(gone, None)
        return plan, rejected

    def _set_machine(self) -> None:
        nodes = self.resource_manager.system_capacity("nodes")
        resources = tuple(self.resource_manager.resource_types)
        capacity = np.array([[nodes[name][resource] for resource in resources] for name in nodes], dtype=np.int64)
        self._machine = Machine(resources, capacity)
        self._names = list(nodes)
        self._index = {name: index for index, name in enumerate(self._names)}
        self._order, self._entries = {}, {}
        if hasattr(self._dispatcher, "reset"):
            self._dispatcher.reset(self._machine, np.random.default_rng(0))

    def _free(self) -> Any:
        assert self._machine is not None
        available = self.resource_manager.current_availability
        free = np.zeros_like(self._machine.capacity)
        for name, amounts in available.items():
            free[self._index[name]] = [amounts[resource] for resource in self._machine.resources]
        free.flags.writeable = False
        return free

    def _queue(self, now: int, es: Sequence[Any]) -> list[Waiting]:
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
        queue.sort(key=lambda waiting: (waiting.since, waiting.order))
        return queue

    def _running(self, es_dict: Mapping[str, Any]) -> list[Running]:
        assert self._machine is not None
        found = []
        for id_ in self.resource_manager.current_allocations:
            event = es_dict[id_]
            job = job_of(event)
            placement = np.array([self._index[name] for name in event.assigned_nodes], dtype=np.int64)
            order = self._order.get(id_, -1)
            run = Running(
                JobView(job, self._machine), event.start_time, placement, self._machine.demand(job.per_node), order
            )
            run.predicted_end = event.start_time + max(1, int(event.expected_duration))
            found.append(run)
        return found


class AccaSimPredictor(AdditionalData):  # type: ignore[misc]
    """A predictor as AccaSim's additional data; see :func:`accasim_predictor`."""

    def __init__(self, predictor: Predictor) -> None:
        self.event_mapper = None
        self._predictor = predictor
        self._seen: set[str] = set()

    def set_event_manager(self, event_manager: Any) -> None:
        """Take the event manager; AccaSim passes ``None`` the first time."""
        if event_manager is not None and self.event_mapper is None:
            super().set_event_manager(event_manager)

    def exec_before_dispatching(self, job_dict: Mapping[str, Any], queued_jobs: Sequence[str]) -> None:
        """Predict the jobs that are new in the queue."""
        for id_ in queued_jobs:
            if id_ not in self._seen:
                self._seen.add(id_)
                event = job_dict[id_]
                event.requested_duration = event.expected_duration
                predicted = self._predictor.predict(job_of(event), event.queued_time)
                event.expected_duration = max(1, int(np.ceil(predicted)))

    def exec_after_completion(self, removed_jobs: Sequence[Any]) -> None:
        """Show the predictor the jobs that have ended."""
        for event in removed_jobs:
            self._seen.discard(event.id)
            self._predictor.observe(job_of(event))

    def exec_after_dispatching(self, job_dict: Any, to_dispatch_jobs: Any, rejected_jobs: Any) -> None:
        """Leave the plan as it is."""

    def exec_before_submission(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing."""

    def exec_after_submission(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing."""

    def exec_before_completion(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""


def accasim_scheduler(dispatcher: str | Dispatcher) -> AccaSimScheduler:
    """Wrap a dispatcher for AccaSim's own ``Simulator``.

    It takes each job's ``expected_duration`` for its predicted run time. AccaSim's simulator has no way to stop a job or
    to set a timer, so that a dispatcher that asks for one raises :class:`ActionError`.

    Parameters
    ----------
    dispatcher
        An object with ``dispatch(state)``, or ``NAME:key=value,...``.
    """
    name = dispatcher if isinstance(dispatcher, str) else type(dispatcher).__name__
    return AccaSimScheduler(create_dispatcher(dispatcher), name)


def accasim_predictor(predictor: str | Predictor) -> AccaSimPredictor:
    """Wrap a predictor for the ``additional_data`` of AccaSim's own ``Simulator``.

    A job's ``expected_duration`` becomes the prediction when it enters the queue, so that every AccaSim scheduler works
    with it; what was requested is kept as ``requested_duration``.

    Parameters
    ----------
    predictor
        An object with ``predict`` and ``observe``, or ``NAME:key=value,...``.
    """
    return AccaSimPredictor(create_predictor(predictor))


def job_of(event: Any) -> Job:
    """Return AccaSim's event as a job."""
    walltime = getattr(event, "requested_duration", None) or getattr(event, "expected_duration", None)
    return Job(
        id=event.id,
        submit=event.queued_time,
        runtime=max(0, event.duration),
        walltime=max(1, int(walltime if walltime is not None else event.duration)),
        nodes=event.requested_nodes,
        per_node=event.requested_resources,
        user=_text(event, "user_id"),
        group=_text(event, "group_id"),
        name=_text(event, "executable"),
        queue=_text(event, "queue"),
    )


def _text(event: Any, name: str) -> str:
    value = getattr(event, name, None)
    return "" if value is None or value == -1 else str(value)


def _id(named: Any) -> str:
    return named if isinstance(named, str) else str(named.id)
