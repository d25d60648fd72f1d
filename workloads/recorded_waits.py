"""How long the jobs of each queue waited when the trace was recorded."""

from __future__ import annotations

import numpy as np

from ..base import InputError
from .workload import Workload


def expected_waits(workload: Workload) -> dict[str, float]:
    """Return the mean recorded wait of each queue, seconds, at least 1.

    The expected waiting times of the CP dispatchers of versions 0 to 2 (Galleguillos et al., CP 2019, section 5).

    Raises
    ------
    InputError
        If the trace holds no waits: it was generated, or they are missing.
    """
    records = workload.records
    if records is None or "wait" not in records:
        raise InputError(f"{workload.provenance.source or 'workload'}: no recorded waits to measure ewt from")
    waits = records["wait"].to_numpy(dtype=np.float64)
    known = np.isfinite(waits) & (waits >= 0)
    queues, waits = workload.columns.queue.take(known).categories(), waits[known]
    found = {queue: max(1.0, float(waits[queues == queue].mean())) for queue in queues.categories}
    if not found:
        raise InputError(f"{workload.provenance.source or 'workload'}: no recorded waits to measure ewt from")
    return found
