"""Tables in files, some rows at a time: CSV, its relatives and Parquet."""

import csv
import io
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from ...base import InputError, IntArray, shown
from ...base.checks import MOST_JOBS
from ...base.files import LARGEST_FILE
from .read_log import Malformed
from .trace_files import TraceFile, opened

PARQUET = ".parquet"
SEPARATORS = ",\t;|"
#: The last name of a header whose rows may have more or fewer fields.
MORE = "..."
#: Rows that are parsed at a time, and fields.
_CSV_ROWS = 20_000
_FIELDS = 1_000_000
#: Most columns of a table.
MOST_COLUMNS = 10_000
#: Rows of a table of a result: twice as many as jobs are read.
_MOST_ROWS = 2 * MOST_JOBS
#: Bytes of memory that a row takes at least, read as records.
_A_ROW = 200
#: A line after the last, which no text has in it: a quote without an end swallows it.
_END = ["\0"]


@dataclass(frozen=True, slots=True)
class TablePart:
    """Some rows of a table: their columns, and the line or row of each, from 1."""

    frame: pd.DataFrame
    lines: IntArray


class RowBlocks:
    """Rows of texts that a parser makes, handed on as parts of a table.

    Parameters
    ----------
    names
        Of the columns.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._rows: list[Sequence[str]] = []
        self._lines: list[int] = []

    def add(self, line: int, row: Sequence[str]) -> None:
        """Add a row with the number of its line."""
        self._rows.append(row)
        self._lines.append(line)

    def full(self) -> Iterator[TablePart]:
        """Yield the rows so far, if they are many."""
        if len(self._rows) >= _CSV_ROWS:
            yield from self.rest()

    def rest(self) -> Iterator[TablePart]:
        """Yield the rows so far."""
        if self._rows:
            columns = dict(zip(self._names, zip(*self._rows, strict=True), strict=True))
            yield TablePart(pd.DataFrame(columns, dtype=str), np.array(self._lines, dtype=np.int64))
            self._rows, self._lines = [], []


def is_parquet(path: Path) -> bool:
    """Return whether a file has the suffix of Parquet."""
    return path.suffix.lower() == PARQUET


def parquet_columns(path: Path) -> list[str]:
    """Return the names of the columns of a Parquet file; errors as :func:`parts`."""
    with opened(path) as stream, _parquet(path, stream) as file:
        return [str(name) for name in file.schema_arrow.names]


def parts(
    file: TraceFile,
    malformed: list[Malformed],
    *,
    wanted: Sequence[str] | None = None,
    separator: str = "",
    header: tuple[str, ...] = (),
    comment: str | None = None,
) -> Iterator[TablePart]:
    """Yield the rows of a table: texts of CSV, typed values of Parquet. Rows without any text are left out.

    Parameters
    ----------
    file
        The file.
    malformed
        Gets the lines of rows with a wrong number of fields, and those that a quote without an end has swallowed.
    wanted
        The columns to read from Parquet, as far as they exist.
    separator
        Between fields. The default is the one most frequent in the first line. A blank means any number of blanks.
    header
        The names of the columns of a file without a header. With a last name ``...`` a row may have more or fewer.
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
    try:
        yield from _csv_parts(file, malformed, separator, header, comment)
    except csv.Error as error:
        raise InputError(f"{file.path}: expected a table: {error}") from None


def separator_of(line: str) -> str:
    """Return the separator of the fields of a header."""
    return max(SEPARATORS, key=line.count)


def further_lines(record: str) -> int:
    """Return how many lines of a record after its first are not blank."""
    return sum(bool(line.strip()) for line in record.split("\n")[1:])


def has_rows(cells: Sequence[str], separator: str, columns: int) -> bool:
    """Tell whether a text with ends of lines has whole rows in it, as after a quote that is never closed."""
    return any((lines := further_lines(cell)) and cell.count(separator) == lines * (columns - 1) for cell in cells)


