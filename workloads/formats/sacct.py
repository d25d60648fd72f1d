"""Read Slurm's accounting records: the output of ``sacct -P`` (``--parsable2``) or ``sacct --json``."""

import csv
import io
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from ...base import InputError, IntArray
from ..workload import Workload
from .column_maps import column_map
from .job_builder import compact
from .mapped_columns import KEPT, Guesses, has_local_times, jobs_of
from .read_log import FILE_LINES, Malformed, ReadingLog, ReadOptions, counted, line_text
from .recorded_jobs import gathered, number, text, workload_of
from .sacct_fields import TextArray, gpu_types, licences, of_each, submit_lines
from .sacct_json import sacct_rows
from .sacct_lines import COLUMNS, SEPARATOR, RowReader, SacctRows
from .trace_files import TraceFile, decode

#: Slurm's own limit on the tasks of an array.
MOST_TASKS = 4_000_001
#: Columns that are used only to compute others.
_TOLD = (
    "told_nodes",
    "told_gpus",
    "told_limit",
    "told_reservation",
    "array_limit",
    "nodes_had",
    "cluster",
    "told_qos",
    "told_constraint",
    "told_licences",
    "told_types",
    "told_cores",
    "told_nice",
    "told_most",
    "told_tasks",
    "told_by_tasks",
    "told_switches",
)
_KEPT = tuple(f"{KEPT}{name}" for name in ("reservation", "node_list", "constraint", "asked_tres"))
#: Replaces the options of a job without a recorded command line.
UNTOLD = "?"
_PENDING_ARRAY = re.compile(r"(\d+)_\[([^\]]*)\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")


def parse_sacct(file: TraceFile, options: ReadOptions, log: ReadingLog) -> Workload:
    """Convert ``sacct -P`` output to a workload, block by block.

    Required columns are ``JobID`` (or ``JobIDRaw``), ``Submit``, ``Start``, ``End`` (or ``ElapsedRaw``, ``Elapsed``)
    and ``AllocCPUS`` (or ``NCPUS``, ``ReqCPUS``; or the nodes). Optional ones are ``Cluster``, ``Eligible``,
    ``TimelimitRaw`` or ``Timelimit``, ``AllocNodes``, ``NNodes`` or ``ReqNodes``, ``User``, ``Group``, ``Account``,
    ``JobName``, ``Partition``, ``NodeList``, ``ReqMem``, ``AllocTRES`` or ``ReqTRES``, ``ConsumedEnergyRaw``,
    ``Priority``, ``QOS`` and ``State``.

    Job steps are skipped. Of a requeued job (``sacct -D``) the last attempt is read. The parts of a heterogeneous job
    are one job. An array that waits as a whole is one job per task. Times count from the first arrival, and jobs are
    sorted by arrival. A job arrives when it becomes eligible. The default machine is a pool. It has the largest numbers
    of cores and GPUs in use at once.

    ``Workload.records`` gets these columns:

    * ``wait``, ``allocated_processors``, ``requested_processors``, ``requested_memory`` (kilobytes per processor),
      ``requested_time`` and ``status`` as in SWF.
    * ``nodes``, ``gpus``, ``state``, ``account``, ``partitions`` (all requested ones), ``cores_asked``, ``node_list``,
      ``constraint``, ``gpu_types`` (as in ``a100=2``) and ``licences``.
    * ``nodes_asked`` (by ``-N``, else 0; from ``ReqNodes`` or ``SubmitLine`` if present).
    * From ``SubmitLine``: ``task_cores``, ``memory_by`` (``core`` or ``node``), ``exclusive`` (``--exclusive``),
      ``nice`` (``--nice``), ``switches`` (``--switches``, as in ``1@10:00``) and ``other_options`` (which are not
      read).
    * ``attempts``: earlier attempts of a preempted job. Each has its start, its end, when it was back in the queue, and
      when it could start again, in seconds since 1970, with ``;`` between.
    * ``nodes_by_tasks``: whether `nodes_asked` follows from ``--ntasks-per-node`` without ``-N``.
    * ``nodes_most`` and ``tasks_asked``, from ``-N 2-4`` and ``-n`` in ``SubmitLine``; 0 if not given, or if tasks are
      counted per node.
    * ``submitted`` (on the same clock) and ``energy`` (joules, if recorded).

    Raises
    ------
    InputError
        For a missing column, or a trace without usable records. Unless lenient for malformed records. If strict for
        unusable ones.
    """
    if options.format is None and not log.path.name.lower().startswith("sacct") and ".sacct" not in log.path.name:
        log.note("read as sacct (--format): Slurm's accounting")
    malformed: list[Malformed] = []
    reader = RowReader(options, log, malformed)

    def rows() -> Iterable[SacctRows]:
        for place, one in enumerate(file.files()):
            reader.begin(place * FILE_LINES)
            for block in one.blocks():
                yield from reader.feed(decode(block))
        yield from reader.finish()

    return _workload(rows(), malformed, options, log)


