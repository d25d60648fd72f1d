"""Decode Parquet within bounds of memory, and try it first in a process of its own.

Arrow ends the process at some damaged files. Run as a program, this module decodes a file as its caller is about to do;
it imports Arrow alone, to be quick.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

#: Rows that are decoded at a time.
ROWS = 100_000
#: Bytes of memory of a value of a list, and per byte of a text with its copies.
_A_VALUE, _TEXT = 12, 4
#: Most bytes that are unpacked at a time, as far as the widths of columns tell.
_PART = 1 << 28
#: Files that were tried lately.
_TRIED = 64


def tables(file: BinaryIO, data: Any, columns: Sequence[str], take: Callable[[float], None]) -> Iterator[Any]:
    """Yield the rows of a Parquet file, some at a time.

    A small file may repeat a long text millions of times. Texts are counted before they are copied.

    Parameters
    ----------
    file
        The file.
    data
        The same as pyarrow opened it.
    columns
        Names of the columns to read.
    take
        Counts bytes of memory, and may refuse them by an exception.
    """
    groups = [data.metadata.row_group(place) for place in range(data.metadata.num_row_groups)]
    repeated: list[str] = []
    width, unpacked = 1, np.zeros(len(groups))
    for place, leaf in enumerate(map(data.schema.column, range(data.metadata.num_columns))):
        if not any(leaf.path == name or leaf.path.startswith(f"{name}.") for name in columns):
            continue
        chunks = [group.column(place) for group in groups]
        sizes = np.array([chunk.total_uncompressed_size for chunk in chunks])
        encodings = {encoding for chunk in chunks for encoding in chunk.encodings}
        unpacked += sizes
        if leaf.max_repetition_level:
            values = sum(chunk.num_values for chunk in chunks)
            take(_A_VALUE * values)
            width += _A_VALUE * values // max(data.metadata.num_rows, 1)
        if "DELTA_BYTE_ARRAY" in encodings:  # a text may repeat the one before
            width += sizes.max()
        elif leaf.physical_type == "BYTE_ARRAY" and any("DICTIONARY" in encoding for encoding in encodings):
            repeated.append(leaf.path)
        width += max(leaf.length, 0)
    take(max(unpacked, default=0))
    step = int(min(max(_PART // width, 1), ROWS))
    together: list[Any] = []
    dense = pa.schema([field for field in data.schema_arrow if field.name in columns], data.schema_arrow.metadata)
    decoded = pq.ParquetFile(file, metadata=data.metadata, read_dictionary=repeated)
    for batch in decoded.iter_batches(step, columns=columns):
        take(_TEXT * sum(map(_text_bytes, batch.columns)))
        together.append(batch)
        if len(together) * step >= ROWS:
            yield pa.Table.from_batches(together).cast(dense)
            together = []
    yield pa.Table.from_batches(together).cast(dense) if together else dense.empty_table()


def _text_bytes(column: Any) -> int:
    """Return the bytes of a column's texts, each counted as often as it occurs."""
    if pa.types.is_dictionary(column.type):
        if pa.types.is_primitive(column.type.value_type):
            return 0
        return int(pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0)
    if column.type.num_fields:
        parts = column.flatten()
        return sum(map(_text_bytes, parts if isinstance(parts, list) else [parts]))
    return 0 if pa.types.is_primitive(column.type) else int(column.nbytes)


def least_memory(metadata: Any) -> int:
    """Return the bytes of memory that a table takes at least."""
    length = sum(metadata.row_group(place).total_byte_size for place in range(metadata.num_row_groups))
    return int(max(length, 8 * metadata.num_rows * metadata.num_columns))


def survives(
    path: Path, memory: float, columns: Sequence[str] | None = None, rows: int | None = None, most: int | None = None
) -> bool:
    """Return whether a process lives on after it has decoded a file, whatever errors it got.

    Parameters
    ----------
    path
        The file.
    memory
        Bytes beyond which decoding stops.
    columns
        Names of the columns to decode; ``None`` for all.
    rows
        Number of rows after which decoding stops; ``None`` for all.
    most
        Number of rows of a table. Of one with more, or that takes more than `memory`, only the metadata is decoded.
        ``None``: it is decoded whatever it has.
    """
    status = path.stat()
    asked = json.dumps({"columns": columns, "memory": memory, "rows": rows, "most": most})
    return _survives(str(path), (status.st_ino, status.st_size, status.st_mtime_ns), asked)


@lru_cache(_TRIED)
def _survives(path: str, state: tuple[int, ...], asked: str) -> bool:
    """Decode a file in the present `state` in a process of its own."""
    if not sys.executable:  # embedded in another program, there is no Python to start
        return True
    called = [sys.executable, "-P", __file__, path, asked]
    tried = subprocess.run(
        called, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    return tried.returncode in (0, 1)


def _decode(path: str, columns: Sequence[str] | None, memory: float, rows: int | None, most: int | None) -> None:
    """Decode a file, and check what was decoded."""
    taken = 0.0

    def take(more: float) -> None:
        nonlocal taken
        taken += more
        if taken > memory:
            raise MemoryError

    with open(path, "rb") as file:
        data = pq.ParquetFile(file)
        if most is not None and (data.metadata.num_rows > most or least_memory(data.metadata) > memory):
            return
        names = [str(name) for name in data.schema_arrow.names]
        wanted = names if columns is None else [name for name in columns if name in names]
        read = 0
        for table in tables(file, data, wanted, take):
            table.validate(full=True)
            read += len(table)
            if rows is not None and read >= rows:
                return


if __name__ == "__main__":
    _decode(sys.argv[1], **json.loads(sys.argv[2]))
