"""Objects as a prompt and a notebook show them: a title and a small table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .printed import plain

#: Letters of a line and of a cell of text, and lines of a table in it.
_LINE, _CELL, _LINES = 110, 80, 10


@dataclass(frozen=True, slots=True)
class Facts:
    """What an object says of itself.

    Attributes
    ----------
    title
        What it is, a line.
    rows
        Cells of a table; the first of a row is its label.
    header
        What stands above the columns; empty for none.
    """

    title: str
    rows: Sequence[Sequence[str]]
    header: Sequence[str] = ()

    def text(self) -> str:
        """Return it as text of at most 12 lines; rows that find no room are counted."""
        most = _LINES - bool(self.header)
        shown = self.rows if len(self.rows) <= most else self.rows[: most - 1]
        cells = [[_short(cell, _CELL) for cell in row] for row in (*([self.header] if self.header else []), *shown)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)] if cells else []
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        left = len(self.rows) - len(shown)
        more = [f"... and {left:,} more"] if left else []
        return "\n".join([_short(self.title, _LINE), *(f"  {line.rstrip()}" for line in (*lines, *more))])

    def html(self) -> str:
        """Return it as HTML, all rows of it."""
        head = "".join(f"<th style='text-align:left'>{escape(cell)}</th>" for cell in self.header)
        rows = "".join(
            "<tr>" + "".join(f"<td style='text-align:left'>{escape(plain(cell))}</td>" for cell in row) + "</tr>"
            for row in self.rows
        )
        table = f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{rows}</tbody></table>"
        return f"<div><strong>{escape(plain(self.title))}</strong>{table}</div>"


def _short(text: str, most: int) -> str:
    line = plain(" ".join(text.split()), 2 * most)
    return line if len(line) <= most else f"{line[: most - 1]}…"