def parse_sacct_json(file: TraceFile, options: ReadOptions, log: ReadingLog) -> Workload:
    """Convert the output of ``sacct --json`` to a workload, as :func:`parse_sacct` does."""
    malformed: list[Malformed] = []
    return _workload(sacct_rows(file, malformed), malformed, options, log)


def _workload(rows: Iterable[SacctRows], malformed: list[Malformed], options: ReadOptions, log: ReadingLog) -> Workload:
    parts: list[pd.DataFrame] = []
    guesses = Guesses(str(log.path))
    steps = 0
    local = False
    records = 0
    for block in rows:
        chosen = [place for place, row in enumerate(block.texts) if row is not None]
        steps += len(block.texts) - len(chosen)
        records += len(chosen)
        if records > options.bounds.rows:
            raise options.bounds.refuse(log.path, f"at most {options.bounds.rows:,} records", "more")
        if chosen:
            frame = _frame([block.texts[place] or "" for place in chosen], block)
            local = local or has_local_times(frame, "Submit")
            parts.append(_jobs(frame, np.array(block.numbers, dtype=np.int64)[chosen], malformed, options, guesses))
    guesses.say(log)
    if steps:
        log.note(f"{counted(steps, 'job step')} skipped", job_steps_skipped=steps)
    if not records and not malformed:
        raise InputError(f"{log.path}: expected records of jobs, got none")
    jobs = gathered(parts, malformed, options, log)
    if local and options.timezone is None:
        log.notes.append("its times are local ones of a zone that is not said, read as they stand (timezone)")
        _clocks_put_back(jobs, log)
    return workload_of(jobs, _asked(jobs), options, log)


def _frame(rows: list[str], block: SacctRows) -> pd.DataFrame:
    """Return the used columns of rows, as texts."""
    names = block.layout.names
    used = [place for place, name in enumerate(names) if name in COLUMNS and names.index(name) == place]
    frame = pd.read_csv(
        io.StringIO("\n".join(rows)),
        sep=SEPARATOR,
        dtype=str,
        keep_default_na=False,
        quoting=csv.QUOTE_NONE,
        index_col=False,
        lineterminator="\n",
        skipinitialspace=True,
        header=None,
        skip_blank_lines=False,
        names=list(range(len(names))),
        usecols=used,
    )
    frame.columns = pd.Index([names[place] for place in used])
    return frame


