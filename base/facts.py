"""Display of objects at a prompt and in a notebook: a title and a small table."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .printed import plain

#: Longest line and cell of text, letters, and most lines of its table.
_LINE = 110
_CELL = 80
_LINES = 10


@dataclass(frozen=True, slots=True)
class Facts:
    """Description of an object.

    Attributes
    ----------
    title
        One line.
    rows
        Cells of a table. The first of a row is its label.
    header
        Column titles. Empty for none.
    """

    title: str
    rows: Sequence[Sequence[str]]
    header: Sequence[str] = ()

    def text(self) -> str:
        """Return text of at most 12 lines. Further rows are counted."""
        most = _LINES - bool(self.header)
        shown = self.rows if len(self.rows) <= most else self.rows[: most - 1]
        cells = [[_short(cell, _CELL) for cell in row] for row in (*([self.header] if self.header else []), *shown)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)] if cells else []
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        left = len(self.rows) - len(shown)
        more = [f"... and {left:,} more"] if left else []
        return "\n".join([_short(self.title, _LINE), *(f"  {line.rstrip()}" for line in (*lines, *more))])

    def html(self) -> str:
        """Return HTML with all rows."""
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
