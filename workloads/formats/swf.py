"""Reading the Standard Workload Format of the Parallel Workloads Archive.

The format has one record a line with 18 numbers, described at
https://www.cs.huji.ac.il/labs/parallel/workload/swf.html, and header lines that begin with a semicolon.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...base import FloatArray, InputError
from ...base.checks import AMOUNT, COUNT, PROCESSORS, SECONDS, Range, shown
from ..job_columns import Coded
from ..machine import Machine
from ..workload import Workload
from .job_builder import Mask, Table, assemble, compact, repeated
from .read_log import Log, Malformed, NothingUsableError, ReadOptions
from .trace_files import decode


@dataclass(frozen=True, slots=True)
class Field:
    """One of the 18 fields.

    Attributes
    ----------
    name
        Its name in messages.
    column
        Its column in ``Workload.records``; ``None`` where a :class:`~hpcdispatch.workloads.Job` has the
        field itself.
    range
        The numbers it may have.
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
    Field("requested time", "requested_time", SECONDS),
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
JOB, SUBMIT, RUN, ALLOCATED, REQUESTED, TIME, MEMORY, USER, GROUP, EXECUTABLE, QUEUE = (
    0,
    1,
    3,
    4,
    7,
    8,
    9,
    11,
    12,
    13,
    14,
)

_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
_NUMBER = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_LEADING = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
# pandas reads decimals exactly by default since 3.1; before, it has to be asked to
_EXACT: dict[str, Any] = {} if _PANDAS >= (3, 1) else {"float_precision": "round_trip"}
#: Records that are parsed at a time.
_BLOCK = 1 << 16


def parse_swf(data: bytes, options: ReadOptions, log: Log) -> Workload:
    """Turn the bytes of an SWF file into a workload.

    ``Workload.records`` gets the columns `COLUMNS`, numbers as they stood (-1 where unknown): ``wait``,
    ``cpu_time``, ``requested_time`` and ``think_time`` in seconds, ``used_memory`` and ``requested_memory``
    in kilobytes per processor, ``allocated_processors``, ``requested_processors``, ``status``,
    ``partition`` and ``preceding_job``.

    Raises
    ------
    InputError
        For malformed records unless lenient, unusable ones if strict, and a trace without usable records.
    """
    values = _parse(data)
    lines: Sequence[int] | None = None
    malformed: list[Malformed] = []
    if values is None:
        values, lines, malformed = _parse_carefully(data)
    if not len(values) and not malformed:
        raise InputError(f"{log.path}: expected records of 18 fields, got none")
    kept, wrong = _check(values, lambda: lines if lines is not None else _record_lines(data))
    log.settle(malformed + wrong, lenient=options.lenient)
    if not kept.any():
        raise NothingUsableError(f"{log.path}: expected well-formed records, got none")
    header = tuple(decode(line) for line in _header_lines(data))

    def kept_lines() -> Sequence[int]:
        every = np.array(lines if lines is not None else _record_lines(data))
        chosen: list[int] = every[kept].tolist()
        return chosen

    table = _table(values if kept.all() else values[kept], kept_lines)
    del values  # the largest there is
    machine = options.machine
    if machine is None:
        machine = _pool(header, table, log)
    return assemble(table, machine, header, options, log)


def header_value(header: Sequence[str], key: str) -> str | None:
    """Return the value of the first header line ``; KEY: value``, or ``None``; case does not matter."""
    wanted = key.lower()
    for line in header:
        name, colon, value = line.lstrip("; \t").partition(":")
        if colon and name.strip().lower() == wanted:
            return value.strip()
    return None


def header_number(header: Sequence[str], key: str) -> int | None:
    """Return the whole number >= 1 that a header value begins with, or ``None`` if it begins with none.

    Values such as ``338 (batch partition; 512 total)`` are common.

    Raises
    ------
    InputError
        For a number that is not whole or above :data:`MOST_PROCESSORS`.
    """
    value = header_value(header, key) or ""
    found = _LEADING.match(value)
    if found is None:
        return None
    number = float(found[0])
    if PROCESSORS.outside(np.array([number])).any():
        raise InputError(f"header {key}: expected {PROCESSORS}, got {shown(value)}")
    return int(number) or None


def _pool(header: Sequence[str], table: Table, log: Log) -> Machine:
    try:
        cores = header_number(header, "MaxProcs")
        nodes = header_number(header, "MaxNodes") if cores is None else None
    except InputError as error:
        raise InputError(f"{log.path}: {error}") from None
    if cores is None:
        cores = nodes
        if cores is not None:
            log.notes.append(f"the header gives no MaxProcs; the machine has its MaxNodes, {cores:,} cores")
    if cores is None:
        cores = max(int(table.processors.max()), 1)
        log.notes.append(
            f"the header gives no MaxProcs; the machine has as many as the largest request, {cores:,} cores"
        )
    return Machine.pool(cores, name=header_value(header, "Computer") or "")


def _header_lines(data: bytes) -> Iterator[bytes]:
    """Yield the lines that begin with a semicolon, without their ends."""
    at = data.find(b";")
    while at >= 0:
        begin = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        if not data[begin:at].strip(b" \t"):
            yield data[begin:end].partition(b"\r")[0]
        at = data.find(b";", end)


