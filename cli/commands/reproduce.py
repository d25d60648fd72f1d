"""``hpcdispatch reproduce``: the tables and figures of the papers, made again."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...base import InputError
from ...bench.campaigns.execution import CampaignInterrupted
from ...bench.reports.number_formats import count
from ..app import debug_option, examples
from ..command_errors import InterruptedRunError, RunFailedError
from ..output import console
from ..progress import JobBar
from ..shared_options import make_folder

if TYPE_CHECKING:
    from ...bench.studies.reproductions import Scale


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
    type=click.Choice(("smoke", "small", "full")),
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
    try:
        from ...bench.studies import reproductions as studies  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("hpcdispatch.bench.studies"):
            raise
        raise InputError(
            "reproduce: the studies are in the repository of hpcdispatch and not in the installed package; "
            "call it in a checkout (make .venv/installed, then .venv/bin/hpcdispatch reproduce)"
        ) from None
    if as_list:
        console().print(studies.listing(out))
        return
    if everything and names:
        raise click.UsageError("expected NAMEs or --all, got both")
    built = [entry for entry in studies.entries() if entry.run is not None]
    chosen = built if everything else [studies.find(name) for name in dict.fromkeys(names)]
    if not chosen and docs is None:
        raise click.UsageError("expected a NAME, --all, --list or --docs")
    if docs is not None and docs.suffix != ".md":
        raise InputError(f"--docs {docs}: expected a file name that ends in .md")
    make_folder(out)
    with tempfile.TemporaryDirectory(prefix="hpcdispatch-") if out is None else nullcontext(out) as folder:
        for entry in chosen:
            assert entry.run is not None
            try:
                with JobBar("checking the store") as bar:
                    outcome = entry.run(studies.Means(scale, Path(folder) / "store", workers, bar.show))
            except CampaignInterrupted as error:
                done = len(error.outcome.done) + len(error.outcome.reused)
                told = f"{entry.name}: {done} of {error.outcome.planned} simulations finished"
                raise InterruptedRunError(told) from None
            except studies.SimulationFailedError as error:
                raise RunFailedError(f"{entry.name}: {error}", error.trace) from None
            studies.show(console(), entry, scale, outcome, out)
    if docs is not None:
        click.echo(f"{docs}: {count(studies.write_page(docs, out), 'result')}")
