"""Reading Slurm's accounting: the output of ``sacct -P`` (``--parsable2``)."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...base import FloatArray, InputError, IntArray
from ...base.checks import shown
from ..job_columns import Coded
from ..machine import Machine
from ..workload import Workload
from . import sacct_fields as fields
from .job_builder import Table, assemble, compact, repeated
from .read_log import Log, Malformed, NothingUsableError, ReadOptions
from .sacct_records import SEPARATOR, Records, arrivals, last_attempts, merged_parts, rejoined, with_tasks
from .slots import GPU
from .trace_files import decode

#: Columns of which at least one each must be there.
NEEDED = (
    ("JobID", "JobIDRaw"),
    ("Submit",),
    ("Start",),
    ("End", "ElapsedRaw", "Elapsed"),
    ("AllocCPUS", "NCPUS", "ReqCPUS"),
)


#: Columns whose text is a user's own, so that it may have a bar in it.
_FREE = {"JobName", "Comment", "AdminComment", "SystemComment", "WorkDir", "SubmitLine", "Constraints"}


def parse_sacct(data: bytes, options: ReadOptions, log: Log) -> Workload:
    """Turn ``sacct -P`` output into a workload.

    It needs the columns ``JobID`` (or ``JobIDRaw``), ``Submit``, ``Start``, ``End`` (or ``ElapsedRaw``,
    ``Elapsed``) and ``AllocCPUS`` (or ``NCPUS``, ``ReqCPUS``), and uses ``Eligible``, ``TimelimitRaw`` or
    ``Timelimit``, ``AllocNodes``, ``NNodes`` or ``ReqNodes``, ``User``, ``Group``, ``Account``, ``JobName``,
    ``Partition``, ``NodeList``, ``ReqMem``, ``AllocTRES`` or ``ReqTRES`` and ``State``. Job steps are skipped; of a
    job that was requeued (``sacct -D``) the last attempt is read; the parts of a heterogeneous job are one job; an
    array that waits as a whole is as many jobs as it has tasks. Times count from the first arrival, and jobs are
    sorted by it: a job arrives when it becomes eligible. Without a machine, it is a pool of the largest numbers of
    cores and of GPUs in use at once. ``Workload.records`` gets ``wait``, ``allocated_processors``,
    ``requested_processors``, ``requested_memory`` (kilobytes per processor), ``requested_time``, ``status`` as in
    SWF, and ``nodes``, ``gpus``, ``state``, ``account``, ``partitions`` (all that were asked for), ``nodes_asked``
    (by ``-N``, else 0; from ``ReqNodes`` or ``SubmitLine`` if they are there), ``task_cores`` and ``memory_by``
    (``core`` or ``node``; from ``SubmitLine``), ``node_list`` and ``submitted`` (on
    the same clock).

    Raises
    ------
    InputError
        For a missing column, malformed records unless lenient, unusable ones if strict, and a trace without
        usable records.
    """
    malformed: list[Malformed] = []
    read = _split(decode(data), options.timezone, log, malformed)
    kept = _check(read, malformed)
    log.settle(malformed, lenient=options.lenient)
    if not kept.any():
        raise NothingUsableError(f"{log.path}: expected well-formed records, got none")
    records = merged_parts(last_attempts(read.take(np.flatnonzero(kept)), log), log)
    arrival = arrivals(records, log)
    order = np.argsort(arrival, kind="stable")
    records, arrival = records.take(order), arrival[order]
    table, start = _table(records, arrival)
    if options.machine is None:
        table = replace(table, nodes=np.zeros_like(table.nodes))  # a pool is one node
    log.notes.append(f"times count from the first arrival, {pd.Timestamp(arrival[0], unit='s').isoformat()}")
    machine = options.machine or _pool(table, start, log)
    header = (
        "; Version: 2.2",
        f"; Computer: {machine.name or log.path.name}",
        f"; UnixStartTime: {int(arrival[0])}",
        f"; MaxNodes: {machine.nodes}",
        f"; MaxProcs: {int(machine.capacity[:, machine.primary].sum())}",
    )
    return assemble(table, machine, header, options, log)


def _split(text: str, zone: str | None, log: Log, malformed: list[Malformed]) -> Records:
    """Split lines at the bars; leave out steps and lines with a wrong number of fields."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]  # a name may have any other end of a line
    names = _header(lines[0], log)
    key = "JobID" if "JobID" in names else "JobIDRaw"
    place, own = names.index(key), _FREE & set(names)
    free = own.pop() if len(own) == 1 else None
    good: list[int] = []
    rows: list[str] = []
    steps = 0
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        row = rejoined(line, names, free)
        if row is None:
            message = f"expected {len(names)} fields, got {line.count('|') + 1}"
            malformed.append(Malformed(number, "wrong number of fields", message))
        elif "." in row.split(SEPARATOR, place + 1)[place]:
            steps += 1
        else:
            good.append(number)
            rows.append(row)
    if steps:
        log.note(f"{steps:,} job step{'s'[: steps > 1]} skipped", job_steps_skipped=steps)
    if not good and not malformed:
        raise InputError(f"{log.path}: expected records of jobs, got none")
    body = "\n".join([SEPARATOR.join(names), *rows, ""]).encode()
    del lines, rows  # a gigabyte for a few million records
    frame = pd.read_csv(
        io.BytesIO(body), sep=SEPARATOR, dtype=str, keep_default_na=False, quoting=csv.QUOTE_NONE, index_col=False,
        lineterminator="\n", skipinitialspace=True,
    )  # fmt: skip
    frame, at = with_tasks(frame, np.array(good, dtype=np.int64), key, malformed)
    if fields.local_times(frame) and zone is None:
        log.notes.append("its times are local ones of a zone that is not said, read as they stand (timezone)")
    return Records(frame, at, fields.column(frame, key), fields.parsed(frame, zone))


