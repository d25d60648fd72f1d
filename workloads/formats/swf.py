"""Read the Standard Workload Format of the Parallel Workloads Archive.

The format has one record per line with 18 numbers. It is described at
https://www.cs.huji.ac.il/labs/parallel/workload/swf.html. Header lines begin with a semicolon.
"""

import io
import re
import warnings
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from typing import Any

import numpy as np
import pandas as pd

from ...base import FloatArray, InputError, IntArray, rises, shown
from ...base.checks import AMOUNT, COUNT, PROCESSORS, SECONDS, Range
from ..job_columns import Coded
from ..machine import Machine
from ..workload import Workload
from .job_builder import Mask, TraceRecords, assemble, compact, peak, repeated
from .read_log import Malformed, NothingUsableError, ReadingLog, ReadOptions, counted
from .trace_files import TraceFile, decode


@dataclass(frozen=True, slots=True)
class Field:
    """One of the 18 fields.

    Attributes
    ----------
    name
        Its name in messages.
    column
        Its column in ``Workload.records``; ``None`` if a :class:`~hpcdispatch.workloads.Job` has the field itself.
    range
        Its allowed numbers.
    """

    name: str
    column: str | None
    range: Range


FIELDS = (
    Field("job number", None, COUNT),
    Field("submit time", None, SECONDS),
    Field("wait time", "wait", AMOUNT),
    Field("run time", None, SECONDS),
    Field("allocated processors", "allocated_processors", PROCESSORS),
    Field("average CPU time used", "cpu_time", AMOUNT),
    Field("used memory", "used_memory", AMOUNT),
    Field("requested processors", "requested_processors", PROCESSORS),
    Field("walltime", "requested_time", SECONDS),
    Field("requested memory", "requested_memory", AMOUNT),
    Field("status", "status", COUNT),
    Field("user", None, COUNT),
    Field("group", None, COUNT),
    Field("executable", None, COUNT),
    Field("queue", None, COUNT),
    Field("partition", "partition", COUNT),
    Field("preceding job", "preceding_job", COUNT),
    Field("think time", "think_time", AMOUNT),
)
COLUMNS = tuple(field.column for field in FIELDS if field.column is not None)
JOB = 0
SUBMIT = 1
RUN = 3
ALLOCATED = 4
REQUESTED = 7
TIME = 8
MEMORY = 9
STATUS = 10
USER = 11
GROUP = 12
EXECUTABLE = 13
QUEUE = 14
#: The most fields of a record, and the bytes of memory that one beyond the 18 takes.
_MOST_FIELDS, _A_FIELD = 64, 160
#: The fields beyond the 18 in the traces of Frontier.
FRONTIER = ("gpus", "soft_walltime", "site")

