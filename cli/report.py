"""``hpcdispatch report``: a page about saved results."""

from __future__ import annotations

from pathlib import Path

import click

from ..base import InputError
from ..bench.report import write_report
from ..bench.runs_of import runs_of
from ..bench.statistics import Cut
from ..bench.study import study
from .app import debug_option
from .errors import say
from .progress import JobBar, spinner
from .texts import examples


@click.command(
    "report",
    epilog=examples(
        "hpcdispatch compare trace.swf.gz --seeds 10 --out results",
        "hpcdispatch report results --baseline easy --warm-up 5% --cool-down 5%",
    ),
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The page; figures, tables and their data go into a folder beside it.  [default: report.html in DIR]",
)
@click.option(
    "--baseline",
    metavar="NAME",
    help="The dispatcher that the others are compared with.  [default: easy, else fcfs, else the first by name]",
)
@click.option(
    "--warm-up",
    default="0",
    metavar="P%|SECONDS",
    help="Leave out the first jobs by submission: a share of the jobs, or so many seconds.  [default: none]",
)
@click.option("--cool-down", default="0", metavar="P%|SECONDS", help="Leave out the last ones.  [default: none]")
@debug_option
def command(folder: Path, out: Path | None, baseline: str | None, warm_up: str, cool_down: str) -> None:
    """Write a page about the results in DIR, and print its path.

    DIR is what 'hpcdispatch compare --out DIR' wrote, or the store of a campaign.

    The page is one file that opens offline: leaderboard, paired differences with intervals, loads over time,
    distributions, a piece of each schedule, the accuracy of the predictions, decision times. Beside it a folder has
    each figure as PNG, SVG and CSV, and each table as LaTeX, Markdown and CSV.

    Results that cannot be read are named and left out; then the exit code is 1.
    """
    cuts = {"warm_up": _cut("--warm-up", warm_up), "cool_down": _cut("--cool-down", cool_down)}
    found = runs_of(folder)
    page = _page(folder, out)
    with JobBar("reading", sum(run.jobs for run in found.runs)) as bar:
        made = study(found, baseline=baseline, **cuts, progress=lambda run: bar.update(bar.done + run.jobs))
    with spinner("drawing"):
        write_report(made, page)
    for line in made.left_out:
        say("warning", f"left out: {line}")
    click.echo(page)
    if made.left_out:
        click.get_current_context().exit(1)


def _cut(option: str, text: str) -> Cut:
    """Return how much to leave out at one end."""
    try:
        return Cut.parse(text)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None


def _page(folder: Path, out: Path | None) -> Path:
    """Return where the page goes, before anything is measured."""
    page = folder / "report.html" if out is None else out
    if page.is_dir():
        raise InputError(f"{page}: expected a file for --out, got a folder")
    page.parent.mkdir(parents=True, exist_ok=True)
    return page
