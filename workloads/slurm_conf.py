"""A site as Slurm describes it: ``slurm.conf``, or what ``scontrol show config``, ``partition`` and ``node`` print."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from os import PathLike
from pathlib import Path

import numpy as np

from ..base import InputError, IntArray
from ..base.checks import LONGEST, MOST_PROCESSORS, shown
from ..base.files import read_bounded
from .formats.slots import GPU, MEMORY
from .machine import Machine

#: The resource that the slots of a job ask for if each is to lie on a node of its own, as with ``-N``.
APART = "node"
#: The resource that the slots of a job ask for if their memory was asked for by core, as with ``--mem-per-cpu``.
BY_CORE = "mem_per_cpu"
#: Bytes of a configuration; what scontrol prints of ten thousand nodes has a half.
_MOST_BYTES = 1 << 24
#: The largest weight of a node.
_MOST_WEIGHT = 2**32 - 1
#: Names that a list may stand for: no cluster of Slurm has more nodes.
_MOST_NAMES = 2**16
#: A comment; what scontrol says of a node has a number sign in its operating system.
_COMMENT = re.compile(r"(?<!\\)#.*")
_SHOWN_NODE = re.compile(r"\s*NodeName=.*?\sOS=[^#]*#")
_FIELD = re.compile(r"(?<!\S)([^\s=]+)\s*=\s*(\"[^\"]*\"|\S*)")
_SETTING = re.compile(r"([A-Za-z_]\w*(?:\[\d+\])?)\s*=\s*(.*)")
_NAMES = re.compile(r"((?:[^,\[\]]*(?:\[[^\[\]]*\])?)+?)(?:,|$)")
#: States of nodes that do not exist, and of those that are not in use.
_FUTURE, _AWAY = ("FUTURE", "CLOUD_FUTURE"), re.compile(r"DOWN|DRAIN|FAIL")
_INCLUDE = re.compile(r"include\s+(\S+)", re.IGNORECASE)
#: Files that include each other.
_MOST_FILES = 50
_RANGE = re.compile(r"(\d{1,15})(?:-(\d{1,15}))?")
_GPUS = re.compile(r"gpu(?::[^:,(]+)*?(?::(\d+))?(?=[(]|$)")
_DURATION = re.compile(r"(?:(\d{1,15})-)?(\d{1,15})(?::(\d{1,15}))?(?::(\d{1,15}))?")


@dataclass(frozen=True, slots=True)
class SlurmPartition:
    """A partition.

    Attributes
    ----------
    name
        What it is called.
    nodes
        Its nodes, as places in the site's.
    max_time
        ``MaxTime``, seconds; ``None``: no limit.
    tier, factor
        ``PriorityTier`` and ``PriorityJobFactor``.
    quality
        ``QoS``; empty: none.
    preempt
        ``PreemptMode``, in small letters; empty: that of the cluster.
    """

    name: str
    nodes: tuple[int, ...]
    max_time: int | None = None
    tier: int = 1
    factor: int = 1
    quality: str = ""
    preempt: str = ""


@dataclass(frozen=True, slots=True)
class SlurmSite:
    """What a configuration says.

    Attributes
    ----------
    nodes
        Their names, in order.
    capacity
        Cores, memory (kilobytes) and GPUs of each, shape (nodes, 3).
    partitions
        In order.
    weights
        ``Weight`` of each node, shape (nodes,).
    settings
        All other keys, in small letters, with their values as texts.
    tables
        The fields of each node and partition, in small letters, with their values.
    source
        The file.
    away
        Nodes that are down, drained or failed; they count all the same.
    """

    nodes: tuple[str, ...]
    capacity: IntArray
    partitions: tuple[SlurmPartition, ...]
    weights: tuple[int, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    tables: tuple[Mapping[str, str], ...] = ()
    source: str = ""
    away: tuple[str, ...] = ()

    def machine(self) -> Machine:
        """Return the machine: cores, memory and GPUs where Slurm shares them out, and a resource for each partition.

        A partition is a resource with as many units on each of its nodes as there are cores, of which every slot of a
        job in it takes one: so every dispatcher and the validator keep jobs on the nodes of their partition. A slot of
        a job that is to have its slots on different nodes takes one of :data:`APART`, and a slot of a job that asks for
        memory by core one of :data:`BY_CORE`.
        """
        cores = self.capacity[:, 0]
        columns = {"core": cores}
        if "MEMORY" in self.settings.get("selecttypeparameters", "").upper():
            columns |= {MEMORY: self.capacity[:, 1], BY_CORE: cores}
        if self.capacity[:, 2].any():
            columns[GPU] = self.capacity[:, 2]
        columns[APART] = cores
        for partition in self.partitions:
            columns[partition.name] = np.where(np.isin(np.arange(len(cores)), partition.nodes), cores, 0)
        return Machine(tuple(columns), np.column_stack(list(columns.values())), Path(self.source).stem)

    @property
    def memory_by_core(self) -> bool:
        """Whether jobs that ask for no memory get some for each core (``DefMemPerCPU``, also of a partition)."""
        texts = (each.get("defmempercpu", "") for each in (self.settings, *self.tables))
        return any(text.isdecimal() and int(text) > 0 for text in texts)

    @property
    def scheduler_parameters(self) -> dict[str, str]:
        """The parts of ``SchedulerParameters``, in small letters, with their values; those without one have ``""``."""
        text = self.settings.get("schedulerparameters", "").lower().replace(" ", "")
        parts = (part.partition("=") for part in text.split(",") if part not in ("", "(null)"))
        return {name: value for name, _, value in parts}


@dataclass(slots=True)
class _Read:
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    partitions: dict[str, dict[str, str]] = field(default_factory=dict)
    sets: dict[str, dict[str, str]] = field(default_factory=dict)
    down: set[str] = field(default_factory=set)
    settings: dict[str, str] = field(default_factory=dict)


def read_slurm_conf(path: str | PathLike[str]) -> SlurmSite:
    """Read a configuration: ``slurm.conf``, or the outputs of ``scontrol show config``, ``partition`` and ``node -o``.

    The outputs may stand in one file, one after the other.

    Raises
    ------
    InputError
        For a line that is no setting, a number that is none, or a configuration without nodes; with file and line.
    """
    path, read = Path(path), _Read()
    defaults: dict[str, dict[str, str]] = {"nodename": {}, "partitionname": {}, "nodeset": {}}
    for where, line in _lines(path, []):
        fields = {key.lower(): value.strip('"') for key, value in _FIELD.findall(line)}
        kind = next(iter(fields), "")
        if kind in defaults:
            given = defaults[kind] | fields | {"": where}
            if fields[kind].upper() == "DEFAULT":
                defaults[kind] |= fields
                continue
            table = {"nodename": read.nodes, "partitionname": read.partitions, "nodeset": read.sets}[kind]
            for name in expand_names(fields[kind], where):
                table[name] = given
        elif kind == "downnodes":
            read.down.update(expand_names(fields[kind], where))
        elif setting := _SETTING.fullmatch(line):
            read.settings[setting[1].lower()] = setting[2].strip()
        elif not line.startswith(("Configuration data", "Slurmctld(")):
            raise InputError(f"{where}: expected KEY=VALUE, got {shown(line)}")
    return _site(read, path)


def expand_names(text: str, where: str) -> list[str]:
    """Return the names that a list such as ``n[1-12,15],gpu01`` stands for.

    Raises
    ------
    InputError
        If it is no such list, at `where`.
    """
    names: list[str] = []
    at = 0
    while at < len(text):
        part = _NAMES.match(text, at)
        if part is None or part.end() == at:
            raise InputError(f"{where}: expected names such as n[1-4,7], got {shown(text)}")
        found = [""]
        for plain, ranges in re.findall(r"([^\[\]]*)(?:\[([^\[\]]*)\])?", part[1]):
            numbers = list(_numbers(ranges, where)) if ranges else [""]
            if len(found) * len(numbers) > _MOST_NAMES:
                raise InputError(f"{where}: expected at most {_MOST_NAMES:,} names, got {shown(text)}")
            found = [f"{before}{plain}{number}" for before in found for number in numbers]
        names += found
        if len(names) > _MOST_NAMES:
            raise InputError(f"{where}: expected at most {_MOST_NAMES:,} names, got {shown(text)}")
        at = part.end()
    return names


def count_numbers(ranges: str, where: str) -> int:
    """Return how many numbers ``1-4,7`` stands for.

    Raises
    ------
    InputError
        If it is no such list, at `where`.
    """
    return sum(last - first + 1 for first, last, _ in _ends(ranges, where))


def slurm_seconds(text: str, where: str) -> int | None:
    """Return a time as Slurm writes it (``30``, ``30:00``, ``1:00:00``, ``2-12``, ``2-12:30:00``) as seconds.

    ``None`` for ``UNLIMITED`` and ``INFINITE``; a bare number counts minutes.

    Raises
    ------
    InputError
        If it is none, at `where`.
    """
    if text.upper() in ("UNLIMITED", "INFINITE", "NONE"):
        return None
    found = _DURATION.fullmatch(text)
    if found is None:
        raise InputError(f"{where}: expected a time such as 30, 12:00:00 or 2-12:00:00, got {shown(text)}")
    days, *rest = found.groups()
    parts = [int(part) for part in rest if part is not None]
    if days is None and len(parts) < 3:
        parts = [0, *parts]  # minutes, or minutes and seconds
    hours, minutes, seconds = [*parts, 0, 0][:3]
    return min(((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds, LONGEST)


def _lines(path: Path, files: list[Path]) -> Iterator[tuple[str, str]]:
    """Yield the lines without comments, with their places; one that ends with a backslash goes on in the next.

    Included files are read in place, from where they are or from beside the file that includes them.
    """
    files.append(path)
    if len(files) > _MOST_FILES:
        raise InputError(f"{files[0]}: expected at most {_MOST_FILES} included files, got more")
    try:
        text = read_bounded(path, "a configuration of Slurm", _MOST_BYTES).decode()
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such configuration of Slurm") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: expected text in UTF-8, got other bytes") from None
    parts: list[str] = []
    for number, raw in enumerate(text.split("\n"), 1):
        part = (raw if _SHOWN_NODE.match(raw) else _COMMENT.sub("", raw)).strip()
        parts.append(part.removesuffix("\\"))
        if not part.endswith("\\"):
            line, parts = "".join(parts), []
            if include := _INCLUDE.fullmatch(line):
                named = Path(include[1])
                beside = [path.parent / named, path.parent / named.name]
                found = next((each for each in beside if each.is_file()), None)
                if found is None:
                    raise InputError(
                        f"{path}:{number}: Include: expected the file {shown(str(named))}, or beside {path.name}, "
                        "got none; copy it there, or give what scontrol show config, partition and node -o print"
                    )
                yield from _lines(found, files)
            elif line:
                yield f"{path}:{number}", line


def _numbers(ranges: str, where: str) -> Iterator[str]:
    for first, last, digits in _ends(ranges, where):
        if last - first >= _MOST_NAMES:
            raise InputError(f"{where}: expected at most {_MOST_NAMES:,} names, got {shown(ranges)}")
        for number in range(first, last + 1):
            yield str(number).zfill(digits)


def _ends(ranges: str, where: str) -> Iterator[tuple[int, int, int]]:
    """Yield the first and the last number of each range, and how many digits they are written with."""
    for part in ranges.split(","):
        found = _RANGE.fullmatch(part)
        if found is None:
            raise InputError(f"{where}: expected numbers such as 1-4,7, got {shown(ranges)}")
        yield int(found[1]), int(found[2] or found[1]), len(found[1])


def _site(read: _Read, path: Path) -> SlurmSite:
    read.nodes = {name: each for name, each in read.nodes.items() if each.get("state", "").upper() not in _FUTURE}
    if not read.nodes:
        raise InputError(f"{path}: expected lines with NodeName=, got none")
    places = {name: place for place, name in enumerate(read.nodes)}
    capacity = np.array([_capacity(fields) for fields in read.nodes.values()], dtype=np.int64)
    partitions = tuple(_partition(name, fields, places, read) for name, fields in read.partitions.items())
    tables = (*read.partitions.values(), *read.nodes.values())
    weights = tuple(_whole("Weight", each.get("weight", "1"), each[""], _MOST_WEIGHT) for each in read.nodes.values())
    away = [name for name, each in read.nodes.items() if _AWAY.search(each.get("state", "").upper())]
    away += [name for name in read.nodes if name in read.down and name not in away]
    return SlurmSite(tuple(read.nodes), capacity, partitions, weights, read.settings, tables, str(path), tuple(away))


def _capacity(fields: Mapping[str, str]) -> tuple[int, int, int]:
    """Return cores, memory and GPUs of a node."""
    where = fields[""]
    cpus = fields.get("cpus", fields.get("cputot", fields.get("procs")))
    if cpus is not None:
        cores = _whole("CPUs", cpus, where)
    else:
        per_node = ("sockets", "corespersocket", "threadspercore")
        cores = prod(_whole(key, fields.get(key, "1"), where) for key in per_node)
    if not cores:
        raise InputError(f"{where}: expected a node with cores, got 0")
    kinds = filter(None, map(_GPUS.match, fields.get("gres", "").split(",")))
    gpus = sum(_whole("Gres", kind[1] or "1", where) for kind in kinds)
    for name, amount in (("cores", cores), ("Gres", gpus)):
        if amount > MOST_PROCESSORS:
            raise InputError(f"{where}: expected at most {MOST_PROCESSORS} {name}, got {shown(amount)}")
    return cores, _whole("RealMemory", fields.get("realmemory", "1"), where) * 1024, gpus


def _partition(name: str, fields: Mapping[str, str], places: Mapping[str, int], read: _Read) -> SlurmPartition:
    where = fields[""]
    names = [node for each in expand_names(fields.get("nodes", ""), where) for node in _members(each, read, where)]
    unknown = [node for node in names if node not in places]
    if unknown or not names:
        found = shown(unknown[0]) if unknown else "none"
        raise InputError(
            f"{where}: partition {shown(name)}: field 'Nodes': expected nodes with a NodeName, got {found}"
        )
    return SlurmPartition(
        name,
        tuple(sorted(places[node] for node in names)),
        slurm_seconds(fields.get("maxtime", "UNLIMITED"), where),
        _whole("PriorityTier", fields.get("prioritytier", "1"), where),
        _whole("PriorityJobFactor", fields.get("priorityjobfactor", "1"), where),
        "" if fields.get("qos", "").upper() in ("N/A", "(NULL)") else fields.get("qos", ""),
        fields.get("preemptmode", "").lower(),
    )


def _members(name: str, read: _Read, where: str) -> list[str]:
    """Return the nodes that a name in a partition stands for: a node, all, or those of a set, by name or feature."""
    if name.upper() == "ALL":
        return list(read.nodes)
    if name in read.nodes or name not in read.sets:
        return [name]
    given, wanted = read.sets[name], read.sets[name].get("feature", "").lower()
    has = {node: each.get("feature", each.get("features", "")).lower().split(",") for node, each in read.nodes.items()}
    listed = expand_names(given.get("nodes", ""), where)
    return [node for node in read.nodes if (wanted and wanted in has[node]) or node in listed or "ALL" in listed]


def _whole(name: str, text: str, where: str, most: int = MOST_PROCESSORS) -> int:
    if not text.isdecimal() or len(text) > len(str(most)):
        raise InputError(f"{where}: field {name!r}: expected a whole number up to {most}, got {shown(text)}")
    return int(text)
