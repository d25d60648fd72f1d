"""What is drawn of a simulation, small whatever its size: distributions, loads over time, pieces of schedules."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..base import FloatArray, IntArray
from ..simulation import Result
from .statistics import run_time_class

#: Submissions in the piece of a schedule that is shown.
WINDOW_JOBS = 120


@dataclass(frozen=True, slots=True)
class Detail:
    """How finely a contender on a workload is drawn.

    Attributes
    ----------
    points
        Of each distribution, at most.
    bins
        Of a time series.
    bars
        Stays in a piece of a schedule, at most.
    """

    points: int = 1000
    bins: int = 300
    bars: int = 250

    @classmethod
    def of(cls, several: int) -> Detail:
        """Return what keeps a page small that shows so many contenders, those of all workloads together."""
        most = cls()
        found = (max(least, min(full, budget // max(several, 1))) for least, full, budget in (
            (100, most.points, 15_000), (60, most.bins, 20_000), (40, most.bars, 15_000),
        ))  # fmt: skip
        return cls(*found)


@dataclass(frozen=True, slots=True)
class Grid:
    """The places, evenly spaced by ratio, at which a distribution is taken.

    Attributes
    ----------
    low, high
        The powers of ten of the first and the last.
    decade
        How many there are in a factor of ten.
    """

    low: int
    high: int
    decade: int

    def points(self) -> FloatArray:
        """Return the places."""
        found: FloatArray = np.logspace(self.low, self.high, (self.high - self.low) * self.decade + 1)
        return found

    def counts(self, values: FloatArray) -> IntArray:
        """Return how many values lie at or below each place."""
        places = np.searchsorted(self.points(), values, side="left")
        size = (self.high - self.low) * self.decade + 2
        found: IntArray = np.cumsum(np.bincount(places, minlength=size)[:-1])
        return found


def distribution(grid: Grid, counts: IntArray, n: int, most: int) -> tuple[FloatArray, FloatArray]:
    """Return places and shares of an empirical distribution: where it rises, and at most so many of them."""
    if not n:
        return np.empty(0), np.empty(0)
    points, shares = grid.points(), counts / n
    first = max(int(np.searchsorted(counts, 0, side="right")) - 1, 0)
    rises = np.flatnonzero(np.diff(counts, prepend=counts[0]) > 0)
    wanted = np.union1d(rises, first)
    if len(wanted) > most:
        wanted = wanted[np.linspace(0, len(wanted) - 1, most).astype(int)]
    return points[wanted], shares[wanted]


def busy_time(edges: FloatArray, begin: IntArray, end: IntArray, weight: IntArray | None = None) -> FloatArray:
    """Return the seconds times weight that intervals [begin, end) have between each two neighbouring `edges`."""
    weights = np.ones(len(begin)) if weight is None else weight.astype(float)
    total = _since(edges, begin, weights) - _since(edges, end, weights)
    found: FloatArray = np.diff(total)
    return found


def _since(edges: FloatArray, times: IntArray, weights: FloatArray) -> FloatArray:
    """Return the sum of weight * max(0, edge - time) at each edge."""
    order = np.argsort(times, kind="stable")
    sums = np.r_[0.0, np.cumsum(weights[order])]
    moments = np.r_[0.0, np.cumsum(weights[order] * times[order])]
    place = np.searchsorted(times[order], edges, side="right")
    found: FloatArray = edges * sums[place] - moments[place]
    return found


def over_time(jobs: pd.DataFrame, attempts: pd.DataFrame, capacity: int, bins: int) -> pd.DataFrame:
    """Return ``begin`` and ``end`` of bins of equal length, and the means in each of ``utilization`` and ``queue``.

    Times count from the first submission, in seconds. Utilization is the share of the primary resource that is held, by
    work that counts or not; the queue is how many jobs wait.
    """
    there = jobs[jobs["end"] >= 0]
    columns = ["begin", "end", "utilization", "queue"]
    if not len(there):
        return pd.DataFrame(columns=columns, dtype=float)
    first = int(jobs["submit"].min())
    edges = np.linspace(0, max(int(there["end"].max()) - first, 1), bins + 1)
    begin, end = attempts["start"].to_numpy() - first, attempts["end"].to_numpy() - first
    inside = busy_time(edges, there["submit"].to_numpy() - first, there["end"].to_numpy() - first)
    length = np.diff(edges)
    held = busy_time(edges, begin, end, attempts["units"].to_numpy())
    queue = np.maximum((inside - busy_time(edges, begin, end)) / length, 0.0)
    return pd.DataFrame(dict(zip(columns, (edges[:-1], edges[1:], held / length / capacity, queue), strict=True)))


def used_between(attempts: pd.DataFrame, capacity: int, begin: int, end: int) -> float:
    """Return useful work over capacity from `begin` to `end`; that of a stay is spread evenly over it."""
    if end <= begin or not capacity:
        return float("nan")
    start, stop = attempts["start"].to_numpy(), attempts["end"].to_numpy()
    inside = np.clip(stop, begin, end) - np.clip(start, begin, end)
    useful = attempts["useful"].to_numpy() / np.maximum(stop - start, 1)
    return float((inside * useful * attempts["units"].to_numpy()).sum() / (capacity * (end - begin)))


def capacity_of(result: Result) -> int:
    """Return how much of the primary resource the machine has."""
    machine = result.manifest["machine"]
    return int(machine["total"][machine["resources"].index(machine["primary"])])


def utilization(result: Result, chosen: pd.DataFrame) -> float:
    """Return useful work over capacity: of some jobs from their first to their last submission, of all to the end."""
    if len(chosen) == len(result.jobs):
        return result.summary()["utilization"]
    span = int(chosen["submit"].min()), int(chosen["submit"].max())
    return used_between(result.attempts, capacity_of(result), *span)


def window_of(jobs: pd.DataFrame) -> tuple[int, int]:
    """Return when, from the first submission, a job in the middle and one :data:`WINDOW_JOBS` later were submitted."""
    submit = np.sort(jobs["submit"].to_numpy())
    if not len(submit):
        return 0, 0
    first = max((len(submit) - WINDOW_JOBS) // 2, 0)
    last = min(first + WINDOW_JOBS, len(submit) - 1)
    begin, end = int(submit[first] - submit[0]), int(submit[last] - submit[0])
    return begin, max(end, begin + 1)


def schedule(
    jobs: pd.DataFrame, attempts: pd.DataFrame, window: tuple[int, int], bars: int
) -> tuple[pd.DataFrame, int]:
    """Return the stays on the machine within a window, at most so many, and how many of the smallest were left out.

    Columns: ``job, user, begin, end`` (seconds from the first submission), ``wait`` s before the first start, ``units``
    held, ``run_time`` class, and ``low, high``: a stretch of the primary resource. A job gets the lowest free
    stretches, several rows if they do not touch; this is not where its nodes are.
    """
    first = int(jobs["submit"].min()) if len(jobs) else 0
    begin, end = first + window[0], first + window[1]
    chosen = attempts[(attempts["start"] < end) & (attempts["end"] > begin) & (attempts["end"] > attempts["start"])]
    size = (chosen["end"].clip(upper=end) - chosen["start"].clip(lower=begin)) * chosen["units"]
    shown = chosen.loc[size.sort_values(ascending=False, kind="stable").index[:bars]]
    shown = shown.sort_values("start", kind="stable")
    facts = jobs.loc[jobs["id"].isin(shown["id"]), ["id", "user", "wait", "run"]].drop_duplicates("id").set_index("id")
    facts = facts.reindex(shown["id"])
    times = shown["start"].to_numpy(), shown["end"].to_numpy(), shown["units"].to_numpy()
    rows, low, high = stacked(*times)
    frame = pd.DataFrame(
        {
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
    )
    return frame, len(chosen) - len(shown)


def stacked(start: IntArray, end: IntArray, units: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return stretches of a resource without end, the lowest free ones, for intervals sorted by start.

    Returns
    -------
    tuple
        Index of the interval, first unit, and the one after the last.
    """
    free: list[tuple[int, int]] = [(0, int(units.sum()))]
    held: list[tuple[int, int, list[tuple[int, int]]]] = []
    rows: list[tuple[int, int, int]] = []
    for index in range(len(start)):
        while held and held[0][0] <= start[index]:
            free = _merged(free + heapq.heappop(held)[2])
        taken, free = _lowest(free, int(units[index]))
        heapq.heappush(held, (int(end[index]), index, taken))
        rows += [(index, low, high) for low, high in taken]
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def _lowest(free: list[tuple[int, int]], units: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the lowest free stretches of so many units, and what stays free."""
    taken = []
    rest = []
    for low, high in free:
        part = min(units, high - low)
        if part:
            taken.append((low, low + part))
        if low + part < high:
            rest.append((low + part, high))
        units -= part
    return taken, rest


def _merged(stretches: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return sorted stretches, those that touch as one."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(stretches):
        if found and found[-1][1] == low:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return found
