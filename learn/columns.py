"""Columns of observations by their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ..base import InputError, IntArray
from ..base.checks import shown
from ..models.events import observations as seen
from ..workloads.job_columns import JobColumns

#: Most columns of one kind, such as ``next_end:64``.
_MOST = 64
#: Columns of an observation by default.
DEFAULT = ("allowed", "wait", "predicted", "share", "fits", "stretch", "free", "queue")
#: Further columns that a number follows, such as ``next_end:8`` for the next eight.
NUMBERED = {"next_end": seen.NEXT_END, "next_free": seen.NEXT_FREE}
_CODES = {
    "allowed": seen.ALLOWED,
    "wait": seen.WAIT,
    "predicted": seen.PREDICTION,
    "share": seen.SHARE,
    "fits": seen.FITS,
    "stretch": seen.STRETCH,
    "free": seen.FREE,
    "queue": seen.QUEUE,
    "walltime": seen.WALLTIMES,
    "cores": seen.CORES,
    "shadow": seen.SHADOW,
    "running": seen.RUNNERS,
    "hour": seen.HOUR,
    "weekday": seen.WEEKDAY,
    "delays": seen.DELAYS,
    "reserved": seen.RESERVED,
    **NUMBERED,
}


def _of_text(text: str) -> float:
    """Return a number from 0 to 1 for a text: the same in each workload and process, 0 for none."""
    return crc32(text.encode()) / 0xFFFFFFFF if text else 0.0


#: Columns that are constant for a job, with the field that they are computed from.
TEXTS: dict[str, str] = {"user": "user", "group": "group", "job_name": "name", "queue_name": "queue"}
#: All columns.
NAMES = (*_CODES, *TEXTS, "user_running")


@dataclass(frozen=True)
class Selection:
    """Selected columns.

    Attributes
    ----------
    names
        One per column, such as ``next_end:1``.
    array
        For :func:`.show_columns`, shape (2, columns). Shape (2, 0) for the default columns.
    traits
        The texts that it needs of a job, in the order of the rows of the traits.
    """

    names: tuple[str, ...]
    array: IntArray
    traits: tuple[str, ...]

    def of_jobs(self, jobs: JobColumns) -> NDArray[np.float32]:
        """Return the traits of jobs, shape (traits, jobs)."""
        texts = [getattr(jobs, TEXTS[name]) for name in self.traits]
        values = [np.array([_of_text(value) for value in each.values])[each.codes] for each in texts]
        return np.array(values, dtype=np.float32).reshape(len(self.traits), len(jobs))

    def of_views(self, jobs: Sequence[Any]) -> NDArray[np.float32]:
        """Return the traits of jobs that a dispatcher sees, shape (traits, jobs)."""
        values = [[_of_text(getattr(job, TEXTS[name])) for job in jobs] for name in self.traits]
        return np.array(values, dtype=np.float32).reshape(len(self.traits), len(jobs))


def names_of(observe: Any) -> tuple[str, ...]:
    """Return the names of columns, given as a list or as a text with ``+`` between.

    Raises
    ------
    InputError
        If one is unknown or occurs twice.
    """
    given = tuple(observe.split("+")) if isinstance(observe, str) and observe else observe or ()
    if not isinstance(given, tuple | list) or not all(isinstance(name, str) for name in given):
        raise InputError(f"environment: observe: expected a list of names of columns, got {shown(observe)}")
    for name in given:
        kind, colon, number = name.partition(":")
        if kind not in NAMES or (colon == ":") != (kind in NUMBERED):
            known = ", ".join(f"{each}:N" if each in NUMBERED else each for each in NAMES)
            raise InputError(f"environment: observe: unknown column {shown(name)}; expected {known}")
        if colon and not (number.isascii() and number.isdigit() and 1 <= int(number) <= _MOST):
            raise InputError(f"environment: observe: {kind}: expected a number from 1 to {_MOST}, got {shown(number)}")
    twice = [name for name in given if sum(other.partition(":")[0] == name.partition(":")[0] for other in given) > 1]
    if twice:
        raise InputError(f"environment: observe: expected each column once, got {shown(twice[0])} twice")
    return tuple(given)


def selected(names: Sequence[str]) -> Selection:
    """Return the columns of names that :func:`names_of` accepts."""
    columns: list[tuple[str, int, int]] = []
    traits: list[str] = []

    def trait(name: str) -> int:
        if name not in traits:
            traits.append(name)
        return traits.index(name)

    for name in names:
        kind, _, number = name.partition(":")
        if kind in NUMBERED:
            columns += [(f"{kind}:{place}", NUMBERED[kind], place) for place in range(1, int(number) + 1)]
        elif kind == "user_running":
            columns.append((name, seen.USER_RUNNING, trait("user")))
        elif kind in TEXTS:
            columns.append((name, seen.TRAIT, trait(kind)))
        else:
            columns.append((name, _CODES[kind], 0))
    plain = tuple(names) == DEFAULT
    array = np.array([each[1:] for each in columns if not plain], dtype=np.int64).reshape(-1, 2).T.copy()
    return Selection(tuple(name for name, _, _ in columns), array, tuple(traits))
