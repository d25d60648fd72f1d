"""Calls of parts that a third party may have written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ...base import InputError
from ..protocol import JobView, Waiting
from .site_constraints import label

T = TypeVar("T")


class PlugInError(Exception):
    """A constraint or an objective failed, after it had worked; the message names it."""


class PlugInCalls:
    """Calls of parts that a third party may have written.

    What fails the first time it is asked is an error of the input; what fails later is left to the caller, so that a
    long simulation does not end.

    Attributes
    ----------
    kind
        What messages call the parts.
    now
        Seconds on the clock of the simulation; ``None`` before it begins.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.now: int | None = None
        self._worked: set[tuple[int, str]] = set()

    def call(self, part: Any, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function of a part.

        Raises
        ------
        InputError
            If it fails and has not worked before.
        PlugInError
            If it fails later.
        """
        key = id(part), function.__name__
        try:
            found = function(*arguments)
        except Exception as error:  # a third party's code may raise anything
            reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            failure = InputError if key not in self._worked else PlugInError
            where = "".join(f" {word}" for word in (self.time(), _jobs(arguments)) if word)
            raise failure(f"{self.kind} {label(part)}{where}: {' '.join(reason.split())[:300]}") from error
        self._worked.add(key)
        return found

    def time(self) -> str:
        """Return the time as messages name it."""
        return "" if self.now is None else f"at {self.now} s"


def _jobs(arguments: tuple[Any, ...]) -> str:
    """Return the job, or the jobs, that a call is about, as messages name them."""
    for given in arguments:
        if isinstance(given, JobView):
            return f"for job {given.id}"
        jobs = getattr(given, "jobs", None) or (given if isinstance(given, list) else None)
        ids = [entry.job.id if isinstance(entry, Waiting) else entry for entry in jobs or ()]
        if ids and all(isinstance(one, str) for one in ids):
            return f"for job {ids[0]}" + (f" and {len(ids) - 1} more" if len(ids) > 1 else "")
    return ""
