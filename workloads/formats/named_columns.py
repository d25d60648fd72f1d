"""Read columns of a CSV file by the names in its first line."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...base import InputError
from ...base.files import open_regular


class Row(NamedTuple):
    """A row of a file.

    Attributes
    ----------
    where
        File and line, for messages.
    text
        The whole row.
    values
        Texts of the chosen columns; ``None`` where the row is too short.
    """

    where: str
    text: str
    values: list[str | None]


def named_columns(path: Path, choose: Callable[[list[str]], Sequence[str]], most: int, what: str) -> Iterator[Row]:
    """Yield the rows of a CSV file. Empty lines do not count.

    Parameters
    ----------
    path
        The file, text in UTF-8.
    choose
        Gets the names of the first line, in small letters, and returns the wanted ones. It raises
        :class:`InputError` if some are missing.
    most
        Most rows.
    what
        The things that rows are, for the message.

    Raises
    ------
    InputError
        If it is no CSV, or has more rows. The message has the line.
    OSError
        If it cannot be read.
    """
    with open_regular(path) as file:
        rows = csv.reader(io.TextIOWrapper(file, encoding="utf-8-sig", newline=""))
        try:
            head = [name.strip().lower() for name in next(rows, [])]
        except (csv.Error, UnicodeDecodeError) as error:
            raise InputError(f"{path}: expected CSV, got {error}") from None
        places = [head.index(name) for name in choose(head)]
        try:
            for count, row in enumerate(row for row in rows if row):
                where = f"{path}:{rows.line_num}"
                if count >= most:
                    raise InputError(f"{where}: expected at most {most:,} {what}")
                yield Row(where, ",".join(row), [row[place] if place < len(row) else None for place in places])
        except (csv.Error, UnicodeDecodeError) as error:
            raise InputError(f"{path}:{rows.line_num}: expected CSV, got {error}") from None
