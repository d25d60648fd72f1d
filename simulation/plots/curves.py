"""Curves and pieces of a schedule that are drawn of the records of simulations."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...base import FloatArray, IntArray
from ..metrics import Records


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


def capacity_of(result: Records) -> int:
    """Return how much of the primary resource the machine has."""
    machine = result.manifest["machine"]
    return int(machine["total"][machine["resources"].index(machine["primary"])])


def stretches(stays: pd.DataFrame, capacity: int, nodes: int) -> tuple[IntArray, IntArray, IntArray, int]:
    """Return which units of the primary resource each stay holds, as stretches of units one after the other.

    On a machine of several nodes the units of a node follow those of the node before; which units of its node a job
    holds is the lowest free ones, as on a pool.

    Parameters
    ----------
    stays
        ``start``, ``end``, ``units`` and, of several nodes, ``placement``, sorted by start.
    capacity, nodes
        Units and nodes of the machine; nodes are taken to be equal.

    Returns
    -------
    tuple
        As :func:`stacked`, with stretches of a stay that touch as one; and the units from node to node, 1 on a pool.
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