def _header(line: str, log: Log) -> list[str]:
    """Return the names of the columns; refuse a line that is no header or lacks one that is needed."""
    names = [name.strip() for name in line.split("|")]
    if "|" not in line or not {"JobID", "JobIDRaw"} & set(names):
        wanted = "the header line of sacct -P, with JobID and columns separated by '|'"
        raise InputError(f"{log.path}:1: expected {wanted}, got {line[:60]!r}")
    for choice in NEEDED:
        if not set(choice) & set(names):
            found = ", ".join(filter(None, names))
            raise InputError(f"{log.path}:1: expected a column {' or '.join(choice)}, got: {found}")
    return names


def _check(read: Records, malformed: list[Malformed]) -> NDArray[np.bool_]:
    """Return which records are well-formed; add the others to `malformed`."""
    values, ids = read.values, read.ids
    kept = np.ones(len(ids), dtype=np.bool_)

    def refuse(mask: NDArray[np.bool_], reason: str, name: str, expected: str, got: NDArray[np.object_]) -> None:
        for row in np.flatnonzero(mask & kept).tolist():
            message = f"field {name!r}: expected {expected}, got {shown(got[row])}"
            malformed.append(Malformed(int(read.lines[row]), reason, message))
        np.logical_and(kept, ~mask, out=kept)

    for name, field in fields.FIELDS.items():
        if name not in values:
            continue
        none = np.isnan(values[name])
        large = ~none & field.range.outside(values[name])
        if (none.any() and not field.free) or large.any():
            called = field.column or name
            column = fields.column(read.frame, called)
            if not field.free:
                missing = np.zeros_like(none) if name == "Submit" else fields.unknown(column)
                reason = "not a time" if field.parse is fields.times else "not a number"
                refuse(none & ~missing, reason, called, field.expected, column)
            refuse(large, "number out of range", called, str(field.range), column)
    attempts = ids + "|" + fields.column(read.frame, "Submit")  # a job that is requeued is submitted anew
    refuse(repeated(attempts, kept), "duplicate id", "JobID", "one not used before", ids)
    return kept


