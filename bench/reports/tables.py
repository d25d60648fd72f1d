"""Tables for the terminal, Markdown, LaTeX and CSV. Cells have text and a number for sorting."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import rich.table
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from ...analysis.conclusions import Basis
from ...analysis.conclusions import spread as interval_of_mean
from ...base.printed import MOST_LETTERS, plain
from .number_formats import Show, interval

_Column = TypeVar("_Column")
#: Longest cell that is not broken on a terminal.
_UNBROKEN = 20
#: Least width of a column of numbers. It keeps headers from breaking after each word.
_LEAST = 9
#: A width in which every table fits.
WIDE = 10_000
_MARKDOWN = re.compile(r"([\\`*_\[\]{}|#~$])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "\n": " ",
}


@dataclass(frozen=True, slots=True)
class PrintedCell:
    """A cell of a table: text, a second line such as an interval, and the sort key (NaN for a label)."""

    text: str
    below: str = ""
    value: float = math.nan

    @property
    def line(self) -> str:
        """Its text on one line."""
        return f"{self.text} {self.below}".rstrip()

    @property
    def sortable(self) -> str:
        """Its number in full, empty for a label."""
        return "" if math.isnan(self.value) else repr(self.value)


class Times(str):
    """The header of a column of durations, shown as ``2h05m``. Its numbers are seconds."""

    __slots__ = ()


@dataclass(frozen=True)
class Table:
    """A table, for a terminal, a page or a paper.

    Attributes
    ----------
    title, note
        Its subject, and remarks for the reader.
    columns
        Headers, with units.
    rows
        As long as `columns`. Cells, or texts if the table is only printed.
    labels
        Number of columns, from the first on, that hold texts.
    key
        Name of its files.
    folded
        Whether a page shows it only on demand.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[PrintedCell | str]]
    labels: int = 1
    note: str = ""
    key: str = ""
    folded: bool = False

    @property
    def cells(self) -> list[list[PrintedCell]]:
        """The rows as cells."""
        return [[PrintedCell(cell) if isinstance(cell, str) else cell for cell in row] for row in self.rows]

    def terminal(self) -> RenderableType:
        """Return the rows for the terminal. With several labels, a line marks each change of the first one.

        Columns of numbers that do not fit beside the others follow in a table of their own, with the labels.
        """
        return _FittedTable(self.columns, [[cell.line for cell in row] for row in self.cells], self.labels)

    def markdown(self, *, escaped: bool = False) -> str:
        """Return it as Markdown. Texts may contain Markdown, unless they are to be escaped."""

        def safe(text: str) -> str:
            if not escaped:
                return text.replace("|", "\\|")
            plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            return _MARKDOWN.sub(r"\\\1", " ".join(plain.split()))

        rule = ["---" if index < self.labels else "---:" for index in range(len(self.columns))]
        lines = [[safe(name) or " " for name in self.columns], rule]
        lines += [[safe(cell.line) for cell in row] for row in self.cells]
        body = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        title, note = (f"**{safe(self.title)}**", safe(self.note)) if escaped else (self.title, self.note)
        return f"{title}\n\n{body}" + (f"\n{note}\n" if note else "")

    def latex(self) -> str:
        """Return it as a LaTeX table for the packages booktabs, textcomp, and fontenc with T1."""
        alignment = "l" * self.labels + "r" * (len(self.columns) - self.labels)
        head = " & ".join(_latex(name) for name in self.columns)
        rows = "".join(" & ".join(_latex(cell.line) for cell in row) + " \\\\\n" for row in self.cells)
        return (
            f"\\begin{{table}}\n\\centering\n\\caption{{{_latex(self.title)}. {_latex(self.note)}}}\n"
            f"\\label{{tab:{self.key}}}\n\\begin{{tabular}}{{{alignment}}}\n\\toprule\n{head} \\\\\n\\midrule\n"
            f"{rows}\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n"
        )

    def frame(self) -> pd.DataFrame:
        """Return it as texts for CSV: numbers in full, intervals in separate columns."""
        columns: dict[str, list[object]] = {}
        for index, name in enumerate(self.columns):
            cells = [row[index] for row in self.cells]
            name = f"{name} (s)" if isinstance(name, Times) else str(name)  # noqa: PLW2901
            columns[name] = [cell.text if index < self.labels else cell.value for cell in cells]
            if any(cell.below for cell in cells):
                columns[f"{name}: interval"] = [cell.below for cell in cells]
        return pd.DataFrame(columns)


