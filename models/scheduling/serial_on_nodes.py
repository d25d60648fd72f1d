"""Compiled schedule generation on nodes: the earliest start of a job's slots, and their nodes.

The profile is a list of steps. Splitting a step moves no rows. The number of slots that fit at a step is an upper bound
afterwards, because a schedule only fills up. Equal nodes form one part of a class until a job uses some of them. So the
work depends on the number of different nodes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import IntArray
from ..compiled import compiled
from .node_classes import NodeClasses, equal_rows
from .node_groups import slots_on
from .selection import stable_order

#: Counters of a room: its parts, its rows of amounts, and the parts of the last job.
ROOM_COUNTS = np.dtype([(name, np.int64) for name in ("parts", "rows", "given")])


class NodeData(NamedTuple):
    """Inputs of a decoding.

    Attributes
    ----------
    duration, slots
        Of each job, shape (jobs,).
    demand
        Amounts per slot, shape (jobs, resources).
    kind
        Number of the job's distinct demand, shape (jobs,).
    members, begin
        Nodes, class by class, and begin of each class, as in :class:`.node_classes.NodeClasses`.
    times
        Times of the profile, shape (steps,).
    free
        Free amounts on a node of each class from each time on. Shape (steps, resources, classes).
    total
        Sum of free amounts over the nodes, negative amounts as zero. Shape (steps, resources).
    drop
        Whether some amount is lower than at the step before. Shape (steps,). Otherwise, what fitted still fits.
    known
        Upper bound on the slots of each kind that fit at each step. Shape (steps, kinds).
    capacity
        Capacity of a node of each class. Shape (resources, classes), at least 1.
    best_fit
        Whether nodes of least free share come first.
    """

    duration: IntArray
    slots: IntArray
    demand: IntArray
    kind: IntArray
    members: IntArray
    begin: IntArray
    times: IntArray
    free: IntArray
    total: IntArray
    drop: NDArray[np.bool_]
    known: IntArray
    capacity: IntArray
    best_fit: bool


class NodeRoom(NamedTuple):
    """A profile to fill, with room for more steps and more parts of classes.

    A job that uses some nodes of a part splits it into these and the others. On every node of a part the job has equal
    slots.

    Attributes
    ----------
    counts
        One record of type :data:`ROOM_COUNTS`, shape (1,).
    first, nodes
        Position among the members and number of nodes of each part. Shape (most parts,).
    origin
        Class of each part.
    at
        Times of the steps in their order, shape (most,).
    row
        Row of the amounts of each step, shape (most,).
    free, total, drop, known
        As in :class:`NodeData`, by row; `free` by part.
    least
        Free amounts on a node of each part during a whole job. Shape (resources, most parts).
    fits
        Slots that fit on a node of each part during a whole job. Shape (most parts,).
    given, slots
        Parts of the last job, and its slots on each of their nodes. Shape (most parts,).
    taken
        Number of chosen nodes of each part during the choice. Shape (most parts,).
    """

    counts: NDArray[np.void]
    first: IntArray
    nodes: IntArray
    origin: IntArray
    at: IntArray
    row: IntArray
    free: IntArray
    total: IntArray
    drop: NDArray[np.bool_]
    known: IntArray
    least: IntArray
    fits: IntArray
    given: IntArray
    slots: IntArray
    taken: IntArray


def node_arrays(
    classes: NodeClasses, duration: IntArray, slots: IntArray, demand: IntArray, best_fit: bool
) -> tuple[NodeData, NodeRoom]:
    """Prepare the inputs and the buffers of a decoding."""
    times, free = classes.times, classes.free
    _, kind = equal_rows(demand)
    kind = np.ascontiguousarray(kind, dtype=np.int64)
    kinds = int(kind.max(initial=-1)) + 1
    known = np.full((len(times), kinds), np.iinfo(np.int64).max)
    by_resource = np.ascontiguousarray(free.transpose(0, 2, 1))
    data = NodeData(
        duration,
        slots,
        demand,
        kind,
        classes.members,
        classes.begin,
        times,
        by_resource,
        np.maximum(by_resource, 0) @ classes.count,
        np.diff(free, axis=0, prepend=free[:1]).min(axis=(1, 2), initial=0) < 0,
        known,
        np.ascontiguousarray(np.maximum(classes.capacity, 1).T),
        best_fit,
    )
    return data, _room(len(times) + len(duration) + 1, free.shape[2], len(classes.members), kinds)


def _room(most: int, resources: int, parts: int, kinds: int) -> NodeRoom:
    """Return buffers for `most` steps and `parts` parts. The system only allocates memory that is used."""
    line = np.empty(most, dtype=np.int64)
    by_part = np.empty((7, parts), dtype=np.int64)
    return NodeRoom(
        np.zeros(1, dtype=ROOM_COUNTS),
        by_part[0],
        by_part[1],
        by_part[2],
        line,
        np.empty_like(line),
        np.empty((most, resources, parts), dtype=np.int64),
        np.empty((most, resources), dtype=np.int64),
        np.empty(most, dtype=np.bool_),
        np.empty((most, kinds), dtype=np.int64),
        np.empty((resources, parts), dtype=np.int64),
        by_part[3],
        by_part[4],
        by_part[5],
        by_part[6],
    )


@compiled
def open_room(data: NodeData, room: NodeRoom) -> None:
    """Reset the profile to the occupied amounts, with every class as one part."""
    steps, resources, classes = data.free.shape
    room.counts[0].parts = classes
    room.counts[0].rows = steps
    for part in range(classes):
        room.first[part] = data.begin[part]
        room.nodes[part] = data.begin[part + 1] - data.begin[part]
        room.origin[part] = part
    for step in range(steps):
        room.at[step] = data.times[step]
        room.row[step] = step
        room.drop[step] = data.drop[step]
        for kind in range(data.known.shape[1]):
            room.known[step, kind] = data.known[step, kind]
        for resource in range(resources):
            room.total[step, resource] = data.total[step, resource]
            for part in range(classes):
                room.free[step, resource, part] = data.free[step, resource, part]


@compiled
def learn(data: NodeData, room: NodeRoom) -> None:
    """Count in ``data.known`` the slots of each kind that fit at each step. Useful before many decodings."""
    open_room(data, room)
    widest = np.full(data.known.shape[1], -1)
    for job in range(len(data.kind)):
        other = widest[data.kind[job]]
        if other < 0 or data.slots[other] < data.slots[job]:
            widest[data.kind[job]] = job
    for job in widest:
        for step in range(len(data.times)):
            fitting = _slots(job, data, room, data.free[step], data.slots[job])
            if fitting < data.slots[job]:
                data.known[step, data.kind[job]] = fitting


@compiled
def earliest_on_nodes(job: int, data: NodeData, room: NodeRoom, steps: int, first: int = 0) -> tuple[int, int]:
    """Return the first step where a job fits, and the first step at or after its end. (-1, -1) if none.

    The search starts at step `first`. Afterwards `room` holds the free amounts of each node during the whole job, and
    the slots that fit there.
    """
    last = 0
    row = room.row
    at = room.at
    drop = room.drop
    known = room.known
    total = room.total
    while first < steps:
        # Each step before `last` has room for the job, by itself.
        last = max(last, first)
        while last < steps and (last == first or at[last] < at[first] + data.duration[job]):
            if last == first or drop[row[last]]:
                surely_not = _too_few(job, data.kind[job], data.slots[job], data.demand, row[last], known, total)
                if surely_not or not _fits_alone(job, data, room, row[last]):
                    first = last + 1
            last += 1
        if first == steps:
            break
        blocked = _blocked(job, data, room, first, last)
        if blocked < 0:
            return first, last
        first = blocked + 1
    return -1, -1


@compiled
def _too_few(job: int, kind: int, slots: int, demand: IntArray, row: int, known: IntArray, total: IntArray) -> bool:
    """Return whether sums and counts prove that a job does not fit at a step.

    It takes few arrays, because passing them dominates its time.
    """
    few: bool = known[row, kind] < slots
    for resource in range(demand.shape[1]):
        few |= slots * demand[job, resource] > total[row, resource]
    return few


@compiled
def _fits_alone(job: int, data: NodeData, room: NodeRoom, row: int) -> bool:
    """Return whether a job fits at one step, regardless of later steps."""
    slots = _slots(job, data, room, room.free[row], data.slots[job])
    if slots >= data.slots[job]:
        return True
    room.known[row, data.kind[job]] = slots
    return False


@compiled
def _blocked(job: int, data: NodeData, room: NodeRoom, first: int, last: int) -> int:
    """Return a step in [first, last) that prevents the job's start at `first`. -1 if none."""
    least_between(room, first, last)
    if fill(job, data, room) >= data.slots[job]:
        return -1
    # Search from the end. A step that fails from there fails for every earlier start.
    least_between(room, last - 1, last)
    for step in range(last - 1, first, -1):
        row = room.row[step]
        if room.drop[row]:
            _narrow(room, row)
            if _slots(job, data, room, room.least, data.slots[job]) < data.slots[job]:
                return step
    return first


