"""A running Slurm cluster at one moment, from what ``squeue --json`` and ``sinfo --json`` print."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ..base import InputError
from ..base.checks import shown
from ..base.files import read_json
from .slurm_conf import count_numbers, expand_names

#: Releases whose JSON is known.
RELEASES = ("22.05", "23.02", "24.05")
#: States and flags of nodes on which nothing can start.
_AWAY = {
    "down", "drain", "drained", "draining", "error", "fail", "failing", "future", "inval", "maint", "maintenance",
    "not_responding", "planned_down", "power_down", "powered_down", "powering_down", "reboot_issued",
    "reboot_requested", "reserved", "unknown",
}  # fmt: skip


#: What ``tres_per_node`` says of GPUs, as in ``gres:gpu:2``, ``gres/gpu:a100=2``.
_GPUS = re.compile(r"(?:^|,)gres[:/]gpu(?:[:/][^\W\d][^:=,]*)?(?:[:=](\d+))?(?=,|$)")


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A node: its name, its cores, and whether a job could start there."""

    name: str
    cores: int
    usable: bool


@dataclass(frozen=True, slots=True)
class ClusterJob:
    """A job that runs or waits.

    Attributes
    ----------
    id, user, account, partition
        As Slurm has them; the id of a task of an array is ``JOB_TASK``.
    submit
        Seconds since 1970.
    start
        The same, of a job that runs; ``None`` while it waits.
    limit
        Seconds; ``None``: unlimited.
    nodes, cores
        The names of its nodes, none while it waits; how many cores in all.
    tasks
        How many jobs it stands for: those of an array that have not begun are one.
    apart
        On how many nodes it is to be (``-N``); 0: its tasks go anywhere (``-n``).
    array
        The array that it is a task of, with how many may run at a time if that is limited, as in ``278%3``.
    expected
        When Slurm expects a waiting job to start, seconds since 1970; ``None`` where it says nothing.
    memory_a_core, memory_a_node
        Megabytes that it asked for, by one of them; 0: not so.
    gpus_a_node
        GPUs that it asked for by node.
    priority
        Of a job that waits; 0: not known, or held.
    had
        On how many nodes its tasks lie, or will in Slurm's view; 0 if it does not say.
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


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What runs and what waits at one moment.

    Attributes
    ----------
    now
        Seconds since 1970.
    nodes, running, waiting
        In Slurm's order.
    """

    now: int
    nodes: tuple[ClusterNode, ...]
    running: tuple[ClusterJob, ...]
    waiting: tuple[ClusterJob, ...]


def read_cluster(squeue: str | PathLike[str], sinfo: str | PathLike[str], now: int) -> Snapshot:
    """Read what ``squeue --json`` and ``sinfo --json`` have printed, of Slurm 22.05, 23.02 or 24.05.

    Parameters
    ----------
    squeue, sinfo
        Files.
    now
        When they were printed, seconds since 1970.

    Raises
    ------
    InputError
        For a release that is not known, output of another command, or a value that is none.
    """
    nodes = tuple(_node(entry, f"{sinfo}: node {place}") for place, entry in _entries(sinfo, "nodes"))
    jobs = [
        (_word(entry.get("job_state")), _job(entry, _where(entry, f"{squeue}: entry {place}", f"{squeue}: job")))
        for place, entry in _entries(squeue, "jobs")
    ]
    running = tuple(job for state, job in jobs if state in ("running", "suspended", "completing"))
    known = {node.name for node in nodes}
    for job in running:
        strange = next((name for name in job.nodes if name not in known), None)
        if strange is not None:
            raise InputError(f"{squeue}: job {job.id}: expected nodes that {sinfo} has, got {shown(strange)}")
    return Snapshot(now, nodes, running, tuple(job for state, job in jobs if state == "pending"))


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


def _node(entry: Mapping[str, Any], where: str) -> ClusterNode:
    states = {*_words(entry.get("state")), *_words(entry.get("state_flags"))}
    return ClusterNode(_text(entry, "name"), _number(entry, "cpus", where) or 0, not states & _AWAY)


def _where(entry: Mapping[str, Any], unnamed: str, named: str) -> str:
    """Return what messages call a job."""
    if _number(entry, "job_id", unnamed) is None:
        raise InputError(f"{unnamed}: field 'job_id': expected a whole number, got {shown(entry.get('job_id'))}")
    return f"{named} {entry['job_id']}"


def _job(entry: Mapping[str, Any], where: str) -> ClusterJob:
    waits = _word(entry.get("job_state")) == "pending"
    array, task = _number(entry, "array_job_id", where), _number(entry, "array_task_id", where)
    limit, most = _number(entry, "time_limit", where), _number(entry, "array_max_tasks", where)
    tasks = _text(entry, "array_task_string")
    return ClusterJob(
        f"{array}_{task}" if array and task is not None else _text(entry, "job_id"),
        _text(entry, "user_name"),
        _text(entry, "account"),
        _text(entry, "partition"),
        submit=_number(entry, "submit_time", where) or 0,
        start=None if waits else _number(entry, "start_time", where),
        limit=None if limit is None else 60 * limit,
        nodes=() if waits else tuple(expand_names(_text(entry, "nodes"), where)),
        cores=_number(entry, "cpus", where) or 0,
        tasks=count_numbers(tasks.partition("%")[0], where) if waits and tasks else 1,  # of ``9-39%10``
        apart=_apart(entry, where),
        array=(f"{array}%{most}" if most else str(array)) if array else "",
        expected=(_number(entry, "start_time", where) or None) if waits else None,
        memory_a_core=_number(entry, "memory_per_cpu", where) or 0,
        memory_a_node=_number(entry, "memory_per_node", where) or 0,
        gpus_a_node=sum(int(count or 1) for count in _GPUS.findall(_text(entry, "tres_per_node"))),
        had=_number(entry, "node_count", where) or 0,
        priority=(_number(entry, "priority", where) or 0) if waits else 0,
    )  # fmt: skip


def _apart(entry: Mapping[str, Any], where: str) -> int:
    """Return the nodes of a job whose tasks are counted by node, or that has one for each."""
    nodes = _number(entry, "node_count", where) or 0
    by_node = _number(entry, "tasks_per_node", where) or _number(entry, "tasks", where) == nodes
    return nodes if by_node else 0


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    return "" if value is None else str(value)


def _number(entry: Mapping[str, Any], key: str, where: str) -> int | None:
    """Return a whole number, plain or as ``{"set", "infinite", "number"}``; ``None``: there is none, or no limit."""
    value = entry.get(key)
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise InputError(f"{where}: field {key!r}: expected a whole number, got {shown(value)}")
    return value


def _words(value: Any) -> list[str]:
    """Return words in small letters, of a list or of one like ``IDLE+DRAIN``."""
    return [str(part).lower() for part in value] if isinstance(value, list) else str(value or "").lower().split("+")


def _word(value: Any) -> str:
    return next(iter(_words(value)), "")
