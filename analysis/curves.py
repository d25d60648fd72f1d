"""Data for drawing a simulation, of bounded size: distributions, loads over time, parts of schedules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..simulation.plots.curves import stacked
from .statistics import run_time_class

#: Submissions in the part of a schedule that is shown.
WINDOW_JOBS = 120


@dataclass(frozen=True, slots=True)
class Detail:
    """Resolution at which a contender on a workload is drawn.

    Attributes
    ----------
    points
        Most points of each distribution.
    bins
        Bins of a time series.
    bars
        Most attempts in the part of a schedule that is shown.
    """

    points: int = 1000
    bins: int = 300
    bars: int = 250

    @classmethod
    def of(cls, several: int) -> Detail:
        """Return a resolution that keeps a page with `several` contenders small, counted over all workloads."""
        most = cls()
        sizes = (
            max(least, min(full, budget // max(several, 1)))
            for least, full, budget in (
                (100, most.points, 15_000),
                (60, most.bins, 20_000),
                (40, most.bars, 15_000),
            )
        )
        return cls(*sizes)


def window_of(jobs: pd.DataFrame) -> tuple[int, int]:
    """Return the window of :data:`WINDOW_JOBS` submissions in the middle, seconds from the first submission."""
    submit = np.sort(jobs["submit"].to_numpy())
    if not len(submit):
        return 0, 0
    first = max((len(submit) - WINDOW_JOBS) // 2, 0)
    last = min(first + WINDOW_JOBS, len(submit) - 1)
    begin = int(submit[first] - submit[0])
    end = int(submit[last] - submit[0])
    return begin, max(end, begin + 1)


def schedule(
    jobs: pd.DataFrame, attempts: pd.DataFrame, window: tuple[int, int], bars: int
) -> tuple[pd.DataFrame, int]:
    """Return at most `bars` attempts within a window, the largest, and the number of the others.

    Columns:

    ``job, user, begin, end``
        The job, and seconds from the first submission.
    ``wait, units, run_time``
        Seconds before the first start, units of the primary resource, and the class.
    ``low, high``
        A range of the primary resource. It does not show the nodes of the job.

    A job gets the lowest free ranges. It has one row per range if they do not touch.
    """
    first = int(jobs["submit"].min()) if len(jobs) else 0
    begin = first + window[0]
    end = first + window[1]
    chosen = attempts[(attempts["start"] < end) & (attempts["end"] > begin) & (attempts["end"] > attempts["start"])]
    size = (chosen["end"].clip(upper=end) - chosen["start"].clip(lower=begin)) * chosen["units"]
    shown = chosen.loc[size.sort_values(ascending=False, kind="stable").index[:bars]]
    shown = shown.sort_values("start", kind="stable")
    facts = jobs.loc[jobs["id"].isin(shown["id"]), ["id", "user", "wait", "run"]].drop_duplicates("id").set_index("id")
    facts = facts.reindex(shown["id"])
    times = shown["start"].to_numpy(), shown["end"].to_numpy(), shown["units"].to_numpy()
    rows, low, high = stacked(*times)
    columns = {
        "job": shown["id"].astype(str).to_numpy()[rows],
        "user": facts["user"].astype(str).to_numpy()[rows],
        "begin": times[0][rows] - first,
        "end": times[1][rows] - first,
        "wait": facts["wait"].to_numpy()[rows],
        "units": times[2][rows],
        "run_time": run_time_class(facts["run"].to_numpy(dtype=float))[rows],
        "low": low,
        "high": high,
    }
    return pd.DataFrame(columns), len(chosen) - len(shown)
