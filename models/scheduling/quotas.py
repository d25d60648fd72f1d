"""Quotas: amounts that whole jobs take while they run, wherever they lie, such as licences, watts or a user's jobs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...base import IntArray


@dataclass(frozen=True, eq=False)
class Quotas:
    """At every time t: ``sum(need[j] : start[j] <= t < start[j] + duration[j]) + held(t) <= most``.

    Attributes
    ----------
    need
        What each job takes, shape (jobs, quotas).
    most
        How much there is, shape (quotas,).
    held_from, held_to
        When something else takes amounts, seconds from now, shape (held,), half-open.
    held_amount
        How much, shape (held, quotas).
    """

    need: IntArray
    most: IntArray
    held_from: IntArray
    held_to: IntArray
    held_amount: IntArray

    @cached_property
    def times(self) -> IntArray:
        """When what is left changes, shape (steps,), the first of them 0."""
        return np.unique(np.concatenate((np.zeros(1, dtype=np.int64), self.held_from, self.held_to)))

    @cached_property
    def left(self) -> IntArray:
        """What is left from each of the times on, shape (steps, quotas)."""
        change = np.zeros((len(self.times), len(self.most)), dtype=np.int64)
        change[0] = self.most
        np.subtract.at(change, np.searchsorted(self.times, self.held_from), self.held_amount)
        np.add.at(change, np.searchsorted(self.times, self.held_to), self.held_amount)
        return np.cumsum(change, axis=0)


def quotas_beside(need: IntArray, most: IntArray, ends: IntArray, taken: IntArray) -> Quotas:
    """Return the quotas beside running jobs, of which more than there is may be taken: then nothing is left.

    Parameters
    ----------
    need, most
        As in :class:`Quotas`.
    ends
        When each running job ends, seconds from now, above 0, shape (running,).
    taken
        What it takes, shape (running, quotas).
    """
    until = np.unique(ends)
    still = ends[None, :] >= until[:, None]
    return Quotas(need, most, np.append(0, until[:-1])[: len(until)], until, np.minimum(still @ taken, most))
