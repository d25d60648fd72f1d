"""Random workloads on machines with several kinds of nodes. The rules for every schedule of them."""

from dataclasses import replace
from itertools import product

import numpy as np
from conftest import quick
from oracles.replaying import complaints
from scipy import stats

from hpcdispatch.dispatchers import registry as dispatchers
from hpcdispatch.predictors import registry as predictors
from hpcdispatch.simulation import simulate, violations
from hpcdispatch.workloads import Checkpoint, Job, Machine, Shape, Workload

MODES = ("run", "kill", "resubmit")
MACHINES = ("nodes", "pool")
#: Dispatchers that end attempts of jobs, or set other limits than the walltimes.
INTERVENES = (
    "atoptimal",
    "classic-hpc",
    "evict",
    "hybrid",
    "neuroscience",
    "rbs",
    "slurm",
    "soft-toptimal",
    "toptimal",
)
LAWS = (None, stats.uniform(60, 7140), stats.truncexpon(8, 0, 900))
CASES = list(product(dispatchers.names(), MODES, predictors.names(), MACHINES))


def drawn_machine(rng, kind):
    """Draw a pool of cores, or 3 to 8 nodes. The nodes are of two or three kinds with cores, memory and GPUs."""
    if kind == "pool":
        return Machine.pool(int(rng.integers(8, 65)))
    kinds = np.stack([rng.integers(2, 33, 3), rng.integers(4, 129, 3), rng.permutation([0, 0, 4])], axis=1)
    return Machine(("core", "mem", "gpu"), kinds[np.r_[0, 1, rng.integers(0, 3, int(rng.integers(1, 7)))]])


def drawn_job(rng, machine, number, submit):
    """Draw a job that fits the empty machine. A third overrun their walltime. Some run 0 s."""
    node = machine.capacity[rng.integers(machine.nodes)]
    amounts = {name: int(rng.integers(most // 2 + 1)) for name, most in zip(machine.resources, node, strict=True)}
    per_node = amounts | {"core": max(1, amounts["core"])}
    walltime = int(np.exp(rng.uniform(np.log(60), np.log(4 * 3600))))
    runtime = int(walltime * (rng.uniform(1, 3) if rng.random() < 1 / 3 else rng.uniform(0, 1) ** 2))
    slots = int(rng.integers(1, max(2, machine.slots(per_node) // 2 + 1)))
    law = LAWS[rng.integers(3)]
    user = f"user{rng.integers(4)}"
    job = Job(str(number), submit, runtime, walltime, slots, per_node, user=user, name=("", "sort", "a_1")[number % 3])
    if law is not None:
        job = replace(job, law=law, walltime=7200, runtime=int(law.ppf(rng.random())), name=f"law{LAWS.index(law)}")
    if rng.random() < 0.15:
        job = replace(job, checkpoint=Checkpoint(float(rng.uniform(1, 60)), 4.0, int(rng.integers(60, 900))))
    elif rng.random() < 0.1:
        job = replace(job, kind="on-demand", deadline=int(rng.integers(0, 900)))
    elif slots > 1 and rng.random() < 0.2:
        job = replace(job, shapes=(Shape(slots - 1, round(runtime * 1.3), round(job.walltime * 1.3)),))
    return job


def drawn_workload(seed, kind):
    """Draw 30 to 60 jobs on a machine of one kind. Many arrive together."""
    rng = np.random.default_rng([seed, MACHINES.index(kind)])
    machine = drawn_machine(rng, kind)
    count = int(rng.integers(30, 61))
    gaps = rng.exponential(600, count).astype(int) * (rng.random(count) < 0.7)
    jobs = [drawn_job(rng, machine, number, int(submit)) for number, submit in enumerate(np.cumsum(gaps), 1)]
    return Workload(tuple(jobs), machine)


def try_case(case, seed):
    """Simulate a case on the workload of a seed. Return the findings of both checks and the number of jobs."""
    name, overrun, predictor, kind = case
    workload = drawn_workload(seed, kind)
    result = simulate(workload, quick(name), predictor, overrun=overrun, seed=seed)
    told = complaints(workload, result, overrun, strict=name not in INTERVENES)
    return [*violations(workload, result), *told], result
