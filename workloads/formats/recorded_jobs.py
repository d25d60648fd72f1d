"""Build jobs from accounting records."""

import json
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...base import FloatArray, InputError, IntArray, shown
from ..job import MOST_PRIORITY
from ..job_columns import Coded
from ..machine import PARTITION, Machine
from ..workload import Workload
from .column_maps import ColumnMap
from .job_builder import CANCELLED, UNFINISHED, TraceRecords, assemble, compact, peak
from .mapped_columns import KEPT
from .read_log import Malformed, NothingUsableError, ReadingLog, ReadOptions, counted, line_text
from .sacct_fields import TextArray
from .slots import GPU, MEMORY

#: Numbers of a job that are summed over its parts.
_TOGETHER = ("cores", "cores_asked", "nodes", "nodes_had", "nodes_asked", "memory", "gpus")
_STATUS = {"COMPLETED": 1, "CANCELLED": CANCELLED, "": -1}


def number(jobs: pd.DataFrame, name: str, unknown: float = -1.0) -> FloatArray:
    """Return a column of numbers, `unknown` for missing values."""
    if name not in jobs:
        return np.full(len(jobs), unknown)
    return np.array(jobs[name].fillna(unknown), dtype=np.float64)


def text(jobs: pd.DataFrame, name: str) -> TextArray:
    """Return a column of texts, empty for missing values."""
    if name not in jobs:
        return np.full(len(jobs), "", dtype=object)
    codes, different = pd.factorize(jobs[name])
    return np.array([*different.tolist(), ""], dtype=object)[codes]


def gathered(
    parts: list[pd.DataFrame],
    malformed: list[Malformed],
    options: ReadOptions,
    log: ReadingLog,
    described: ColumnMap | None = None,
) -> pd.DataFrame:
    """Return one record per job, of one cluster. `described` is the map of a table; it is not given for Slurm.

    Raises
    ------
    InputError
        For malformed records unless lenient, for several clusters without a chosen one, and for no records.
    """
    log.settle(malformed, lenient=options.lenient)
    parts = [part for part in parts if len(part)]
    if not parts:
        raise NothingUsableError(f"{log.path}: expected well-formed records, got none")
    jobs = parts[0].reset_index(drop=True) if len(parts) == 1 else _joined(parts)
    jobs = _of_one_cluster(jobs, options.cluster, log)
    if described is not None and described.own and "task" not in described.columns:
        jobs = _apart(jobs, log)
    reuses_ids = described is not None and described.reuses_ids
    records = _one_record_per_job(jobs, log, reuses_ids=reuses_ids)
    return records if options.components else _merged_parts(records, log)


