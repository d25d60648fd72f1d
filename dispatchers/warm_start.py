"""Another dispatcher for the first jobs, so that what is compared begins with a past."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ..base.checks import check_whole
from ..workloads import Machine
from .protocol import Action, Dispatcher, State
from .registered import create_inner, layers, reported, reset_part


class WarmStart:
    """One dispatcher until so many jobs have been submitted, another one from then on.

    Dispatchers that are compared so begin with the same machine, the same queue and the same knowledge of the predictor
    (warm-up of a simulation: Law, Simulation Modeling and Analysis, section 9.5.1). What is to be left out of the
    measurement are the first `jobs` jobs.

    Parameters
    ----------
    jobs
        How many of the trace are dispatched by `first`, at least 0.
    first, over
        The two, by name or as objects; in a name with options ``/`` stands for the comma.

    Raises
    ------
    ValueError
        If `jobs` is negative.
    """

    uses: ClassVar[tuple[str, ...]] = ("numba",)

    def __init__(self, *, jobs: int = 1000, first: str | Dispatcher = "easy", over: str | Dispatcher = "easy") -> None:
        self.jobs = check_whole("jobs", jobs, 0)
        self.first, self.over = create_inner(first), create_inner(over)
        self._warm = not jobs

    @property
    def plans_closures(self) -> bool:
        """See :class:`.RuleGate`."""
        return all(getattr(part, "plans_closures", False) for part in layers(self.first))

    def reset(self, machine: Machine, rng: np.random.Generator | None = None) -> None:
        """Begin anew."""
        self._warm = not self.jobs
        for part in (self.first, self.over):
            reset_part(part, machine, rng)

    def report(self) -> Mapping[str, Any]:
        """Return what the second dispatcher reports, nothing before its first decision."""
        return reported(self.over) if self._warm else {}

    def dispatch(self, state: State) -> Sequence[Action]:
        """Let the one whose turn it is decide."""
        if not self._warm and len(state.queue):
            self._warm = int(state.queue.order.max()) >= self.jobs
        return (self.over if self._warm else self.first).dispatch(state)
