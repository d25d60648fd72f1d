"""Decisions of a real Slurm: its controller's log (``DebugFlags=Backfill``), and the jobs of its accounting."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .....base import InputError
from .....base.checks import shown
from .....workloads import Job, Machine
from .....workloads.formats.slots import GPU, MEMORY
from .....workloads.slurm_conf import APART, BY_CORE, expand_names
from .....workloads.slurm_limits import SlurmLimits, SlurmQos, read_slurm_limits
from .....workloads.slurm_workload import slurm_workload, started_at
from .recorded_text import recorded_lines, recorded_table, recorded_time

_TIMES = 24
#: What a node has of the resource that exclusive jobs take whole.
_SHARES = 1 << 20
#: The controller logs this when its priority periods begin. That may be seconds after its first line.
_PERIODS = "priority/multifactor: _read_last_decay_ran"
#: What is read of a job.
_COLUMNS = ("Partition", "Account", "User", "Submit", "Start", "End")
_JOB = r"JobId=(?P<job>\d+(?:_(?:\d+|\*))?)(?:\(\d+\))?"
_KINDS = {
    "submitted": re.compile(rf"_slurm_rpc_submit_batch_job: {_JOB} InitPrio=(?P<priority>\d+)"),
    "cycle": re.compile(r"sched/backfill: _attempt_backfill: beginning"),
    "tested": re.compile(rf"sched/backfill: .*: test for {_JOB} Prio=(?P<priority>\d+)"),
    "planned": re.compile(rf"sched/backfill: .*{_JOB} to start at (?P<start>\S+), .* nodes (?P<nodes>\S+)"),
    "backfilled": re.compile(rf"sched/backfill: .*: Started {_JOB} in \S+ on (?P<nodes>\S+)"),
    "limited": re.compile(rf"sched/backfill: .*: adding reservation for {_JOB} blocked by acct_policy"),
    "skipped": re.compile(rf"sched/backfill: .*: have already checked .*; skipping {_JOB}"),
    "allocated": re.compile(rf"sched: Allocate {_JOB} NodeList=(?P<nodes>\S+)"),
    "ended": re.compile(r"sched/backfill: _attempt_backfill: (?:completed testing|no jobs to backfill)"),
    "evaluated": re.compile(rf"select/cons_tres: _job_test: SELECT_TYPE: evaluating {_JOB} "),
    "completed": re.compile(rf"_job_complete: {_JOB} done"),
    "requeued": re.compile(rf"preempted {_JOB} has been requeued"),
}


class Event(NamedTuple):
    """A line of the log.

    Attributes
    ----------
    time
        Seconds since 1970.
    kind
        ``submitted``, ``cycle`` (of backfill begins), ``tested``, ``planned``, ``backfilled`` or ``limited``. The last
        has nodes reserved, but a limit prevents its start. Or ``skipped`` (too many jobs of its user were tested),
        ``allocated`` (by the main scheduler), ``completed``, ``requeued`` (it was evicted) or ``ended`` (a cycle). Or
        ``evaluated``, only with ``DebugFlags=SelectType`` and ``SlurmctldDebug=debug``.
    job
        Its id; ``45_*`` for the next task of an array.
    priority
        Of what was submitted or tested.
    start
        Of what is planned, seconds since 1970.
    nodes
        Names of the nodes that are planned or taken.
    """

    time: float
    kind: str
    job: str = ""
    priority: int = 0
    start: int = 0
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AccountedJob:
    """A job of the accounting.

    Attributes
    ----------
    partition, account, user
        Their names.
    slots, cores, apart
        Slots, cores of each, and whether each is on a node of its own.
    limit, submit, start, end
        Seconds, of the times since 1970.
    demand, per_cpu, by_node
        Amounts per slot, their part requested per CPU, and a task job's request per node. They cover all resources of
        the site's machine. Empty: the cores alone.
    qos
        The factor of its quality of service, from 0 to 1.
    constraint
        Of the features of its nodes.
    cpus
        Its CPUs. 0: as many as requested.
    """

    partition: str
    account: str
    user: str
    slots: int
    cores: int
    apart: bool
    limit: int
    submit: int
    start: int
    end: int
    demand: tuple[int, ...] = ()
    per_cpu: tuple[int, ...] = ()
    by_node: tuple[int, ...] = ()
    qos: float = 0.0
    constraint: str = ""
    cpus: int = 0


def read_log(path: Path) -> Iterator[Event]:
    """Yield what a controller logged, in order; times are taken as UTC."""
    for number, line in enumerate(recorded_lines(path), 1):
        text = line[_TIMES + 2 :]
        for kind, pattern in _KINDS.items():
            if match := pattern.match(text):
                yield _event(f"{path}:{number}", line[1:_TIMES], kind, match.groupdict())
                break


def began_at(path: Path) -> float:
    """Return when the priority periods began, seconds since 1970. Use the start of the log if it does not say."""
    lines = recorded_lines(path)
    number = next((number for number, line in enumerate(lines) if line[_TIMES + 2 :].startswith(_PERIODS)), 0)
    return recorded_time(lines[number][1:_TIMES], f"{path}:{number + 1}")


def read_jobs(accounting: Path, requests: Path | None = None) -> dict[str, AccountedJob]:
    """Return the jobs by id.

    Parameters
    ----------
    accounting
        ``sacct -P`` with times, user, account and partition.
    requests
        The same jobs with ``TimelimitRaw`` and ``SubmitLine``, if the former does not have these.
    """
    asked = ("TimelimitRaw", "SubmitLine")
    table = recorded_table(accounting, "JobID", _COLUMNS if requests is not None else (*_COLUMNS, *asked))
    if requests is not None:
        more = recorded_table(requests, "JobID", asked)
        if strange := sorted(set(table.index) - set(more.index)):
            raise InputError(f"{requests}: expected the jobs of {accounting}, got no job {strange[0]}")
        table = table.join(more[list(asked)])
    return {str(job): _job(fields, f"{accounting}: job {job}") for job, fields in table.to_dict("index").items()}


def site_jobs(accounting: Path, config: Path, limits: str = "") -> dict[str, AccountedJob]:
    """Return the jobs by id as those of a site with memory, GPUs and features.

    Parameters
    ----------
    accounting
        As :func:`~hpcdispatch.workloads.slurm_workload.slurm_workload` has it.
    config
        The configuration.
    limits
        What ``sacctmgr`` prints of qualities of service.
    """
    workload = slurm_workload(accounting, config)
    assert workload.records is not None
    zero = started_at(workload)
    machine = with_shares(workload.machine)
    starts = zero + workload.columns.submit + workload.records["wait"].to_numpy()
    names = ("nodes_asked", "requested_processors", "task_cores", "requested_memory")
    more = workload.records[["constraint", "allocated_processors"]].itertuples(index=False)
    had = dict(zip(workload.columns.texts(), more, strict=True))
    asked = [workload.records[name].astype(int).tolist() for name in names]
    by_id = {}
    said = read_slurm_limits(limits) if limits else SlurmLimits()
    highest = max((qos.priority for qos in said.qualities.values()), default=0) or 1
    for job, start, nodes, cores, each, memory in zip(workload.jobs, starts, *asked, strict=True):
        user = said.member(job.group, job.user, job.queue)
        quality = said.qualities.get(said.quality_of(job.qos, job.group, user), SlurmQos())
        made = _site_job(job, machine, zero + job.submit, int(start))
        by_id[job.id] = replace(
            made, qos=quality.priority / highest, constraint=had[job.id][0], cpus=int(had[job.id][1])
        )
        if not nodes and by_id[job.id].apart and cores > each:
            by_id[job.id] = _of_tasks(by_id[job.id], cores // each, each, memory, machine.resources)
    return by_id


def with_shares(machine: Machine) -> Machine:
    """Return a machine with one more resource. Exclusive jobs take all of it on a node, others one per slot."""
    capacity = np.append(machine.capacity, np.full((machine.nodes, 1), _SHARES), axis=1)
    return replace(machine, resources=(*machine.resources, "shares"), capacity=capacity)


def _site_job(job: Job, machine: Machine, submit: int, start: int) -> AccountedJob:
    cores = job.per_node["core"]
    memory = job.per_node.get(MEMORY, 0)
    return AccountedJob(
        job.queue,
        job.group,
        job.user,
        job.nodes,
        cores,
        job.nodes == 1 or APART in job.per_node,
        job.walltime,
        submit,
        start,
        start + job.runtime,
        machine.demand({**job.per_node, "shares": _SHARES if job.exclusive else 1}),
        tuple(memory // cores if name == MEMORY and BY_CORE in job.per_node else 0 for name in machine.resources),
        (0,) * len(machine.resources),
    )


def _of_tasks(job: AccountedJob, tasks: int, cores: int, memory: int, resources: Sequence[str]) -> AccountedJob:
    """Return a job recorded with its node layout as the requested tasks, which may fill any node.

    Parameters
    ----------
    job
        The job as it was laid out.
    tasks, cores, memory
        How many tasks, the cores of each, and the kilobytes a core.
    resources
        Of the machine.
    """
    demand, per_cpu, by_node = (dict.fromkeys(resources, 0) for _ in range(3))
    for name, amount, share in zip(resources, job.demand, job.per_cpu, strict=True):
        if share:
            demand[name] = memory * cores
            per_cpu[name] = memory
        elif name in (GPU, MEMORY):
            by_node[name] = amount
        else:
            demand[name] = min(amount, 1)
    demand |= {resources[0]: cores, APART: 0}
    asked, by_core, of_node = (tuple(each.values()) for each in (demand, per_cpu, by_node))
    return replace(job, slots=tasks, cores=cores, apart=False, demand=asked, per_cpu=by_core, by_node=of_node)


def _event(where: str, time: str, kind: str, groups: dict[str, str]) -> Event:
    return Event(
        recorded_time(time, where),
        kind,
        groups.get("job", ""),
        int(groups.get("priority", 0)),
        int(recorded_time(groups["start"], where)) if "start" in groups else 0,
        tuple(expand_names(groups["nodes"], where)) if "nodes" in groups else (),
    )


def _job(fields: dict[Any, Any], where: str) -> AccountedJob:
    nodes = re.search(r"(?:-N |--nodes=)(\d+) --ntasks-per-node=(\d+)", fields["SubmitLine"])
    tasks = re.search(r"(?:-n |--ntasks=)(\d+)", fields["SubmitLine"])
    if nodes is None and tasks is None:
        raise InputError(f"{where}: field 'SubmitLine': expected -N N --ntasks-per-node=K or -n N")
    slots, cores = (int(nodes[1]), int(nodes[2])) if nodes else (int(tasks[1]), 1)  # type: ignore[index]
    submit, start, end = (int(recorded_time(fields[name], where)) for name in ("Submit", "Start", "End"))
    names = fields["Partition"], fields["Account"], fields["User"]
    if not (limit := fields["TimelimitRaw"]).isdecimal():
        raise InputError(f"{where}: field 'TimelimitRaw': expected whole minutes, got {shown(limit)}")
    return AccountedJob(*names, slots, cores, nodes is not None, 60 * int(limit), submit, start, end)
