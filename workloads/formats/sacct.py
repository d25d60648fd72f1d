"""Reading Slurm's accounting: the output of ``sacct -P`` (``--parsable2``)."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...base import FloatArray, InputError
from ...base.checks import shown
from ..job_columns import Coded
from ..machine import Machine
from ..workload import Workload
from . import sacct_fields as fields
from .job_builder import Table, assemble, compact, repeated
from .read_log import Log, Malformed, NothingUsableError, ReadOptions
from .trace_files import decode

#: Columns of which at least one each must be there.
NEEDED = (
    ("JobID", "JobIDRaw"),
    ("Submit",),
    ("Start",),
    ("End", "ElapsedRaw", "Elapsed"),
    ("AllocCPUS", "NCPUS", "ReqCPUS"),
)


@dataclass(frozen=True, slots=True)
class _Records:
    """The columns as text, the line of each record, and how many steps were skipped."""

    frame: pd.DataFrame
    lines: list[int]


def parse_sacct(data: bytes, options: ReadOptions, log: Log) -> Workload:
    """Turn ``sacct -P`` output into a workload.

    It needs the columns ``JobID`` (or ``JobIDRaw``), ``Submit``, ``Start``, ``End`` (or ``ElapsedRaw``,
    ``Elapsed``) and ``AllocCPUS`` (or ``NCPUS``, ``ReqCPUS``), and uses ``TimelimitRaw`` or ``Timelimit``,
    ``AllocNodes``, ``NNodes`` or ``ReqNodes``, ``User``, ``Group``, ``Account``, ``JobName``,
    ``Partition``, ``ReqMem``, ``AllocTRES`` or ``ReqTRES`` and ``State``. Job steps are skipped. Times
    count from the first submission; jobs are sorted by it. Without a machine, it is a pool of the largest
    number of cores in use at once. ``Workload.records`` gets ``wait``, ``allocated_processors``,
    ``requested_processors``, ``requested_memory`` (kilobytes per processor), ``requested_time``, ``status``
    as in SWF, and ``nodes``, ``gpus``, ``state`` and ``account``.

    Raises
    ------
    InputError
        For a missing column, malformed records unless lenient, unusable ones if strict, and a trace without
        usable records.
    """
    malformed: list[Malformed] = []
    read = _split(decode(data), log, malformed)
    values = fields.parsed(read.frame)
    ids = fields.column(read.frame, "JobID", "JobIDRaw")
    kept = _check(read, values, ids, malformed)
    log.settle(malformed, lenient=options.lenient)
    order = np.flatnonzero(kept)
    if not len(order):
        raise NothingUsableError(f"{log.path}: expected well-formed records, got none")
    order = order[np.argsort(values["Submit"][order], kind="stable")]
    frame = read.frame.iloc[order].reset_index(drop=True)
    lines = [read.lines[row] for row in order.tolist()]
    values = {name: column[order] for name, column in values.items()}
    table, start = _table(frame, values, ids[order], lines)
    if options.machine is None:
        table = replace(table, nodes=np.zeros_like(table.nodes))  # a pool is one node
    log.notes.append(f"times count from the first submission, {frame['Submit'].iloc[0]}")
    machine = options.machine or _pool(table, start, log)
    header = (
        "; Version: 2.2",
        f"; Computer: {machine.name or log.path.name}",
        f"; UnixStartTime: {int(values['Submit'][0])}",
        f"; MaxNodes: {machine.nodes}",
        f"; MaxProcs: {int(machine.capacity[:, machine.primary].sum())}",
    )
    return assemble(table, machine, header, options, log)


def _split(text: str, log: Log, malformed: list[Malformed]) -> _Records:
    """Split lines at the bars; leave out steps and lines with a wrong number of fields."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]  # a name may have any other end of a line
    names = _header(lines[0], log)
    key, width = names.index("JobID" if "JobID" in names else "JobIDRaw"), len(names)
    good: list[int] = []
    steps = 0
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        if line.count("|") + 1 != width:
            message = f"expected {width} fields, got {line.count('|') + 1}"
            malformed.append(Malformed(number, "wrong number of fields", message))
        elif "." in line.split("|", key + 1)[key]:
            steps += 1
        else:
            good.append(number)
    if steps:
        log.notes.append(f"{steps:,} job step{'s'[: steps > 1]} skipped")
        log.counts["job steps skipped"] = steps
    if not good and not malformed:
        raise InputError(f"{log.path}: expected records of jobs, got none")
    body = io.StringIO("\n".join(["|".join(names), *(lines[number - 1] for number in good), ""]))
    frame = pd.read_csv(
        body, sep="|", dtype=str, keep_default_na=False, quoting=csv.QUOTE_NONE, index_col=False, lineterminator="\n"
    )
    return _Records(frame, good)


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


