"""Metrics of an episode from its starts, for rewards that are paid at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import FloatArray, IntArray
from ..simulation.metrics import CLASSES, bounded_slowdown
from .episodes import EpisodeJobs, Episodes

_STATISTICS: dict[str, Callable[[FloatArray], Any]] = {
    "mean": np.mean,
    "median": np.median,
    "p95": lambda values: np.percentile(values, 95),
    "p99": lambda values: np.percentile(values, 99),
    "max": np.max,
}
_CLASSES = {name: (low, high) for name, low, high in CLASSES}


def quick_metric(name: str, episodes: Episodes, stretch: EpisodeJobs, start: IntArray) -> float | None:
    """Return a metric as in ``Result.summary()``. ``None`` for one that needs the records.

    Parameters
    ----------
    name
        Such as ``wait_mean``, ``slowdown_p95_long``, ``makespan`` or ``utilization``.
    episodes, stretch
        The jobs.
    start
        Their starts, seconds, shape (jobs,).
    """
    submit, _, _, runtime = episodes.columns[:, stretch.jobs]
    if name in ("makespan", "utilization", "occupancy"):
        begin = int(submit.min() if episodes.warm_up is None else episodes.columns[0, stretch.first])
        span = int((start + runtime).max()) - begin
        if name == "makespan":
            return float(span)
        before = np.maximum(begin - start, 0) if episodes.warm_up is not None else 0
        used = int((np.maximum(runtime - before, 0) * episodes.units[stretch.jobs]).sum())
        return used / float(episodes.capacity * span) if span else float("nan")
    stem, _, last = name.rpartition("_")
    chosen = np.ones(len(start), dtype=bool)
    if last in _CLASSES:
        low, high = _CLASSES[last]
        chosen = (runtime >= low) & (runtime < high)
        stem, _, last = stem.rpartition("_")
    if last not in _STATISTICS:
        return None
    turnaround = (start + runtime - submit).astype(np.float64)[chosen]
    run = runtime.astype(np.float64)[chosen]
    values: FloatArray
    if stem == "wait":
        values = (start - submit).astype(np.float64)[chosen]
    elif stem == "turnaround":
        values = turnaround
    elif stem == "slowdown":
        values = np.maximum(1.0, turnaround / np.maximum(run, 1.0))
    elif stem == "bounded_slowdown":
        values = bounded_slowdown(turnaround, run)
    else:
        return None
    return float(_STATISTICS[last](values)) if len(values) else float("nan")
