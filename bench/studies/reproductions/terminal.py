"""Reproductions on a terminal: what there is, and what one came to."""

from __future__ import annotations

from pathlib import Path

from rich import table as rich_table
from rich.console import Console
from rich.text import Text

from ....base import InputError
from ...reports.tables import terminal_table
from . import outcome_files
from .catalogue import entries
from .drawings import draw
from .outcome import Entry, Outcome
from .outcome_files import Kept
from .outcome_tables import conditions, numbers, tally, unprinted, verdicts

_STYLES = {True: "green", False: "red", None: "yellow"}


def show(console: Console, entry: Entry, scale: str, outcome: Outcome, out: Path | None) -> None:
    """Print an outcome, and keep it in a folder if there is one."""
    kept = Kept.of(entry, scale, outcome)
    console.print(Text(f"{entry.name}: {entry.title}", style="bold"), Text(entry.paper), f"scale {scale}", sep="\n")
    for note in outcome.notes:
        console.print(note)
    shown = [numbers(kept.rows)] if kept.rows else []
    shown += [conditions(kept.preconditions)] if kept.preconditions else []
    shown += [unprinted(kept.parameters)] if kept.parameters else []
    claims = terminal_table(["claim", "", "measured"], 3)
    claims.columns[1].no_wrap = True
    for claim, (text, verdict, evidence) in zip(kept.claims, verdicts(kept.claims).cells, strict=True):
        claims.add_row(text.line, Text(verdict.line, style=_STYLES[claim.holds]), evidence.line)
    console.print(*(table.terminal() for table in shown), claims, f"claims: {tally(kept.claims)}", sep="\n")
    if out is not None:
        files = outcome_files.put(out, kept)
        files += [] if outcome.drawing is None else draw(entry, outcome.drawing, out)
        for path in files:
            console.print(str(path), soft_wrap=True)
    console.print()


def listing(out: Path | None) -> rich_table.Table:
    """Return all tables and figures, with their last results in a folder."""
    if out is not None and not out.is_dir():
        raise InputError(f"{out}: expected a folder of results, got {'a file' if out.exists() else 'none'}")
    table = terminal_table(["name", "what", "status", "last result"], 4)
    table.columns[0].no_wrap = True
    for entry in entries():
        kept = None if out is None else outcome_files.find(out, entry.name)
        last = "-" if kept is None else f"{kept.scale}: {tally(kept.claims)}"
        table.add_row(entry.name, entry.title, "built" if entry.run is not None else "not built", last)
    return table
