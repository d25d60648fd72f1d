"""Read tables from files in blocks of rows: CSV, its relatives and Parquet, parsed by pandas and pyarrow."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from ...base import InputError, IntArray
from ...base.files import LARGEST_FILE
from .read_log import Malformed
from .trace_files import TraceFile, opened

PARQUET = ".parquet"
SEPARATORS = ",\t;|"
#: Rows per block.
_ROWS = 100_000
#: Least bytes of memory per row, read as records.
_A_ROW = 200
_SKIPPED = re.compile(r"Skipping line (\d+): expected (\d+) fields, saw (\d+)")


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows of a table: their columns, and the line or row of each, from 1."""

    frame: pd.DataFrame
    lines: IntArray


def is_parquet(path: Path) -> bool:
    """Return whether a file has the suffix of Parquet."""
    return path.suffix.lower() == PARQUET


def parquet_columns(path: Path) -> list[str]:
    """Return the names of the columns of a Parquet file; errors as :func:`parts`."""
    with opened(path) as stream, _parquet(path, stream) as file:
        return [str(name) for name in file.schema_arrow.names]


def parts(file: TraceFile, malformed: list[Malformed], *, wanted: Sequence[str] | None = None, separator: str = "",
          header: Sequence[str] = (), comment: str | None = None) -> Iterator[Part]:  # fmt: skip
    """Yield the rows of a table: texts of CSV, typed values of Parquet. Rows without any text are left out.

    Parameters
    ----------
    file
        The file.
    malformed
        Gets the rows with a wrong number of fields.
    wanted
        The columns to read from Parquet, as far as they exist.
    separator
        Between fields. The default is the one most frequent in the first line. A blank means any number of blanks.
    header
        The names of the first columns of a file without a header. Further fields are not read.
    comment
        Begin of lines that are no rows.

    Raises
    ------
    OSError
        If the file cannot be read.
    InputError
        If it is no such table, or beyond a bound.
    """
    if is_parquet(file.path):
        yield from _parquet_parts(file, wanted)
        return
    stream = _Stream(file)
    try:
        yield from _csv_parts(stream, file, malformed, separator, header, comment)
    except pd.errors.EmptyDataError:
        raise InputError(f"{file.path}: expected a header with the names of the columns, got nothing") from None
    except pd.errors.ParserError as error:
        raise InputError(f"{file.path}: expected a table: {str(error).strip().splitlines()[0][:120]}") from None


def separator_of(line: str) -> str:
    """Return the separator of the fields of a header."""
    return max(SEPARATORS, key=line.count)


class _Stream(io.RawIOBase):
    """The text of a file as a stream."""

    def __init__(self, file: TraceFile) -> None:
        self._blocks, self._rest = file.blocks(1 << 20), b""
        self.quotes = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            self._rest = next(self._blocks, b"")
            self.quotes |= b'"' in self._rest
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


def _csv_parts(
    stream: _Stream, file: TraceFile, malformed: list[Malformed], separator: str, header: Sequence[str],
    comment: str | None,
) -> Iterator[Part]:  # fmt: skip
    buffer = io.BufferedReader(stream, 1 << 20)
    first = buffer.peek(1 << 16).decode("utf-8", "replace").lstrip("\ufeff\r\n").partition("\n")[0]
    how: dict[str, Any] = {"names": list(header), "usecols": range(len(header)), "header": None} if header else {}
    begin = 1 if header else 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", pd.errors.ParserWarning)
        reader = pd.read_csv(
            buffer, sep=r"\s+" if separator == " " else separator or separator_of(first), dtype=str, chunksize=_ROWS,
            keep_default_na=False, skip_blank_lines=False, on_bad_lines="warn", encoding_errors="replace",
            comment=comment, index_col=False, skipinitialspace=True, **how,
        )  # fmt: skip
        length = 0
        for frame in reader:
            frame.columns = pd.Index([str(name).strip() for name in frame.columns])
            for name in frame.columns:
                if (again := re.fullmatch(r"(.*)\.\d+", name)) and again[1] in frame and name not in first:
                    raise InputError(f"{file.path}: column {again[1]!r}: expected one, got 2")
            lines = frame.index.to_numpy(dtype=np.int64) + begin
            if stream.quotes:  # quoted cells may contain line ends
                ends = frame.apply(lambda column: column.str.count("\n")).sum(axis=1).to_numpy(dtype=np.int64)
                begin += int(ends.sum())
                lines += np.cumsum(ends)
            length += len(frame)
            if length > file.bounds.rows or length * _A_ROW > file.bounds.memory:
                raise file.bounds.refuse(file.path, f"at most {file.bounds.memory // _A_ROW:,} rows", "more")
            while caught:
                for line, expected, got in _SKIPPED.findall(str(caught.pop().message)):
                    message = f"expected {expected} fields, got {got}"
                    malformed.append(Malformed(int(line), "wrong number of fields", message))
            empty = (frame.isna() | (frame == "")).all(axis=1).to_numpy()
            if not empty.all():
                yield Part(frame[~empty].reset_index(drop=True), lines[~empty])


def _parquet(path: Path, file: BinaryIO) -> Any:
    import pyarrow.parquet as pq  # noqa: PLC0415 - takes a tenth of a second

    try:
        return pq.ParquetFile(file)
    except (ValueError, OSError, NotImplementedError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path}: expected a sound Parquet file: {first}") from None


def _parquet_parts(file: TraceFile, wanted: Sequence[str] | None) -> Iterator[Part]:
    with opened(file.path) as stream, _parquet(file.path, stream) as parquet:
        rows, names = parquet.metadata.num_rows, [str(name) for name in parquet.schema_arrow.names]
        columns = names if wanted is None else [name for name in names if name in wanted]
        if file.lines is not None:
            file.whole, rows = rows <= file.lines, min(rows, file.lines)
        most = min(file.bounds.rows, file.bounds.memory // _A_ROW)
        if rows > most or file.path.stat().st_size > file.bounds.size:
            raise file.bounds.refuse(file.path, f"at most {most:,} rows", f"{rows:,}")
        at = 0
        try:
            for batch in parquet.iter_batches(batch_size=_ROWS, columns=columns):
                frame = batch.to_pandas().iloc[: rows - at]
                if frame.empty:
                    break
                yield Part(frame.reset_index(drop=True), np.arange(at + 1, at + 1 + len(frame), dtype=np.int64))
                at += len(frame)
        except (ValueError, OSError, NotImplementedError) as error:
            raise InputError(f"{file.path}: expected a sound Parquet file: {str(error).splitlines()[0]}") from None


def bounded_table(file: BinaryIO) -> pd.DataFrame:
    """Return a table in Parquet, read completely.

    Raises
    ------
    ValueError
        If it takes more memory than :data:`~hpcdispatch.base.files.LARGEST_FILE`.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 - takes a tenth of a second

    found = pq.read_metadata(file)
    length = sum(found.row_group(place).total_byte_size for place in range(found.num_row_groups))
    if max(length, 8 * found.num_rows * found.num_columns) > LARGEST_FILE:
        raise ValueError(f"one too large: {found.num_rows:,} rows, {length:,} bytes")
    file.seek(0)
    return pd.read_parquet(file)
