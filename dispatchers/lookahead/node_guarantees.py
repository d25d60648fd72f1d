"""Starts that are held on nodes for the oldest jobs, around which the others are planned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...base import BoolArray, IntArray
from ...models import WHENEVER, PlacementRule, Problem, Schedule, earliest_starts, list_schedule
from ...models.lookahead import Queue, Settings
from ..problems import Held, problem_beside
from ..protocol import Waiting


@dataclass(frozen=True, slots=True)
class NodePromises:
    """What is held for whom.

    Attributes
    ----------
    busy
        What runs and what is held.
    given
        How many jobs are held a start.
    overdue
        The place in the queue of the oldest job, if it is past its time, else -1.
    start
        When that starts and where, ``None`` if it never can.
    latest
        By when jobs are to start that are planned, seconds from now, :data:`.WHENEVER` for no guarantee; shape (jobs,).
    """

    busy: Held
    given: int = 0
    overdue: int = -1
    start: Schedule | None = None
    latest: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def guarantee_on_nodes(
    queue: Queue, entries: Sequence[Waiting], planned: BoolArray, busy: Held, capacity: IntArray, free: IntArray,
    settings: Settings, rule: PlacementRule,
) -> NodePromises:  # fmt: skip
    """Guarantee starts on nodes to the oldest jobs.

    The oldest job of all is held its earliest start once it is past its time. Of the `guards` oldest each is
    guaranteed, in order of age, the last start that fits and is not past its time: `due` seconds after it came, and no
    earlier than its earliest start plus `tolerance` times what is missing. It is held for those that are not planned; a
    plan has to keep those of the others. Nothing is guaranteed to those that cannot be on time.

    Parameters
    ----------
    queue, entries
        The waiting jobs, oldest first.
    planned
        Who is planned, shape (jobs,).
    busy
        What runs.
    capacity
        Shape (nodes, resources), or of one node for all of them.
    free
        What is free now on the nodes that this one stands for; no rows where there is none.
    settings, rule
        As for :func:`.plan_on_nodes`.
    """
    found = NodePromises(busy, latest=np.full(len(entries), WHENEVER))
    if settings.due < 0 or settings.guards == 0:
        return found
    missing, oldest = settings.due - queue.wait, int(np.argmax(queue.wait))
    if missing[oldest] <= 0:
        found = _overdue(oldest, entries[oldest], found, capacity, free, rule)
    young = np.flatnonzero(missing[: settings.guards] > 0)
    if not len(young):
        return found
    jobs, _ = problem_beside(found.busy, capacity, [entries[place] for place in young.tolist()], np.ones(len(young)))
    due = missing[young]
    if settings.tolerance > 0 and (soonest := earliest_starts(jobs)) is not None:
        due = np.maximum(due, soonest + (settings.tolerance * due).astype(np.int64))
    starts, counts = _last_starts(jobs, due, found.busy, rule)
    on_time, own = starts >= 0, planned[young]
    found.latest[young[on_time & own]] = starts[on_time & own]
    last = _held(jobs, starts, np.where((on_time & ~own)[:, None], counts, 0))
    return replace(found, busy=found.busy.beside(last), given=found.given + int(on_time.sum()))


def _overdue(
    place: int, entry: Waiting, found: NodePromises, capacity: IntArray, free: IntArray, rule: PlacementRule
) -> NodePromises:
    """Hold a job its earliest start."""
    problem, _ = problem_beside(found.busy, capacity, [entry], np.ones(1), free_now=free)
    start = list_schedule(problem, np.zeros(1, dtype=np.int64), rule)
    if start is None:
        return replace(found, overdue=place)
    counts = start.counts if problem.nodes > 1 else problem.slots[:, None]
    busy = found.busy.beside(_held(problem, start.starts, counts))
    return replace(found, busy=busy, given=1, overdue=place, start=start)


def _last_starts(jobs: Problem, due: IntArray, busy: Held, rule: PlacementRule) -> tuple[IntArray, IntArray]:
    """Return the last starts by which jobs are due, one after the other, and their slots on each node.

    That is the earliest one where time runs backwards; below 0 of those that cannot be on time.
    """
    end = int((due + jobs.duration).max())
    back = Problem(
        jobs.duration, jobs.slots, jobs.demand, jobs.weight, jobs.capacity,
        held_from=np.maximum(end - busy.end, 0), held_to=np.maximum(end - busy.begin, 0), held_node=busy.node,
        held_amount=busy.amount, earliest=end - due - jobs.duration,
    )  # fmt: skip
    found = list_schedule(back, np.arange(jobs.jobs), rule)
    if found is None:
        return np.full(jobs.jobs, -1), np.zeros((jobs.jobs, jobs.nodes), dtype=np.int64)
    return end - found.starts - jobs.duration, found.counts


def _held(jobs: Problem, starts: IntArray, counts: IntArray) -> Held:
    """Return what jobs hold from their starts on, with so many slots on each node, shape (jobs, nodes)."""
    job, node = np.nonzero(counts)
    amount = counts[job, node][:, None] * jobs.demand[job]
    return Held(starts[job], starts[job] + jobs.duration[job], node, amount)
