"""Levels of a machine: groups of nodes such as racks, blocks, or nodes below one switch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..base import IntArray, check_whole, shown
from .machine_rules import nodes_of

#: Groups of nodes of each level, by name.
Levels = Mapping[str, tuple[tuple[int, ...], ...]]


def read_levels(given: Any, nodes: int) -> dict[str, tuple[tuple[int, ...], ...]]:
    """Return the levels of a machine of so many nodes.

    Parameters
    ----------
    given
        The groups of each level by its name. A group is a sequence of indices, or a text such as ``"0-15;20"``. A whole
        number in place of the groups stands for groups of so many consecutive nodes.
    nodes
        Number of nodes.

    Raises
    ------
    ValueError
        If a level is no such thing, misses a node, or has a node twice. The message names level and node.
    """
    if not isinstance(given, Mapping):
        raise ValueError(f"machine: levels must be groups of nodes by name, got {shown(given)}")
    levels = {}
    for name, groups in given.items():
        where = f"machine: level {name}"
        if not isinstance(name, str) or not name or not name.isprintable() or name != name.strip():
            raise ValueError(f"machine: levels must have names such as rack, got {shown(name)}")
        levels[name] = _groups(where, groups, nodes)
    return levels


def _groups(where: str, given: Any, nodes: int) -> tuple[tuple[int, ...], ...]:
    if isinstance(given, int) and not isinstance(given, bool):
        size = check_whole(where, given, 1)
        return tuple(tuple(range(first, min(first + size, nodes))) for first in range(0, nodes, size))
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise ValueError(f'{where} must be a list of groups such as ["0-15", "16-31"], got {shown(given)}')
    group_of: dict[int, int] = {}
    groups: list[tuple[int, ...]] = []
    for number, group in enumerate(given):
        if not isinstance(group, str | Sequence | np.ndarray):
            raise ValueError(f"{where}: group {number} must be nodes such as 0-15 or [0, 1], got {shown(group)}")
        members = nodes_of(f"{where}, group {number}", group if isinstance(group, str) else tuple(group))
        if members[-1] >= nodes:
            raise ValueError(f"{where}, group {number}: nodes must lie in 0..{nodes - 1}, got {members[-1]}")
        if not isinstance(group, str) and len(members) < len(group):
            twice = next(node for node in members if list(group).count(node) > 1)
            raise ValueError(f"{where}: node {twice} is twice in group {number}; name it once")
        for node in members:
            if group_of.setdefault(node, number) != number:
                raise ValueError(f"{where}: node {node} is in groups {group_of[node]} and {number}; keep it in one")
        groups.append(members)
    missing = [node for node in range(nodes) if node not in group_of]
    if missing:
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise ValueError(f"{where}: node {missing[0]}{more} in no group; add each to one")
    return tuple(groups)


def by_size(levels: Levels) -> tuple[str, ...]:
    """Return the names of levels, that with the smallest groups first."""
    return tuple(sorted(levels, key=lambda name: -len(levels[name])))


def labels_of(levels: Levels, nodes: int) -> IntArray:
    """Return the number of each node's group at each level, by :func:`by_size`. Shape (levels, nodes)."""
    labels = np.zeros((len(levels), nodes), dtype=np.int64)
    for row, name in enumerate(by_size(levels)):
        for number, group in enumerate(levels[name]):
            labels[row, list(group)] = number
    labels.flags.writeable = False
    return labels


def level_texts(levels: Levels) -> dict[str, list[str]]:
    """Return the groups as texts of ranges, as in ``{"rack": ["0-15", "16-31"]}``."""
    return {name: [_ranges(group) for group in groups] for name, groups in levels.items()}


def _ranges(nodes: Sequence[int]) -> str:
    """Return sorted nodes as ranges, as in ``0-15;20``."""
    breaks = [place for place, (one, other) in enumerate(pairwise(nodes), 1) if other != one + 1]
    parts = [nodes[begin:end] for begin, end in pairwise([0, *breaks, len(nodes)])]
    return ";".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)
