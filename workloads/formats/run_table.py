"""Read tables of runs: the size of each input and the run time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ...base import InputError, shown
from ...base.argument_types import names_wrong_types
from .memory_needs import TABLE
from .read_log import Malformed
from .table_files import PARQUET, TablePart, is_parquet, parquet_columns, parts
from .trace_files import TraceFile

#: Separators by suffix; each also with .gz.
SEPARATORS = {".csv": ",", ".tsv": "\t"}
#: Larger values are refused, since their cubes would overflow.
_LARGEST = 1e30


@dataclass(frozen=True, slots=True)
class RunColumns:
    r"""The names of the columns of a table. Without `workflow` all runs are of one.

    Raises
    ------
    InputError
        If two are the same.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from hpcdispatch.workloads import RunColumns, read_runs
    >>> with TemporaryDirectory() as folder:
    ...     table = Path(folder, "runs.csv")
    ...     number = table.write_text("voxels,seconds\n1000,61\n2000,118\n")
    ...     runs = read_runs(table, RunColumns(size="voxels", time="seconds"))
    >>> runs["time"].tolist()
    [61.0, 118.0]
    """

    size: str
    time: str
    workflow: str | None = None

    def __post_init__(self) -> None:
        names = [name for name in (self.size, self.time, self.workflow) if name is not None]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"columns of sizes, times and workflows: expected different ones, got {name!r} twice")


@names_wrong_types
def read_runs(path: Path, columns: RunColumns) -> pd.DataFrame:
    r"""Read a table with a row for each run: CSV or TSV with a header, also gzipped, or Parquet.

    Returns
    -------
    pandas.DataFrame
        Columns ``workflow``, ``size`` and ``time``, in the units of the table. Without a column of workflows the only
        workflow has the name of the file.

    Raises
    ------
    OSError
        If the file cannot be read.
    InputError
        If it is no such table, or lacks these columns or rows. Also for a value that is no number >= 0. The message has
        the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from hpcdispatch.workloads import RunColumns, read_runs
    >>> with TemporaryDirectory() as folder:
    ...     table = Path(folder, "runs.csv")
    ...     number = table.write_text("app,voxels,seconds\nfsl,1000,61\nfsl,2000,118\n")
    ...     runs = read_runs(table, RunColumns(size="voxels", time="seconds", workflow="app"))
    >>> runs["workflow"].unique().tolist()
    ['fsl']
    """
    places, frame = _cells(path, columns)
    if frame.empty:
        raise InputError(f"{path}: expected runs below the header, got none")
    series: dict[str, pd.Series[Any]] = {"workflow": pd.Series(path.name, frame.index)}
    if columns.workflow is not None:
        series["workflow"] = frame[columns.workflow].str.strip()
        _refuse(series["workflow"] == "", places, frame, columns.workflow, "a name")
    for key, name in (("size", columns.size), ("time", columns.time)):
        values = pd.to_numeric(frame[name].str.strip(), errors="coerce").astype(float)
        _refuse(~values.between(0, _LARGEST), places, frame, name, f"a number in [0, {_LARGEST:g}]")
        series[key] = values
    tiny = (series["size"] > 0) & (series["size"] < 1 / _LARGEST)
    _refuse(tiny, places, frame, columns.size, f"0 or at least {1 / _LARGEST:g}")
    return pd.DataFrame(series)


def _refuse(wrong: pd.Series[bool], places: Sequence[str], frame: pd.DataFrame, name: str, expected: str) -> None:
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        raise InputError(f"{places[row]}: column {name!r}: expected {expected}, got {shown(frame[name].iloc[row])}")


def _cells(path: Path, columns: RunColumns) -> tuple[Sequence[str], pd.DataFrame]:
    """Return the place of each row, and the wanted columns as text."""
    plain = path.name.lower().removesuffix(".gz")
    separator = SEPARATORS.get(Path(plain).suffix)
    if separator is None and not is_parquet(path):
        known = ", ".join((*SEPARATORS, *(f"{one}.gz" for one in SEPARATORS), PARQUET))
        raise InputError(f"{path}: expected a table with a suffix among {known}, got {path.suffix!r}")
    wanted = [name for name in (columns.workflow, columns.size, columns.time) if name is not None]
    malformed: list[Malformed] = []
    table_parts: list[TablePart] = []
    file = TraceFile(path, packed=path.suffix.lower() == ".gz", needs=TABLE)
    if is_parquet(path):
        _require(path, wanted, parquet_columns(path))
    for part in parts(file, malformed, wanted=wanted, separator=separator or ""):
        _require(path, wanted, list(part.frame.columns))
        table_parts.append(TablePart(part.frame[wanted], part.lines))
    for one in malformed:
        raise InputError(f"{path}:{one.line}: {one.message}")
    if not table_parts:
        return [], pd.DataFrame(columns=wanted, dtype=str)
    frame = pd.concat([part.frame for part in table_parts], ignore_index=True)
    where = ": row " if separator is None else ":"
    places = [f"{path}{where}{line}" for part in table_parts for line in part.lines.tolist()]
    return places, frame.astype(str).where(frame.notna(), "")


def _require(path: Path, wanted: Sequence[str], header: Sequence[str]) -> None:
    for name in wanted:
        if name not in header:
            raise InputError(f"{path}: no column {name!r}; columns: {', '.join(map(repr, header))}")
        if header.count(name) > 1:
            raise InputError(f"{path}: column {name!r}: expected one, got {header.count(name)}")
