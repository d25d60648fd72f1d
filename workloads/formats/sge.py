"""Read the accounting of Grid Engine (SGE, Son of Grid Engine, UGE) and what ``qacct -j`` prints."""

import re
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from ...base import shown
from .column_maps import ColumnMap
from .key_values import key_value_records
from .read_log import Malformed, ReadingLog, counted
from .table_files import RowBlocks, TablePart
from .trace_files import TraceFile, decode

#: Fields of a record before its category, whose text may have colons, and after it.
_BEFORE = (
    "qname",
    "hostname",
    "group",
    "owner",
    "job_name",
    "job_number",
    "account",
    "priority",
    "submission_time",
    "start_time",
    "end_time",
    "failed",
    "exit_status",
    "ru_wallclock",
    *(f"usage {place}" for place in range(17)),
    "project",
    "department",
    "granted_pe",
    "slots",
    "task_number",
    "cpu",
    "mem",
    "io",
)
#: After the category: iow, pe_taskid, maxvmem, and from 6.2 on arid and ar_submission_time. More follow in UGE.
_TASK_PLACE = 1
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WHOLE = re.compile(r"-?\d+")
#: Columns of the table that are those of a record.
_PLAIN = ("job_number", "task_number", "owner", "group", "job_name", "qname", "project", "slots")
_COLUMNS = (*_PLAIN, "submission_time", "start_time", "end_time", "elapsed", "walltime", "memory", "gpus", "state")
_OPTION = r"(?:^|[\s,]){}=([^\s,]+)"
_LIMIT = [re.compile(_OPTION.format(name)) for name in ("h_rt", "s_rt")]
_MEMORY = [re.compile(_OPTION.format(name)) for name in ("h_vmem", "s_vmem", "mem_free", "virtual_free", "m_mem_free")]
_GPUS = re.compile(r"(?:^|[\s,])(?:n?gpus?|nvidia_gpu|gpu_card)=(\d{1,9})(?![^\s,])")
_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d*)?)([kKmMgGtT]?)")
#: Bytes per unit: small letters are thousands.
_BYTES = {"": 1, **{unit: 1000**power for power, unit in enumerate("kmgt", 1)}}
_BYTES |= {unit: 1024**power for power, unit in enumerate("KMGT", 1)}
#: Larger times are milliseconds, as UGE writes since 8.2, or microseconds.
_MILLISECONDS, _MICROSECONDS = 10**11, 10**14
#: ``failed`` of a job that its limit has ended.
_LIMIT_REACHED = "37"
_DATE = "%a %b %d %H:%M:%S %Y"


def sge_parts(
    file: TraceFile, described: ColumnMap, malformed: list[Malformed], log: ReadingLog
) -> Iterator[TablePart]:
    """Yield the records of an accounting file. Slaves of parallel jobs (``pe_taskid``) are left out, and counted."""
    del described
    rows = RowBlocks(list(_COLUMNS))
    line = slaves = 0
    for block in file.blocks():
        for text in decode(block).split("\n"):
            line += 1
            if not text.strip() or text.startswith("#"):
                continue
            cells = text.rstrip("\r").split(":")
            after = _after_category(cells)
            if not after or not _WHOLE.fullmatch(cells[5]):
                message = f"expected a record of 43 or more fields with ':' between, got {len(cells)}: {shown(text)}"
                malformed.append(Malformed(line, "no record", message))
                continue
            if cells[after + _TASK_PLACE] not in ("NONE", ""):
                slaves += 1
                continue
            fields = dict(zip(_BEFORE, cells, strict=False))
            fields["category"] = ":".join(cells[len(_BEFORE) : after])
            rows.add(line, _row(fields))
        line -= block.endswith(b"\n")
        yield from rows.full()
    yield from rows.rest()
    _say_slaves(slaves, log)


def qacct_parts(
    file: TraceFile, described: ColumnMap, malformed: list[Malformed], log: ReadingLog
) -> Iterator[TablePart]:
    """Yield the records that ``qacct -j`` prints."""
    del described
    rows = RowBlocks(list(_COLUMNS))
    slaves = 0
    for line, record in key_value_records(file, malformed, _QACCT_PAIR, r"={10,}\s*", _QACCT_SUMS):
        fields = {_QACCT.get(key, key): value for key, value in record.items()}
        if "job_number" not in fields:
            malformed.append(Malformed(line, "no record", "expected a record with jobnumber, got none"))
            continue
        if fields.get("pe_taskid", "NONE") not in ("NONE", ""):
            slaves += 1
            continue
        for name in ("submission_time", "start_time", "end_time"):
            fields[name] = _iso(fields.get(name, ""))
        fields["failed"] = fields.get("failed", "").partition(" ")[0]
        fields["ru_wallclock"] = fields.get("ru_wallclock", "").removesuffix("s")
        rows.add(line, _row(fields))
        yield from rows.full()
    yield from rows.rest()
    _say_slaves(slaves, log)


