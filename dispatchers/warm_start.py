"""Run another dispatcher for the first jobs, so that a comparison begins with a common past."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ..base import check_whole
from ..workloads import Machine
from .protocol import Action, Dispatcher, DispatcherContract, State
from .registered import create_inner, layers, reported, reset_part


class WarmStart:
    """Runs one dispatcher until `jobs` jobs have been submitted, then another one.

    Compared dispatchers then begin with the same machine, queue and predictor state (warm-up of a simulation: Law,
    Simulation Modeling and Analysis, section 9.5.1). Measurements should leave out the first `jobs` jobs.

    Parameters
    ----------
    jobs
        Number of jobs that `first` dispatches, at least 0.
    first
        First dispatcher, by name or as an object. In a name with options, ``/`` replaces the comma.
    over
        Second dispatcher, given likewise.

    Raises
    ------
    ValueError
        If `jobs` is negative.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import WarmStart
    >>> from hpcdispatch.testing import tiny
    >>> hd.simulate(tiny(), WarmStart(jobs=3, first="fcfs", over="easy")).jobs["start"].tolist()
    [0, 0, 100, 20, 160]
    """

    uses: ClassVar[tuple[str, ...]] = ("numba",)

    def __init__(self, *, jobs: int = 1000, first: str | Dispatcher = "easy", over: str | Dispatcher = "easy") -> None:
        self.jobs = check_whole("jobs", jobs, 0)
        self.first = create_inner(first)
        self.over = create_inner(over)
        self._warm = not jobs

    @property
    def on_profile(self) -> bool:
        """Whether the first dispatcher takes its room from the profile. The second one is asked as well."""
        return all(DispatcherContract(part).on_profile for part in layers(self.first))

    @property
    def plans_closures(self) -> bool:
        """See :class:`.RuleGate`."""
        return all(DispatcherContract(part).plans_closures for part in layers(self.first))

    def reset(self, machine: Machine, rng: np.random.Generator | None = None) -> None:
        """Begin a simulation."""
        self._warm = not self.jobs
        for part in (self.first, self.over):
            reset_part(part, machine, rng)

    def report(self) -> Mapping[str, Any]:
        """Return the report of the second dispatcher. Empty before its first decision."""
        return reported(self.over) if self._warm else {}

    def dispatch(self, state: State) -> Sequence[Action]:
        """Run the current dispatcher."""
        if not self._warm and len(state.queue):
            self._warm = int(state.queue.order.max()) >= self.jobs
        return (self.over if self._warm else self.first).dispatch(state)
