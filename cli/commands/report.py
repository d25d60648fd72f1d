"""``hpcdispatch report``: write a page about saved results."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import click

from ...base import InputError
from ...bench.reports.page import write_report
from ...bench.reports.saved_results import runs_of
from ...bench.reports.study import study
from ...bench.reports.verdict import left_out, verdict
from ...simulation.trimming import Cut, Window
from ..app import OUTPUT, subcommand
from ..command_errors import say
from ..output import finish, time
from ..parameters import argument, option
from ..progress import JobBar, spinner


@subcommand(
    "report",
    "hpcdispatch compare trace.swf.gz --seeds 10 --out results",
    "hpcdispatch report results --baseline easy --warm-up 5% --cool-down 5%",
)
def command(
    folder: Annotated[Path, argument("DIR")],
    baseline: Annotated[
        str | None,
        option(
            "The dispatcher that the others are compared with.  [default: easy, else fcfs, else the first by name]",
            "NAME",
            group="What is compared",
        ),
    ],
    campaign: Annotated[
        str | None,
        option("Which campaign, by the name of its file without .toml, where several share the store.", "NAME"),
    ],
    warm_up: Annotated[
        str | None,
        option(
            "Leave out the first jobs by submission: 5%, 200 jobs, 12h, 2d.  [default: as the campaign says, else "
            "none]",
            "AMOUNT",
        ),
    ],
    cool_down: Annotated[str | None, option("Leave out the last ones, likewise.", "AMOUNT")],
    window: Annotated[
        str | None,
        option(
            "The piece of the schedules to draw, such as 2d:3d or 10%:11%, from the first submission on.  "
            "[default: in the middle]",
            "START:END",
        ),
    ],
    out: Annotated[
        Path | None, option("The page; a folder beside it has its files.  [default: report.html in DIR]", group=OUTPUT)
    ],
) -> None:
    """Write a page about the results in DIR.

    DIR is the output of 'hpcdispatch compare --out DIR', or the store of a campaign.

    The page is one file that opens offline. It has a leaderboard, paired differences with intervals, loads over time
    and distributions. It also has a part of each schedule, the accuracy of the predictions, and decision times. A
    folder beside it has each figure as PNG, SVG and CSV, and each table as LaTeX, Markdown and CSV.

    Unreadable results are listed and left out; then the exit code is 1.
    """
    chosen: dict[str, Any] = {
        "warm_up": _read("--warm-up", Cut.parse, warm_up),
        "cool_down": _read("--cool-down", Cut.parse, cool_down),
        "window": _read("--window", Window.parse, window),
    }
    folder_results = runs_of(folder, campaign)
    page = folder / "report.html" if out is None else out
    if page.is_dir():
        raise InputError(f"{page}: expected a file for --out, got a folder")
    page.parent.mkdir(parents=True, exist_ok=True)
    with JobBar("reading", sum(run.jobs for run in folder_results.runs)) as bar:
        made = study(folder_results, baseline=baseline, **chosen, progress=lambda run: bar.update(bar.done + run.jobs))
    with spinner("drawing"):
        write_report(made, page)
    for line in made.left_out:
        say("warning", f"left out: {line}")
    cuts = list(dict.fromkeys(made.cuts.values()))
    answer = left_out(verdict(made.runs, made.baseline, time, made.days), *cuts[0] if len(cuts) == 1 else ("", ""))
    finish(answer, {"page": str(page), "left_out": list(made.left_out)}, str(page))
    if made.left_out:
        click.get_current_context().exit(1)


def _read(option: str, parse: Callable[[str], Any], text: str | None) -> Any:
    """Return the value of an option's text."""
    try:
        return None if text is None else parse(text)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None
