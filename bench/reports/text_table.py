"""A table that can be printed on a terminal or as Markdown."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

_WIDTH = 170


@dataclass(frozen=True)
class Sheet:
    """A table of texts.

    Attributes
    ----------
    title
        What it shows.
    columns
        The headers, with their units.
    rows
        As long as `columns`.
    left
        How many columns, from the first on, are labels and not numbers.
    note
        What is to be known of it; below the table.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    note: str = ""

    def table(self) -> Table:
        """Return the rows for the terminal, ruled off where the first of several labels changes."""
        made = Table()
        for index, name in enumerate(self.columns):
            label = index < self.left
            made.add_column(name, justify="left" if label else "right", no_wrap=label)
        for row, following in zip(self.rows, [*self.rows[1:], None], strict=True):
            ends = self.left > 1 and following is not None and following[0] != row[0]
            made.add_row(*row, end_section=ends)
        return made

    def markdown(self) -> str:
        """Return it as Markdown."""
        rule = ["---" if index < self.left else "---:" for index in range(len(self.columns))]
        lines = [f"| {' | '.join(line)} |\n" for line in (self.columns, rule, *self.rows)]
        return "".join([f"{self.title}\n\n", *lines, f"\n{self.note}\n" if self.note else ""])


def show(sheets: Sequence[Sheet], as_markdown: bool) -> None:
    """Print tables on stdout."""
    console = Console(width=None if sys.stdout.isatty() else _WIDTH, highlight=False, markup=False)
    for sheet in sheets:
        if as_markdown:
            print(sheet.markdown())
        else:
            console.print(sheet.title, sheet.table(), *filter(None, [sheet.note]), "", sep="\n")
