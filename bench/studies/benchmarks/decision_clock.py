"""The CPU time of a dispatcher's decisions."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from time import process_time_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....dispatchers import Action, State, create_dispatcher
from ....dispatchers.registered import reported, reset_part
from ....workloads import Machine


class Clocked:
    """A dispatcher that behaves as another one and measures it.

    Parameters
    ----------
    spec
        Name of the other, with options.
    """

    def __init__(self, spec: str) -> None:
        self.name = spec
        self._dispatcher = create_dispatcher(spec)
        self._ns = array("q")

    def reset(self, machine: Machine, rng: np.random.Generator) -> None:
        """Forget what was measured."""
        self._ns = array("q")
        reset_part(self._dispatcher, machine, rng)

    def report(self) -> Mapping[str, Any]:
        """Return what the other one reports."""
        return reported(self._dispatcher)

    def dispatch(self, state: State) -> Sequence[Action]:
        """Let the other one decide; all threads of the process count."""
        begin = process_time_ns()
        actions = self._dispatcher.dispatch(state)
        self._ns.append(process_time_ns() - begin)
        return actions

    def ms(self) -> NDArray[np.float64]:
        """Return the milliseconds of each decision."""
        return np.array(self._ns, dtype=np.int64) / 1e6