@compiled
def least_between(room: NodeRoom, first: int, last: int) -> None:
    """Set ``room.least`` to the amounts free at all steps in [first, last)."""
    free = room.free[room.row[first]]
    for resource in range(free.shape[0]):
        for part in range(room.counts[0].parts):
            room.least[resource, part] = free[resource, part]
    for step in range(first + 1, last):
        if room.drop[room.row[step]]:
            _narrow(room, room.row[step])


@compiled
def _narrow(room: NodeRoom, row: int) -> None:
    least, free = room.least, room.free[row]
    for resource in range(free.shape[0]):
        for part in range(room.counts[0].parts):
            least[resource, part] = min(least[resource, part], free[resource, part])


@compiled
def _slots(job: int, data: NodeData, room: NodeRoom, free: IntArray, enough: int) -> int:
    """Return how many slots of a job fit in `free`. Any number at least `enough` once that is reached."""
    total = 0
    for part in range(room.counts[0].parts):
        total += room.nodes[part] * slots_on(data.demand[job], free[:, part], enough)
        if total >= enough:
            break
    return total


@compiled
def fill(job: int, data: NodeData, room: NodeRoom) -> int:
    """Store the slots of a job that fit on a node of each part in ``room.fits``. Return their total."""
    total = 0
    for part in range(room.counts[0].parts):
        room.fits[part] = slots_on(data.demand[job], room.least[:, part], data.slots[job])
        total += room.nodes[part] * room.fits[part]
    return total


