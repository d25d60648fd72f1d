"""The last steps of every reader. They drop unusable records, fill in walltimes and build the jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...base import FloatArray, InputError, IntArray, rises
from ..job import ResourceMap
from ..job_columns import Coded, JobColumns
from ..machine import Machine
from ..sanity import FILLED
from ..workload import Provenance, Workload
from .read_log import NoRequestedTimesError, NothingUsableError, ReadingLog, ReadOptions, counted
from .slots import GPU, MEMORY, NodeRequest, Slotter

Mask = NDArray[np.bool_]

#: The status of a cancelled job in SWF.
CANCELLED = 5
#: In a column of walltimes: the job has the limit of its partition.
OF_PARTITION = -2.0
#: First words of states of jobs that have not ended.
UNFINISHED = ("RUNNING", "PENDING", "SUSPENDED", "REQUEUED", "COMPLETING", "CONFIGURING", "RESIZING", "REQUEUE_HOLD")
#: The walltime (s) of jobs without any limit: 365 days. It is the longest that Slurm's own unlimited partitions grant.
UNLIMITED = 365 * 86400.0


@dataclass(frozen=True, slots=True)
class TraceRecords:
    """The well-formed records of a trace in order of submission.

    There is one array per attribute, one entry per record.

    Attributes
    ----------
    lines
        Returns the line of each record; called only for messages.
    ids
        Returns the job ids; called only for usable records.
    submit, runtime, requested_time
        Seconds. A walltime <= 0 is missing, and infinite means no limit. :data:`OF_PARTITION` is the limit of the
        queue.
    processors
        <= 0 if unknown.
    memory
        Kilobytes per processor, <= 0 if unknown.
    gpus, nodes
        Of the whole job; 0 if unknown.
    user, group, name, queue
        Texts, empty if unknown.
    records
        Fields that a job lacks.
    unusable
        Further reasons why records cannot be used, with the mask of the records.
    more
        Further columns of jobs, as in :class:`.JobColumns`.
    slots, partition
        Texts of unequal slots and of partitions; ``None``: none.
    """

    lines: Callable[[], Sequence[int]]
    ids: Any
    submit: FloatArray
    runtime: FloatArray
    requested_time: FloatArray
    processors: IntArray
    memory: FloatArray
    gpus: IntArray
    nodes: IntArray
    user: Coded
    group: Coded
    name: Coded
    queue: Coded
    records: pd.DataFrame
    unusable: tuple[tuple[str, Mask], ...] = ()
    more: Mapping[str, Coded] = field(default_factory=dict)
    slots: Coded | None = None
    partition: Coded | None = None

    def take(self, rows: Mask) -> TraceRecords:
        """Return the table of some of the records."""
        return replace(
            self,
            **{
                name: getattr(self, name)[rows]
                for name in ("ids", "submit", "runtime", "requested_time", "processors", "memory", "gpus", "nodes")
            },
            **{name: getattr(self, name).take(rows) for name in ("user", "group", "name", "queue")},
            more={name: column.take(rows) for name, column in self.more.items()},
            slots=None if self.slots is None else self.slots.take(rows),
            partition=None if self.partition is None else self.partition.take(rows),
            records=self.records[rows].reset_index(drop=True),
            unusable=(),
        )


@dataclass(frozen=True, slots=True)
class _Shapes:
    """The distinct shapes of the jobs, and the shape of each job; ``None`` does not fit the machine."""

    codes: IntArray
    values: list[NodeRequest | None]


def assemble(
    table: TraceRecords, machine: Machine, header: tuple[str, ...], options: ReadOptions, log: ReadingLog
) -> Workload:
    """Convert records to a workload.

    Raises
    ------
    InputError
        If no usable records are left, walltimes cannot be filled in, or the machine lacks a resource. With `strict`
        also for an unusable record.
    """
    table = _with_run_times(table, options, log)
    slotter = Slotter(machine)
    table = _in_partitions(table, slotter)
    shapes = _shapes(table, slotter, log)
    usable = _usable(table, shapes, options, log)
    shapes = _Shapes(shapes.codes[usable], shapes.values)
    table = table if usable.all() else table.take(usable)
    table = _partition_limits(table, options, log)
    if options.default_walltime == "drop":
        known = _with_walltime(table, log)
        shapes = _Shapes(shapes.codes[known], shapes.values)
        table = table.take(known)
    table = _fill_requested_times(table, options, log)
    table = _whole_seconds(table, log)
    shown = {
        "machine": None if options.machine is None else options.machine.describe(),
        "lenient": options.lenient,
        "strict": options.strict,
        "default_walltime": options.default_walltime,
        "timezone": options.timezone,
    }
    shown |= {name: value for name in ("format", "cluster", "keep_zero") if (value := getattr(options, name))}
    rules = {name: getattr(options, name) for name in ("zero_runtime", "unknown_runtime")}
    shown |= {name: value for name, value in rules.items() if value is not None}
    provenance = Provenance(log.path.name, shown, header, tuple(log.notes), dict(log.counts), dict(log.examples))
    return Workload(_jobs(table, shapes), machine, provenance, table.records)


def _with_run_times(table: TraceRecords, options: ReadOptions, log: ReadingLog) -> TraceRecords:
    """Replace run times that are 0 or unknown, as the options say. Notes say which are, and which are left out."""
    ended = np.ones(len(table.submit), dtype=np.bool_)
    for _, mask in table.unusable:
        ended &= ~mask
    runtime = table.runtime
    if options.keep_zero:
        runtime = _zero_as_a_second(table, ended, log)
    for kind, mask, seconds in (
        ("run time 0", table.runtime == 0, options.zero_runtime),
        ("an unknown run time", table.runtime < 0, options.unknown_runtime),
    ):
        chosen = mask & ended
        if seconds is not None and chosen.any():
            count = int(chosen.sum())
            log.notes.append(f"{counted(count, 'job')} with {kind} counted as {seconds} s")
            log.counts[f"{kind.removeprefix('an ')} counted as {seconds} s"] = count
            runtime = np.where(chosen, float(seconds), runtime)
    return replace(table, runtime=runtime)


def _zero_as_a_second(table: TraceRecords, ended: Mask, log: ReadingLog) -> FloatArray:
    """Return the run times, those recorded as 0 (less than half a second) as one second.

    Jobs that were cancelled before they started, or have no processors, keep theirs, and are left out.
    """
    zero = (table.runtime == 0) & ended
    left = {"without a processor count": zero & (table.processors <= 0)}
    if "status" in table.records:
        left["cancelled"] = zero & (table.records["status"].to_numpy() == CANCELLED) & (table.processors > 0)
    kept = zero.copy()
    for mask in left.values():
        kept &= ~mask
    if kept.any():
        count = int(kept.sum())
        log.note(f"{counted(count, 'job')} with run time 0 kept, as one second", kept_as_one_second=count)
    if (kept != zero).any():
        said = ", ".join(f"{int(mask.sum()):,} {reason}" for reason, mask in left.items() if mask.any())
        log.notes.append(f"{counted(int((kept != zero).sum()), 'job')} with run time 0 not kept: {said}")
    return np.where(kept, 1.0, table.runtime)


def _in_partitions(table: TraceRecords, slotter: Slotter) -> TraceRecords:
    """Return the records with their partitions: their queues, if the records have no others.

    On a machine with partitions, a job of another one cannot be used. A job of none may use all nodes.
    """
    if not slotter.partitions:
        return replace(table, partition=None)
    partition = table.queue if table.partition is None else table.partition
    lacks = np.array([bool(name) and name not in slotter.partitions for name in partition.values], dtype=np.bool_)[
        partition.codes
    ]
    unusable = (*table.unusable, ("of a partition that the machine lacks", lacks))
    return replace(table, partition=partition, unusable=unusable)


def _shapes(table: TraceRecords, slotter: Slotter, log: ReadingLog) -> _Shapes:
    zero = np.zeros(len(table.submit), dtype=np.int64)
    memory = np.ceil(np.maximum(table.memory, 0)).astype(np.int64) if slotter.takes(MEMORY) else zero
    gpus = table.gpus if slotter.takes(GPU) else zero
    slots, partition = (
        zero if column is None else column.codes.astype(np.int64) for column in (table.slots, table.partition)
    )
    columns = [np.maximum(table.processors, 0), memory, gpus, table.nodes, slots, partition]
    codes = zero
    for column in columns:
        if (column == column[:1]).all():  # Most traces have no memory, GPUs or nodes.
            continue
        mine, values = pd.factorize(column)
        codes = pd.factorize(codes * len(values) + mine)[0] if codes.any() else mine
    rows = np.arange(len(codes))
    first = np.empty(codes.max(initial=-1) + 1, dtype=np.int64)
    first[codes[::-1]] = rows[::-1]
    shapes: list[NodeRequest | None] = []
    others: list[int] = []
    for place, (processors, mem, gpu, least, text, name) in enumerate(
        zip(*(column[first].tolist() for column in columns), strict=True)
    ):
        listed = "" if table.slots is None else table.slots.values[text]
        where = "" if table.partition is None else table.partition.values[name]
        request = slotter.unequal(listed, processors, mem, gpu, where) if listed else None
        if request is None and processors > 0:
            equal = slotter.shape(processors, memory=mem, gpus=gpu, least=max(least, 1), partition=where)
            request = None if equal is None else NodeRequest(*equal)
            if request is not None and slotter.divides(listed):
                others.append(place)
        shapes.append(request)
    if others:
        count = int(np.isin(codes, others).sum())
        log.note(
            f"{counted(count, 'job')} with unequal slots read with equal ones: a slot fits no node, or they are no "
            "multiples of one amount",
            slots_read_as_equal=count,
        )
    return _Shapes(np.asarray(codes, dtype=np.int64), shapes)


def _usable(table: TraceRecords, shapes: _Shapes, options: ReadOptions, log: ReadingLog) -> Mask:
    """Return the mask of the usable records. Note the others in one line, or refuse them if strict."""
    misfit = np.array([value is None for value in shapes.values], dtype=np.bool_)[shapes.codes]
    reasons = [
        *table.unusable,
        ("run time <= 0", table.runtime < 0 if options.zero_runtime == 0 else table.runtime <= 0),
        ("no processor count", table.processors <= 0),
        ("larger than the machine", misfit),
    ]
    usable = np.ones(len(table.submit), dtype=np.bool_)
    counts: dict[str, int] = {}
    first: dict[str, int] = {}
    for reason, mask in reasons:
        mine = mask & usable
        if mine.any():
            counts[reason] = int(mine.sum())
            first[reason] = int(np.flatnonzero(mine)[0])
            usable &= ~mine
    if not counts:
        return usable
    said = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
    left_out = sum(counts.values())
    if options.strict:
        reason = min(first, key=lambda name: first[name])
        raise InputError(_refusal(table, reason, first[reason], left_out, log))
    if left_out == len(usable):
        raise NothingUsableError(f"{log.path}: expected usable records, got none among {len(usable):,} ({said})")
    log.counts.update(counts)
    log.examples.update({reason: f"job {table.ids[row]}" for reason, row in first.items()})
    log.notes.append(f"{left_out:,} of {len(usable):,} records left out as unusable: {said}")
    return usable


def _refusal(table: TraceRecords, reason: str, row: int, count: int, log: ReadingLog) -> str:
    line = list(table.lines())[row]
    expected = {
        "run time <= 0": f"field 'run time': expected > 0, got {table.runtime[row]:g}",
        "no processor count": f"field 'requested processors': expected > 0, got {table.processors[row]}",
        "larger than the machine": "field 'requested processors': expected a job that fits on the machine, "
        f"got {table.processors[row]} processors, larger than the machine",
    }.get(reason, f"expected a job that started and ended, got one {reason}")
    unusable = f"{count:,} unusable record{'s'[: count > 1]} in all"
    return f"{log.place(line)}: {expected} ({unusable}; strict refuses them)"


def _with_walltime(table: TraceRecords, log: ReadingLog) -> Mask:
    """Return the mask of the jobs with a walltime. Note the others."""
    known = table.requested_time > 0
    if not known.any():
        raise NoRequestedTimesError(
            f"{log.path}: field 'walltime': expected some > 0, got none in {len(known):,} records; "
            "give another default_walltime than drop (seconds, or 'runtime')"
        )
    count = int((~known).sum())
    if count:
        log.notes.append(f"{count:,} of {len(known):,} jobs have no walltime and are left out")
        log.counts["no walltime"] = count
    return known


def _fill_requested_times(table: TraceRecords, options: ReadOptions, log: ReadingLog) -> TraceRecords:
    """Set missing walltimes to a default."""
    missing = table.requested_time <= 0
    if not missing.any():
        return table
    count = int(missing.sum())
    requested = table.requested_time.copy()
    records = table.records
    if options.default_walltime is not None:
        if options.default_walltime == "runtime":
            requested[missing] = np.maximum(table.runtime[missing], 1)
            how = "their own run time"
        else:
            requested[missing] = float(options.default_walltime)
            how = f"{options.default_walltime} s"
        if "requested_time" in records:
            records = records.assign(requested_time=compact(np.ceil(requested)))
    elif missing.all():
        raise NoRequestedTimesError(
            f"{log.path}: field 'walltime': expected some > 0, got none in {len(missing):,} records; "
            "give default_walltime (seconds, or 'runtime')"
        )
    else:
        largest = np.full(len(table.queue.values), -1.0)
        np.maximum.at(largest, table.queue.codes, requested)
        largest[largest <= 0] = requested.max()
        requested[missing] = np.maximum(largest[table.queue.codes], table.runtime)[missing]
        how = "the largest of their queue, or their run time where it is longer"
    if 0 < count < len(missing) and options.default_walltime is None:
        how += "; waits under dispatchers that go by walltimes are a guess where these jobs take part"
    log.notes.append(f"{count:,} of {len(missing):,} jobs have no walltime and got {how}")
    log.counts[FILLED] = count
    return replace(table, requested_time=requested, records=records)


def _partition_limits(table: TraceRecords, options: ReadOptions, log: ReadingLog) -> TraceRecords:
    """Give jobs without a limit the walltime of their partition, if known."""
    unlimited = np.isinf(table.requested_time)
    of_partition = table.requested_time == OF_PARTITION
    if not (unlimited | of_partition).any():
        return table
    limits = [options.partition_limits.get(name, 0) for name in table.queue.values]
    known = np.array([UNLIMITED if limit is None else limit for limit in limits], dtype=np.float64)[table.queue.codes]
    requested = np.where(of_partition & (known > 0), known, table.requested_time)
    requested[unlimited] = np.where(known > 0, known, UNLIMITED)[unlimited]
    changed = unlimited | (of_partition & (known > 0))
    requested = np.where(changed, np.maximum(requested, table.runtime), requested)
    for kind, mask in (("without a limit", unlimited), ("with the limit of their partition", of_partition & changed)):
        if count := int(mask.sum()):
            given = "the limit of their partition where it is known, else 365 days, and at least their run time"
            log.note(f"{counted(count, 'job')} {kind} given {given}")
            log.counts[f"jobs {kind}"] = count
    records = table.records
    if "requested_time" in records:
        kept = np.where(changed, requested, records["requested_time"])
        records = records.assign(requested_time=compact(np.ceil(kept)))
    return replace(table, requested_time=requested, records=records)


def _whole_seconds(table: TraceRecords, log: ReadingLog) -> TraceRecords:
    submit = np.floor(table.submit)
    runtime = np.ceil(table.runtime)
    requested = np.ceil(table.requested_time)
    changed = (submit != table.submit) | (runtime != table.runtime) | (requested != table.requested_time)
    count = int(changed.sum())
    if count:
        log.notes.append(f"{count:,} jobs had fractions of a second: submission rounded down, run and walltime up")
        log.counts["rounded to seconds"] = count
    return replace(table, submit=submit, runtime=runtime, requested_time=requested)


def _jobs(table: TraceRecords, shapes: _Shapes) -> JobColumns:
    amounts = Coded.gathered(ResourceMap() if value is None else value.per_node for value in shapes.values)
    nodes = np.array([0 if value is None else value.nodes for value in shapes.values], dtype=np.int64)
    more = dict(table.more)
    if any(value is not None and value.slots for value in shapes.values):
        slots = Coded.gathered(None if value is None else value.slots for value in shapes.values)
        more["slots"] = Coded(slots.codes[shapes.codes], slots.values)
    return JobColumns.made(
        table.ids,
        submit=table.submit.astype(np.int64),
        runtime=table.runtime.astype(np.int64),
        walltime=table.requested_time.astype(np.int64),
        nodes=nodes[shapes.codes],
        per_node=Coded(amounts.codes[shapes.codes], amounts.values),
        user=table.user,
        group=table.group,
        name=table.name,
        queue=table.queue,
        **more,
    )


def peak(begin: FloatArray, end: FloatArray, amounts: IntArray) -> int:
    """Return the largest amount in use at once. It is at least the largest single one. An amount is free at its end."""
    when = np.concatenate([end, begin])
    change = np.concatenate([-amounts, amounts])
    in_use = np.cumsum(change[np.lexsort((change, when))])
    return max(int(in_use.max(initial=0)), int(amounts.max(initial=0)))


def repeated(ids: NDArray[Any], kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which `kept` records repeat an earlier id, shape (records,)."""
    twice = np.zeros(len(ids), dtype=np.bool_)
    if rises(ids):
        return twice
    chosen = np.flatnonzero(kept)
    twice[chosen[pd.Series(ids[chosen]).duplicated().to_numpy()]] = True
    return twice


def compact(column: FloatArray) -> NDArray[Any]:
    """Return a column in 32-bit or 64-bit integers if all values are whole. Otherwise return a copy."""
    if column.size and not np.array_equal(column, np.trunc(column)):
        return column.copy()
    small = not column.size or (column.min() >= -(2**31) and column.max() < 2**31)
    return column.astype(np.int32 if small else np.int64)
