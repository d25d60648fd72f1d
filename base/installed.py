"""Installed entry points and versions. A look-up costs tens of milliseconds, so results are cached."""

import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points, version
from typing import Any

#: Kinds of registered parts: singular, and the last part of their entry-point group.
KINDS = {
    "dispatcher": "dispatchers",
    "predictor": "predictors",
    "correction": "corrections",
    "workload": "workloads",
    "objective": "objectives",
    "constraint": "constraints",
    "goal": "goals",
    "order": "orders",
    "metric": "metrics",
}
#: Parts that a script has registered: entry-point group to name to class or function.
_OF_SCRIPT: dict[str, dict[str, Callable[..., Any]]] = {}
#: Separator between names in a part's text.
_NAMES = re.compile(r"[^\w.-]+")
#: Version of an installed package, cached at the first call.
version_of = cache(version)


def entry_points_of(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name. Updated after packages were installed or removed."""
    return {name: entries[0] for name, entries in _all_of(group).items()}


def rivals_of(group: str, name: str) -> list[str]:
    """Return the packages that register the same name, each with its value, if several do."""
    entries = _all_of(group).get(name, ())
    return [f"{entry.dist.name if entry.dist else '?'} ({entry.value})" for entry in entries if len(entries) > 1]


def names_plug_in(spec: str) -> bool:
    """Return whether a part's text names something that another package registers."""
    entries = (entry for kind in KINDS.values() for entry in entry_points_of(f"hpcdispatch.{kind}").values())
    plugged = {entry.name for entry in entries if entry.module.partition(".")[0] != "hpcdispatch"}
    return not plugged.isdisjoint(_NAMES.split(spec)) or names_part_of_script(spec)


def parts_of_script(group: str) -> Mapping[str, Callable[..., Any]]:
    """Return the parts of a group that a script has registered, by name."""
    return _OF_SCRIPT.get(group, {})


def add_part_of_script(group: str, name: str, factory: Callable[..., Any]) -> None:
    """Store a part that a script registers. It replaces an earlier one of the same name."""
    _OF_SCRIPT.setdefault(group, {})[name] = factory


def all_parts_of_script() -> list[tuple[str, str, Callable[..., Any]]]:
    """Return group, name and class or function of every part that a script has registered."""
    return [(group, name, factory) for group, parts in _OF_SCRIPT.items() for name, factory in parts.items()]


def names_part_of_script(spec: str) -> bool:
    """Return whether a part's text names something that a script has registered."""
    registered = {name for _, name, _ in all_parts_of_script()}
    return bool(registered) and not registered.isdisjoint(_NAMES.split(spec))


def _all_of(group: str) -> dict[str, tuple[EntryPoint, ...]]:
    return _found(group, tuple((folder, _changed(folder)) for folder in sys.path))


@lru_cache(maxsize=32)
def _found(group: str, _state: tuple[tuple[str, int], ...]) -> dict[str, tuple[EntryPoint, ...]]:
    by_name: dict[str, dict[str, EntryPoint]] = {}
    for entry in entry_points(group=group):
        by_name.setdefault(entry.name, {}).setdefault(entry.value, entry)
    return {name: tuple(entries.values()) for name, entries in by_name.items()}


def _changed(folder: str) -> int:
    """Return when the content of a folder last changed, 0 if the folder is missing."""
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return 0
