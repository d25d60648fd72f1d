"""A simulation that stops at each decision, for decisions that are made outside."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from ..dispatchers import Action, Dispatcher, State
from ..predictors import Predictor
from ..workloads import Workload
from ..workloads.machine_state import MachineState
from .beginning import begin_from
from .engine import engine_of
from .overrun import Overrun
from .recorder import Recorder
from .result import Result, manifest


class _Outside:
    """Stands for the decisions from outside. The engine calls it only at timers while no job waits."""

    def __init__(self, name: str) -> None:
        self.name = name

    def dispatch(self, state: State) -> Sequence[Action]:
        """Do nothing."""
        return ()


class DecidedOutside:
    """A simulation in the engine, with the same events and records as :func:`.simulate`.

    Parameters
    ----------
    workload
        Jobs and machine.
    predictor
        A predictor, which is not reset.
    name
        Name of what decides, for messages and records.
    state
        The state to begin from. Without one, the machine is empty.
    """

    def __init__(self, workload: Workload, predictor: Predictor, name: str, state: MachineState | None = None) -> None:
        self._workload = workload
        self._predictor = predictor
        self._recorder = Recorder(workload)
        dispatcher: Dispatcher = _Outside(name)
        self._name = name
        self._state = state
        engine: Any = engine_of(self._recorder, dispatcher, predictor, Overrun.parse("run"), "batch")
        if state is not None:
            begin_from(engine, dispatcher, predictor, state)
        self._mapper: Any = engine.mapper
        jobs = [*engine.arrivals]
        self._mapper.events.update({job.id: job for job in jobs})
        self._mapper.load_events(jobs)

    def next_state(self) -> State | None:
        """Return the state of the next decision, ``None`` if there is none."""
        mapper = self._mapper
        while mapper.has_events():
            queue = mapper.next_events()
            mapper.happen()
            if queue and mapper.decisions.due(mapper.current_time):
                state: State = mapper.decisions.open(mapper.current_time)
                return state
        return None

    def carry_out(self, actions: Sequence[Action]) -> None:
        """Carry out the actions of the decision."""
        self._mapper.decisions.close(actions)

    def result(self, **options: Any) -> Result:
        """Return the records of a simulation that has ended. `options` are entries of its manifest."""
        if self._state is not None:
            options["state"] = {"at": self._state.at, "running": len(self._state.running)}
        named = {"dispatcher": self._name, "predictor": self._predictor}
        made = manifest(self._workload, named, options)
        return Result.from_recorder(self._workload, self._recorder, made, 0.0, (), self._state)

    def __deepcopy__(self, memo: dict[int, Any]) -> DecidedOutside:
        """Return a copy that shares the workload, which never changes."""
        shared: list[Any] = [self._workload, self._workload.machine, self._recorder.machine, self._state]
        jobs = [*self._mapper.loaded, *self._mapper.events.values()]
        shared += [job.job for job in jobs]
        shared += [each.job for job in jobs if (each := job.waiting or job.running) is not None]
        memo.update({id(each): each for each in shared})
        made = object.__new__(DecidedOutside)
        memo[id(self)] = made
        made.__dict__.update(deepcopy(self.__dict__, memo))
        return made