_QACCT_PAIR, _QACCT_SUMS = r"(\S+)\s+(.*?)\s*", r"Total System Usage\s*"
#: Names of ``qacct`` that are others than in the file.
_QACCT = {
    "jobnumber": "job_number",
    "jobname": "job_name",
    "taskid": "task_number",
    "qsub_time": "submission_time",
    "hard_resources": "category",
}


def _say_slaves(count: int, log: ReadingLog) -> None:
    if count:
        log.note(f"{counted(count, 'record')} of slaves of parallel jobs left out (pe_taskid)", slaves=count)


def _after_category(cells: Sequence[str]) -> int:
    """Return the place of the field after the category, 0 if there is none.

    The category may have colons, and so may the command that UGE adds at the end. The fields after the category are a
    number, a text and a number, and then two whole numbers or nothing.
    """
    for place in range(len(_BEFORE) + 1, len(cells) - 2):
        if _NUMBER.fullmatch(cells[place]) and _NUMBER.fullmatch(cells[place + 2]):
            rest = cells[place + 3 : place + 5]
            if not rest or (len(rest) == 2 and _WHOLE.fullmatch(rest[0]) and _WHOLE.fullmatch(rest[1])):
                return place
    return 0


def _row(fields: Mapping[str, str]) -> list[str]:
    start, end = _seconds(fields.get("start_time", "")), _seconds(fields.get("end_time", ""))
    category = fields.get("category", "")
    slots = fields.get("slots", "")
    return [
        *(fields.get(name, "") for name in _PLAIN),
        _seconds(fields.get("submission_time", "")),
        start,
        end,
        _elapsed(start, end, fields.get("ru_wallclock", "")),
        _limit(category),
        _memory(category, int(slots) if slots.isascii() and slots.isdigit() and len(slots) < 10 else 1),
        str(min(sum(map(int, _GPUS.findall(category))), 10**9)),
        _state(fields),
    ]


def _seconds(text: str) -> str:
    """Return a time in seconds; texts that are no such number stay."""
    if not (text.isascii() and text.isdigit() and 11 < len(text) < 20):
        return text
    value = int(text)
    return f"{value / 1e6:.3f}" if value >= _MICROSECONDS else f"{value / 1e3:.3f}"


def _elapsed(start: str, end: str, used: str) -> str:
    """Return the time from start to end, or else the used one, which is 0 for failed jobs."""
    return used if start in ("", "0") or end in ("", "0") else ""


def _limit(category: str) -> str:
    """Return the limit in a category, ``1::30`` with its zeros."""
    limit = next((match[1] for pattern in _LIMIT if (match := pattern.search(category))), "")
    return re.sub(r"(^|:)(?=:|$)", r"\g<1>00", limit) if ":" in limit else limit


def _memory(category: str, slots: int) -> str:
    """Return the memory of all slots in kilobytes; the category has that of one."""
    for pattern in _MEMORY:
        match = pattern.search(category)
        amount = _AMOUNT.fullmatch(match[1]) if match else None
        if amount:
            return str(int(float(amount[1]) * _BYTES[amount[2]] / 1024) * max(slots, 1))
    return ""


def _state(fields: Mapping[str, str]) -> str:
    failed, status = fields.get("failed", "0"), fields.get("exit_status", "0")
    if failed == _LIMIT_REACHED:
        return "TIMEOUT"
    return "COMPLETED" if failed in ("0", "") and status in ("0", "") else "FAILED"


def _iso(text: str) -> str:
    """Return a date of ``qacct`` as 2014-05-19T10:00:00; others stay."""
    if not re.match(r"[A-Z][a-z]{2} [A-Z][a-z]{2} ", text):
        return text
    moment = pd.to_datetime(" ".join(text.split()), format=_DATE, errors="coerce")
    return text if pd.isna(moment) else str(moment.isoformat())
