r"""Column maps: from the columns of a table to those of jobs, as TOML.

A map says, for each of our columns (:data:`NUMBERS`, :data:`TEXTS`), which of theirs it is::

    about = "Jobs of our site"
    processor = "core"              # or "node": what jobs are counted in
    zone = "Europe/Berlin"          # of times without an offset; --timezone is another
    requires = ["jobid", "tsubmit"] # columns by which a file is recognised

    dates = "day first"             # 05/01/2024 is in January; or "month first"
    reuses_ids = true               # an id with another submission is another job

    [columns]
    id = "jobid"
    task = "arrayindex"             # tells the elements of an array apart
    submit = "tsubmit"              # seconds since 1970, or dates
    start = "tstart"
    end = "tend"

    walltime = { column = "limit", unit = "min" }
    nodes = ["nodes_used", "nodes_requested"]    # the first that is known
    cores = { column = "cores", per = "node" }   # times the nodes

    memory = { column = "mem", unit = "GB" }
    gpus = { column = "tres", pattern = 'gpu=(\d+)' }  # the sum of what it finds

    state = "status"
    priority = "prio"               # larger first; less `nice`, if there is one
    qos = "class"
    partition = "vc"                # isolated nodes, as of a virtual cluster
    slots = "gpus_per_host"         # cores (or nodes) of unequal slots, as 8+4; or amounts as [{"gpu": 8}, {"gpu": 4}]

    [states]                        # theirs = Slurm's
    ok = "COMPLETED"

    [keep]                          # columns of Workload.records
    power = "watts"

    [filter]                        # rows to read: a column and its texts
    kind = ["job"]
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from ...base import InputError, read_bounded, shown
from .read_log import zone_of

FOLDER = Path(__file__).parent / "maps"
#: Columns that are times on a clock, durations (s), and amounts.
CLOCK = ("submit", "eligible", "start", "end")
DURATIONS = ("wait", "elapsed", "walltime")
COUNTS = ("cores", "cores_asked", "nodes", "nodes_had", "nodes_asked", "gpus")
NUMBERS = (*CLOCK[:1], *COUNTS, *DURATIONS, *CLOCK[1:], "memory", "memory_asked", "energy", "priority", "nice")
TEXTS = ("id", "task", "cluster", "user", "group", "account", "name", "queue", "state", "qos", "partition", "slots")
#: Ways to read a number that is not plain.
PARSES = ("number", "memory", "thousands", "tres_gpus", "tres_memory", "tres_cpus", "quantity", "items", "epoch")
_UNITS = {
    "": 1.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
    "milli": 1e-3,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "B": 1 / 1024,
    "KB": 1.0,
    "MB": 1024.0,
    "GB": 1024.0**2,
    "TB": 1024.0**3,
}
_CHOICES = {
    "processor": ("core", "node"),
    "clock": ("calendar", "relative"),
    "container": ("table", "json", "pbs", "sge", "qacct", "lsf", "htcondor", "philly", "batsim"),
    "dates": ("", "month first", "day first"),
    "unit": tuple(_UNITS),
    "per": ("", "node", "core"),
    "parse": PARSES,
}


@dataclass(frozen=True, slots=True)
class ColumnSource:
    """Source of one of our columns.

    Attributes
    ----------
    column
        Theirs.
    unit
        Of its numbers.
    per
        ``node`` or ``core`` if the amount is per node or core; empty: per job.
    pattern
        Regular expression. Its matched numbers are summed; empty: it is a number.
    parse
        Way to read it, one of :data:`PARSES`.
    free
        Whether a text that is no number means an unknown value.
    default
        Text for an unknown value.
    """

    column: str
    unit: str = ""
    per: str = ""
    pattern: str = ""
    parse: str = "number"
    free: bool = False
    default: str = ""

    @property
    def scale(self) -> float:
        """Factor from its unit to ours: seconds or kilobytes."""
        return _UNITS[self.unit]


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """A column map; see the module for its content. `own` tells that it is a user's, not a built-in one."""

    name: str
    columns: Mapping[str, tuple[ColumnSource, ...]]
    about: str = ""
    container: str = "table"
    separator: str = ""
    header: tuple[str, ...] = ()
    comment: str = ""
    processor: str = "core"
    zone: str = ""
    clock: str = "calendar"
    dates: str = ""
    reuses_ids: bool = False
    requires: tuple[str, ...] = ()
    own: bool = False
    states: Mapping[str, str] = field(default_factory=dict)
    keep: Mapping[str, str] = field(default_factory=dict)
    filter: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def sources(self) -> list[str]:
        """All columns to read."""
        named = [column.column for columns in self.columns.values() for column in columns]
        return list(dict.fromkeys([*named, *self.keep.values(), *self.filter]))


