"""Reserved nodes over time: advance reservations, and the table of Slurm's backfill scheduler.

Jobs reserve whole nodes. Rules as in Slurm 22.05, ``src/plugins/sched/backfill/backfill.c`` (``node_space``) and
``src/slurmctld/reservation.c`` (``job_test_resv``).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import BoolArray, IntArray
from ..compiled import borrowing

#: Sets of nodes, one bit each.
WordArray = NDArray[np.uint64]
#: Later than any time.
_NEVER = 2**62


class ClosedAmounts(NamedTuple):
    """Amounts of nodes that reservations close, and when.

    Attributes
    ----------
    start, end
        Seconds since 1970, shape (times,).
    of
        Row of `amounts` for each time.
    amounts
        Shape (reservations, nodes, resources).
    """

    start: IntArray
    end: IntArray
    of: IntArray
    amounts: IntArray


class NodeClosures(NamedTuple):
    """Nodes that advance reservations close to some jobs, and when.

    Attributes
    ----------
    start, end
        Seconds since 1970, shape (times,).
    nodes
        Closed nodes, shape (times, nodes).
    partly
        Amounts closed beside them.
    """

    start: IntArray
    end: IntArray
    nodes: BoolArray
    partly: ClosedAmounts

    def since(self) -> IntArray:
        """Return when each node closes first, seconds since 1970. Shape (nodes,).

        A job cannot use the node now if its walltime ends later.
        """
        since = np.where(self.nodes, self.start[:, None], _NEVER)
        return np.asarray(since.min(axis=0, initial=_NEVER), dtype=np.int64)


class ReservedNodes(NamedTuple):
    """Linked periods of time, with the open nodes of each.

    Attributes
    ----------
    begin, end, following
        Begin, end and next period, shape (periods,). The last has the next period 0.
    open
        Nodes that are not reserved, one bit each. Shape (periods, words of 64).
    words
        Buffer for a set of nodes, shape (words,).
    used
        Number of periods in use, shape (1,).
    """

    begin: IntArray
    end: IntArray
    following: IntArray
    open: WordArray
    words: WordArray
    used: IntArray


def no_amounts(nodes: int, resources: int) -> ClosedAmounts:
    """Return that no amounts are closed."""
    none = np.empty(0, np.int64)
    return ClosedAmounts(none, none, none, np.empty((0, nodes, resources), np.int64))


@borrowing
def close_amounts(partly: ClosedAmounts, start: int, end: int, closed: IntArray) -> int:
    """Write the most amounts closed at once in [start, end). Return when the first of them opens, 0 for none.

    `closed` has the shape (nodes, resources).
    """
    first: int = 0
    for node in range(closed.shape[0]):
        for resource in range(closed.shape[1]):
            closed[node, resource] = 0
    for each in range(len(partly.start)):
        if partly.end[each] <= start or partly.start[each] >= end:
            continue
        first = partly.end[each] if not first or partly.end[each] < first else first
        at = max(partly.start[each], start)
        for node in range(closed.shape[0]):
            for resource in range(closed.shape[1]):
                there: int = 0
                for other in range(len(partly.start)):
                    if partly.start[other] <= at < partly.end[other]:
                        there += partly.amounts[partly.of[other], node, resource]
                closed[node, resource] = max(closed[node, resource], there)
    return first


def no_reservations(begin: int, end: int, nodes: int, jobs: int) -> ReservedNodes:
    """Return a table without reservations, with room for `jobs` of them."""
    begins, ends, following = np.zeros((3, 2 * jobs + 2), np.int64)
    begins[0], ends[0] = begin, end
    words = -(-nodes // 64)
    spans = np.zeros((2 * jobs + 2, words), np.uint64)
    spans[0] = ~np.uint64(0)
    return ReservedNodes(begins, ends, following, spans, np.zeros(words, np.uint64), np.ones(1, np.int64))


def packed(chosen: BoolArray) -> WordArray:
    """Return sets of nodes, shape (sets, nodes), as 64-bit words."""
    padded = np.zeros((len(chosen), -(-chosen.shape[1] // 64) * 64), np.bool_)
    padded[:, : chosen.shape[1]] = chosen
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


@borrowing
def find_open_nodes(table: ReservedNodes, members: WordArray, start: int, end: int, usable: BoolArray) -> int:
    """Find the members that are open from `start` to `end`. Return when to search again, 0 if never.

    That time is the end of the first period after which more nodes are open. The nodes go to `usable`.
    """
    words = table.words
    for word in range(len(words)):
        words[word] = members[word]
    later, span = 0, 0
    while True:
        after = table.following[span]
        if table.end[span] > start:
            if after and not later:
                opens = np.uint64(0)
                for word in range(len(words)):
                    opens |= members[word] & table.open[after, word] & ~(words[word] & table.open[span, word])
                later = table.end[span] if opens else 0
            if table.begin[span] > end:
                break
            for word in range(len(words)):
                words[word] &= table.open[span, word]
        span = after
        if not span:
            break
    for node in range(len(usable)):
        usable[node] = (words[node >> 6] >> np.uint64(node & 63)) & np.uint64(1)
    return later


@borrowing
def reserve(table: ReservedNodes, taken: IntArray, start: int, end: int, resolution: int, only_open: bool) -> bool:
    """Reserve nodes. Return whether they were reserved.

    Parameters
    ----------
    table
        The reservations.
    taken
        Above 0 for each node to reserve, shape (nodes,).
    start, end
        Begin and end, seconds.
    resolution
        Least duration of a reservation, seconds.
    only_open
        Reserve nothing if any node is already reserved at that time.
    """
    words = table.words
    for word in range(len(words)):
        words[word] = 0
    for node in range(len(taken)):
        if taken[node] > 0:
            words[node >> 6] |= np.uint64(1) << np.uint64(node & 63)
    before, span = 0, 0
    while only_open:
        if table.end[span] > start and table.begin[span] < end:
            for word in range(len(words)):
                if words[word] & ~table.open[span, word]:
                    return False
        span = table.following[span]
        if not span:
            break
    start = max(start, table.begin[0])
    end = max(end, start + resolution)
    # Make a period begin at the start.
    while table.end[span] < start:
        before, span = span, table.following[span]
        if not span:
            return True
    if table.end[span] > start:
        _split(table, span, start)
    after = -1
    span = table.following[span]
    while span:
        if end < table.end[span]:
            _split(table, span, end)
        for word in range(len(words)):
            table.open[span, word] &= ~words[word]
        if end == table.end[span]:
            after = table.following[span] if table.following[span] else -1
            break
        span = table.following[span]
    # Join only the first two periods with equal open nodes.
    span = before
    while span != after:
        other = table.following[span]
        if not other:
            break
        alike = True  # The loop compiles ten times as fast as an expression.
        for word in range(len(words)):
            alike &= table.open[span, word] == table.open[other, word]
        if alike:
            table.end[span], table.following[span] = table.end[other], table.following[other]
            break
        span = other
    return True


@borrowing
def _split(table: ReservedNodes, span: int, at: int) -> None:
    new = table.used[0]
    table.begin[new], table.end[new], table.following[new] = at, table.end[span], table.following[span]
    table.end[span] = at
    table.following[span] = new
    for word in range(table.open.shape[1]):
        table.open[new, word] = table.open[span, word]
    table.used[0] += 1
