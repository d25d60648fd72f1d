"""Look-ahead plan on many nodes: which jobs start now, and where."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...base import BoolArray, FloatArray, IntArray
from ...models import (
    WHENEVER,
    PlacementRule,
    Problem,
    Schedule,
    best_of,
    earliest_starts,
    improve,
    list_orders,
    list_schedule,
    rearranged,
)
from ...models.lookahead.guarantees import PlanSettings, Queue
from ...models.lookahead.planning import LISTED, SEARCHED, candidates, weights
from ..problems import Held, closed_amounts, held, problem_beside, summed
from ..protocol import Placement, Waiting
from .instant import Decision, DecisionInput
from .pool_plan import put


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
    queue: Queue,
    entries: Sequence[Waiting],
    planned: BoolArray,
    busy: Held,
    capacity: IntArray,
    free: IntArray,
    settings: PlanSettings,
    rule: PlacementRule,
) -> NodePromises:
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
    guarantees = NodePromises(busy, latest=np.full(len(entries), WHENEVER))
    if settings.due < 0 or settings.guards == 0:
        return guarantees
    missing = settings.due - queue.wait
    oldest = int(np.argmax(queue.wait))
    if missing[oldest] <= 0:
        guarantees = _overdue(oldest, entries[oldest], guarantees, capacity, free, rule)
    young = np.flatnonzero(missing[: settings.guards] > 0)
    if not len(young):
        return guarantees
    jobs, _ = problem_beside(
        guarantees.busy, capacity, [entries[place] for place in young.tolist()], np.ones(len(young))
    )
    due = missing[young]
    if settings.tolerance > 0 and (soonest := earliest_starts(jobs)) is not None:
        due = np.maximum(due, soonest + (settings.tolerance * due).astype(np.int64))
    starts, counts = _last_starts(jobs, due, guarantees.busy, rule)
    on_time, own = starts >= 0, planned[young]
    guarantees.latest[young[on_time & own]] = starts[on_time & own]
    last = _held(jobs, starts, np.where((on_time & ~own)[:, None], counts, 0))
    return replace(guarantees, busy=guarantees.busy.beside(last), given=guarantees.given + int(on_time.sum()))


def _overdue(
    place: int, entry: Waiting, guarantees: NodePromises, capacity: IntArray, free: IntArray, rule: PlacementRule
) -> NodePromises:
    """Reserve the earliest start of a job."""
    problem, _ = problem_beside(guarantees.busy, capacity, [entry], np.ones(1), free_now=free)
    start = list_schedule(problem, np.zeros(1, dtype=np.int64), rule)
    if start is None:
        return replace(guarantees, overdue=place)
    counts = start.counts if problem.nodes > 1 else problem.slots[:, None]
    busy = guarantees.busy.beside(_held(problem, start.starts, counts))
    return replace(guarantees, busy=busy, given=1, overdue=place, start=start)


def _last_starts(jobs: Problem, due: IntArray, busy: Held, rule: PlacementRule) -> tuple[IntArray, IntArray]:
    """Return the last starts that meet the due times, one job after another, and slots on each node.

    They are the earliest starts in reversed time. Negative for jobs that cannot be on time.
    """
    end = int((due + jobs.duration).max())
    back = Problem(
        jobs.duration,
        jobs.slots,
        jobs.demand,
        jobs.weight,
        jobs.capacity,
        held_from=np.maximum(end - busy.end, 0),
        held_to=np.maximum(end - busy.begin, 0),
        held_node=busy.node,
        held_amount=busy.amount,
        earliest=end - due - jobs.duration,
    )
    schedule = list_schedule(back, np.arange(jobs.jobs), rule)
    if schedule is None:
        return np.full(jobs.jobs, -1), np.zeros((jobs.jobs, jobs.nodes), dtype=np.int64)
    return end - schedule.starts - jobs.duration, schedule.counts


def _held(jobs: Problem, starts: IntArray, counts: IntArray) -> Held:
    """Return the amounts on nodes from the starts of jobs on. `counts` are slots per node, shape (jobs, nodes)."""
    job, node = np.nonzero(counts)
    amount = counts[job, node][:, None] * jobs.demand[job]
    return Held(starts[job], starts[job] + jobs.duration[job], node, amount)


_NO_NODES = np.zeros((0, 0), dtype=np.int64)
#: Number of nodes up to which every planned job has its own nodes. More would take seconds.
MOST_NODES = 256
#: Most jobs that fit now in the search of the order on nodes. Its time grows with their square.
MOST_SEARCHED = 40


def plan_on_nodes(seen: DecisionInput, settings: PlanSettings, rule: PlacementRule) -> Decision:
    """Plan jobs that fit now and the most urgent others around the guarantees of the oldest.

    On up to `MOST_NODES` nodes every job has its own nodes until its end. If many jobs fit now, the local search covers
    the `MOST_SEARCHED` most urgent. The others start beside them if they can. On more nodes only starting jobs have
    nodes, and later ones share the sums of resources. Starting jobs must not delay the oldest overdue job there.

    The oldest jobs get guaranteed starts first, see :func:`.guarantee_on_nodes`. Then a local search improves the best
    list schedule. Only schedules that keep the guarantees of planned jobs count, if any list has one. The oldest job
    starts first if its guarantee is now, then others by weight.

    Parameters
    ----------
    seen
        Present jobs and room.
    settings
        As for :func:`hpcdispatch.models.lookahead.plan`.
    rule
        Choice of nodes, where every job has its own.
    """
    state = seen.state
    queue = seen.waiting
    capacity = seen.state.machine.capacity
    free = _NO_NODES
    if len(capacity) > MOST_NODES:
        capacity = capacity.sum(axis=0, keepdims=True)
        free = state.free
    weight = weights(queue.wait, queue.duration, settings.age_scale)
    places = candidates(queue.fits, weight, np.zeros(0, dtype=np.int64), settings.blocked)
    planned = np.bincount(places, minlength=len(weight)) > 0
    busy = held(state.running, state.now, capacity, pooled=len(capacity) == 1)
    if seen.closures:
        closed = seen.beside_closed()
        busy = busy.beside(summed(closed) if len(capacity) == 1 else closed)
        free = np.maximum(free - closed_amounts(seen.closures, state.now, state.machine), 0) if len(free) else free
    guaranteed = guarantee_on_nodes(queue, state.queue, planned, busy, capacity, free, settings, rule)
    first = [] if guaranteed.start is None else _now(guaranteed.start, [guaranteed.overdue])
    guarded = -1 if first or len(capacity) > 1 else guaranteed.overdue
    places = places[places != guaranteed.overdue]
    if not len(places):
        return Decision(_put(seen, first), LISTED, objective=0.0, guarantees=guaranteed.given)
    if len(free) and first:
        slots = np.bincount(first[0][1], minlength=len(free))
        free = free - slots[:, None] * np.array(state.queue[guaranteed.overdue].demand)
    problem, scale = problem_beside(
        guaranteed.busy, capacity, [state.queue[place] for place in places], weight[places], free_now=free
    )
    crowd = np.flatnonzero(queue.fits[places])[MOST_SEARCHED:] if len(capacity) > 1 else places[:0]
    kept = replace(problem, latest=guaranteed.latest[places])
    best, searched = _best(kept, crowd, settings.iterations, rule)
    if best is None:
        best, searched = _best(problem, crowd, settings.iterations, rule)
    if best is not None:
        best = _in_turn(best, [state.queue[place] for place in places], weight[places], guaranteed.latest[places])
    return Decision(
        starts=_put(seen, first + ([] if best is None else _now(best, places.tolist())), guarded),
        origin=SEARCHED if searched else LISTED,
        candidates=len(places),
        requested=int(problem.need.sum()),
        objective=math.nan if best is None else best.cost / scale,
        guarantees=guaranteed.given,
    )


def _best(problem: Problem, crowd: IntArray, iterations: int, rule: PlacementRule) -> tuple[Schedule | None, bool]:
    """Return the best schedule, and whether the search improved on every list.

    The jobs of the `crowd` follow the others in their order, after the best order of those is known.
    """
    others = np.delete(np.arange(problem.jobs), crowd)
    few = problem.of_jobs(others) if len(crowd) else problem
    orders = list_orders(few)
    if few.latest.min(initial=WHENEVER) < WHENEVER:
        orders.append(np.argsort(few.latest, kind="stable"))
    listed, which = best_of(few, orders, rule)
    if listed is None:
        return None, False
    schedule, _ = improve(few, orders[which], iterations, np.random.default_rng(0), rule)
    best = rearranged(few, schedule)
    searched = best.cost < listed.cost
    if len(crowd):
        order = np.concatenate((others[np.argsort(best.starts, kind="stable")], crowd))
        return list_schedule(problem, order, rule), searched
    return best, searched


def _in_turn(schedule: Schedule, jobs: Sequence[Waiting], weight: FloatArray, latest: IntArray) -> Schedule:
    """Among jobs that differ only in guaranteed starts, let the first start first, if all guarantees hold."""
    alike: dict[Any, list[int]] = {}
    for row, job in enumerate(jobs):
        key = weight[row], job.predicted, job.nodes, job.demand
        alike.setdefault(key, []).append(row)
    starts = schedule.starts.copy()
    counts = schedule.counts.copy()
    for rows in alike.values():
        rows.sort(key=lambda row: jobs[row].place)
        given = sorted(rows, key=lambda row: schedule.starts[row])
        if (schedule.starts[given] <= latest[rows]).all():
            starts[rows] = schedule.starts[given]
            counts[rows] = schedule.counts[given]
    return replace(schedule, starts=starts, counts=counts)


def _now(schedule: Schedule, places: Sequence[int]) -> list[tuple[int, Placement]]:
    """Return the jobs that start now, of those at `places` in the queue, with nodes."""
    nodes = np.arange(schedule.counts.shape[1])
    now = np.flatnonzero(schedule.starts == 0).tolist()
    return [(places[job], np.repeat(nodes, schedule.counts[job])) for job in now]


def _put(
    seen: DecisionInput, chosen: Sequence[tuple[int, Placement]], guarded: int = -1
) -> list[tuple[int, Placement]]:
    return put(seen, [place for place, _ in chosen], guarded, [nodes for _, nodes in chosen])
