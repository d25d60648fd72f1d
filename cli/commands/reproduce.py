"""``hpcdispatch reproduce``: reproduce tables and figures of papers."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from ...base import InputError
from ...base.unfinished_files import temporary_folder
from ...bench.campaigns.execution import CampaignInterrupted
from ...bench.reports.number_formats import count
from ...bench.reports.tables import PlainConsole
from ..app import OUTPUT, settings, subcommand
from ..command_errors import InterruptedRunError, RunFailedError, say
from ..durations import Whole
from ..output import finish
from ..parameters import argument, option
from ..progress import JobBar
from ..shared_options import WorkersOption, make_folder

if TYPE_CHECKING:
    from ...bench.studies.reproductions import Trials


@subcommand(
    "reproduce",
    "hpcdispatch reproduce --list",
    "hpcdispatch reproduce cp2019/fig3 --scale small --out results",
    "hpcdispatch reproduce --all --scale small --out results",
    "hpcdispatch reproduce icpp2019/fig2 --seeds 10 --seed 100",
    "hpcdispatch reproduce --all --mutate --out results",
)
def command(
    names: Annotated[tuple[str, ...], argument("[NAME]...")],
    as_list: Annotated[bool, option("List all with their last results in --out.", name="--list", group="What is made")],
    everything: Annotated[bool, option("All that are built.", name="--all")],
    scale: Annotated[
        Literal["smoke", "brief", "small", "full"],
        option("Seconds, a few minutes, many minutes, or up to hours.", default="smoke"),
    ],
    seed: Annotated[int, option("First seed of what is drawn: other draws.", "N", Whole(0), default=0)],
    seeds: Annotated[
        int | None,
        option("How many independent draws; the scale says how many without it.", "N", click.IntRange(1, 10_000)),
    ],
    mutate: Annotated[bool, option("Replace each system under test, and print which claims that hold need it.")],
    workers: WorkersOption,
    out: Annotated[
        Path | None,
        option(
            "Keep results, figures and simulations there; what was simulated before is not again.", "DIR", group=OUTPUT
        ),
    ],
    docs: Annotated[
        Path | None,
        option(
            "Write the page about the results in --out, and those in FILE.json, which it brings up to date.", "FILE.md"
        ),
    ],
) -> None:
    """Reproduce tables and figures of papers: measured beside published values, and which claims hold.

    A NAME is one of --list, such as cp2019/table2. If the jobs of a paper are not available, other jobs are simulated,
    and the output says so. Then the claims are tested, not the figures.
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
        known = [(each.name, each.title, each.run is not None) for each in studies.entries()]
        answer = f"{sum(built for *_, built in known)} of {len(known)} tables and figures can be made again."
        rows = [dict(zip(("name", "title", "built"), each, strict=True)) for each in known]
        finish(answer, {"entries": rows}, studies.listing(out))
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
    claims: list[dict[str, Any]] = []
    tried: list[Trials] = []
    shown = PlainConsole(quiet=settings().json)
    with temporary_folder() if out is None else nullcontext(out) as folder:
        for entry in [entry for entry in chosen if entry.controls or not mutate]:
            assert entry.run is not None
            draws = studies.DRAWS if mutate and seeds is None else seeds
            try:
                with JobBar("checking the store") as bar:
                    means = studies.StudySettings(scale, Path(folder) / "store", workers or 1, bar.show, seed, draws)
                    outcome = entry.run(means)
                    trials = studies.try_controls(entry, means, outcome)
            except CampaignInterrupted as error:
                done = len(error.outcome.done) + len(error.outcome.reused)
                told = f"{entry.name}: {done} of {error.outcome.planned} simulations finished"
                raise InterruptedRunError(told) from None
            except studies.SimulationFailedError as error:
                raise RunFailedError(f"{entry.name}: {error}", error.trace) from None
            if mutate:
                tried.append(trials)
                if out is not None:
                    studies.put_trials(out, trials)
                continue
            studies.show(shown, entry, means, outcome, trials, out)
            claims += [
                {"name": entry.name, "claim": claim.text, "holds": claim.holds, "measured": claim.evidence}
                for claim in outcome.claims
            ]
    if docs is not None:
        say("note", f"{docs}: {count(studies.write_page(docs, out), 'result')}")
    if mutate:
        _finish_mutation(tried, shown)
        return
    holds = sum(claim["holds"] is True for claim in claims)
    answer = f"{holds} of {count(len(claims), 'claim')} hold at scale {scale}."
    if not claims:
        answer = f"{count(len(chosen), 'result')} at scale {scale}, without claims." if chosen else "Nothing was run."
    finish(answer, {"claims": claims})


def _finish_mutation(tried: list[Trials], shown: PlainConsole) -> None:
    """Print which claims that hold need the system that was replaced."""
    from ...bench.studies import reproductions as studies  # noqa: PLC0415

    shown.print(studies.under_controls(tried).terminal())
    rows = [(trials.name, text, trials.needs(text)) for trials in tried for text in trials.held()]
    for name, text, mark in rows:
        shown.print(f"{studies.MARKS[mark]}: {name}: {text}")
    marks = [mark for *_, mark in rows]
    answer = f"{marks.count(True)} of {count(len(rows), 'claim')} that hold need the system, "
    answer += f"{marks.count(False)} hold without it, and {marks.count(None)} are not decided without it."
    finish(answer, {"claims": [dict(zip(("name", "claim", "needs_system"), row, strict=True)) for row in rows]})
