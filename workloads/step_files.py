"""Numbers that change in steps over time, from CSV: without gaps, in order."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..base import FloatArray, InputError, IntArray, shown, time_text
from .formats.named_columns import named_columns

#: A step so many times as long as the median one is a gap.
_GAP = 1.5
_MOST = 10_000_000


def read_steps(path: Path, names: Sequence[str]) -> tuple[str, IntArray, FloatArray]:
    """Return which of the columns a file has, and the times and values of its rows.

    Parameters
    ----------
    path
        CSV with the column ``time``, whole seconds, and one of the others.
    names
        The possible columns of numbers.

    Raises
    ------
    InputError
        If it is not such a file. The message has the line.
    OSError
        If it cannot be read.
    """
    columns: list[str] = []

    def choose(head: list[str]) -> Sequence[str]:
        columns.extend(name for name in names if name in head)
        if "time" not in head or len(columns) != 1:
            expected = f"time and {'one of ' * (len(names) > 1)}{', '.join(names)}"
            raise InputError(f"{path}: expected the columns {expected} in the first line, got {shown(head)}")
        return "time", *columns

    times, values = [], []
    for where, text, (time, value) in named_columns(path, choose, _MOST, "steps"):
        try:
            times.append(int(time or ""))
            values.append(float(value or ""))
        except ValueError:
            told = "a whole number of seconds and a number"
            raise InputError(f"{where}: expected {told}, got {shown(text)}") from None
    try:
        return columns[0], np.array(times, dtype=np.int64), np.array(values, dtype=np.float64)
    except OverflowError:
        raise InputError(f"{path}: expected times in seconds of at most 18 digits, got a longer one") from None


def check_steps(name: str, times: IntArray, values: FloatArray) -> None:
    """Raise :class:`InputError` for fewer than two steps, for times that do not rise, and for gaps.

    Parameters
    ----------
    name
        Where the steps are from, for the message.
    times
        Begin of each step, seconds.
    values
        The number of each step.
    """
    if times.ndim != 1 or len(times) < 2 or times.shape != values.shape:
        raise InputError(f"{name}: expected two steps or more, each with a time and a value, got {times.shape}")
    steps = np.diff(times)
    if steps.min() <= 0:
        place = int(np.argmin(steps > 0)) + 1
        raise InputError(f"{name}: expected times that rise, got {times[place]} after {times[place - 1]}")
    if steps.max() > _GAP * np.median(steps):
        place = int(np.argmax(steps))
        raise InputError(
            f"{name}: a gap from t={times[place]} to {times[place + 1]}; other steps take "
            f"{time_text(float(np.median(steps)))}; fill it"
        )


def end_of(times: IntArray) -> int:
    """Return the end of the last step: it is as long as the one before, seconds."""
    return int(2 * times[-1] - times[-2])


def check_covered(name: str, times: IntArray, first: int, last: int) -> None:
    """Raise :class:`InputError` if steps do not cover [`first`, `last`], seconds."""
    if first < times[0] or last > end_of(times):
        told = f"it tells of t={times[0]:,} to {end_of(times):,}, and is asked for {first:,} to {last:,}"
        raise InputError(f"{name}: {told}")
