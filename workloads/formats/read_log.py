"""What goes wrong in a trace, kept in one place: malformed records, unusable ones, and what was filled in."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ...base import InputError
from ...base.checks import LONGEST, check_whole, shown
from ..machine import Machine

LISTED = 10

DefaultWalltime = int | Literal["runtime"] | None


class TraceWarning(UserWarning):
    """Something in a trace was guessed, and results depend on the guess."""


class NothingUsableError(InputError):
    """No record can be used, or none tells what is needed for all; of the beginning of a trace that says little."""


class NoRequestedTimesError(NothingUsableError):
    """No job says what it requested, and nothing was given to stand for it."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What was asked of a reader; see :func:`hpcdispatch.workloads.read` for the meaning.

    Raises
    ------
    InputError
        If `default_walltime` is neither whole seconds >= 1 nor ``"runtime"``, or there is no such time zone.
    """

    machine: Machine | None = None
    lenient: bool = False
    strict: bool = False
    default_walltime: DefaultWalltime = None
    timezone: str | None = None

    def __post_init__(self) -> None:
        value = self.default_walltime
        if value is not None and value != "runtime":
            try:
                check_whole("default_walltime", value, 1, LONGEST)
            except ValueError:
                expected = f"whole seconds >= 1 and <= {LONGEST} or 'runtime'"
                raise InputError(f"default_walltime: expected {expected}, got {shown(value)}") from None
        if self.timezone is not None:
            try:
                ZoneInfo(self.timezone)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                expected = "the name of a time zone, such as Europe/Berlin"
                raise InputError(f"timezone: expected {expected}, got {shown(self.timezone)}") from None


@dataclass(frozen=True, slots=True)
class Malformed:
    """A record that cannot be read.

    Attributes
    ----------
    line
        Its line in the file, from 1.
    reason
        What kind of trouble, in a few words; records are counted by it.
    message
        Field, expected and received.
    """

    line: int
    reason: str
    message: str


@dataclass(slots=True)
class Log:
    """Notes and counts that end up in the provenance.

    Attributes
    ----------
    path
        The file, as it was named by the caller.
    notes
        One line for each kind of trouble.
    counts
        Reason to number of records.
    """

    path: Path
    notes: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def note(self, text: str, **counts: int) -> None:
        """Add a line, and its counts (underscores in their names become spaces)."""
        self.notes.append(text)
        self.counts.update({name.replace("_", " "): count for name, count in counts.items()})

    def settle(self, malformed: list[Malformed], *, lenient: bool) -> None:
        """Refuse the first of the malformed records by line, or count and list them all if `lenient`.

        Raises
        ------
        InputError
            For the first malformed record, unless `lenient`.
        """
        malformed = sorted(malformed, key=lambda one: one.line)
        if malformed and not lenient:
            raise InputError(f"{self.path}:{malformed[0].line}: {malformed[0].message}")
        by_reason: dict[str, list[int]] = {}
        for one in malformed:
            by_reason.setdefault(one.reason, []).append(one.line)
        for reason, lines in by_reason.items():
            listed = ", ".join(map(str, lines[:LISTED])) + (", ..." if len(lines) > LISTED else "")
            self.notes.append(
                f"{len(lines)} malformed record{'s'[: len(lines) > 1]} dropped ({reason}): "
                f"line{'s'[: len(lines) > 1]} {listed}"
            )
            self.counts[reason] = len(lines)