def _jobs(
    frame: pd.DataFrame, lines: IntArray, malformed: list[Malformed], options: ReadOptions, guesses: Guesses
) -> pd.DataFrame:
    """Return the well-formed jobs of some rows, with data from command lines."""
    key = "JobID" if "JobID" in frame else "JobIDRaw"
    frame, lines, limits = _with_tasks(frame, lines, key, malformed)
    jobs = jobs_of(frame, lines, column_map("sacct"), options.timezone, malformed, guesses)
    if len(jobs) < len(frame):
        frame = frame[pd.Index(lines).isin(jobs["line"])].reset_index(drop=True)
        limits = [limits[row] for row in np.flatnonzero(pd.Index(lines).isin(jobs["line"])).tolist()]
    nodes = number(jobs, "nodes")
    cores = number(jobs, "cores")
    cores = np.where(cores > 0, cores, number(jobs, "cores_asked"))
    if "ReqMem" in frame:
        per = frame["ReqMem"].str.strip().str[-1:].to_numpy(dtype=object)
        times = np.where(per == "n", np.maximum(nodes, 1), np.where(per == "c", np.maximum(cores, 1), 1.0))
        memory = number(jobs, "memory", np.nan)
        jobs["memory"] = np.where(np.isnan(memory), number(jobs, "memory_asked") * times, memory)
        del jobs["memory_asked"]
    partitions = text(jobs, "queue")
    jobs["partitions"] = partitions
    jobs["queue"] = [name.partition(",")[0] for name in partitions.tolist()]
    if any(limits):
        jobs["array_limit"] = limits
    if "SubmitLine" in frame:
        lines_ = frame["SubmitLine"].str.strip().to_numpy(dtype=object)
        numbers, texts = submit_lines(_of_components(text(jobs, "id"), lines_), nodes)
        jobs = jobs.assign(**numbers, **texts)
    return jobs


def _of_components(ids: TextArray, lines: TextArray) -> TextArray:
    """Return the command lines. Of a heterogeneous job, the component ``72+1`` has the part after the first colon."""
    commands = lines.copy()
    for row in np.flatnonzero(["+" in id_ for id_ in ids.tolist()]).tolist():
        number_ = ids[row].partition("+")[2]
        parts = re.split(r"\s:(?=\s)", lines[row])
        if number_.isdecimal() and len(parts) > 1:
            # Options of the whole job, such as the account, are those of the first component.
            commands[row] = parts[0] if number_ == "0" else f"sbatch {parts[min(int(number_), len(parts) - 1)]}"
    return commands


def _clocks_put_back(jobs: pd.DataFrame, log: ReadingLog) -> None:
    """Add an hour to ends that are less than an hour before the start. This assumes that clocks were put back."""
    if "end" not in jobs:
        return
    gap = jobs["end"] - jobs["start"]
    back = (gap < 0) & (gap > -3600) & (jobs["elapsed"] == gap)
    if count := int(back.sum()):
        jobs.loc[back, ["end", "elapsed"]] += 3600
        log.note(
            f"{counted(count, 'job')} read as an hour longer, as if clocks were put back (--timezone tells): on "
            "record, the end is less than an hour before the start",
            line_text(jobs["line"][back.argmax()]),
            clocks_put_back=count,
        )


def _asked(jobs: pd.DataFrame) -> dict[str, Any]:
    """Return the other recorded parts of the jobs' requests, which are removed from `jobs`."""
    reservation = text(jobs, f"{KEPT}reservation")
    tres = text(jobs, f"{KEPT}asked_tres")
    licensed = text(jobs, "told_licences")
    jobs["qos"] = _either(text(jobs, "qos"), text(jobs, "told_qos"))
    asked = number(jobs, "cores_asked")
    alone = text(jobs, "exclusive")
    if "told_gpus" in jobs and not (number(jobs, "gpus") > 0).any():
        jobs["gpus"] = jobs["told_gpus"]  # the site has no accounting of GPUs
    fields = {
        "account": text(jobs, "account"),
        "partitions": text(jobs, "partitions"),
        "node_list": text(jobs, f"{KEPT}node_list"),
        "nodes_asked": _nodes_asked(jobs),
        "task_cores": number(jobs, "task_cores", 1.0).astype(np.int64),
        "memory_by": text(jobs, "memory_by"),
        "array": _arrays(jobs),
        "reservation": _either(reservation, text(jobs, "told_reservation")),
        "constraint": _either(text(jobs, f"{KEPT}constraint"), text(jobs, "told_constraint")),
        "gpu_types": _either(of_each(tres, gpu_types, object), text(jobs, "told_types")),
        "licences": _either(of_each(tres, licences, object), licensed),
        "exclusive": alone,
        "other_options": np.where(np.isnan(number(jobs, "told_nodes", np.nan)), UNTOLD, text(jobs, "other_options")),
        "cores_asked": compact(np.where(asked > 0, asked, number(jobs, "told_cores"))),
        "nice": compact(number(jobs, "told_nice", 0.0)),
        "nodes_most": compact(number(jobs, "told_most", 0.0)),
        "tasks_asked": compact(number(jobs, "told_tasks", 0.0)),
        "nodes_by_tasks": number(jobs, "told_by_tasks", 0.0) > 0,
        "switches": text(jobs, "told_switches"),
        "attempts": text(jobs, "attempts"),
    }
    if "energy" in jobs:
        fields["energy"] = compact(number(jobs, "energy"))
    used = {*fields, *_TOLD, *_KEPT} - {"nodes_asked", "cores_asked"}
    for name in used.intersection(jobs):
        del jobs[name]
    return fields


