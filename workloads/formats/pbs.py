"""Read the accounting of PBS Professional, OpenPBS, Torque and their kin as a table."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from ...base import shown
from ...base.checks import MOST_PROCESSORS
from .column_maps import ColumnMap
from .read_log import Malformed, ReadingLog, counted
from .table_files import RowBlocks, TablePart
from .trace_files import TraceFile, decode

#: Columns that are made of several fields. ``elapsed`` is the time from start to end, for which nodes are held. Without
#: one of these it is the used time, which misses what is before a restart of PBS's daemon, or is negative by a fault.
_AMOUNTS = ("cores", "hosts", "gpus", "memory", "elapsed")
#: Columns of texts, and of numbers and times.
_TEXTS = ("id", "user", "group", "account", "project", "jobname", "queue")
_NUMBERS = ("ctime", "qtime", "etime", "start", "end", "Resource_List.walltime", "Exit_status")
_KNOWN = {*_TEXTS, *_NUMBERS, "exec_host", "exec_vnode", "Resource_List.select", "resources_used.walltime"}
#: A record. In front of it may be the name of its file, as grep prints it.
_RECORD = re.compile(r"(?:[^;\s]*:)?\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(?:\.\d+)?;(\w+);([^;]*);(.*)", re.DOTALL)
#: Texts that stand for none.
_NONE = ("_pbs_project_default", "(null)")
_KEY = re.compile(r"[A-Za-z_][\w.-]*")
#: Kilobytes per unit of memory. A word has 8 bytes.
_KILOBYTES = {
    unit + kind: size * bytes_ / 1024
    for unit, size in (("", 1), ("k", 1024), ("m", 1024**2), ("g", 1024**3), ("t", 1024**4))
    for kind, bytes_ in (("b", 1), ("w", 8))
} | {"": 1 / 1024}
#: Fields with a number of cores: of requests, and of what Torque gave.
_COUNTS = ("Resource_List.procs", "total_execution_slots", "Resource_List.size")
#: Used and held time differ if both this share and these seconds are exceeded.
_SHARE, _SECONDS = 0.05, 2


def pbs_parts(
    file: TraceFile, described: ColumnMap, malformed: list[Malformed], log: ReadingLog
) -> Iterator[TablePart]:
    """Yield the ends of jobs (``;E;``).

    Besides fields of PBS there are :data:`_AMOUNTS`, made of several. Other records are left out, and counted. So are
    those of a whole array (``4[]``), as each of its subjobs has its own.
    """
    del described
    others = arrays = comments = 0
    differ: list[int] = []
    rows = RowBlocks([*_AMOUNTS, *_TEXTS, *_NUMBERS])
    line = 0
    for block in file.blocks():
        for text in decode(block).split("\n"):
            line += 1
            if not text.strip():
                continue
            if text.startswith("#"):
                comments += 1
                continue
            record = _RECORD.fullmatch(text.rstrip("\r"))
            if record is None:
                message = f"expected a record as 'date time;E;id;key=value ...', got {shown(text)}"
                malformed.append(Malformed(line, "no record", message))
            elif record[1] != "E":
                others += 1
            elif "[]" in record[2]:
                arrays += 1
            else:
                fields = _fields(record[3])
                fields["id"] = record[2].partition(".")[0]
                held = _held(fields)
                gpus = _gpus(fields) if "gpu" in record[3] else ""
                used = fields.get("resources_used.walltime", "")
                amounts = (_cores(fields), _hosts(fields), gpus, _memory(fields), str(held) if held else used)
                texts = [fields.get(name, "") for name in _TEXTS]
                rows.add(line, [*amounts, *map(_unquoted, texts), *(fields.get(name, "") for name in _NUMBERS)])
                if held and used and _differ(held, used):
                    differ.append(line)
        line -= block.endswith(b"\n")
        yield from rows.full()
    yield from rows.rest()
    log.commented(comments)
    if others:
        log.note(f"{counted(others, 'record')} left out that say no end of a job", other_records=others)
    if arrays:
        log.note(f"{counted(arrays, 'record')} of whole arrays left out: their subjobs are jobs", whole_arrays=arrays)
    if differ:
        log.note(
            f"{counted(len(differ), 'job')} read with the time from start to end, for which nodes are held; "
            "resources_used.walltime differs",
            f"line {differ[0]}",
        )


def _fields(text: str) -> dict[str, str]:
    """Return the fields of a record. Values may have blanks."""
    fields: dict[str, str] = {}
    last = ""
    for token in text.split(" "):
        key, equals, value = token.partition("=")
        if equals and (key in _KNOWN or _is_key(key)):
            fields[key] = value
            last = key
        elif last and token:
            fields[last] += f" {token}"
    return fields


@lru_cache(maxsize=1000)
def _is_key(text: str) -> bool:
    return _KEY.fullmatch(text) is not None


def _unquoted(text: str) -> str:
    """Return a text without quotes, empty if it stands for none."""
    plain = text.strip('"')
    return "" if plain in _NONE else plain


def _number(text: str | None) -> int:
    """Return a whole number, 0 if it is none."""
    return min(int(text), MOST_PROCESSORS) if text and text.isascii() and text.isdigit() and len(text) < 19 else 0


def _positive(count: int) -> str:
    return str(min(count, MOST_PROCESSORS)) if count > 0 else ""


def _places(fields: Mapping[str, str]) -> list[str]:
    """Return the places in ``n1/0*8+n2/0-7+n3/5``."""
    return [part for part in fields.get("exec_host", "").split("+") if "/" in part]


def _chunks(text: str, separators: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of nodes and the amounts on each of them, of ``2:ppn=28:gpus=2+n7:ppn=4``."""
    for part in text.split("+"):
        name, *amounts = part.split(separators)
        count = _number(name)
        yield count or 1, {key: value for key, _, value in (each.partition("=") for each in (*amounts, name))}