def _joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of all tables, which are consumed: a column at a time, to save memory."""
    columns: dict[str, pd.Series[Any]] = {}
    for name in dict.fromkeys(str(name) for part in parts for name in part):
        kinds = [part[name].dtype for part in parts if name in part]
        unknown = np.nan if kinds[0].kind in "fi" else ""
        columns[name] = pd.concat(
            [part.pop(name) if name in part else pd.Series([unknown] * len(part), dtype=kinds[0]) for part in parts],
            ignore_index=True,
        )
    return pd.DataFrame(columns, copy=False)


def _of_one_cluster(jobs: pd.DataFrame, cluster: str | None, log: ReadingLog) -> pd.DataFrame:
    column = text(jobs, "cluster")
    counts = Counter({name: count for name, count in Counter(column.tolist()).items() if name})
    names = ", ".join(f"{shown(name)[1:-1]} ({counted(count, 'record')})" for name, count in counts.most_common(20))
    if cluster is None and len(counts) > 1:
        raise InputError(
            f"{log.path}: expected the records of one cluster, got {len(counts)}: {names}; "
            "--cluster NAME (cluster) chooses one"
        )
    if cluster is None:
        return jobs
    if cluster not in counts:
        raise InputError(f"{log.path}: --cluster: expected one of: {names or 'none'}, got {shown(cluster)}")
    others = int((column != cluster).sum())
    if others:
        log.note(f"{counted(others, 'record')} of other clusters left out", of_other_clusters=others)
    return jobs.iloc[np.flatnonzero(column == cluster)].reset_index(drop=True)


def _apart(jobs: pd.DataFrame, log: ReadingLog) -> pd.DataFrame:
    """Number records ``#2`` and so on that share an id and a submission, but run at the same time.

    Attempts of one job follow each other. These are elements of an array, or other jobs. Exact repeats stay.
    """
    if not {"start", "elapsed"} <= set(jobs.columns) or not jobs["id"].duplicated().any():
        return jobs
    known = (jobs["start"].notna() & (jobs["elapsed"] > 0)).to_numpy()
    again = known & jobs.duplicated(["id", "submit"], keep=False).to_numpy()
    some = jobs.loc[again, ["id", "submit", "start", "elapsed"]].drop_duplicates()
    if not len(some):
        return jobs
    some = some.sort_values(["id", "submit", "start", "elapsed"], kind="stable")
    keys = [some["id"], some["submit"]]
    some["end"] = some["start"] + some["elapsed"]
    latest = some.groupby(keys, sort=False)["end"].cummax().groupby(keys, sort=False).shift()
    some["together"] = (some["start"] < latest).groupby(keys, sort=False).transform("any")
    some = some.sort_index()
    some["place"] = some.groupby(["id", "submit"], sort=False).cumcount() + 1
    some = some[some["together"] & (some["place"] > 1)]
    if not len(some):
        return jobs
    jobs = jobs.copy()
    taken = set(jobs["id"])
    for row, place in some["place"].items():
        number_ = int(place)
        while (renamed := f"{jobs.loc[row, 'id']}#{number_}") in taken:
            number_ += 1
        taken.add(renamed)
        jobs.loc[row, "id"] = renamed
    log.note(
        f"{counted(len(some), 'record')} numbered ID#2 and so on: they have the id and the submission of another "
        "job, and run beside it; 'task' in the column map names the elements of arrays",
        line_text(jobs.loc[some.index[0], "line"]),
        jobs_renumbered=len(some),
    )
    return jobs


def _one_record_per_job(jobs: pd.DataFrame, log: ReadingLog, *, reuses_ids: bool = False) -> pd.DataFrame:
    """Return one record per job.

    Id and submission identify a job. Its records are merged. A final record replaces those printed while it ran. Parts
    with different sizes are one run. A later submission of the same id and user is another attempt of a requeued job.
    After a completed job, or for another user, it is another job, and numbered ``#2``. With `reuses_ids` it always is.
    """
    again = jobs["id"].duplicated(keep=False)
    if not again.any():
        return jobs
    jobs = jobs.copy()
    some = pd.DataFrame(
        {
            "id": text(jobs, "id"),
            "submit": jobs["submit"],
            "start": number(jobs, "start", np.inf),
            "user": text(jobs, "user"),
            "state": [state.split(" ")[0].rstrip("+") for state in text(jobs, "state").tolist()],
            "elapsed": number(jobs, "elapsed", 0.0),
            "line": jobs["line"],
        }
    )[again]
    some["ended"] = ~some["state"].isin(UNFINISHED)
    some["completed"] = some["state"] == "COMPLETED"
    some = some.sort_values(["id", "submit", "ended", "completed", "elapsed", "line"], kind="stable")
    some = some.join(some.groupby(["id", "submit"], sort=False)["start"].last().rename("last"), on=["id", "submit"])
    attempts = some[~some.duplicated(["id", "submit"], keep="last")]
    others = some.drop(attempts.index)
    resized = others[others["state"] == "RESIZING"].sort_values("start", kind="stable")
    sizes = resized.drop_duplicates(["id", "submit", "start", "elapsed"])
    for key, rows in sizes.groupby(["id", "submit"]):
        best = attempts.index[(attempts["id"] == key[0]) & (attempts["submit"] == key[1])]
        for name in {*_TOGETHER, "start"} & set(jobs.columns):
            jobs.loc[best, name] = jobs.loc[rows.index[0], name]
        jobs.loc[best, "elapsed"] += rows["elapsed"].clip(lower=0).sum()
    repeats = others[(others["state"] != "RESIZING") & ((others["start"] == others["last"]) | ~others["ended"])]
    earlier = others.drop(repeats.index).drop(resized.index)
    # From one submission to the next: another attempt, or another job.
    before = attempts.shift()
    same = attempts["id"] == before["id"]
    other = same & (reuses_ids | (before["state"] == "COMPLETED") | (attempts["user"] != before["user"]))
    place = other.astype(int).groupby(attempts["id"]).cumsum()
    previous = attempts.index[0]
    jobs["attempts"] = ""
    for row, preempted in zip(attempts.index, same & ~other & before["state"].eq("PREEMPTED"), strict=True):
        if preempted:  # it arrives with the previous attempt
            ended = jobs.loc[previous, "start"] + max(jobs.loc[previous, "elapsed"], 0)
            if np.isfinite(ended):  # its start, its end, when it was back in the queue, and when it could start again
                back = max(jobs.loc[row, "submit"], ended)
                again = jobs.loc[row, "eligible"] if "eligible" in jobs else back
                times = (jobs.loc[previous, "start"], ended, back, again if again > back else back)
                attempt = " ".join(f"{time:.0f}" for time in times)
                jobs.loc[row, "attempts"] = f"{jobs.loc[previous, 'attempts']};{attempt}".strip(";")
            for name in {"submit", "eligible"} & set(jobs.columns):
                jobs.loc[row, name] = jobs.loc[previous, name]
        previous = row
    final = ~pd.DataFrame({"id": attempts["id"], "place": place}).duplicated(keep="last")
    earlier = pd.concat([earlier, attempts[~final]])
    renumbered = attempts.index[final & (place > 0)]
    taken = set(jobs["id"])
    for row in renumbered:
        number_ = int(place[row]) + 1
        while (renamed := f"{jobs.loc[row, 'id']}#{number_}") in taken:
            number_ += 1
        taken.add(renamed)
        jobs.loc[row, "id"] = renamed
    _say_what_was_merged(jobs, {"earlier": earlier, "repeats": repeats, "resized": resized}, renumbered, log)
    gone = np.concatenate([earlier.index, repeats.index, resized.index])
    return jobs.drop(gone).reset_index(drop=True)


def _say_what_was_merged(jobs: pd.DataFrame, merged: dict[str, pd.DataFrame], renumbered: Any, log: ReadingLog) -> None:
    def line(rows: Any) -> str:
        return line_text(jobs.loc[rows[0], "line"])

    earlier, repeats, resized = (merged[name] for name in ("earlier", "repeats", "resized"))
    if count := len(earlier):
        ended = Counter(state or "unknown" for state in earlier["state"]).most_common()
        listed = ", ".join(f"{number:,} {state}" for state, number in ended)
        log.note(f"{counted(count, 'earlier attempt')} of requeued jobs left out: {listed}", earlier_attempts=count)
    if count := len(repeats):
        log.note(
            f"{counted(count, 'record')} merged with the final one of the same job and submission",
            line(repeats.index),
            repeated_records=count,
        )
    if count := len(resized):
        log.note(
            f"{counted(count, 'record')} of a job that changed its size merged into one: it runs as long as all "
            "of them, with the first size",
            line(resized.index),
            resized=count,
        )
    if count := len(renumbered):
        log.note(
            f"{counted(count, 'job')} numbered ID#2 and so on: the id is that of another job, which had completed "
            "or is of another user",
            line(renumbered),
            jobs_renumbered=count,
        )


def _merged_parts(jobs: pd.DataFrame, log: ReadingLog) -> pd.DataFrame:
    """Return the records, merging all parts of a heterogeneous job. Its parts (``285+0``, ``285+1``) run together."""
    if not jobs["id"].str.contains("+", regex=False).any():
        return jobs
    whole = jobs["id"].str.replace(r"\+\d+", "", regex=True)
    jobs = jobs.assign(id=whole)
    first = ~whole.duplicated()
    if first.all():
        return jobs
    jobs["slots"] = _slots_of_parts(jobs, whole)
    for name in [name for name in _TOGETHER if name in jobs]:
        sums = jobs[name].where(jobs[name] > 0).groupby(whole).transform("sum", min_count=1)
        jobs[name] = sums.fillna(-1.0)
    parts = int(whole.duplicated(keep=False).sum())
    count = int(whole[whole.duplicated()].nunique())
    text_ = f"{parts:,} parts of heterogeneous jobs read as {counted(count, 'job')}"
    log.note(text_, parts_of_other_jobs=parts - count)
    return jobs[first].reset_index(drop=True)


def _slots_of_parts(jobs: pd.DataFrame, whole: "pd.Series[Any]") -> list[str]:
    """Return the amounts of each slot of heterogeneous jobs, as in a column of slots. Empty for other jobs.

    A slot is a node of a part, with an equal share of its cores, GPUs and memory. Empty if a part has no such shares.
    """
    allocated = number(jobs, "cores")
    cores = np.where(allocated > 0, allocated, number(jobs, "cores_asked"))
    nodes = np.maximum(number(jobs, "nodes"), 1.0)
    amounts = {"core": cores, GPU: number(jobs, "gpus", 0.0), MEMORY: number(jobs, "memory", 0.0)}
    slots: dict[str, list[str]] = {}
    for row in np.flatnonzero(whole.duplicated(keep=False).to_numpy()).tolist():
        each = {name: column[row] / nodes[row] for name, column in amounts.items() if column[row] > 0}
        each[MEMORY] = float(np.ceil(each.get(MEMORY, 0.0)))
        own_slots = slots.setdefault(whole.iloc[row], [])
        if each.get("core", 0) < 1 or any(value % 1 for value in each.values()):
            own_slots.append("")
            continue
        one = {name: int(value) for name, value in each.items() if value > 0}
        own_slots += [json.dumps(one)] * int(nodes[row])
    texts = {name: f"[{', '.join(own_slots)}]" if all(own_slots) else "" for name, own_slots in slots.items()}
    return [texts.get(name, "") for name in whole.tolist()]


def arrivals(jobs: pd.DataFrame, log: ReadingLog) -> FloatArray:
    """Return the earliest possible start of each job: its submission or eligible time, nan if it is not recorded.

    Tasks that their array held back (``%n``) are eligible later than others. This does not count. All tasks of an array
    arrive together. It is the eligible time of the first started task, if before its start.
    """
    submit = number(jobs, "submit", np.nan)
    start = number(jobs, "start", np.nan)
    arrival = submit
    if "eligible" in jobs:
        eligible = number(jobs, "eligible", np.nan)
        arrays = np.flatnonzero(jobs["id"].str.contains(r"^\d+_", regex=True).to_numpy(dtype=np.bool_))
        if len(arrays):
            codes = pd.factorize(jobs["id"].iloc[arrays].str.partition("_")[0])[0]
            first = np.full(codes.max() + 1, np.inf)
            held = eligible[arrays] >= start[arrays]
            np.fmin.at(first, codes, np.where(held, submit[arrays], eligible[arrays]))
            eligible[arrays] = first[codes]
        later = (eligible >= submit + 1) & ~(eligible > start)
        if count := int(later.sum()):
            became = f"when {'they' if count > 1 else 'it'} became eligible, not from the submission"
            log.note(f"{counted(count, 'job')} counted from {became}", counted_from_eligibility=count)
        arrival = np.where(later, eligible, submit)
    early = start < arrival
    if count := int(early.sum()):
        log.note(
            f"{counted(count, 'job')} read with a wait of 0: on record, the start is before the submission",
            line_text(jobs["line"].iloc[int(early.argmax())]),
            started_before_submission=count,
        )
    return arrival


def workload_of(
    jobs: pd.DataFrame,
    more: dict[str, Any],
    options: ReadOptions,
    log: ReadingLog,
    machine: Machine | None = None,
    *,
    relative: bool = False,
) -> Workload:
    """Return the workload of jobs. The default machine is a pool of the most processors in use at once.

    Jobs with unknown cores count in nodes.

    Parameters
    ----------
    jobs
        One record per job, with the columns of :func:`~.mapped_columns.jobs_of`, which are consumed.
    more
        Further columns for ``Workload.records``.
    options, log
        Of the reading.
    machine
        The machine in the file, if any.
    relative
        Whether times already have a zero. Otherwise they count from the first arrival.
    """
    if options.components:
        _estimate_unfinished(jobs, log)
    arrival = arrivals(jobs, log)
    if np.isnan(arrival).all():
        raise NothingUsableError(f"{log.path}: expected records with the time of a submission, got none")
    order = np.argsort(arrival, kind="stable")
    if (np.diff(order) < 0).any():
        jobs = jobs.iloc[order].reset_index(drop=True)
        arrival = arrival[order]
    zero = 0.0 if relative else float(arrival[0])
    more = {name: column[order] for name, column in more.items()}
    for name in [str(name) for name in jobs if str(name).startswith(KEPT)]:
        plain = jobs[name].dtype.kind in "fi"
        more.setdefault(name.removeprefix(KEPT), compact(number(jobs, name)) if plain else text(jobs, name))
    table, start, unit = _table(jobs, arrival, zero, more)
    for used in list(jobs):  # frees hundreds of megabytes
        del jobs[used]
    machine = options.machine or machine or _pool(table, start, unit, log)
    if options.machine is None:  # a pool is one node
        table.nodes[:] = 0
    if not relative:
        log.notes.append(f"times count from the first arrival, {pd.Timestamp(int(zero), unit='s').isoformat()}")
    header = (
        "; Version: 2.2",
        f"; Computer: {machine.name or log.path.name}",
        f"; UnixStartTime: {int(zero)}",
        f"; MaxNodes: {machine.nodes}",
        f"; MaxProcs: {int(machine.capacity[:, machine.primary].sum())}",
    )
    return assemble(table, machine, header, options, log)


def _estimate_unfinished(jobs: pd.DataFrame, log: ReadingLog) -> None:
    """Give run times to jobs that ran or waited when the records were printed, as far as they were eligible.

    Left out, they would be missing in the queue, and all others would start earlier. Their run time is the median share
    of the walltime that the same user's jobs had, or all jobs. Running ones have run at least until the last time of
    the records.
    """
    state = np.array([text_.split(" ")[0].rstrip("+") for text_ in text(jobs, "state").tolist()], dtype=object)
    start, end = number(jobs, "start", np.nan), number(jobs, "end", np.nan)
    walltime, elapsed = number(jobs, "walltime", np.nan), number(jobs, "elapsed", 0.0)
    eligible = number(jobs, "eligible", np.nan) if "eligible" in jobs else number(jobs, "submit", np.nan)
    waits = (state == "PENDING") & np.isnan(start) & ~np.isnan(eligible)
    runs = np.isin(state, ("RUNNING", "COMPLETING", "SUSPENDED")) & ~np.isnan(start) & np.isnan(end)
    chosen = waits | runs
    ended = ~np.isnan(start) & ~np.isnan(end) & (elapsed > 0) & (walltime > 0)
    if not chosen.any() or not ended.any():
        return
    share = np.minimum(np.where(ended, elapsed / np.where(ended, walltime, 1.0), np.nan), 1.0)
    users = pd.Series(text(jobs, "user"))
    own = pd.Series(share).groupby(users).transform("median").to_numpy()
    share = np.where(np.isnan(own), np.nanmedian(share), own)
    length = np.where(walltime > 0, walltime, np.nanmedian(elapsed[ended]) / np.nanmedian(share))
    last = max(
        float(np.nanmax(column)) for column in (start, end, number(jobs, "submit")) if not np.isnan(column).all()
    )
    estimate = np.maximum(np.ceil(share * length), 1.0)
    estimate = np.where(runs, np.maximum(estimate, last - start + 1), estimate)
    jobs.loc[chosen, "elapsed"] = estimate[chosen]
    if "end" in jobs:
        jobs.loc[chosen, "end"] = np.where(runs, start + estimate, np.inf)[chosen]
    jobs["estimated"] = chosen
    log.note(
        f"{counted(int(runs.sum()), 'job')} ran and {int(waits.sum()):,} waited when the records were printed: they "
        "take part with run times as the same users' other jobs; those that waited are not in means of waits",
        ran_at_the_end=int(runs.sum()),
        waited_at_the_end=int(waits.sum()),
    )


def _table(
    jobs: pd.DataFrame, arrival: FloatArray, zero: float, more: dict[str, Any]
) -> tuple[TraceRecords, FloatArray, str]:
    """Return the table with times from `zero`. Also return the starts on that clock, and the unit of a processor."""
    start = number(jobs, "start", np.nan)
    nodes = number(jobs, "nodes")
    end = jobs["end"].to_numpy(dtype=np.float64) if "end" in jobs else np.full(len(jobs), np.inf)
    allocated = number(jobs, "cores")
    processors = np.where(allocated > 0, allocated, number(jobs, "cores_asked"))
    unit = "core"
    if not (processors > 0).any():
        allocated = processors = np.where(nodes > 0, nodes, number(jobs, "nodes_asked"))
        unit = "node"
    memory = number(jobs, "memory")
    memory = np.where(memory > 0, np.ceil(memory / np.maximum(processors, 1)), -1.0)
    gpus = np.maximum(number(jobs, "gpus", 0.0), 0).astype(np.int64)
    walltime = number(jobs, "walltime")
    runtime = number(jobs, "elapsed", 0.0)
    codes, states = pd.factorize(text(jobs, "state"))
    columns = {
        "wait": compact(np.where(start < arrival, 0.0, np.nan_to_num(start - arrival, nan=-1.0))),
        "allocated_processors": compact(np.where(allocated > 0, allocated, -1)),
        "requested_processors": compact(np.where(processors > 0, processors, -1)),
        "requested_memory": compact(memory),
        "requested_time": compact(np.where(np.isfinite(walltime), walltime, -1.0)),
        "status": np.array([_STATUS.get(state.split(" ")[0], 0) for state in states], dtype=np.int32)[codes],
        "nodes": compact(nodes),
        "gpus": gpus,
        "submitted": compact(np.nan_to_num(jobs["submit"].to_numpy(dtype=np.float64) - zero, nan=-1.0)),
        "state": text(jobs, "state"),
    }
    ended = ~np.isnan(start) & np.isnan(end)
    estimated = jobs["estimated"].to_numpy(dtype=np.bool_) if "estimated" in jobs else np.zeros(len(jobs), np.bool_)
    table = TraceRecords(
        lines=jobs["line"].tolist,
        ids=text(jobs, "id"),
        submit=np.nan_to_num(arrival - zero),
        runtime=runtime,
        requested_time=walltime,
        processors=processors.astype(np.int64),
        memory=memory,
        gpus=gpus,
        nodes=np.maximum(nodes, 0).astype(np.int64),
        user=Coded.of(text(jobs, "user")),
        group=Coded.of(text(jobs, "group")),
        name=Coded.of(text(jobs, "name")),
        queue=Coded.of(text(jobs, "queue")),
        records=pd.DataFrame(columns | more, copy=False),
        unusable=(
            ("not submitted", np.isnan(arrival)),
            ("not started", np.isnan(start) & ~(runtime > 0) & ~estimated),
            ("not finished", ended & ~estimated),
            ("ended before the start", (end < start) & (runtime <= 0)),
        ),
        more={"priority": Coded.of(_priorities(jobs), int), "qos": Coded.of(text(jobs, "qos"))},
        slots=Coded.of(text(jobs, "slots")) if "slots" in jobs else None,
        partition=Coded.of(text(jobs, "partition")) if "partition" in jobs else None,
    )
    return table, start - zero, unit


def _priorities(jobs: pd.DataFrame) -> IntArray:
    """Return priorities, lowered by ``nice``, within the bounds of a job's priority."""
    priority = number(jobs, "priority", 0.0) - number(jobs, "nice", 0.0)
    return np.clip(priority, -MOST_PRIORITY, MOST_PRIORITY).astype(np.int64)


