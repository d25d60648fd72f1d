"""Collect the problems of a trace: malformed records, unusable ones, and filled-in values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ...base import LONGEST, InputError, check_whole, shown
from ...base.printed import first_of
from ..machine import Machine
from .trace_files import ReadingBounds

LISTED = 10
#: Of several files, the lines of each count from a multiple of this on.
FILE_LINES = 10**10
#: Advice on malformed records.
LENIENT = "--lenient (lenient=True) leaves such records out"


def line_text(line: int) -> str:
    """Return a line for a message: ``line 12``, or ``line 12 of file 3`` of several."""
    file, number = divmod(int(line), FILE_LINES)
    return f"line {number} of file {file + 1}" if file else f"line {number}"


def counted(count: int, what: str) -> str:
    """Return a count with a noun: ``1 job``, ``2,000 jobs``."""
    return f"{count:,} {what}{'s' if count != 1 else ''}"


DefaultWalltime = int | Literal["runtime", "drop"] | None


class TraceWarning(UserWarning):
    r"""A value in a trace was guessed, and results depend on it.

    Examples
    --------
    >>> import warnings
    >>> import hpcdispatch as hd
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as given:
    ...     warnings.simplefilter("always")
    ...     trace = Path(folder, "trace.swf")
    ...     record = "{} 0 -1 60 2 -1 -1 2 {} -1 1 1 1 -1 1 -1 -1 -1"
    ...     number = trace.write_text("\n".join(["; MaxProcs: 4", record.format(1, 90), record.format(2, -1), ""]))
    ...     workload = hd.read(trace)
    >>> given[0].category.__name__
    'TraceWarning'
    """


class NothingUsableError(InputError):
    """No record can be used. For the beginning of a trace this means little."""


class NoRequestedTimesError(NothingUsableError):
    """No job has a walltime, and no default was given."""


def zone_of(name: str) -> ZoneInfo:
    """Return a time zone, such as Europe/Berlin. An unknown one is an :class:`~hpcdispatch.base.InputError`."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        expected = "the name of a time zone, such as Europe/Berlin"
        raise InputError(f"timezone: expected {expected}, got {shown(name)}") from None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of a reader; see :func:`hpcdispatch.workloads.read` for the meaning.

    Raises
    ------
    InputError
        If `default_walltime` is neither whole seconds >= 1 nor ``"runtime"`` nor ``"drop"``. If a replacement of a run
        time is no whole number of seconds, or there is no such time zone.
    """

    machine: Machine | None = None
    lenient: bool = False
    strict: bool = False
    default_walltime: DefaultWalltime = None
    timezone: str | None = None
    format: str | None = None
    cluster: str | None = None
    delimiter: str | None = None
    columns: str | None = None
    keep_zero: bool = False
    zero_runtime: int | None = None
    unknown_runtime: int | None = None
    bounds: ReadingBounds = field(default_factory=ReadingBounds)
    partition_limits: Mapping[str, int | None] = field(default_factory=dict)
    components: bool = False

    def __post_init__(self) -> None:
        value = self.default_walltime
        if value is not None and value not in ("runtime", "drop"):
            try:
                check_whole("default_walltime", value, 1, LONGEST)
            except ValueError:
                expected = f"whole seconds >= 1 and <= {LONGEST}, 'runtime' or 'drop'"
                raise InputError(f"default_walltime: expected {expected}, got {shown(value)}") from None
        for name, least in (("zero_runtime", 0), ("unknown_runtime", 1)):
            seconds = getattr(self, name)
            try:
                check_whole(name, least if seconds is None else seconds, least, LONGEST)
            except ValueError:
                raise InputError(
                    f"{name}: expected whole seconds >= {least} and <= {LONGEST}, got {shown(seconds)}"
                ) from None
        if self.keep_zero and self.zero_runtime is not None:
            raise InputError("keep_zero: expected it or zero_runtime, got both")
        if self.timezone is not None:
            zone_of(self.timezone)


@dataclass(frozen=True, slots=True)
class Malformed:
    """A record that cannot be read.

    Attributes
    ----------
    line
        Its line in the file, from 1.
    reason
        Kind of error, in a few words; records are counted by it.
    message
        Field, expected and received value.
    """

    line: int
    reason: str
    message: str


@dataclass(slots=True)
class ReadingLog:
    """Notes and counts for the provenance.

    Attributes
    ----------
    path
        The file, as the caller named it.
    notes
        One line for each kind of problem.
    counts
        Reason to number of records.
    examples
        Reason to one of these records, such as ``line 12``.
    machine
        The machine in the file, if any.
    files
        All files, if there are several.
    """

    path: Path
    notes: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)
    machine: Machine | None = None
    files: tuple[Path, ...] = ()

    def note(self, text: str, example: str = "", **counts: int) -> None:
        """Add a line with an example, and its counts. Underscores in their names become spaces."""
        self.notes.append(f"{text}, such as {example}" if example else text)
        for name, count in counts.items():
            reason = name.replace("_", " ")
            self.counts[reason] = self.counts.get(reason, 0) + count
            if example:
                self.examples.setdefault(reason, example)

    def place(self, line: int) -> str:
        """Return a file and its line."""
        file, number = divmod(int(line), FILE_LINES)
        return f"{self.files[file] if self.files else self.path}:{number}"

    def joined(self, count: int, example: str = "") -> None:
        """Say how many lines belong to a record that began before them."""
        if count:
            text = f"{counted(count, 'line')} read as part of the record before, whose texts have ends of lines"
            self.note(text, example, lines_joined=count)

    def commented(self, count: int) -> None:
        """Say how many lines begin with ``#``."""
        if count:
            self.note(f"{counted(count, 'line')} that begin with # skipped", comments_skipped=count)

    def settle(self, malformed: list[Malformed], *, lenient: bool) -> None:
        """Refuse the first malformed record. Count and list all of them if `lenient`.

        Raises
        ------
        InputError
            For the first malformed record, unless `lenient`.
        """
        malformed = sorted(malformed, key=lambda one: one.line)
        if malformed and not lenient:
            raise InputError(f"{self.place(malformed[0].line)}: {malformed[0].message}; {LENIENT}")
        by_reason: dict[str, list[int]] = {}
        for one in malformed:
            by_reason.setdefault(one.reason, []).append(one.line)
        for reason, lines in by_reason.items():
            listed = first_of([line_text(line).removeprefix("line ") for line in lines[: LISTED + 1]], LISTED)
            self.notes.append(
                f"{counted(len(lines), 'malformed record')} dropped ({reason}): line{'s'[: len(lines) > 1]} {listed}"
            )
            self.counts[reason] = len(lines)
            self.examples[reason] = line_text(lines[0])