_NUMBER = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_LEADING = re.compile(r"\d{1,3}(?:,\d{3})+(?![\d.])|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_TO_LINE_END = re.compile(rb"[^\r\n]*")
_FIRST_RECORD = re.compile(rb"^[ \t]*[^;\s][^\r\n]*", re.MULTILINE)


def parse_swf(file: TraceFile, options: ReadOptions, log: ReadingLog) -> Workload:
    """Convert an SWF file to a workload.

    ``Workload.records`` gets the columns `COLUMNS`, with unchanged numbers (-1 if unknown). ``wait``, ``cpu_time``,
    ``requested_time`` and ``think_time`` are in seconds. ``used_memory`` and ``requested_memory`` are in kilobytes per
    processor. The others are ``allocated_processors``, ``requested_processors``, ``status``, ``partition`` and
    ``preceding_job``. Numeric fields beyond the 18 follow, with the names in the file.

    Raises
    ------
    InputError
        For a trace without usable records. Unless lenient for malformed records. If strict for unusable ones.
    """
    data = file.read()
    values, read = _parse(data), _Lines()
    if values is None:
        values, read = _parse_carefully(data)
    values = np.asfortranarray(values)  # All that follows works on single columns.
    if not len(values) and not read.malformed:
        raise InputError(f"{log.path}: expected records of 18 fields, got none")

    def numbers() -> Sequence[int]:
        return read.numbers if len(read.numbers) else _parse_carefully(data)[1].numbers

    log.commented(read.comments)
    values, rows = _one_record_per_job(values, log)
    kept, wrong = _check(values, rows, numbers)
    log.settle(read.malformed + wrong, lenient=options.lenient)
    if not kept.any():
        raise NothingUsableError(f"{log.path}: expected well-formed records, got none")
    if not kept.all():
        values = values[kept]
        rows = np.flatnonzero(kept) if rows is None else rows[kept]
    values, rows = _in_order(values, rows, log)
    header = tuple(map(decode, _header_lines(data)))

    def lines() -> Sequence[int]:
        every = np.array(numbers())
        chosen: list[int] = (every if rows is None else every[rows]).tolist()
        return chosen

    table = _table(values, lines)
    del values  # the largest array
    if read.beyond:
        extra = _beyond(read, header, file, log)
        extra = extra if rows is None else extra.iloc[rows]
        table = replace(table, records=pd.concat([table.records, extra.reset_index(drop=True)], axis=1))
    machine = options.machine or _pool(header, table, log)
    return _with_dependencies(assemble(_that_ran(table, machine, log), machine, header, options, log))


def _header_lines(data: bytes) -> Iterator[bytes]:
    """Yield the lines that begin with a semicolon, without their ends.

    A search for semicolons is quick, since records have none.
    """
    at = data.find(b";")
    while at >= 0:
        begin = max(data.rfind(b"\n", 0, at), data.rfind(b"\r", 0, at)) + 1
        line = _TO_LINE_END.match(data, at)
        assert line is not None
        if not data[begin:at].strip(b" \t"):
            yield data[begin : line.end()]
        at = data.find(b";", line.end())


@dataclass(slots=True)
class _Lines:
    """Results of a careful reading besides the 18 fields.

    Attributes
    ----------
    numbers
        The line of each record; empty if lines were not counted.
    malformed
        Lines that are no records.
    names
        The names of the fields, if a line has them.
    beyond
        The fields beyond the 18 of each record, with blanks between; empty if no record has any.
    comments
        How many lines begin with ``#``.
    """

    numbers: Sequence[int] = ()
    malformed: list[Malformed] = dataclass_field(default_factory=list)
    names: tuple[str, ...] = ()
    beyond: list[bytes] = dataclass_field(default_factory=list)
    comments: int = 0


def _one_record_per_job(values: FloatArray, log: ReadingLog) -> tuple[FloatArray, IntArray | None]:
    """Drop empty lines, partial executions and repeats. Return the remaining rows, if not all."""
    status = values[:, STATUS]
    ids = values[:, JOB]
    kept = np.ones(len(values), dtype=np.bool_)

    def leave_out(mask: Mask, what: str, text: str, reason: str) -> None:
        if mask.any():
            count = int(mask.sum())
            log.note(f"{counted(count, what)} {text}", f"job {ids[mask.argmax()]:g}", **{reason: count})
            np.logical_and(kept, ~mask, out=kept)

    empty = values[:, SUBMIT] == -1
    for column in (RUN, ALLOCATED, REQUESTED):
        empty &= values[:, column] == -1
    leave_out(empty, "record", "without times and processors (all -1) left out", "records without times")
    partial = (status >= 2) & (status <= 4) & kept
    if partial.any():
        first = np.flatnonzero(partial & ~np.isin(ids, ids[kept & ~partial]))  # of jobs without a summary line
        whole = pd.Series(values[first, RUN]).groupby(ids[first]).agg(lambda runs: runs[runs > 0].sum())
        last = pd.Series(status[first]).groupby(ids[first]).last()
        first = first[~pd.Series(ids[first]).duplicated().to_numpy()]
        values = values.copy()
        values[first, RUN], values[first, STATUS] = (
            whole.reindex(ids[first]),
            np.where(last.reindex(ids[first]) == 4, 0, 1),
        )
        partial[first] = False
        leave_out(partial, "partial execution", "folded into the record of the whole job", "partial executions")
    if not rises(ids):
        twice = np.flatnonzero(kept & pd.Series(np.where(kept, ids, np.nan)).duplicated(keep=False).to_numpy())
        repeats = np.zeros(len(values), dtype=np.bool_)
        repeats[twice[pd.DataFrame(values[twice]).duplicated().to_numpy()]] = True
        leave_out(repeats, "record", "merged with an equal one", "repeated records")
    return (values, None) if kept.all() else (values[kept], np.flatnonzero(kept))


def _in_order(values: FloatArray, rows: IntArray | None, log: ReadingLog) -> tuple[FloatArray, IntArray | None]:
    """Sort records by submission, and renumber jobs with a repeated number."""
    submit = values[:, SUBMIT]
    falls = np.flatnonzero(submit < np.maximum.accumulate(submit))
    again = np.flatnonzero(repeated(values[:, JOB], np.ones(len(values), dtype=np.bool_)))
    if len(again):
        first = int(values[:, JOB].max()) + 1
        log.note(
            f"{counted(len(again), 'job')} with the number of another job, as in merged traces, numbered from {first}",
            f"job {values[again[0], JOB]:.0f}",
            jobs_renumbered=len(again),
        )
        values = values.copy()
        values[again, JOB] = np.arange(first, first + len(again))
    if len(falls):
        log.note(
            f"{counted(len(falls), 'record')} out of the order of submission sorted",
            f"job {values[falls[0], JOB]:.0f}",
            records_sorted=len(falls),
        )
        order = np.argsort(submit, kind="stable")
        values = values[order]
        rows = order if rows is None else rows[order]
    return values, rows


def _beyond(read: _Lines, header: Sequence[str], file: TraceFile, log: ReadingLog) -> pd.DataFrame:
    """Return the numeric fields beyond the 18, one row per line of the file, and note them."""
    width = max(fields.count(b" ") + 1 for fields in read.beyond if fields)
    file.take(_A_FIELD * width * len(read.beyond))
    whole = len(FIELDS) + width
    titles = [read.names, *(line.lstrip("; \t").split() for line in header)]
    names = next((list(title[len(FIELDS) :]) for title in titles if len(title) == whole), None)
    if names is None:
        is_frontier = width == len(FRONTIER) and any(b":" in fields.split(b" ")[-1] for fields in read.beyond if fields)
        names = list(FRONTIER) if is_frontier else [f"field_{number}" for number in range(len(FIELDS) + 1, whole + 1)]
    count = sum(map(bool, read.beyond))
    log.note(
        f"{counted(count, 'record')} read without fields beyond the {len(FIELDS)}, of which 'records' keeps the "
        f"numbers: {', '.join(names)}",
        fields_beyond_18=count,
    )
    rows = [[*texts, *[""] * (width - len(texts))] for texts in (decode(fields).split(" ") for fields in read.beyond)]
    texts = pd.DataFrame(rows, columns=pd.Index(names))
    numbers = texts.apply(pd.to_numeric, errors="coerce")
    columns: pd.DataFrame = numbers.loc[:, numbers.notna().any() & ~numbers.columns.isin(COLUMNS)].fillna(-1)
    return columns


def _with_dependencies(workload: Workload) -> Workload:
    """Let jobs depend on the end of their preceding job. The think time follows it.

    A preceding job that is missing, or comes later, is ignored.
    """
    records = workload.records
    ids = workload.columns.ids
    if records is None or not (records["preceding_job"].to_numpy() > 0).any():
        return workload
    places = pd.Series(np.arange(len(ids)), index=ids)
    before = places.reindex(records["preceding_job"]).to_numpy(dtype=np.float64)
    waits = before < np.arange(len(ids))
    named = records["preceding_job"].tolist()
    think = np.maximum(records["think_time"], 0).tolist()
    depends = [
        ((str(job), "afterany", int(delay)),) if wait else ()
        for job, delay, wait in zip(named, think, waits.tolist(), strict=True)
    ]
    lost = int((records["preceding_job"] > 0).sum() - waits.sum())
    notes = [f"{counted(int(waits.sum()), 'job')} let wait for the preceding job and the think time after it"]
    notes += [f"{counted(lost, 'preceding job')} not in the trace, or later in it, not waited for"] if lost else []
    counts = {"with a preceding job": int(waits.sum())} | ({"preceding jobs not found": lost} if lost else {})
    said = workload.provenance
    said = replace(said, notes=(*said.notes, *notes), counts=said.counts | counts)
    jobs = workload.columns.take(slice(None), depends=Coded.gathered(depends))
    return replace(workload, jobs=jobs, provenance=said)


def _that_ran(table: TraceRecords, machine: Machine, log: ReadingLog) -> TraceRecords:
    """Use the allocated processors of jobs that requested more than the machine has, and ran on fewer."""
    most = min(
        (
            int(machine.capacity[:, machine.resources.index(name)].sum()) // unit
            for name, unit in machine.equivalence.items()
            if name in machine.resources
        ),
        default=0,
    )
    allocated = table.records["allocated_processors"].to_numpy()
    fewer = (table.processors > most) & (allocated > 0) & (allocated <= most)
    if not fewer.any():
        return table
    count = int(fewer.sum())
    row = int(fewer.argmax())
    log.note(
        f"{counted(count, 'job')} with a request above the machine counted with the processors of the run",
        f"job {table.ids[row]}",
        counted_by_allocation=count,
    )
    return replace(table, processors=np.where(fewer, allocated, table.processors).astype(np.int64))


def header_value(header: Sequence[str], key: str) -> str | None:
    """Return the value of the first header line ``; KEY: value``, or ``None``. Case is ignored."""
    wanted = key.lower()
    for line in header:
        name, colon, value = line.lstrip("; \t").partition(":")
        if colon and name.strip().lower() == wanted:
            return value.strip()
    return None


def header_number(header: Sequence[str], key: str) -> int | None:
    """Return the whole number >= 1 at the begin of a header value, or ``None``.

    Values such as ``338 (batch partition; 512 total)`` are common.

    Raises
    ------
    InputError
        For a number that is not whole or above :data:`MOST_PROCESSORS`.
    """
    value = header_value(header, key) or ""
    match = _LEADING.match(value)
    if match is None:
        return None
    number = float(match[0].replace(",", ""))
    if PROCESSORS.outside(np.array([number])).any():
        raise InputError(f"header {key}: expected {PROCESSORS}, got {shown(value)}")
    return int(number) or None


def _pool(header: Sequence[str], table: TraceRecords, log: ReadingLog) -> Machine:
    try:
        cores = header_number(header, "MaxProcs")
        nodes = header_number(header, "MaxNodes") if cores is None else None
    except InputError as error:
        raise InputError(f"{log.path}: {error}") from None
    if cores is None:
        records = table.records
        wait = records["wait"].to_numpy()
        allocated = records["allocated_processors"].to_numpy()
        used = np.where(allocated > 0, allocated, table.processors)
        ran = (wait >= 0) & (table.runtime > 0) & (used > 0)
        begin = (table.submit + wait)[ran]
        cores = max(
            peak(begin, begin + table.runtime[ran], used[ran].astype(np.int64)), int(table.processors.max()), nodes or 1
        )
        source = "were in use at once by the recorded starts" if ran.any() else "the largest request"
        source = f"its MaxNodes, {nodes:,}" if cores == nodes else source
        log.notes.append(f"the header gives no MaxProcs; the machine has as many cores as {source}: {cores:,}")
    return Machine.pool(cores, name=header_value(header, "Computer") or "")


def _parse(data: bytes) -> FloatArray | None:
    """Return the records as an array of 18 columns, or ``None`` if any line is not 18 plain numbers."""
    first = _FIRST_RECORD.search(data)
    if first is not None and len(first[0].partition(b";")[0].split()) != len(FIELDS):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # no records at all, which the caller refuses
            values = np.loadtxt(io.BytesIO(data), comments=";", ndmin=2, encoding="latin-1")
    except (ValueError, OverflowError):
        return None
    return values if values.shape[1] == len(FIELDS) and np.isfinite(values).all() else None


def _parse_carefully(data: bytes) -> tuple[FloatArray, _Lines]:
    """Read line by line. Return the records that begin with 18 numbers, and the other findings."""
    numbers, lines = array("d"), array("q")
    findings = _Lines(lines)
    beyond: list[bytes] = []
    for number, line in enumerate(data.splitlines(), 1):
        tokens = line.partition(b";")[0].split()
        if not tokens:
            continue
        if tokens[0].startswith(b"#"):
            findings.comments += 1
            continue
        if not lines and not findings.names and len(tokens) > 4 and not any(map(_NUMBER.fullmatch, tokens)):
            findings.names = tuple(decode(token) for token in tokens)
            continue
        wrong = _wrong_tokens(tokens)
        if wrong is not None:
            findings.malformed.append(Malformed(number, *wrong))
        else:
            numbers.extend(map(float, tokens[: len(FIELDS)]))
            lines.append(number)
            beyond.append(b" ".join(tokens[len(FIELDS) :]))
    findings.beyond = beyond if any(beyond) else []
    return np.frombuffer(numbers, dtype=np.float64).reshape(len(lines), len(FIELDS)), findings


def _wrong_tokens(tokens: list[bytes]) -> tuple[str, str] | None:
    if not len(FIELDS) <= len(tokens) <= _MOST_FIELDS:
        return "wrong number of fields", f"expected {len(FIELDS)} fields, got {len(tokens)}"
    for field, token in zip(FIELDS, tokens, strict=False):
        if not _NUMBER.fullmatch(token):
            return "not a number", f"field {field.name!r}: expected a number, got {shown(decode(token))}"
    return None


def _check(values: FloatArray, rows: IntArray | None, lines: Any) -> tuple[Mask, list[Malformed]]:
    """Return which records are well-formed, and the errors of the others."""
    kept = np.ones(len(values), dtype=np.bool_)
    errors: list[tuple[int, str, str]] = []

    def refuse(mask: Mask, reason: str, column: int, expected: str) -> None:
        for row in np.flatnonzero(mask & kept).tolist():
            message = f"field {FIELDS[column].name!r}: expected {expected}, got {values[row, column]:.15g}"
            errors.append((row, reason, message))
        np.logical_and(kept, ~mask, out=kept)

    for column, field in enumerate(FIELDS):
        outside = field.range.outside(values[:, column])
        if outside.any():
            large = np.abs(values[:, column]) > field.range.most
            refuse(large, "number too large", column, str(field.range))
            refuse(outside, "not a whole number", column, "a whole number")
    refuse(values[:, SUBMIT] < 0, "negative submission time", SUBMIT, "seconds >= 0")
    at = lines() if errors else ()
    return kept, [
        Malformed(at[row if rows is None else int(rows[row])], reason, message) for row, reason, message in errors
    ]


def _table(values: FloatArray, lines: Any) -> TraceRecords:
    requested = values[:, REQUESTED]
    allocated = values[:, ALLOCATED]
    zero = np.zeros(len(values), dtype=np.int64)
    texts: dict[str, Any] = {
        name: Coded.of(values[:, column].astype(np.int64), lambda number: "" if number == -1 else str(number))
        for name, column in (("user", USER), ("group", GROUP), ("name", EXECUTABLE), ("queue", QUEUE))
    }
    return TraceRecords(
        lines=lines,
        ids=values[:, JOB].astype(np.int64),
        submit=values[:, SUBMIT].copy(),
        runtime=values[:, RUN].copy(),
        requested_time=values[:, TIME].copy(),
        processors=np.where(requested > 0, requested, allocated).astype(np.int64),
        memory=values[:, MEMORY].copy(),
        gpus=zero,
        nodes=zero,
        records=pd.DataFrame(
            {
                field.column: compact(values[:, number])
                for number, field in enumerate(FIELDS)
                if field.column is not None
            }
        ),
        **texts,
    )