def _lines_with_text(
    record: Sequence[str], separator: str, begin: int, last: int, open_quote: bool = False
) -> list[int]:
    """Return which of the lines of a record have more than separators.

    The first and the last have a quote, unless the quote has no end.
    """
    blank = f"{separator} \t\r"
    texts = separator.join(record).split("\n")[: last - begin + 1]
    quotes = {0} if open_quote else {0, last - begin}
    return [begin + place for place, text in enumerate(texts) if place in quotes or text.strip(blank)]


def _lines(file: TraceFile, comment: str | None) -> Iterator[str]:
    """Yield the lines of a file, with their ends; empty ones for comments."""
    for block in file.blocks(1 << 20):
        stream = io.StringIO(block.decode("utf-8", "replace"), newline=None)
        yield from ("\n" if line.startswith(comment) else line for line in stream) if comment else stream


def _names(file: TraceFile, cells: Sequence[str]) -> list[str]:
    """Return the names of the columns in a header, each once."""
    if len(cells) > MOST_COLUMNS:
        raise InputError(f"{file.path}: expected a table of at most {MOST_COLUMNS:,} columns, got {len(cells):,}")
    names = [cell.strip() or f"unnamed {place}" for place, cell in enumerate(cells, 1)]
    for name in names:
        if (count := names.count(name)) > 1:
            raise InputError(f"{file.path}: column {shown(name)}: expected one, got {count}")
    return names if cells[-1].strip() else names[:-1]