def _check(
    read: _Records, values: fields.Numbers, ids: NDArray[np.object_], malformed: list[Malformed]
) -> NDArray[np.bool_]:
    """Return which records are well-formed; add the others to `malformed`."""
    kept = np.ones(len(ids), dtype=np.bool_)

    def refuse(mask: NDArray[np.bool_], reason: str, name: str, expected: str, got: NDArray[np.object_]) -> None:
        for row in np.flatnonzero(mask & kept).tolist():
            message = f"field {name!r}: expected {expected}, got {shown(got[row])}"
            malformed.append(Malformed(read.lines[row], reason, message))
        np.logical_and(kept, ~mask, out=kept)

    for name, field in fields.FIELDS.items():
        if name not in values:
            continue
        none = np.isnan(values[name])
        large = ~none & field.range.outside(values[name])
        if (none.any() and not field.free) or large.any():
            column = fields.column(read.frame, name)
            if not field.free:
                missing = np.zeros_like(none) if name == "Submit" else fields.unknown(column)
                reason = "not a time" if field.parse is fields.times else "not a number"
                refuse(none & ~missing, reason, name, field.expected, column)
            refuse(large, "number out of range", name, str(field.range), column)
    refuse(repeated(ids, kept), "duplicate id", "JobID", "one not used before", ids)
    return kept


def _table(
    frame: pd.DataFrame, values: fields.Numbers, ids: NDArray[np.object_], lines: Sequence[int]
) -> tuple[Table, FloatArray]:
    """Return the table, and when each job started (seconds from the first submission, nan if it did not)."""
    count, submit, start = len(frame), values["Submit"], values["Start"]
    end = values.get("End", np.full(count, np.inf))
    runtime = fields.elapsed(values, start, end)
    allocated = fields.first_number(values, count, "AllocCPUS", "NCPUS")
    asked = fields.first_number(values, count, "ReqCPUS")
    processors = np.where(allocated > 0, allocated, asked)
    nodes = fields.first_number(values, count, "AllocNodes", "NNodes", "ReqNodes")
    memory = fields.memory(values, fields.column(frame, "ReqMem"), processors, nodes)
    requested_time = fields.timelimit(values, count)
    gpus = fields.gpus_of_job(frame, values)
    records = {
        "wait": compact(np.nan_to_num(start - submit, nan=-1.0)),
        "allocated_processors": compact(np.where(allocated > 0, allocated, -1)),
        "requested_processors": compact(np.where(processors > 0, processors, -1)),
        "requested_memory": compact(np.where(memory > 0, memory, -1)),
        "requested_time": compact(requested_time),
        "status": fields.status(fields.column(frame, "State")),
        "nodes": compact(nodes),
        "gpus": gpus,
        "state": fields.column(frame, "State"),
        "account": fields.column(frame, "Account"),
    }
    table = Table(
        lines=lambda: lines,
        ids=ids,
        submit=submit - submit[0],
        runtime=np.nan_to_num(runtime, nan=0.0),
        requested_time=requested_time,
        processors=processors.astype(np.int64),
        memory=memory,
        gpus=gpus,
        nodes=np.maximum(nodes, 0).astype(np.int64),
        user=Coded.of(fields.column(frame, "User")),
        group=Coded.of(fields.column(frame, "Group", "Account")),
        name=Coded.of(fields.column(frame, "JobName")),
        queue=Coded.of(fields.column(frame, "Partition")),
        records=pd.DataFrame(records),
        unusable=(("not started", np.isnan(start)), ("not finished", ~np.isnan(start) & np.isnan(end))),
    )  # fmt: skip
    return table, start - submit[0]


def _pool(table: Table, start: FloatArray, log: Log) -> Machine:
    """Return a pool of the largest number of cores in use at once; a core is free in the second its job ends."""
    used = ~np.isnan(start) & (table.runtime > 0) & (table.processors > 0)
    for _, mask in table.unusable:
        used &= ~mask
    cores = table.processors[used]
    when = np.concatenate([start[used] + table.runtime[used], start[used]])
    change = np.concatenate([-cores, cores])
    in_use = np.cumsum(change[np.lexsort((change, when))])
    peak = max(int(in_use.max(initial=0)), int(cores.max(initial=0)), 1)
    log.notes.append(f"no machine was given; it has as many as were in use at once, {peak:,} cores")
    return Machine.pool(peak, name=log.path.name)
