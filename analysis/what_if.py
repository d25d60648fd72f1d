"""What would have been: a site's recorded jobs under its own scheduler, and under others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..base import FloatArray, InputError
from ..dispatchers import Dispatcher
from ..simulation import check, simulate
from ..simulation.metrics import bounded_slowdown
from ..workloads import MachineState, Workload


@dataclass(frozen=True, slots=True)
class WhatIf:
    """How a scheduler fares on recorded jobs.

    Attributes
    ----------
    name
        Which one.
    wait, wait_p95, slowdown
        Mean and 95th percentile of the waits, seconds, and the mean bounded slowdown.
    near
        Share of the jobs that start within so many seconds of when they really did, by these seconds.
    deviation
        By how much the starts differ from the real ones on average, seconds.
    correlation
        Of the waits with the real ones, nan where either are all the same.
    waits
        Of all jobs, seconds, shape (jobs,); nan of those that are not counted.
    """

    name: str
    wait: float
    wait_p95: float
    slowdown: float
    near: Mapping[int, float]
    deviation: float
    correlation: float
    waits: FloatArray = field(repr=False, compare=False)


def what_if(
    workload: Workload, dispatchers: Mapping[str, str | Dispatcher], near: tuple[int, ...], state: MachineState
) -> list[WhatIf]:
    """Return what really happened, then what each dispatcher would have done; every schedule is checked.

    A job that gave way is taken to wait until it starts for the last time. Jobs that run when it begins are what they
    are, and are not counted.

    Parameters
    ----------
    workload
        Jobs with their recorded waits (``records["wait"]``).
    dispatchers
        By the names under which they are shown.
    near
        Seconds within which a start counts as met.
    state
        Where it begins; see :func:`~hpcdispatch.workloads.recorded_state`.

    Raises
    ------
    InputError
        If no waits are recorded.
    """
    if workload.records is None or "wait" not in workload.records:
        raise InputError(f"{workload.provenance.source}: expected recorded waits, got none")
    real = workload.records["wait"].to_numpy(dtype=np.float64, copy=True)
    real[np.isin(workload.columns.texts(), [since.id for since in state.running])] = np.nan
    found = [_fared("recorded", workload, real, real, near)]
    for name, dispatcher in dispatchers.items():
        result = simulate(workload, dispatcher, state=state)
        check(workload, result)
        starts = result.attempts.groupby("id")["start"].max().reindex(result.jobs["id"]).to_numpy(dtype=np.float64)
        started = starts - result.jobs["submit"].to_numpy(dtype=np.float64)
        found.append(_fared(name, workload, started, real, near))
    return found


def _fared(name: str, workload: Workload, wait: FloatArray, real: FloatArray, near: tuple[int, ...]) -> WhatIf:
    ran = ~np.isnan(wait) & ~np.isnan(real)
    waits = np.where(ran, wait, np.nan)
    wait, real, runtime = wait[ran], real[ran], workload.columns.runtime[ran].astype(np.float64)
    off = np.abs(wait - real)
    same = not len(wait) or wait.std() == 0 or real.std() == 0
    return WhatIf(
        name,
        float(wait.mean()) if len(wait) else np.nan,
        float(np.percentile(wait, 95)) if len(wait) else np.nan,
        float(bounded_slowdown(wait + runtime, runtime).mean()) if len(wait) else np.nan,
        {within: float((off <= within).mean()) for within in near},
        float(off.mean()) if len(off) else np.nan,
        np.nan if same else float(np.corrcoef(wait, real)[0, 1]),
        waits,
    )
