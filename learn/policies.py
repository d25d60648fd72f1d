"""Policies as dispatchers. They are callables, or weights saved as plain arrays."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from io import BytesIO
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar
from zipfile import BadZipFile

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from ..base import BoolArray, FloatArray, InputError, IntArray
from ..base.checks import shown
from ..base.files import read_bounded
from ..dispatchers import Action, Start, State, Wake, create_dispatcher, space_of
from ..models.events import open_events
from ..models.events.steps import (
    BEGIN,
    FEATURES,
    HELD,
    INSPECT,
    SELECT,
    STARTED,
    Steps,
    decide,
    events_of,
    resume,
    show,
    side_by_side,
)
from ..workloads import Machine
from .rules import Rules

Policy = Callable[[NDArray[np.float32], BoolArray], Any]
#: The policy that :class:`PolicyFile` runs by default.
TRAINED = Path(__file__).parent / "trained.npz"
_MOST_BYTES = 100_000_000


class Network:
    """A perceptron with tanh between its layers. It reads each row of an observation, or all of it.

    Parameters
    ----------
    layers
        Weights of shape (inputs, outputs) and biases of shape (outputs,). The first layer has 8 inputs and the last 1
        output for a network on each row. This output is the score of the row's job. Otherwise there are 8 inputs per
        row, and an output per action.

    Raises
    ------
    InputError
        If the layers do not fit each other.
    """

    def __init__(self, layers: Sequence[tuple[Any, Any]]) -> None:
        self.layers: list[tuple[FloatArray, FloatArray]] = []
        width: int | None = None
        for number, each in enumerate(layers):
            weight, bias = map(np.asarray, each)
            fits = weight.ndim == 2 and bias.shape == weight.shape[1:] and width in (None, weight.shape[0])
            real = weight.dtype.kind in "fiu" and bias.dtype.kind in "fiu"
            if not (fits and real and np.isfinite(weight).all() and np.isfinite(bias).all()):
                expected = "expected finite weights and biases that fit"
                raise InputError(f"network: layer {number}: {expected}, got {weight.shape} of {weight.dtype}")
            self.layers.append((weight.astype(np.float64), bias.astype(np.float64)))
            width = weight.shape[1]
        if not self.layers:
            raise InputError("network: expected one or more layers, got none")
        self.by_row = self.layers[0][0].shape[0] == FEATURES

    def __call__(self, observation: NDArray[np.float32], mask: BoolArray) -> int:
        """Return the allowed action with the highest score. Ties go to the first."""
        scores = self.scores(observation)
        if scores.shape != mask.shape:
            raise InputError(f"network: expected {len(mask)} scores, one per action, got {scores.size}")
        return int(np.where(mask, scores, -np.inf).argmax())

    def scores(self, observation: NDArray[np.float32]) -> FloatArray:
        """Return a score per row, or per action."""
        values = observation.astype(np.float64)
        values = values if self.by_row else values.reshape(-1)
        for place, (weight, bias) in enumerate(self.layers):
            if values.shape[-1] != weight.shape[0]:
                raise InputError(f"network: expected {weight.shape[0]} inputs, got {values.shape[-1]}")
            values = (np.tanh(values) if place else values) @ weight + bias
        return values.reshape(-1)


def save_policy(path: str | PathLike[str], network: Network, env_spec: Any) -> None:
    """Write a network and the rules of its decisions as plain arrays, ``.npz``."""
    arrays: dict[str, Any] = {
        f"{name}{at}": each[place]
        for at, each in enumerate(network.layers)
        for place, name in enumerate(("weight", "bias"))
    }
    with open(path, "wb") as file:
        np.savez(file, rules=np.array(json.dumps(Rules.of(env_spec).fields())), **arrays)


def load_policy(path: str | PathLike[str]) -> PolicyDispatcher:
    """Return the dispatcher that :func:`save_policy` wrote. Nothing of the file is executed.

    Raises
    ------
    InputError
        If it is no such file.
    OSError
        If it cannot be read.
    """
    where = fspath(path)
    data = BytesIO(read_bounded(Path(path), "a policy", _MOST_BYTES))
    try:
        archive: Any = NpzFile(data, allow_pickle=False)
        with archive as kept:
            if sum(each.file_size for each in kept.zip.infolist()) > _MOST_BYTES:
                raise ValueError(f"more than {_MOST_BYTES:,} bytes unpacked")
            count = sum(name.startswith("weight") for name in kept.files)
            layers = [(kept[f"weight{place}"], kept[f"bias{place}"]) for place in range(count)]
            rules = json.loads(str(kept["rules"]))
            return PolicyDispatcher(Network(layers), rules)
    except (
        ValueError,
        KeyError,
        BadZipFile,
        TypeError,
        AttributeError,
        EOFError,
        RuntimeError,
        zlib.error,
        MemoryError,
    ) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{where}: expected a policy that save_policy wrote, got {reason}") from None


class PolicyDispatcher:
    """A policy that decides as in an environment, on any workload.

    On nodes with slots of different demands, a job may have enough amounts in all but no nodes. It waits.

    Parameters
    ----------
    policy
        Called with an observation, float32 of shape (visible, 8), and which actions are allowed, shape (actions,);
        returns an allowed action. Or a model with ``predict(observation, action_masks=..., deterministic=True)``.
    env_spec
        The environment it was trained in, its ``spec``, or a mapping with its ``id`` and options as of :class:`.Rules`.

    Raises
    ------
    InputError
        If there is no such environment; in :meth:`dispatch`, if an action is none or masked.
    """

    uses: ClassVar[tuple[str, ...]] = ("numba",)

    def __init__(self, policy: Policy | Any, env_spec: Any) -> None:
        predicts = callable(getattr(policy, "predict", None))
        if not (predicts or callable(policy)):
            raise InputError(f"policy: expected a function of observation and mask, or a model, got {shown(policy)}")
        self.rules = Rules.of(env_spec)
        self.policy = policy
        self._ask: Policy = self._predict if predicts else policy
        self.name = f"policy {self.rules.id}"
        self._array = self.rules.array()
        self._observation = np.zeros((1, self.rules.visible, FEATURES), dtype=np.float32)
        self._mask = np.ones((1, self.rules.actions), dtype=np.bool_)
        self._parts = [create_dispatcher(name) for name in self.rules.names]
        self.reset(None)

    def reset(self, machine: Machine | None, rng: np.random.Generator | None = None) -> None:
        """Forget the last simulation."""
        self._held: str | None = None
        self._put_off: dict[str, int] = {}
        self._part = 0
        self._until = -1
        self._wake = -1

    def dispatch(self, state: State) -> Sequence[Action]:
        """Start what the policy chooses."""
        steps, running = self._steps(state)
        if self.rules.mode == SELECT:
            return self._select(state, steps, running)
        ids = [waiting.id for waiting in state.queue.entries]
        if self._held in ids:
            steps.numbers[0, HELD] = running + ids.index(str(self._held))
        if self.rules.mode == INSPECT:
            steps.put_off[0, running:] = [self._put_off.get(name, 0) for name in ids]
        action, actions = BEGIN, list[Action]()
        while decide(steps, action, self._array, self._observation, self._mask):
            action = self._answer()
            if self.rules.mode == INSPECT and action == 1:
                name = ids[int(steps.numbers[0, HELD]) - running]
                self._put_off[name] = self._put_off.get(name, 0) + 1
                if self._wake <= state.now:
                    self._wake = state.now + self.rules.delay
                    actions.append(Wake(self._wake))
        held = int(steps.numbers[0, HELD])
        self._held = ids[held - running] if self.rules.commit and held >= 0 else None
        space = space_of(state, "first-fit")
        for row in steps.started[0, : steps.numbers[0, STARTED]].tolist():
            waiting = state.queue.entries[row - running]
            placement = space.place(waiting.nodes, waiting.demand)
            if placement is not None:
                self._put_off.pop(waiting.id, None)
                actions.append(Start(waiting, placement))
        return actions

    def _select(self, state: State, steps: Steps, running: int) -> Sequence[Action]:
        if state.now >= self._until:
            rows = np.arange(self.rules.visible) + running
            shown = min(len(state.queue), self.rules.visible)
            show(events_of(steps, 0), rows, shown, state.now, self._observation[0])
            self._part = self._answer()
            self._until = state.now + self.rules.every
        return self._parts[self._part].dispatch(state)

    def _answer(self) -> int:
        return self.rules.action(self._ask(self._observation[0].copy(), self._mask[0].copy()), self._mask[0])

    def _predict(self, observation: NDArray[np.float32], mask: BoolArray) -> Any:
        model: Any = self.policy
        found, _ = model.predict(observation, action_masks=mask, deterministic=True)
        return np.asarray(found).item()

    def _steps(self, state: State) -> tuple[Steps, int]:
        """Return the state as a simulation that stops at this instant, and its number of running jobs."""
        queue = state.queue
        running = state.running
        nodes = len(state.free) > 1
        demands = {each.demand for each in queue.entries} | {each.demand for each in running.entries}
        alike = nodes and len(demands) == 1
        if alike:
            amount = np.concatenate((running.nodes, queue.nodes))[:, None]
            demand = np.array(demands.pop())
            asked = demand > 0
            free = np.array([(state.free[:, asked] // demand[asked]).min(axis=1).sum()])
        else:
            amount = np.concatenate((running.nodes[:, None] * running.demand, queue.nodes[:, None] * queue.demand))
            free = state.free.sum(axis=0)
        count, now = len(running), state.now
        left = np.array([each.expected_end(now) - now for each in running.entries], dtype=np.int64)
        predicted = np.concatenate((left, queue.predicted)).astype(np.int64)
        submit = np.concatenate((np.full(count, now), queue.submit)).astype(np.int64)
        whole = free + amount[:count].sum(axis=0)
        amount = np.minimum(amount, whole)  # of jobs that wait for nodes that are closed
        eligible: IntArray = np.full(len(amount), now, dtype=np.int64)
        events = open_events(submit, predicted, predicted, predicted, amount, whole, eligible=eligible)
        steps = side_by_side(events, 1, self.rules.visible)
        resume(steps, count, now)
        return steps, count


class PolicyFile(PolicyDispatcher):
    """A trained policy from a file of ``save_policy``. The default is the one that comes with hpcdispatch.

    Parameters
    ----------
    path
        The file, ``.npz``.
    """

    def __init__(self, path: str = "") -> None:
        found = load_policy(path or TRAINED)
        super().__init__(found.policy, found.rules)
