"""Who may start: the first jobs by priority that fit now, and whether they all do together."""

from __future__ import annotations

from heapq import nsmallest

from ..protocol import Placement, State, Waiting
from ..space import PoolSpace, Space, place_all
from .cp_options import Formulation
from .objectives import Goal

#: Who starts now, and where if that is decided.
Chosen = list[tuple[Waiting, Placement | None]]


def ranked(state: State, goal: Goal, count: int) -> list[Waiting]:
    """Return the first jobs by priority; ties by demand times duration, then by submission."""
    totals = state.machine.capacity.sum(axis=0).tolist()

    def urgency(waiting: Waiting) -> tuple[float, float]:
        share = sum(amount / total for amount, total in zip(waiting.demand, totals, strict=True) if amount)
        return -goal.priority(waiting, state.now), share * waiting.nodes * waiting.predicted

    if count >= len(state.queue):
        return sorted(state.queue, key=urgency)
    return nsmallest(count, state.queue, key=urgency)


def fitting(state: State, space: Space, goal: Goal, count: int, formulation: Formulation) -> list[Waiting]:
    """Return those of the first `count` jobs that fit now, each by itself."""
    fits = {entry.order for entry in state.queue if _fits(space, entry, formulation)}
    return [entry for entry in ranked(state, goal, count) if entry.order in fits] if fits else []


def _fits(space: Space, waiting: Waiting, formulation: Formulation) -> bool:
    if formulation == "pcp":
        return space.room(waiting.demand, waiting.nodes) >= waiting.nodes
    return all(waiting.nodes * unit <= free for unit, free in zip(waiting.demand, space.totals, strict=True))


def all_together(space: Space, candidates: list[Waiting], formulation: Formulation) -> Chosen | None:
    """Return all candidates, if they can start together; that is the best there can be."""
    if len(candidates) == 1:
        return [(candidates[0], None)]
    for resource, free in enumerate(space.totals):
        if sum(entry.nodes * entry.demand[resource] for entry in candidates) > free:
            return None
    if formulation == "hcp" or isinstance(space, PoolSpace):
        return [(entry, None) for entry in candidates]
    placed = place_all(space, candidates)
    if placed is None:
        return None
    for entry, placement in zip(candidates, placed, strict=True):
        space.give(placement, entry.demand)
    return list(zip(candidates, placed, strict=True))
