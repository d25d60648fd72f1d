"""Read LSF's accounting file ``lsb.acct``: the events JOB_FINISH."""

import re
from collections.abc import Iterator, Sequence

from ...base import shown
from .column_maps import ColumnMap
from .read_log import Malformed, ReadingLog, counted
from .table_files import RowBlocks, TablePart
from .trace_files import TraceFile, decode

#: A field: a text in quotes, of which those inside are doubled, or a number.
_FIELD = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
_BEGINNING = re.compile(r'"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+" "[\d.]+" \d')
_EVENT = re.compile(r'\s*"?([A-Z][A-Z0-9_]+)"?\s')
#: Places of the first fields, which all versions share.
_FIRST = {"end": 2, "id": 3, "processors": 6, "submit": 7, "begin": 8, "start": 10, "user": 11, "queue": 12}
_RESOURCES, _ASKED_HOSTS = 13, 22
#: Fields from the states of a job to its mail user: the usage has 19 of them.
_USAGE = 19
#: Places after the usage.
_PROJECT, _INDEX, _EXIT, _GROUP_SIZE = 1, 6, 15, 30
#: Fields of the usage on a host, in versions of LSF.
_HOST_USAGE = (5, 6)
_DONE = "64"
#: States by the reason of an exit (TERM_RUNLIMIT and others).
_EXITS = {"5": "TIMEOUT", "6": "TIMEOUT", "16": "OUT_OF_MEMORY", **dict.fromkeys(("8", "9", "14", "15"), "CANCELLED")}
_MEMORY = re.compile(r"rusage\[[^\]]*?\bmem\s*=\s*(\d{1,12}(?:\.\d+)?)\s*([KMGT]?)", re.IGNORECASE)
_KILOBYTES = {"": 1024, "k": 1, "m": 1024, "g": 1024**2, "t": 1024**3}
_GPUS = re.compile(r"ngpus_physical\s*=\s*(\d{1,6})|\bgpu\[[^\]]*?\bnum\s*=\s*(\d{1,6})|\bngpus\w*\s*=\s*(\d{1,6})")
_COLUMNS = (*_FIRST, "idx", "name", "project", "hosts", "cores", "state", "limit", "memory", "gpus")
#: Most lines of a record whose command has ends of lines.
_LINES = 2_000


def lsf_parts(
    file: TraceFile, described: ColumnMap, malformed: list[Malformed], log: ReadingLog
) -> Iterator[TablePart]:
    """Yield the events JOB_FINISH. Other events are left out, and counted."""
    del described
    rows = RowBlocks(list(_COLUMNS))
    others = short = 0
    for line, text in _records(file):
        event = _EVENT.match(text)
        if event is None:
            message = f'expected an event as "JOB_FINISH" "10.1" 1704067200 17 ..., got {shown(text)}'
            malformed.append(Malformed(line, "no event", message))
            continue
        if event[1] != "JOB_FINISH":
            others += 1
            continue
        fields = [plain or quoted.replace('""', '"') for quoted, plain in _FIELD.findall(text)]
        if len(fields) <= max(_FIRST.values()):
            message = f"expected at least {max(_FIRST.values()) + 1} fields of JOB_FINISH, got {len(fields)}"
            malformed.append(Malformed(line, "wrong number of fields", message))
            continue
        first = [fields[place] for place in _FIRST.values()]
        try:
            rest = _rest(fields)
        except (IndexError, ValueError):
            short += 1
            rest = ["", "", "", "", fields[_FIRST["processors"]], "", "", "", ""]
        rows.add(line, [*first, *rest])
        yield from rows.full()
    yield from rows.rest()
    if others:
        log.note(f"{counted(others, 'record')} left out that say no end of a job", other_records=others)
    if short:
        log.note(f"{counted(short, 'job')} read by its first fields alone: those after the queue are not LSF's")


def _records(file: TraceFile) -> Iterator[tuple[int, str]]:
    """Yield the records with their first lines. A command may have ends of lines within its quotes."""
    line = begin = 0
    pending: list[str] = []

    def ended() -> tuple[int, str]:
        file.joined += sum(bool(text.strip()) for text in pending[1:])
        whole = "\n".join(pending)
        pending.clear()
        return begin, whole

    for block in file.blocks():
        for text in decode(block).split("\n"):
            line += 1
            plain = text.rstrip("\r")
            if pending and (_BEGINNING.match(plain) or len(pending) > _LINES):
                yield ended()  # its quotes never end
            if pending or plain.count('"') % 2:
                begin = begin if pending else line
                pending.append(plain)
                if len(pending) > 1 and plain.count('"') % 2:
                    yield ended()
            elif plain.strip():
                yield line, plain
        line -= block.endswith(b"\n")
    if pending:
        yield ended()


def _rest(fields: Sequence[str]) -> list[str]:
    """Return what stands after the queue, whose places depend on the numbers of hosts.

    Raises
    ------
    IndexError, ValueError
        If the fields are others.
    """
    at = _ASKED_HOSTS
    at += 1 + _count(fields[at])
    hosts = fields[at + 1 : at + 1 + _count(fields[at])]
    at += 1 + len(hosts)
    status, name = fields[at], fields[at + 2]
    at += 4 + _USAGE
    processors = _count(fields[_FIRST["processors"]])
    slots = [host.rpartition("*") for host in hosts]
    cores = sum(int(times) if times.isdigit() and len(times) < 10 else 1 for times, _, _ in slots)
    state = "COMPLETED" if status == _DONE else _EXITS.get(fields[at + _EXIT], "FAILED")
    nodes = len({host for _, _, host in slots})
    limit, effective = _limit(fields, at)
    asked = effective or fields[_RESOURCES]
    memory = _MEMORY.search(asked)
    kilobytes = float(memory[1]) * _KILOBYTES[memory[2].lower()] * max(nodes, 1) if memory else 0
    gpus = _GPUS.search(asked)
    return [
        str(max(_whole(fields[at + _INDEX]), 0)),
        name,
        fields[at + _PROJECT],
        str(nodes),
        str(max(processors, cores)),
        state,
        limit,
        str(int(kilobytes)),
        str(int(next(filter(None, gpus.groups()))) * max(nodes, 1) if gpus else 0),
    ]


def _limit(fields: Sequence[str], at: int) -> tuple[str, str]:
    """Return the limit in seconds and the effective resources, empty if the version of LSF does not write them."""
    try:
        place = at + _GROUP_SIZE
        place += 1 + 2 * _count(fields[place])
        hosts = _count(fields[place])
        for size in _HOST_USAGE:
            after = place + 1 + size * hosts
            numbers = [re.fullmatch(r"-?\d+", field) is not None for field in fields[after : after + 4]]
            if numbers == [True, True, True, False]:  # options, limit, memory, resources
                limit = fields[after + 1]
                return limit if int(limit) > 0 else "", fields[after + 3]
    except (IndexError, ValueError):
        pass
    return "", ""


def _whole(text: str) -> int:
    if not re.fullmatch(r"-?\d{1,12}", text):
        raise ValueError(text)
    return int(text)


def _count(text: str) -> int:
    """Return a number of fields."""
    number = _whole(text)
    if not 0 <= number <= 10**6:
        raise ValueError(text)
    return number
