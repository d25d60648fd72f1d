"""Outcomes in a folder: JSON that is equal from run to run. The measured times are in a separate file."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ....base import InputError
from ....base.installed import version_of
from ....base.unfinished_files import write_whole
from .controls import Trials
from .outcome import SCALES, Claim, ComparedFigure, PaperResult, Parameter, Precondition, StudyOutcome
from .outcome_tables import clean

_FORMAT = 1
#: Suffixes of the files.
_SAME = ".json"
_TIMES = ".times.json"
_TRIALS = ".controls.json"


@dataclass(frozen=True, slots=True)
class StoredOutcome:
    """The last outcome of a reproduction, without its figure.

    Attributes
    ----------
    name, scale
        What was made, and at which scale.
    notes, rows, claims, preconditions, parameters, runs
        As in :class:`~.outcome.StudyOutcome`.
    trials
        Results of the claims under the controls, maybe at another scale. ``None`` where that was not tried.
    version
        Version of hpcdispatch and commit of the checkout that made it. Empty if it is not known.
    """

    name: str
    scale: str
    notes: tuple[str, ...]
    rows: tuple[ComparedFigure, ...]
    claims: tuple[Claim, ...]
    preconditions: tuple[Precondition, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    runs: str = ""
    trials: Trials | None = None
    version: str = ""

    @classmethod
    def of(cls, entry: PaperResult, scale: str, outcome: StudyOutcome, trials: Trials | None = None) -> StoredOutcome:
        """Return the stored part of an outcome. Untimed parts come first."""
        rows = sorted(outcome.rows, key=lambda row: row.timed)
        claims = sorted(outcome.claims, key=lambda claim: claim.timed)
        return cls(
            entry.name,
            scale,
            outcome.notes,
            tuple(rows),
            tuple(claims),
            outcome.preconditions,
            outcome.parameters,
            outcome.runs,
            trials,
            running_version(),
        )


@cache
def running_version() -> str:
    """Return the version of hpcdispatch that runs, and the commit if it runs in a checkout of Git."""
    version = version_of("hpcdispatch").partition("+")[0]
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
    try:
        commit = subprocess.run(git, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return version
    return f"{version}, commit {commit}"


def put(folder: Path, kept: StoredOutcome) -> list[Path]:
    """Write an outcome's files and return them. Files for measured times and controls are written only if needed."""
    written = [] if kept.trials is None else [put_trials(folder, kept.trials)]
    for suffix, timed in ((_SAME, False), (_TIMES, True)):
        path = _path(folder, kept.name, suffix)
        part = _part(kept, timed)
        if timed and not (part["rows"] or part["claims"]):
            path.unlink(missing_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(part, indent=1, ensure_ascii=False) + "\n")
        written.append(path)
    return written


def put_trials(folder: Path, trials: Trials) -> Path:
    """Write the results of a study's claims under its controls. Return the file."""
    path = _path(folder, trials.name, _TRIALS)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(asdict(trials), indent=1, ensure_ascii=False) + "\n")
    return path


def find_trials(folder: Path, name: str) -> Trials | None:
    """Return the results that :func:`put_trials` wrote for a study. ``None`` if there are none.

    Raises
    ------
    InputError
        If a file is not what was written.
    """
    path = _path(folder, name, _TRIALS)
    if not path.is_file():
        return None
    try:
        return _trials(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: expected what became of claims under controls, got {type(error).__name__}: {error}"
        ) from None


def _trials(part: dict[str, Any]) -> Trials:
    if part["scale"] not in SCALES or not all(isinstance(each, dict) for each in part["verdicts"].values()):
        raise ValueError(f"scale {part['scale']}")
    return Trials(**part)


def find(folder: Path, name: str) -> StoredOutcome | None:
    """Return the last outcome of a reproduction, ``None`` if there is none.

    Raises
    ------
    InputError
        If a file is not what was written.
    """
    parts = [part for suffix in (_SAME, _TIMES) if (part := _read(_path(folder, name, suffix))) is not None]
    if not parts or parts[0]["timed"]:
        return None
    return replace(_joined(parts), trials=find_trials(folder, name))


def dump(outcomes: Sequence[StoredOutcome]) -> str:
    """Return several outcomes, with their times, as one JSON text."""
    parts = []
    for kept in outcomes:
        parts += [_part(kept, False) | {"trials": kept.trials and asdict(kept.trials)}, _part(kept, True)]
    lines = ",\n".join(json.dumps(part, ensure_ascii=False) for part in parts if part["rows"] or part["claims"])
    return f"[\n{lines}\n]\n"


def load(path: Path) -> tuple[StoredOutcome, ...]:
    """Return what :func:`dump` wrote into a file.

    Raises
    ------
    InputError
        If it did not.
    """
    try:
        parts = json.loads(path.read_text(encoding="utf-8"))
        names = list(dict.fromkeys(part["name"] for part in parts))
        return tuple(_joined([part for part in parts if part["name"] == name]) for name in names)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: expected results of reproductions, got {type(error).__name__}: {error}") from None


def _path(folder: Path, name: str, suffix: str) -> Path:
    return folder / f"{name}{suffix}"


def _part(kept: StoredOutcome, timed: bool) -> dict[str, Any]:
    """Return the measured times, or all the rest, as JSON values."""
    return {
        "format": _FORMAT,
        "name": kept.name,
        "scale": kept.scale,
        "timed": timed,
        "notes": [] if timed else list(kept.notes),
        "rows": [_fields(row) for row in kept.rows if row.timed is timed],
        "claims": [_fields(claim) for claim in kept.claims if claim.timed is timed],
        "preconditions": [] if timed else [_fields(condition) for condition in kept.preconditions],
        "parameters": [] if timed else [_fields(parameter) for parameter in kept.parameters],
        "runs": "" if timed else kept.runs,
        "version": kept.version,
    }


def _fields(entry: ComparedFigure | Claim | Precondition | Parameter) -> dict[str, Any]:
    return {name: clean(value) for name, value in asdict(entry).items() if name != "timed"}


def _read(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        part = json.loads(path.read_text(encoding="utf-8"))
        if part["format"] != _FORMAT or part["scale"] not in SCALES:
            raise ValueError(f"format {part['format']}, scale {part['scale']}")
        _joined([part])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: expected the result of a reproduction, got {type(error).__name__}: {error}"
        ) from None
    document: dict[str, Any] = part
    return document


def _joined(parts: Sequence[dict[str, Any]]) -> StoredOutcome:
    """Return the outcome of its two parts."""
    first = parts[0]
    fitting = [part for part in parts if part["scale"] == first["scale"]]
    return StoredOutcome(
        first["name"],
        first["scale"],
        tuple(first["notes"]),
        tuple(ComparedFigure(**row, timed=part["timed"]) for part in fitting for row in part["rows"]),
        tuple(Claim(**claim, timed=part["timed"]) for part in fitting for claim in part["claims"]),
        tuple(Precondition(**condition) for condition in first.get("preconditions", ())),
        tuple(Parameter(**parameter) for parameter in first.get("parameters", ())),
        first.get("runs", ""),
        None if first.get("trials") is None else _trials(first["trials"]),
        first.get("version", ""),
    )
