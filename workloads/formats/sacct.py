"""Reading Slurm's accounting: the output of ``sacct -P`` (``--parsable2``) or ``sacct --json``."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from ...base import InputError, IntArray
from ..workload import Workload
from .column_maps import column_map
from .job_builder import compact
from .mapped_columns import KEPT, has_local_times, jobs_of
from .read_log import Log, Malformed, ReadOptions, counted
from .recorded_jobs import gathered, number, text, workload_of
from .sacct_fields import TextArray, gpu_types, licences, submit_lines
from .sacct_json import sacct_rows
from .sacct_lines import COLUMNS, SEPARATOR, RowReader, Rows
from .trace_files import TraceFile, decode

#: Slurm's own limit of the tasks of an array.
MOST_TASKS = 4_000_001
#: Columns that are of use only for what is worked out from them.
_TOLD = (
    "told_nodes", "told_gpus", "told_limit", "told_reservation", "array_limit", "nodes_had", "cluster", "told_qos",
    "told_constraint", "told_licences", "told_types", "told_cores",
)  # fmt: skip
_KEPT = tuple(f"{KEPT}{name}" for name in ("reservation", "node_list", "constraint", "asked_tres"))
#: Stands for the options of a job whose command line is not on record.
UNTOLD = "?"
_PENDING_ARRAY = re.compile(r"(\d+)_\[([^\]]*)\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")


def parse_sacct(file: TraceFile, options: ReadOptions, log: Log) -> Workload:
    """Turn ``sacct -P`` output into a workload, a block of lines at a time.

    It needs the columns ``JobID`` (or ``JobIDRaw``), ``Submit``, ``Start``, ``End`` (or ``ElapsedRaw``, ``Elapsed``)
    and ``AllocCPUS`` (or ``NCPUS``, ``ReqCPUS``; or the nodes), and uses ``Cluster``, ``Eligible``, ``TimelimitRaw`` or
    ``Timelimit``, ``AllocNodes``, ``NNodes`` or ``ReqNodes``, ``User``, ``Group``, ``Account``, ``JobName``,
    ``Partition``, ``NodeList``, ``ReqMem``, ``AllocTRES`` or ``ReqTRES``, ``ConsumedEnergyRaw``, ``Priority``, ``QOS``
    and ``State``. Job steps are skipped; of a job that was requeued (``sacct -D``) the last attempt is read; the parts
    of a heterogeneous job are one job; an array that waits as a whole is as many jobs as it has tasks. Times count from
    the first arrival, and jobs are sorted by it: a job arrives when it becomes eligible. Without a machine, it is a
    pool of the largest numbers of cores and of GPUs in use at once. ``Workload.records`` gets ``wait``,
    ``allocated_processors``, ``requested_processors``, ``requested_memory`` (kilobytes per processor),
    ``requested_time``, ``status`` as in SWF, and ``nodes``, ``gpus``, ``state``, ``account``, ``partitions`` (all that
    were asked for), ``nodes_asked`` (by ``-N``, else 0; from ``ReqNodes`` or ``SubmitLine`` if they are there),
    ``task_cores`` and ``memory_by`` (``core`` or ``node``; from ``SubmitLine``), ``node_list``, ``constraint``,
    ``gpu_types`` (as in ``a100=2``), ``licences``, ``exclusive`` (``--exclusive``), ``other_options`` (of command
    lines, which are not read), ``cores_asked``, ``submitted`` (on the same clock) and ``energy`` (joules, where it is
    recorded).

    Raises
    ------
    InputError
        For a missing column, malformed records unless lenient, unusable ones if strict, and a trace without
        usable records.
    """
    malformed: list[Malformed] = []
    reader = RowReader(options, log, malformed)

    def rows() -> Iterable[Rows]:
        for block in file.blocks():
            yield from reader.feed(decode(block))
        yield from reader.finish()

    return _workload(rows(), malformed, options, log)


def parse_sacct_json(file: TraceFile, options: ReadOptions, log: Log) -> Workload:
    """Turn what ``sacct --json`` prints into a workload, as :func:`parse_sacct` does."""
    malformed: list[Malformed] = []
    return _workload(sacct_rows(file, malformed), malformed, options, log)


def _workload(rows: Iterable[Rows], malformed: list[Malformed], options: ReadOptions, log: Log) -> Workload:
    parts: list[pd.DataFrame] = []
    steps, local, records = 0, False, 0
    for block in rows:
        chosen = [place for place, row in enumerate(block.texts) if row is not None]
        steps += len(block.texts) - len(chosen)
        records += len(chosen)
        if records > options.bounds.rows:
            raise options.bounds.refuse(log.path, f"at most {options.bounds.rows:,} records", "more")
        if chosen:
            frame = _frame([block.texts[place] or "" for place in chosen], block)
            local = local or has_local_times(frame, "Submit")
            parts.append(_jobs(frame, np.array(block.numbers, dtype=np.int64)[chosen], malformed, options))
    if steps:
        log.note(f"{counted(steps, 'job step')} skipped", job_steps_skipped=steps)
    if not records and not malformed:
        raise InputError(f"{log.path}: expected records of jobs, got none")
    jobs = gathered(parts, malformed, options, log)
    if local and options.timezone is None:
        log.notes.append("its times are local ones of a zone that is not said, read as they stand (timezone)")
        _clocks_put_back(jobs, log)
    return workload_of(jobs, _asked(jobs), options, log)


def _frame(rows: list[str], block: Rows) -> pd.DataFrame:
    """Return the columns of rows that are read, as texts."""
    names = block.layout.names
    used = [place for place, name in enumerate(names) if name in COLUMNS and names.index(name) == place]
    frame = pd.read_csv(
        io.StringIO("\n".join(rows)), sep=SEPARATOR, dtype=str, keep_default_na=False, quoting=csv.QUOTE_NONE,
        index_col=False, lineterminator="\n", skipinitialspace=True, header=None, skip_blank_lines=False,
        names=list(range(len(names))), usecols=used,
    )  # fmt: skip
    frame.columns = pd.Index([names[place] for place in used])
    return frame


def _jobs(frame: pd.DataFrame, lines: IntArray, malformed: list[Malformed], options: ReadOptions) -> pd.DataFrame:
    """Return the well-formed jobs of some rows, with what command lines say of them."""
    key = "JobID" if "JobID" in frame else "JobIDRaw"
    frame, lines, limits = _with_tasks(frame, lines, key, malformed)
    jobs = jobs_of(frame, lines, column_map("sacct"), options.timezone, malformed)
    if len(jobs) < len(frame):
        frame = frame[pd.Index(lines).isin(jobs["line"])].reset_index(drop=True)
        limits = [limits[row] for row in np.flatnonzero(pd.Index(lines).isin(jobs["line"])).tolist()]
    nodes, cores = number(jobs, "nodes"), number(jobs, "cores")
    cores = np.where(cores > 0, cores, number(jobs, "cores_asked"))
    if "ReqMem" in frame:
        per = frame["ReqMem"].str.strip().str[-1:].to_numpy(dtype=object)
        times = np.where(per == "n", np.maximum(nodes, 1), np.where(per == "c", np.maximum(cores, 1), 1.0))
        memory = number(jobs, "memory", np.nan)
        jobs["memory"] = np.where(np.isnan(memory), number(jobs, "memory_asked") * times, memory)
        del jobs["memory_asked"]
    partitions = text(jobs, "queue")
    jobs["partitions"], jobs["queue"] = partitions, [name.partition(",")[0] for name in partitions.tolist()]
    if any(limits):
        jobs["array_limit"] = limits
    if "SubmitLine" in frame:
        numbers, texts = submit_lines(frame["SubmitLine"].str.strip().to_numpy(dtype=object), nodes)
        jobs = jobs.assign(**numbers, **texts)
    return jobs


def _clocks_put_back(jobs: pd.DataFrame, log: Log) -> None:
    """Let jobs that end less than an hour before they start end an hour later, as if clocks were put back."""
    if "end" not in jobs:
        return
    gap = jobs["end"] - jobs["start"]
    back = (gap < 0) & (gap > -3600) & (jobs["elapsed"] == gap)
    if count := int(back.sum()):
        jobs.loc[back, ["end", "elapsed"]] += 3600
        log.note(f"{counted(count, 'job')} read as an hour longer, as if clocks were put back (--timezone tells): on "
                 "record, the end is less than an hour before the start", f"line {jobs['line'][back.argmax()]}",
                 clocks_put_back=count)  # fmt: skip


def _asked(jobs: pd.DataFrame) -> dict[str, Any]:
    """Return what else is on record of what jobs asked for."""
    reservation = text(jobs, f"{KEPT}reservation")
    tres, licensed = text(jobs, f"{KEPT}asked_tres"), text(jobs, "told_licences")
    jobs["qos"] = _either(text(jobs, "qos"), text(jobs, "told_qos"))
    asked, alone = number(jobs, "cores_asked"), text(jobs, "exclusive")
    if "told_gpus" in jobs and not (number(jobs, "gpus") > 0).any():
        jobs["gpus"] = jobs["told_gpus"]  # a site that does not account for GPUs
    found = {
        "account": text(jobs, "account"),
        "partitions": text(jobs, "partitions"),
        "node_list": text(jobs, f"{KEPT}node_list"),
        "nodes_asked": _nodes_asked(jobs),
        "task_cores": number(jobs, "task_cores", 1.0).astype(np.int64),
        "memory_by": text(jobs, "memory_by"),
        "array": _arrays(jobs),
        "reservation": _either(reservation, text(jobs, "told_reservation")),
        "constraint": _either(text(jobs, f"{KEPT}constraint"), text(jobs, "told_constraint")),
        "gpu_types": _either(_told_by(gpu_types, tres), text(jobs, "told_types")),
        "licences": _either(_told_by(licences, tres), licensed),
        "exclusive": alone,
        "other_options": np.where(np.isnan(number(jobs, "told_nodes", np.nan)), UNTOLD, text(jobs, "other_options")),
        "cores_asked": compact(np.where(asked > 0, asked, number(jobs, "told_cores"))),
    }
    if "energy" in jobs:
        found["energy"] = compact(number(jobs, "energy"))
    for name in [
        name for name in (*found, *_TOLD, *_KEPT) if name in jobs and name not in ("nodes_asked", "cores_asked")
    ]:
        del jobs[name]
    return found


def _either(column: TextArray, told: TextArray) -> TextArray:
    """Return the texts of a column, those of command lines where it has none."""
    return np.where(column == "", told, column).astype(object)


def _told_by(read: Callable[[str], str], texts: TextArray) -> TextArray:
    codes, different = pd.factorize(texts)
    return np.array([read(each) for each in different.tolist()], dtype=object)[codes]


def _nodes_asked(jobs: pd.DataFrame) -> IntArray:
    """Return how many nodes each job asked for by itself (``-N``), 0 for one whose tasks go anywhere (``-n`` alone).

    That is what ``SubmitLine`` says; without it several ``ReqNodes``, or one node that was enough, are taken for asked,
    and so are several that have as many processors each where ``ReqNodes`` is not there.
    """
    allocated, asked, had = (number(jobs, name) for name in ("cores", "nodes_asked", "nodes_had"))
    processors = np.where(allocated > 0, allocated, number(jobs, "cores_asked"))
    even = (asked < 0) & (had > 0) & (processors % np.maximum(had, 1) == 0)
    result = np.where(asked > 1, asked, np.where(had == 1, 1, np.where(even, had, 0)))
    told = number(jobs, "told_nodes", np.nan)
    return np.where(np.isnan(told), result, told).astype(np.int64)


def _arrays(jobs: pd.DataFrame) -> TextArray:
    """Return the array that each job is a task of, empty for others, with how many may run at a time, as in ``278%3``.

    How many is on record while tasks wait, and in ``SubmitLine``, unless the script itself says it.
    """
    parts = (id_.partition("_") for id_ in text(jobs, "id").tolist())
    tasks = np.array([array if task else "" for array, _, task in parts], dtype=object)
    limits: dict[str, str] = {}
    rows = np.flatnonzero(tasks != "")
    told, waiting = text(jobs, "told_limit")[rows], text(jobs, "array_limit")[rows]
    for array, told_limit, limit in zip(tasks[rows].tolist(), told.tolist(), waiting.tolist(), strict=True):
        if limit or told_limit:
            limits[array] = limit or told_limit
    tasks[rows] = [f"{array}%{limits[array]}" if array in limits else array for array in tasks[rows].tolist()]
    return tasks


def _with_tasks(
    frame: pd.DataFrame, lines: IntArray, key: str, malformed: list[Malformed]
) -> tuple[pd.DataFrame, IntArray, list[str]]:
    """Return the records with one for each task of an array that waits as a whole, such as ``278_[9-39%10]``.

    Also how many of its tasks may run at a time, as far as that is on record.
    """
    ids = frame[key].to_numpy(dtype=object)
    whole = np.flatnonzero([text.endswith("]") for text in ids.tolist()])
    if not len(whole):
        return frame, lines, [""] * len(frame)
    tasks = {row: array_tasks(ids[row]) for row in whole.tolist()}
    for row in [row for row, found in tasks.items() if found is None]:
        message = f"field {key!r}: expected an array as 278_[9-39%10], got {ids[row]!r:.60}"
        malformed.append(Malformed(int(lines[row]), "not an array", message))
    counts = np.ones(len(ids), dtype=np.int64)
    counts[whole] = [len(tasks[row] or ()) for row in whole.tolist()]
    rows = np.repeat(np.arange(len(ids)), counts)
    more = frame.iloc[rows].reset_index(drop=True)
    more[key] = [text for row, text in enumerate(ids.tolist()) for text in tasks.get(row, [text]) or ()]
    limits = [ids[row].rstrip("]").partition("%")[2] if row in tasks else "" for row in rows.tolist()]
    return more, lines[rows], limits


def array_tasks(text: str) -> list[str] | None:
    """Return the ids of the tasks of an array such as ``278_[9-39%10]``, or ``None`` if that is not what the text is.

    A list that Slurm has cut short, ``278_[1,3,...]``, stands for the tasks that it has.
    """
    array = _PENDING_ARRAY.fullmatch(text.replace(",...", "").replace("...", ""))
    if array is None:
        return None
    numbers: list[int] = []
    for each in array[2].partition("%")[0].split(","):
        part = _RANGE.fullmatch(each)
        if part is None or any(len(digits or "") > 7 for digits in part.groups()):
            return None
        first = int(part[1])
        numbers += range(first, int(part[2] or first) + 1, max(int(part[3] or 1), 1))
        if len(numbers) > MOST_TASKS:
            return None
    if not numbers:
        return None
    return [f"{array[1]}_{number}" for number in numbers]