def _table(records: Records, arrival: FloatArray) -> tuple[Table, FloatArray]:
    """Return the table, and when each job started (seconds from the first arrival, nan if it did not)."""
    frame, values, count, start = records.frame, records.values, len(records), records.values["Start"]
    end = values.get("End", np.full(count, np.inf))
    allocated = fields.first_number(values, count, "AllocCPUS", "NCPUS")
    asked = fields.first_number(values, count, "ReqCPUS")
    processors = np.where(allocated > 0, allocated, asked)
    nodes = fields.first_number(values, count, "AllocNodes", "NNodes", "ReqNodes")
    memory = fields.memory(frame, values, processors, nodes)
    requested_time = fields.timelimit(values, count)
    gpus = fields.gpus_of_job(frame, values, nodes)
    partitions = fields.column(frame, "Partition")
    columns = {
        "wait": compact(np.nan_to_num(start - arrival, nan=-1.0)),
        "allocated_processors": compact(np.where(allocated > 0, allocated, -1)),
        "requested_processors": compact(np.where(processors > 0, processors, -1)),
        "requested_memory": compact(np.where(memory > 0, memory, -1)),
        "requested_time": compact(requested_time),
        "nodes": compact(nodes),
        "gpus": gpus,
        "submitted": compact(values["Submit"] - arrival[0]),
        "partitions": partitions,
        "node_list": fields.column(frame, "NodeList"),
    } | _asked(records, processors)
    table = Table(
        lines=records.lines.tolist,
        ids=records.ids,
        submit=arrival - arrival[0],
        runtime=np.nan_to_num(fields.elapsed(values, start, end), nan=0.0),
        requested_time=requested_time,
        processors=processors.astype(np.int64),
        memory=memory,
        gpus=gpus,
        nodes=np.maximum(nodes, 0).astype(np.int64),
        user=Coded.of(fields.column(frame, "User")),
        group=Coded.of(fields.column(frame, "Group", "Account")),
        name=Coded.of(fields.column(frame, "JobName")),
        queue=Coded.of(np.array([text.partition(",")[0] for text in partitions.tolist()], dtype=object)),
        records=pd.DataFrame(columns),
        unusable=(("not started", np.isnan(start)), ("not finished", ~np.isnan(start) & np.isnan(end))),
    )  # fmt: skip
    return table, start - arrival[0]


def _asked(records: Records, processors: FloatArray) -> dict[str, NDArray[Any]]:
    """Return how jobs ended, on whose account, how many nodes they asked for, and their arrays, as on record."""
    frame, values = records.frame, records.values
    state = fields.column(frame, "State")
    found = {"status": fields.status(state), "state": state, "account": fields.column(frame, "Account")}
    return found | {
        "nodes_asked": fields.nodes_asked(frame, values, processors),
        "task_cores": fields.task_cores(frame),
        "memory_by": fields.memory_by(frame),
        "array": fields.arrays(frame, records.ids),
        "reservation": fields.reservations(frame),
    }


def _pool(table: Table, start: FloatArray, log: Log) -> Machine:
    """Return a pool of the largest numbers in use at once; a core is free in the second its job ends."""
    used = ~np.isnan(start) & (table.runtime > 0) & (table.processors > 0)
    for _, mask in table.unusable:
        used &= ~mask
    begin, end = start[used], start[used] + table.runtime[used]
    cores = max(_peak(begin, end, table.processors[used]), 1)
    gpus = _peak(begin, end, table.gpus[used])
    found = f"{cores:,} cores" + (f" and {gpus:,} GPUs" if gpus else "")
    log.notes.append(f"no machine was given; it has as many as were in use at once, {found}")
    return Machine.homogeneous(1, name=log.path.name, core=cores, **({GPU: gpus} if gpus else {}))


def _peak(begin: FloatArray, end: FloatArray, amounts: IntArray) -> int:
    """Return the most that is in use at once, and at least the largest amount."""
    when, change = np.concatenate([end, begin]), np.concatenate([-amounts, amounts])
    in_use = np.cumsum(change[np.lexsort((change, when))])
    return max(int(in_use.max(initial=0)), int(amounts.max(initial=0)))
