"""Read a running Slurm cluster at one moment. The input is the output of ``squeue --json`` and ``sinfo --json``."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from ..base import InputError, shown
from ..base.argument_types import names_wrong_types
from ..base.files import read_json
from .formats.sacct import array_tasks
from .formats.sacct_fields import cpus_of_tres, gpu_types, gpus_of_tres, licences
from .job import CONDITIONS, MOST_PRIORITY
from .slurm_conf import expand_names

#: Supported releases of Slurm.
RELEASES = ("21.08", "22.05", "23.02", "23.11", "24.05", "24.11", "25.05")
_RUNS = ("running", "suspended", "completing")
#: States and flags of nodes on which no job can start.
_AWAY = {
    "down",
    "drain",
    "drained",
    "draining",
    "error",
    "fail",
    "failing",
    "future",
    "inval",
    "maint",
    "maintenance",
    "not_responding",
    "planned_down",
    "power_down",
    "powered_down",
    "powering_down",
    "reboot_issued",
    "reboot_requested",
    "reserved",
    "unknown",
}


#: Of these, those of reservations.
_RESERVED = {"maint", "maintenance", "reserved"}
#: Reasons for which a job never starts without an action of its owner or an operator.
_NEVER = {
    "jobhelduser",
    "jobheldadmin",
    "dependencyneversatisfied",
    "badconstraints",
    "invalidaccount",
    "invalidqos",
    "partitiontimelimit",
    "partitionnodelimit",
}
#: A condition of a dependency, as in ``afterok:28(unfulfilled)``, with minutes after a ``+``.
_DEPENDENCY = re.compile(r"(\w+)(?::((?:\d+(?:_(?:\d+|\*))?(?:\+\d+)?(?:\(\w+\))?:?)+))?(?:\(\w+\))?")
_PARENT = re.compile(r"(\d+(?:_\d+)?)(?:_\*)?(?:\+(\d+))?(?:\(\w+\))?")
#: GPUs in ``tres_per_node``, as in ``gres:gpu:2``, ``gres/gpu:a100=2``.
_GPUS = re.compile(r"(?:^|,)gres[:/]gpu(?:[:/](?:[^\W\d]|\d+g\.)[^:=,]*)?(?:[:=](\d+))?(?=,|$)")


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A node: its name and cores, and whether a job could start on it.

    A node is `reserved` if only a reservation keeps jobs away.
    """

    name: str
    cores: int
    usable: bool
    reserved: bool = False


