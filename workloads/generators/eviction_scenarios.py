"""Generate machines full of jobs for eviction: random scenarios like those of the paper.

A. Maurya, B. Nicolae, I. Guliani, M. M. Rafique: "CoSim: A Simulator for Co-Scheduling of Batch and On-Demand Jobs in
HPC Datacenters", DS-RT 2020, section IV.
"""

import numpy as np

from ...base import check_whole
from ...base.argument_types import names_wrong_types
from ...base.checks import MOST_NODES
from ..job import Checkpoint, ResourceMap
from ..job_columns import Coded, JobColumns
from ..machine import Machine
from ..workload import Workload
from .generator import generator, provenance_of
from .lublin import ROUND_TIMES

#: Nodes of Theta, their cores, and GB of memory on each: 192 of DDR4 and 16 of MCDRAM.
THETA_NODES = 4392
CORES = 64
MEMORY = 192 + 16
#: Shares of the memory that jobs use, and of this memory in an application checkpoint.
IN_USE, CRITICAL = (0.4, 0.9), (0.2, 0.6)
#: Seconds between application checkpoints.
HOURLY = 3600
#: The smallest job of Theta, nodes.
SMALLEST = 128
#: Seconds from the first start to the last start, to the first end, and to the last end: figure 2.
STARTED = 9660
FIRST_END = 17520
LAST_END = 36900


@names_wrong_types
def draw_checkpoints(rng: np.random.Generator, count: int) -> list[Checkpoint]:
    """Draw the checkpoints of jobs on Theta: section IV.B of the paper.

    A job uses 40 to 90% of the memory of its nodes. This is the size of a system checkpoint. An application checkpoint
    is 20 to 60% of that, written every hour. Both shares are uniform.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.workloads import draw_checkpoints
    >>> [checkpoint.interval for checkpoint in draw_checkpoints(np.random.default_rng(1), count=2)]
    [3600, 3600]
    """
    used = MEMORY * rng.uniform(*IN_USE, count)
    critical = used * rng.uniform(*CRITICAL, count)
    return [
        Checkpoint(system_size=system, application_size=application, interval=HOURLY)
        for system, application in zip(used.tolist(), critical.tolist(), strict=True)
    ]


@generator("theta-scenario")
def theta_scenario(*, jobs: int = 12, nodes: int = 4352, grain: int = SMALLEST, seed: int = 0) -> Workload:
    """Draw jobs that fill Theta at one instant.

    The instant is ``provenance.options["instant"]``, in seconds. Every job starts at its submission, since there is
    room for all. Thus it has run for ``instant - submit``. The paper's scenarios of 12, 16 and 24 jobs on 4,352 nodes
    come from a trace. These are random:

    * Each job has 128 nodes. The rest is distributed in grains, by shares uniform over all that sum to one.
    * As in the paper's figure 2, jobs start within 2 h 41 min of each other. They end 4 h 52 min to 10 h 15 min after
      the first start. Both are uniform, so that all run for two hours. The instant is uniform over the time all run.
    * Checkpoints are as in section IV.B, see :func:`draw_checkpoints`.

    Parameters
    ----------
    jobs
        Number of jobs, at least 1.
    nodes
        Nodes of all jobs together, at least 128 each. The machine has 4,392, or as many as they need.
    grain
        All but one job have a multiple of it, at least 1. If it does not divide 128, they have 128 and a multiple of
        it.
    seed
        Of the random numbers.

    Examples
    --------
    >>> from hpcdispatch.workloads import theta_scenario
    >>> workload = theta_scenario(jobs=5, nodes=1024, seed=1)
    >>> sum(job.nodes for job in workload.jobs)
    1024
    """
    check_whole("seed", seed, 0)
    for name, value in (("jobs", jobs), ("nodes", nodes), ("grain", grain)):
        check_whole(name, value, 1, MOST_NODES)
    if nodes < jobs * SMALLEST:
        needed = f"expected at least {SMALLEST} for each of {jobs:,} jobs, {jobs * SMALLEST:,}"
        raise ValueError(f"nodes: {needed}, got {nodes:,}")
    rng = np.random.default_rng(seed)
    sizes = SMALLEST + grain * rng.multinomial((nodes - jobs * SMALLEST) // grain, rng.dirichlet(np.ones(jobs)))
    sizes[np.argmax(sizes)] += nodes - sizes.sum()  # the remainder goes to the largest job
    start = np.sort(rng.integers(0, STARTED + 1, jobs))
    end = rng.integers(FIRST_END, LAST_END + 1, jobs) - start[0]
    start -= start[0]
    instant = int(rng.integers(start[-1], end.min()))
    runtime = end - start
    walltime = ROUND_TIMES[np.searchsorted(ROUND_TIMES, runtime)]
    options = {"jobs": jobs, "nodes": nodes, "grain": grain, "seed": seed}
    made = JobColumns.made(
        np.arange(1, jobs + 1),
        submit=start,
        runtime=runtime,
        walltime=walltime,
        nodes=np.asarray(sizes, dtype=np.int64),
        per_node=Coded.same(ResourceMap(core=CORES), jobs),
        checkpoint=Coded(np.arange(jobs, dtype=np.int32), draw_checkpoints(rng, jobs)),
    )
    machine = Machine.homogeneous(max(nodes, THETA_NODES), core=CORES, name="Theta")
    return Workload(made, machine, provenance_of("theta-scenario", options, instant=instant))
