"""Sampled jobs submitted to a real Slurm, and the errors of the dispatcher ``slurm`` in their starts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from getpass import getuser
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .....analysis.site_cases import SiteRecord
from .....analysis.site_scenarios import Texts
from .....analysis.what_if import WhatIf, what_if
from .....base import InputError
from .....workloads.slurm_conf import read_slurm_conf
from .....workloads.slurm_workload import SACCT_COLUMNS, SCONTROL_SHOWN, slurm_workload
from ....reports.number_formats import fixed, percent, seconds
from ....reports.tables import Table
from .live_commands import Owner, ask, node_names, owners, partitions, shares, submit, until_empty
from .live_moments import noting_moments

#: Seconds within which a start counts as met.
NEAR = (2, 10, 30)
#: Longest run time of a job in a replay, seconds, and the factors by which its walltime is too long.
_LONGEST, _TOO_LONG = 90, (1, 1, 2, 3, 5)

#: Requested memory is a multiple of this. A node has eight times that.
_MEGABYTES = 500
#: The reservation of some nodes, and the latest arrival of its jobs, seconds. They all run before it ends.
KEPT, _KEPT_LAST = "kept", 120
#: What scontrol says of reservations, at the beginning.
_RESERVED = "reservations.txt"
#: The log of the controller, where it can be read.
LOG = "slurmctld.log"
#: The output of squeue for the queue, and its period, seconds.
MOMENTS, _EVERY = "moments.txt", 20
#: These files say what each user may run.
_LIMITS = (
    ("association", "format=Account,User,ParentName,GrpJobs,GrpTRES,MaxJobs"),
    ("qos", "format=Name,GrpJobs,GrpTRES,MaxJobsPU,MaxTRESPU"),
)


class Planned(NamedTuple):
    """A job to be submitted: time, user, run time, walltime, and the options of its shape."""

    at: float
    owner: Owner
    run: int
    minutes: int
    shape: tuple[str, ...]

    @property
    def command(self) -> str:
        """What it runs. The tasks of an array run a few seconds more or less."""
        return f"sleep $(({self.run} + ${{SLURM_ARRAY_TASK_ID:-0}} * 7 % 15))"


def drawn_plan(
    seed: int, jobs: int, load: float, nodes: int, cores: int, users: list[Owner], queues: Sequence[str]
) -> list[Planned]:
    """Return jobs of one core to half of the nodes, which arrive in bursts. Together they have a given load.

    Parameters
    ----------
    seed
        Of the draws.
    jobs
        How many.
    load
        Requested core-seconds over the available ones until the last submission.
    nodes, cores
        Of the machine, and of a node.
    users
        The submitting users.
    queues
        The partitions.
    """
    rng = np.random.default_rng(seed)
    run = np.clip(rng.lognormal(2.95, 0.85, jobs), 5, _LONGEST).astype(int)
    wide = np.minimum(rng.geometric(0.4, jobs), max(nodes // 2, 1))
    each = rng.choice([1, 2, cores], jobs)
    gaps = np.where(rng.random(jobs) < 0.6, rng.random(jobs), rng.exponential(10.0, jobs))
    at = np.cumsum(gaps) * float((run * wide * each).sum()) / (load * nodes * cores * gaps.sum())
    limit = -(-(run + 5) // 60) * rng.choice(_TOO_LONG, jobs)
    free = rng.random(jobs) < 0.2
    queue = rng.integers(len(queues), size=jobs)
    plan = []
    for job in range(jobs):
        apart = (f"--nodes={wide[job]}", f"--ntasks-per-node={each[job]}")
        shape: tuple[str, ...] = (f"--ntasks={wide[job] * each[job]}",) if free[job] else apart
        shape += (f"--partition={queues[queue[job]]}",)
        plan.append(
            Planned(float(at[job]), users[rng.integers(len(users))], int(run[job]), min(int(limit[job]), 10), shape)
        )
    return plan


def with_arrays(plan: Sequence[Planned], share: float, seed: int) -> list[Planned]:
    """Return the plan with arrays in place of some jobs.

    They have 4 to 16 tasks of a core or two, some at most 2 to 5 at a time.

    Parameters
    ----------
    plan
        Jobs.
    share
        Of the jobs that are arrays, from 0 to 1.
    seed
        Of the draws.
    """
    rng = np.random.default_rng([seed, 1])
    jobs = []
    for job in plan:
        (partition,) = [option for option in job.shape if option.startswith("--partition")]
        tasks = rng.integers(4, 17)
        most = rng.integers(2, 6)
        cores = rng.integers(1, 3)
        limit = f"%{most}" if rng.random() < 0.7 else ""
        shape = (f"--array=0-{tasks - 1}{limit}", f"--ntasks={cores}", partition)
        jobs.append(job._replace(shape=shape) if rng.random() < share else job)
    return jobs


def with_reserved(plan: Sequence[Planned], share: float, seed: int) -> list[Planned]:
    """Return the plan with a share of the first user's small and short jobs in the reservation :data:`KEPT`."""
    rng = np.random.default_rng([seed, 2])
    jobs = []
    for job in plan:
        (partition,) = [option for option in job.shape if option.startswith("--partition")]
        inside = job.owner == plan[0].owner and job.at < _KEPT_LAST and rng.random() < share
        shape = (f"--ntasks={rng.integers(1, 4)}", f"--reservation={KEPT}", partition)
        jobs.append(job._replace(shape=shape, minutes=1, run=min(job.run, 40)) if inside else job)
    return jobs


