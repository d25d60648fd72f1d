"""A trace with on-demand jobs. Its own jobs can then save their states. This is the input for eviction."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from .....base import InputError
from .....base.checks import check_number, check_whole
from .....workloads import Job, Machine, Provenance, Workload
from .....workloads.generators.eviction_scenarios import draw_checkpoints
from .....workloads.generators.theta import DAY, URGENT_NODES, URGENT_RUNTIMES
from .....workloads.job import Checkpoint, ResourceMap

#: GB/s of the file system and per node of Theta (Maurya et al., DS-RT 2020, section IV.A).
AGGREGATE, NODE = 250.0, 0.7


@dataclass(frozen=True, slots=True)
class OnDemand:
    """On-demand jobs added to a trace, and eviction costs of its jobs.

    Attributes
    ----------
    rate
        On-demand jobs per day, in a Poisson process, at least 0.
    deadline
        Seconds within which they should start, at least 0.
    restart
        Seconds that an evicted batch job needs before it resumes, at least 0.
    writes
        Whether an application checkpoint counts only after it is written.
    seed
        Of the random numbers.

    Raises
    ------
    ValueError
        If a number is out of its range.
    """

    rate: float = 4.0
    deadline: int = 900
    restart: int = 120
    writes: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        check_number("rate", self.rate, least=0)
        for name in ("deadline", "restart", "seed"):
            check_whole(name, getattr(self, name), 0)


def with_on_demand(workload: Workload, added: OnDemand | None = None) -> Workload:
    """Return a trace with on-demand jobs, on one pool of nodes. Its batch jobs can save their states.

    A node is one unit of the machine's primary resource. On-demand jobs need 512, 1,024 or 2,048 nodes, at most half
    the machine. They run 5 to 60 min, as in ``generate("theta")``. Checkpoints are sampled as in section IV.B of Maurya
    et al., DS-RT 2020. An application checkpoint takes the time of equation 1.

    Raises
    ------
    InputError
        If the trace has no jobs, or a job has none of the primary resource.
    """
    added = OnDemand() if added is None else added
    columns = workload.columns
    machine = workload.machine
    if not len(columns):
        raise InputError(f"{workload.provenance.source}: expected jobs to give way, got none")
    primary = machine.resources[machine.primary]
    total = int(machine.capacity[:, machine.primary].sum())
    sizes = columns.nodes * columns.amounts(primary)
    if (without := np.flatnonzero(sizes < 1)).size:
        name = columns.texts()[without[0]]
        raise InputError(f"{workload.provenance.source}: job {name}: expected a size in {primary}s, got none")
    rng = np.random.default_rng([added.seed, 17])
    saves = [
        _costs(save, size, added) for save, size in zip(draw_checkpoints(rng, len(sizes)), sizes.tolist(), strict=True)
    ]
    unit = ResourceMap(node=1)
    batch = [
        replace(job, nodes=size, per_node=unit, checkpoint=save)
        for job, size, save in zip(workload.jobs, sizes.tolist(), saves, strict=True)
    ]
    jobs = sorted([*batch, *_urgent(rng, batch, total, added)], key=attrgetter("submit"))
    pool = Machine.homogeneous(1, node=total, name=machine.name)
    options = {**workload.provenance.options, "on-demand": repr(added)}
    return Workload(jobs, pool, Provenance(workload.provenance.source, options, workload.provenance.header))


def _costs(save: Checkpoint, nodes: int, added: OnDemand) -> Checkpoint:
    """Return a way to save a state, with its cost."""
    write = math.ceil(max(nodes * save.application_size / AGGREGATE, save.application_size / NODE))
    return replace(save, restart=added.restart, write=write if added.writes else 0)


def _urgent(rng: np.random.Generator, batch: Sequence[Job], total: int, added: OnDemand) -> Iterator[Job]:
    """Generate the on-demand jobs, over the submission period of batch jobs."""
    begin = batch[0].submit
    end = batch[-1].submit + 1
    count = int(rng.poisson(added.rate * (end - begin) / DAY))
    submit = np.sort(rng.integers(begin, end, count)).tolist()
    sizes = np.minimum(rng.choice(URGENT_NODES, count), max(1, total // 2)).tolist()
    low, high = (math.log(seconds) for seconds in URGENT_RUNTIMES)
    runtimes = np.exp(rng.uniform(low, high, count)).astype(np.int64).tolist()
    unit = ResourceMap(node=1)
    for number, (at, nodes, runtime) in enumerate(zip(submit, sizes, runtimes, strict=True), 1):
        yield Job(
            f"on-demand-{number}",
            at,
            runtime,
            URGENT_RUNTIMES[1],
            nodes,
            unit,
            kind="on-demand",
            deadline=added.deadline,
        )
