"""Bytes in and out of trace files: plain or gzip, with one clear line for whatever is wrong with them."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import os
import zlib
from pathlib import Path
from typing import BinaryIO

from ...base import InputError

GZIP_MAGIC = b"\x1f\x8b"
_PART = 1 << 18


def load(path: Path, *, packed: bool, lines: int | None = None) -> bytes:
    """Return the text of the file as bytes, unpacked if it is gzip, whatever its suffix says.

    Parameters
    ----------
    path
        The file.
    packed
        Whether the suffix promises gzip, which is then required.
    lines
        Return that many lines from the beginning, and read no further; ``None`` for all.

    Raises
    ------
    FileNotFoundError, OSError
        If it is not there or cannot be read.
    InputError
        If it should be gzip and is not, is truncated or damaged, is empty, or is no text.
    """
    with _opened(path) as file:
        begin = file.read(2)
        file.seek(0)
        if not begin:
            raise InputError(f"{path}: expected a trace, got an empty file")
        if begin == GZIP_MAGIC:
            data = _unpack(path, file, lines)
        elif packed:
            raise InputError(f"{path}: expected gzip data (it begins with 1f 8b), got {begin.hex(' ')}")
        else:
            data = _first(file, lines)
    data = data.removeprefix(codecs.BOM_UTF8)
    if b"\0" in data:
        raise InputError(f"{path}: expected text, got binary data (a zero byte at offset {data.index(0)})")
    return data


def save(path: Path, text: str, *, packed: bool) -> None:
    """Write `text` as UTF-8, in gzip without name and time if `packed`.

    The file appears only when it is complete.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    data = text.encode("utf-8")
    if packed:
        buffer = io.BytesIO()
        with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as stream:
            stream.write(data)
        data = buffer.getvalue()
    if path.is_dir():
        raise IsADirectoryError(f"{path}: expected a file to write to, got a directory")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: no such directory to write to: {path.parent}")
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except PermissionError:
        raise PermissionError(f"{path}: no permission to write it") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def decode(data: bytes) -> str:
    """Return `data` as text: UTF-8, or Latin-1 where old traces are not."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _opened(path: Path) -> BinaryIO:
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"{path}: expected a file, got a directory") from None
    except PermissionError:
        raise PermissionError(f"{path}: no permission to read it") from None


def _unpack(path: Path, file: BinaryIO, lines: int | None) -> bytes:
    try:
        with gzip.GzipFile(fileobj=file) as stream:
            text = _first(stream, lines)
    except EOFError:
        size = path.stat().st_size
        raise InputError(f"{path}: expected a whole gzip file, got a truncated one ({size} bytes)") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}: expected a sound gzip file, got a damaged one ({error})") from None
    if not text:
        raise InputError(f"{path}: expected a trace, got an empty file in gzip")
    return text


def _first(stream: BinaryIO | gzip.GzipFile, lines: int | None) -> bytes:
    """Return the first lines of a stream, or all of it."""
    if lines is None:
        return stream.read()
    parts: list[bytes] = []
    while lines > 0 and (part := stream.read(_PART)):
        count = part.count(b"\n")
        parts.append(part if count < lines else b"\n".join(part.split(b"\n")[:lines]) + b"\n")
        lines -= count
    return b"".join(parts)
