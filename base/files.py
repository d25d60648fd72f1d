"""Read files of unknown origin within bounds."""

import errno
import hashlib
import json
import os
import stat
import zlib
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np

from .errors import InputError

#: Largest JSON file, bytes. The largest clusters need a tenth.
MOST_BYTES = 1 << 28
#: Most memory for parsed JSON, bytes.
MOST_MEMORY = 3 << 29
#: The first bytes of a file packed by gzip.
_GZIP = b"\x1f\x8b"
#: Largest file that is read at all, bytes.
LARGEST_FILE = 1 << 32


def open_regular(path: Path) -> BufferedReader:
    """Open a file for reading.

    Raises
    ------
    OSError
        If it cannot be read, or is a folder. Has the file's name.
    InputError
        If no file can have its name, or it is a device or a pipe. These may have no end or block, so the function never
        waits for them.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except ValueError:  # a zero byte, or half of a pair of letters
        raise InputError(f"{str(path)!r:.300}: expected the name of a file, got one that no file has") from None
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
    """Return the content of a regular file.

    Parameters
    ----------
    path
        The file.
    what
        What it should be, for messages.
    most
        Largest size, bytes.

    Raises
    ------
    OSError
        If it cannot be read.
    InputError
        If it is larger, or not a regular file.
    """
    with open_regular(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise InputError(f"{path}: expected {what} of at most {most:,} bytes, got more")
    return data


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a regular file of at most :data:`LARGEST_FILE` bytes. Errors as :func:`read_bounded`."""
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > LARGEST_FILE:
            raise InputError(f"{path}: expected a file of at most {LARGEST_FILE:,} bytes, got more")
        return hashlib.file_digest(file, "sha256").hexdigest()


def width_of(text: bytes) -> int:
    """Return the bytes of memory per character of a text in UTF-8. One wide character makes all of them wide."""
    if text.isascii():
        return 1
    return 4 if np.frombuffer(text, np.uint8).max() >= 0xF0 else 2


def json_memory(data: bytes) -> int:
    """Return the bytes of memory that parsing a JSON text may take at most: its copies and values, by their marks."""
    marks = ((b"{", 184), (b"[", 96), (b",", 48), (b'"', 32))
    return (1 + 2 * width_of(data)) * len(data) + sum(each * data.count(mark) for mark, each in marks)


def _unpacked(data: bytes, path: Path, what: str) -> bytes:
    """Return what gzip packed, within the bound for a JSON file."""
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        content = unpack.decompress(data, MOST_BYTES + 1)
    except zlib.error:
        raise InputError(f"{path}: expected {what} packed by gzip, got damaged data") from None
    if len(content) > MOST_BYTES:
        raise InputError(f"{path}: expected {what} of at most {MOST_BYTES:,} bytes, got more")
    if not unpack.eof:
        raise InputError(f"{path}: expected {what} packed by gzip, got a file that is cut off")
    return content


def read_json(path: Path, what: str) -> Any:
    """Return the content of a JSON file in UTF-8, also one packed by gzip.

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
        If it is larger than :data:`MOST_BYTES` or :data:`MOST_MEMORY`, or not JSON. Also if nesting or numbers are too
        long for Python. One line with file and line.
    """
    data = read_bounded(path, what, MOST_BYTES)
    if data.startswith(_GZIP):
        data = _unpacked(data, path, what)
    if json_memory(data) > MOST_MEMORY:
        raise InputError(f"{path}: expected {what} that takes at most {MOST_MEMORY:,} bytes of memory, got more")
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected {what} in UTF-8, got byte {error.object[error.start]:#x}") from None
    except json.JSONDecodeError as error:
        why = error.msg[:1].lower() + error.msg[1:]
        raise InputError(
            f"{path}:{error.lineno}: expected JSON, got other text ({why}, column {error.colno})"
        ) from None
    except RecursionError:
        raise InputError(f"{path}: expected {what}, got JSON nested too deeply") from None
    except ValueError:
        raise InputError(f"{path}: expected {what}, got a number of too many digits") from None