def _sum(text: str, amount: str) -> int:
    return sum(count * _number(amounts.get(amount)) for count, amounts in _chunks(text, ":"))


def _cores(fields: Mapping[str, str]) -> str:
    """Return the cores of a job, as allocated or else as asked for."""
    width = _number(fields.get("Resource_List.mppwidth"))
    if width:  # Cray: exec_host has a login node
        return _positive(width * max(_number(fields.get("Resource_List.mppdepth")), 1))
    cores = sum(map(_number, re.findall(r"ncpus=(\d+)", fields.get("exec_vnode", ""))))
    if not cores:
        for part in _places(fields):
            places = part.partition("/")[2]
            cores += 1 if places.isdigit() else _slots(places)
    asked = _number(fields.get("Resource_List.ncpus"))
    if not cores:
        cores = _sum(fields.get("Resource_List.select", ""), "ncpus") or asked
    nodes = fields.get("Resource_List.nodes", "")
    if not cores and nodes:
        cores = sum(count * max(_number(amounts.get("ppn")), 1) for count, amounts in _chunks(nodes, ":"))
    return _positive(cores or next(filter(None, (_number(fields.get(name)) for name in _COUNTS)), 0))


def _slots(places: str) -> int:
    """Return the number of cores in ``0*8``, ``0-7`` or ``0,2,5``."""
    factor = re.search(r"\*(\d{1,9})", places)
    if factor:
        return int(factor[1])
    ranges = [re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", each) for each in places.split(",")]
    return max(sum(int(one[2] or one[1]) - int(one[1]) + 1 for one in ranges if one), 1)


def _hosts(fields: Mapping[str, str]) -> str:
    """Return the number of nodes, as allocated or else as asked for."""
    hosts = len({part.partition("/")[0] for part in _places(fields)})
    if hosts and "Resource_List.mppwidth" not in fields:
        return str(hosts)
    nodes = fields.get("Resource_List.nodes", "")
    asked = sum(count for count, _ in _chunks(nodes, ":")) if nodes else 0
    return _positive(_number(fields.get("Resource_List.nodect")) or asked)


def _gpus(fields: Mapping[str, str]) -> str:
    """Return the GPUs of a job, as allocated or else as asked for."""
    listed = fields.get("exec_gpus", "")
    if "/" in listed:
        return _positive(sum("/" in part for part in listed.split("+")))
    vnodes = sum(map(_number, re.findall(r"ngpus=(\d+)", fields.get("exec_vnode", ""))))
    nodes = _sum(fields.get("Resource_List.nodes", ""), "gpus")
    select = _sum(fields.get("Resource_List.select", ""), "ngpus")
    plain = _number(fields.get("Resource_List.ngpus")) or _number(fields.get("Resource_List.gpus"))
    generic = re.findall(r"(?:^|[,+])gpus?[:=](\d{1,9})", fields.get("Resource_List.gres", ""))
    return _positive(vnodes or nodes or select or plain or sum(map(int, generic)))


def _memory(fields: Mapping[str, str]) -> str:
    """Return the memory of a job in kilobytes. That of a process counts for each core."""
    whole = _kilobytes(fields.get("Resource_List.mem", ""))
    each = _kilobytes(fields.get("Resource_List.pmem", "")) if not whole else 0
    return _positive_amount(whole or each * max(_number(_cores(fields)), 1))


def _positive_amount(amount: float) -> str:
    return str(int(amount)) if amount >= 1 else ""


def _kilobytes(text: str) -> float:
    """Return an amount such as ``10gb`` or ``4gw`` in kilobytes, 0 if it is none."""
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?)([kmgt]?[bw]?)", text.lower())
    unit = match[2] if match else ""
    return float(match[1]) * _KILOBYTES[f"{unit}b" if unit in "kmgt" and unit else unit] if match else 0.0


def _held(fields: Mapping[str, str]) -> int:
    """Return the seconds from start to end, 0 if one of them is not recorded."""
    start, end = fields.get("start", ""), fields.get("end", "")
    if start.isascii() and end.isascii() and start.isdigit() and end.isdigit() and len(start) == len(end) < 12:
        return max(int(end) - int(start), 0) if int(start) else 0
    return 0


def _differ(held: int, used: str) -> bool:
    """Tell whether ``resources_used.walltime`` is another time than that from start to end, or none."""
    parts = used.split(":")
    if len(parts) > len("hms") or not all(part.isascii() and part.isdigit() and len(part) < 12 for part in parts):
        return True
    seconds = sum(int(part) * 60**place for place, part in enumerate(reversed(parts)))
    return bool(abs(held - seconds) > max(_SHARE * held, _SECONDS))
