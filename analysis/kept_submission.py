"""Keep the state of a job that is submitted again with longer walltimes.

The file is complete after any interruption.
"""

import fcntl
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..base import LONGEST, InputError, read_bounded, write_whole
from ..base.command_arguments import job_argument
from ..models.reservations.resubmission import Change
from .kept_forecasts import Kept

#: Name of the file of a submission in messages.
UNDER_WAY = "a submission that is under way"
#: Most bytes of such a file.
MOST_BYTES = 1 << 20
_MOST_CODE = 255


@dataclass(frozen=True, slots=True)
class Submission:
    """A job, its walltimes, and the current one.

    Attributes
    ----------
    token
        Names the submission in the comment of its jobs.
    command
        The script and its arguments.
    minutes
        The walltimes, rising.
    request
        Index of the current walltime.
    job
        The number of the job in Slurm; ``None`` before the submission.
    moving
        Whether the change to this walltime is under way.
    same
        Whether Slurm lets a job go back to the queue with a longer walltime.
    code
        Exit code; ``None`` before the end.
    """

    token: str
    command: tuple[str, ...]
    minutes: tuple[int, ...]
    request: int = 0
    job: str | None = None
    moving: bool = False
    same: bool = True
    code: int | None = None

    def __post_init__(self) -> None:
        rising = all(least < more for least, more in zip((0, *self.minutes), self.minutes, strict=False))
        if not rising or not 0 <= self.request < len(self.minutes) or self.minutes[-1] > LONGEST:
            raise ValueError("expected rising limits and one of them")
        if not self.command or not re.fullmatch("[0-9A-Za-z]{1,64}", self.token):
            raise ValueError("expected a script, and a token of letters and digits")
        if self.job is not None:
            job_argument(self.job, "field 'job'")
        if self.code is not None and not 0 <= self.code <= _MOST_CODE:
            raise ValueError(f"expected an exit code up to {_MOST_CODE}")

    @property
    def due(self) -> int:
        """The current walltime, minutes."""
        return self.minutes[self.request]

    @property
    def last(self) -> bool:
        """Whether this is the longest walltime."""
        return self.request == len(self.minutes) - 1

    @property
    def change(self) -> Change:
        """How the job gets its current walltime."""
        return "none" if not self.moving else "same" if self.same else "anew"


def write_journal(path: Path, journal: Any) -> None:
    """Write a submission, or another dataclass, completely or not at all."""
    write_whole(path, json.dumps(asdict(journal), indent=1) + "\n")


def read_journal(path: Path, kind: type[Kept], what: str) -> Kept | None:
    """Return the record of a file; ``None`` if there is no file.

    Raises
    ------
    InputError
        If the file has other content.
    """
    if not path.exists():
        return None
    data = read_bounded(path, what, MOST_BYTES)
    try:
        return TypeAdapter(kind).validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "".join(f" {name}:" for name in first["loc"])
        raise InputError(f"{path}: expected {what}, got another:{where} {first['msg']}") from None


@contextmanager
def locked(path: Path, patience: float) -> Iterator[int]:
    """Lock a file. Processes that inherit the yielded descriptor share the lock, even after this process ends.

    Raises
    ------
    InputError
        If another process still has the lock after `patience` seconds, or it is a folder.
    """
    if path.is_dir():
        raise InputError(f"{path}: expected a file, got a directory")
    descriptor = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    until = time.monotonic() + patience
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise InputError(f"{path}: another process is at work on it") from None
                time.sleep(0.2)
        yield descriptor
    finally:
        os.close(descriptor)
