"""Read and write the bytes of trace files, plain or gzip."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ...base import InputError, write_whole
from ...base.files import json_memory, open_regular, width_of

GZIP_MAGIC = b"\x1f\x8b"
_PART = 1 << 18
#: Unpacked bytes that are allowed for any packed size.
_SMALL = 1 << 25
#: Bytes of the longest line.
LONGEST_LINE = 1 << 24
#: Copies of a text that is read completely: its parts, and these joined.
_COPIES = 4


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of reading. A file can then not fill the memory or take hours.

    Attributes
    ----------
    size
        Bytes of a stored file.
    expansion
        Most unpacked bytes per stored byte.
    rows
        Records.
    memory
        Bytes of memory for reading.
    """

    size: int = 4 * 10**9
    expansion: int = 200
    rows: int = 100_000_000
    memory: int = 2 * 10**9

    @classmethod
    def of(cls, size: int | None) -> Bounds:
        """Return the bounds for files of `size` bytes. The others grow in proportion, from their defaults on."""
        if size is None:
            return cls()
        factor = max(size / cls().size, 1.0)
        return cls(size, int(200 * factor), int(100_000_000 * factor), int(2 * 10**9 * factor))

    def refuse(self, path: Path, what: str, received: str) -> InputError:
        """Return the error for a file beyond a bound."""
        return InputError(f"{path}: expected {what}, got {received}; --max-size (max_size) raises the bounds")


@dataclass(frozen=True, slots=True)
class Needs:
    """Most bytes of memory that a reader needs. They are rounded up from measurements.

    Attributes
    ----------
    text
        Per byte of text with narrow characters.
    record
        Per line.
    json
        Whether the text is JSON, whose parsed size counts if it is larger.
    """

    text: float = 1.0
    record: int = 0
    json: bool = False

    def of(self, part: bytes) -> float:
        """Return the bytes for a part of a text."""
        lines = max(part.count(b"\n"), part.count(b"\r"))
        plain = self.text * len(part) * width_of(part) + self.record * lines
        return max(plain, json_memory(part) if self.json else 0)


