"""Use AccaSim's schedulers in this engine; :mod:`.adapters` has the other direction."""

from __future__ import annotations

import logging
from copy import deepcopy
from itertools import groupby
from types import CellType, FunctionType
from typing import Any

import numpy as np

from ..base import InputError, shown
from ..base.argument_types import names_wrong_types
from ..dispatchers import Action, JobView, Reject, Running, Start, State, Waiting, Wake
from ..workloads import Machine
from .accasim_compat import AllocatorBase, Event, ResourceManager, Resources, SchedulerBase
from .simulation_errors import ActionError

#: Takes the log of AccaSim's parts. Without its simulator there is no logger with a level ``trace``.
_QUIET: Any = logging.Logger("accasim", logging.CRITICAL + 1)
_QUIET.trace = _QUIET.debug


def independent_copy(part: Any) -> Any:
    """Return a deep copy. Functions that close over a copied object, as in BestFit, get its copy."""
    memo: dict[int, Any] = {}
    copied = deepcopy(part, memo)
    for owner in [item for item in memo.values() if isinstance(item, SchedulerBase | AllocatorBase)]:
        for name, value in vars(owner).items():
            if isinstance(value, FunctionType) and value.__closure__:
                held = (cell.cell_contents for cell in value.__closure__)
                cells = tuple(CellType(memo.get(id(content), content)) for content in held)
                code = value.__code__
                known = value.__globals__
                setattr(owner, name, FunctionType(code, known, value.__name__, value.__defaults__, cells))
    return copied


class AccaSimJob(Event):  # type: ignore[misc]
    """A job as AccaSim's schedulers see it, without its run time."""

    def __init__(self, view: JobView, queued_time: int) -> None:
        # AccaSim's constructor is not called: it makes process-wide constants.
        self.id = view.id
        self.queued_time = queued_time
        self._requested_nodes = view.nodes
        self._requested_resources = dict(view.per_node)
        self.start_time: int | None = None
        self.end_time: int | None = None
        self.end_order, self._checked = 0, False
        self.requested_duration = self.expected_duration = view.walltime
        self.user_id = view.user
        self.group_id = view.group
        self.executable = view.name
        self.queue = view.queue

    @property
    def duration(self) -> int:
        """Raise, because a scheduler must not see the run time."""
        raise AttributeError(f"job {self.id}: schedulers see expected_duration only; duration is not known yet")


