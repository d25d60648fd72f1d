"""``hpcdispatch benchmark``: run an entry on fixed jobs, and put entries side by side."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import Annotated

import click
from rich.console import RenderableType

from ...base import InputError
from ...base.files import digest_of as digest_of_file
from ...base.installed import entry_points_of
from ...base.unfinished_files import temporary_folder
from ...bench.campaigns.comparison import ComparisonInterrupted
from ...bench.frozen.evaluation import Evaluation, LeaderboardEntry
from ...bench.frozen.leaderboard import CARDS, ranked, read_cards, tables_of, write_page
from ...bench.frozen.scorecards import Card, write_card
from ...bench.frozen.suites import METRICS, PARTS, SUITES, Suite, check_jobs, suite_of
from ...bench.reports.number_formats import count
from ...bench.reports.number_formats import ratio as shown_ratio
from ...workloads import write
from ..app import OUTPUT, subcommand
from ..command_errors import InterruptedRunError, RunFailedError, say
from ..completion import part_names
from ..output import finish
from ..own_parts import part_of_file
from ..parameters import argument, option
from ..progress import JobBar
from ..shared_options import make_folder, split_specs, validate

#: Baselines beside all built-in dispatchers with walltimes: dispatcher and predictor.
_LEARNT = (("easy", "last2"), ("easy-sjbf", "last2"), ("conservative", "last2"), ("easy-sjbf", "oracle"))
#: The baselines of the larger suite.
_SIX = (
    ("fcfs", "walltime"),
    ("easy", "walltime"),
    ("easy-sjbf", "walltime"),
    ("conservative", "walltime"),
    ("easy", "last2"),
    ("easy-sjbf", "last2"),
)


@subcommand(
    "benchmark",
    "hpcdispatch benchmark quick --dispatcher mine.py",
    "hpcdispatch benchmark quick --dispatchers easy-sjbf,conservative --predictor last2 --out cards",
    "hpcdispatch benchmark --table cards",
)
def command(
    suite: Annotated[str | None, argument("[SUITE]")],
    dispatchers: Annotated[
        tuple[str, ...],
        option(
            "Names with options, or one file: a dispatcher in FILE.py, a trained policy in FILE.npz.",
            "A,B,...|FILE",
            group="What is run",
            shell_complete=part_names("dispatchers", several=True),
        ),
    ],
    predictor: Annotated[
        str,
        option(
            "Name with options, or FILE.py.  [default: walltime]",
            "NAME|FILE",
            default="walltime",
            show_default=False,
            shell_complete=part_names("predictors"),
        ),
    ],
    name: Annotated[str | None, option("Name in tables.  [default: the dispatcher, and the predictor]", "NAME")],
    baselines: Annotated[bool, option("The entries of the repository: of quick all built-in dispatchers, else six.")],
    workers: Annotated[int | None, option("Processes.  [default: this one]", "N", click.IntRange(1, 1024))],
    table: Annotated[Path | None, option("Make leaderboard.md there from its scorecards.", "DIR", group="Other tasks")],
    export: Annotated[Path | None, option("Write the jobs for training and validation there.", "DIR")],
    out: Annotated[Path, option("Write scorecards there.", "DIR", default=Path("benchmark-results"), group=OUTPUT)],
) -> None:
    """Run a dispatcher, a predictor or a policy on the fixed jobs of a suite, and write its scorecard.

    SUITE is quick (generated jobs and the sample trace) or standard (public traces, which are fetched). A score is a
    ratio to easy with walltimes on the same jobs. The table has the scorecards of the repository and the new ones.
    """
    if table is not None:
        if suite or dispatchers or baselines or export:
            raise click.UsageError("--table: expected no SUITE and no other task beside it")
        _make_page(table)
        return
    if suite is None:
        raise click.UsageError(f"expected a SUITE ({', '.join(SUITES)}) or --table DIR")
    chosen = suite_of(suite)
    if export is not None:
        _export(chosen, export)
        return
    if baselines == bool(dispatchers):
        raise click.UsageError("expected --dispatchers or --baselines" + ", got both" * baselines)
    entries = _baselines(chosen) if baselines else _entries(chosen, dispatchers, predictor, name)
    validate([entry.dispatcher for entry in entries], [entry.predictor for entry in entries])
    check_jobs(chosen)
    make_folder(out)
    cards: list[Card] = []
    with temporary_folder() as store:
        evaluation = Evaluation(chosen, str(store), workers or 1)
        for entry in entries:
            with JobBar(entry.name) as bar:
                try:
                    card = evaluation.card(entry, partial(bar.show, noun="runs"))
                except ComparisonInterrupted:
                    raise InterruptedRunError(f"{len(cards)} of {len(entries)} entries finished") from None
            say("note", f"{entry.name}: {write_card(out, card)}")
            cards.append(card)
    _report(chosen, cards)


def _entries(suite: Suite, dispatchers: tuple[str, ...], predictor: str, name: str | None) -> list[LeaderboardEntry]:
    """Return the entries that are asked for."""
    specs = split_specs(dispatchers, "dispatcher")
    if name is not None and len(specs) > 1:
        raise InputError(f"--name {name}: expected it with one dispatcher, got {len(specs)}")
    belief, source = _part(predictor, "predictor", "predict")
    entries = []
    for spec in specs:
        dispatcher, own = _part(spec, "dispatcher", "dispatch")
        label = Path(spec).stem if own else dispatcher
        label += "" if belief == "walltime" else f", {belief}"
        words = ["hpcdispatch", "benchmark", suite.name, "--dispatcher", spec]
        words += [] if predictor == "walltime" else ["--predictor", predictor]
        words += [] if name is None else ["--name", name]
        entries.append(LeaderboardEntry(name or label, dispatcher, belief, {**source, **own}, shlex.join(words)))
    return entries


def _part(spec: str, kind: str, method: str) -> tuple[str, dict[str, str]]:
    """Return the name of a part, and its file with its hash if it is in one."""
    path = Path(spec)
    if path.suffix not in (".py", ".npz"):
        return spec, {}
    if not path.is_file():
        raise InputError(f"--{kind} {spec}: expected a name or a file, got no such file")
    name = f"policy:path={spec}" if path.suffix == ".npz" else part_of_file(spec, kind, method)
    return name, {f"{kind}_file": path.name, f"{kind}_sha256": digest_of_file(path)}


def _baselines(suite: Suite) -> list[LeaderboardEntry]:
    """Return the entries of the repository."""
    own = [
        name
        for name, entry in sorted(entry_points_of("hpcdispatch.dispatchers").items())
        if entry.module.partition(".")[0] == __name__.partition(".")[0]
    ]
    pairs = [*((name, "walltime") for name in own), *_LEARNT] if suite.name == "quick" else _SIX
    return [entry for pair in pairs for entry in _entries(suite, pair[:1], pair[1], None)]


def _report(suite: Suite, cards: list[Card]) -> None:
    """Print the new cards among those of the repository, then their failures."""
    names = {card["name"] for card in cards}
    stored = read_cards(CARDS)[0] if CARDS.is_dir() and any(CARDS.rglob("*.json")) else []
    stored = [card for card in stored if card["suite"] == suite.name and card["name"] not in names]
    tracks = {card["track"] for card in cards}
    shown = [card for card in (*stored, *cards) if card["track"] in tracks]
    ranking = [(rank, card) for track in tracks for rank, card in ranked(c for c in shown if c["track"] == track)]
    own = [(rank, card) for rank, card in ranking if card["name"] in names]
    failures = [
        f"{card['name']}, task {task['name']}: {task['error']}"
        for card in cards
        for task in card["tasks"]
        if "error" in task
    ]
    finish(_answer(suite, own, ranking), {"suite": suite.name, "cards": cards}, *_printed(shown))
    for failure in failures[:-1]:
        say("error", failure)
    if failures:
        raise RunFailedError(failures[-1])


def _printed(cards: list[Card]) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for table in tables_of(cards, by_task=False):
        lines += ["", table.title, table.note, table.terminal()]
    return lines[1:]


def _answer(suite: Suite, own: list[tuple[int | None, Card]], all_of: list[tuple[int | None, Card]]) -> str:
    """Return the rank of the best new card."""
    rank, card = own[0]
    if rank is None:
        return f"{card['name']} has no score in {suite.name} {suite.version}: it failed on a task."
    among = sum(other["track"] == card["track"] and place is not None for place, other in all_of)
    score = shown_ratio(card["scores"][METRICS[0]])
    place = f"rank {rank} of {among} in {suite.name} {suite.version}, track {card['track']}"
    return f"{card['name']} has {place}: its mean wait is {score} of that of easy."


def _make_page(folder: Path) -> None:
    """Write the page of a folder, print its tables, and say what is wrong with other files."""
    cards, wrong = read_cards(folder)
    page = write_page(folder, cards, wrong)
    finish(f"{page} has {count(len(cards), 'entry', 'entries')}.", {"cards": cards}, *_printed(cards))
    for text in wrong[:-1]:
        say("error", text)
    if wrong:
        raise InputError(wrong[-1])


def _export(suite: Suite, folder: Path) -> None:
    """Write the jobs for learning."""
    make_folder(folder)
    made = 0
    for task in suite.tasks:
        for part in PARTS[:2]:
            for seed in task.samples(part):
                write(task.workload(part, seed), folder / f"{task.name}-{part}-{seed}.jsonl")
                made += 1
    finish(f"{count(made, 'trace')} for training and validation in {folder}.", {"traces": made})
