"""A history of run times: a column of a text file."""

from __future__ import annotations

import io
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from ...base import FloatArray, InputError
from ...base.checks import LONGEST, SECONDS, shown
from .sacct_fields import durations
from .trace_files import decode, load

Unit = Literal["s", "min", "h"]

_SECONDS = {"s": 1, "min": 60, "h": 3600}
_SEPARATORS = "\t|;,"


def read_run_times(path: str | PathLike[str], column: str | None = None, unit: Unit = "s") -> FloatArray:
    """Read run times, in the order of the file.

    The file has one run time a line, or a table with a header and its fields separated by tabs, ``|``, ``;`` or ``,``
    (the first of them in its first line); gzip as well.

    Parameters
    ----------
    path
        The file.
    column
        Name of the column in the header. Needed where there are several; a single one may have no header.
    unit
        Of times that are plain numbers. Others are as Slurm writes them: ``[[D-]H:]MM:SS`` or ``D-H[:MM]``.

    Returns
    -------
    ndarray of float, shape (runs,)
        Seconds, each above 0.

    Raises
    ------
    FileNotFoundError, OSError
        If there is no such file or it cannot be read.
    InputError
        If it is empty, has no such column, or one of the times is none; the message names file, line and column.
    """
    path = Path(path)
    if unit not in get_args(Unit):
        raise InputError(f"unit: expected one of {', '.join(get_args(Unit))}, got {unit!r}")
    table = _table(path)
    index, name, has_header = _column(path, [str(text) for text in table.iloc[0]], column, unit)
    texts = table[index].iloc[1:] if has_header else table[index]
    if texts.empty:
        raise InputError(f"{path}: column {name[:60]}: expected at least one run time, got none")
    seconds = as_seconds(texts, unit)
    wrong = np.flatnonzero(SECONDS.outside(seconds) | ~(seconds > 0))
    if wrong.size:
        line, text = int(texts.index[wrong[0]]) + 1, texts.iloc[wrong[0]]
        got = shown(text) if text else "an empty field"
        above = "a time above 0" + f" and up to {LONGEST} s" * int(seconds[wrong[0]] > LONGEST)
        raise InputError(f"{path}:{line}: column {name[:60]}: expected {above}, such as 90 or 1:30:00, got {got}")
    return seconds


def as_seconds(texts: Any, unit: Unit = "s") -> FloatArray:
    """Return texts as seconds: numbers in `unit`, or times as Slurm writes them; nan where they are neither."""
    series = pd.Series(texts, dtype="object")
    numbers = np.asarray(pd.to_numeric(series, errors="coerce"), dtype=np.float64) * _SECONDS[unit]
    return np.where(np.isnan(numbers), durations(series.to_numpy()), numbers)


def _table(path: Path) -> pd.DataFrame:
    """Return the fields as texts without blanks around them; the index is the line, from 0."""
    if path.is_file() and not path.stat().st_size:
        raise InputError(f"{path}: expected run times, got an empty file")
    text = decode(load(path, packed=path.name.lower().endswith(".gz"))).removeprefix("\ufeff").rstrip()
    if not text:
        raise InputError(f"{path}: expected run times, got blank lines")
    first = text.lstrip("\r\n").partition("\n")[0]
    separator = next((one for one in _SEPARATORS if one in first), ",")
    try:
        table: pd.DataFrame = pd.read_csv(
            io.StringIO(text), sep=separator, header=None, dtype=str, keep_default_na=False, skip_blank_lines=False
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise InputError(f"{path}: expected the same fields on each line, got: {str(error).strip()}") from None
    return pd.DataFrame({name: texts.fillna("").str.strip() for name, texts in table.items()})


def _column(path: Path, header: list[str], column: str | None, unit: Unit) -> tuple[int, str, bool]:
    """Return the index and the name of the column, and whether there is a header."""
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