def _pool(table: TraceRecords, start: FloatArray, unit: str, log: ReadingLog) -> Machine:
    """Return a pool of the largest amounts in use at once. A core is free in the second its job ends."""
    used: NDArray[np.bool_] = ~np.isnan(start) & (table.runtime > 0) & (table.processors > 0)
    for _, mask in table.unusable:
        used &= ~mask
    begin = start[used]
    end = start[used] + table.runtime[used]
    amount = max(peak(begin, end, table.processors[used]), 1)
    gpus = peak(begin, end, table.gpus[used])
    how = "were in use at once by the recorded starts"
    if not used.any():
        amount = max(int(table.processors.max()), 1)
        gpus = int(table.gpus.max())
        how = "the largest job has, as no starts are recorded"
    size = f"{amount:,} {unit}s" + (f" and {gpus:,} GPUs" if gpus else "")
    log.notes.append(f"no machine was given; it has as many as {how}, {size}")
    amounts = {unit: amount} | ({GPU: gpus} if gpus else {})
    if table.partition is not None:
        # Each partition has as much as was in use there, and all together have as much as these.
        for code, name in enumerate(table.partition.values):
            mine = used & (table.partition.codes == code)
            if name and mine.any():
                of_jobs = table.processors[mine]
                ends = start[mine] + table.runtime[mine]
                amounts[f"{PARTITION}{name}"] = peak(start[mine], ends, of_jobs)
        there = [value for name, value in amounts.items() if name.startswith(PARTITION)]
        amounts[unit] = max(amount, sum(there))
        log.note(f"{counted(len(there), 'partition')} read as isolated: each has as many {unit}s as were in use there")
    return Machine(tuple(amounts), np.array([list(amounts.values())]), log.path.name, {unit: 1})