def with_memory(plan: Sequence[Planned], share: float, seed: int) -> list[Planned]:
    """Return the plan with a share of the jobs that request memory. Some do by core and some by node."""
    rng = np.random.default_rng([seed, 3])
    jobs = []
    for job in plan:
        asks = rng.random() < share
        per_core = rng.random() < 0.6
        amount = rng.integers(1, 8) * _MEGABYTES
        (tasks,) = [
            int(option.partition("=")[2]) for option in job.shape if option.startswith("--ntasks-per-node")
        ] or [2]
        memory = f"--mem-per-cpu={min(amount, 8 * _MEGABYTES // tasks)}" if per_core else f"--mem={amount}"
        jobs.append(job._replace(shape=(*job.shape, memory)) if asks else job)
    return jobs


def with_gpus(plan: Sequence[Planned], share: float, seed: int) -> list[Planned]:
    """Return the plan with a share of the jobs that request GPUs per node.

    One in three does so for a task of some cores.
    """
    rng = np.random.default_rng([seed, 4])
    jobs = []
    for job in plan:
        (partition,) = [option for option in job.shape if option.startswith("--partition")]
        asks = rng.random() < share
        tasks = rng.random() < 1 / 3
        cores = rng.integers(1, 5)
        gpus = rng.integers(1, 3)
        plain = tuple(option for option in job.shape if not option.startswith("--mem"))
        shape = ("--ntasks=1", f"--cpus-per-task={cores}", partition) if tasks else plain
        gpu = f"--gres=gpu:{gpus}" if rng.random() < 0.5 else f"--gpus-per-node={gpus}"
        jobs.append(job._replace(shape=(*shape, gpu)) if asks else job)
    return jobs


