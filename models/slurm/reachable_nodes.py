"""What a waiting job could have of nodes by some time, so that it is not tested in vain: sets of nodes as words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import borrowing
from .jobs import Placed, Tried
from .node_choice import need_of
from .reserved_nodes import WordArray, members_of


class Reachable(NamedTuple):
    """What jobs that ask alike could have of each node.

    Attributes
    ----------
    once, now
        CPUs once all that runs has ended, and now, shape (nodes,).
    any_once, any_now
        Which nodes these are above 0 of, a bit each, shape (words,).
    ended
        Nodes on which a job ends before the time that was asked for last, a bit each, shape (words,).
    could
        Nodes that are left for the time that was asked for last, shape (words,).
    counts
        How many of the running jobs end before that time; shape (1,).
    """

    once: IntArray
    now: IntArray
    any_once: WordArray
    any_now: WordArray
    ended: WordArray
    could: WordArray
    counts: IntArray


def nothing_reachable(nodes: int) -> Reachable:
    """Return room for what can be had of so many nodes."""
    once, now = np.zeros((2, nodes), np.int64)
    any_once, any_now, ended, could = np.zeros((4, -(-nodes // 64)), np.uint64)
    return Reachable(once, now, any_once, any_now, ended, could, np.zeros(1, np.int64))


@borrowing
def note_room(reach: Reachable) -> None:
    """Note of which nodes there is anything to be had, after `once` and `now` were written."""
    for word in range(len(reach.any_now)):
        once, now = np.uint64(0), np.uint64(0)
        for node in range(word << 6, min((word + 1) << 6, len(reach.now))):
            bit = np.uint64(1) << np.uint64(node & 63)
            once |= bit if reach.once[node] > 0 else np.uint64(0)
            now |= bit if reach.now[node] > 0 else np.uint64(0)
        reach.any_once[word], reach.any_now[word] = once, now


@borrowing
def look_anew(reach: Reachable) -> None:
    """Begin with a job: nothing has ended yet."""
    reach.counts[0] = 0
    for word in range(len(reach.ended)):
        reach.ended[word] = 0


@borrowing
def could_have(
    job: int, tried: Tried, primary: int, usable: WordArray, reach: Reachable, table: Placed, later: int
) -> bool:
    """Return whether a job could have enough of the usable nodes before it is looked at again `later`, 0 for never.

    It could have of a node what is free now, and where the first job on it ends before, all that can ever be. The times
    that are asked for one after the other rise until :func:`look_anew`.
    """
    unit = max(tried.demand[job, primary], 1)
    need = need_of(tried.slots[job], tried.apart[job], unit, False)
    if members_of(usable) < need.least:
        return False
    _end_before(later, reach, table)
    for word in range(len(usable)):
        reach.could[word] = usable[word] & (reach.any_now[word] | (reach.ended[word] & reach.any_once[word]))
    nodes, wanted = members_of(reach.could), need.cpus if tried.demand[job, primary] else 0
    if nodes < need.least or nodes * unit >= wanted:  # each has room for one slot at least
        return bool(nodes >= need.least)
    cpus = 0
    for word in range(len(usable)):
        left, node = reach.could[word], word << 6
        while left:
            if left & np.uint64(1):
                ended = (reach.ended[word] >> np.uint64(node & 63)) & np.uint64(1)
                cpus += reach.once[node] if ended else reach.now[node]
                if cpus >= wanted:
                    return True
            left >>= np.uint64(1)
            node += 1
    return False


@borrowing
def _end_before(later: int, reach: Reachable, table: Placed) -> None:
    """Note the nodes of the running jobs that end until then, of all for 0."""
    at = reach.counts[0]
    while at < table.counts[0] and (not later or table.end[table.order[at]] <= later):
        row = table.order[at]
        for place in range(table.begin[row], table.stop[row]):
            node = table.node[place]
            reach.ended[node >> 6] |= np.uint64(1) << np.uint64(node & 63)
        at += 1
    reach.counts[0] = at