def built_in() -> tuple[str, ...]:
    """Return the names of the built-in maps."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml") if path.stem not in ("sacct", "synonyms")))


def column_map(name: str) -> ColumnMap:
    """Return a built-in map by its name, or the map in a file.

    Raises
    ------
    OSError
        If the file cannot be read.
    InputError
        If there is no such map, or it is invalid; with key, expected and received value.
    """
    if name == "sacct" or name in built_in():
        return _built_in(name)
    if not name.lower().endswith(".toml"):
        known = ", ".join(("swf", "sacct", "sacct-json", "jsonl", "map", *built_in()))
        raise InputError(f"--format: expected one of {known}, or the path of a column map (.toml), got {shown(name)}")
    return replace(_read(Path(name)), own=True)


def fitting_map(columns: Sequence[str], containers: Sequence[str] = ("table",)) -> ColumnMap | None:
    """Return the built-in map that fits the columns of a table best, ``None`` if none does."""
    known = [one for one in map(_built_in, built_in()) if one.requires and one.container in containers]
    fitting = [one for one in known if set(one.requires) <= set(columns)]
    return max(fitting, key=lambda one: (len(one.requires), len(set(one.sources) & set(columns))), default=None)


def suggested_map(columns: Sequence[str], container: str = "table", *, header: bool = True) -> str:
    """Return the text of a map for a table, from the names of its columns. Missing columns are comments.

    Parameters
    ----------
    columns
        Their names. Those of inner objects in JSON have dots.
    container
        ``table`` or ``json``.
    header
        Whether the file has the names. Otherwise the map names the columns.
    """
    plain: dict[str, str] = {}
    for name in reversed(columns):
        plain[re.sub(r"[^a-z0-9]", "", name.lower())] = name
    for name in reversed(columns):  # the last part of a name with dots
        plain.setdefault(re.sub(r"[^a-z0-9]", "", name.lower().rpartition(".")[2]), name)
    synonyms: dict[str, list[str]] = tomllib.loads((FOLDER / "synonyms.toml").read_text(encoding="utf-8"))
    mapping = {ours: next((plain[name] for name in names if name in plain), None) for ours, names in synonyms.items()}
    lines = [
        f'processor = "{"node" if mapping["nodes"] and not mapping["cores"] else "core"}"',
        '# zone = "Europe/Berlin"      of dates without an offset',
        '# dates = "day first"         if 05/01/2024 is in January',
        '# clock = "relative"          if times count from 0',
    ]
    if container != "table":
        lines.append(f'container = "{container}"')
    if not header:
        lines.append(f"header = [{', '.join(map(_quoted, columns))}]")
    lines += ["", "[columns]"]
    for ours, theirs in mapping.items():
        lines.append(f"{ours} = {_quoted(theirs)}" if theirs else f"# {ours} = ")
        if ours == "walltime":
            unit = _quoted(theirs or "limit")
            lines.append(f'# walltime = {{ column = {unit}, unit = "min" }}   if it is not in seconds')
    used = set(mapping.values())
    if left := [name for name in columns if name not in used]:
        lines.append(f"# other columns: {', '.join(map(_quoted, left[:50]))}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a text as TOML writes it, on one line."""
    return json.dumps(text)


@cache
def _built_in(name: str) -> ColumnMap:
    return _read(FOLDER / f"{name}.toml")


def _read(path: Path) -> ColumnMap:
    def refuse(where: str, expected: str, received: Any) -> InputError:
        return InputError(f"{path}: {where}: expected {expected}, got {shown(received)}")

    def checked(where: str, table: Any, kind: type[Any], names: Sequence[str]) -> dict[str, Any]:
        """Return a table with keys in `names`: texts, truth values, lists of texts or tables, as in `kind`."""
        if not isinstance(table, dict):
            raise refuse(where, "a table", table)
        types = {one.name: str(one.type) for one in fields(kind)}
        for key, value in table.items():
            if key not in names:
                raise refuse(where, f"keys among {', '.join(names)}", key)
            texts = isinstance(value, list) and all(isinstance(text, str) for text in value)
            wanted = {"str": isinstance(value, str), "bool": isinstance(value, bool)}
            if not wanted.get(types[key], texts if types[key].startswith("tuple") else isinstance(value, dict)):
                raise refuse(f"{where}: {key}", types[key].replace("str", "text"), value)
            if key in _CHOICES and value not in _CHOICES[key]:
                raise refuse(f"{where}: {key}", f"one of {', '.join(filter(None, _CHOICES[key]))}", value)
        return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}

    def columns_of(name: str, value: Any) -> tuple[ColumnSource, ...]:
        read = []
        for one in value if isinstance(value, list) else [value]:
            source = checked(
                f"columns: {name}",
                {"column": one} if isinstance(one, str) else one,
                ColumnSource,
                [each.name for each in fields(ColumnSource)],
            )
            try:
                groups = re.compile(source.get("pattern", "()")).groups
            except re.error:
                groups = 0
            if groups != 1 or "column" not in source:
                raise refuse(f"columns: {name}", "a column, and a pattern with one group if any", one)
            read.append(ColumnSource(**source))
        return tuple(read)

    try:
        text = read_bounded(path, "a column map", 1 << 20).decode()
        keys = [one.name for one in fields(ColumnMap) if one.name not in ("name", "own")]
        settings = checked("map", tomllib.loads(text), ColumnMap, keys)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such column map") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: expected a column map in TOML, got an error: {str(error)[:80]}") from None
    columns = settings.pop("columns", {})
    unknown = [name for name in columns if name not in (*NUMBERS, *TEXTS)]
    if unknown or not {"id", "submit"} <= set(columns):
        wanted = f"id, submit and others among {', '.join((*TEXTS, *NUMBERS))}"
        raise refuse("columns", wanted, unknown or list(columns))
    try:
        zone_of(settings.get("zone") or "UTC")
    except InputError:
        raise refuse("zone", "the name of a time zone", settings["zone"]) from None
    settings["states"] = {str(theirs).lower(): str(ours) for theirs, ours in settings.get("states", {}).items()}
    for key in ("keep", "filter"):
        for name, value in settings.get(key, {}).items():
            if not isinstance(value, str) and (key == "keep" or not isinstance(value, list)):
                raise refuse(f"{key}: {name}", "a column" if key == "keep" else "a list of texts", value)
    return ColumnMap(path.stem, {name: columns_of(name, value) for name, value in columns.items()}, **settings)