@dataclass(frozen=True, slots=True)
class ClusterJob:
    """A running or waiting job.

    Attributes
    ----------
    id, user, account, partition
        As in Slurm; the id of a task of an array is ``JOB_TASK``.
    submit
        Seconds since 1970.
    start
        The same, of a running job; ``None`` for a waiting one.
    limit
        Walltime, seconds; ``None``: unlimited.
    nodes, cores
        The names of its nodes, none for a waiting job; its total number of cores.
    tasks
        Number of jobs that it stands for. Unstarted tasks of an array are one entry.
    apart
        Number of requested nodes (``-N``); 0: its tasks go anywhere (``-n``).
    array
        The array of which it is a task, with a limit on its running tasks, as in ``278%3``.
    expected
        The start of a waiting job that Slurm expects, seconds since 1970; ``None`` if not given.
    memory_a_core, memory_a_node
        Requested megabytes, by one of them; 0: not requested so.
    gpus_a_node
        Requested GPUs per node.
    priority
        Of a waiting job; 0: unknown, or held.
    had
        Number of nodes of its tasks, current or expected by Slurm. 0 if not given.
    ids
        Those of its tasks; its own id without tasks.
    qos, constraint, reservation, reason
        As in Slurm.
    gpus, gpu_types
        GPUs in all, and those of a type, as in ``a100=2``.
    licences
        As in ``matlab=2``.
    exclusive
        Whether it shares its nodes with no other job.
    depends
        Its dependencies, as in :attr:`.Job.depends`.
    begin
        Time at which it becomes eligible, seconds since 1970. 0 if it is eligible, or unknown.
    nice
        Points that its owner gives away (``--nice``).
    together
        The heterogeneous job of which it is a component, whose id is then ``72+0``. Empty: none.
    switches, switch_wait
        Most leaf switches of its nodes, 0 for any, and seconds for which it waits for them; ``None``: not given.
    """

    id: str
    user: str
    account: str
    partition: str
    submit: int
    start: int | None
    limit: int | None
    nodes: tuple[str, ...]
    cores: int
    tasks: int = 1
    apart: int = 0
    array: str = ""
    expected: int | None = None
    memory_a_core: int = 0
    memory_a_node: int = 0
    gpus_a_node: int = 0
    had: int = 0
    priority: int = 0
    ids: tuple[str, ...] = ()
    qos: str = ""
    constraint: str = ""
    reservation: str = ""
    reason: str = ""
    gpus: int = 0
    gpu_types: str = ""
    licences: str = ""
    exclusive: bool = False
    depends: tuple[tuple[str, str] | tuple[str, str, int], ...] = ()
    begin: int = 0
    nice: int = 0
    together: str = ""
    switches: int = 0
    switch_wait: int | None = None

    @property
    def starts(self) -> bool:
        """Whether it runs, or could start without an action of its owner or an operator."""
        return self.start is not None or self.reason.lower() not in _NEVER


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The running and waiting jobs at one moment.

    Attributes
    ----------
    now
        Seconds since 1970.
    nodes, running, waiting
        In Slurm's order.
    clusters
        Of the jobs, in lower case.

    Examples
    --------
    >>> from hpcdispatch.workloads import Snapshot
    >>> Snapshot(now=1767225600, nodes=(), running=(), waiting=()).running
    ()
    """

    now: int
    nodes: tuple[ClusterNode, ...]
    running: tuple[ClusterJob, ...]
    waiting: tuple[ClusterJob, ...]
    clusters: frozenset[str] = frozenset()

    def by_id(self) -> dict[str, ClusterJob]:
        """Return the waiting jobs by id, an array by the ids of its tasks."""
        return {id_: job for job in self.waiting for id_ in job.ids or (job.id,)}


@names_wrong_types
def read_cluster(squeue: str | PathLike[str], sinfo: str | PathLike[str], now: int) -> Snapshot:
    """Read the output of ``squeue --json`` and ``sinfo --json``, of Slurm 21.08 to 25.05.

    ``scontrol show jobs --json`` and ``scontrol show nodes --json`` have the same forms. A job that Slurm lists twice
    counts once.

    Parameters
    ----------
    squeue, sinfo
        Files.
    now
        Time of the output, seconds since 1970.

    Raises
    ------
    InputError
        For an unsupported release, output of another command, or an invalid value.

    Examples
    --------
    >>> import json
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from hpcdispatch.workloads import read_cluster
    >>> meta = {"slurm": {"version": {"major": "23", "micro": "4", "minor": "11"}}}
    >>> node = {"name": "n1", "cpus": 4, "state": ["IDLE"], "real_memory": 8000, "partitions": ["batch"]}
    >>> with TemporaryDirectory() as folder:
    ...     jobs, nodes = Path(folder, "squeue.json"), Path(folder, "sinfo.json")
    ...     number = jobs.write_text(json.dumps({"jobs": [], "meta": meta}))
    ...     number = nodes.write_text(json.dumps({"nodes": [node], "meta": meta}))
    ...     snapshot = read_cluster(jobs, nodes, now=1767225600)
    >>> len(snapshot.nodes), len(snapshot.waiting)
    (1, 0)
    """
    listed = [_nodes(entry, f"{sinfo}: node {place}") for place, entry in _entries(sinfo, "nodes")]
    nodes = tuple({node.name: node for each in listed for node in each}.values())
    jobs = []
    taken = set[str]()
    clusters = set[str]()
    for place, entry in _entries(squeue, "jobs"):
        where = _where(entry, f"{squeue}: entry {place}", f"{squeue}: job")
        state = _word(entry.get("job_state"))
        if state in (*_RUNS, "pending"):
            job = _job(entry, where)
            clusters.add(_text(entry, "cluster").lower())
            left = tuple(id_ for id_ in job.ids if id_ not in taken)
            taken.update(left)
            jobs += [(state, replace(job, ids=left, tasks=len(left)))] if left else []
    running = tuple(job for state, job in jobs if state in _RUNS)
    known = {node.name for node in nodes}
    for job in running:
        strange = next((name for name in job.nodes if name not in known), None)
        if strange is not None:
            raise InputError(f"{squeue}: job {job.id}: expected nodes that {sinfo} has, got {shown(strange)}")
    waiting = tuple(job for state, job in jobs if state == "pending")
    return Snapshot(now, nodes, running, waiting, frozenset(clusters - {""}))


def _entries(path: str | PathLike[str], kind: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    read = read_json(Path(path), "what Slurm prints with --json")
    meta = read.get("meta") if isinstance(read, dict) else None
    slurm = (meta.get("slurm") or meta.get("Slurm")) if isinstance(meta, dict) else None
    version = slurm.get("version") if isinstance(slurm, dict) else None
    if not isinstance(version, dict):
        raise InputError(f"{path}: expected what Slurm prints with --json, got no meta.slurm.version")
    release = f"{version.get('major')}.{str(version.get('minor')).zfill(2)}"
    if release not in RELEASES:
        raise InputError(f"{path}: expected JSON of Slurm {', '.join(RELEASES)}, got {shown(release)}")
    entries = read.get(kind, read.get("sinfo") if kind == "nodes" else None)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"{path}: expected a list {kind!r}, got none")
    yield from enumerate(entries, 1)


def _nodes(entry: Mapping[str, Any], where: str) -> list[ClusterNode]:
    """Return the node of an entry, or all nodes of a group. sinfo groups nodes since 23.02."""
    group = entry.get("nodes")
    if not isinstance(group, dict):
        states = {*_words(entry.get("state")), *_words(entry.get("state_flags"))}
        cores = _number(entry, "cpus", where) or 0
        return [ClusterNode(_text(entry, "name"), cores, not states & _AWAY, _only_reserved(states))]
    node = entry.get("node")
    cpus = entry.get("cpus")
    names = group.get("nodes")
    if not isinstance(node, dict) or not isinstance(cpus, dict) or not isinstance(names, list):
        raise InputError(f"{where}: expected 'node', 'cpus' and a list of 'nodes', as sinfo -N --json prints them")
    states = set(_words(node.get("state")))
    usable, reserved = not states & _AWAY, _only_reserved(states)
    count = _number(cpus, "maximum", where) or 0
    return [ClusterNode(name, count, usable, reserved) for text in names for name in expand_names(str(text), where)]


def _only_reserved(states: set[str]) -> bool:
    return bool(states & _RESERVED) and not states & (_AWAY - _RESERVED)


def _where(entry: Mapping[str, Any], unnamed: str, named: str) -> str:
    """Return the name of a job for messages."""
    if _number(entry, "job_id", unnamed) is None:
        raise InputError(f"{unnamed}: field 'job_id': expected a whole number, got {shown(entry.get('job_id'))}")
    return f"{named} {entry['job_id']}"


def _job(entry: Mapping[str, Any], where: str) -> ClusterJob:
    waits = _word(entry.get("job_state")) == "pending"
    tres = _text(entry, "tres_req_str") or _text(entry, "tres_alloc_str")
    array = _number(entry, "array_job_id", where)
    task = _number(entry, "array_task_id", where)
    limit = _number(entry, "time_limit", where)
    most = _number(entry, "array_max_tasks", where)
    id_ = f"{array}_{task}" if array and task is not None else _text(entry, "job_id")
    leader = _number(entry, "het_job_id", where) or 0
    if leader:
        id_ = f"{leader}+{_number(entry, 'het_job_offset', where) or 0}"
    tasks: tuple[str, ...] = (id_,)
    if waits and (text := _text(entry, "array_task_string")):
        task_ids = array_tasks(f"{array or id_}_[{text.partition('%')[0]}]")
        if task_ids is None:
            raise InputError(f"{where}: field 'array_task_string': expected tasks as 9-39%10, got {shown(text)}")
        tasks = tuple(task_ids)
    asked = cpus_of_tres(tres)
    had = _number(entry, "cpus", where) or 0
    alone = _word(entry.get("shared")) == "none" or _word(entry.get("exclusive")) == "true"
    return ClusterJob(
        id_,
        _text(entry, "user_name"),
        _text(entry, "account"),
        _text(entry, "partition"),
        submit=_number(entry, "submit_time", where) or 0,
        start=None if waits else _number(entry, "start_time", where),
        limit=None if limit is None else 60 * limit,
        nodes=() if waits else tuple(expand_names(_text(entry, "nodes"), where)),
        cores=asked if alone and asked else had,
        tasks=len(tasks),
        apart=_apart(entry, where),
        array=(f"{array}%{most}" if most else str(array)) if array else "",
        expected=(_number(entry, "start_time", where) or None) if waits else None,
        memory_a_core=_number(entry, "memory_per_cpu", where) or 0,
        memory_a_node=_number(entry, "memory_per_node", where) or 0,
        gpus_a_node=sum(int(count or 1) for count in _GPUS.findall(_text(entry, "tres_per_node"))),
        had=_number(entry, "node_count", where) or 0,
        priority=(_number(entry, "priority", where) or 0) if waits else 0,
        ids=tasks,
        qos=_text(entry, "qos"),
        constraint=_text(entry, "features"),
        reservation=_text(entry, "resv_name"),
        reason=_text(entry, "state_reason"),
        gpus=gpus_of_tres(tres),
        gpu_types=gpu_types(tres),
        licences=licences(tres) or _text(entry, "licenses"),
        exclusive=alone,
        depends=_dependencies(_text(entry, "dependency")),
        begin=(_number(entry, "eligible_time", where) or 0) if waits else 0,
        nice=_nice(entry),
        together=str(leader) if leader else "",
        switches=_number(entry, "required_switches", where) or 0,
        switch_wait=_number(entry, "maximum_switch_wait_time", where) or None,
    )


def _nice(entry: Mapping[str, Any]) -> int:
    """Return the nice value of a job, 0 if it is not given."""
    value = entry.get("nice")
    if isinstance(value, dict):
        value = value.get("number") if value.get("set", True) else None
    return value if type(value) is int and abs(value) <= MOST_PRIORITY else 0


def _dependencies(text: str) -> tuple[tuple[str, str] | tuple[str, str, int], ...]:
    """Return the unmet conditions of a dependency. Of alternatives (``?``), take the first."""
    conditions: list[tuple[str, str] | tuple[str, str, int]] = []
    for part in filter(None, text.partition("?")[0].split(",")):
        condition = _DEPENDENCY.fullmatch(part)
        if condition is None or "(fulfilled)" in part or condition[1] not in CONDITIONS:
            continue
        for parent, minutes in _PARENT.findall(condition[2] or ""):
            conditions.append((parent, condition[1], 60 * int(minutes)) if minutes else (parent, condition[1]))
    return tuple(conditions)


def _apart(entry: Mapping[str, Any], where: str) -> int:
    """Return the nodes of a job with tasks counted per node, or with one task per node."""
    nodes = _number(entry, "node_count", where) or 0
    by_node = _number(entry, "tasks_per_node", where) or _number(entry, "tasks", where) == nodes
    return nodes if by_node else 0


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    return "" if value is None else str(value)


def _number(entry: Mapping[str, Any], key: str, where: str) -> int | None:
    """Return a whole number, plain or as ``{"set", "infinite", "number"}``. ``None``: none, or no limit."""
    value = entry.get(key)
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise InputError(f"{where}: field {key!r}: expected a whole number, got {shown(value)}")
    return value


def _words(value: Any) -> list[str]:
    """Return lower-case words, from a list or from a text like ``IDLE+DRAIN``."""
    return [str(part).lower() for part in value] if isinstance(value, list) else str(value or "").lower().split("+")


def _word(value: Any) -> str:
    return next(iter(_words(value)), "")
