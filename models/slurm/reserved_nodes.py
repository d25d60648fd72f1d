"""Which nodes are reserved for waiting jobs, by time: the table of Slurm's backfill scheduler.

Reservations take whole nodes. Rules as in Slurm 22.05, ``src/plugins/sched/backfill/backfill.c`` (``node_space``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import BoolArray, IntArray
from ..compiled import borrowing

#: Sets of nodes, a bit each.
WordArray = NDArray[np.uint64]


class ReservedNodes(NamedTuple):
    """Spans of time one after the other, linked, with the nodes that are not reserved in each.

    Attributes
    ----------
    begin, end, following
        Of each span, shape (spans,); what follows the last is 0.
    open
        Nodes that are not reserved, a bit each, shape (spans, words of 64).
    used
        How many spans are in use, shape (1,).
    """

    begin: IntArray
    end: IntArray
    following: IntArray
    open: WordArray
    used: IntArray


def nothing_reserved(begin: int, end: int, nodes: int, jobs: int) -> ReservedNodes:
    """Return a table without reservations, with room for those of so many jobs."""
    begins, ends, following = np.zeros((3, 2 * jobs + 2), np.int64)
    begins[0], ends[0] = begin, end
    words = np.zeros((2 * jobs + 2, -(-nodes // 64)), np.uint64)
    words[0] = ~np.uint64(0)
    return ReservedNodes(begins, ends, following, words, np.ones(1, np.int64))


@borrowing
def packed(chosen: BoolArray, words: WordArray) -> None:
    """Write a set of nodes into words."""
    for word in range(len(words)):
        words[word] = 0
    for node in range(len(chosen)):
        if chosen[node]:
            words[node >> 6] |= np.uint64(1) << np.uint64(node & 63)


@borrowing
def unpacked(words: WordArray, chosen: BoolArray) -> None:
    """Write a set of nodes from words."""
    for word in range(len(words)):
        bits = words[word]
        for node in range(word << 6, min((word + 1) << 6, len(chosen))):
            chosen[node] = bits & np.uint64(1)
            bits >>= np.uint64(1)


@borrowing
def members_of(words: WordArray) -> int:
    """Return how many nodes are in a set: bits are added up in pairs, fours, eights, and these at once."""
    count = 0
    for word in words:
        pairs = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
        fours = (pairs & np.uint64(0x3333333333333333)) + ((pairs >> np.uint64(2)) & np.uint64(0x3333333333333333))
        eights = (fours + (fours >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        count += (eights * np.uint64(0x0101010101010101)) >> np.uint64(56)
    return int(count)


@borrowing
def open_nodes(table: ReservedNodes, members: WordArray, start: int, end: int, usable: WordArray) -> int:
    """Write into `usable` which of the members are open from `start` to `end`; return when to look again, 0 if never.

    That is the end of the first span after which nodes are open that were not before.
    """
    for word in range(len(members)):
        usable[word] = members[word]
    later, span = 0, 0
    while True:
        after = table.following[span]
        if table.end[span] > start:
            if after and not later and _opens(table, span, members, usable):
                later = table.end[span]
            if table.begin[span] > end:
                break
            for word in range(len(members)):
                usable[word] &= table.open[span, word]
        span = after
        if not span:
            break
    return later


@borrowing
def _opens(table: ReservedNodes, span: int, members: WordArray, usable: WordArray) -> bool:
    """Return whether after a span nodes are open that are not until its end."""
    after = table.following[span]
    for word in range(len(members)):
        if members[word] & table.open[after, word] & ~(usable[word] & table.open[span, word]):
            return True
    return False


@borrowing
def is_open(table: ReservedNodes, taken: WordArray, start: int, end: int) -> bool:
    """Return whether no node that is taken is reserved between `start` and `end`."""
    span = 0
    while True:
        if table.end[span] > start and table.begin[span] < end:
            for word in range(len(taken)):
                if taken[word] & ~table.open[span, word]:
                    return False
        span = table.following[span]
        if not span:
            return True


@borrowing
def reserve(table: ReservedNodes, taken: WordArray, start: int, end: int, resolution: int) -> None:
    """Reserve the nodes that are taken from `start` to `end`."""
    start = max(start, table.begin[0])
    end = max(end, start + resolution)
    before, span = _span_before(table, start)
    if span < 0:
        return
    after = -1
    span = table.following[span]
    while span:
        if end < table.end[span]:
            _split(table, span, end)
        for word in range(len(taken)):
            table.open[span, word] &= ~taken[word]
        if end == table.end[span]:
            after = table.following[span] if table.following[span] else -1
            break
        span = table.following[span]
    _join(table, before, after)


@borrowing
def _span_before(table: ReservedNodes, start: int) -> tuple[int, int]:
    """Let a span begin at `start`; return the one from which on equal ones are joined, and the one that ends there."""
    before, span = 0, 0
    while True:
        if table.end[span] > start:
            _split(table, span, start)
        if table.end[span] == start:
            return before, span
        before = span
        span = table.following[span]
        if not span:
            return before, -1


@borrowing
def _split(table: ReservedNodes, span: int, at: int) -> None:
    new = table.used[0]
    table.begin[new], table.end[new], table.following[new] = at, table.end[span], table.following[span]
    table.end[span], table.following[span] = at, new
    for word in range(table.open.shape[1]):
        table.open[new, word] = table.open[span, word]
    table.used[0] += 1


@borrowing
def _join(table: ReservedNodes, before: int, after: int) -> None:
    """Join the first two spans with the same open nodes, no more."""
    span = before
    while span != after:
        other = table.following[span]
        if not other:
            return
        if _alike(table, span, other):
            table.end[span], table.following[span] = table.end[other], table.following[other]
            return
        span = other


@borrowing
def _alike(table: ReservedNodes, span: int, other: int) -> bool:
    """Return whether the same nodes are open; in a loop, which compiles in a tenth of the time of an expression."""
    alike = True
    for word in range(table.open.shape[1]):
        alike &= table.open[span, word] == table.open[other, word]
    return alike
