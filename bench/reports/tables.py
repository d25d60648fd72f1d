"""Tables of a report, as Markdown and LaTeX besides the page: cells of text, with the number they are sorted by."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...simulation import mean_interval
from .number_formats import Show, interval

_MARKDOWN = re.compile(r"([\\`*_\[\]{}|#~$])")
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}", "\n": " ",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a table: text, a second line such as an interval, and the number to sort by (NaN for a label)."""

    text: str
    below: str = ""
    value: float = math.nan


@dataclass(frozen=True)
class Table:
    """A table of a report.

    Attributes
    ----------
    key
        Name of its files.
    title, note
        What it shows, and what is to be known of it.
    columns
        Headers, with units.
    rows
        As long as `columns`.
    labels
        How many columns, from the first on, are texts and not numbers.
    """

    key: str
    title: str
    note: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    labels: int = 1

    def markdown(self) -> str:
        """Return it as Markdown."""
        rule = ["---" if index < self.labels else "---:" for index in range(len(self.columns))]
        lines = [[_markdown(name) for name in self.columns], rule]
        lines += [[_markdown(_one_line(cell)) for cell in row] for row in self.rows]
        body = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        return f"**{_markdown(self.title)}**\n\n{body}\n{_markdown(self.note)}\n"

    def latex(self) -> str:
        """Return it as a LaTeX table; it wants the packages booktabs and textcomp, and fontenc with T1."""
        alignment = "l" * self.labels + "r" * (len(self.columns) - self.labels)
        head = " & ".join(_latex(name) for name in self.columns)
        rows = "".join(" & ".join(_latex(_one_line(cell)) for cell in row) + " \\\\\n" for row in self.rows)
        return (
            f"\\begin{{table}}\n\\centering\n\\caption{{{_latex(self.title)}. {_latex(self.note)}}}\n"
            f"\\label{{tab:{self.key}}}\n\\begin{{tabular}}{{{alignment}}}\n\\toprule\n{head} \\\\\n\\midrule\n"
            f"{rows}\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n"
        )

    def frame(self) -> pd.DataFrame:
        """Return it as texts, for CSV: numbers in full, intervals in columns of their own."""
        columns: dict[str, list[object]] = {}
        for index, name in enumerate(self.columns):
            cells = [row[index] for row in self.rows]
            columns[name] = [cell.text if index < self.labels else cell.value for cell in cells]
            if any(cell.below for cell in cells):
                columns[f"{name}: interval"] = [cell.below for cell in cells]
        return pd.DataFrame(columns)


def label(text: object) -> Cell:
    """Return a cell of text."""
    return Cell(str(text))


def number(value: float, show: Show) -> Cell:
    """Return a cell of a number."""
    return Cell(show(value), "", float(value))


def spread(values: Sequence[float], show: Show) -> Cell:
    """Return the mean over the seeds, with its interval where there are several."""
    array = np.asarray(values, dtype=float)
    low, high = mean_interval(array)
    mean = float(array.mean()) if len(array) else math.nan
    return between(mean, low, high, show)


def between(value: float, low: float, high: float, show: Show) -> Cell:
    """Return a cell of a number and its interval."""
    return Cell(show(value), "" if low == high else interval(low, high, show), float(value))


def _one_line(cell: Cell) -> str:
    return f"{cell.text} {cell.below}".rstrip()


def _markdown(text: str) -> str:
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKDOWN.sub(r"\\\1", " ".join(safe.split()))


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
