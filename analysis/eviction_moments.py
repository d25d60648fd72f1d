"""Moments of a trace at which many jobs run: the scenarios of Maurya et al., DS-RT 2020, section IV.A."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base import FloatArray, InputError, IntArray
from ..workloads import Workload, draw_checkpoints
from .eviction_scenario import Scenario, checked_scenario

#: A job that runs for less is "expendable" in the paper: killing it loses next to nothing.
EXPENDABLE = 1800


class Occupancy(NamedTuple):
    """What ran when a trace was recorded, between one start or end and the next.

    Attributes
    ----------
    times
        Starts and ends, seconds of the trace, rising, shape (times,).
    lasts
        Seconds until the next, 0 for the last.
    nodes, jobs
        How many nodes jobs held from then on, and how many jobs.
    expendable
        How many of the jobs ran for less than half an hour in all.
    """

    times: IntArray
    lasts: IntArray
    nodes: IntArray
    jobs: IntArray
    expendable: IntArray

    def most_common(self) -> int:
        """Return the number of nodes above 0 that was held for longest."""
        held = np.bincount(self.nodes, self.lasts)
        held[0] = 0
        return int(held.argmax())

    def days(self, nodes: int) -> float:
        """Return for how many days so many nodes were held."""
        return float(self.lasts[self.nodes == nodes].sum()) / 86400


def occupancy(workload: Workload) -> Occupancy:
    """Return what ran when.

    Raises
    ------
    InputError
        If the trace holds no recorded waits, or a job has no size.
    """
    start, sizes = _starts(workload), _sizes(workload)
    runtime = workload.columns.runtime
    times, places = np.unique(np.concatenate([start, start + runtime]), return_inverse=True)
    signs = np.repeat([1, -1], len(start))
    counted = [
        np.cumsum(np.bincount(places, np.tile(each, 2) * signs, len(times))).astype(np.int64)
        for each in (sizes, np.ones_like(sizes), (runtime < EXPENDABLE).astype(np.int64))
    ]
    return Occupancy(times, np.diff(times, append=times[-1:]), *counted)


def moments(found: Occupancy, jobs: int, nodes: int | None = None, least: int = 1) -> list[int]:
    """Return the moments at which so many jobs held so many nodes, and none of them was expendable.

    Each is the middle of a time between a start or end and the next; each set of jobs counts once. The paper's
    scenarios are such moments, of 12, 16 and 24 jobs on 4,352 nodes.

    Parameters
    ----------
    found
        Of the trace.
    jobs
        How many ran.
    nodes
        How many nodes they held together; those that were held for longest if ``None``.
    least
        Seconds for which just these jobs ran, at least.
    """
    nodes = found.most_common() if nodes is None else nodes
    good = (found.jobs == jobs) & (found.nodes == nodes) & (found.expendable == 0) & (found.lasts >= least)
    middles: list[int] = (found.times[good] + found.lasts[good] // 2).tolist()
    return middles


def scenario_at(workload: Workload, instant: int, seed: int = 0) -> Scenario:
    """Return what ran at a moment of a trace, with checkpoints drawn as in section IV.B of the paper.

    Parameters
    ----------
    workload
        The trace, with its recorded waits; a node is a unit of the primary resource.
    instant
        Seconds of the trace.
    seed
        Of the checkpoints.

    Raises
    ------
    InputError
        If the trace holds no waits, a job has no size, nothing ran, or more ran than the machine has nodes for.
    """
    start, sizes = _starts(workload), _sizes(workload)
    columns, source = workload.columns, workload.provenance.source
    ran = _running(start, columns.runtime, instant)
    if not ran.size:
        raise InputError(f"{source}: expected a moment at which jobs ran, got none at {instant} s")
    names = columns.texts()
    saves = draw_checkpoints(np.random.default_rng([seed, instant]), len(ran))
    jobs = [
        {
            "id": names[place], "nodes": int(sizes[place]), "elapsed": int(instant - start[place]),
            "interval": save.interval, "system_size": save.system_size, "application_size": save.application_size,
        }
        for place, save in zip(ran.tolist(), saves, strict=True)
    ]  # fmt: skip
    machine = {"nodes": int(workload.machine.capacity[:, workload.machine.primary].sum())}
    return checked_scenario({"machine": machine, "jobs": jobs}, f"{source} at {instant} s")


def spans_at(workload: Workload, instant: int) -> FloatArray:
    """Return start and end in hours from the first start, and nodes, of what ran at a moment; shape (jobs, 3)."""
    start, sizes = _starts(workload), _sizes(workload)
    runtime = workload.columns.runtime
    end, ran = start + runtime, _running(start, runtime, instant)
    ran = ran[np.argsort(start[ran], kind="stable")]
    first = start[ran].min() if ran.size else 0
    return np.column_stack([(start[ran] - first) / 3600, (end[ran] - first) / 3600, sizes[ran]])


def _running(start: IntArray, runtime: IntArray, instant: int) -> IntArray:
    """Return the places of the jobs that ran at a moment."""
    return np.flatnonzero((start <= instant) & (instant < start + runtime))


def _starts(workload: Workload) -> IntArray:
    """Return when each job started."""
    records = workload.records
    waits = None if records is None or "wait" not in records else records["wait"].to_numpy(dtype=np.float64)
    if waits is None or not (np.isfinite(waits) & (waits >= 0)).all():
        raise InputError(f"{workload.provenance.source or 'workload'}: expected recorded waits of all jobs, got none")
    return workload.columns.submit + waits.astype(np.int64)


def _sizes(workload: Workload) -> IntArray:
    """Return how many nodes each job had."""
    columns, machine = workload.columns, workload.machine
    sizes = columns.nodes * columns.amounts(machine.resources[machine.primary])
    if (sizes < 1).any():
        name = columns.texts()[int(np.argmax(sizes < 1))]
        raise InputError(f"{workload.provenance.source}: job {name}: expected a size, got none")
    return np.asarray(sizes, dtype=np.int64)
