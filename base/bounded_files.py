"""Reading files that anybody may have written, and that are in memory at once."""

from __future__ import annotations

from pathlib import Path

from .errors import InputError


def read_bounded(path: Path, what: str, most: int) -> bytes:
    """Return what a file holds.

    Parameters
    ----------
    path
        The file; one without an end, as of a device, is read no further than its bound.
    what
        What it should be, for messages.
    most
        Bytes that it may have.

    Raises
    ------
    OSError
        If it cannot be read.
    InputError
        If it has more bytes.
    """
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise InputError(f"{path}: expected {what} of at most {most:,} bytes, got more")
    return data
