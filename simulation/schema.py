"""The schema number of saved results and stores, and the names in files of earlier schemas."""

from os import PathLike
from typing import Any

from ..base import InputError, shown

#: The schema of new files. Files of hpcdispatch 0.1.0 have no number; their schema is 1.
SCHEMA = 2
#: Old names of schema 1 and current names. The keys are tables of a result, ``manifest`` (with the objects in it) and
#: ``campaign``, the record of a campaign in a store. A changed name needs only an entry here.
RENAMED: dict[str, dict[str, str]] = {
    "jobs": {},
    "attempts": {"request": "walltime"},
    "decisions": {"promises": "guarantees"},
    "timings": {},
    "manifest": {},
    "campaign": {},
}


def schema_of(record: Any, place: str | PathLike[str]) -> int:
    """Return the schema of a manifest, the description of a cell or the record of a campaign.

    Parameters
    ----------
    record
        Its content, read from JSON.
    place
        Its path, for the message.

    Raises
    ------
    InputError
        If the schema is later than :data:`SCHEMA`, or invalid.
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
    """Return the content of a JSON file of schema 1 with current names. `part` is a key of `RENAMED`."""
    if isinstance(record, list):
        return [with_new_names(part, value) for value in record]
    if not isinstance(record, dict):
        return record
    return {RENAMED[part].get(name, name): with_new_names(part, value) for name, value in record.items()}
