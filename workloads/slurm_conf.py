"""Read a Slurm site: ``slurm.conf``, or the output of ``scontrol show config``, ``partition`` and ``node``."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..base import LONGEST, InputError, IntArray, read_bounded, shown
from ..base.checks import MOST_PROCESSORS
from .formats.slots import GPU, MEMORY
from .machine import PARTITION as PARTITION  # noqa: PLC0414  (had from here, too)
from .machine import Machine
from .slurm_topology import SWITCH, TOPOLOGY_LINES, read_topology

#: Resource of slots that must lie on different nodes, as with ``-N``.
APART = "node"
#: Resource of slots with memory requested per core, as with ``--mem-per-cpu``.
BY_CORE = "mem_per_cpu"
#: Prefixes of the resources of features (``-C``) and of types of GPUs.
FEATURE = "feature/"
GPU_TYPE = f"{GPU}/"
#: Most bytes of a configuration. The output of scontrol for ten thousand nodes has half of this.
_MOST_BYTES = 1 << 24
#: The largest weight of a node.
_MOST_WEIGHT = 2**32 - 1
#: Most names in a list: no cluster of Slurm has more nodes.
_MOST_NAMES = 2**16
#: A comment. In the output of scontrol, the operating system of a node has a number sign.
_COMMENT = re.compile(r"(?<!\\)#.*")
_SHOWN_NODE = re.compile(r"\s*NodeName=.*?\sOS=[^#]*#")
_FIELD = re.compile(r"(?<!\S)([^\s=]+)\s*=\s*(\"[^\"]*\"|\S*)")
_SETTING = re.compile(r"([A-Za-z_]\w*(?:\[\d+\])?)\s*=\s*(.*)")
_NAMES = re.compile(r"((?:[^,\[\]]++|\[[^\[\]]*\])*+)(?:,|$)")
#: States of nodes that do not exist, and of nodes that are not in use.
_FUTURE = ("FUTURE", "CLOUD_FUTURE")
_AWAY = re.compile(r"(?<!POWER_)(?<!POWERED_)(?<!POWERING_)DOWN|DRAIN|FAIL|ERROR|INVAL")
_INCLUDE = re.compile(r"include\s+\"?([^\s\"]+)\"?", re.IGNORECASE)
#: Lines of scontrol show config that are no settings: on the daemons, and headers of parts.
_HEADER = re.compile(r"Configuration data\b.*|Slurmctld\b.*|[A-Z][\w ./-]*(?:Support|Configuration|Plugin)[\w ./-]*:")
#: Slurm's own limit on the wait for switches, seconds.
_SWITCH_WAIT = 300
#: Beside a configuration with such a plugin, the topology is in this file.
_TOPOLOGY_FILE = "topology.conf"
_TOPOLOGIES = ("topology/tree", "topology/block")
#: Most files that include each other.
_MOST_FILES = 50
_RANGE = re.compile(r"(\d{1,15})(?:-(\d{1,15}))?")
_GRES = re.compile(r"gpu(?::(?P<kind>(?:[^\d:,(=]|\d+g\.)[^:,(=]*))?(?:[:=](?P<count>\d+))?(?=[(]|$|:no_consume)")
_WORD = re.compile(r"\s*([&|()\[\]])\s*|\s*([^&|()\[\]\s*]+)(?:\*\d+)?\s*")
_DURATION = re.compile(r"(?:(\d{1,15})-)?(\d{1,15})(?::(\d{1,15}))?(?::(\d{1,15}))?")


@dataclass(frozen=True, slots=True)
class SlurmPartition:
    """A partition.

    Attributes
    ----------
    name
        Of the partition.
    nodes
        Its nodes, as places in the site's.
    max_time
        ``MaxTime``, seconds; ``None``: no limit.
    tier, factor
        ``PriorityTier`` and ``PriorityJobFactor``.
    quality
        ``QoS``; empty: none.
    preempt
        ``PreemptMode``, in lower case; empty: that of the cluster.
    cpus_per_node, most_nodes
        ``MaxCPUsPerNode`` and ``MaxNodes``; ``None``: no limit.
    exclusive
        ``OverSubscribe=EXCLUSIVE``: its jobs share their nodes with no others.
    state
        ``State``, in upper case. Jobs start only in a partition that is ``UP``.
    threads
        Least CPUs of a job on a node. These are the CPUs of a core if whole cores are allocated.
    least_nodes
        ``MinNodes``.
    """

    name: str
    nodes: tuple[int, ...]
    max_time: int | None = None
    tier: int = 1
    factor: int = 1
    quality: str = ""
    preempt: str = ""
    cpus_per_node: int | None = None
    most_nodes: int | None = None
    exclusive: bool = False
    state: str = "UP"
    threads: int = 1
    least_nodes: int = 1


@dataclass(frozen=True, slots=True)
class SlurmSite:
    """The content of a configuration.

    Attributes
    ----------
    nodes
        Their names, in order.
    capacity
        Cores, memory (kilobytes) and GPUs of each node, shape (nodes, 3).
    partitions
        In order.
    weights
        ``Weight`` of each node, shape (nodes,).
    settings
        All other keys, in lower case, with their values as texts.
    tables
        The fields of each node and partition, in lower case, with their values.
    source
        The file.
    away
        Nodes that are down, drained or failed.
    features
        Of each node, in lower case.
    gpus
        Number of GPUs of each node, by type, each of shape (nodes,).
    missing
        Missing included files, one line each, and what the topology leaves open.
    levels
        Groups of nodes below each switch, or in each block, see :func:`.read_topology`. Empty: not known.
    """

    nodes: tuple[str, ...]
    capacity: IntArray
    partitions: tuple[SlurmPartition, ...]
    weights: tuple[int, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    tables: tuple[Mapping[str, str], ...] = ()
    source: str = ""
    away: tuple[str, ...] = ()
    features: tuple[frozenset[str], ...] = ()
    gpus: Mapping[str, IntArray] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    levels: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)

    def machine(self, constraints: Iterable[str] = (), closed: Collection[str] = ()) -> Machine:
        """Return the machine: cores, memory and GPUs if Slurm allocates them, and a resource for each partition.

        A partition is a resource with one unit per core on each of its nodes. Every slot of a job in it uses one unit.
        Thus every dispatcher and the checks keep jobs on the nodes of their partition. With ``MaxCPUsPerNode`` there
        are so many units. A slot uses one per core. A constraint (``-C``) and a type of GPUs are such resources, too.
        If the slots of a job must lie on different nodes, each uses one of :data:`APART`. If a job requests memory per
        core, each slot uses one of :data:`BY_CORE`. The levels of the machine are those of the topology.

        Parameters
        ----------
        constraints
            Expressions of features that jobs request.
        closed
            Names of nodes on which no job may start.
        """
        cores = self.capacity[:, 0]
        columns = {"core": cores}
        if "MEMORY" in self.settings.get("selecttypeparameters", "").upper():
            columns |= {MEMORY: self.capacity[:, 1], BY_CORE: cores}
        if self.capacity[:, 2].any():
            columns[GPU] = self.capacity[:, 2]
        columns |= {f"{GPU_TYPE}{kind}": counts for kind, counts in self.gpus.items()}
        columns[APART] = cores
        opened = ~np.isin(self.nodes, list(closed))
        for partition in self.partitions:
            most = cores if partition.cpus_per_node is None else np.minimum(cores, partition.cpus_per_node)
            inside = np.isin(np.arange(len(cores)), partition.nodes) & opened
            columns[f"{PARTITION}{partition.name}"] = np.where(inside, most, 0)
        for text in sorted(set(constraints)):
            columns[f"{FEATURE}{text}"] = np.where([meets(text, has) for has in self.features], cores, 0)
        capacity = np.column_stack(list(columns.values()))
        machine = Machine(tuple(columns), capacity, Path(self.source).stem, levels=self.levels)
        return replace(machine, licences=self.licences) if self.licences else machine

    @property
    def licences(self) -> dict[str, int]:
        """Number of each licence (``Licenses``)."""
        parts = (
            part.partition("@")[0] + part[part.find(":") :] if "@" in part else part
            for part in self.settings.get("licenses", "").split(",")
        )
        named = (part.partition(":")[::2] for part in parts if part and part != "(null)")
        return {name: int(count) if count.isdecimal() else 1 for name, count in named}

    def switches(self, count: int, seconds: int | None) -> dict[str, Any]:
        """Return the fields of a job with ``--switches=COUNT@TIME``, ``None`` for no time. Empty without switches.

        The job waits for so many leaf switches, but at most for ``max_switch_wait`` (300 s).
        """
        if count < 1 or SWITCH not in self.levels:
            return {}
        given = self.scheduler_parameters.get("max_switch_wait", "")
        most = int(given) if given.isdecimal() else _SWITCH_WAIT
        return {
            "within": SWITCH,
            "within_groups": count,
            "within_wait": most if seconds is None else min(seconds, most),
        }

    @property
    def whole_nodes(self) -> bool:
        """Whether every job has whole nodes (``SelectType=select/linear``)."""
        return self.settings.get("selecttype", "").lower() == "select/linear"

    @property
    def memory_by_core(self) -> bool:
        """Whether jobs without requested memory get some per core (``DefMemPerCPU``, also of a partition)."""
        texts = (each.get("defmempercpu", "") for each in (self.settings, *self.tables))
        return any(text.isdecimal() and int(text) > 0 for text in texts)

    @property
    def scheduler_parameters(self) -> dict[str, str]:
        """The parts of ``SchedulerParameters``, in lower case, with their values; ``""`` for parts without one."""
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
    missing: list[str] = field(default_factory=list)
    future: set[str] = field(default_factory=set)
    topology: list[dict[str, str]] = field(default_factory=list)


def read_slurm_conf(path: str | PathLike[str]) -> SlurmSite:
    """Read a configuration: ``slurm.conf``, or the output of ``scontrol show config``, ``partition`` and ``node -o``.

    The outputs may follow each other in one file, also that of ``scontrol show topology``. Without the latter, the
    topology is read from ``topology.conf`` beside the file if ``TopologyPlugin`` uses it.

    Raises
    ------
    InputError
        For a line that is no setting, an invalid number, or a configuration without nodes. The message has file and
        line.
    """
    path, read = Path(path), _Read()
    defaults: dict[str, dict[str, str]] = {"nodename": {}, "partitionname": {}, "nodeset": {}}
    for where, line in _lines(path, [], read.missing):
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
        elif kind in TOPOLOGY_LINES:
            read.topology += _topology(fields, where)
        elif kind == "downnodes":
            read.down.update(expand_names(fields[kind], where))
        elif setting := _SETTING.fullmatch(line):
            read.settings[setting[1].lower()] = setting[2].strip()
        elif not _HEADER.fullmatch(line):
            raise InputError(f"{where}: expected KEY=VALUE, got {shown(line)}")
    beside = path.parent / _TOPOLOGY_FILE
    plugin = read.settings.get("topologyplugin", "").lower()
    if not read.topology and plugin in _TOPOLOGIES and beside.is_file():
        for where, line in _lines(beside, [], read.missing):
            fields = {key.lower(): value.strip('"') for key, value in _FIELD.findall(line)}
            if next(iter(fields), "") not in TOPOLOGY_LINES:
                raise InputError(f"{where}: expected SwitchName=, BlockName= or BlockSizes=, got {shown(line)}")
            read.topology += _topology(fields, where)
    return _site(read, path)


def _topology(fields: Mapping[str, str], where: str) -> list[dict[str, str]]:
    """Return a line of a topology for each of its switches or blocks."""
    names = {key: " ".join(expand_names(fields[key], where)) for key in ("nodes", "switches") if fields.get(key)}
    kind = next(iter(fields))
    each = expand_names(fields[kind], where) if kind != "blocksizes" else []
    return [{kind: name, **names, "": where} for name in each]


def expand_names(text: str, where: str) -> list[str]:
    """Return the names in a list such as ``n[1-12,15],gpu01``.

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
        combinations = [""]
        for plain, ranges in re.findall(r"([^\[\]]*)(?:\[([^\[\]]*)\])?", part[1]):
            numbers = list(_numbers(ranges, where)) if ranges else [""]
            if len(combinations) * len(numbers) > _MOST_NAMES:
                raise InputError(f"{where}: expected at most {_MOST_NAMES:,} names, got {shown(text)}")
            combinations = [f"{before}{plain}{number}" for before in combinations for number in numbers]
        names += combinations
        if len(names) > _MOST_NAMES:
            raise InputError(f"{where}: expected at most {_MOST_NAMES:,} names, got {shown(text)}")
        at = part.end()
    return names


