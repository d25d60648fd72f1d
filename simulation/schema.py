"""The schema number of saved results and stores, and the names that files of earlier schemas use."""

from __future__ import annotations

from os import PathLike
from typing import Any

from ..base import InputError
from ..base.checks import shown

#: The schema of what is written now. Files of hpcdispatch 0.1.0 have no number; their schema is 1.
SCHEMA = 2
#: The names of schema 1 that have changed and those of today, by table of a result, ``manifest`` of a result (also in
#: objects within it) and ``campaign``, the record of a campaign in a store. A name that changes needs an entry here and
#: nothing else.
RENAMED: dict[str, dict[str, str]] = {
    "jobs": {},
    "attempts": {"request": "walltime"},
    "decisions": {"promises": "guarantees"},
    "timings": {},
    "manifest": {},
    "campaign": {},
}


def schema_of(record: Any, place: str | PathLike[str]) -> int:
    """Return the schema that a manifest, the description of a cell or the record of a campaign is written in.

    Parameters
    ----------
    record
        Its content, as read from JSON.
    place
        Where it is, for the message.

    Raises
    ------
    InputError
        If it is of a later schema than :data:`SCHEMA`, or of none.
    """
    number = record.get("schema", 1) if isinstance(record, dict) else 1
    if type(number) is not int or number < 1:
        raise InputError(f"{place}: expected a schema number of at least 1, got {shown(number)}")
    if number > SCHEMA:
        raise InputError(
            f"{place}: written by a newer hpcdispatch, in schema {shown(number)}, and this one reads up to {SCHEMA}; "
            "update hpcdispatch"
        )
    return number


def with_new_names(part: str, record: Any) -> Any:
    """Return the content of a JSON file of schema 1 under the names of today; `part` is an entry of `RENAMED`."""
    if isinstance(record, list):
        return [with_new_names(part, value) for value in record]
    if not isinstance(record, dict):
        return record
    return {RENAMED[part].get(name, name): with_new_names(part, value) for name, value in record.items()}