@compiled
def choose_nodes(job: int, data: NodeData, room: NodeRoom, counts: IntArray) -> None:
    """Choose nodes for a job's slots by ``room.fits``: in node order, or least free share first.

    Parts with some chosen nodes are split, so that a job has whole parts.

    Parameters
    ----------
    counts
        Receives the slots on each node, shape (nodes,), or empty.
    """
    for node in range(len(counts)):
        counts[node] = 0
    room.counts[0].given = count = 0
    fitting = np.empty(room.counts[0].parts, dtype=np.int64)
    share = np.zeros(room.counts[0].parts)
    for part in range(room.counts[0].parts):
        if room.fits[part]:
            fitting[count] = part
            if data.best_fit:
                for resource in range(data.capacity.shape[0]):
                    share[count] += room.least[resource, part] / data.capacity[resource, room.origin[part]]
            count += 1
    order = stable_order(share[:count])
    parts = np.empty(count, dtype=np.int64)
    for place in range(count):
        parts[place] = fitting[order[place]]
    slots, begin = data.slots[job], 0
    while slots:
        end = begin + 1
        while end < count and share[order[end]] == share[order[begin]]:
            end += 1
        slots = _take_alike(parts[begin:end], slots, data, room)
        begin = end
    for place in range(room.counts[0].given if len(counts) else 0):
        part = room.given[place]
        for member in range(room.first[part], room.first[part] + room.nodes[part]):
            counts[data.members[member]] = room.slots[place]


