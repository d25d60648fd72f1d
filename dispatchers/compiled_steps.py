"""What simulations in compiled steps have in common, whoever decides in them."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from ..base import IntArray


class CompiledSteps(ABC):
    """Jobs that fit the machine, and how far their simulation is.

    Attributes
    ----------
    lengths
        What is predicted of the jobs, seconds, shape (jobs,).
    """

    lengths: IntArray

    @abstractmethod
    def go_on(self) -> tuple[IntArray, IntArray]:
        """Go on for a while.

        Returns
        -------
        Time, waiting, running and started jobs of each decision, shape (decisions, 4), and the jobs that ended, in this
        order, shape (jobs,), both until the next call only; the simulation has ended when both are empty.
        """

    @abstractmethod
    def attempts(self, jobs: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return the attempts of jobs that have left, those of a job one after the other.

        Returns
        -------
        The place in `jobs`, the start, the seconds on the machine and the request of each.
        """

    def placements(self, jobs: IntArray) -> list[NDArray[np.int32]] | None:
        """Return the nodes of the slots of jobs, one array a job; ``None`` on a pool."""
        return None

    def eligible(self, jobs: IntArray) -> IntArray | None:
        """Return when jobs entered the queue, seconds, shape (jobs,); ``None`` if all did at their submission."""
        return None
