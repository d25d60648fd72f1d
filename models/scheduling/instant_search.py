"""What is left of the nodes now before every few jobs of an order, compiled, for a search that decodes what changes.

The groups of nodes stand beside the profile of :mod:`.pool_search`: those of the best order, and of the one tried.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import borrowing, compiled
from .node_groups import Instant, open_instant

_BEST, _TRIED = range(2)
#: Rows of a table of groups; what is free comes last.
_FIRST, _SIZE, _FREE = range(3)


class InstantSearch(NamedTuple):
    """The nodes now, and what was left of them.

    Attributes
    ----------
    instant
        The nodes; its room has the groups of the decoding that goes on.
    counts
        How many groups there are before each place of the best order and of the one tried, shape (2, places).
    kept
        Their stretches and what is free on their nodes, shape (2, places, 2 + resources, most groups).
    refused
        As of the instant, shape (2, places, kinds).
    """

    instant: Instant
    counts: IntArray
    kept: IntArray
    refused: IntArray


@compiled
def open_instant_search(instant: Instant, places: int) -> InstantSearch:
    """Make room for so many places of an order, the first of them with all that is free."""
    most, resources = instant.room.free.shape
    kept = np.empty((2, places, _FREE + resources, most), dtype=np.int64)
    refused = np.empty((2, places, len(instant.refused)), dtype=np.int64)
    search = InstantSearch(instant, np.zeros((2, places), dtype=np.int64), kept, refused)
    if len(instant.nodes):
        keep_groups(search, 0, open_instant(instant))
        kept_again(search, 0)
    return search


@borrowing
def keep_groups(search: InstantSearch, place: int, groups: int) -> None:
    """Keep the groups before a place of the order tried."""
    room, kept = search.instant.room, search.kept[_TRIED, place]
    search.counts[_TRIED, place] = groups
    for group in range(groups):
        kept[_FIRST, group], kept[_SIZE, group] = room.first[group], room.size[group]
    for resource in range(room.free.shape[1]):
        for group in range(groups):
            kept[_FREE + resource, group] = room.free[group, resource]
    for kind in range(search.refused.shape[2]):
        search.refused[_TRIED, place, kind] = search.instant.refused[kind]


@borrowing
def kept_again(search: InstantSearch, place: int) -> None:
    """Take what was kept of the order tried for the best one."""
    kept, groups = search.kept, search.counts[_TRIED, place]
    search.counts[_BEST, place] = groups
    for row in range(kept.shape[2]):
        for group in range(groups):
            kept[_BEST, place, row, group] = kept[_TRIED, place, row, group]
    for kind in range(search.refused.shape[2]):
        search.refused[_BEST, place, kind] = search.refused[_TRIED, place, kind]


@borrowing
def resume_groups(search: InstantSearch, place: int) -> int:
    """Go on with the groups before a place of the best order; return how many they are."""
    room, kept = search.instant.room, search.kept[_BEST, place]
    groups: int = search.counts[_BEST, place]
    for group in range(groups):
        room.first[group], room.size[group] = kept[_FIRST, group], kept[_SIZE, group]
        for resource in range(room.free.shape[1]):
            room.free[group, resource] = kept[_FREE + resource, group]
    for kind in range(search.refused.shape[2]):
        search.instant.refused[kind] = search.refused[_BEST, place, kind]
    return groups


@borrowing
def same_groups(search: InstantSearch, place: int, groups: int) -> bool:
    """Return whether the groups are those before a place of the best order."""
    if groups != search.counts[_BEST, place]:
        return False
    room, kept = search.instant.room, search.kept[_BEST, place]
    same = True
    for group in range(groups):
        same = same and room.first[group] == kept[_FIRST, group] and room.size[group] == kept[_SIZE, group]
        for resource in range(room.free.shape[1]):
            same = same and room.free[group, resource] == kept[_FREE + resource, group]
    return same
