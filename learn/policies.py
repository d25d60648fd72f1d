"""Policies as dispatchers. They are callables, or weights saved as plain arrays."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Sequence
from inspect import signature
from io import BytesIO
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar
from zipfile import BadZipFile

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from ..base import BoolArray, FloatArray, InputError
from ..base.argument_types import names_wrong_types
from ..base.checks import shown
from ..base.files import read_bounded
from ..dispatchers import Action, State
from ..workloads import Machine
from .decisions import Decider
from .rules import Rules

Policy = Callable[[NDArray[np.float32], BoolArray], Any]
#: The policy that :class:`PolicyFile` runs by default.
TRAINED = Path(__file__).parent / "trained.npz"
_MOST_BYTES = 100_000_000
#: A dispatcher by name, perhaps with an order.
_PLAIN = re.compile(r"[\w.-]*(:order=[\w.-]+)?")


class Network:
    """A perceptron with tanh between its layers. It reads each row of an observation, or all of it.

    Parameters
    ----------
    layers
        Weights of shape (inputs, outputs) and biases of shape (outputs,). For a network on each row, the first layer
        has an input per column of an observation, 8 by default, and the last has 1 output. This output is the score of
        the row's job. Otherwise there are as many inputs per row, and an output per action.

    Raises
    ------
    InputError
        If the layers do not fit each other.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.learn import Network
    >>> by_walltime = Network([(-np.eye(8)[:, 2:3], np.zeros(1))])
    >>> rows = np.zeros((3, 8), dtype=np.float32)
    >>> rows[:, 2] = 0.5, 0.1, 0.9
    >>> by_walltime(rows, np.array([True, True, True]))
    1
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

    @property
    def by_row(self) -> bool:
        """Whether it scores each row."""
        return bool(self.layers[-1][0].shape[1] == 1)

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
        if values.shape[-1] != self.layers[0][0].shape[0]:
            what = "columns of an observation" if self.by_row else "inputs"
            raise InputError(f"network: expected {self.layers[0][0].shape[0]} {what}, got {values.shape[-1]}")
        for place, (weight, bias) in enumerate(self.layers):
            values = (np.tanh(values) if place else values) @ weight + bias
        return values.reshape(-1)


@names_wrong_types
def save_policy(path: str | PathLike[str], network: Network, env_spec: Any) -> None:
    """Write a network and the rules of its decisions as plain arrays, ``.npz``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.learn import Network, save_policy
    >>> by_walltime = Network([(-np.eye(8)[:, 2:3], np.zeros(1))])
    >>> with TemporaryDirectory() as folder:
    ...     save_policy(f"{folder}/policy.npz", by_walltime, {"id": "PickJob-v0", "visible": 16})
    ...     result = hd.simulate("lublin:jobs=200,processors=64", f"policy:path={folder}/policy.npz")
    >>> round(result.summary()["wait_mean"])
    3838
    """
    arrays: dict[str, Any] = {
        f"{name}{at}": each[place]
        for at, each in enumerate(network.layers)
        for place, name in enumerate(("weight", "bias"))
    }
    with open(path, "wb") as file:
        np.savez(file, rules=np.array(json.dumps(Rules.of(env_spec).fields())), **arrays)