def meets(expression: str, features: Collection[str]) -> bool:
    """Return whether a node with these features meets a constraint such as ``fat&(ib|opa)``, from left to right.

    Brackets count as parentheses. Numbers of nodes (``fat*2``) are ignored.
    """
    result = True
    join = "&"
    before = list[tuple[bool, str]]()
    for operator, name in _WORD.findall(expression.lower()):
        if operator in ("&", "|"):
            join = operator
        elif operator in ("(", "["):
            before.append((result, join))
            result, join = True, "&"
        else:
            value = name in features
            if operator:
                value = result
                result, join = before.pop() if before else (True, "&")
            result = (result and value) if join == "&" else (result or value)
    return result


def count_numbers(ranges: str, where: str) -> int:
    """Return the count of numbers in a text such as ``1-4,7``.

    Raises
    ------
    InputError
        If it is no such list, at `where`.
    """
    return sum(last - first + 1 for first, last, _ in _ends(ranges, where))


def slurm_seconds(text: str, where: str) -> int | None:
    """Return the seconds of a time in Slurm's format (``30``, ``30:00``, ``1:00:00``, ``2-12``, ``2-12:30:00``).

    ``None`` for ``UNLIMITED`` and ``INFINITE``. A plain number counts minutes.

    Raises
    ------
    InputError
        If it is no time, at `where`.
    """
    if text.upper() in ("UNLIMITED", "INFINITE", "NONE"):
        return None
    match = _DURATION.fullmatch(text)
    if match is None:
        raise InputError(f"{where}: expected a time such as 30, 12:00:00 or 2-12:00:00, got {shown(text)}")
    days, *rest = match.groups()
    parts = [int(part) for part in rest if part is not None]
    if days is None and len(parts) < 3:
        parts = [0, *parts]  # minutes, or minutes and seconds
    hours, minutes, seconds = [*parts, 0, 0][:3]
    return min(((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds, LONGEST)


def _lines(path: Path, files: list[Path], missing: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines without comments, with their places. A backslash at the end continues a line.

    Included files are read in place, from their path or from beside the including file. `missing` gets a line for each
    file that is not found.
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
    cluster = "".join(re.findall(r"(?im)^\s*ClusterName\s*=\s*(\S+)", text)[:1])
    for number, raw in enumerate(text.split("\n"), 1):
        part = (raw if _SHOWN_NODE.match(raw) else _COMMENT.sub("", raw)).strip()
        parts.append(part.removesuffix("\\"))
        if not part.endswith("\\"):
            line, parts = "".join(parts), []
            if include := _INCLUDE.fullmatch(line):
                named = Path(include[1].replace("%c", cluster))
                beside = [path.parent / named, path.parent / named.name]
                file = next((each for each in beside if each.is_file()), None)
                if file is not None:
                    yield from _lines(file, files, missing)
                else:
                    missing.append(
                        f"{path}:{number}: Include: expected the file {shown(str(named))}, or beside {path.name}, "
                        "got none; copy it there, or give what scontrol show config, partition and node -o print"
                    )
            elif line:
                yield f"{path}:{number}", line


def _numbers(ranges: str, where: str) -> Iterator[str]:
    for first, last, digits in _ends(ranges, where):
        if last - first >= _MOST_NAMES:
            raise InputError(f"{where}: expected at most {_MOST_NAMES:,} names, got {shown(ranges)}")
        for number in range(first, last + 1):
            yield str(number).zfill(digits)


def _ends(ranges: str, where: str) -> Iterator[tuple[int, int, int]]:
    """Yield the first and the last number of each range, and their number of digits."""
    for part in ranges.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise InputError(f"{where}: expected numbers such as 1-4,7, got {shown(ranges)}")
        yield int(match[1]), int(match[2] or match[1]), len(match[1])


def _site(read: _Read, path: Path) -> SlurmSite:
    # Nodes that do not exist yet have no capacity. Partitions may name them.
    read.future = {name for name, each in read.nodes.items() if each.get("state", "").upper().startswith(_FUTURE)}
    read.nodes = {name: each for name, each in read.nodes.items() if name not in read.future}
    if not read.nodes:
        raise InputError([*read.missing, f"{path}: expected lines with NodeName=, got none"][0])
    places = {name: place for place, name in enumerate(read.nodes)}
    capacity = np.array([_capacity(fields) for fields in read.nodes.values()], dtype=np.int64)
    partitions = tuple(_partition(name, fields, places, read) for name, fields in read.partitions.items())
    named = (*read.partitions.items(), *read.nodes.items())
    tables = tuple({**fields, "name": name} for name, fields in named)
    kinds = [_gpus(fields) for fields in read.nodes.values()]
    types = {kind: np.array([each.get(kind, 0) for each in kinds]) for each in kinds for kind in each if kind}
    weights = tuple(_whole("Weight", each.get("weight", "1"), each[""], _MOST_WEIGHT) for each in read.nodes.values())
    away = [name for name, each in read.nodes.items() if _AWAY.search(each.get("state", "").upper())]
    away += [name for name in read.nodes if name in read.down and name not in away]
    levels = read_topology(read.topology, tuple(read.nodes), read.missing, str(path))
    return SlurmSite(
        tuple(read.nodes),
        capacity,
        partitions,
        weights,
        read.settings,
        tables,
        str(path),
        tuple(away),
        tuple(map(_features, read.nodes.values())),
        types,
        tuple(read.missing),
        levels,
    )


def _capacity(fields: Mapping[str, str]) -> tuple[int, int, int]:
    """Return the cores, memory and GPUs of a node for jobs, without those that ``CoreSpecCount`` and such reserve."""
    where = fields[""]
    total = _cpus(fields)
    if effective := fields.get("cpuefctv"):
        cores = _whole("CPUEfctv", effective, where)
    else:
        kept = _whole("CoreSpecCount", fields.get("corespeccount", "0"), where) * _threads(fields)
        cores = total - max(kept, count_numbers(fields["cpuspeclist"], where) if "cpuspeclist" in fields else 0)
    memory = _whole("RealMemory", fields.get("realmemory", "1"), where)
    memory -= _whole("MemSpecLimit", fields.get("memspeclimit", "0"), where)
    gpus = sum(_gpus(fields).values())
    if cores < 1 or memory < 0:
        description = f"{cores} cores and {memory} MB of memory"
        raise InputError(f"{where}: expected a node with cores and memory for jobs, got {description}")
    for name, amount in (("cores", cores), ("Gres", gpus)):
        if amount > MOST_PROCESSORS:
            raise InputError(f"{where}: expected at most {MOST_PROCESSORS} {name}, got {shown(amount)}")
    return cores, memory * 1024, gpus


def _cpus(fields: Mapping[str, str]) -> int:
    given = fields.get("cpus", fields.get("cputot", fields.get("procs")))
    return _cores(fields)[1] if given is None else _whole("CPUs", given, fields[""])


def _cores(fields: Mapping[str, str]) -> tuple[int, int]:
    """Return the cores and the threads from a node's shape."""
    where = fields[""]
    boards = _whole("Boards", fields.get("boards", "1"), where)
    sockets = _whole("SocketsPerBoard", fields.get("socketsperboard", "0"), where) * boards
    sockets = sockets or _whole("Sockets", fields.get("sockets", str(boards)), where)
    cores = sockets * _whole("CoresPerSocket", fields.get("corespersocket", "1"), where)
    return cores, cores * _whole("ThreadsPerCore", fields.get("threadspercore", "1"), where)


def _threads(fields: Mapping[str, str]) -> int:
    """Return the number of a node's CPUs per core. It is 1 if its CPUs are its cores."""
    cores, threads = _cores(fields)
    return threads // cores if cores and _cpus(fields) == threads else 1


def _gpus(fields: Mapping[str, str]) -> dict[str, int]:
    """Return the number of GPUs of a node by type. Those without a type have the type ``""``."""
    gpus: dict[str, int] = {}
    for kind in filter(None, map(_GRES.match, fields.get("gres", "").split(","))):
        type_ = (kind["kind"] or "").lower()
        gpus[type_] = gpus.get(type_, 0) + _whole("Gres", kind["count"] or "1", fields[""])
    return gpus


def _features(fields: Mapping[str, str]) -> frozenset[str]:
    names = ("activefeatures", "availablefeatures", "features", "feature")
    text = next((fields[name] for name in names if name in fields), "")
    return frozenset(re.split(r"[,&]", text.lower())) - {"", "(null)"}


def _partition(name: str, fields: Mapping[str, str], places: Mapping[str, int], read: _Read) -> SlurmPartition:
    where = fields[""]
    text = "" if fields.get("nodes", "").lower() in ("(null)", "n/a") else fields.get("nodes", "")
    names: dict[str, None] = {}
    for each in expand_names(text, where):
        members = _members(each.removeprefix("-"), read, where)
        others = {node: None for node in names if node not in members}
        names = others if each[:1] == "-" else names | dict.fromkeys(members)
    if unknown := [node for node in names if node not in places and node not in read.future]:
        unknown_node = shown(unknown[0])
        raise InputError(
            f"{where}: partition {shown(name)}: field 'Nodes': expected nodes with a NodeName, got {unknown_node}"
        )
    by_core = "CR_CORE" in read.settings.get("selecttypeparameters", "").upper()
    most = fields.get("maxnodes", "UNLIMITED"), fields.get("maxcpuspernode", "UNLIMITED")
    nodes, cpus = (None if each.upper() in ("UNLIMITED", "INFINITE") else each for each in most)
    return SlurmPartition(
        name,
        tuple(sorted(places[node] for node in names if node in places)),
        slurm_seconds(fields.get("maxtime", "UNLIMITED"), where),
        _whole("PriorityTier", fields.get("prioritytier", "1"), where),
        _whole("PriorityJobFactor", fields.get("priorityjobfactor", "1"), where),
        "" if fields.get("qos", "").upper() in ("N/A", "(NULL)") else fields.get("qos", ""),
        fields.get("preemptmode", "").lower(),
        None if cpus is None else _whole("MaxCPUsPerNode", cpus, where),
        None if nodes is None else _whole("MaxNodes", nodes, where),
        fields.get("oversubscribe", fields.get("shared", "")).upper() == "EXCLUSIVE",
        fields.get("state", "UP").upper(),
        min((_threads(read.nodes[node]) for node in names if node in places), default=1) if by_core else 1,
        max(_whole("MinNodes", fields.get("minnodes", "1"), where), 1),
    )


def _members(name: str, read: _Read, where: str) -> list[str]:
    """Return the nodes of a name in a partition: one node, all, or those of a set."""
    if name.upper() == "ALL":
        return list(read.nodes)
    if name in read.nodes or name not in read.sets:
        return [name]
    given = read.sets[name]
    wanted = read.sets[name].get("feature", "").lower()
    listed = expand_names(given.get("nodes", ""), where)
    return [
        node
        for node, each in read.nodes.items()
        if (wanted and set(wanted.split(",")) & _features(each)) or node in listed or "ALL" in listed
    ]


def _whole(name: str, text: str, where: str, most: int = MOST_PROCESSORS) -> int:
    if not text.isdecimal() or len(text) > len(str(most)):
        raise InputError(f"{where}: field {name!r}: expected a whole number up to {most}, got {shown(text)}")
    return int(text)
