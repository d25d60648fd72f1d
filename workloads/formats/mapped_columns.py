"""Convert the columns of a table to those of jobs, by a column map."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...base import LONGEST, FloatArray, InputError, IntArray, shown
from ...base.checks import AMOUNT, PROCESSORS, SECONDS, Range
from ...base.printed import near_name
from ..job import MOST_PRIORITY
from .column_maps import CLOCK, COUNTS, DURATIONS, NUMBERS, TEXTS, ColumnMap, ColumnSource
from .job_builder import OF_PARTITION, UNFINISHED
from .read_log import Malformed, ReadingLog, counted
from .sacct_fields import PARSERS, YEAR_LAST, TextArray, durations, numbers, of_each, times
from .slots import processors_of, read_slots

#: Prefix of columns that are kept for ``Workload.records``.
KEPT = "keep "
#: Texts for unknown values.
_UNKNOWN = {
    *("", "-", "--", "-/-", "?", "null", "none", "nil", "nan", "nat", "<na>", "n/a", "n.a.", "#n/a", "\\n"),
    *("unknown", "undefined", "unset", "not_set", "not set", "never", "none assigned"),
}
#: Numbers for unknown values: the largest ones of 32 and 64 bits, as Slurm and others write them.
_NO_VALUE = {
    *("4294967294", "4294967295", "18446744073709551614", "18446744073709551615"),
    *("2147483647", "9223372036854775807", "-2147483648", "-9223372036854775808"),
}
#: Limits that are no times. The largest numbers of 32 and 64 bits are those of Slurm, LSF and others for no limit.
_LIMITS = {
    **dict.fromkeys(("UNLIMITED", "INFINITE", "INFINITY", "INF", "NO LIMIT", "NONE SET"), np.inf),
    **dict.fromkeys(("4294967295", "2147483647", "9223372036854775807", "18446744073709551615"), np.inf),
    "Partition_Limit": OF_PARTITION,
}
#: Elements of arrays that are none.
_NO_TASK = {"0", "-1"}
#: Dates for a time that never came, of databases and of Go.
_NEVER = r"^000[01]-0[01]-0[01]|^9999-12-31|infinity$"
#: Dates before 1970 and at the end of the year 9999 stand for none, as in spreadsheets and databases.
_LAST_DATE = 2.534e11
#: Seconds around 1970 that no job has run in. They are a day, as 1970-01-01 is another time in each zone.
_ZERO = 86400.0
#: The end of the year 1, which is the zero of Go's time, in seconds since 1970.
_FIRST_YEARS = -6.21e10
#: Seconds since 1970 in the year 5138: larger times are not in seconds.
_LATEST = 1e11
#: A table without times after 1979, seconds, has a clock of its own, on which 0 is a time.
_CALENDAR = 3e8
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
#: A duration below 0, of clocks that were set back: as unknown as one of -1.
_NEGATIVE = re.compile(r"-[\d:.-]+")
_MINUTES_ONLY = r"[T -]\d\d:\d\d$"
#: The largest number of days in front of which a date may also be a month.
_MONTHS = 12


@dataclass(slots=True)
class Guesses:
    """Values of a table that had to be guessed or rounded, for notes.

    Attributes
    ----------
    path
        The file, for messages.
    calendar
        Whether a time is after 1979.
    day_first
        Whether ``05/01/2024`` is in January; ``None`` until a date tells.
    either
        A date that may be read both ways, and how many there are.
    minutes
        A limit such as ``24:00``, and how many there are.
    plain_limits
        A limit of ``sacct`` without a colon, and how many there are.
    fractions
        Number of jobs with fractions of a core or GPU.
    """

    path: str = ""
    calendar: bool = False
    day_first: bool | None = None
    either: Counter[str] = field(default_factory=Counter)
    minutes: Counter[str] = field(default_factory=Counter)
    plain_limits: Counter[str] = field(default_factory=Counter)
    fractions: int = 0

    def say(self, log: ReadingLog) -> None:
        """Add what was guessed to the notes of a reading."""
        either = {} if self.day_first is not None else self.either
        for texts, what, other in (
            (either, "date{} read as month/day", '; dates = "day first" in a column map reads day/month'),
            (self.minutes, "limit{} read as minutes and seconds", '; unit = "h" in the map reads hours and minutes'),
            (self.plain_limits, "limit{} without a colon read as minutes, as Slurm counts them", ""),
        ):
            if texts:
                count = sum(texts.values())
                example = shown(next(iter(texts)))
                log.note(f"{count:,} {what.format('s'[: count > 1])}, such as {example}{other}")
        if self.fractions:
            log.note(f"{counted(self.fractions, 'job')} with fractions of a core, node or GPU rounded up")


def check_columns(names: Sequence[str], described: ColumnMap, log: ReadingLog) -> None:
    """Refuse a table that lacks columns of its map.

    A built-in map names columns that some versions of a data set lack. It needs ids, submissions and those of its
    filter. All columns of a user's map must exist; of a list, one must.
    """
    needed = {ours: [column.column for column in columns] for ours, columns in described.columns.items()}
    if not described.own:
        needed = {ours: needed[ours] for ours in ("id", "submit")}
    needed |= {f"[filter] {name}": [name] for name in described.filter}
    if described.own:
        needed |= {f"[keep] {ours}": [name] for ours, name in described.keep.items()}
    missing = {ours: choice for ours, choice in needed.items() if not set(choice) & set(names)}
    if missing:
        ours, choice = next(iter(missing.items()))
        listing = shown(", ".join(map(str, names)))[1:-1]
        others = f"; {len(missing) - 1} more are missing" if len(missing) > 1 else ""
        wanted = " or ".join(map(repr, choice))
        near = near_name(choice[0], names)
        raise InputError(
            f"{log.path}:1: expected a column {wanted} for {ours}, as the map {described.name} says, "
            f"got: {listing}{near}{others}"
        )


def jobs_of(
    frame: pd.DataFrame,
    lines: IntArray,
    described: ColumnMap,
    zone: str | None,
    malformed: list[Malformed],
    guesses: Guesses | None = None,
) -> pd.DataFrame:
    """Return the well-formed rows of a table with our columns.

    These are ``line``, then numbers (nan if unknown) and texts (empty if unknown). Numbers are in seconds and kilobytes
    of the whole job. A limit is infinite for none, and :data:`~.job_builder.OF_PARTITION` for that of the partition.
    On a calendar clock a time of 0 is unknown. Other rows are added to `malformed`, and guesses to `guesses`.
    """
    texts = {name: plain_texts(frame[name]) for name in described.sources if name in frame}
    guesses = Guesses() if guesses is None else guesses
    good = np.ones(len(frame), dtype=np.bool_)

    def refuse(mask: NDArray[np.bool_], reason: str, name: str, expected: str) -> None:
        for row in np.flatnonzero(mask & good).tolist():
            message = f"field {name!r}: expected {expected}, got {shown(texts[name][row])}"
            malformed.append(Malformed(int(lines[row]), reason, message))
        np.logical_and(good, ~mask, out=good)

    submit = next(column.column for column in described.columns["submit"] if column.column in frame)
    short = any(text.count(":") == 1 and re.search(_MINUTES_ONLY, text) for text in texts[submit].tolist())
    clocks = [column.column for ours in CLOCK for column in described.columns.get(ours, ()) if column.column in texts]
    day_first = _day_first([texts[name] for name in dict.fromkeys(clocks)], described, guesses)
    columns: dict[str, Any] = {}
    later: dict[str, FloatArray] = {}
    relative = described.clock == "relative"
    how = _How(zone, short=short, day_first=day_first, guesses=guesses)
    if not relative and not guesses.calendar:
        guesses.calendar = _has_calendar(frame, texts, described, how)
    never = dict.fromkeys(CLOCK, np.zeros(len(frame), dtype=np.bool_))
    fractions = np.zeros(len(frame), dtype=np.bool_)
    for ours in NUMBERS:
        for column in described.columns.get(ours, ()):
            if (name := column.column) not in frame:
                continue
            unknown = _is_unknown(texts[name]) | _has_no_value(texts[name], ours)
            values = np.where(unknown, np.nan, _numbers(frame[name], texts[name], ours, column, how))
            if column.default:
                values = np.where(unknown, float(column.default), values)
            expected = "a time as 2024-01-31T12:00:00" if ours in CLOCK else "a number"
            if ours in CLOCK:
                zero = _never(values, texts[name], calendar=guesses.calendar and not relative)
                if ours == "submit":
                    zero &= guesses.calendar & (values > _FIRST_YEARS)
                values = np.where(zero, np.nan, values)
                unknown |= zero
                never[ours] = never[ours] | zero
            elif ours in COUNTS and described.name != "sacct":
                precise = np.round(values, 6)
                rounded = np.ceil(precise)
                fractions |= (rounded != precise) & ~np.isnan(precise)
                values = rounded
            if not column.free:
                none = np.isnan(values) & ~unknown
                refuse(none, "not a time" if ours in CLOCK else "not a number", name, expected)
            limits = _RANGES.get(ours, _KILOBYTES)
            beyond = limits.outside(values) & ~np.isnan(values) & ~(np.isinf(values) & (ours == "walltime"))
            refuse(beyond, "number out of range", name, f"{limits}{_unit_of(values[beyond & good], ours)}")
            if ours in ("start", "end") and zone is not None:
                again = _numbers(frame[name], texts[name], ours, column, replace(how, second=True))
                second = np.where(unknown, np.nan, again)
                later[ours] = np.where(np.isnan(later[ours]), second, later[ours]) if ours in later else second
            known = columns.get(ours)
            if known is not None:
                values = np.where(np.isnan(known) | ((known <= 0) & (ours in COUNTS[:-1])), values, known)
            columns[ours] = values
    guesses.fractions += int(fractions.sum())
    refuse(np.isnan(columns["submit"]) & ~never["submit"], "not a time", submit, "a time as 2024-01-31T12:00:00")
    if len(later) == len(("start", "end")):
        _choose_hour(columns, later)
    for ours in TEXTS:
        for column in described.columns.get(ours, ()):
            if (name := column.column) in frame:
                values = np.where(_is_unknown(texts[name]), "", texts[name]).astype(object)
                known = columns.get(ours)
                columns[ours] = values if known is None else np.where(known == "", values, known)
    for column in described.columns.get("slots", ()):
        if (name := column.column) in frame:
            wrong = of_each(texts[name], lambda text: bool(text) and not read_slots(text), np.bool_)
            expected = 'cores of each slot such as 8+4, or amounts such as [{"gpu": 8}, {"gpu": 4}]'
            refuse(wrong & ~_is_unknown(texts[name]), "no slots", name, expected)
    named = next(column.column for column in described.columns["id"] if column.column in frame)
    refuse(columns["id"] == "", "no id", named, "an id")
    if "task" in columns:
        tasks = columns.pop("task").tolist()
        ids = zip(columns["id"].tolist(), tasks, strict=True)
        columns["id"] = np.array(
            [id_ if not task or task in _NO_TASK else f"{id_}[{task}]" for id_, task in ids], object
        )
    state = columns.get("state", np.full(len(frame), "", dtype=object))
    states = described.states
    columns["state"] = of_each(
        state, lambda text: states.get(text.lower(), text if " " in text else text.upper()), object
    )
    for ours, name in described.keep.items():
        if name in frame:
            columns[f"{KEPT}{ours}"] = _kept(frame[name], texts[name])
    if "slots" in columns:
        _complete_slots(columns)
    _complete(columns, described, never["end"])
    jobs = pd.DataFrame({"line": lines, **columns}, copy=False)
    return jobs if good.all() else jobs[good].reset_index(drop=True)


def _has_no_value(texts: TextArray, ours: str) -> NDArray[np.bool_]:
    """Return which numbers stand for none."""
    if ours in ("memory", "memory_asked", "priority", "nice"):
        return np.zeros(len(texts), dtype=np.bool_)
    limit = ours == "walltime"
    mask: NDArray[np.bool_] = of_each(
        texts, lambda text: text in _NO_VALUE and not (limit and text in _LIMITS), np.bool_
    )
    return mask


def _unit_of(values: FloatArray, ours: str) -> str:
    """Return advice on the unit of times that are too large for seconds."""
    if ours not in CLOCK or not len(values):
        return ""
    units = {1e-3: "ms", 1e-6: "us", 1e-9: "ns"}
    unit = next((unit for factor, unit in units.items() if _CALENDAR < values[0] * factor <= LONGEST), "")
    return f' (unit = "{unit}" in the map reads such numbers)' if unit else ""


def _has_calendar(frame: pd.DataFrame, texts: Mapping[str, TextArray], described: ColumnMap, how: _How) -> bool:
    """Return whether a table has times after 1979."""
    for ours in CLOCK:
        for column in described.columns.get(ours, ()):
            if column.column in texts:
                values = _numbers(frame[column.column], texts[column.column], ours, column, how)
                if (np.nan_to_num(values) > _CALENDAR).any():
                    return True
    return False


def _never(values: FloatArray, texts: TextArray, *, calendar: bool) -> NDArray[np.bool_]:
    """Return which times stand for something that did not happen.

    On a calendar clock these are 0 and all others of the first day of 1970. On a relative clock it is -1.
    """
    zero: NDArray[np.bool_] = (np.abs(values) < _ZERO if calendar else values == -1) | (values < _FIRST_YEARS)
    beyond = np.flatnonzero((values < -_ZERO) | (values > _LAST_DATE))
    zero[beyond] |= np.isnan(numbers(texts[beyond]))  # a number has another unit
    unread = np.flatnonzero(np.isnan(values))
    zero[unread] = [re.match(_NEVER, text) is not None for text in texts[unread].tolist()]
    return zero


def _day_first(columns: Sequence[TextArray], described: ColumnMap, guesses: Guesses) -> bool:
    """Return whether dates such as 05/01/2024 begin with the day, by the map or by a day that is no month.

    Raises
    ------
    InputError
        If a later date shows that earlier ones were read the wrong way.
    """
    if described.dates:
        guesses.day_first = described.dates == "day first"
        return guesses.day_first
    slashed = [texts for texts in columns if any("/" in text[:3] or "-" in text[:3] for text in texts[:1000].tolist())]
    first, last = 0, 0
    either = Counter[str]()
    for texts in slashed:
        for text in texts.tolist():
            date = re.match(YEAR_LAST, text)
            if date is not None:
                first = max(first, int(date[1]))
                last = max(last, int(date[2]))
                if int(date[1]) <= _MONTHS and int(date[2]) <= _MONTHS and date[1] != date[2]:
                    either[text] += 1
    if guesses.day_first is None and max(first, last) > _MONTHS and min(first, last) <= _MONTHS:
        guesses.day_first = first > last
        if guesses.day_first and guesses.either:
            raise InputError(
                f"{guesses.path}: dates such as {next(iter(guesses.either))} were read as month/day, but a later one "
                'begins with the day; dates = "day first" in the column map reads them'
            )
    if guesses.day_first is None:
        guesses.either += either
    return bool(guesses.day_first)


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
    mask: NDArray[np.bool_] = of_each(texts, lambda text: text.lower() in _UNKNOWN, np.bool_)
    return mask


@dataclass(frozen=True, slots=True)
class _How:
    """How the texts of a table are read.

    Attributes
    ----------
    zone
        Of local times.
    short
        Whether ``2:30`` is hours and minutes.
    day_first
        Whether dates begin with the day.
    guesses
        Gets what was guessed.
    second
        Whether an hour that comes twice is the second one.
    """

    zone: str | None
    short: bool
    day_first: bool
    guesses: Guesses
    second: bool = False


def _numbers(series: pd.Series[Any], texts: TextArray, ours: str, column: ColumnSource, how: _How) -> FloatArray:
    """Return a column as numbers in our unit, nan if missing."""
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        if series.dt.tz is None and how.zone:
            first = np.full(len(series), not how.second)
            series = series.dt.tz_localize(how.zone, ambiguous=first, nonexistent="shift_forward")
        plain = series if series.dt.tz is None else series.dt.tz_convert("UTC").dt.tz_localize(None)
        since = plain.to_numpy().astype("datetime64[ms]")
        return np.where(np.isnat(since), np.nan, since.astype(np.int64) / 1000.0)
    if pd.api.types.is_timedelta64_dtype(series.dtype):
        return np.asarray(series.dt.total_seconds(), dtype=np.float64)
    if column.pattern:
        return _by_pattern(texts, ours, column)
    if ours in CLOCK:
        values = times(texts, how.zone, second=how.second, day_first=how.day_first) * column.scale
        return _in_seconds(values) if column.parse == "epoch" else values
    values = PARSERS[column.parse](texts) * column.scale
    if column.parse != "number":
        return np.where(texts == "", np.nan, values)
    if ours in DURATIONS and np.isnan(values).any():
        lasting = durations(texts)
        one_colon = of_each(texts, lambda text: text.count(":") == 1 and "-" not in text, np.bool_) & np.isnan(values)
        if how.short or column.unit == "h":
            lasting = np.where(one_colon, lasting * 60, lasting)
        elif ours == "walltime" and not column.free and not column.unit:
            how.guesses.minutes.update(texts[one_colon & ~np.isnan(lasting)].tolist())
        values = np.where(np.isnan(values), lasting, values)
        negative = of_each(texts, lambda text: ":" in text and _NEGATIVE.fullmatch(text) is not None, np.bool_)
        values = np.where(negative, -1.0, values)
    if ours == "walltime":
        limits: FloatArray = of_each(texts, lambda text: _LIMITS.get(text, _LIMITS.get(text.upper(), np.nan)))
        values = np.where(np.isnan(limits), values, limits)
        if column.column == "Timelimit" and column.free:  # sacct prints 00:10:00, other tools minutes
            plain = ~np.isnan(numbers(texts)) & np.isnan(limits)
            how.guesses.plain_limits.update(texts[plain].tolist())
            values = np.where(plain, values * 60, values)
    return values


def _in_seconds(values: FloatArray) -> FloatArray:
    """Return times since 1970 in seconds. Larger ones than of the year 5138 are in milli-, micro- or nanoseconds."""
    for _ in range(3):
        values = np.where(values > _LATEST, values / 1000, values)
    return values


def _by_pattern(texts: TextArray, ours: str, column: ColumnSource) -> FloatArray:
    """Return the sum of what a pattern finds in each text, 0 if it finds nothing."""
    pattern = re.compile(column.pattern)

    def value(text: str) -> float:
        try:
            return float(text) * column.scale
        except ValueError:
            limit = _LIMITS.get(text.upper(), np.nan) if ours == "walltime" else np.nan
            return float(durations(np.array([text], dtype=object))[0]) if np.isnan(limit) else limit

    sums: FloatArray = of_each(texts, lambda text: sum(map(value, pattern.findall(text))) if text else np.nan)
    return sums


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


def _complete_slots(columns: dict[str, Any]) -> None:
    """Set unknown cores and nodes from the slots."""
    read = [read_slots(text) for text in columns["slots"].tolist()]
    for name, values in (("cores", [processors_of(each) for each in read]), ("nodes", [len(each) for each in read])):
        given = columns.get(name, np.full(len(read), np.nan))
        mine = np.array(values, dtype=np.float64)
        columns[name] = np.where(np.isnan(given) & (mine > 0), mine, given)


def _complete(table: dict[str, Any], described: ColumnMap, zero_ends: NDArray[np.bool_]) -> None:
    """Compute missing columns. Starts come from waits, run times from ends, amounts of jobs from those of nodes.

    A job without an end may still run, unless its state says otherwise. An end of 0 (`zero_ends`) says so too.
    """
    unknown = np.full(len(table["submit"]), np.nan)
    wait = table.get("wait")
    if "start" not in table and wait is not None:
        table["start"] = np.where(wait >= 0, table["submit"] + wait, np.nan)
    elapsed = table.get("elapsed", unknown)
    if {"start", "end"} <= set(table):  # the start or the end is not recorded, but the run time is
        start, end = table["start"], table["end"]
        before = end - elapsed
        begun = np.isnan(start) & (elapsed > 0) & ~(before < table["submit"])
        table["start"] = np.where(begun, before, start)
        ended = of_each(table["state"], lambda text: text.split(" ")[0].rstrip("+") not in (*UNFINISHED, ""), np.bool_)
        ended |= zero_ends & (table["state"] == "")
        over = np.isnan(end) & (elapsed > 0) & ~np.isnan(start) & ended
        table["end"] = np.where(over, start + elapsed, end)
    lasted = table.get("end", unknown) - table.get("start", unknown)
    table["elapsed"] = np.where(np.isnan(elapsed) | ((elapsed < 0) & (lasted > 0)), lasted, elapsed)
    for per, names in (("node", ("nodes", "nodes_asked")), ("core", ("cores", "cores_asked"))):
        amount = next((table[name] for name in names if name in table), unknown)
        for ours, columns in described.columns.items():
            if ours in table and any(column.per == per for column in columns):
                table[ours] = table[ours] * np.maximum(np.nan_to_num(amount, nan=1.0), 1.0)
    if described.processor == "node":
        for name in ("cores", "cores_asked"):
            table.pop(name, None)


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