@names_wrong_types
def load_policy(path: str | PathLike[str]) -> PolicyDispatcher:
    """Return the dispatcher that :func:`save_policy` wrote. Nothing of the file is executed.

    Raises
    ------
    InputError
        If it is no such file.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.learn import Network, load_policy, save_policy
    >>> by_walltime = Network([(-np.eye(8)[:, 2:3], np.zeros(1))])
    >>> with TemporaryDirectory() as folder:
    ...     save_policy(f"{folder}/policy.npz", by_walltime, {"id": "PickJob-v0", "visible": 16})
    ...     dispatcher = load_policy(f"{folder}/policy.npz")
    >>> round(hd.simulate("lublin:jobs=200,processors=64", dispatcher).summary()["wait_mean"])
    3838
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
            _check_names(rules)
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


def _check_names(rules: Any) -> None:
    """Raise an error if a file names dispatchers or orders with options, which could read other files.

    Raises
    ------
    ValueError
        The only option is a plain order, as in ``easy:order=f1``.
    """
    for field in ("policies", "order", "base", "head"):
        for name in str(dict(rules).get(field, "")).split("+"):
            if not _PLAIN.fullmatch(name):
                raise ValueError(f"{field} with options; expected names, or NAME:order=NAME")


class PolicyDispatcher:
    """A policy that decides as in an environment, on any workload.

    On nodes with slots of different demands, a job may have enough amounts in all but no nodes. It waits.

    Parameters
    ----------
    policy
        Called with an observation, float32 of shape (visible, columns), and which actions are allowed, shape
        (actions,); returns an allowed action. Or a model with ``predict(observation, deterministic=True)``. If its
        ``predict`` also takes ``action_masks``, it must return an allowed action. Otherwise a masked action counts as
        action 0, as in an environment.
    env_spec
        The environment it was trained in, its ``spec``, or a mapping with its ``id`` and options as of :class:`.Rules`.

    Attributes
    ----------
    replaced
        How many masked actions were replaced by action 0 in the last simulation.

    Raises
    ------
    InputError
        If there is no such environment, or a model has spaces of another one. In :meth:`dispatch`, if the policy fails,
        or its action is none or masked.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.learn import PolicyDispatcher
    >>> def shortest_walltime(observation, allowed):
    ...     return min(allowed.nonzero()[0], key=lambda row: observation[row, 2])
    >>> dispatcher = PolicyDispatcher(shortest_walltime, {"id": "PickJob-v0", "visible": 16})
    >>> round(hd.simulate("lublin:jobs=200,processors=64", dispatcher).summary()["wait_mean"])
    3838
    """

    uses: ClassVar[tuple[str, ...]] = ("numba",)

    def __init__(self, policy: Policy | Any, env_spec: Any) -> None:
        predicts = callable(getattr(policy, "predict", None))
        if not (predicts or callable(policy)):
            raise InputError(f"policy: expected a function of observation and mask, or a model, got {shown(policy)}")
        self.rules = Rules.of(env_spec)
        self.policy = policy
        self._masks = predicts and _takes_masks(policy)
        self._ask: Policy = self._predict if predicts else policy
        self._check_spaces()
        self.name = f"policy {self.rules.id}"
        self._decider = Decider(self.rules)
        self.replaced = 0

    def reset(self, machine: Machine | None, rng: np.random.Generator | None = None) -> None:
        """Forget the last simulation."""
        self._decider.reset(machine, rng)
        self.replaced = 0

    def dispatch(self, state: State) -> Sequence[Action]:
        """Start what the policy chooses."""
        decider = self._decider
        asks = decider.open(state)
        while asks:
            asks = decider.act(self._answer())
        return decider.actions()

    def _answer(self) -> int:
        mask = self._decider.mask
        try:
            given = self._ask(self._decider.observation.copy(), mask.copy())
        except InputError:
            raise
        except Exception as error:  # a policy may raise any error
            reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            expected = f"an action for an observation of shape {observation_shape(self.rules)}"
            raise InputError(f"{self.name}: expected {expected}, got {reason}") from error
        if callable(getattr(self.policy, "predict", None)) and not self._masks:
            action = self.rules.action(given)
            self.replaced += not mask[action]
            return action if mask[action] else 0
        return self.rules.action(given, mask)

    def _predict(self, observation: NDArray[np.float32], mask: BoolArray) -> Any:
        model: Any = self.policy
        masks = {"action_masks": mask} if self._masks else {}
        output = model.predict(observation, deterministic=True, **masks)
        # Models of Stable-Baselines3 also return a hidden state.
        return np.asarray(output[0] if isinstance(output, tuple) else output).reshape(-1)[:1].item()

    def _check_spaces(self) -> None:
        """Raise an error if a model has other spaces than the environment."""
        space = getattr(getattr(self.policy, "observation_space", None), "shape", None)
        shape = observation_shape(self.rules)
        if space is not None and tuple(space) != shape:
            told = f"expected a model for observations of shape {shape}, got one for {tuple(space)}"
            raise InputError(f"policy: {told}; give the environment it was trained in as env_spec")
        count = getattr(getattr(self.policy, "action_space", None), "n", None)
        if count is not None and count != self.rules.actions:
            raise InputError(f"policy: expected a model with {self.rules.actions} actions, got one with {count}")


def observation_shape(rules: Rules) -> tuple[int, int]:
    """Return the shape of the observations of an environment."""
    return rules.visible, len(rules.columns.names)


def _takes_masks(model: Any) -> bool:
    """Return whether a model's ``predict`` takes ``action_masks``."""
    try:
        parameters = signature(model.predict).parameters
    except (TypeError, ValueError):
        return True
    return "action_masks" in parameters or any(each.kind == each.VAR_KEYWORD for each in parameters.values())


class PolicyFile(PolicyDispatcher):
    """A trained policy from a file of ``save_policy``. The default is the one that comes with hpcdispatch.

    Parameters
    ----------
    path
        The file, ``.npz``.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.learn import PolicyFile
    >>> result = hd.simulate("lublin:jobs=200,processors=64", PolicyFile())
    >>> result.jobs["status"].value_counts().to_dict()
    {'completed': 200, 'killed': 0, 'rejected': 0}
    """

    def __init__(self, path: str = "") -> None:
        content = load_policy(path or TRAINED)
        super().__init__(content.policy, content.rules)
