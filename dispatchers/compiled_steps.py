"""Common interface of simulations in compiled steps."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import IntArray


class CompiledSteps(ABC):
    """Jobs that fit the machine, and the state of their simulation.

    Attributes
    ----------
    lengths
        Predicted run times of the jobs, seconds, shape (jobs,).
    """

    lengths: IntArray

    @abstractmethod
    def go_on(self) -> tuple[IntArray, IntArray]:
        """Simulate a part of the trace.

        Returns
        -------
        Time, waiting, running and started jobs of each decision. Shape (decisions, 4). And the ended jobs in order,
        shape (jobs,). Both are valid until the next call. The simulation is over if both are empty.
        """

    @abstractmethod
    def attempts(self, jobs: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return the attempts of ended jobs, those of a job adjacent.

        Returns
        -------
        Position in `jobs`, start, seconds on the machine, and walltime of each.
        """

    def placements(self, jobs: IntArray) -> list[NDArray[np.int32]] | None:
        """Return the nodes of the slots of jobs, one array per job. ``None`` on a pool."""
        return None

    def eligible(self, jobs: IntArray) -> IntArray | None:
        """Return when jobs entered the queue, seconds, shape (jobs,). ``None`` if all did at submission."""
        return None

    def reports(self) -> Mapping[str, list[Any]]:
        """Return the reports on the decisions of the last part, a column per key. Empty if there are none."""
        return {}
