"""What ran at a moment of a trace, and what it takes to free nodes (Maurya et al., DS-RT 2020, sections III and IV)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ..base import InputError, IntArray
from ..models.eviction import Eviction, plan, plan_sharing
from ..workloads import Workload, draw_checkpoints
from .eviction_scenario import Scenario, checked_scenario

#: Into how many parts the nodes and the time are divided.
_PARTS = 8


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
    start, sizes = recorded_starts(workload), recorded_sizes(workload)
    columns, source = workload.columns, workload.provenance.source
    ran = running_at(start, columns.runtime, instant)
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


def running_at(start: IntArray, runtime: IntArray, instant: int) -> IntArray:
    """Return the places of the jobs that ran at a moment."""
    return np.flatnonzero((start <= instant) & (instant < start + runtime))


def recorded_starts(workload: Workload) -> IntArray:
    """Return when each job started, seconds of the trace, shape (jobs,).

    Raises
    ------
    InputError
        If the trace holds no recorded waits.
    """
    records = workload.records
    waits = None if records is None or "wait" not in records else records["wait"].to_numpy(dtype=np.float64)
    if waits is None or not (np.isfinite(waits) & (waits >= 0)).all():
        raise InputError(f"{workload.provenance.source or 'workload'}: expected recorded waits of all jobs, got none")
    return workload.columns.submit + waits.astype(np.int64)


def recorded_sizes(workload: Workload) -> IntArray:
    """Return how many nodes each job had, shape (jobs,).

    Raises
    ------
    InputError
        If a job has no size.
    """
    columns, machine = workload.columns, workload.machine
    sizes = columns.nodes * columns.amounts(machine.resources[machine.primary])
    if (sizes < 1).any():
        name = columns.texts()[int(np.argmax(sizes < 1))]
        raise InputError(f"{workload.provenance.source}: job {name}: expected a size, got none")
    return np.asarray(sizes, dtype=np.int64)


def eviction_front(
    scenario: Scenario, nodes: int, deadline: int, step: int = 1, *, sharing: bool = False
) -> pd.DataFrame:
    """Return the trade-off of an eviction: the least loss of freeing eighths of some nodes within eighths of some time.

    All of it is read off one plan; with `sharing` it is solved anew for each number of nodes. Idle nodes count as free.

    Parameters
    ----------
    scenario
        What runs.
    nodes, deadline
        The most nodes, at least 1, and the longest time, seconds.
    step, sharing
        As for the plan: its resolution, seconds, and whether checkpoints are written side by side.

    Returns
    -------
    DataFrame
        A row each: ``nodes``; ``deadline``, s; ``loss``, node-hours, infinite where there are too few nodes;
        ``checkpoint_time``, s; ``killed``, ``checkpointed`` and ``ended``, numbers of jobs.
    """
    asked = sorted({-(-nodes * part // _PARTS) for part in range(1, _PARTS + 1)})
    deadlines = sorted({deadline * part // _PARTS // step * step for part in range(_PARTS + 1)} | {deadline})
    needed = [max(0, each - scenario.idle) for each in asked]
    found: list[list[Eviction]]
    if sharing:
        found = [plan_sharing(scenario.writing(), each, deadlines, scenario.bandwidth) for each in needed]
    else:
        made = plan(scenario.running(), needed[-1], deadline, step)
        found = [[made.for_nodes(each)[end] for end in deadlines] for each in needed]
    rows = [
        (count, end, eviction.loss, eviction.checkpoint_time, *_numbers(eviction))
        for count, evictions in zip(asked, found, strict=True)
        for end, eviction in zip(deadlines, evictions, strict=True)
    ]
    columns = ["nodes", "deadline", "loss", "checkpoint_time", "killed", "checkpointed", "ended"]
    return pd.DataFrame(rows, columns=columns)


def _numbers(eviction: Eviction) -> Sequence[int]:
    """Return how many jobs are killed, checkpointed, and left to end."""
    actions = list(eviction.actions.values())
    killed, ended = actions.count("kill"), actions.count("end")
    return killed, len(actions) - killed - ended, ended
