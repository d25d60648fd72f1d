"""Convert the output of ``sacct --json``, of Slurm 21.08 to 25.05, to rows of ``sacct -P``."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ...base import InputError, shown
from .read_log import Malformed
from .sacct_lines import SEPARATOR, Layout, SacctRows
from .trace_files import TraceFile, decode

_NAMES = (
    "JobID",
    "Cluster",
    "User",
    "Group",
    "Account",
    "Partition",
    "Submit",
    "Eligible",
    "Start",
    "End",
    "ElapsedRaw",
    "TimelimitRaw",
    "AllocCPUS",
    "ReqCPUS",
    "AllocNodes",
    "ReqMem",
    "AllocTRES",
    "ReqTRES",
    "State",
    "JobName",
    "NodeList",
    "Reservation",
    "SubmitLine",
    "ConsumedEnergyRaw",
    "Priority",
    "QOS",
    "Constraints",
)
#: The bit that Slurm before 22.05 sets in memory per core.
_PER_CORE = 1 << 63
#: Jobs per block of rows.
_BLOCK = 20_000


def parsed_json(file: TraceFile, what: str) -> Any:
    """Return the content of a JSON file.

    Raises
    ------
    OSError
        If it cannot be read.
    InputError
        If it is no JSON, with the line; or beyond a bound.
    """
    try:
        return json.loads(decode(file.read()))
    except json.JSONDecodeError as error:
        raise InputError(f"{file.path}:{error.lineno}: expected {what} in JSON, got an error: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file.path}: expected {what} in JSON, got an error: {str(error)[:80]}") from None


def json_list(file: TraceFile, found: Any, what: str) -> list[Any]:
    """Return a list of a JSON file. Refuse other values."""
    if not isinstance(found, list):
        raise InputError(f"{file.path}: expected {what}, got {shown(found)}")
    return found


def sacct_rows(file: TraceFile, malformed: list[Malformed]) -> Iterator[SacctRows]:
    """Yield the jobs as rows. The number of a row is the job's place in the file, from 1. Errors as `parsed_json`."""
    what = "a list 'jobs' as sacct --json prints it"
    document = parsed_json(file, what)
    jobs = json_list(file, document.get("jobs") if isinstance(document, dict) else None, what)
    rows = SacctRows(Layout(_NAMES, "|"))
    for number, job in enumerate(jobs, 1):
        try:
            fields = _fields(job)
        except (AttributeError, TypeError, ValueError, KeyError, OverflowError) as error:
            malformed.append(
                Malformed(
                    number,
                    "no job",
                    f"entry {number} of 'jobs': expected a job, got {shown(job)} ({type(error).__name__})",
                )
            )
            continue
        rows.numbers.append(number)
        rows.texts.append(SEPARATOR.join(" ".join(str(text).replace(SEPARATOR, " ").split()) for text in fields))
        if len(rows.texts) == _BLOCK:
            yield rows
            rows = SacctRows(rows.layout)
    yield rows


def _fields(job: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the fields of a job, in the order of the columns."""
    time = job["time"]
    tres = job.get("tres") or {}
    required = job.get("required") or {}
    allocated = _tres(tres.get("allocated"))
    requested = _tres(tres.get("requested"))
    state = (job.get("state") or {}).get("current", "") if isinstance(job.get("state"), dict) else job.get("state")
    state = state[0] if isinstance(state, list) and state else state or ""
    association = job.get("association") or {}
    start = _number(time.get("start"))
    ended = _number(time.get("end"))
    amounts = dict(item.partition("=")[::2] for item in allocated.split(",") if item)
    cores = _number(required.get("CPUs"))
    nodes = _number(job.get("allocation_nodes"))
    memory = _memory(required, int(amounts.get("cpu", cores or 0)), nodes or 0)
    if allocated and memory and "mem" not in amounts:
        allocated += f",mem={memory}M"
    return (
        _id(job),
        job.get("cluster") or association.get("cluster") or "",
        job.get("user") or association.get("user") or "",
        job.get("group") or "",
        job.get("account") or "",
        job.get("partition") or "",
        _number(time["submission"]),
        _number(time.get("eligible")) or "Unknown",
        start or "Unknown",
        ended or "Unknown",
        _number(time.get("elapsed")),
        _limit(time.get("limit")),
        amounts.get("cpu", ""),
        cores,
        nodes,
        f"{memory}M" if memory else "",
        allocated,
        requested,
        state,
        job.get("name") or "",
        _nodes(job),
        (job.get("reservation") or {}).get("name") or "",
        job.get("submit_line") or "",
        amounts.get("energy", ""),
        _number(job.get("priority")),
        job.get("qos") or "",
        job.get("constraints") or "",
    )


def _number(value: Any) -> Any:
    """Return a whole number, plain or as ``{"set", "infinite", "number"}``; an empty text for none."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set", True) and not value.get("infinite") else None
    return "" if value is None else int(value)


def _limit(value: Any) -> Any:
    infinite = isinstance(value, dict) and value.get("infinite")
    return "UNLIMITED" if infinite or value in (2**32 - 1, "UNLIMITED") else _number(value)


def _id(job: Mapping[str, Any]) -> str:
    array = job.get("array") or {}
    het = job.get("het") or {}
    whole = _number(array.get("job_id"))
    task = _number(array.get("task_id"))
    if whole and array.get("task"):
        return f"{whole}_[{array['task']}]"
    if whole and task != "":
        return f"{whole}_{task}"
    leader = _number(het.get("job_id"))
    offset = _number(het.get("job_offset"))
    return f"{leader}+{offset}" if leader and offset != "" else str(_number(job["job_id"]))


def _memory(required: Mapping[str, Any], cores: int, nodes: int) -> int:
    """Return the requested memory of a job, in megabytes; 0 for none."""
    amount = _number(required.get("memory")) or 0
    per_core = _number(required.get("memory_per_cpu")) or (amount - _PER_CORE if amount >= _PER_CORE else 0)
    per_node = _number(required.get("memory_per_node")) or (amount if amount < _PER_CORE else 0)
    return per_core * max(cores, 1) or per_node * max(nodes, 1)


def _tres(entries: Any) -> str:
    """Return resources in Slurm's text form, memory in megabytes."""
    if isinstance(entries, str):
        return entries
    parts = []
    for entry in entries or []:
        count = _number(entry.get("count"))
        kind = entry["type"]
        name = entry.get("name")
        if count not in ("", 0):
            parts.append(f"{kind}{f'/{name}' if name else ''}={count}{'M' if kind == 'mem' else ''}")
    return ",".join(parts)


def _nodes(job: Mapping[str, Any]) -> str:
    nodes = job.get("nodes") or ""
    return "" if nodes == "None assigned" else str(nodes)
