"""Are two results the same, measured times apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..simulation import Result


def assert_same_records(first: Result, second: Result, where: str = "two runs") -> None:
    """Raise unless jobs, attempts and decisions of two results are the same.

    Parameters
    ----------
    first, second
        The results.
    where
        What the message begins with.

    Raises
    ------
    AssertionError
        With the first difference: table, column, row, both values.
    """
    for table in ("jobs", "attempts", "decisions"):
        found = _difference(getattr(first, table), getattr(second, table))
        if found:
            raise AssertionError(f"{where} differ in {table}: {found}")


def _difference(first: pd.DataFrame, second: pd.DataFrame) -> str:
    if list(first.columns) != list(second.columns):
        return f"columns {list(first.columns)} and {list(second.columns)}"
    for name in first.columns:
        pairs = zip(first[name].tolist(), second[name].tolist(), strict=False)
        for row, (one, other) in enumerate(pairs):
            if not _same(one, other):
                return f"{name} of row {row} is {one} and {other}"
    return f"{len(first)} and {len(second)} rows" if len(first) != len(second) else ""


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    return bool(one == other) or bool(pd.isna(one) and pd.isna(other))
