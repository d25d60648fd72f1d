"""Metrics of an episode from its starts, for rewards that are paid at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import FloatArray, IntArray
from ..simulation.metrics import bounded_slowdown
from .episodes import Episodes, Stretch

_STATISTICS: dict[str, Callable[[FloatArray], Any]] = {
    "mean": np.mean,
    "median": np.median,
    "p95": lambda values: np.percentile(values, 95),
    "p99": lambda values: np.percentile(values, 99),
    "max": np.max,
}


def quick_metric(name: str, episodes: Episodes, stretch: Stretch, start: IntArray) -> float | None:
    """Return a metric as in ``Result.summary()``. ``None`` for one that needs the records.

    Parameters
    ----------
    name
        Such as ``wait_mean``, or ``makespan``.
    episodes, stretch
        The jobs.
    start
        Their starts, seconds, shape (jobs,).
    """
    submit, _, _, runtime = episodes.columns[:, stretch.jobs]
    if name == "makespan":
        begin = episodes.columns[0, stretch.first] if episodes.warm_up is not None else submit.min()
        return float((start + runtime).max() - begin)
    kind, _, statistic = name.rpartition("_")
    if statistic not in _STATISTICS:
        return None
    turnaround = (start + runtime - submit).astype(np.float64)
    run = runtime.astype(np.float64)
    values: FloatArray
    if kind == "wait":
        values = (start - submit).astype(np.float64)
    elif kind == "turnaround":
        values = turnaround
    elif kind == "slowdown":
        values = np.maximum(1.0, turnaround / np.maximum(run, 1.0))
    elif kind == "bounded_slowdown":
        values = bounded_slowdown(turnaround, run)
    else:
        return None
    return float(_STATISTICS[statistic](values))
