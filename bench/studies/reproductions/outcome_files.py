"""Outcomes in a folder: JSON that is the same from run to run, and the measured times in a file of their own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ....base import InputError
from ....base.unfinished_files import write_whole
from .outcome import SCALES, Claim, Entry, Outcome, Parameter, Precondition, Row
from .outcome_tables import clean

_FORMAT = 1
#: Suffixes of the two files.
_SAME, _TIMES = ".json", ".times.json"


@dataclass(frozen=True, slots=True)
class Kept:
    """The last outcome of a reproduction, without its figure.

    Attributes
    ----------
    name, scale
        What was made, and at which scale.
    notes, rows, claims, preconditions, parameters
        As in :class:`~.frame.Outcome`.
    """

    name: str
    scale: str
    notes: tuple[str, ...]
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...]
    preconditions: tuple[Precondition, ...] = ()
    parameters: tuple[Parameter, ...] = ()

    @classmethod
    def of(cls, entry: Entry, scale: str, outcome: Outcome) -> Kept:
        """Return what is kept of an outcome: what is not timed comes first."""
        rows = sorted(outcome.rows, key=lambda row: row.timed)
        claims = sorted(outcome.claims, key=lambda claim: claim.timed)
        return cls(
            entry.name, scale, outcome.notes, tuple(rows), tuple(claims), outcome.preconditions, outcome.parameters
        )


def put(folder: Path, kept: Kept) -> list[Path]:
    """Write the two files of an outcome, the second only if there are measured times; return them."""
    written = []
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


def find(folder: Path, name: str) -> Kept | None:
    """Return the last outcome of a reproduction, ``None`` where there is none.

    Raises
    ------
    InputError
        If a file is not what was written.
    """
    parts = [part for suffix in (_SAME, _TIMES) if (part := _read(_path(folder, name, suffix))) is not None]
    return _joined(parts) if parts and not parts[0]["timed"] else None


def dump(found: Sequence[Kept]) -> str:
    """Return several outcomes, with their times, as one JSON text."""
    parts = [_part(kept, timed) for kept in found for timed in (False, True)]
    lines = ",\n".join(json.dumps(part, ensure_ascii=False) for part in parts if part["rows"] or part["claims"])
    return f"[\n{lines}\n]\n"


def load(path: Path) -> tuple[Kept, ...]:
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


def _part(kept: Kept, timed: bool) -> dict[str, Any]:
    """Return what is measured time, or all the rest, as JSON knows it."""
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
    }


def _fields(entry: Row | Claim | Precondition | Parameter) -> dict[str, Any]:
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
    found: dict[str, Any] = part
    return found


def _joined(parts: Sequence[dict[str, Any]]) -> Kept:
    """Return the outcome of its two parts."""
    first = parts[0]
    fitting = [part for part in parts if part["scale"] == first["scale"]]
    return Kept(
        first["name"],
        first["scale"],
        tuple(first["notes"]),
        tuple(Row(**row, timed=part["timed"]) for part in fitting for row in part["rows"]),
        tuple(Claim(**claim, timed=part["timed"]) for part in fitting for claim in part["claims"]),
        tuple(Precondition(**condition) for condition in first.get("preconditions", ())),
        tuple(Parameter(**parameter) for parameter in first.get("parameters", ())),
    )
