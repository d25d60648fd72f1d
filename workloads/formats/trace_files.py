"""Read and write the bytes of trace files, plain or packed."""

from __future__ import annotations

import codecs
import gzip
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ...base import InputError, write_whole
from ...base.files import json_memory, open_regular, width_of
from .packed_files import packing_of, refuse_archive, unpacked

GZIP_MAGIC = b"\x1f\x8b"
#: Bytes that tell the coding of a text.
_SAMPLE = 64
_PART = 1 << 18
#: Unpacked bytes that are allowed for any packed size.
_SMALL = 1 << 25
#: Bytes of the longest line.
LONGEST_LINE = 1 << 24
#: Copies of a text that is read completely: its parts, and these joined.
_COPIES = 4


@dataclass(frozen=True, slots=True)
class ReadingBounds:
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
    def of(cls, size: int | None) -> ReadingBounds:
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
    others
        Further files, as of a folder, of which :meth:`files` yields each.
    """

    path: Path
    packed: bool
    lines: int | None = None
    bounds: ReadingBounds = ReadingBounds()
    needs: Needs = Needs()
    whole: bool = True
    joined: int = 0
    taken: float = 0.0
    others: tuple[Path, ...] = ()

    def files(self) -> Iterator[TraceFile]:
        """Yield this file and the others that are read with it."""
        yield self
        for path in self.others:
            one = TraceFile(path, path.suffix.lower() == ".gz", self.lines, self.bounds, self.needs, taken=self.taken)
            yield one
            self.taken = one.taken
            self.joined += one.joined
            self.whole &= one.whole

    def begin(self, size: int = 1 << 20) -> bytes:
        """Return the first bytes of the text, about `size`; errors as :meth:`read`."""
        data = b""
        for part in self._text(size):
            data += part
            if len(data) >= size:
                break
        return data

    def read(self) -> bytes:
        """Return the text as bytes, unpacked if it is packed, for any suffix.

        Raises
        ------
        FileNotFoundError, OSError
            If it is missing or cannot be read.
        InputError
            If it should be gzip and is not, or is truncated or damaged. Also if it is empty, is no text, or is beyond a
            bound.
        """
        parts, length = [], 0
        for part in self._text(_PART) if self.needs.json else self.blocks():
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
        for stored in _in_utf8(self._parts(size)):
            if not length:
                refuse_archive(self.path, stored)
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
            packing = packing_of(file, self.path)
            if packing:
                yield from self._unpacked(file, packing, size, stored)
                return
            begin = file.read(2)
            file.seek(0)
            if self.packed and begin:
                raise InputError(f"{self.path}: expected gzip data (it begins with 1f 8b), got {begin.hex(' ')}")
            while part := file.read(size):
                yield part

    def _unpacked(self, file: BinaryIO, packing: str, size: int, stored: int) -> Iterator[bytes]:
        most = max(stored * self.bounds.expansion, _SMALL)
        length = 0
        for part in unpacked(file, self.path, packing, size, stored):
            length += len(part)
            if length > most:
                what = f"{packing} that unpacks to at most {self.bounds.expansion} times its {stored:,} bytes"
                raise self.bounds.refuse(self.path, what, "more")
            yield part
        if not length:
            raise InputError(f"{self.path}: expected a trace, got an empty file in {packing}")


def _in_utf8(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a text in UTF-16 as UTF-8, with its mark at the beginning or by its zero bytes; other texts as they are."""
    decoder: codecs.IncrementalDecoder | None = None
    first = True
    for part in parts:
        if first:
            coding = _wide_coding(part[:_SAMPLE])
            decoder = codecs.getincrementaldecoder(coding)("replace") if coding else None
            first = False
        if decoder is None:
            yield part
        elif text := decoder.decode(part):
            yield text.encode("utf-8", "replace")


def _wide_coding(begin: bytes) -> str:
    """Return the name of the coding of a text with two bytes per letter, empty for others."""
    if begin.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    odd, even = begin[1::2], begin[::2]
    if len(begin) == _SAMPLE and not any(odd) and all(even):
        return "utf-16-le"
    return "utf-16-be" if len(begin) == _SAMPLE and not any(even) and all(odd) else ""


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
