"""Find the jobs that ran at a moment of a trace, and the cost of freeing nodes.

Source: Maurya et al., DS-RT 2020, sections III and IV.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ..base import InputError, IntArray
from ..base.argument_types import names_wrong_types
from ..models.eviction import Eviction, plan, plan_sharing
from ..workloads import Workload, draw_checkpoints
from .eviction_scenario import Scenario, checked_scenario

#: Parts into which the nodes and the time are divided.
_PARTS = 8


@names_wrong_types
def scenario_at(workload: Workload, instant: int, seed: int = 0) -> Scenario:
    """Return the running jobs at a moment of a trace. Checkpoints are random, as in section IV.B of the paper.

    Parameters
    ----------
    workload
        The trace, with its recorded waits. One node of the scenario is one unit of the primary resource.
    instant
        Seconds of the trace.
    seed
        Of the checkpoints.

    Raises
    ------
    InputError
        If the trace has no waits, a job has no size, or no job ran. Also if the jobs need more nodes than the machine
        has.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.analysis import scenario_at
    >>> with TemporaryDirectory() as folder:
    ...     path = hd.simulate(hd.example(), "easy").to_swf(f"{folder}/recorded.swf")
    ...     recorded = hd.read(f"{folder}/recorded.swf")
    >>> scenario = scenario_at(recorded, int(recorded.columns.submit[500]))
    >>> len(scenario.jobs), scenario.machine.nodes
    (4, 128)
    """
    start = recorded_starts(workload)
    sizes = recorded_sizes(workload)
    columns = workload.columns
    source = workload.provenance.source
    ran = running_at(start, columns.runtime, instant)
    if not ran.size:
        raise InputError(f"{source}: expected a moment at which jobs ran, got none at {instant} s")
    names = columns.texts()
    saves = draw_checkpoints(np.random.default_rng([seed, instant]), len(ran))
    jobs = [
        {
            "id": names[place],
            "nodes": int(sizes[place]),
            "elapsed": int(instant - start[place]),
            "interval": save.interval,
            "system_size": save.system_size,
            "application_size": save.application_size,
        }
        for place, save in zip(ran.tolist(), saves, strict=True)
    ]
    machine = {"nodes": int(workload.machine.capacity[:, workload.machine.primary].sum())}
    return checked_scenario({"machine": machine, "jobs": jobs}, f"{source} at {instant} s")


def running_at(start: IntArray, runtime: IntArray, instant: int) -> IntArray:
    """Return the indices of the jobs that ran at a moment."""
    return np.flatnonzero((start <= instant) & (instant < start + runtime))


@names_wrong_types
def recorded_starts(workload: Workload) -> IntArray:
    """Return when each job started, seconds of the trace, shape (jobs,).

    Raises
    ------
    InputError
        If the trace has no recorded waits.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.analysis import recorded_starts
    >>> result = hd.simulate(hd.example(), "easy")
    >>> with TemporaryDirectory() as folder:
    ...     path = result.to_swf(f"{folder}/recorded.swf")
    ...     recorded = hd.read(f"{folder}/recorded.swf")
    >>> bool((recorded_starts(recorded) == result.jobs["start"].to_numpy()).all())
    True
    """
    waits = workload.recorded_waits
    if waits is None or np.isnan(waits).any():
        raise InputError(f"{workload.provenance.source or 'workload'}: expected recorded waits of all jobs, got none")
    return workload.columns.submit + waits.astype(np.int64)


def recorded_sizes(workload: Workload) -> IntArray:
    """Return the number of nodes of each job, shape (jobs,).

    Raises
    ------
    InputError
        If a job has no size.
    """
    columns = workload.columns
    machine = workload.machine
    sizes = columns.nodes * columns.amounts(machine.resources[machine.primary])
    if (sizes < 1).any():
        name = columns.texts()[int(np.argmax(sizes < 1))]
        raise InputError(f"{workload.provenance.source}: job {name}: expected a size, got none")
    return np.asarray(sizes, dtype=np.int64)


@names_wrong_types
def eviction_front(
    scenario: Scenario, nodes: int, deadline: int, step: int = 1, *, sharing: bool = False
) -> pd.DataFrame:
    """Return the least loss of freeing each eighth of some nodes within each eighth of some time.

    One plan gives all rows. With `sharing`, each number of nodes is solved on its own. Idle nodes count as free.

    Parameters
    ----------
    scenario
        The running jobs.
    nodes, deadline
        The most nodes, at least 1, and the longest time, seconds.
    step, sharing
        Of the plan: its resolution, seconds, and whether checkpoints are written in parallel.

    Returns
    -------
    DataFrame
        One row per number of nodes and deadline: ``nodes``, ``deadline`` (s), ``loss`` (node-hours),
        ``checkpoint_time`` (s), and the numbers of jobs ``killed``, ``checkpointed`` and ``ended``. The loss is
        infinite where there are too few nodes.

    Examples
    --------
    >>> from hpcdispatch.analysis import Scenario, eviction_front
    >>> jobs = [{"id": "a", "nodes": 8, "elapsed": 3600}, {"id": "b", "nodes": 8, "elapsed": 600}]
    >>> front = eviction_front(Scenario(machine={"nodes": 16}, jobs=jobs), nodes=8, deadline=600)
    >>> round(float(front["loss"].max()), 2)
    1.33
    """
    asked = sorted({-(-nodes * part // _PARTS) for part in range(1, _PARTS + 1)})
    deadlines = sorted({deadline * part // _PARTS // step * step for part in range(_PARTS + 1)} | {deadline})
    needed = [max(0, each - scenario.idle) for each in asked]
    by_nodes: list[list[Eviction]]
    if sharing:
        by_nodes = [plan_sharing(scenario.writing(), each, deadlines, scenario.bandwidth) for each in needed]
    else:
        made = plan(scenario.running(), needed[-1], deadline, step)
        by_nodes = [[made.for_nodes(each)[end] for end in deadlines] for each in needed]
    rows = [
        (count, end, eviction.loss, eviction.checkpoint_time, *_numbers(eviction))
        for count, evictions in zip(asked, by_nodes, strict=True)
        for end, eviction in zip(deadlines, evictions, strict=True)
    ]
    columns = ["nodes", "deadline", "loss", "checkpoint_time", "killed", "checkpointed", "ended"]
    return pd.DataFrame(rows, columns=columns)


def _numbers(eviction: Eviction) -> Sequence[int]:
    """Return the numbers of jobs that are killed, are checkpointed, and end by themselves."""
    actions = list(eviction.actions.values())
    killed = actions.count("kill")
    ended = actions.count("end")
    return killed, len(actions) - killed - ended, ended
