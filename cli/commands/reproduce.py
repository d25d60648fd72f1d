"""``hpcdispatch reproduce``: the tables and figures of the papers, made again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from ...base import InputError
from ...bench.campaigns.execution import CampaignInterrupted
from ...bench.reports.number_formats import count
from ...bench.reproductions import (
    SCALES,
    Entry,
    Kept,
    Means,
    Outcome,
    Scale,
    SimulationFailedError,
    draw,
    entries,
    find,
    write_page,
)
from ...bench.reproductions import outcome_files as keeping
from ...bench.reproductions.outcome_tables import conditions, numbers, tally, unprinted, verdicts
from ..app import debug_option, examples
from ..command_errors import InterruptedRunError, RunFailedError
from ..output import console
from ..progress import JobBar
from ..shared_options import make_folder

_STYLES = {True: "green", False: "red", None: "yellow"}


@click.command(
    "reproduce",
    epilog=examples(
        "hpcdispatch reproduce --list",
        "hpcdispatch reproduce cp2019/fig3 --scale small --out results",
        "hpcdispatch reproduce --all --scale small --out results",
    ),
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--list", "as_list", is_flag=True, help="List all with their last results in --out, and do nothing else.")
@click.option("--all", "everything", is_flag=True, help="All that are built.")
@click.option(
    "--scale",
    type=click.Choice(SCALES),
    default="smoke",
    show_default=True,
    help="Seconds, minutes, or up to hours.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep results, figures and simulations there; what was simulated before is not again.",
)
@click.option(
    "--workers", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Processes to simulate in."
)
@click.option(
    "--docs",
    type=click.Path(path_type=Path),
    metavar="FILE.md",
    help="Write the page about the results in --out, and those in FILE.json, which it brings up to date.",
)
@debug_option
def command(
    names: tuple[str, ...],
    as_list: bool,
    everything: bool,
    scale: Scale,
    out: Path | None,
    workers: int,
    docs: Path | None,
) -> None:
    """Make tables and figures of papers again: measured beside published, and which claims hold.

    A NAME is one of --list, such as cp2019/table2. Simulated are other jobs than a paper's where those are not to be
    had, which is said; then the claims are what is tested, not the figures.
    """
    if as_list:
        console().print(_listing(out))
        return
    chosen = _chosen(names, everything)
    if not chosen and docs is None:
        raise click.UsageError("expected a NAME, --all, --list or --docs")
    if docs is not None and docs.suffix != ".md":
        raise InputError(f"--docs {docs}: expected a file name that ends in .md")
    make_folder(out)
    with _folder(out) as folder:
        for entry in chosen:
            _show(entry, scale, _made(entry, Means(scale, folder / "store", workers)), out)
    if docs is not None:
        click.echo(f"{docs}: {count(write_page(docs, out), 'result')}")


def _chosen(names: Sequence[str], everything: bool) -> list[Entry]:
    """Return what is asked for, before anything runs."""
    if everything and names:
        raise click.UsageError("expected NAMEs or --all, got both")
    if everything:
        return [entry for entry in entries() if entry.run is not None]
    return [find(name) for name in dict.fromkeys(names)]


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """Give the folder of the results, or one that does not last."""
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="hpcdispatch-") as folder:
        yield Path(folder)


def _made(entry: Entry, means: Means) -> Outcome:
    """Make one, with a bar."""
    assert entry.run is not None
    try:
        with JobBar("checking the store") as bar:
            return entry.run(Means(means.scale, means.store, means.workers, bar.show))
    except CampaignInterrupted as error:
        done = len(error.outcome.done) + len(error.outcome.reused)
        raise InterruptedRunError(f"{entry.name}: {done} of {error.outcome.planned} simulations finished") from None
    except SimulationFailedError as error:
        raise RunFailedError(f"{entry.name}: {error}", error.trace) from None


def _show(entry: Entry, scale: str, outcome: Outcome, out: Path | None) -> None:
    """Print an outcome, and keep it."""
    kept = Kept.of(entry, scale, outcome)
    terminal = console()
    terminal.print(Text(f"{entry.name}: {entry.title}", style="bold"), Text(entry.paper), f"scale {scale}", sep="\n")
    for note in outcome.notes:
        terminal.print(note)
    shown = [numbers(kept.rows)] if kept.rows else []
    shown += [conditions(kept.preconditions)] if kept.preconditions else []
    shown += [unprinted(kept.parameters)] if kept.parameters else []
    terminal.print(*(table.terminal() for table in shown), _claims(kept), f"claims: {tally(kept.claims)}", sep="\n")
    if out is not None:
        files = keeping.put(out, kept)
        files += [] if outcome.drawing is None else draw(entry, outcome.drawing, out)
        for path in files:
            click.echo(path)
    click.echo()


def _claims(kept: Kept) -> Table:
    table = Table("claim", "", "measured")
    table.columns[1].no_wrap = True
    for claim, (text, verdict, evidence) in zip(kept.claims, verdicts(kept.claims).cells, strict=True):
        table.add_row(text.line, Text(verdict.line, style=_STYLES[claim.holds]), evidence.line)
    return table


def _listing(out: Path | None) -> Table:
    """Return all tables and figures, with their last results."""
    if out is not None and not out.is_dir():
        raise InputError(f"{out}: expected a folder of results, got {'a file' if out.exists() else 'none'}")
    table = Table("name", "what", "status", "last result")
    table.columns[0].no_wrap = True
    for entry in entries():
        kept = None if out is None else keeping.find(out, entry.name)
        last = "-" if kept is None else f"{kept.scale}: {tally(kept.claims)}"
        table.add_row(entry.name, entry.title, "built" if entry.run is not None else "not built", last)
    return table