class AccaSimDispatcher:
    """An AccaSim scheduler with its allocator as a dispatcher; see :func:`accasim_dispatcher`."""

    every_second = True

    def __init__(self, scheduler: Any) -> None:
        self._template = scheduler
        self.name = str(scheduler.get_id())
        self._scheduler: Any = None
        self._manager: Any = None
        self._nodes: dict[str, int] = {}
        self._jobs: dict[str, AccaSimJob] = {}
        self._order: list[str] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> AccaSimDispatcher:
        """Return a dispatcher that has not run yet."""
        return AccaSimDispatcher(self._template)

    def reset(self, machine: Machine, rng: np.random.Generator | None = None) -> None:
        """Reset for a machine. AccaSim's schedulers keep data of the last machine, so a copy is made."""
        groups, counts = {}, {}
        for number, (amounts, nodes) in enumerate(groupby(map(tuple, machine.capacity.tolist()))):
            groups[f"group_{number}"] = dict(zip(machine.resources, amounts, strict=True))
            counts[f"group_{number}"] = len(list(nodes))
        self._manager, self._scheduler = ResourceManager(Resources(groups, counts)), independent_copy(self._template)
        allocators = [part for part in vars(self._scheduler).values() if isinstance(part, AllocatorBase)]
        for part in (self._manager, self._scheduler, *allocators):
            part._logger = _QUIET
        self._scheduler.set_resource_manager(self._manager)
        self._nodes = {name: index for index, name in enumerate(self._manager.node_names)}
        self._jobs, self._order = {}, []

    def dispatch(self, state: State) -> list[Action]:
        """Return the starts and rejections of the scheduler's plan, and the times to call it again."""
        names = list(self._nodes)
        running = {run.id for run in state.running}
        for id_ in self._manager.current_allocations.keys() - running:
            self._manager.remove_event(id_)
            self._jobs.pop(id_)
        for run in state.running:
            job = self._job(run, run.start)
            job.expected_duration = run.predicted_end - run.start
            job.start_time = run.start
            if run.id not in self._manager.current_allocations:  # it runs since before the simulation
                self._place(job, [names[node] for node in run.placement])
        for waiting in state.queue:
            self._job(waiting, waiting.since).expected_duration = waiting.predicted
        # The queue keeps the order of the last plan, as in AccaSim. New jobs follow.
        rank = {id_: place for place, id_ in enumerate(self._order)}
        queue = sorted((waiting.id for waiting in state.queue), key=lambda id_: rank.get(id_, len(rank)))
        plan, rejected = self._scheduler.schedule(state.now, self._jobs, queue)
        actions: list[Action] = [Reject(id_, f"rejected by {self.name}") for id_ in rejected]
        self._order, wakes = [], set()
        for at, id_, nodes in [self._entry(state.now, entry) for entry in plan]:
            if nodes:
                actions.append(Start(id_, [self._nodes[name] for name in nodes]))
                self._jobs[id_].start_time = state.now
                self._place(self._jobs[id_], nodes)
            else:
                self._order.append(id_)
                wakes |= {at} if at > state.now else set()
        for id_ in rejected:
            self._jobs.pop(id_, None)
        return actions + [Wake(at) for at in sorted(wakes)]

    def _job(self, entry: Waiting | Running, queued: int) -> AccaSimJob:
        return self._jobs.get(entry.id) or self._jobs.setdefault(entry.id, AccaSimJob(entry.job, queued))

    def _place(self, job: AccaSimJob, nodes: list[str]) -> None:
        job.assigned_nodes = nodes
        self._manager.allocate_event(job, nodes)

    def _entry(self, now: int, entry: Any) -> tuple[int, str, list[str]]:
        """Return an entry of a plan as time (-1 for none), job and nodes.

        Raises
        ------
        ActionError
            If it is no entry, or starts a job that does not wait. Also if it names another time or unknown nodes.
        """
        try:
            at, id_, nodes = entry
            at = -1 if at is None else int(at)
            nodes = list(nodes)
            known = id_ in self._jobs and self._jobs[id_].start_time is None and set(nodes) <= set(self._nodes)
        except (TypeError, ValueError):
            known = False
        if not known or (nodes and at != now):
            expected = f"expected ({now}, id of a waiting job, names of nodes), or (None, id, []) to let it wait"
            raise ActionError(f"{self.name} at t={now}: {expected}; got {shown(entry)}")
        return at, id_, nodes


@names_wrong_types
def accasim_dispatcher(scheduler: Any) -> AccaSimDispatcher:
    """Wrap an AccaSim scheduler, with its allocator, as a dispatcher for this engine.

    It sees ``expected_duration``, the predicted run time, but no ``duration``. The engine refuses starts on nodes
    without room. :func:`.check` checks the finished schedule. Each simulation runs on a copy of the given scheduler.

    Parameters
    ----------
    scheduler
        An object of a subclass of ``accasim.base.scheduler_class.SchedulerBase``.

    Raises
    ------
    InputError
        If it is no such object.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from accasim.base.allocator_class import FirstFit
    >>> from accasim.base.scheduler_class import FirstInFirstOut
    >>> from hpcdispatch.simulation import accasim_dispatcher
    >>> from hpcdispatch.testing import tiny
    >>> hd.simulate(tiny(), accasim_dispatcher(FirstInFirstOut(FirstFit()))).jobs["start"].tolist()
    [0, 0, 100, 160, 160]
    """
    if not isinstance(scheduler, SchedulerBase):
        expected = "an object of AccaSim's SchedulerBase, such as FirstInFirstOut(FirstFit())"
        raise InputError(f"accasim_dispatcher: expected {expected}; got {shown(scheduler)}")
    return AccaSimDispatcher(scheduler)
