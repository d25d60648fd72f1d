"""The queue as a tree that finds those that fit, kept from decision to decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, starmap

import numpy as np

from ...base import IntArray
from ...models.backfilling import ORDER, QueueTree, enlarged, follow, open_tree
from ..protocol import Waiting

_FEW = 64


class QueueIndex:
    """Waiting jobs by what they take and how long they are predicted to run; see :class:`.QueueTree`.

    Parameters
    ----------
    entries
        The queue.
    slots
        Whether what jobs take is counted in slots, and not in units of the only resource.
    longest
        Whether the lengths are set below zero, so that the least is the longest.

    Attributes
    ----------
    waiting
        The jobs by their order in the trace.
    demands
        How many of them ask for which amounts a slot, where what they take is counted in slots.
    """

    def __init__(self, entries: Sequence[Waiting], slots: bool, longest: bool) -> None:
        self.waiting: dict[int, Waiting] = {}
        self.demands: Counter[tuple[int, ...]] = Counter()
        self._slots = slots
        self._sign = -1 if longest else 1
        self._tree = open_tree(0)
        self._changes = [(waiting, 1) for waiting in entries]

    def changed(self, job: Waiting, came: bool) -> bool:
        """Take note of a job that came or left; return whether to be told of more.

        Not if nobody asked for the tree while about all jobs changed: to make it anew costs no more.
        """
        self._changes.append((job, 1 if came else 0))
        return len(self._changes) <= len(self.waiting) + _FEW

    def tree(self) -> QueueTree:
        """Return the tree, up to date."""
        if self._changes:
            rows = chain.from_iterable(starmap(self._row, self._changes))
            changes = np.fromiter(rows, np.int64, 6 * len(self._changes)).reshape(-1, 6)
            self._changes.clear()
            if self._tree.nodes[0, 0] + len(changes) > len(self._tree.places):
                self._tree = enlarged(self._tree, len(changes))
            follow(self._tree, changes)
        return self._tree

    def _row(self, waiting: Waiting, came: int) -> tuple[int, ...]:
        """Note a change; return what the tree is told of it."""
        order, demand, amount = waiting.order, waiting.demand, waiting.nodes
        if came:
            self.waiting[order] = waiting
        else:
            del self.waiting[order]
        if self._slots:
            self._count(demand, came)
        else:
            amount *= demand[0]
        return waiting.since, order, amount, self._sign * waiting.predicted, waiting.job.submit, came

    def _count(self, demand: tuple[int, ...], came: int) -> None:
        self.demands[demand] += 1 if came else -1
        if not self.demands[demand]:
            del self.demands[demand]

    def jobs(self, places: IntArray) -> list[Waiting]:
        """Return the jobs at these places of the tree."""
        return [self.waiting[order] for order in self._tree.places[places, ORDER].tolist()]
