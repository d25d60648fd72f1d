"""Curves and parts of a schedule, computed from the records of simulations."""

import heapq
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...base import FloatArray, IntArray
from ..metrics import Records, lost_to_failures


@dataclass(frozen=True, slots=True)
class Grid:
    """Evenly spaced places on a logarithmic scale, at which a distribution is computed.

    Attributes
    ----------
    low, high
        The powers of ten of the first and the last.
    decade
        Places per factor of ten.
    """

    low: int
    high: int
    decade: int

    def points(self) -> FloatArray:
        """Return the places."""
        places: FloatArray = np.logspace(self.low, self.high, (self.high - self.low) * self.decade + 1)
        return places

    def counts(self, values: FloatArray) -> IntArray:
        """Return the number of values at or below each place."""
        places = np.searchsorted(self.points(), values, side="left")
        size = (self.high - self.low) * self.decade + 2
        counts: IntArray = np.cumsum(np.bincount(places, minlength=size)[:-1])
        return counts


def distribution(grid: Grid, counts: IntArray, n: int, most: int) -> tuple[FloatArray, FloatArray]:
    """Return at most `most` places where an empirical distribution rises, and its shares there."""
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
    """Return the sum of seconds times weight of intervals [begin, end) between neighbouring `edges`."""
    weights = np.ones(len(begin)) if weight is None else weight.astype(float)
    total = _since(edges, begin, weights) - _since(edges, end, weights)
    busy: FloatArray = np.diff(total)
    return busy


def _since(edges: FloatArray, times: IntArray, weights: FloatArray) -> FloatArray:
    """Return the sum of weight * max(0, edge - time) at each edge."""
    order = np.argsort(times, kind="stable")
    sums = np.r_[0.0, np.cumsum(weights[order])]
    moments = np.r_[0.0, np.cumsum(weights[order] * times[order])]
    place = np.searchsorted(times[order], edges, side="right")
    areas: FloatArray = edges * sums[place] - moments[place]
    return areas


def over_time(jobs: pd.DataFrame, attempts: pd.DataFrame, capacity: int, bins: int) -> pd.DataFrame:
    """Return ``begin`` and ``end`` of bins of equal length, and the means of ``utilization`` and ``queue`` in each.

    Times are seconds from the first submission. Utilization is the used share of the primary resource, for useful and
    lost work. The queue is the number of waiting jobs. ``watts`` are those of the jobs, if they have a power.
    """
    there = jobs[jobs["end"] >= 0]
    columns = ["begin", "end", "utilization", "queue"]
    if not len(there):
        return pd.DataFrame(columns=columns, dtype=float)
    first = int(jobs["submit"].min())
    edges = np.linspace(0, max(int(there["end"].max()) - first, 1), bins + 1)
    begin = attempts["start"].to_numpy() - first
    end = attempts["end"].to_numpy() - first
    inside = busy_time(edges, there["submit"].to_numpy() - first, there["end"].to_numpy() - first)
    length = np.diff(edges)
    held = busy_time(edges, begin, end, attempts["units"].to_numpy())
    queue = np.maximum((inside - busy_time(edges, begin, end)) / length, 0.0)
    series = dict(zip(columns, (edges[:-1], edges[1:], held / length / capacity, queue), strict=True))
    if "watts" in attempts:
        series["watts"] = busy_time(edges, begin, end, attempts["watts"].to_numpy()) / length
    return pd.DataFrame(series)


def lost_over_time(result: Records) -> tuple[FloatArray, FloatArray]:
    """Return the core hours that failures of nodes have cost up to each time.

    Returns
    -------
    times
        Seconds since the first submission, from 0 to the last end, shape (points,).
    hours
        Lost work in the primary resource up to then, shape (points,).
    """
    attempts = result.attempts.sort_values("end", kind="stable")
    lost = lost_to_failures(attempts)
    first = int(result.jobs["submit"].min()) if len(result.jobs) else 0
    last = int(attempts["end"].max()) if len(attempts) else first
    times = np.concatenate([[0.0], attempts["end"].loc[lost.index].to_numpy(dtype=float) - first, [last - first]])
    return times, np.cumsum(np.concatenate([[0.0], lost.to_numpy(dtype=float) / 3600, [0.0]]))


def capacity_of(result: Records) -> int:
    """Return the capacity of the primary resource."""
    machine = result.manifest["machine"]
    return int(machine["total"][machine["resources"].index(machine["primary"])])


def stretches(stays: pd.DataFrame, capacity: int, nodes: int) -> tuple[IntArray, IntArray, IntArray, int]:
    """Return the units of the primary resource of each attempt, as ranges of consecutive units.

    On several nodes, units are numbered node by node. Within a node, as on a pool, a job gets the lowest free units.

    Parameters
    ----------
    stays
        ``start``, ``end``, ``units`` and, for several nodes, ``placement``, sorted by start.
    capacity, nodes
        Units and nodes of the machine; nodes are taken as equal.

    Returns
    -------
    tuple
        As :func:`stacked`, with touching ranges of an attempt joined. The last value is the units per node, 1 on a
        pool.
    """
    start, end, units = (stays[name].to_numpy() for name in ("start", "end", "units"))
    if nodes == 1 or not len(stays):
        return *stacked(start, end, units), 1
    placements = stays["placement"].to_list()
    counts = np.array([len(placement) for placement in placements])
    slots = pd.DataFrame({"row": np.repeat(np.arange(len(stays)), counts), "node": np.concatenate(placements)})
    parts = slots.groupby(["node", "row"]).size().rename("slots").reset_index()
    held = parts["slots"].to_numpy() * (units // np.maximum(counts, 1))[parts["row"]]
    pieces = []
    for node, index in parts.groupby("node").indices.items():
        row = parts["row"].to_numpy()[index]
        order, low, high = stacked(start[row], end[row], held[index])
        pieces.append(np.column_stack([row[order], np.full(len(order), node), low, high]))
    table = np.concatenate(pieces)
    size = max(-(-capacity // nodes), int(table[:, 3].max()))
    table[:, 2:] += table[:, 1:2] * size
    table = table[np.lexsort((table[:, 2], table[:, 0]))]
    begins = np.ones(len(table), dtype=np.bool_)
    begins[1:] = (np.diff(table[:, 0]) != 0) | (table[1:, 2] != table[:-1, 3])
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(table)) - 1
    return table[first, 0], table[first, 2], table[last, 3], size


def stacked(start: IntArray, end: IntArray, units: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the lowest free ranges of an unlimited resource, for intervals sorted by start.

    Returns
    -------
    tuple
        Index of the interval, first unit, and the unit after the last.
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
    """Return the lowest free ranges with `units` units, and the rest."""
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
    """Return sorted ranges, with touching ones joined."""
    ranges: list[tuple[int, int]] = []
    for low, high in sorted(stretches):
        if ranges and ranges[-1][1] == low:
            ranges[-1] = (ranges[-1][0], high)
        else:
            ranges.append((low, high))
    return ranges