def _either(column: TextArray, told: TextArray) -> TextArray:
    """Return the texts of a column, or those of command lines if it has none."""
    return np.where(column == "", told, column).astype(object)


def _nodes_asked(jobs: pd.DataFrame) -> IntArray:
    """Return the number of nodes that each job requested (``-N``). It is 0 if its tasks may go anywhere (only ``-n``).

    ``SubmitLine`` tells this. Without it, several ``ReqNodes`` count as requested, and so does a single allocated node.
    Without ``ReqNodes``, several nodes count as requested if they have equal processors.
    """
    allocated, asked, had = (number(jobs, name) for name in ("cores", "nodes_asked", "nodes_had"))
    processors = np.where(allocated > 0, allocated, number(jobs, "cores_asked"))
    even = (asked < 0) & (had > 0) & (processors % np.maximum(had, 1) == 0)
    result = np.where(asked > 1, asked, np.where(had == 1, 1, np.where(even, had, 0)))
    told = number(jobs, "told_nodes", np.nan)
    return np.where(np.isnan(told), result, told).astype(np.int64)


def _arrays(jobs: pd.DataFrame) -> TextArray:
    """Return the array of each task, empty for other jobs. It includes the limit on running tasks, as in ``278%3``.

    The limit is recorded while tasks wait. It is also in ``SubmitLine``, unless the script sets it.
    """
    parts = (id_.partition("_") for id_ in text(jobs, "id").tolist())
    tasks = np.array([array if task else "" for array, _, task in parts], dtype=object)
    limits: dict[str, str] = {}
    rows = np.flatnonzero(tasks != "")
    told = text(jobs, "told_limit")[rows]
    waiting = text(jobs, "array_limit")[rows]
    for array, told_limit, limit in zip(tasks[rows].tolist(), told.tolist(), waiting.tolist(), strict=True):
        if limit or told_limit:
            limits[array] = limit or told_limit
    tasks[rows] = [f"{array}%{limits[array]}" if array in limits else array for array in tasks[rows].tolist()]
    return tasks


def _with_tasks(
    frame: pd.DataFrame, lines: IntArray, key: str, malformed: list[Malformed]
) -> tuple[pd.DataFrame, IntArray, list[str]]:
    """Return one record per task of an array that waits as a whole, such as ``278_[9-39%10]``.

    The last value is the limit on its running tasks, if recorded.
    """
    ids = frame[key].to_numpy(dtype=object)
    whole = np.flatnonzero([text.endswith("]") for text in ids.tolist()])
    if not len(whole):
        return frame, lines, [""] * len(frame)
    tasks = {row: array_tasks(ids[row]) for row in whole.tolist()}
    for row in [row for row, numbers in tasks.items() if numbers is None]:
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
    """Return the ids of the tasks of an array such as ``278_[9-39%10]``. ``None`` if the text is no array.

    A list that Slurm has cut short, ``278_[1,3,...]``, gives the listed tasks.
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
