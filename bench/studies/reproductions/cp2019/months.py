"""Independent parts of simulations: whole ones, or their months."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from .....base import BoolArray
from .....simulation import Result

#: Seconds. A month with fewer jobs than this share of the mean is left out. This removes the last month, which is cut.
MONTH, _LEAST = 30 * 86400, 0.5


@dataclass(frozen=True, eq=False)
class SimulatedPart:
    """What was simulated of some jobs.

    Attributes
    ----------
    jobs, decisions
        As in :class:`~hpcdispatch.simulation.Result`.
    seconds
        Of each decision, shape (decisions,).
    prediction_s, simulation_s
        Seconds. For a month, split by its shares of jobs and of decision time.
    utilization
        Work of the jobs over capacity, from first submission to last end.
    """

    jobs: pd.DataFrame
    decisions: pd.DataFrame
    seconds: pd.Series
    prediction_s: float
    simulation_s: float
    utilization: float

    @classmethod
    def of(cls, result: Result, past: int = 0) -> SimulatedPart:
        """Return a simulation without its first jobs. Decisions before the next submission are left out too."""
        summary = result.summary()
        seconds = result.timings.loc[result.timings["what"] == "decision", "seconds"]
        whole = cls(
            result.jobs,
            result.decisions,
            seconds,
            summary["prediction_s"],
            summary["simulation_s"],
            summary["utilization"],
        )
        if not past:
            return whole
        later = result.decisions["time"] >= result.jobs["submit"].iloc[past]
        return _selected(whole, np.arange(len(result.jobs)) >= past, later.to_numpy())


def months_of(result: Result) -> list[SimulatedPart]:
    """Return the months of a simulation. Jobs go by submission, decisions by time."""
    whole = SimulatedPart.of(result)
    first = int(whole.jobs["submit"].min())
    of_job = ((whole.jobs["submit"] - first) // MONTH).to_numpy()
    of_decision = ((whole.decisions["time"] - first) // MONTH).to_numpy()
    many = np.bincount(of_job)
    return [
        _selected(whole, of_job == month, of_decision == month)
        for month in np.flatnonzero(many > _LEAST * many.mean()).tolist()
    ]


def _selected(whole: SimulatedPart, jobs: BoolArray, decisions: BoolArray) -> SimulatedPart:
    """Return the part of some jobs and some decisions."""
    share = float(whole.seconds[decisions].sum() / max(whole.seconds.sum(), 1e-9))
    chosen = whole.jobs[jobs]
    utilization = whole.utilization * _pace(chosen) / max(_pace(whole.jobs), 1e-9)
    return SimulatedPart(
        chosen,
        whole.decisions[decisions],
        whole.seconds[decisions],
        whole.prediction_s * jobs.mean(),
        whole.simulation_s * share,
        utilization,
    )


def _pace(jobs: pd.DataFrame) -> float:
    """Return the jobs' work (units times seconds) over their common time span."""
    ran = jobs[jobs["attempts"] > 0]
    if ran.empty:
        return 0.0
    return float((ran["units"] * ran["run"]).sum() / max(ran["end"].max() - ran["submit"].min(), 1))