def _parse(data: bytes) -> FloatArray | None:
    """Return the records as an array of 18 columns, or ``None`` if any line is not 18 plain numbers."""
    if _has_letter_n(data):
        return None
    values = np.empty((data.count(b"\n") + 1, len(FIELDS)), order="F")
    rows = 0
    try:
        with _blocks(data) as frames:
            for frame in frames:
                block = frame.to_numpy(dtype=np.float64)
                plain = isinstance(frame.index, pd.RangeIndex) and np.isfinite(block[:, :-1]).all()
                if not plain or not np.isnan(block[:, -1]).all():
                    return None
                values[rows : rows + len(block)] = block[:, :-1]
                rows += len(block)
    except (ValueError, OverflowError):  # parser errors of pandas; whole numbers too large for a float
        return None
    return values[:rows]


def _has_letter_n(data: bytes) -> bool:
    """Return whether there is one outside of comments, as in all that pandas takes for a missing number."""
    for letter in (b"n", b"N"):
        at = data.find(letter)
        while at >= 0:
            if b";" not in data[data.rfind(b"\n", 0, at) + 1 : at]:
                return True
            end = data.find(b"\n", at)
            at = data.find(letter, end) if end >= 0 else -1
    return False


def _blocks(data: bytes) -> Any:
    """Return pandas' reader of the numbers, some records at a time."""
    return pd.read_csv(
        io.BytesIO(data),
        sep=r"\s+",
        header=None,
        names=list(range(len(FIELDS) + 1)),  # one more than there may be, so that a longer line shows
        comment=";",
        dtype=np.float64,
        quoting=csv.QUOTE_NONE,
        **_EXACT,
        chunksize=_BLOCK,
        encoding="latin-1",
    )


def _record_lines(data: bytes) -> list[int]:
    """Return the line numbers of the records, from 1."""
    return [
        number
        for number, line in enumerate(data.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith(b";")
    ]


def _parse_carefully(data: bytes) -> tuple[FloatArray, list[int], list[Malformed]]:
    """Read line by line; return the records that are 18 numbers, their lines, and the others."""
    rows: list[list[float]] = []
    lines: list[int] = []
    malformed: list[Malformed] = []
    for number, line in enumerate(data.splitlines(), 1):
        tokens = line.partition(b";")[0].split()
        if not tokens:
            continue
        wrong = _wrong_tokens(tokens)
        if wrong is not None:
            malformed.append(Malformed(number, *wrong))
        else:
            rows.append([float(token) for token in tokens])
            lines.append(number)
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(FIELDS)), lines, malformed


def _wrong_tokens(tokens: list[bytes]) -> tuple[str, str] | None:
    if len(tokens) != len(FIELDS):
        return "wrong number of fields", f"expected {len(FIELDS)} fields, got {len(tokens)}"
    for field, token in zip(FIELDS, tokens, strict=True):
        if not _NUMBER.fullmatch(token):
            return "not a number", f"field {field.name!r}: expected a number, got {shown(decode(token))}"
    return None


def _check(values: FloatArray, lines: Any) -> tuple[Mask, list[Malformed]]:
    """Return which records are well-formed, and what is wrong with the others."""
    kept = np.ones(len(values), dtype=np.bool_)
    found: list[tuple[int, str, str]] = []

    def refuse(mask: Mask, reason: str, column: int, expected: str) -> None:
        for row in np.flatnonzero(mask & kept).tolist():
            message = f"field {FIELDS[column].name!r}: expected {expected}, got {values[row, column]:.15g}"
            found.append((row, reason, message))
        np.logical_and(kept, ~mask, out=kept)

    for column, field in enumerate(FIELDS):
        outside = field.range.outside(values[:, column])
        if outside.any():
            large = np.abs(values[:, column]) > field.range.most
            refuse(large, "number too large", column, str(field.range))
            refuse(outside, "not a whole number", column, "a whole number")
    submit = values[:, SUBMIT]
    refuse(submit < 0, "negative submission time", SUBMIT, "seconds >= 0")
    largest = np.maximum.accumulate(np.where(kept, submit, 0.0))
    for row in np.flatnonzero(kept & (submit < largest)).tolist():
        message = f"field 'submit time': expected >= {largest[row]:.15g} as before it, got {submit[row]:.15g}"
        found.append((row, "unsorted submission", message))
    kept &= submit >= largest
    refuse(repeated(values[:, JOB], kept), "duplicate id", JOB, "a number not used before")
    at = lines() if found else ()
    return kept, [Malformed(at[row], reason, message) for row, reason, message in found]


def _table(values: FloatArray, lines: Any) -> Table:
    requested, allocated = values[:, REQUESTED], values[:, ALLOCATED]
    zero = np.zeros(len(values), dtype=np.int64)
    texts: dict[str, Any] = {
        name: Coded.of(values[:, column].astype(np.int64), lambda number: "" if number == -1 else str(number))
        for name, column in (("user", USER), ("group", GROUP), ("name", EXECUTABLE), ("queue", QUEUE))
    }
    return Table(
        lines=lines,
        ids=values[:, JOB].astype(np.int64),
        submit=values[:, SUBMIT].copy(),
        runtime=values[:, RUN].copy(),
        requested_time=values[:, TIME].copy(),
        processors=np.where(requested > 0, requested, allocated).astype(np.int64),
        memory=values[:, MEMORY].copy(),
        gpus=zero,
        nodes=zero,
        records=pd.DataFrame({
            field.column: compact(values[:, number])
            for number, field in enumerate(FIELDS)
            if field.column is not None
        }),
        **texts,
    )  # fmt: skip
