"""Tables of studies on stdout."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..reports.tables import PlainConsole, Table

#: Characters of a line where stdout is no terminal.
_WIDTH = 170


def show(tables: Sequence[Table], as_markdown: bool) -> None:
    """Print tables on stdout."""
    console = PlainConsole(width=None if sys.stdout.isatty() else _WIDTH)
    for table in tables:
        if as_markdown:
            print(table.markdown(), flush=True)
        else:
            console.print(table.title, table.terminal(), *filter(None, [table.note]), "", sep="\n")
