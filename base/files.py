"""Files that are read within bounds, as anybody may have written them."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any

from .errors import InputError

#: Bytes of JSON that is read: that of the largest clusters has a tenth.
MOST_BYTES = 1 << 28
#: Bytes of a file that is read as a whole at all.
LARGEST_FILE = 1 << 32


def open_regular(path: Path) -> BufferedReader:
    """Open a file to be read.

    Raises
    ------
    OSError
        If it cannot be read, or is a folder; with its name.
    InputError
        If it is a device or a pipe, which may have no end or let nobody go on; it is not waited for.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, "expected a file, got a folder", str(path))
        if not stat.S_ISREG(kind):
            raise InputError(f"{path}: expected a regular file, got a device or a pipe; write it to a file first")
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_bounded(path: Path, what: str, most: int = MOST_BYTES) -> bytes:
    """Return what a regular file holds.

    Parameters
    ----------
    path
        The file.
    what
        What it should be, for messages.
    most
        Bytes that it may have.

    Raises
    ------
    OSError
        If it cannot be read.
    InputError
        If it has more bytes, or is no regular file.
    """
    with open_regular(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise InputError(f"{path}: expected {what} of at most {most:,} bytes, got more")
    return data


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a regular file of at most :data:`LARGEST_FILE` bytes; errors as :func:`read_bounded`."""
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > LARGEST_FILE:
            raise InputError(f"{path}: expected a file of at most {LARGEST_FILE:,} bytes, got more")
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(path: Path, what: str) -> Any:
    """Return what a file of JSON in UTF-8 holds.

    Parameters
    ----------
    path
        The file.
    what
        What it should be, for messages.

    Raises
    ------
    OSError
        If it cannot be read.
    InputError
        If it is larger than :data:`MOST_BYTES`, no JSON, or nested or with numbers so long that Python does not read
        them; one line with file and line.
    """
    data = read_bounded(path, what, MOST_BYTES)
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected {what} in UTF-8, got byte {error.object[error.start]:#x}") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: expected JSON, got {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise InputError(f"{path}: expected {what}, got JSON nested too deeply") from None
    except ValueError:
        raise InputError(f"{path}: expected {what}, got a number of too many digits") from None
