"""Tables of runs: the size of each input and the time it took."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ...base import InputError
from ...base.checks import shown
from .trace_files import decode, load

#: Separator by suffix; each with .gz as well.
SEPARATORS = {".csv": ",", ".tsv": "\t"}
PARQUET = ".parquet"
#: Values above this are refused, as their cubes would overflow.
_LARGEST = 1e30


@dataclass(frozen=True, slots=True)
class RunColumns:
    """The names of the columns of a table; without `workflow` all runs are of one.

    Raises
    ------
    InputError
        If two are the same.
    """

    size: str
    time: str
    workflow: str | None = None

    def __post_init__(self) -> None:
        names = [name for name in (self.size, self.time, self.workflow) if name is not None]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"columns of sizes, times and workflows: expected different ones, got {name!r} twice")


def read_runs(path: Path, columns: RunColumns) -> pd.DataFrame:
    """Read a table with a row for each run: CSV or TSV with a header, also gzipped, or Parquet.

    Returns
    -------
    pandas.DataFrame
        Columns ``workflow``, ``size`` and ``time``, in the units of the table. Without a column of workflows the name
        of the file is that of the one.

    Raises
    ------
    OSError
        If the file cannot be read.
    InputError
        If it is no such table, has not these columns, has no rows, or a value that is no number >= 0; the message has
        the line.
    """
    places, frame = _cells(path, columns)
    if frame.empty:
        raise InputError(f"{path}: expected runs below the header, got none")
    found: dict[str, pd.Series[Any]] = {"workflow": pd.Series(path.name, frame.index)}
    if columns.workflow is not None:
        found["workflow"] = frame[columns.workflow].str.strip()
        _refuse(found["workflow"] == "", places, frame, columns.workflow, "a name")
    for key, name in (("size", columns.size), ("time", columns.time)):
        values = pd.to_numeric(frame[name].str.strip(), errors="coerce").astype(float)
        _refuse(~values.between(0, _LARGEST), places, frame, name, f"a number in [0, {_LARGEST:g}]")
        found[key] = values
    tiny = (found["size"] > 0) & (found["size"] < 1 / _LARGEST)
    _refuse(tiny, places, frame, columns.size, f"0 or at least {1 / _LARGEST:g}")
    return pd.DataFrame(found)


def _refuse(wrong: pd.Series[bool], places: Sequence[str], frame: pd.DataFrame, name: str, expected: str) -> None:
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        raise InputError(f"{places[row]}: column {name!r}: expected {expected}, got {shown(frame[name].iloc[row])}")


def _cells(path: Path, columns: RunColumns) -> tuple[Sequence[str], pd.DataFrame]:
    """Return where each row stands, and the wanted columns as text."""
    plain = path.name.lower().removesuffix(".gz")
    separator = SEPARATORS.get(Path(plain).suffix)
    if separator is None and path.suffix.lower() != PARQUET:
        known = ", ".join((*SEPARATORS, *(f"{one}.gz" for one in SEPARATORS), PARQUET))
        raise InputError(f"{path}: expected a table with a suffix among {known}, got {path.suffix!r}")
    wanted = [name for name in (columns.workflow, columns.size, columns.time) if name is not None]
    if separator is None:
        frame = _parquet(path)
        _require(path, wanted, [str(name) for name in frame.columns])
        cells = frame[wanted].astype(str).where(frame[wanted].notna(), "")
        return [f"{path}: row {row}" for row in range(1, len(frame) + 1)], cells
    header, lines, rows = _records(path, separator)
    _require(path, wanted, header)
    indices = [header.index(name) for name in wanted]
    chosen = [[row[index] for index in indices] for row in rows]
    return [f"{path}:{line}" for line in lines], pd.DataFrame(chosen, columns=wanted, dtype=str)


def _require(path: Path, wanted: Sequence[str], header: Sequence[str]) -> None:
    for name in wanted:
        if name not in header:
            raise InputError(f"{path}: no column {name!r}; columns: {', '.join(map(repr, header))}")
        if header.count(name) > 1:
            raise InputError(f"{path}: column {name!r}: expected one, got {header.count(name)}")


def _parquet(path: Path) -> pd.DataFrame:
    data = path.read_bytes()
    try:
        return pd.read_parquet(io.BytesIO(data))
    except (ValueError, OSError, NotImplementedError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path}: expected a sound Parquet file: {first}") from None


def _records(path: Path, separator: str) -> tuple[list[str], list[int], list[list[str]]]:
    """Return the header, and the rows that are not empty with the lines they end at."""
    if path.is_file() and not path.stat().st_size:
        raise InputError(f"{path}: expected a table, got an empty file")
    text = decode(load(path, packed=path.suffix.lower() == ".gz")).removeprefix("\ufeff")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    header: list[str] = []
    lines: list[int] = []
    rows: list[list[str]] = []
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if not header:
                header = [cell.strip() for cell in row]
                continue
            if len(row) != len(header):
                raise InputError(f"{path}:{reader.line_num}: expected {len(header)} fields, got {len(row)}")
            lines.append(reader.line_num)
            rows.append(row)
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: {error}") from None
    if not header:
        raise InputError(f"{path}: expected a header with the names of the columns, got nothing")
    return header, lines, rows
