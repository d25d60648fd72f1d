"""Recorded files as text."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pandas as pd

from .....base import InputError
from .....base.checks import shown
from .....workloads.formats.trace_files import TraceFile, decode


def recorded_lines(path: Path) -> list[str]:
    """Return the lines of a recorded file, plain or gzip.

    Raises
    ------
    OSError
        If it cannot be read.
    InputError
        If it is empty, truncated gzip, or no text.
    """
    return decode(TraceFile(path, path.suffix == ".gz").read()).removesuffix("\n").split("\n")


def recorded_table(path: Path, key: str, columns: Iterable[str] = ()) -> pd.DataFrame:
    """Return what ``sacct -P`` printed as texts, by a column.

    Raises
    ------
    OSError
        If it cannot be read.
    InputError
        If it is no such table, lacks one of the columns, or names a job twice.
    """
    try:
        table = pd.read_csv(StringIO("\n".join(recorded_lines(path))), sep="|", dtype=str, keep_default_na=False)
    except pd.errors.ParserError as error:
        raise InputError(f"{path}: expected output of sacct -P, got something else ({str(error).strip()})") from None
    lacking = [name for name in (key, *columns) if name not in table]
    if lacking:
        raise InputError(f"{path}: expected output of sacct -P with {lacking[0]}, got {shown(','.join(table.columns))}")
    if not table[key].is_unique:
        raise InputError(f"{path}: expected each {key} once, got {shown(table[key][table[key].duplicated()].iloc[0])}")
    return table.set_index(key)


def recorded_time(text: str, where: str) -> float:
    """Return the seconds since 1970 of a time that Slurm prints, in UTC or as that number.

    Raises
    ------
    InputError
        If it is none, at `where`.
    """
    try:
        return float(text) if text.isdecimal() else datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise InputError(f"{where}: expected a time such as 2026-11-22T00:47:35, got {shown(text)}") from None
