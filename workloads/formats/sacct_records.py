"""The records of Slurm's accounting: which of them are one job, and when it arrived."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ...base import FloatArray, IntArray
from . import sacct_fields as fields
from .read_log import Log, Malformed

#: Between fields, in place of the bar that names may have in them.
SEPARATOR = "\x1f"
#: Slurm's own limit of the tasks of an array.
MOST_TASKS = 4_000_001
_PENDING_ARRAY = re.compile(r"(\d+)_\[([^\]]*)\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")
#: Numbers of a job that its parts have together.
_TOGETHER = (
    "AllocCPUS", "NCPUS", "ReqCPUS", "AllocNodes", "NNodes", "ReqNodes", "ReqMem", "AllocTRES", "ReqTRES",
    "AllocTRES mem", "ReqTRES mem",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Records:
    """Jobs as Slurm's accounting has them.

    Attributes
    ----------
    frame
        The columns as text.
    lines
        The line of each record.
    ids
        Of the jobs.
    values
        The columns of numbers, by name.
    """

    frame: pd.DataFrame
    lines: IntArray
    ids: fields.TextArray
    values: fields.Numbers

    def __len__(self) -> int:
        return len(self.lines)

    def take(self, rows: IntArray) -> Records:
        """Return some of the records, in this order."""
        values = {name: column[rows] for name, column in self.values.items()}
        frame = self.frame.iloc[rows].reset_index(drop=True)
        return Records(frame, self.lines[rows], self.ids[rows], values)


def rejoined(line: str, names: list[str], free: str | None) -> str | None:
    """Return a line with its fields at :data:`SEPARATOR`, or ``None`` if they are not as many as `names`.

    Bars beyond those between fields are in the column `free`, the one whose text is a user's own.
    """
    line = line.replace(SEPARATOR, " ")
    beyond = line.count("|") + 1 - len(names)
    if beyond == 0:
        return line.replace("|", SEPARATOR)
    if beyond < 0 or free is None:
        return None
    parts, place = line.split("|"), names.index(free)
    return SEPARATOR.join([*parts[:place], "|".join(parts[place : place + beyond + 1]), *parts[place + beyond + 1 :]])


def with_tasks(
    frame: pd.DataFrame, lines: IntArray, key: str, malformed: list[Malformed]
) -> tuple[pd.DataFrame, IntArray]:
    """Return the records with one for each task of an array that waits as a whole, such as ``278_[9-39%10]``."""
    ids = frame[key].to_numpy(dtype=object)
    whole = np.flatnonzero([text.endswith("]") for text in ids.tolist()])
    if not len(whole):
        return frame, lines
    tasks = {row: _tasks(ids[row]) for row in whole.tolist()}
    for row in [row for row, found in tasks.items() if found is None]:
        message = f"field {key!r}: expected an array as 278_[9-39%10], got {ids[row]!r:.60}"
        malformed.append(Malformed(int(lines[row]), "not an array", message))
    counts = np.ones(len(ids), dtype=np.int64)
    counts[whole] = [len(tasks[row] or ()) for row in whole.tolist()]
    rows = np.repeat(np.arange(len(ids)), counts)
    more = frame.iloc[rows].reset_index(drop=True)
    more[key] = [text for row, text in enumerate(ids.tolist()) for text in tasks.get(row, [text]) or ()]
    more[fields.ARRAY_LIMIT] = [ids[row].rstrip("]").partition("%")[2] if row in tasks else "" for row in rows.tolist()]
    return more, lines[rows]


def _tasks(text: str) -> list[str] | None:
    """Return the ids of the tasks of an array, or ``None`` if that is not what the text is."""
    array = _PENDING_ARRAY.fullmatch(text)
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
    return [f"{array[1]}_{number}" for number in numbers]


def last_attempts(records: Records, log: Log) -> Records:
    """Return the last record of each job; those before it, which ``sacct -D`` lists, are earlier attempts.

    A job that was preempted arrives with the attempt before.
    """
    last = ~pd.Series(records.ids).duplicated(keep="last").to_numpy()
    if last.all():
        return records
    states = pd.Series(fields.column(records.frame, "State")[~last]).str.split(" ").str[0]
    ended = ", ".join(f"{count:,} {state or 'unknown'}" for state, count in states.value_counts().items())
    count = int((~last).sum())
    log.note(f"{count:,} earlier attempt{'s'[: count > 1]} of requeued jobs left out: {ended}", earlier_attempts=count)
    return _as_they_first_came(records).take(np.flatnonzero(last))


def _as_they_first_came(records: Records) -> Records:
    """Return the records, in which attempts after one that was preempted have its submission and eligibility."""
    stopped = [state.startswith("PREEMPTED") for state in fields.column(records.frame, "State").tolist()]
    values = {name: records.values[name].copy() for name in ("Submit", "Eligible") if name in records.values}
    before: dict[str, int] = {}
    for row, job in enumerate(records.ids.tolist()):
        earlier = before.get(job)
        if earlier is not None and stopped[earlier]:
            for column in values.values():
                column[row] = column[earlier]
        before[job] = row
    return replace(records, values={**records.values, **values})


def merged_parts(records: Records, log: Log) -> Records:
    """Return the records with one for all parts of a heterogeneous job (``285+0``, ``285+1``), which run together."""
    whole = np.array([text.partition("+")[0] for text in records.ids.tolist()], dtype=object)
    codes, jobs = pd.factorize(whole)
    if len(jobs) == len(records):
        return records
    first = np.flatnonzero(~pd.Series(codes).duplicated().to_numpy())
    values = dict(records.values)
    for name in [name for name in _TOGETHER if name in values]:
        # The sum of each job; nan if no part has a number.
        sums = np.bincount(codes, np.nan_to_num(values[name]), len(jobs))
        known = np.bincount(codes, ~np.isnan(values[name]), len(jobs)) > 0
        values[name] = np.where(known, sums.astype(np.float64), np.nan)[codes]
    parts = int((np.bincount(codes)[codes] > 1).sum())
    count = parts - (len(records) - len(jobs))
    log.note(
        f"{parts:,} parts of heterogeneous jobs read as {count:,} job{'s'[: count > 1]}",
        parts_of_other_jobs=parts - count,
    )
    return replace(replace(records, values=values).take(first), ids=jobs)


def arrivals(records: Records, log: Log) -> FloatArray:
    """Return when each job could first be started: when it was submitted, or became eligible, as by a dependency.

    Tasks that their array held back (``%n``) are eligible later than others, which does not count: those of an array
    arrive together, when the first of them that started was eligible, if that was before it started.
    """
    submit = records.values["Submit"]
    eligible, start = records.values.get("Eligible"), records.values["Start"]
    if eligible is None:
        return submit
    arrays = np.flatnonzero(["_" in text for text in records.ids.tolist()])  # the tasks of arrays
    if len(arrays):
        names = [records.ids[row].partition("_")[0] for row in arrays.tolist()]
        codes = pd.factorize(np.array(names, dtype=object))[0]
        eligible = eligible.copy()
        first = np.full(codes.max() + 1, np.inf)
        held = eligible[arrays] >= start[arrays]
        np.fmin.at(first, codes, np.where(held, submit[arrays], eligible[arrays]))
        eligible[arrays] = first[codes]
    later = (eligible > submit) & ~(eligible > start)
    count = int(later.sum())
    if count:
        text = f"{count:,} job{'s'[: count > 1]} counted from when {'they' if count > 1 else 'it'} became eligible"
        log.note(f"{text}, not from the submission", counted_from_eligibility=count)
    return np.where(later, eligible, submit)