@compiled
def _take_alike(parts: IntArray, slots: int, data: NodeData, room: NodeRoom) -> int:
    """Place slots on nodes of equal preference, in node order. Return how many remain."""
    all_there = 0
    for part in parts:
        room.taken[part] = 0
        all_there += room.fits[part] * room.nodes[part]
    if all_there <= slots:
        for part in parts:
            _give(part, room.fits[part], room)
        return slots - all_there
    chosen = -1
    while slots and (chosen < 0 or slots >= room.fits[chosen]):
        chosen, slots = _take_run(parts, slots, data, room)
    for part in parts:
        rest = part
        if room.taken[part]:
            rest = _split(part, room.taken[part], room)
            _give(part, room.fits[part], room)
        if slots and part == chosen:
            _split(rest, 1, room)
            _give(rest, slots, room)
    return 0


@compiled
def _take_run(parts: IntArray, slots: int, data: NodeData, room: NodeRoom) -> tuple[int, int]:
    """Fill the next nodes within one part. Return the part of the next node, and the slots left."""
    lowest = -1
    until = len(data.members)
    chosen = -1
    for part in parts:
        if room.taken[part] < room.nodes[part]:
            head = data.members[room.first[part] + room.taken[part]]
            if lowest < 0 or head < lowest:
                until = lowest if lowest >= 0 else until
                lowest, chosen = head, part
            elif head < until:
                until = head
    fits = room.fits[chosen]
    first = room.first[chosen]
    while slots >= fits:
        room.taken[chosen] += 1
        slots -= fits
        if room.taken[chosen] == room.nodes[chosen] or data.members[first + room.taken[chosen]] > until:
            return -1, slots
    return chosen, slots


@compiled
def _give(part: int, slots: int, room: NodeRoom) -> None:
    place = room.counts[0].given
    room.given[place] = part
    room.slots[place] = slots
    room.counts[0].given = place + 1


@compiled
def _split(part: int, count: int, room: NodeRoom) -> int:
    """Keep the first `count` nodes in a part. Return the part with the others."""
    new: int = room.counts[0].parts
    if count == room.nodes[part]:
        return part
    room.counts[0].parts = new + 1
    room.first[new], room.nodes[new] = room.first[part] + count, room.nodes[part] - count
    room.nodes[part] = count
    room.origin[new], room.fits[new] = room.origin[part], room.fits[part]
    for resource in range(room.least.shape[0]):
        room.least[resource, new] = room.least[resource, part]
        for row in range(room.counts[0].rows):
            room.free[row, resource, new] = room.free[row, resource, part]
    return new


@compiled
def take_given(job: int, data: NodeData, room: NodeRoom, first: int, last: int) -> None:
    """Occupy the amounts of a job's chosen parts from step `first` to before `last`."""
    room.drop[room.row[first]] = True
    for place in range(room.counts[0].given):
        part = room.given[place]
        for resource in range(room.least.shape[0]):
            amount = room.slots[place] * data.demand[job, resource]
            if amount:
                for step in range(first, last):
                    room.free[room.row[step], resource, part] -= amount
                    room.total[room.row[step], resource] -= amount * room.nodes[part]


@compiled
def hold_on_nodes(job: int, data: NodeData, room: NodeRoom, steps: int, first: int, last: int) -> int:
    """Occupy a job's amounts from `first` until its end before step `last`. Return the number of steps."""
    end = room.at[first] + data.duration[job]
    if last == steps or room.at[last] != end:
        for step in range(steps, last, -1):
            room.at[step] = room.at[step - 1]
            room.row[step] = room.row[step - 1]
        old = room.row[last - 1]
        room.at[last] = end
        room.row[last] = steps
        room.drop[steps] = False
        for kind in range(room.known.shape[1]):
            room.known[steps, kind] = room.known[old, kind]
        for resource in range(room.least.shape[0]):
            room.total[steps, resource] = room.total[old, resource]
            for part in range(room.counts[0].parts):
                room.free[steps, resource, part] = room.free[old, resource, part]
        steps += 1
        room.counts[0].rows = steps
    take_given(job, data, room, first, last)
    return steps
