"""Slots on nodes: how many fit, which nodes take them, and what that leaves free."""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np

from ..base import IntArray
from ..base.arrays import count_slots as count_slots  # noqa: PLC0414  (had from here, too)
from .compiled import compiled

PlacementRule = Literal["first-fit", "best-fit"]

#: The placement of one slot on the first node, read-only and always this one object.
NODE_ZERO: IntArray = np.zeros(1, dtype=np.int64)
NODE_ZERO.flags.writeable = False


def pool_placement(nodes: int) -> IntArray:
    """Return the placement of so many slots on the first node, read-only."""
    return NODE_ZERO if nodes == 1 else _zeros(nodes.bit_length())[:nodes]


@cache
def _zeros(bits: int) -> IntArray:
    """Return as many zeros as numbers of so many bits can count; on a large pool there is a placement at every turn."""
    zeros = np.zeros(1 << bits, dtype=np.int64)
    zeros.flags.writeable = False
    return zeros


def choose(
    free: IntArray, capacity: IntArray, counts: IntArray, nodes: int, rule: PlacementRule = "first-fit"
) -> IntArray:
    """Choose the nodes of `nodes` slots, of which `counts` fit on each node.

    First-fit takes the nodes in their order, as many slots on each as fit. Best-fit takes first the node whose free
    share, summed over the resources, is least; ties in the order of the nodes.
    """
    # Methods and not functions throughout: on few nodes their wrappers take longer than the work.
    candidates: IntArray = counts.nonzero()[0]
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
        Amounts on a node of each class, shape (classes, resources), and its nodes, shape (classes,).
    demands, most
        Of a slot, shape (demands, resources), and how many are counted on a node at most, shape (demands,).
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
