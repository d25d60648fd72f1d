"""Read HTCondor's history: its file, ``condor_history -long``, and ``condor_history -json``."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ...base.checks import MOST_PROCESSORS
from .column_maps import ColumnMap, ColumnSource
from .json_records import json_parts
from .key_values import key_value_records
from .read_log import Malformed, ReadingLog
from .table_files import RowBlocks, TablePart
from .trace_files import TraceFile

#: Attributes that are read. Their names have no case.
_ATTRIBUTES = (
    "ClusterId",
    "ProcId",
    "Owner",
    "User",
    "AccountingGroup",
    "AcctGroup",
    "JobBatchName",
    "Cmd",
    "QDate",
    "JobStartDate",
    "JobCurrentStartDate",
    "CompletionDate",
    "EnteredCurrentStatus",
    "RemoteWallClockTime",
    "RequestCpus",
    "CpusProvisioned",
    "RequestGpus",
    "GpusProvisioned",
    "RequestMemory",
    "MaxHosts",
    "JobUniverse",
    "JobStatus",
    "ExitCode",
    "AllowedExecuteDuration",
    "AllowedJobDuration",
    "MaxWallTimeMins",
)
_LOWER = {name.lower(): name for name in _ATTRIBUTES}
_COLUMNS = (
    "id",
    "user",
    "group",
    "name",
    "submit",
    "start",
    "end",
    "elapsed",
    "cores",
    "nodes",
    "gpus",
    "memory",
    "walltime",
    "state",
)
_PAIR = r"\s*([A-Za-z_][\w.]*)\s*=\s*(.*?)\s*"
_BETWEEN = r"\s*|\*\*\*.*|\.\.\.\s*"
_PARALLEL = "11"
_STATES = {
    "1": "PENDING",
    "2": "RUNNING",
    "3": "CANCELLED",
    "4": "COMPLETED",
    "5": "REQUEUE_HOLD",
    "6": "RUNNING",
    "7": "SUSPENDED",
}


def htcondor_parts(
    file: TraceFile, described: ColumnMap, malformed: list[Malformed], log: ReadingLog
) -> Iterator[TablePart]:
    """Yield the jobs of a history. A job starts when it first ran, and runs for as long as all its runs together."""
    rows = RowBlocks(list(_COLUMNS))
    for line, fields in _ads(file, described, malformed, log):
        if not fields.get("ClusterId"):
            malformed.append(Malformed(line, "no job", "expected a job with ClusterId, got none"))
            continue
        rows.add(line, _row(fields))
        yield from rows.full()
    yield from rows.rest()


def _ads(
    file: TraceFile, described: ColumnMap, malformed: list[Malformed], log: ReadingLog
) -> Iterable[tuple[int, dict[str, str]]]:
    begin = next(iter(replace_lines(file, 1).blocks()), b"").lstrip(b"\xef\xbb\xbf \t\r\n")
    if begin[:1] in (b"[", b"{"):
        columns = {name: (ColumnSource(name),) for name in (*_ATTRIBUTES, *_LOWER)}
        plain = replace(described, columns=columns, keep={}, filter={}, own=False)
        for part in json_parts(file, plain, malformed, log):
            for line, row in zip(part.lines.tolist(), part.frame.to_dict("records"), strict=True):
                yield line, {name: _plain(row[name] or row[name.lower()]) for name in _ATTRIBUTES}
        return
    for line, record in key_value_records(file, malformed, _PAIR, _BETWEEN):
        named = {_LOWER[key.lower()]: value for key, value in record.items() if key.lower() in _LOWER}
        yield line, {name: _plain(value) for name, value in named.items()}


def replace_lines(file: TraceFile, lines: int) -> TraceFile:
    """Return the same file, of which only the first lines are read."""
    return TraceFile(file.path, file.packed, lines, file.bounds)


def _plain(value: str) -> str:
    """Return a value without quotes; empty for none."""
    if len(value) > 1 and value[0] == value[-1] == '"':
        return value[1:-1].replace('\\"', '"')
    return "" if value.lower() in ("undefined", "error") else value


def _row(ad: Mapping[str, str]) -> list[str]:
    """Return the fields of a job; see the columns for their order."""

    def first(*names: str) -> str:
        return next((ad[name] for name in names if ad.get(name) not in (None, "", "0")), "")

    hosts = _whole(ad.get("MaxHosts")) or 1 if ad.get("JobUniverse") == _PARALLEL else 1
    cores = _whole(ad.get("CpusProvisioned")) or _whole(ad.get("RequestCpus"))
    gpus = _whole(ad.get("GpusProvisioned")) or _whole(ad.get("RequestGpus"))
    status = ad.get("JobStatus", "")
    state = _STATES.get(status, "")
    if state == "COMPLETED" and ad.get("ExitCode", "0") not in ("", "0"):
        state = "FAILED"
    end = first("CompletionDate") or (first("EnteredCurrentStatus") if state == "CANCELLED" else "0")
    minutes = first("MaxWallTimeMins")
    return [
        f"{ad['ClusterId']}.{ad.get('ProcId') or 0}",
        first("Owner") or first("User").partition("@")[0],
        first("AccountingGroup", "AcctGroup"),
        first("JobBatchName") or first("Cmd").rpartition("/")[2],
        ad.get("QDate", ""),
        first("JobStartDate", "JobCurrentStartDate") or "0",
        end,
        first("RemoteWallClockTime"),
        str(min(cores * hosts, MOST_PROCESSORS)) if cores else "",
        str(hosts),
        str(min(gpus * hosts, MOST_PROCESSORS)),
        ad.get("RequestMemory", "") if re.fullmatch(r"[\d.]{1,15}", ad.get("RequestMemory", "")) else "",
        first("AllowedExecuteDuration", "AllowedJobDuration") or (f"{minutes} m" if minutes.isdigit() else ""),
        state,
    ]


def _whole(text: str | None) -> int:
    """Return a number, with fractions rounded up; 0 for an expression."""
    match = re.fullmatch(r"\d{1,9}(?:\.\d{0,9})?", text or "")
    return math.ceil(float(match[0])) if match else 0
