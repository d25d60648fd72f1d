"""Print reproductions on a terminal: the available ones, and each result."""

from __future__ import annotations

from pathlib import Path

from rich import table as rich_table
from rich.console import Console
from rich.text import Text

from ....base import InputError
from ...reports.tables import terminal_table
from . import outcome_files
from .catalogue import entries
from .controls import Trials
from .drawings import draw
from .outcome import PaperResult, StudyOutcome, StudySettings
from .outcome_files import StoredOutcome
from .outcome_tables import conditions, numbers, tally, unprinted, verdicts

_STYLES = {True: "green", False: "red", None: "yellow"}


def show(
    console: Console, entry: PaperResult, means: StudySettings, outcome: StudyOutcome, trials: Trials, out: Path | None
) -> None:
    """Print an outcome and its claims' results under controls. Store both if a folder is set."""
    kept = StoredOutcome.of(entry, means.scale, outcome, trials)
    about = f"scale {means.scale}"
    if outcome.runs:
        about += f", runs: {outcome.runs}, seeds from {means.seed}"
    console.print(Text(f"{entry.name}: {entry.title}", style="bold"), Text(entry.paper), about, sep="\n")
    for note in outcome.notes:
        console.print(note)
    shown = [numbers(kept.rows)] if kept.rows else []
    shown += [conditions(kept.preconditions)] if kept.preconditions else []
    shown += [unprinted(kept.parameters)] if kept.parameters else []
    judged = verdicts(kept.claims, trials)
    claims = terminal_table(judged.columns, len(judged.columns))
    claims.columns[1].no_wrap = True
    for claim, (text, verdict, *others) in zip(kept.claims, judged.cells, strict=True):
        style = _STYLES[claim.holds]
        claims.add_row(text.line, Text(verdict.line, style=style), *(other.line for other in others))
    told = [claims, f"claims: {tally(kept.claims, trials)}"] if kept.claims else ["claims: none"]
    console.print(*(table.terminal() for table in shown), *told, sep="\n")
    if out is not None:
        files = outcome_files.put(out, kept)
        files += [] if outcome.drawing is None else draw(entry, outcome.drawing, out)
        for path in files:
            console.print(str(path), soft_wrap=True)
    console.print()


def listing(out: Path | None) -> rich_table.Table:
    """Return all tables and figures, with their last results from a folder."""
    if out is not None and not out.is_dir():
        raise InputError(f"{out}: expected a folder of results, got {'a file' if out.exists() else 'none'}")
    table = terminal_table(["name", "what", "status", "last result"], 4)
    table.columns[0].no_wrap = True
    for entry in entries():
        kept = None if out is None else outcome_files.find(out, entry.name)
        last = "-" if kept is None else f"{kept.scale}: {tally(kept.claims, kept.trials)}"
        table.add_row(entry.name, entry.title, "built" if entry.run is not None else "not built", last)
    return table
