"""Scorecards: what an entry of the benchmark reached, in a JSON file that others can check."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...base import InputError, shown, write_whole
from ...base.checks import check_types
from ...base.files import read_json
from .suites import METRICS, Suite, suite_of

#: The version of the files.
FORMAT = 1
#: The keys that the hash covers. Decision times and versions are apart: they differ between computers.
SCORED = ("format", "suite", "suite_version", "suite_hash", "name", "dispatcher", "predictor", "track", "source")
TYPES: dict[str, Any] = {
    "format": int,
    "suite": str,
    "suite_version": int,
    "suite_hash": str,
    "name": str,
    "dispatcher": str,
    "predictor": str,
    "track": str,
    "source": dict,
    "command": str,
    "tasks": [dict],
    "scores": dict,
    "scores_hash": str,
    "decision_times": dict,
    "versions": dict,
}
Card = dict[str, Any]


def scores_hash(card: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the scores of a card, and of what they are scores of."""
    text = json.dumps([{key: card[key] for key in (*SCORED, "tasks", "scores")}], sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def file_name(name: str) -> str:
    """Return the name of the file of an entry."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.").lower()[:100] + ".json"


def write_card(folder: Path, card: Card) -> Path:
    """Write a card into a folder. It replaces that of an entry of the same name."""
    path = folder / file_name(card["name"])
    write_whole(path, json.dumps(card, indent=1, allow_nan=False) + "\n")
    return path


def read_card(path: Path) -> Card:
    """Read a card and check it.

    Raises
    ------
    InputError
        If it is no card, of another version of the suite, or its scores are not those of its hash.
    OSError
        If it cannot be read.
    """
    card = read_json(path, "a scorecard")
    where = str(path)
    try:
        check_types(where, card, TYPES)
        suite = suite_of(card["suite"])
    except (ValueError, InputError) as error:
        said = str(error)
        raise InputError(said if said.startswith(where) else f"{where}: {said}") from None
    if card["format"] != FORMAT:
        raise InputError(f"{where}: format: expected {FORMAT}, got {card['format']}; run the benchmark again")
    if (card["suite_version"], card["suite_hash"]) != (suite.version, suite.digest):
        raise InputError(
            f"{where}: suite {suite.name}: expected version {suite.version} ({suite.digest}), got "
            f"{card['suite_version']} ({shown(card['suite_hash'])[1:-1]}); run the benchmark again"
        )
    if card["scores_hash"] != scores_hash(card):
        raise InputError(f"{where}: scores_hash: the scores are not those that were written; run the benchmark again")
    _check_scores(where, card, suite)
    return dict(card)


def _check_scores(where: str, card: Mapping[str, Any], suite: Suite) -> None:
    """Refuse scores of another form, as of a card that was written by hand."""
    names = [task.get("name") for task in card["tasks"]]
    if names != [task.name for task in suite.tasks]:
        raise InputError(f"{where}: tasks: expected {', '.join(task.name for task in suite.tasks)}, got {shown(names)}")
    for task in card["tasks"]:
        metrics = task.get("metrics")
        whole = isinstance(metrics, Mapping) and all(isinstance(metrics.get(name), Mapping) for name in METRICS)
        if not whole and not isinstance(task.get("error"), str):
            raise InputError(f"{where}: task {task['name']}: expected metrics or an error, got {shown(metrics)}")
