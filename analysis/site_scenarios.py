"""Changes of a Slurm site: of its nodes, partitions, limits, reservations, parameters and load."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import partial
from itertools import count
from pathlib import Path

from ..base import InputError, read_bounded, seconds_of, shown
from ..workloads.machine_rules import Outage
from ..workloads.slurm_conf import SlurmSite, expand_names, read_slurm_conf
from ..workloads.slurm_limits import read_slurm_limits

#: Kinds of changes, with an example of the text after ``=``.
FORMS: Mapping[str, str] = {
    "nodes": "+8 like c1",
    "add-nodes": "8:like=c1",
    "nodes-down": "c[1-4]@2026-12-01..+2h",
    "maintenance": "c[1-4]@2026-12-01T08:00..+2h",
    "partition": "batch:MaxTime=1-00:00:00",
    "qos": "high:MaxTRESPU=cpu=64",
    "account": "phys:GrpTRES=cpu=64",
    "split": "batch:short=c[1-2]:MaxTime=1:00:00",
    "load": "1.2",
    "default-time": "1h",
    "weights": "PriorityWeightAge=1000,PriorityWeightQOS=0",
    "config": "other.conf",
}
#: More nodes in words, as in ``nodes=+4 like c1``.
_LIKE = re.compile(r"(?<!\S)nodes=\+(\S+)\s+like[\s=]+(\S+)")
#: Separates the parts of a change, but not those of a time.
_PARTS = re.compile(r":(?=[A-Za-z][\w-]*=)")


@dataclass(frozen=True, slots=True)
class Texts:
    """Files and times of a site.

    Attributes
    ----------
    config
        ``slurm.conf``, or the output of ``scontrol show``.
    limits
        Output of ``sacctmgr``: files with ``;`` between; empty: none.
    reservations
        Output of ``scontrol show reservation -o``; ``None``: none.
    zone
        Time zone of times in a change.
    zero
        Seconds since 1970 at time 0 of the record.
    begin, end
        Seconds since 1970 between which a change can apply.
    """

    config: Path
    limits: str
    reservations: Path | None
    zone: tzinfo = UTC
    zero: int = 0
    begin: int = 0
    end: int = 2**40


@dataclass(slots=True)
class SiteScenario:
    """Changes of a site.

    Attributes
    ----------
    name
        The text of the option.
    parameters
        Of ``slurm``, by name.
    config
        The file that replaces the site's; ``None``: the site's.
    lines
        Lines that follow each file.
    outages
        Nodes that go down, on the clock of the record.
    moves
        Split partitions: the old one and the new one.
    load
        Factor on the rate of submissions.
    default_time
        Walltime of jobs that request the default of their partition, seconds; 0: unchanged.
    """

    name: str
    parameters: dict[str, str] = field(default_factory=dict)
    config: Path | None = None
    lines: dict[str, list[str]] = field(default_factory=lambda: {"config": [], "limits": [], "reservations": []})
    outages: list[Outage] = field(default_factory=list)
    moves: list[tuple[str, str]] = field(default_factory=list)
    load: float = 1.0
    default_time: int = 0

    @property
    def changes_machine(self) -> bool:
        """Whether nodes or partitions differ."""
        return self.config is not None or bool(self.lines["config"])

    def write(self, texts: Texts, folder: Path) -> dict[str, str]:
        """Write the changed files into a folder. Return all files by the names of the options of ``slurm``."""
        own = {"config": self.config or texts.config, "limits": texts.limits, "reservations": texts.reservations or ""}
        files = {}
        for name, given in ((name, str(path)) for name, path in own.items()):
            lines = self.lines[name]
            if lines:
                written = folder / f"{name}.txt"
                if name == "config":  # Its includes lie beside it.
                    lines = [f'Include "{Path(given).absolute()}"', *lines]
                elif name == "reservations" and given:
                    lines = [read_bounded(Path(given), "reservations").decode("utf-8", errors="replace"), *lines]
                written.write_text("\n".join(lines) + "\n", encoding="utf-8")
                files[name] = ";".join(filter(None, [given, str(written)])) if name == "limits" else str(written)
            else:
                files[name] = given
        return files


def read_scenario(text: str, texts: Texts) -> SiteScenario:
    """Return a scenario from changes with blanks between, as in ``add-nodes=8:like=c1 load=1.2``.

    A change is one of :data:`FORMS`, or a parameter of ``slurm`` and its value.

    Raises
    ------
    InputError
        If a change is none of these, or names a part that the site does not have.
    """
    made, site = SiteScenario(" ".join(text.split())), None
    for part in _LIKE.sub(r"nodes=+\1:like=\2", text).split():
        kind, equals, value = part.partition("=")
        if not equals or not value:
            raise InputError(f"--scenario: expected NAME=VALUE with one of {', '.join(FORMS)}, got {shown(part)}")
        if kind not in _KINDS:
            made.parameters[kind] = value
            continue
        site = site or read_slurm_conf(texts.config)
        try:
            _KINDS[kind](value, made, site, texts)
        except ValueError as error:
            reason = str(error).removeprefix("--scenario: ")
            written = value.replace(":like=", " like ") if kind == "nodes" else value
            raise InputError(f"--scenario: {kind}={written}: {reason}; as in {kind}={FORMS[kind]}") from None
    if not text.split():
        raise InputError("--scenario: expected NAME=VALUE, got nothing")
    return made


def _add_nodes(value: str, made: SiteScenario, site: SlurmSite, texts: Texts) -> None:
    """Add nodes like others: those of a pattern in turn, each in the partitions of its model."""
    number, fields = _named(value)
    pattern = fields.pop("like", "")
    if not number.isdecimal() or not 1 <= int(number) <= 2**16 or fields or not pattern:
        raise ValueError(f"expected a number of nodes and the node they are like, got {shown(value)}")
    models = expand_names(pattern, "nodes")
    places = _places(models, site)
    first = next(n for n in count(1) if f"more{n}-1" not in site.nodes)
    names = [f"more{first}-{place}" for place in range(1, int(number) + 1)]
    alike = {model: names[turn :: len(models)] for turn, model in enumerate(models) if names[turn :: len(models)]}
    for model, copies in alike.items():
        known = _table(site, "nodename", model)
        made.lines["config"].append(_line({**known, "nodename": ",".join(copies)}, ("state", "reason")))
    for partition in site.partitions:
        more = [
            name
            for model, place in zip(models, places, strict=True)
            if place in partition.nodes
            for name in alike.get(model, ())
        ]
        if more:
            nodes = [site.nodes[place] for place in partition.nodes]
            made.lines["config"].append(_partition_line(site, partition.name, {"nodes": ",".join([*nodes, *more])}))


def _nodes(value: str, made: SiteScenario, site: SlurmSite, texts: Texts) -> None:
    if not value.startswith("+") or ":like=" not in value:
        raise ValueError(f"expected +N like NODE, got {shown(value)}")
    _add_nodes(value[1:], made, site, texts)


def _nodes_down(value: str, made: SiteScenario, site: SlurmSite, texts: Texts) -> None:
    names, begin, end = _when(value, texts)
    nodes = tuple(_places(names, site)) if names else "all"
    made.outages.append(Outage(begin - texts.zero, end - texts.zero, nodes, announced=False, requeue=True))


def _maintenance(value: str, made: SiteScenario, site: SlurmSite, texts: Texts) -> None:
    names, begin, end = _when(value, texts)
    _places(names, site)
    lines = made.lines["reservations"]
    lines.append(
        f"ReservationName=maintenance-{len(lines) + 1} StartTime={begin} EndTime={end} Flags=MAINT "
        f"Nodes={','.join(names or site.nodes)}"
    )


def _partition(value: str, made: SiteScenario, site: SlurmSite, texts: Texts) -> None:
    name, fields = _named(value)
    if not fields:
        raise ValueError("expected a field and its value")
    made.lines["config"].append(_partition_line(site, name, {key.lower(): text for key, text in fields.items()}))


def _split(value: str, made: SiteScenario, site: SlurmSite, texts: Texts) -> None:
    name, fields = _named(value)
    old = next((each for each in site.partitions if each.name == name), None)
    new, listed = next(iter(fields.items()), ("", ""))
    if old is None or not new or "MaxTime" not in fields or new in {each.name for each in site.partitions}:
        raise ValueError("expected a partition, a new one with nodes of it, and its MaxTime")
    taken = _places(expand_names(listed, "nodes"), site)
    if not set(taken) < set(old.nodes):
        raise ValueError(f"expected some nodes of partition {name}, not all, got {shown(listed)}")
    left = ",".join(site.nodes[place] for place in old.nodes if place not in taken)
    more = {key.lower(): text for key, text in fields.items() if key != new}
    own = _table(site, "partitionname", name) | more | {"partitionname": new, "nodes": listed, "default": "NO"}
    made.lines["config"] += [_partition_line(site, name, {"nodes": left}), _line(own)]
    made.moves.append((name, new))


def _limit(column: str, value: str, made: SiteScenario, site: SlurmSite, texts: Texts) -> None:
    """Add a row in the format of sacctmgr. It extends the earlier row of that name."""
    name, fields = _named(value)
    if not name or not fields:
        raise ValueError("expected a name, a limit and its value")
    if texts.limits:
        known = read_slurm_limits(texts.limits)
        names = known.qualities if column == "Name" else {account for account, _ in known.associations}
        if name not in names:
            raise ValueError(f"expected one of {', '.join(sorted(names))} of {texts.limits}, got {shown(name)}")
    row = {column: name} | ({"User": ""} if column == "Account" else {}) | fields
    made.lines["limits"] += ["|".join(row), "|".join(row.values())]


def _load(value: str, made: SiteScenario, site: SlurmSite, texts: Texts) -> None:
    made.load = float(value) if re.fullmatch(r"\d{1,3}(\.\d{1,6})?", value) else 0.0
    if not 0.01 <= made.load <= 100:
        raise ValueError(f"expected a factor from 0.01 to 100, got {shown(value)}")


def _default_time(value: str, made: SiteScenario, site: SlurmSite, texts: Texts) -> None:
    made.default_time = seconds_of(value)
    if made.default_time < 1:
        raise ValueError("expected a time above 0")


def _weights(value: str, made: SiteScenario, site: SlurmSite, texts: Texts) -> None:
    for part in value.split(","):
        name, equals, weight = part.partition("=")
        if not name.startswith("PriorityWeight") or not equals:
            raise ValueError(f"expected PriorityWeight...=N, got {shown(part)}")
        made.parameters[name] = weight


def _config(value: str, made: SiteScenario, site: SlurmSite, texts: Texts) -> None:
    made.config = Path(value)


_KINDS: Mapping[str, Callable[[str, SiteScenario, SlurmSite, Texts], None]] = {
    "nodes": _nodes,
    "add-nodes": _add_nodes,
    "nodes-down": _nodes_down,
    "maintenance": _maintenance,
    "partition": _partition,
    "qos": partial(_limit, "Name"),
    "account": partial(_limit, "Account"),
    "split": _split,
    "load": _load,
    "default-time": _default_time,
    "weights": _weights,
    "config": _config,
}


def _named(value: str) -> tuple[str, dict[str, str]]:
    """Return a name and the fields after it, as in ``batch:MaxTime=1-00:00:00:PriorityTier=2``."""
    name, *parts = _PARTS.split(value)
    return name, {key: text for key, _, text in (part.partition("=") for part in parts)}


def _table(site: SlurmSite, kind: str, name: str) -> dict[str, str]:
    """Return the fields of a node or a partition as the configuration has them."""
    for table in reversed(site.tables):
        if kind in table and table["name"] == name:
            return {key: value for key, value in table.items() if key not in ("", "name")}
    return {}


def _line(fields: Mapping[str, str], left_out: tuple[str, ...] = ()) -> str:
    """Return a line of slurm.conf that begins with the name of the node or partition."""
    first = next(key for key in ("nodename", "partitionname") if key in fields)
    ordered = [first, *(key for key in fields if key not in (first, *left_out))]
    return " ".join(f'{key}="{fields[key]}"' if " " in fields[key] else f"{key}={fields[key]}" for key in ordered)


def _partition_line(site: SlurmSite, name: str, changes: Mapping[str, str]) -> str:
    names = [partition.name for partition in site.partitions]
    if name not in names:
        raise ValueError(f"expected a partition among {', '.join(names)}, got {shown(name)}")
    return _line(_table(site, "partitionname", name) | {"partitionname": name} | dict(changes))


def _places(names: list[str], site: SlurmSite) -> list[int]:
    for name in names:
        if name not in site.nodes:
            raise ValueError(f"expected nodes of {site.source}, got {shown(name)}")
    return [site.nodes.index(name) for name in names]


def _when(value: str, texts: Texts) -> tuple[list[str], int, int]:
    """Return the nodes of ``c[1-4]@2026-12-01T08:00..+2h`` and its seconds since 1970. No names: all nodes."""
    listed, _, times = value.rpartition("@")
    first, dots, last = times.partition("..")
    if not listed or not dots:
        raise ValueError("expected NODES@FROM..TO")
    begin = _time(first, texts.begin, texts.zone)
    end = _time(last, begin, texts.zone)
    if not begin < end or end <= texts.begin or begin >= texts.end:
        there = f"{_exact(texts.begin, texts.zone)} to {_exact(texts.end, texts.zone)}"
        raise ValueError(f"expected FROM before TO and within the record, {there}, got {shown(times)}")
    return ([] if listed.upper() == "ALL" else expand_names(listed, "nodes")), begin, end


def _time(text: str, since: int, zone: tzinfo) -> int:
    """Return the seconds since 1970 of a date, or of a time relative to another, as in ``+2h``."""
    if text.startswith("+"):
        return since + seconds_of(text[1:])
    if text.isdecimal():
        return int(text)
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp())


def _exact(seconds: int, zone: tzinfo) -> str:
    return datetime.fromtimestamp(seconds, zone).isoformat(timespec="seconds").partition("+")[0]
