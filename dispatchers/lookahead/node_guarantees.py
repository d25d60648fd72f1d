"""Guaranteed starts of the oldest jobs on nodes. Other jobs are planned around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...base import BoolArray, IntArray
from ...models import WHENEVER, PlacementRule, Problem, Schedule, earliest_starts, list_schedule
from ...models.lookahead.guarantees import Queue, Settings
from ..problems import Held, problem_beside
from ..protocol import Waiting


@dataclass(frozen=True, slots=True)
class NodePromises:
    """Guaranteed starts.

    Attributes
    ----------
    busy
        Amounts of running jobs and guarantees.
    given
        Number of jobs with a guaranteed start.
    overdue
        Position of the oldest job in the queue if it is overdue, else -1.
    start
        Its start and nodes. ``None`` if it can never start.
    latest
        Latest starts of planned jobs, seconds from now, :data:`.WHENEVER` for no guarantee. Shape (jobs,).
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

    Once the oldest job is overdue, it gets its earliest start. Each of the `guards` oldest gets, by age, the last start
    that fits and meets its due time. That time is `due` seconds after its arrival, and not before its earliest start
    plus `tolerance` times the time left. Unplanned jobs get these amounts reserved. A plan must keep the guarantees of
    planned jobs. Jobs that cannot be on time get none.

    Parameters
    ----------
    queue, entries
        Waiting jobs, oldest first.
    planned
        Which jobs are planned, shape (jobs,).
    busy
        Amounts of running jobs.
    capacity
        Shape (nodes, resources), or of one node for all of them.
    free
        Free amounts now of the nodes behind that one node. Without rows if there is none.
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
    """Reserve the earliest start of a job."""
    problem, _ = problem_beside(found.busy, capacity, [entry], np.ones(1), free_now=free)
    start = list_schedule(problem, np.zeros(1, dtype=np.int64), rule)
    if start is None:
        return replace(found, overdue=place)
    counts = start.counts if problem.nodes > 1 else problem.slots[:, None]
    busy = found.busy.beside(_held(problem, start.starts, counts))
    return replace(found, busy=busy, given=1, overdue=place, start=start)


def _last_starts(jobs: Problem, due: IntArray, busy: Held, rule: PlacementRule) -> tuple[IntArray, IntArray]:
    """Return the last starts that meet the due times, one job after another, and slots on each node.

    They are the earliest starts in reversed time. Negative for jobs that cannot be on time.
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
    """Return the amounts of jobs from their starts on. `counts` are slots per node, shape (jobs, nodes)."""
    job, node = np.nonzero(counts)
    amount = counts[job, node][:, None] * jobs.demand[job]
    return Held(starts[job], starts[job] + jobs.duration[job], node, amount)
