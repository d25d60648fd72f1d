"""The fields of Slurm's accounting as numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...base import FloatArray, IntArray
from ...base.checks import AMOUNT, LONGEST, MOST_PROCESSORS, PROCESSORS, SECONDS, Range

TextArray = NDArray[np.object_]

_UNKNOWN = ("", "Unknown", "None", "N/A")
_DURATION = r"^(?:(?:(?P<d>\d+)-)?(?P<h>\d+):)?(?P<m>\d+):(?P<s>\d+(?:\.\d+)?)$"
_DAYS_HOURS = r"^(?P<d>\d+)-(?P<h>\d+)(?::(?P<m>\d+))?$"
_MEMORY = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([KMGTP]?)([cn]?)")
_KILO = {"": 1024, "K": 1, "M": 1024, "G": 1024**2, "T": 1024**3, "P": 1024**4}
_THOUSANDS = re.compile(r"\d+(\.\d+)?K")
_GPU = re.compile(r"(?:^|,)gres/gpu(:[^=,]+)?=(\d+)")
_TRES_MEMORY = re.compile(r"(?:^|,)mem=([^,]*)")
_ASKED = re.compile(r"\s(?:-N\s*|--nodes[ =])(\d+)")
_ARRAY = re.compile(r"\s(?:-a\s*|--array[ =])[\d,:-]+%(\d{1,9})(?!\S)")
_CORES = re.compile(r"\s(?:-c\s*|--cpus-per-task[ =])(\d{1,9})(?!\S)")
_MEMORY_BY = re.compile(r"\s--mem(-per-cpu)?[ =]\S")
_GPUS_A_NODE = re.compile(
    r"\s(?:--gpus-per-node[ =]|--gres[ =]gpu(?:[:=]|(?=[\s,]|$)))(?:[^\s:,=\d][^\s:,=]*[:=])?(\d{1,6})?(?![^\s,])"
)
_GPUS = re.compile(r"\s(?:-G\s*|--gpus[ =])(?:[^\s:,=\d][^\s:,=]*:)?(\d{1,6})(?!\S)")
_RESERVATION = re.compile(r"\s--reservation[ =]([^\s,]+)")
#: Column of how many tasks may run at a time, of the array that a record stood for.
ARRAY_LIMIT = "array limit"
_STATUS = {"COMPLETED": 1, "CANCELLED": 5}


def column(frame: pd.DataFrame, *names: str) -> TextArray:
    """Return the first of the columns that is there, as text without blanks around it; empty texts if none is."""
    for name in names:
        if name in frame:
            return _stripped(frame[name])
    return np.full(len(frame), "", dtype=object)


def _in_command(frame: pd.DataFrame, pattern: re.Pattern[str]) -> list[re.Match[str] | None]:
    """Return what a pattern finds in ``SubmitLine`` of each job; nothing where that is not on record."""
    if "SubmitLine" not in frame:
        return [None] * len(frame)
    return [pattern.search(text) for text in column(frame, "SubmitLine").tolist()]


def _stripped(series: pd.Series[str]) -> TextArray:
    codes, values = pd.factorize(series.to_numpy(dtype=object))
    if len(values) < len(series) // 2:
        return np.array([text.strip() for text in values.tolist()], dtype=object)[codes]
    return np.array([text.strip() for text in series.tolist()], dtype=object)


def unknown(texts: TextArray) -> NDArray[np.bool_]:
    """Tell which times Slurm does not know."""
    return np.isin(texts.astype(np.str_), _UNKNOWN)


def numbers(texts: TextArray) -> FloatArray:
    """Return texts as numbers (``4K`` is 4,000 as Slurm writes counts), nan where they are none."""
    values = np.array(pd.to_numeric(pd.Series(texts, dtype="object"), errors="coerce"), dtype=np.float64)
    for row in np.flatnonzero(np.isnan(values)).tolist():
        if _THOUSANDS.fullmatch(texts[row]):
            values[row] = round(float(texts[row][:-1]) * 1000.0, 6)
    return np.where(np.isfinite(values), values, np.nan)


def times(texts: TextArray, zone: str | None = None) -> FloatArray:
    """Return times as seconds since 1970, nan where they are none.

    Local times are those of a zone, or taken as they stand if there is none. In the hour that comes twice when clocks
    are put back they are those of the first; in the one that is left out they are its end.
    """
    values = numbers(texts)  # SLURM_TIME_FORMAT=%s gives them
    others = np.flatnonzero(np.isnan(values))
    parsed = pd.to_datetime(pd.Series(texts[others], dtype="object"), format="%Y-%m-%dT%H:%M:%S", errors="coerce")
    if zone is not None:
        first = np.ones(len(parsed), dtype=np.bool_)
        local = parsed.dt.tz_localize(zone, ambiguous=first, nonexistent="shift_forward")
        parsed = local.dt.tz_convert("UTC").dt.tz_localize(None)
    since = parsed.to_numpy().astype("datetime64[s]")
    values[others] = np.where(np.isnat(since), np.nan, since.astype(np.int64).astype(np.float64))
    return values


def durations(texts: TextArray) -> FloatArray:
    """Return ``[DD-[HH:]]MM:SS`` and ``DD-HH[:MM]`` as seconds, nan where they are none."""
    series = pd.Series(texts, dtype="object").astype(str)
    result = np.full(len(series), np.nan)
    for pattern in (_DAYS_HOURS, _DURATION):
        parts = series.str.extract(pattern).astype(np.float64)
        seconds = sum(
            parts[unit].fillna(0) * length
            for unit, length in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
            if unit in parts
        )
        matched = parts["h" if pattern is _DAYS_HOURS else "s"].notna()
        result = np.where(matched, np.asarray(seconds, dtype=np.float64), result)
    return result


def kilobytes(texts: TextArray) -> FloatArray:
    """Return amounts of memory such as ``4G``, ``4Gc`` and ``4000Mn`` in kilobytes, nan where they are none.

    Without a unit it is megabytes.
    """
    return _of_each(texts, _kilobytes)


def gpus(texts: TextArray) -> FloatArray:
    """Return the GPUs that a TRES text names; the count without a type, if there is one, covers those with a type."""
    return _of_each(texts, _count_gpus)


def memory_of(texts: TextArray) -> FloatArray:
    """Return the memory that a TRES text names in kilobytes, 0 where it names none."""
    return _of_each(texts, _memory_of)


def _of_each(texts: TextArray, number: Callable[[str], float]) -> FloatArray:
    codes, values = pd.factorize(texts)
    return np.array([number(text) for text in values.tolist()], dtype=np.float64)[codes]


def _kilobytes(text: str) -> float:
    found = _MEMORY.fullmatch(text)
    return float(found[1]) * (_KILO[found[2]] if found[2] else 1024) if found else np.nan


def _memory_of(text: str) -> float:
    found = _TRES_MEMORY.search(text)
    return _kilobytes(found[1]) if found else 0.0


def _count_gpus(text: str) -> float:
    found = _GPU.findall(text)
    plain = [float(count) for kind, count in found if not kind]
    return plain[0] if plain else sum(float(count) for _, count in found)


@dataclass(frozen=True, slots=True)
class Field:
    """A column of numbers.

    Attributes
    ----------
    parse
        Texts to numbers, nan where they are none.
    expected
        What its texts are, for messages.
    range
        The numbers it may have.
    free
        Whether a text that is no number is one that Slurm has for none, such as ``UNLIMITED``.
    column
        What it is called, if not as the numbers are.
    """

    parse: Callable[[TextArray], FloatArray]
    expected: str
    range: Range
    free: bool = False
    column: str = ""


_A_TIME = "a time as 2024-01-31T12:00:00"
_TIMES = Range("a time after 1970-01-01, seconds", 0, LONGEST)
_TRES = Field(gpus, "a number of GPUs", Range("a number of GPUs", 0, MOST_PROCESSORS))
_KILOBYTES = Range("kilobytes", 0, AMOUNT.most)
_MINUTES = Range("minutes", -(LONGEST // 60), LONGEST // 60)
#: The columns of numbers, in the order in which they are checked.
FIELDS = {
    "Submit": Field(times, _A_TIME, _TIMES),
    **{
        name: Field(numbers, "a number", PROCESSORS)
        for name in ("AllocCPUS", "NCPUS", "ReqCPUS", "AllocNodes", "NNodes", "ReqNodes")
    },
    "ElapsedRaw": Field(numbers, "a number", SECONDS),
    "Elapsed": Field(durations, "a time as 1-12:00:00", SECONDS, free=True),
    "Eligible": Field(times, f"{_A_TIME} or Unknown", _TIMES),
    "Start": Field(times, f"{_A_TIME} or Unknown", _TIMES),
    "End": Field(times, f"{_A_TIME} or Unknown", _TIMES),
    "TimelimitRaw": Field(numbers, "minutes", _MINUTES, free=True),
    "Timelimit": Field(durations, "a time as 1-12:00:00", SECONDS, free=True),
    "ReqMem": Field(kilobytes, "an amount as 4G", _KILOBYTES),
    "AllocTRES": _TRES,
    "ReqTRES": _TRES,
    "AllocTRES mem": Field(memory_of, "an amount as 4G", _KILOBYTES, column="AllocTRES"),
    "ReqTRES mem": Field(memory_of, "an amount as 4G", _KILOBYTES, column="ReqTRES"),
}
#: What a column of numbers holds, by its name; only those that are there.
Numbers = Mapping[str, FloatArray]


def local_times(frame: pd.DataFrame) -> bool:
    """Tell whether the times are local ones, and not seconds since 1970."""
    return bool(frame["Submit"].str.contains("T", regex=False).any())


def parsed(frame: pd.DataFrame, zone: str | None = None) -> dict[str, FloatArray]:
    """Return the columns of :data:`FIELDS` that are there as numbers; local times are those of a zone."""
    found = {}
    for name, field in FIELDS.items():
        if (field.column or name) in frame:
            texts = column(frame, field.column or name)
            found[name] = times(texts, zone) if field.parse is times else field.parse(texts)
    return found


def first_number(values: Numbers, count: int, *names: str) -> FloatArray:
    """Return, job by job, the first of the columns with a number > 0, else -1."""
    result = np.full(count, -1.0)
    for name in reversed(names):
        if name in values:
            result = np.where(values[name] > 0, values[name], result)
    return result


def nodes_asked(frame: pd.DataFrame, values: Numbers, processors: FloatArray) -> IntArray:
    """Return how many nodes each job asked for by itself (``-N``), 0 for one whose tasks go anywhere (``-n`` alone).

    That is what ``SubmitLine`` says; without it several ``ReqNodes``, or one node that was enough, are taken for asked,
    and so are several that have as many processors each where ``ReqNodes`` is not there.
    """
    count = len(frame)
    asked, had = first_number(values, count, "ReqNodes"), first_number(values, count, "AllocNodes", "NNodes")
    even = (asked < 0) & (had > 0) & (processors % np.maximum(had, 1) == 0)
    result = np.where(asked > 1, asked, np.where(had == 1, 1, np.where(even, had, 0)))
    if "SubmitLine" in frame:
        told = np.array([0 if found is None else int(found[1]) for found in _in_command(frame, _ASKED)])
        result = np.where(column(frame, "SubmitLine") == "", result, told)
    return result.astype(np.int64)


def task_cores(frame: pd.DataFrame) -> IntArray:
    """Return how many cores each task of a job has (``-c``), 1 where ``SubmitLine`` does not say."""
    found = _in_command(frame, _CORES)
    return np.array([1 if each is None else max(int(each[1]), 1) for each in found], dtype=np.int64)


def memory_by(frame: pd.DataFrame) -> TextArray:
    """Return whether jobs asked for memory by ``core`` or by ``node``; empty where ``SubmitLine`` does not say."""
    found = _in_command(frame, _MEMORY_BY)
    return np.array(["" if each is None else "core" if each[1] else "node" for each in found], dtype=object)


def arrays(frame: pd.DataFrame, ids: TextArray) -> TextArray:
    """Return the array that each job is a task of, empty for others, with how many may run at a time, as in ``278%3``.

    How many is on record while tasks wait, and in ``SubmitLine``, unless the script itself says it.
    """
    whole = [text.partition("_") for text in ids.tolist()]
    tasks = np.array([array if task else "" for array, _, task in whole], dtype=object)
    limits: dict[str, str] = {}
    rows = np.flatnonzero(tasks != "")
    lines, waiting = column(frame, "SubmitLine")[rows].tolist(), column(frame, ARRAY_LIMIT)[rows].tolist()
    for array, line, limit in zip(tasks[rows].tolist(), lines, waiting, strict=True):
        found = None if limit else _ARRAY.search(line)
        if limit or found:
            limits[array] = limit or found[1]  # type: ignore[index]
    tasks[rows] = [f"{array}%{limits[array]}" if array in limits else array for array in tasks[rows].tolist()]
    return tasks


def reservations(frame: pd.DataFrame) -> TextArray:
    """Return the advance reservation of each job, empty for none; Slurm has no record of it for some that used one."""
    asked = np.array(["" if each is None else each[1] for each in _in_command(frame, _RESERVATION)], dtype=object)
    known = column(frame, "Reservation")
    return np.where(known == "", asked, known)


def elapsed(values: Numbers, start: FloatArray, end: FloatArray) -> FloatArray:
    """Return run times in seconds: ``ElapsedRaw``, else ``Elapsed``, else from start to end."""
    result = np.where(np.isfinite(end), end - start, np.nan)
    for name in ("Elapsed", "ElapsedRaw"):
        if name in values:
            result = np.where(np.isnan(values[name]), result, values[name])
    return result


def timelimit(values: Numbers, count: int) -> FloatArray:
    """Return requested times in seconds, -1 where there is none (``UNLIMITED``, ``Partition_Limit``, empty)."""
    result = values.get("Timelimit", np.full(count, np.nan))
    if "TimelimitRaw" in values:
        minutes = values["TimelimitRaw"]
        result = np.where(np.isnan(minutes), result, minutes * 60)
    return np.where(result > 0, result, -1.0)


def memory(frame: pd.DataFrame, values: Numbers, processors: FloatArray, nodes: FloatArray) -> FloatArray:
    """Return the memory in kilobytes per processor, -1 where unknown or not asked for.

    It is what ``AllocTRES`` or ``ReqTRES`` names, and if one is there but names none, none was asked for. Otherwise it
    is ``ReqMem``, which tells the memory of the node where none was: ``4Gc`` is per processor, ``4Gn`` per node, ``4G``
    (since Slurm 21.08) of the whole job.
    """
    result = _requested_memory(values, column(frame, "ReqMem"), processors, nodes)
    for name in ("ReqTRES", "AllocTRES"):
        if name in values:
            share = np.ceil(values[f"{name} mem"] / np.maximum(processors, 1))
            result = np.where(column(frame, name) != "", np.where(share > 0, share, -1.0), result)
    return result


def _requested_memory(values: Numbers, texts: TextArray, processors: FloatArray, nodes: FloatArray) -> FloatArray:
    amount = np.nan_to_num(values.get("ReqMem", np.full(len(texts), -1.0)), nan=-1.0)
    codes, different = pd.factorize(texts)
    per = np.array([text[-1:] for text in different.tolist()], dtype="U1")[codes]
    share = np.where(per == "n", np.maximum(nodes, 1), 1.0)
    share = np.where(per == "c", 1.0, share / np.maximum(processors, 1))
    return np.where(amount > 0, np.ceil(amount * share), -1.0)


def gpus_of_job(frame: pd.DataFrame, values: Numbers, nodes: FloatArray) -> NDArray[np.int64]:
    """Return the GPUs of each whole job from ``AllocTRES``, else ``ReqTRES``; 0 where there are none.

    A site that does not account for GPUs (``AccountingStorageTRES``) names none there: then ``SubmitLine`` says it.
    """
    result: NDArray[np.int64] = np.zeros(len(frame), dtype=np.int64)
    for name in ("ReqTRES", "AllocTRES"):
        if name in values:
            result = np.where(column(frame, name) != "", values[name].astype(np.int64), result)
    if "SubmitLine" in frame and not result.any():
        lines = column(frame, "SubmitLine").tolist()
        result = np.array([_asked_gpus(line, int(had)) for line, had in zip(lines, nodes.tolist(), strict=True)])
    return result


def _asked_gpus(line: str, nodes: int) -> int:
    """Return the GPUs that a command line asks for on so many nodes."""
    if found := _GPUS.search(line):
        return int(found[1])
    found = _GPUS_A_NODE.search(line)
    return 0 if found is None else int(found[1] or 1) * max(nodes, 1)


def status(states: TextArray) -> NDArray[np.int32]:
    """Return states as SWF has them: 1 completed, 5 cancelled, 0 failed, -1 unknown."""
    codes, texts = pd.factorize(states)
    known = [_STATUS.get(text.split(" ")[0], 0) if text else -1 for text in texts.tolist()]
    return np.array(known, dtype=np.int32)[codes]
