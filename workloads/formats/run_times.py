"""Read a history of run times from the columns of a text file."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from ...base import LONGEST, BoolArray, FloatArray, InputError, IntArray, seconds_of, shown
from ...base.argument_types import names_wrong_types
from ...base.checks import SECONDS
from .memory_needs import RUNS
from .sacct_fields import durations
from .table_files import MOST_COLUMNS
from .trace_files import TraceFile, decode

Unit = Literal["s", "min", "h"]

_SECONDS = {"s": 1, "min": 60, "h": 3600}
_SEPARATORS = "\t|;,"
#: States of sacct for completed and cut runs. Runs with other states are left out.
_ENDED, _CUT = "COMPLETED", "TIMEOUT"
_DECIMAL_COMMA = re.compile(r"\d+,\d+")
#: Bytes of memory that a field takes at most.
_A_FIELD = 160
#: Slurm ends a job up to so many seconds after its limit. Users write limits as multiples of the second number.
_GRACE, _STEP = 60, 300


@dataclass(frozen=True, eq=False)
class RunHistory:
    """Runs of one job, in the order of their file.

    Attributes
    ----------
    times
        Seconds, each above 0, shape (runs,).
    censored
        Whether each run ended at its limit, so that its true time is longer. Shape (runs,).
    left_out
        Number of runs that say nothing on the run time, by state.
    at_limit
        Number of runs that seem to have ended at a limit, although no state says so.
    """

    times: FloatArray
    censored: BoolArray
    left_out: Mapping[str, int] = field(default_factory=dict)
    at_limit: int = 0

    @classmethod
    def of(cls, runs: FloatArray | RunHistory) -> RunHistory:
        """Return run times as a history without censored runs. Return a history unchanged."""
        return runs if isinstance(runs, cls) else cls(np.asarray(runs, float), np.zeros(len(runs), dtype=np.bool_))

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self.times)

    def __getitem__(self, runs: slice | IntArray | BoolArray) -> RunHistory:
        """Return some of the runs."""
        return RunHistory(self.times[runs], self.censored[runs])


@names_wrong_types
def read_run_times(path: str | PathLike[str], column: str | None = None, unit: Unit = "s") -> FloatArray:
    r"""Read the run times of :func:`read_run_history`, in seconds, shape (runs,).

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from hpcdispatch.workloads import read_run_times
    >>> with TemporaryDirectory() as folder:
    ...     table = Path(folder, "times.csv")
    ...     number = table.write_text("minutes\n10\n12.5\n")
    ...     times = read_run_times(table, column="minutes", unit="min")
    >>> times
    array([600., 750.])
    """
    return read_run_history(path, column, unit).times


def read_run_history(path: str | PathLike[str], column: str | None = None, unit: Unit = "s") -> RunHistory:
    """Read run times, in the order of the file.

    The file has one run time per line, or is a table with a header. Tabs, ``|``, ``;`` or ``,`` separate its fields.
    The first of these in its first line counts. It may be gzipped. A column ``State`` of sacct tells how runs ended.
    COMPLETED ones ended by themselves, TIMEOUT ones at their limit. Others are left out.

    Parameters
    ----------
    path
        The file.
    column
        Name of the column in the header. Required if there are several and none is ``Elapsed``. A single one may have
        no header.
    unit
        Of times that are plain numbers. They may have a decimal comma if commas separate no fields. Others are in
        Slurm's formats, ``[[D-]H:]MM:SS`` or ``D-H[:MM]``, or such as ``2h`` and ``1h30m``.

    Raises
    ------
    FileNotFoundError, OSError
        If there is no such file or it cannot be read.
    InputError
        If it is empty, lacks the column, has an invalid time, or every run was cut off. The message has file, line and
        column.
    """
    path = Path(path)
    if unit not in get_args(Unit):
        raise InputError(f"unit: expected one of {', '.join(get_args(Unit))}, got {unit!r}")
    table = _table(path)
    header = [str(text) for text in table.iloc[0]]
    index, name, has_header = _column(path, header, column, unit)
    rows = table.iloc[1:] if has_header else table
    texts = rows[index]
    if texts.empty:
        raise InputError(f"{path}: column {name[:60]}: expected at least one run time, got none")
    state = next((place for place, text in enumerate(header) if has_header and text.lower() == "state"), None)
    if state is None or state == index:
        seconds = _checked_seconds(path, name, texts, unit)
        none = np.zeros(len(seconds), dtype=np.bool_)
        return RunHistory(seconds, none, at_limit=_at_limit(seconds))
    states = rows[state].str.upper().str.split(n=1).str[0].fillna("NO STATE")
    told = states.isin((_ENDED, _CUT))
    left_out = Counter(states[~told])
    seconds = _checked_seconds(path, name, texts[told], unit)
    censored = (states[told] == _CUT).to_numpy(np.bool_)
    if censored.all():
        counts = ", ".join(f"{count} {what}" for what, count in Counter(states).items())
        raise InputError(f"{path}: expected a run that is {_ENDED}, got {shown(counts)}")
    return RunHistory(seconds, censored, left_out)


def _at_limit(seconds: FloatArray) -> int:
    """Return the number of runs that end within a minute after one limit. It is 0 if many end just before it.

    The limit must be that of the longest runs.
    """
    limit = float(seconds.max() // _STEP * _STEP)
    last = seconds.max() < limit + _GRACE
    near = int((seconds >= limit).sum())
    before = int(((seconds >= limit - _GRACE) & (seconds < limit)).sum())
    return near if last and limit > 0 and near > 1 + 2 * before and near < len(seconds) else 0


def _checked_seconds(path: Path, name: str, texts: Any, unit: Unit) -> FloatArray:
    """Return the times of a column. Refuse the first invalid one."""
    seconds = as_seconds(texts, unit)
    wrong = np.flatnonzero(SECONDS.outside(seconds) | ~(seconds > 0))
    if wrong.size:
        line = int(texts.index[wrong[0]]) + 1
        text = texts.iloc[wrong[0]]
        got = shown(text) if text else "an empty field"
        above = "a time above 0" + f" and up to {LONGEST} s" * int(seconds[wrong[0]] > LONGEST)
        raise InputError(f"{path}:{line}: column {name[:60]}: expected {above}, such as 90 or 1:30:00, got {got}")
    return seconds


def as_seconds(texts: Any, unit: Unit = "s") -> FloatArray:
    """Return texts as seconds. They are numbers in `unit`, or times in formats of Slurm or users; nan if invalid."""
    series = pd.Series(texts, dtype="object")
    numbers = np.asarray(pd.to_numeric(series, errors="coerce"), dtype=np.float64) * _SECONDS[unit]
    seconds: FloatArray = np.where(np.isnan(numbers), durations(series.to_numpy()), numbers)
    for place in np.flatnonzero(np.isnan(seconds)).tolist():
        try:
            seconds[place] = seconds_of(str(series.iloc[place]))
        except ValueError:
            continue
    return seconds


def _table(path: Path) -> pd.DataFrame:
    """Return the fields as texts without outer blanks. The index is the line, from 0."""
    if path.is_file() and not path.stat().st_size:
        raise InputError(f"{path}: expected run times, got an empty file")
    file = TraceFile(path, path.name.lower().endswith(".gz"), needs=RUNS)
    text = decode(file.read()).rstrip()
    if not text:
        raise InputError(f"{path}: expected run times, got blank lines")
    first = text.lstrip("\r\n").partition("\n")[0]
    separator = next((one for one in _SEPARATORS if one in first), ",")
    file.take(_A_FIELD * text.count(separator))
    if (count := first.count(separator) + 1) > MOST_COLUMNS:
        raise InputError(f"{path}: expected run times in at most {MOST_COLUMNS:,} columns, got {count:,}")
    try:
        table: pd.DataFrame = pd.read_csv(
            io.StringIO(text), sep=separator, header=None, dtype=str, keep_default_na=False, skip_blank_lines=False
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise InputError(f"{path}: expected the same fields on each line, got: {str(error).strip()}") from None
    swallowed = [at for _, texts in table.items() for at in np.flatnonzero(texts.str.contains("\n", regex=False))]
    if swallowed:
        raise InputError(f"{path}:{min(swallowed) + 1}: expected each run on one line, got a quote over several")
    table = pd.DataFrame({name: texts.fillna("").str.strip() for name, texts in table.items()})
    if separator == ",":
        return table
    return table.map(lambda text: text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text)


def _column(path: Path, header: list[str], column: str | None, unit: Unit) -> tuple[int, str, bool]:
    """Return the index and the name of the column, and whether there is a header."""
    if column is None and header.count("Elapsed") == 1:
        column = "Elapsed"
    if column is None and len(header) > 1:
        raise InputError(
            f"{path}: expected the name of a column, as there are {len(header)}: {shown(', '.join(header))}"
        )
    if column is None:
        has_header = bool(header[0]) and np.isnan(as_seconds(header, unit)[0]) and header[0].lower() != "nan"
        return 0, header[0] if has_header else "1", has_header
    if header.count(column) != 1:
        how = "no such column" if column not in header else "that column more than once"
        raise InputError(f"{path}: column {column}: {how}; the first line has: {', '.join(header)}")
    return header.index(column), column, True