def reserve(user: str) -> str:
    """Reserve a quarter of the nodes for a user from the next minute on. Reserve all later. Return what is shown."""
    names = node_names()
    some = ",".join(names[: max(len(names) // 4, 1)])
    create = ("scontrol", "create", "reservation")
    ask(*create, f"ReservationName={KEPT}", "StartTime=now+1minutes", "Duration=4", f"Nodes={some}", f"Users={user}")
    ask(
        *create,
        "ReservationName=upkeep",
        "StartTime=now+6minutes",
        "Duration=2",
        "Nodes=ALL",
        "Users=root",
        "Flags=MAINT,IGNORE_JOBS",
    )
    return ask("scontrol", "show", "reservation", "-o")


def replay(plan: list[Planned], folder: Path) -> None:
    """Submit the jobs when they are due, and wait for the last. Write the files of the site to a folder."""
    begun = time.time()
    with noting_moments(folder / MOMENTS, _EVERY):
        for job in plan:
            time.sleep(max(begun + job.at - time.time(), 0))
            submit(job.owner, job.minutes, job.command, job.shape)
        until_empty()
    keep_record(folder, int(begun))


def keep_record(folder: Path, begun: int) -> None:
    """Write what Slurm says of itself, and of its jobs since a time: ``site.txt``, ``limits.txt``, ``jobs.sacct``.

    The log of the controller is copied where it is a file here.
    """
    time.sleep(10)  # the accounting is a little late
    (folder / "site.txt").write_text("\n".join(ask("scontrol", "show", *what) for what in SCONTROL_SHOWN))
    (folder / "limits.txt").write_text("\n".join(ask("sacctmgr", "-P", "show", *what) for what in _LIMITS))
    since = f"now-{int(time.time()) - begun + 60}seconds"
    record = ask("sacct", "-a", "-D", "-X", "-P", "-S", since, "-o", SACCT_COLUMNS)
    (folder / "jobs.sacct").write_text(record)
    log = Path(read_slurm_conf(folder / "site.txt").settings.get("slurmctldlogfile", ""))
    if log.is_file():
        (folder / LOG).write_bytes(log.read_bytes())


def compared(folder: Path, share: str) -> list[WhatIf]:
    """Return metrics of a record's jobs, real and under ``slurm`` and others, from the empty machine on."""
    limits = folder / "limits.txt"
    reserved = folder / _RESERVED
    texts = Texts(folder / "site.txt", str(limits) if limits.exists() else "", reserved if reserved.exists() else None)
    record = SiteRecord.read(texts, share, partial(slurm_workload, folder / "jobs.sacct"), 0)
    return what_if([record.baseline(), *record.rivals(("easy", "fcfs"))], NEAR)


class ReplayLoad(NamedTuple):
    """What is replayed: number of jobs, load, and shares of arrays, in a reservation, with memory and GPUs."""

    jobs: int
    load: float
    arrays: float
    reserved: float
    memory: float
    gpus: float
    seed: int

    def plan(self) -> list[Planned]:
        """Return the jobs for the cluster that is there."""
        cores = int(ask("sinfo", "-h", "-o", "%c").split()[0].rstrip("+"))
        drawn = drawn_plan(self.seed, self.jobs, self.load, len(node_names()), cores, owners(), partitions())
        plan = with_memory(with_arrays(drawn, self.arrays, self.seed), self.memory, self.seed)
        return with_reserved(with_gpus(plan, self.gpus, self.seed), self.reserved, self.seed)


def replayed(drawn: ReplayLoad, folder: Path) -> Table:
    """Replay sampled jobs, and return the errors of the dispatcher ``slurm``.

    Raises
    ------
    InputError
        If no Slurm answers, or something runs there.
    """
    if ask("squeue", "-h").strip():
        raise InputError("squeue: expected an empty cluster, got jobs")
    plan = drawn.plan()
    if drawn.reserved:
        (folder / _RESERVED).write_text(reserve(plan[0].owner.user or getuser()))
    replay(plan, folder)
    results = compared(folder, shares())
    real = results[0].wait
    rows = [
        [
            row.name,
            seconds(row.wait),
            f"{row.wait / real - 1:+.1%}" if real else "-",
            *map(percent, row.near.values()),
            seconds(row.deviation),
            fixed(row.correlation, 2),
        ]
        for row in results
    ]
    near = (f"within {within} s" for within in NEAR)
    columns = ("scheduler", "mean wait (s)", "of the real one", *near, "off the record (s)", "correlation")
    return Table("replay", columns, rows, note=f"{drawn.jobs} jobs at a load of {drawn.load}, seed {drawn.seed}.")
