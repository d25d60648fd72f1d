"""Small reproducible workloads with typical corner cases."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy

from ..base import IntArray
from ..base.argument_types import names_wrong_types
from ..workloads import Checkpoint, Job, Machine, Provenance, Shape, Workload
from ..workloads.job import Kind

_MINUTE = 60
#: Share of the jobs that arrive together with the previous one.
_TOGETHER = 0.3
#: Share of the jobs with a run time of 0.
_NOTHING = 0.05


def tiny() -> Workload:
    """Return five jobs on four cores, small enough to follow by hand.

    ====  ======  =======  ========  =====
    id    submit  runtime  walltime  cores
    ====  ======  =======  ========  =====
    a          0      100       100      2
    b          0       50       120      1
    c         10       60        60      4
    d         20       30        40      1
    e         30      200       200      1
    ====  ======  =======  ========  =====

    Under first come, first served they start at 0, 0, 100, 160 and 160. EASY starts d at 20, before c.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.testing import tiny
    >>> hd.simulate(tiny(), "easy").jobs["start"].tolist()
    [0, 0, 100, 20, 160]
    """
    rows = (("a", 0, 100, 100, 2), ("b", 0, 50, 120, 1), ("c", 10, 60, 60, 4), ("d", 20, 30, 40, 1))
    jobs = [Job(id_, submit, run, wall, nodes, user=id_) for id_, submit, run, wall, nodes in rows]
    jobs.append(Job("e", 30, 200, 200, user="a"))
    return Workload(tuple(jobs), Machine.pool(4), Provenance("tiny()"))


@names_wrong_types
def pool(jobs: int = 80, *, seed: int = 0, cores: int = 32) -> Workload:
    """Return jobs on one pool of cores, as in most traces.

    They are more work than the pool can run at once. Some arrive in the same second, some run for 0 s, and all end
    within their walltimes.

    Parameters
    ----------
    jobs, seed, cores
        Number of jobs. Seed of the random numbers. Number of cores of the pool, at least 2.

    Examples
    --------
    >>> from hpcdispatch.testing import pool
    >>> workload = pool(jobs=30, cores=8)
    >>> len(workload.jobs), workload.machine.capacity.tolist()
    (30, [[8]])
    """
    drawn = _RandomJobs(seed, jobs, load=cores / 4)
    sizes = np.minimum(2 ** drawn.rng.integers(0, cores.bit_length(), jobs), cores)
    made = [drawn.job(index, nodes=1, per_node={"core": int(sizes[index])}) for index in range(jobs)]
    return Workload(tuple(made), Machine.pool(cores), Provenance(f"pool(jobs={jobs}, seed={seed}, cores={cores})"))


@names_wrong_types
def cluster(jobs: int = 80, *, seed: int = 0, nodes: int = 6) -> Workload:
    """Return jobs on two kinds of nodes with cores and memory. Half the nodes have GPUs and fewer cores.

    Parameters
    ----------
    jobs, seed, nodes
        Number of jobs. Seed of the random numbers. Number of nodes of the machine, at least 2.

    Examples
    --------
    >>> from hpcdispatch.testing import cluster
    >>> workload = cluster(jobs=20, nodes=4)
    >>> workload.machine.resources, workload.machine.capacity.tolist()
    (('core', 'mem', 'gpu'), [[16, 64, 0], [16, 64, 0], [8, 32, 2], [8, 32, 2]])
    """
    plain = np.tile([16, 64, 0], (nodes - nodes // 2, 1))
    machine = Machine(("core", "mem", "gpu"), np.vstack([plain, np.tile([8, 32, 2], (nodes // 2, 1))]))
    drawn = _RandomJobs(seed, jobs, load=nodes / 2)
    made = []
    for index in range(jobs):
        amounts = {"core": int(drawn.rng.integers(1, 9)), "mem": int(drawn.rng.integers(0, 33))}
        if drawn.rng.random() < 0.3:
            amounts["gpu"] = int(drawn.rng.integers(1, 3))
        slots = int(drawn.rng.integers(1, max(2, machine.slots(amounts))))
        made.append(drawn.job(index, nodes=slots, per_node=amounts))
    return Workload(tuple(made), machine, Provenance(f"cluster(jobs={jobs}, seed={seed}, nodes={nodes})"))


@names_wrong_types
def overrunning(jobs: int = 60, *, seed: int = 0, cores: int = 16) -> Workload:
    """Return jobs of which a third overrun their walltimes, up to three times.

    Parameters
    ----------
    jobs, seed, cores
        Number of jobs. Seed of the random numbers. Number of cores of the pool, at least 2.

    Examples
    --------
    >>> from hpcdispatch.testing import overrunning
    >>> workload = overrunning(jobs=30)
    >>> sum(job.runtime > job.walltime for job in workload.jobs)
    7
    """
    drawn = _RandomJobs(seed, jobs, load=cores / 4)
    late = drawn.rng.random(jobs) < 1 / 3
    longer = (drawn.walltimes * drawn.rng.uniform(1, 3, jobs)).astype(int)
    drawn.runtimes = np.where(late, longer, drawn.runtimes)
    made = [drawn.job(index, nodes=int(drawn.rng.integers(1, cores // 2 + 1))) for index in range(jobs)]
    source = Provenance(f"overrunning(jobs={jobs}, seed={seed}, cores={cores})")
    return Workload(tuple(made), Machine.pool(cores), source)


@names_wrong_types
def moldable(jobs: int = 40, *, seed: int = 0, nodes: int = 16) -> Workload:
    """Return moldable jobs on one-core nodes, some with checkpoints, some on-demand.

    Alternatives are half and twice the nodes.

    Parameters
    ----------
    jobs, seed, nodes
        Number of jobs. Seed of the random numbers. Number of nodes of the machine, at least 4.

    Examples
    --------
    >>> from hpcdispatch.testing import moldable
    >>> job = moldable(jobs=10).jobs[0]
    >>> job.nodes, [shape.nodes for shape in job.shapes]
    (2, [1, 4])
    """
    drawn = _RandomJobs(seed, jobs, load=nodes / 4)
    made = []
    for index in range(jobs):
        slots = int(2 ** drawn.rng.integers(1, nodes.bit_length() - 1))
        run = int(drawn.runtimes[index])
        wall = int(drawn.walltimes[index])
        shapes: tuple[Shape, ...] = (Shape(slots // 2, round(run * 1.8), round(wall * 1.8)),)
        if slots * 2 <= nodes:
            shapes += (Shape(slots * 2, round(run * 0.6), max(1, round(wall * 0.6))),)
        job = drawn.job(index, nodes=slots)
        saves = Checkpoint(interval=int(drawn.rng.integers(1, 30)) * _MINUTE) if drawn.rng.random() < 0.5 else None
        kind: Kind = "on-demand" if drawn.rng.random() < 0.1 else "batch"
        made.append(replace(job, shapes=shapes, checkpoint=saves, kind=kind))
    source = Provenance(f"moldable(jobs={jobs}, seed={seed}, nodes={nodes})")
    return Workload(tuple(made), Machine.homogeneous(nodes, core=1), source)


@names_wrong_types
def stochastic(jobs: int = 40, *, seed: int = 0, cores: int = 16) -> Workload:
    """Return jobs of two applications with run-time laws, and of a third without one.

    Parameters
    ----------
    jobs, seed, cores
        Number of jobs. Seed of the random numbers. Number of cores of the pool, at least 2.

    Examples
    --------
    >>> from hpcdispatch.testing import stochastic
    >>> workload = stochastic(jobs=20)
    >>> round(next(job.law.mean() for job in workload.jobs if job.law))
    3630
    """
    laws = (scipy.stats.uniform(60, 7140), scipy.stats.truncexpon(8, 0, 900), None)
    drawn = _RandomJobs(seed, jobs, load=cores / 4)
    made = []
    for index in range(jobs):
        law = laws[index % len(laws)]
        job = drawn.job(index, nodes=int(drawn.rng.integers(1, cores + 1)))
        if law is not None:
            length = round(float(law.ppf(drawn.rng.random())))
            job = replace(job, runtime=length, walltime=7200, law=law, name=f"application{index % len(laws)}")
        made.append(job)
    source = Provenance(f"stochastic(jobs={jobs}, seed={seed}, cores={cores})")
    return Workload(tuple(made), Machine.pool(cores), source)


@names_wrong_types
def urgent(jobs: int = 24, *, seed: int = 0, nodes: int = 6) -> Workload:
    """Return jobs on whole nodes with checkpoints of minutes. One in three is on-demand, with a deadline.

    Parameters
    ----------
    jobs, seed, nodes
        Number of jobs. Seed of the random numbers. Number of nodes of the machine, at least 2.

    Examples
    --------
    >>> from hpcdispatch.testing import urgent
    >>> workload = urgent(jobs=12)
    >>> [(job.kind, job.deadline) for job in workload.jobs[:3]]
    [('batch', None), ('on-demand', 300), ('on-demand', 600)]
    """
    drawn = _RandomJobs(seed, jobs, load=nodes)
    made = []
    for index in range(jobs):
        job = drawn.job(index, nodes=int(drawn.rng.integers(1, nodes // 2 + 1)))
        if drawn.rng.random() < 1 / 3:
            runtime = min(job.runtime, 20 * _MINUTE)
            made.append(replace(job, runtime=runtime, kind="on-demand", deadline=index % 4 * 5 * _MINUTE))
        else:
            interval = int(drawn.rng.integers(10, 60)) * _MINUTE if drawn.rng.random() < 0.7 else None
            system = drawn.rng.uniform(40, 200)
            application = drawn.rng.uniform(10, 40)
            made.append(replace(job, checkpoint=Checkpoint(float(system), float(application), interval)))
    source = Provenance(f"urgent(jobs={jobs}, seed={seed}, nodes={nodes})")
    return Workload(tuple(made), Machine.homogeneous(nodes, core=1), source)


@names_wrong_types
def samples(share: float = 1.0) -> list[Workload]:
    """Return one workload of each kind, with a share of its default number of jobs.

    Examples
    --------
    >>> from hpcdispatch.testing import samples
    >>> [len(workload.jobs) for workload in samples(share=0.25)]
    [5, 20, 20, 15, 10, 10, 6]
    """
    sizes: dict[Callable[[int], Workload], int] = {
        pool: 80,
        cluster: 80,
        overrunning: 60,
        moldable: 40,
        stochastic: 40,
        urgent: 24,
    }
    return [tiny(), *(kind(max(1, round(share * jobs))) for kind, jobs in sizes.items())]


class _RandomJobs:
    """Random submissions, run times and walltimes, seconds. `load` jobs arrive per mean run time."""

    def __init__(self, seed: int, jobs: int, load: float) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.runtimes: IntArray = np.exp(rng.uniform(np.log(5), np.log(5 * 3600), jobs)).astype(int)
        gaps = rng.exponential(self.runtimes.mean() / load, jobs).astype(int)
        gaps[rng.random(jobs) < _TOGETHER] = 0
        self.submits: IntArray = np.cumsum(gaps)
        self.walltimes: IntArray = -(-self.runtimes // (5 * _MINUTE)) * 5 * _MINUTE * rng.integers(1, 5, jobs)
        self.runtimes[rng.random(jobs) < _NOTHING] = 0

    def job(self, index: int, *, nodes: int, per_node: dict[str, int] | None = None) -> Job:
        """Return a job of one of four users, with or without a name and a queue."""
        kind = int(self.rng.integers(4))
        return Job(
            id=str(index + 1),
            submit=self.submits[index],
            runtime=self.runtimes[index],
            walltime=self.walltimes[index],
            nodes=nodes,
            per_node={"core": 1} if per_node is None else per_node,
            user=f"user{self.rng.integers(4)}",
            name=("", "sort", f"align_{index}", "307")[kind],
            queue=("", "long")[kind % 2],
        )
