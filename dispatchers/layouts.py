"""Whether the nodes of a job lie as it asks: within groups of a level, and with room for unequal slots."""

from collections.abc import Sequence

import numpy as np

from ..base import IntArray
from ..models.profiles.layouts import NO_LABELS, compact_order, gathered, packed
from ..models.profiles.layouts import PlacedAttempts as PlacedAttempts  # noqa: PLC0414 - also for the simulation
from ..models.profiles.layouts import count_groups as count_groups  # noqa: PLC0414 - also for the simulation
from ..models.profiles.layouts import least_groups as least_groups  # noqa: PLC0414 - also for the simulation
from ..models.profiles.layouts import stranded_share as stranded_share  # noqa: PLC0414 - also for the simulation
from ..workloads import Machine
from ..workloads.job import slot_units
from .views import JobView, Placement

#: Labels for slots that may lie in any groups.
_ANY_GROUP = np.zeros(0, dtype=np.int64)


def is_bound(job: JobView, since: int, now: int) -> bool:
    """Return whether a job that waits since some time must start within groups of its level."""
    return bool(job.within) and (job.within_wait is None or now < since + job.within_wait)


def wrong_layout(job: JobView, since: int, now: int, placement: Placement, machine: Machine) -> str:
    """Return why a job must not start on these nodes. Empty if it may."""
    if is_bound(job, since, now):
        groups = np.unique(machine.labels[machine.level_names.index(job.within), placement])
        if len(groups) > job.within_groups:
            return f"its nodes are in {len(groups)} groups of level {job.within}, and it asks for {job.within_groups}"
    if job.slots and slots_on(placement, slot_units(f"job {job.id}", job.slots)[1]) is None:
        return "its units on each node are not those of whole slots"
    return ""


def place(job: JobView, since: int, now: int, counts: IntArray, slots: int, machine: Machine) -> Placement | None:
    """Return nodes for the slots of a job that lie as it asks, ``None`` if there are none.

    `counts` has the slots that fit on each node, shape (nodes,).
    """
    fits = counts.copy()
    # A copy, as read-only labels would compile all these functions again.
    labels = machine.labels[machine.level_names.index(job.within)].copy() if job.within else NO_LABELS
    bound = is_bound(job, since, now)
    if fits.sum() < slots or (bound and not job.slots and not gathered(fits, slots, labels, job.within_groups)):
        return None
    if job.slots:
        sizes = np.array(sorted(slot_units(f"job {job.id}", job.slots)[1], reverse=True), dtype=np.int64)
        if bound and job.within_groups > 1 and not gathered(fits, slots, labels, job.within_groups):
            return None
        if not packed(fits, sizes, labels if bound and job.within_groups == 1 else _ANY_GROUP):
            return None
    order = compact_order(fits, slots, labels.reshape(1, -1) if job.within else NO_LABELS)
    nodes = order.repeat(fits[order])
    return nodes[:slots]


def slots_on(placement: Sequence[int] | Placement, factors: Sequence[int]) -> list[int] | None:
    """Return the node of each unequal slot from the nodes of its units, ``None`` if there is no such way.

    Parameters
    ----------
    placement
        Node of each unit.
    factors
        Units of each slot.
    """
    nodes, counts = np.unique(np.asarray(placement), return_counts=True)
    left = dict(zip(nodes.tolist(), counts.tolist(), strict=True))
    order = sorted(range(len(factors)), key=lambda slot: (-factors[slot], slot))
    node_of: dict[int, int] = {}

    def fill(place: int) -> bool:
        if place == len(order):
            return not any(left.values())
        slot = order[place]
        tried: set[int] = set()
        for node, units in left.items():
            if units >= factors[slot] and units not in tried:
                tried.add(units)
                left[node] -= factors[slot]
                node_of[slot] = node
                if fill(place + 1):
                    return True
                left[node] += factors[slot]
        return False

    return [node_of[slot] for slot in range(len(factors))] if sum(factors) == counts.sum() and fill(0) else None