class PlainConsole(Console):
    """A console that adds no colours or markup to texts. Printed text cannot control the terminal."""

    def __init__(self, **how: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the parts to print."""
        for part in super().render(renderable, options):
            if part.control or part.text.isprintable() or part.text == "\n":
                yield part
            else:
                lines = part.text.split("\n")
                yield Segment("\n".join(plain(line, len(line)) for line in lines), part.style)


@dataclass(frozen=True)
class _FittedTable:
    """A table in as many parts as the width needs. Each has the labels."""

    columns: Sequence[str]
    texts: Sequence[Sequence[str]]
    labels: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[RenderableType]:
        wide = options.update(width=WIDE)

        def fits(part: Sequence[int], unbroken: int = _UNBROKEN) -> bool:
            return console.measure(self._part(part, unbroken), options=wide).minimum <= options.max_width

        def may_end(part: Sequence[int], rest: Sequence[int]) -> bool:
            # A header that comes again belongs to the column before.
            return fits(part) and not (rest and list(self.columns).count(self.columns[rest[0]]) > 1)

        for number, part in enumerate(in_parts(range(self.labels, len(self.columns)), may_end) or [()]):
            if number:
                yield ""
            unbroken = next((most for most in range(_UNBROKEN, 1, -1) if fits(part, most)), 1)
            yield self._part(part, unbroken)

    def _part(self, values: Sequence[int], unbroken: int) -> rich.table.Table:
        """Return the labels and some other columns. Cells up to a number of letters stay on one line."""
        columns = [*range(self.labels), *values]
        made = terminal_table([self.columns[index] for index in columns], self.labels)
        for column, index in zip(made.columns, columns, strict=True) if self.texts else ():
            # A long header breaks before a short cell.
            longest = max(len(row[index]) for row in self.texts)
            column.min_width = min(longest, unbroken)
            if index >= self.labels:
                column.max_width = max(longest, *map(len, self.columns[index].split() or [""]), _LEAST)
        for row, following in zip_longest(self.texts, self.texts[1:]):
            ends = self.labels > 1 and following is not None and following[0] != row[0]
            made.add_row(*(row[index] for index in columns), end_section=ends)
        return made


def in_parts(
    columns: Sequence[_Column], fits: Callable[[Sequence[_Column], Sequence[_Column]], bool]
) -> list[Sequence[_Column]]:
    """Divide columns into parts, each with as many as fit, and at least one. `fits` gets a part and what follows."""
    parts = []
    while columns:
        taken = next((some for some in range(len(columns), 1, -1) if fits(columns[:some], columns[some:])), 1)
        parts.append(columns[:taken])
        columns = columns[taken:]
    return parts


class _PlainTable(rich.table.Table):
    """A table with bounded cells of text."""

    def add_row(self, *cells: RenderableType | None, **how: Any) -> None:
        """Add a row."""
        super().add_row(*map(_bounded, cells), **how)


def _bounded(cell: RenderableType | None) -> RenderableType | None:
    if isinstance(cell, Text) and len(cell) > MOST_LETTERS:
        return Text(plain(cell.plain), style=cell.style)
    return plain(cell) if isinstance(cell, str) and len(cell) > MOST_LETTERS else cell


def terminal_table(columns: Sequence[str], labels: int = 1) -> rich.table.Table:
    """Return an empty table in the style of all commands: labels to the left, numbers to the right."""
    made = _PlainTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, name in enumerate(columns):
        made.add_column(
            Text(name if len(name) <= MOST_LETTERS else plain(name)),
            justify="left" if index < labels else "right",
            overflow="fold",
        )
    return made


def label(text: object) -> PrintedCell:
    """Return a cell of text."""
    return PrintedCell(str(text))


def number(value: float, show: Show) -> PrintedCell:
    """Return a cell of a number."""
    return PrintedCell(show(value), "", float(value))


def spread(values: Sequence[float], show: Show, basis: Basis = "independent") -> PrintedCell:
    """Return the mean over the seeds, with its interval over these samples if there are several."""
    array = np.asarray(values, dtype=float)
    low, high = interval_of_mean(array, basis)
    mean = float(array.mean()) if len(array) else math.nan
    return between(mean, low, high, show)


def between(value: float, low: float, high: float, show: Show) -> PrintedCell:
    """Return a cell of a number and its interval."""
    return PrintedCell(show(value), "" if low == high else interval(low, high, show), float(value))


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
