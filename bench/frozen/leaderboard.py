"""The leaderboard: scorecards side by side, in one table for each suite and track."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ...analysis.conclusions import geometric_mean
from ...base import InputError, write_whole
from ..reports.number_formats import ratio as shown_ratio
from ..reports.tables import PrintedCell, Table, between, number
from .scorecards import Card, read_card
from .suites import BASELINE, METRICS, ORACLE, OWN, SUITES, TRACKS

#: The page in a folder of cards.
PAGE = "leaderboard.md"
#: The cards of the repository, of built-in dispatchers and of others.
CARDS = Path(__file__).parent / "cards"
_HEADS = {"wait_mean": "mean wait", "bounded_slowdown_mean": "bounded slowdown", "wait_max": "longest wait"}
_NOTES = {
    "walltimes": "Predictions are the walltimes.",
    "last2": "Predictions are the means of each user's last two run times (`last2`).",
    OWN: "Each entry has a predictor of its own.",
    ORACLE: "Predictions are the real run times: a bound that no entry can reach on a machine.",
}


def read_cards(folder: Path) -> tuple[list[Card], list[str]]:
    """Return the valid cards of a folder and its folders, in the order of their files, and what is wrong with others.

    Of two cards of one name and suite the first by the name of the file counts.

    Raises
    ------
    InputError
        If there is no such folder, or no file in it.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: expected a folder of scorecards, got none")
    paths = sorted(folder.rglob("*.json"), key=lambda path: path.relative_to(folder).parts)
    if not paths:
        raise InputError(f"{folder}: expected scorecards (*.json), got none; 'hpcdispatch benchmark quick' makes one")
    cards, wrong = dict[tuple[str, str], Card](), []
    files: dict[tuple[str, str], Path] = {}
    for path in paths:
        try:
            card = read_card(path)
        except (InputError, OSError) as error:
            wrong.append(str(error))
            continue
        key = card["suite"], card["name"]
        if key in cards:
            wrong.append(f"{path}: name: {card['name']!r} is the name of {files[key]} already; choose another name")
            continue
        cards[key], files[key] = card, path
    return list(cards.values()), wrong


def ranked(cards: Iterable[Card]) -> list[tuple[int | None, Card]]:
    """Return cards with their ranks, the best first. Equal scores have one rank, and cards without a score none."""
    cards = list(cards)
    scored = sorted(
        (card for card in cards if card["scores"][METRICS[0]] is not None),
        key=lambda card: (card["scores"][METRICS[0]], card["name"]),
    )
    values = [card["scores"][METRICS[0]] for card in scored]
    ranking: list[tuple[int | None, Card]] = [(values.index(card["scores"][METRICS[0]]) + 1, card) for card in scored]
    failed = sorted((card for card in cards if card["scores"][METRICS[0]] is None), key=lambda card: card["name"])
    return [*ranking, *((None, card) for card in failed)]


def tables_of(cards: Sequence[Card], by_task: bool = True) -> list[Table]:
    """Return a table of each suite and track, with the predictor and the ratio of each task or without."""
    tables = []
    for suite in SUITES.values():
        for track in (*TRACKS.values(), OWN, ORACLE):
            own = [card for card in cards if (card["suite"], card["track"]) == (suite.name, track)]
            if own:
                title = f"{suite.name} {suite.version}, track {track}"
                heads = [_HEADS[metric] for metric in METRICS]
                columns = ["name", "rank", *heads, "ms per decision"]
                if by_task:
                    columns[1:1] = ["predictor"]
                    columns[-1:-1] = [f"wait, {task.name}" for task in suite.tasks]
                rows = [_row(rank, card, by_task) for rank, card in ranked(own)]
                tables.append(Table(title, columns, rows, 2 if by_task else 1, _NOTES[track]))
    return tables


def write_page(folder: Path, cards: Sequence[Card], wrong: Sequence[str]) -> Path:
    """Write the page of a folder of cards. Return its path."""
    parts = [
        "# Leaderboard",
        f"Scores are ratios to `{BASELINE[0]}` with walltimes on the same jobs, as geometric means over tasks. Less "
        f"is better. The rank is that of the {_HEADS[METRICS[0]]}; equal scores share one. In brackets are intervals: "
        "of a task over its samples or over blocks of its trace, of a score from those of all its tasks. Entries whose "
        "intervals overlap may be as good. An entry that failed on a task has no rank.",
        f"`hpcdispatch benchmark --table {folder.name}` makes this page from the files beside it.",
    ]
    parts += [f"## {table.title}\n\n{_body(table)}" for table in tables_of(cards)]
    if wrong:
        parts.append("## Left out\n\n" + "\n".join(f"- {_relative(text, folder)}" for text in wrong))
    path = folder / PAGE
    write_whole(path, "\n\n".join(part.rstrip() for part in parts) + "\n")
    return path


def _body(table: Table) -> str:
    """Return the rows of a table as Markdown, under the note."""
    made = table.markdown(escaped=True)
    body = made.partition("\n\n")[2].rpartition("\n\n")[0] if table.note else made.partition("\n\n")[2]
    return f"{table.note}\n\n{body}"


def _relative(text: str, folder: Path) -> str:
    return text.replace(f"{folder}/", "")


def _row(rank: int | None, card: Card, by_task: bool) -> list[PrintedCell | str]:
    overall = [_score(card, metric) for metric in METRICS]
    times = [each["ms_mean"] for each in card["decision_times"].values() if isinstance(each, dict)]
    known = [float(each) for each in times if isinstance(each, int | float)]
    mean = number(sum(known) / len(known), "{:.2g}".format) if known else PrintedCell("")
    place = "" if rank is None else str(rank)
    if not by_task:
        return [card["name"], place, *overall, mean]
    return [card["name"], card["predictor"], place, *overall, *map(_of_task, card["tasks"]), mean]


def _cell(value: float | None) -> PrintedCell:
    return PrintedCell("") if value is None else number(value, shown_ratio)


def _score(card: Card, metric: str) -> PrintedCell:
    """Return the score of a metric with its interval, where each task has one."""
    score = card["scores"][metric]
    ends = [_ends(task, metric) for task in card["tasks"]]
    if score is None or None in ends:
        return _cell(score)
    _, low, high = geometric_mean([each for each in ends if each is not None])
    return between(score, low, high, shown_ratio)


def _ends(task: dict[str, Any], metric: str) -> tuple[float, float, float] | None:
    """Return the ratio of a task and its interval; ``None`` if it has none."""
    estimate = task.get("metrics", {}).get(metric, {})
    ratio, low, high = (estimate.get(name) for name in ("ratio", "ratio_low", "ratio_high"))
    return None if ratio is None or low is None or high is None else (ratio, low, high)


def _of_task(task: dict[str, Any]) -> PrintedCell:
    """Return the ratio of a task with its interval, or that it failed."""
    if "metrics" not in task:
        return PrintedCell("failed")
    ends = _ends(task, METRICS[0])
    return _cell(task["metrics"][METRICS[0]]["ratio"]) if ends is None else between(*ends, shown_ratio)