@dataclass(slots=True)
class TraceFile:
    """A file that is read once, completely or in blocks of lines.

    Attributes
    ----------
    path
        The file.
    packed
        Whether the suffix means gzip, which is then required.
    lines
        Number of lines to read from the beginning; ``None`` for all.
    bounds
        Bounds of reading.
    needs
        Memory needs of its reader.
    whole
        Whether all of it was read.
    joined
        Lines that were read as part of a record that began before them.
    taken
        Bytes of memory that the text read so far takes, at most.
    """

    path: Path
    packed: bool
    lines: int | None = None
    bounds: Bounds = Bounds()
    needs: Needs = Needs()
    whole: bool = True
    joined: int = 0
    taken: float = 0.0

    def read(self) -> bytes:
        """Return the text as bytes, unpacked if it is gzip, for any suffix.

        Raises
        ------
        FileNotFoundError, OSError
            If it is missing or cannot be read.
        InputError
            If it should be gzip and is not, or is truncated or damaged. Also if it is empty, is no text, or is beyond a
            bound.
        """
        parts, length = [], 0
        for part in self._text(_PART) if self.needs.json else self.blocks(_PART):
            length += len(part)
            if length * _COPIES > self.bounds.memory:
                raise self.bounds.refuse(self.path, f"at most {self.bounds.memory // _COPIES:,} bytes of text", "more")
            parts.append(part)
        return b"".join(parts)

    def blocks(self, size: int = 1 << 22) -> Iterator[bytes]:
        """Yield the text in blocks of about `size` bytes that end with a line end; errors as :meth:`read`."""
        tail: list[bytes] = []
        length = 0
        for part in self._text(size):
            cut = part.rfind(b"\n") + 1
            if cut:
                yield b"".join((*tail, part[:cut]))
                tail, length = [], 0
            tail.append(part[cut:])
            length += len(part) - cut
            if length > LONGEST_LINE:
                raise InputError(f"{self.path}: expected lines of at most {LONGEST_LINE:,} bytes, got a longer one")
        if length:
            yield b"".join(tail)

    def take(self, memory: float) -> None:
        """Count memory that the reader takes. Refuse the file if that is beyond the bound."""
        self.taken += memory
        if self.taken > self.bounds.memory:
            most = f"a trace that takes at most {self.bounds.memory:,} bytes of memory"
            raise self.bounds.refuse(self.path, most, "more")

    def _text(self, size: int) -> Iterator[bytes]:
        """Yield the text in parts of at most `size` bytes, without a mark at its begin."""
        length, left = 0, self.lines
        for stored in self._parts(size):
            if b"\0" in stored:
                raise InputError(
                    f"{self.path}: expected text, got binary data (a zero byte at offset {length + stored.index(0)})"
                )
            part = stored if length else stored.removeprefix(codecs.BOM_UTF8)
            length += len(part)
            self.take(self.needs.of(part))
            if left is not None:
                count = part.count(b"\n")
                if count >= left:
                    self.whole = False
                    yield b"\n".join(part.split(b"\n", left)[:left]) + b"\n"
                    return
                left -= count
            yield part
        if not length:
            raise InputError(f"{self.path}: expected a trace, got an empty file")

    def _parts(self, size: int) -> Iterator[bytes]:
        with opened(self.path) as file:
            stored = os.fstat(file.fileno()).st_size
            if stored > self.bounds.size:
                raise self.bounds.refuse(self.path, f"a file of at most {self.bounds.size:,} bytes", f"{stored:,}")
            begin = file.read(2)
            file.seek(0)
            if begin == GZIP_MAGIC:
                yield from self._unpacked(file, size, stored)
            elif self.packed and begin:
                raise InputError(f"{self.path}: expected gzip data (it begins with 1f 8b), got {begin.hex(' ')}")
            else:
                while part := file.read(size):
                    yield part

    def _unpacked(self, file: BinaryIO, size: int, stored: int) -> Iterator[bytes]:
        most = max(stored * self.bounds.expansion, _SMALL)
        length = 0
        try:
            with gzip.GzipFile(fileobj=file) as stream:
                while part := stream.read(size):
                    length += len(part)
                    if length > most:
                        what = f"gzip that unpacks to at most {self.bounds.expansion} times its {stored:,} bytes"
                        raise self.bounds.refuse(self.path, what, "more")
                    yield part
        except EOFError:
            raise InputError(f"{self.path}: expected a whole gzip file, got a truncated one ({stored} bytes)") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise InputError(f"{self.path}: expected a sound gzip file, got a damaged one ({error})") from None
        if not length:
            raise InputError(f"{self.path}: expected a trace, got an empty file in gzip")


def save(path: Path, data: str | bytes, *, packed: bool) -> None:
    """Write text as UTF-8 or bytes, in gzip without name and time if `packed`.

    The file appears only when it is complete.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    data = data.encode("utf-8") if isinstance(data, str) else data
    if packed:
        buffer = io.BytesIO()
        with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as stream:
            stream.write(data)
        data = buffer.getvalue()
    if path.is_dir():
        raise IsADirectoryError(f"{path}: expected a file to write to, got a directory")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: no such directory to write to: {path.parent}")
    try:
        write_whole(path, data)
    except PermissionError:
        raise PermissionError(f"{path}: no permission to write it") from None


def decode(data: bytes) -> str:
    """Return `data` as text: UTF-8, or else Latin-1, as in old traces."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def opened(path: Path) -> BinaryIO:
    """Open a trace; errors as :meth:`TraceFile.read`."""
    try:
        return open_regular(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"{path}: expected a file, got a directory") from None
    except PermissionError:
        raise PermissionError(f"{path}: no permission to read it") from None
