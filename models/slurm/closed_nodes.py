"""Nodes that are closed to some jobs for some time: advance reservations of Slurm.

Rules as in Slurm 22.05, ``src/slurmctld/reservation.c`` (``job_test_resv``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import BoolArray, IntArray

#: After any time.
_NEVER = 2**62


class ClosedNodes(NamedTuple):
    """When which nodes are closed.

    Attributes
    ----------
    start, end
        Seconds since 1970, shape (times,).
    nodes
        Which nodes are closed then, shape (times, nodes).
    """

    start: IntArray
    end: IntArray
    nodes: BoolArray

    def since(self) -> IntArray:
        """Return from when on each node is closed for the first time, seconds since 1970, shape (nodes,).

        A job whose limit ends later has none of it now.
        """
        since = np.where(self.nodes, self.start[:, None], _NEVER)
        return np.asarray(since.min(axis=0, initial=_NEVER), dtype=np.int64)
