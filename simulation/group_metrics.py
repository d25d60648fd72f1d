"""Metrics of the groups of nodes that jobs use, on machines with levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..base import InputError, IntArray
from ..dispatchers.layouts import PlacedAttempts, count_groups, least_groups, stranded_share
from ..workloads import Job, Machine, Workload
from ..workloads.fitting_requests import units_of
from ..workloads.levels import by_size, labels_of, level_texts, read_levels

#: Share of the jobs from which a size is a common one.
_COMMON = 0.05


def manifest_levels(workload: Workload) -> dict[str, Any]:
    """Return the levels of a machine for the manifest of a result, with ranges of nodes. Empty without levels."""
    machine = workload.machine
    return {"levels": level_texts(machine.levels)} if machine.levels else {}


def group_columns(workload: Workload, jobs: pd.DataFrame, attempts: pd.DataFrame) -> dict[str, IntArray]:
    """Return the columns ``groups`` and ``least_groups`` of jobs. Empty for a machine without levels.

    They count the groups of the level with the smallest groups, on which the last attempt of a job ran. And in how few
    it could have started, beside all jobs that ran right after its start. Both are 0 for a job that never started.
    """
    machine = workload.machine
    if not machine.levels:
        return {}
    labels = machine.labels[0]
    groups = _groups_of(jobs["placement"].tolist(), labels)
    row_of = {id_: row for row, id_ in enumerate(jobs["id"].tolist())}
    rows = np.array([row_of[id_] for id_ in attempts["id"].tolist()], dtype=np.int64)
    order = np.argsort(attempts["start"].to_numpy(), kind="stable")
    rows = rows[order]
    last = np.zeros(len(rows), dtype=np.bool_)
    last[np.unique(rows[::-1], return_index=True)[1]] = True
    last = last[::-1]  # The last attempt of each job.
    least = np.minimum(groups, 1)
    concerned = last & (groups[rows] > 1)
    if concerned.any():
        fewest = _least(workload, attempts.iloc[order], rows, concerned)
        least[rows[concerned]] = fewest[concerned]
    return {"groups": groups, "least_groups": least}


def _groups_of(placements: Sequence[Any], labels: IntArray) -> IntArray:
    """Return the number of groups of each placement, shape (placements,)."""
    first, node = _flat(placements)
    return count_groups(first, node, labels.copy())


def _flat(placements: Sequence[Any]) -> tuple[IntArray, IntArray]:
    """Return where each placement begins, shape (placements + 1,), and the nodes of all."""
    first = np.zeros(len(placements) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, placements), dtype=np.int64, count=len(placements)), out=first[1:])
    return first, np.concatenate([np.zeros(0, dtype=np.int64), *placements])


def _least(workload: Workload, attempts: pd.DataFrame, rows: IntArray, concerned: Any) -> IntArray:
    """Return in how few groups attempts could have started, by start. Shape (attempts,)."""
    machine = workload.machine
    columns = workload.columns
    asked = concerned.astype(np.int64)
    packs = [0, 0]
    placements = attempts["placement"].tolist()
    first, node = _flat(placements)
    factor = np.ones(len(node), dtype=np.int64)
    demand = [_known(machine, each) for each in columns.per_node.values]
    kind = columns.per_node.codes[rows].astype(np.int64)
    slots = columns.nodes[rows].copy()
    shapes = attempts["shape"].to_numpy()
    unequal = columns.slots.numbers(lambda given: int(given is not None))[rows] > 0
    for place in np.flatnonzero(unequal | (shapes >= 0)).tolist():
        job: Job = columns[int(rows[place])].on_shape(None if shapes[place] < 0 else int(shapes[place]))
        nodes, unit, sizes = units_of(job)
        kind[place] = len(demand)
        demand.append(_known(machine, unit))
        slots[place] = nodes
        if sizes:
            factor[first[place] : first[place + 1]] = _factors(job, unit)
        if sizes and asked[place]:
            packs.append(len(sizes))
            asked[place] = len(packs)
            packs += sizes
    kinds, kind_of = np.unique(np.array(demand, dtype=np.int64), axis=0, return_inverse=True)
    start, end = (np.array(attempts[name], dtype=np.int64) for name in ("start", "end"))
    placed = PlacedAttempts(start, end, first, node, factor, kind_of.reshape(-1)[kind], slots, kinds)
    return least_groups(placed, asked, np.array(packs), machine.capacity.copy(), machine.labels[0].copy())


def _known(machine: Machine, per_node: Mapping[str, int]) -> list[int]:
    """Return the amounts of a slot. Only a rejected job asks for others than the machine has."""
    return [per_node.get(name, 0) for name in machine.resources]


def _factors(job: Job, unit: Mapping[str, int]) -> IntArray:
    """Return the units of each unequal slot, in their order."""
    name = next(iter(unit))
    return np.array([slot.get(name, 0) // unit[name] for slot in job.slots or ()], dtype=np.int64)


def group_metrics(result: Any) -> dict[str, float]:
    """Return how jobs lie in the groups of the machine's levels; empty for a machine without levels.

    * ``groups_mean``: mean number of groups of a job, at the level with the smallest groups. ``groups_mean_LEVEL``: the
      same at each further level.
    * ``crossed``: jobs that started in several groups, although one had room for all their slots. Beside all jobs that
      ran right after the start. ``crossed_share``: over all jobs that started.
    * ``fragmentation``: share of free nodes, over time, in groups with too few of them for a job of a common size. Such
      a size is the number of nodes of at least one job in 20, from 2 to the size of a group.
    """
    levels = getattr(result, "manifest", {}).get("machine", {}).get("levels")
    if not levels or "groups" not in result.jobs:
        return {}
    nodes = int(result.manifest["machine"]["nodes"])
    try:
        read = read_levels(levels, nodes)
    except ValueError as error:
        raise InputError(f"manifest: {error}") from None
    labels = labels_of(read, nodes)
    names = by_size(read)
    jobs = result.jobs
    groups = jobs["groups"].to_numpy()
    started = groups > 0
    numbers: dict[str, float] = {"groups_mean": float(groups[started].mean()) if started.any() else float("nan")}
    for row, name in enumerate(names[1:], 1):
        there = _groups_of(jobs["placement"].tolist(), labels[row])
        numbers[f"groups_mean_{name}"] = float(there[started].mean()) if started.any() else float("nan")
    crossed = int(((groups > 1) & (jobs["least_groups"].to_numpy() == 1)).sum())
    numbers["crossed"] = crossed
    numbers["crossed_share"] = crossed / int(started.sum()) if started.any() else float("nan")
    numbers["fragmentation"] = _fragmentation(result.attempts, labels[0])
    return numbers


def _fragmentation(attempts: pd.DataFrame, labels: IntArray) -> float:
    ran = attempts[attempts["placement"].map(len) > 0].sort_values("start", kind="stable")
    first, node = _flat(ran["placement"].tolist())
    # How many nodes each job uses, as groups of one node.
    widths, jobs = np.unique(count_groups(first, node, np.arange(len(labels))), return_counts=True)
    common = widths[(widths >= 2) & (widths <= np.bincount(labels).max()) & (jobs >= _COMMON * len(ran))]
    if not len(common):
        return float("nan")
    start, end = (ran[name].to_numpy(dtype=np.int64) for name in ("start", "end"))
    return float(stranded_share(start, end, first, node, labels.copy(), int(common.min())))
