"""Quotas: amounts per job on the whole machine, such as licences, watts or a user's number of jobs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...base import IntArray


@dataclass(frozen=True, eq=False)
class Quotas:
    """Limit ``sum(need[j] : start[j] <= t < start[j] + duration[j]) + held(t) <= most`` at every time t.

    Attributes
    ----------
    need
        Amounts of each job, shape (jobs, quotas).
    most
        Limits, shape (quotas,).
    held_from, held_to
        Half-open intervals of occupied amounts, seconds from now, shape (held,).
    held_amount
        Occupied amounts, shape (held, quotas).
    """

    need: IntArray
    most: IntArray
    held_from: IntArray
    held_to: IntArray
    held_amount: IntArray

    @cached_property
    def times(self) -> IntArray:
        """Times at which free amounts change. Shape (steps,). The first is 0."""
        return np.unique(np.concatenate((np.zeros(1, dtype=np.int64), self.held_from, self.held_to)))

    @cached_property
    def left(self) -> IntArray:
        """Free amounts from each of the times on, shape (steps, quotas)."""
        change = np.zeros((len(self.times), len(self.most)), dtype=np.int64)
        change[0] = self.most
        np.subtract.at(change, np.searchsorted(self.times, self.held_from), self.held_amount)
        np.add.at(change, np.searchsorted(self.times, self.held_to), self.held_amount)
        return np.cumsum(change, axis=0)


def quotas_beside(need: IntArray, most: IntArray, ends: IntArray, taken: IntArray) -> Quotas:
    """Return the quotas beside running jobs. If these exceed a limit, nothing is left.

    Parameters
    ----------
    need, most
        As in :class:`Quotas`.
    ends
        End of each running job, seconds from now, above 0. Shape (running,).
    taken
        Amounts of each running job, shape (running, quotas).
    """
    until = np.unique(ends)
    still = ends[None, :] >= until[:, None]
    return Quotas(need, most, np.append(0, until[:-1])[: len(until)], until, np.minimum(still @ taken, most))
