"""Convert the columns of a table to those of jobs, by a column map."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...base import LONGEST, FloatArray, InputError, IntArray, shown
from ...base.checks import AMOUNT, PROCESSORS, SECONDS, Range
from ..job import MOST_PRIORITY
from .column_maps import CLOCK, COUNTS, DURATIONS, NUMBERS, TEXTS, Column, ColumnMap
from .job_builder import OF_PARTITION
from .read_log import Log, Malformed
from .sacct_fields import PARSERS, TextArray, durations, of_each, times

#: Prefix of columns that are kept for ``Workload.records``.
KEPT = "keep "
#: Texts for unknown values.
_UNKNOWN = {"", "null", "none", "nan", "nat", "<na>", "unknown", "n/a", "\\n"}
#: Limits that are no times.
_LIMITS = {"UNLIMITED": np.inf, "INFINITE": np.inf, "Partition_Limit": OF_PARTITION}
_RANGES = {
    **dict.fromkeys(CLOCK, Range("a time after 1970-01-01, seconds", 0, LONGEST)),
    **dict.fromkeys(DURATIONS, SECONDS),
    **dict.fromkeys(COUNTS, PROCESSORS),
    "gpus": Range("a number of GPUs", 0, PROCESSORS.most, whole=True),
    "energy": AMOUNT,
    **dict.fromkeys(("priority", "nice"), Range("a whole number", -MOST_PRIORITY, MOST_PRIORITY, whole=True)),
}
_KILOBYTES = Range("kilobytes", 0, AMOUNT.most)
#: A local time, and one without seconds.
_LOCAL = r"\d[-/]\d.*:\d\d(?:\.\d*)?$"
_MINUTES_ONLY = r"[T -]\d\d:\d\d$"


def check_columns(frame: pd.DataFrame, described: ColumnMap, log: Log) -> None:
    """Refuse a table without columns for ids or submissions."""
    for ours in ("id", "submit"):
        names = [column.column for column in described.columns[ours]]
        if not set(names) & set(frame.columns):
            found = shown(", ".join(map(str, frame.columns)))[1:-1]
            raise InputError(
                f"{log.path}:1: expected a column {' or '.join(map(repr, names))} for {ours}, as the map "
                f"{described.name} says, got: {found}"
            )


def jobs_of(
    frame: pd.DataFrame, lines: IntArray, described: ColumnMap, zone: str | None, malformed: list[Malformed]
) -> pd.DataFrame:
    """Return the well-formed rows of a table with our columns.

    These are ``line``, then numbers (nan if unknown) and texts (empty if unknown). Numbers are in seconds and kilobytes
    of the whole job. A limit is infinite for none, and :data:`~.job_builder.OF_PARTITION` for that of the partition.
    Other rows are added to `malformed`.
    """
    texts = {name: plain_texts(frame[name]) for name in described.sources if name in frame}
    good = np.ones(len(frame), dtype=np.bool_)

    def refuse(mask: NDArray[np.bool_], reason: str, name: str, expected: str) -> None:
        for row in np.flatnonzero(mask & good).tolist():
            message = f"field {name!r}: expected {expected}, got {shown(texts[name][row])}"
            malformed.append(Malformed(int(lines[row]), reason, message))
        np.logical_and(good, ~mask, out=good)

    submit = next(column.column for column in described.columns["submit"] if column.column in frame)
    short = any(text.count(":") == 1 and re.search(_MINUTES_ONLY, text) for text in texts[submit].tolist())
    found: dict[str, Any] = {}
    later: dict[str, FloatArray] = {}
    for ours in NUMBERS:
        for column in described.columns.get(ours, ()):
            if (name := column.column) not in frame:
                continue
            unknown = _is_unknown(texts[name])
            values = _numbers(frame[name], texts[name], ours, column, zone, short=short)
            expected = "a time as 2024-01-31T12:00:00" if ours in CLOCK else "a number"
            if not column.free:
                none = np.isnan(values) & ~(unknown if ours != "submit" else np.zeros_like(unknown))
                refuse(none, "not a time" if ours in CLOCK else "not a number", name, expected)
            limits = _RANGES.get(ours, _KILOBYTES)
            beyond = limits.outside(values) & ~np.isnan(values) & ~(np.isinf(values) & (ours == "walltime"))
            refuse(beyond, "number out of range", name, str(limits))
            if column.free:
                values = np.where(unknown, np.nan, values)
            if ours in ("start", "end") and zone is not None:
                later[ours] = _numbers(frame[name], texts[name], ours, column, zone, short=short, second=True)
            known = found.get(ours)
            if known is not None:
                values = np.where(np.isnan(known) | ((known <= 0) & (ours in COUNTS[:-1])), values, known)
            found[ours] = values
    if len(later) == 2:
        _choose_hour(found, later)
    for ours in TEXTS:
        named = [column.column for column in described.columns.get(ours, ()) if column.column in frame]
        if named:
            found[ours] = np.where(_is_unknown(texts[named[0]]), "", texts[named[0]]).astype(object)
            if ours == "id":
                refuse(found[ours] == "", "no id", named[0], "an id")
    state = found.get("state", np.full(len(frame), "", dtype=object))
    states = described.states
    found["state"] = of_each(
        state, lambda text: states.get(text.lower(), text if " " in text else text.upper()), object
    )
    for ours, name in described.keep.items():
        if name in frame:
            found[f"{KEPT}{ours}"] = _kept(frame[name], texts[name])
    _complete(found, described)
    jobs = pd.DataFrame({"line": lines, **found}, copy=False)
    return jobs if good.all() else jobs[good].reset_index(drop=True)


def has_local_times(frame: pd.DataFrame, name: str) -> bool:
    """Return whether a column has local times. Seconds since 1970 and times with an offset are not local."""
    return bool(frame[name].str.contains(_LOCAL, regex=True).any())


def wanted_rows(frame: pd.DataFrame, described: ColumnMap) -> NDArray[np.bool_]:
    """Return the rows that pass the filter of a map."""
    kept = np.ones(len(frame), dtype=np.bool_)
    for name, texts in described.filter.items():
        if name in frame:
            kept &= of_each(plain_texts(frame[name]), texts.__contains__, np.bool_)
    return kept


def plain_texts(series: pd.Series[Any]) -> TextArray:
    """Return a column as texts without outer blanks.

    Whole numbers lose their decimals, and missing values become empty.
    """
    if _has_series(series):
        return np.full(len(series), "", dtype=object)
    whole = series.dtype.kind == "f"
    codes, different = pd.factorize(series.astype(object))
    try:
        texts = [str(value).strip() for value in different]
    except NotImplementedError:  # a time with a zone, beyond the year 9999
        texts = [str(value.tz_localize(None)) for value in different]
    if whole:
        texts = [text.removesuffix(".0") for text in texts]
    return np.array([*texts, ""], dtype=object)[codes]


def _is_unknown(texts: TextArray) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = of_each(texts, lambda text: text.lower() in _UNKNOWN, np.bool_)
    return found


def _numbers(
    series: pd.Series[Any],
    texts: TextArray,
    ours: str,
    column: Column,
    zone: str | None,
    *,
    short: bool,
    second: bool = False,
) -> FloatArray:
    """Return a column as numbers in our unit, nan if missing. With `short`, ``2:30`` is hours and minutes."""
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        if series.dt.tz is None and zone:
            first = np.full(len(series), not second)
            series = series.dt.tz_localize(zone, ambiguous=first, nonexistent="shift_forward")
        plain = series if series.dt.tz is None else series.dt.tz_convert("UTC").dt.tz_localize(None)
        since = plain.to_numpy().astype("datetime64[ms]")
        return np.where(np.isnat(since), np.nan, since.astype(np.int64) / 1000.0)
    if pd.api.types.is_timedelta64_dtype(series.dtype):
        return np.asarray(series.dt.total_seconds(), dtype=np.float64)
    if column.pattern:
        pattern = re.compile(column.pattern)
        sums: FloatArray = of_each(texts, lambda text: sum(map(float, pattern.findall(text))) if text else np.nan)
        return sums * column.scale
    if ours in CLOCK:
        return times(texts, zone, second=second) * column.scale
    found = PARSERS[column.parse](texts) * column.scale
    if column.parse != "number":
        return np.where(texts == "", np.nan, found)
    if ours in DURATIONS and np.isnan(found).any():
        lasting = durations(texts)
        if short:
            lasting = np.where(
                of_each(texts, lambda text: text.count(":") == 1 and "-" not in text, np.bool_), lasting * 60, lasting
            )
        found = np.where(np.isnan(found), lasting, found)
        if ours == "walltime":
            found = np.where(np.isnan(found), of_each(texts, lambda text: _LIMITS.get(text, np.nan)), found)
    return found


def _choose_hour(values: dict[str, Any], later: Mapping[str, FloatArray]) -> None:
    """Choose between the two hours of the same name, when clocks are put back, by order and elapsed time."""
    first, last = values["start"], values["end"]
    ran = values.get("elapsed", np.full(len(first), np.nan))
    for begin, finish in ((first, later["end"]), (later["start"], last), (later["start"], later["end"])):
        start, end = values["start"], values["end"]
        lasts = (end - start != ran) & (finish - begin == ran)
        fits = np.where(np.isnan(ran), (end < start) & (finish >= begin), lasts)
        values["start"] = np.where(fits, begin, start)
        values["end"] = np.where(fits, finish, end)
    early = (values["start"] < values["submit"]) & (later["start"] >= values["submit"])
    values["start"] = np.where(early & (later["start"] <= values["end"]), later["start"], values["start"])


def _complete(found: dict[str, Any], described: ColumnMap) -> None:
    """Compute missing columns. Starts come from waits, run times from ends, amounts of jobs from those of nodes."""
    unknown = np.full(len(found["submit"]), np.nan)
    wait = found.get("wait")
    if "start" not in found and wait is not None:
        found["start"] = np.where(wait >= 0, found["submit"] + wait, np.nan)
    elapsed = found.get("elapsed", unknown)
    lasted = found.get("end", unknown) - found.get("start", unknown)
    found["elapsed"] = np.where(np.isnan(elapsed) | ((elapsed < 0) & (lasted > 0)), lasted, elapsed)
    for per, names in (("node", ("nodes", "nodes_asked")), ("core", ("cores", "cores_asked"))):
        amount = next((found[name] for name in names if name in found), unknown)
        for ours, columns in described.columns.items():
            if ours in found and any(column.per == per for column in columns):
                found[ours] = found[ours] * np.maximum(np.nan_to_num(amount, nan=1.0), 1.0)
    if described.processor == "node":
        for name in ("cores", "cores_asked"):
            found.pop(name, None)


def _has_series(series: pd.Series[Any]) -> bool:
    """Return whether the cells of a column are lists."""
    return series.dtype == object and any(isinstance(value, np.ndarray | list) for value in series.head(100))


def _kept(series: pd.Series[Any], texts: TextArray) -> Any:
    """Return a column for analysis: numbers or texts. A list of numbers becomes its mean."""
    if _has_series(series):
        return np.array(
            [np.mean(value) if isinstance(value, np.ndarray | list) and len(value) else np.nan for value in series],
            dtype=np.float64,
        )
    values = PARSERS["number"](texts)
    return texts if (np.isnan(values) & ~_is_unknown(texts)).any() or not len(texts) else values
