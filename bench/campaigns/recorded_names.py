"""A campaign's names for the cells of a store, and its cuts: for reports, which see only the store."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...base import InputError
from ...base.checksums import has_its_sum, with_sum
from ...base.files import read_json
from ...simulation.schema import SCHEMA, schema_of, with_new_names
from ...simulation.trimming import Cut
from .plan import CampaignPlan
from .store import CAMPAIGNS

#: The key of a cell, the name of its folder.
_KEY = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Named:
    """A cell in a campaign.

    Attributes
    ----------
    key
        Its key in the store.
    workload
        The campaign's name for its workload, with the jitter if there are several.
    warm_up, cool_down
        The cuts.
    """

    key: str
    workload: str
    warm_up: Cut
    cool_down: Cut


def recorded(plan: CampaignPlan) -> str:
    """Return the cells of a campaign as JSON."""
    shifts: dict[str, set[int | None]] = {}
    for cell in plan.rows:
        shifts.setdefault(cell.workload, set()).add(cell.jitter)
    rows = [
        {
            "key": cell.key,
            "workload": cell.workload + (f", jitter {cell.jitter or 0} s" if len(shifts[cell.workload]) > 1 else ""),
            "warm_up": str(cell.warm_up),
            "cool_down": str(cell.cool_down),
        }
        for cell in plan.rows
    ]
    return json.dumps(with_sum({"schema": SCHEMA, "cells": rows}), indent=1) + "\n"


def campaigns(folder: Path) -> list[str]:
    """Return the names of the campaigns recorded in a store."""
    return sorted(path.stem for path in (folder / CAMPAIGNS).glob("*.json"))


def named(folder: Path, campaign: str) -> Iterator[Named]:
    """Yield the cells of a campaign, finished or not.

    Raises
    ------
    InputError
        If the store has no such campaign, or its record cannot be read.
    """
    path = folder / CAMPAIGNS / f"{campaign}.json"
    try:
        record = read_json(path, "the cells of a campaign")
    except FileNotFoundError:
        known = ", ".join(campaigns(folder)) or "none is recorded"
        raise InputError(f"--campaign: expected one of {folder} ({known}), got {campaign!r}") from None
    except ValueError:
        record = None
    if schema_of(record, path) < SCHEMA:
        record = with_new_names("campaign", record)
    if isinstance(record, dict) and "sha256" in record and not has_its_sum(record):
        record = None
    try:
        for row in record["cells"]:
            cuts = Cut.parse(row["warm_up"]), Cut.parse(row["cool_down"])
            if not _KEY.fullmatch(row["key"]):
                raise ValueError(row["key"])
            yield Named(row["key"], str(row["workload"]), *cuts)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path}: expected the cells of a campaign; run the campaign again to mend it") from None
