"""Which running jobs may be stopped for which waiting ones: ``preempt/partition_prio`` of Slurm.

Rules as in Slurm 22.05, ``src/plugins/preempt/partition_prio``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import borrowing

#: The tier of a running job that nobody stops.
NEVER_STOPPED = 2**62


class Preemption(NamedTuple):
    """Tiers of jobs, and who stops whom.

    Attributes
    ----------
    tier
        Of each waiting job, shape (jobs,): those of lower tiers give way; -1 for one that stops nobody.
    held
        Of each running job that may be stopped, shape (running,), else :data:`NEVER_STOPPED`.
    order
        Rows of the running jobs that may be stopped: the lowest tier first, there those on the fewest nodes.
    by
        The waiting job for which a running one is stopped, -1: none; shape (running,).
    """

    tier: IntArray
    held: IntArray
    order: IntArray
    by: IntArray


def no_preemption(jobs: int) -> Preemption:
    """Return that no job is stopped."""
    nothing = np.empty(0, np.int64)
    return Preemption(np.full(jobs, -1), nothing, nothing, nothing)


@borrowing
def may_stop(job: int, preemption: Preemption) -> bool:
    """Return whether there is a running job that a waiting one may stop."""
    order = preemption.order
    return len(order) > 0 and preemption.held[order[0]] < preemption.tier[job]


@borrowing
def gives_way(row: int, job: int, preemption: Preemption) -> bool:
    """Return whether a job in the table of running ones may be stopped for a waiting one."""
    return row < len(preemption.held) and preemption.held[row] < preemption.tier[job]
