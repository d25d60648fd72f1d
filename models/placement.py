"""Placement of slots on nodes: how many fit, which nodes to use, and what stays free."""

from functools import cache
from typing import Literal

import numpy as np

from ..base import IntArray
from ..base.argument_types import names_wrong_types
from ..base.arrays import count_slots as count_slots  # noqa: PLC0414  (had from here, too)
from .compiled import compiled
from .profiles.layouts import NO_LABELS, compact_order

PlacementRule = Literal["first-fit", "best-fit", "compact"]
#: The rules as numbers for compiled code, in this order.
RULES: tuple[PlacementRule, ...] = ("first-fit", "best-fit", "compact")

#: Placement of one slot on the first node, read-only. It is always this object.
NODE_ZERO: IntArray = np.zeros(1, dtype=np.int64)
NODE_ZERO.flags.writeable = False


@names_wrong_types
def pool_placement(nodes: int) -> IntArray:
    """Return the placement of `nodes` slots on the first node, read-only."""
    return NODE_ZERO if nodes == 1 else _zeros(nodes.bit_length())[:nodes]


@cache
def _zeros(bits: int) -> IntArray:
    """Return 2**bits zeros. Large pools need a placement at every decision, so they are cached."""
    zeros = np.zeros(1 << bits, dtype=np.int64)
    zeros.flags.writeable = False
    return zeros


@names_wrong_types
def choose(
    free: IntArray,
    capacity: IntArray,
    counts: IntArray,
    nodes: int,
    rule: PlacementRule = "first-fit",
    labels: IntArray = NO_LABELS,
) -> IntArray:
    """Choose the nodes of `nodes` slots. `counts` holds how many fit on each node.

    First-fit uses the nodes in their order, with as many slots on each as fit. Best-fit starts with the node of least
    free share, summed over the resources. Ties go by node order. Compact uses few groups of nodes, see
    :func:`.order_compactly`. `labels` holds the group of each node at each level, shape (levels, nodes).
    """
    # Uses methods: on few nodes, numpy's function wrappers take longer than the work.
    if rule == "compact" and len(labels):
        # A copy, as read-only labels would compile these functions again.
        candidates: IntArray = compact_order(counts, nodes, labels.copy())
    else:
        candidates = counts.nonzero()[0]
    if rule == "best-fit":
        share = free[candidates] / np.maximum(capacity[candidates], 1)
        candidates = candidates[np.argsort(share.sum(axis=1), kind="stable")]
    taken = counts[candidates]
    filled = taken.cumsum()
    last = int(filled.searchsorted(nodes))
    candidates = candidates[: last + 1]
    if filled[last] == last + 1:
        return candidates
    taken = taken[: last + 1].copy()
    taken[last] -= filled[last] - nodes
    return candidates.repeat(taken)


@names_wrong_types
def shift(free: IntArray, placement: IntArray, demand: tuple[int, ...], sign: int) -> None:
    """Add `sign` times the amounts of slots of `demand` at `placement` to `free`, in place."""
    for index, amount in enumerate(demand):
        if len(free) == 1:
            free[0, index] += amount * sign * len(placement)
        elif amount:
            np.add.at(free[:, index], placement, amount * sign)


@compiled
def slots_of_each(free: IntArray, count: IntArray, demands: IntArray, most: IntArray) -> IntArray:
    """Return how many slots of each demand fit on all nodes.

    Parameters
    ----------
    free, count
        Free amounts on a node of each class, shape (classes, resources), and its number of nodes. Shape (classes,).
    demands, most
        Amounts per slot, shape (demands, resources), and most slots to count on a node. Shape (demands,).
    """
    room = np.zeros(len(demands), dtype=np.int64)
    for kind in range(len(demands)):
        for node in range(len(free)):
            fits = most[kind]
            for resource in range(free.shape[1]):
                if demands[kind, resource]:
                    fits = min(fits, max(free[node, resource], 0) // demands[kind, resource])
            room[kind] += fits * count[node]
    return room