def _csv_parts(
    file: TraceFile, malformed: list[Malformed], separator: str, header: tuple[str, ...], comment: str | None
) -> Iterator[TablePart]:
    lines, begun = _lines(file, comment), [""]
    while not begun[-1].strip() and (line := next(lines, None)) is not None:
        begun.append(line)
    separator = separator or separator_of(begun[-1])
    source: Iterable[str] = itertools.chain(begun[1:], lines, _END)
    if separator == " ":
        source = (line.replace("\t", " ") for line in source)
    reader = csv.reader(source, delimiter=separator, skipinitialspace=True)
    more = header[-1:] == (MORE,)
    names = list(header[:-1] if more else header)
    rows = dict[int, list[str]]()
    length = 0
    last = 0
    most = min(file.bounds.rows, file.bounds.memory // _A_ROW)
    for record in reader:
        cells = record
        begin = last + 1
        last = reader.line_num
        if not ((cells and cells[0]) or any(cells)) or cells == _END:
            continue
        if open_quote := cells[-1].endswith(_END[0]):
            last -= 1
        if not names:
            names = _names(file, cells)
            continue
        if more:
            cells = [*cells[: len(names)], *[""] * (len(names) - len(cells))]
        elif len(cells) == len(names) + 1 and not cells[-1]:
            cells.pop()
        swallowed = open_quote or (last > begin and has_rows(cells, separator, len(names)))
        if swallowed or len(cells) != len(names):
            message = f"expected {len(names)} fields, got {len(cells)}"
            message = "expected a quote that ends with its field, got none" if swallowed else message
            lines_with_text = _lines_with_text(record, separator, begin, last, open_quote)
            malformed += [Malformed(line, "wrong number of fields", message) for line in lines_with_text]
            continue
        if last > begin:
            file.joined += len(_lines_with_text(record, separator, begin, last)) - 1
        rows[begin] = cells
        length += 1
        if length > most:
            raise file.bounds.refuse(file.path, f"at most {most:,} rows", "more")
        if len(rows) == _CSV_ROWS or len(rows) * len(names) > _FIELDS:
            yield _part(names, rows)
            rows = {}
    if not names:
        raise InputError(f"{file.path}: expected a header with the names of the columns, got nothing")
    if rows:
        yield _part(names, rows)


def _part(names: Sequence[str], rows: Mapping[int, list[str]]) -> TablePart:
    columns = dict(zip(names, zip(*rows.values(), strict=True), strict=True))
    return TablePart(pd.DataFrame(columns, dtype=str), np.fromiter(rows, dtype=np.int64))


@contextmanager
def _sound(path: Path) -> Iterator[None]:
    """Turn errors of a damaged Parquet file to an :class:`InputError`."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - Arrow's errors are of many classes: KeyError, IndexError, TypeError
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path}: expected a sound Parquet file: {first}") from None


def _parquet(path: Path, file: BinaryIO, most: int = 0, *, trusted: bool = False) -> Any:
    """Open a file after a process of its own has decoded its metadata, and all if it has at most so many rows."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - takes a tenth of a second

    if not trusted:
        _try(path, LARGEST_FILE, most=most)
    with _sound(path):
        return pq.ParquetFile(file)


def _try(
    path: Path,
    memory: float,
    columns: Sequence[str] | None = None,
    rows: int | None = None,
    most: int | None = None,
) -> None:
    """Refuse a file that ends a process which decodes it; see :func:`.parquet_decoding.survives`."""
    from .parquet_decoding import survives  # noqa: PLC0415 - imports pyarrow

    if not survives(path, memory, columns, rows, most):
        raise InputError(f"{path}: expected a sound Parquet file, got one at which the process of its reader ends")


def _parquet_parts(file: TraceFile, wanted: Sequence[str] | None) -> Iterator[TablePart]:
    from .parquet_decoding import tables  # noqa: PLC0415 - imports pyarrow

    with opened(file.path) as stream, _parquet(file.path, stream) as parquet:
        rows = parquet.metadata.num_rows
        names = [str(name) for name in parquet.schema_arrow.names]
        columns = names if wanted is None else [name for name in names if name in wanted]
        if file.lines is not None:
            file.whole, rows = rows <= file.lines, min(rows, file.lines)
        most = min(file.bounds.rows, file.bounds.memory // _A_ROW)
        if rows > most or file.path.stat().st_size > file.bounds.size:
            raise file.bounds.refuse(file.path, f"at most {most:,} rows", f"{rows:,}")
        _try(file.path, file.bounds.memory, columns, rows)
        at = 0
        with _sound(file.path):
            for table in tables(stream, parquet, columns, file.take):
                table.validate(full=True)  # a damaged text is no UTF-8, which pandas finds only when it reads it
                frame = table.to_pandas().iloc[: rows - at]
                if frame.empty:
                    break
                yield TablePart(frame.reset_index(drop=True), np.arange(at + 1, at + 1 + len(frame), dtype=np.int64))
                at += len(frame)


def bounded_table(path: Path, file: BinaryIO, *, trusted: bool = False) -> pd.DataFrame:
    """Return a table in Parquet, read completely.

    Parameters
    ----------
    path
        Its path, for a first try in a process of its own.
    file
        The open file.
    trusted
        Whether checksums show that it is what was written, so that there is no first try.

    Raises
    ------
    InputError
        If it is damaged, takes more memory than :data:`~hpcdispatch.base.files.LARGEST_FILE`, or has more rows than a
        simulation.
    """
    import pyarrow as pa  # noqa: PLC0415 - takes a tenth of a second

    from .parquet_decoding import least_memory, tables  # noqa: PLC0415 - imports pyarrow

    taken = 0.0

    def take(memory: float) -> None:
        nonlocal taken
        taken += memory
        if taken > LARGEST_FILE:
            raise InputError(f"{path}: expected a table of at most {LARGEST_FILE:,} bytes of memory, got more")

    with _parquet(path, file, _MOST_ROWS, trusted=trusted) as parquet:
        rows, size = parquet.metadata.num_rows, least_memory(parquet.metadata)
        if rows > _MOST_ROWS or size > LARGEST_FILE:
            raise InputError(f"{path}: expected a smaller table, got {rows:,} rows, {size:,} bytes")
        names = [str(name) for name in parquet.schema_arrow.names]
        with _sound(path):
            table = pa.concat_tables(tables(file, parquet, names, take))
            if not trusted:
                table.validate(full=True)
            frame: pd.DataFrame = table.to_pandas()
    return frame
