"""How the slots of a job lie on nodes: within groups of a level, in few groups, or several units on one node.

A level divides the nodes into groups: racks, blocks, or nodes below one switch. Labels tell the group of each node,
from the level with the smallest groups on. All functions narrow or order the slots that fit on each node.
"""

from typing import NamedTuple

import numpy as np

from ...base import IntArray
from ..compiled import compiled, within

#: Labels of a machine without levels, and no table of unequal slots.
NO_LABELS = np.zeros((0, 0), dtype=np.int64)
NO_PACKS = np.zeros(0, dtype=np.int64)
#: Marks of nodes: it may still be taken, it is taken or has no slots, it is outside of the chosen group.
_OPEN, _GONE, _OUTSIDE = range(3)
#: Marks of groups, in place of their sums: chosen, and not suitable.
_CHOSEN, _REFUSED = -1, -2


@within
def _sum_groups(fits: IntArray, labels: IntArray, mark: IntArray, marked: bool, sums: IntArray) -> int:
    """Set the slots of each group. With `marked` only open nodes count. Return the number of groups."""
    count = 0
    for node in range(len(labels)):
        count = max(count, labels[node] + 1)
    for group in range(count):
        sums[group] = 0
    for node in range(len(fits)):
        if not marked or mark[node] == _OPEN:
            sums[labels[node]] += fits[node]
    return int(count)


@within
def _least_sufficient(sums: IntArray, count: int, slots: int) -> int:
    """Return the group with the least room that suffices, -1 if there is none."""
    best = -1
    for group in range(count):
        if sums[group] >= slots and (best < 0 or sums[group] < sums[best]):
            best = group
    return best


@within
def _largest(sums: IntArray, count: int) -> int:
    """Return the group with the most room."""
    best = 0
    for group in range(1, count):
        if sums[group] > sums[best]:
            best = group
    return best


@within
def most_in_groups(fits: IntArray, labels: IntArray, groups: int, sums: IntArray) -> int:
    """Return how many slots fit in so many groups together."""
    count = _sum_groups(fits, labels, fits, False, sums)
    total = 0
    for _ in range(min(groups, count)):
        best = _largest(sums, count)
        total += max(sums[best], 0)
        sums[best] = 0
    return int(total)


@within
def gather(fits: IntArray, slots: int, labels: IntArray, groups: int, sums: IntArray) -> bool:
    """Set the slots outside of at most so many groups to 0. Return whether those inside suffice.

    The group with the least room that suffices is the last one. Before it come the groups with the most room.
    """
    count = _sum_groups(fits, labels, fits, False, sums)
    left = slots
    for _ in range(groups):
        best = _least_sufficient(sums, count, left)
        if best < 0:
            best = _largest(sums, count)
            if sums[best] <= 0:
                return False
        left -= sums[best]
        sums[best] = _CHOSEN
        if left <= 0:
            break
    if left > 0:
        return False
    for node in range(len(fits)):
        if sums[labels[node]] != _CHOSEN:
            fits[node] = 0
    return True


@within
def pack(fits: IntArray, sizes: IntArray, labels: IntArray, group: int, order: IntArray, count: int) -> bool:
    """Set the units on each node to those of slots of unequal sizes. Return whether there is room for all.

    The largest slot comes first. Each goes to the first node with room, in an order of `count` nodes. With a `group`
    above -1, all lie in it.
    """
    # A node's remaining room is counted below 0, its used units above: no second array is needed.
    for node in range(len(fits)):
        fits[node] = -fits[node]
    placed = True
    for slot in range(len(sizes)):
        size = sizes[slot]
        chosen = -1
        for place in range(count):
            node = order[place]
            room, _ = _split(fits[node])
            if room >= size and (group < 0 or labels[node] == group):
                chosen = node
                break
        if chosen < 0:
            placed = False
            break
        room, used = _split(fits[chosen])
        fits[chosen] = _joined(room - size, used + size)
    for node in range(len(fits)):
        room, used = _split(fits[node])
        fits[node] = used if placed else room + used
    return placed


@within
def _split(number: int) -> tuple[int, int]:
    """Return remaining room and used units of a node."""
    if number <= 0:
        return -number, 0
    return number >> 31, number & ((1 << 31) - 1)


@within
def _joined(room: int, used: int) -> int:
    return (room << 31) | used


@within
def gather_packed(
    fits: IntArray, sizes: IntArray, labels: IntArray, sums: IntArray, order: IntArray, count: int
) -> bool:
    """Set the units on each node to those of unequal slots in one group. Return whether a group has room for all."""
    slots = 0
    for slot in range(len(sizes)):
        slots += sizes[slot]
    groups = _sum_groups(fits, labels, fits, False, sums)
    while True:
        best = _least_sufficient(sums, groups, slots)
        if best < 0:
            return False
        if pack(fits, sizes, labels, best, order, count):
            return True
        sums[best] = _REFUSED


@within
def order_compactly(
    fits: IntArray, slots: int, labels: IntArray, sums: IntArray, mark: IntArray, order: IntArray
) -> int:
    """Order the nodes for slots in few groups of each level. Return how many nodes are needed.

    The smallest group that suffices is filled. Levels are tried from the one with the smallest groups on. A group of a
    larger level is filled by its smaller groups, the one with the most room first. So are all, if no group suffices.

    Parameters
    ----------
    fits
        Slots that fit on each node, shape (nodes,). Together they suffice.
    slots
        Number of slots.
    labels
        Group of each node, shape (levels, nodes).
    sums, mark
        Buffers, shape (nodes,).
    order
        Receives the nodes, shape (nodes,).
    """
    levels = len(labels)
    taken = 0
    left = slots
    for node in range(len(fits)):
        mark[node] = _OPEN if fits[node] > 0 else _GONE
    while left > 0:
        level = 0
        group = -1
        count = 0
        while level < levels:
            count = _sum_groups(fits, labels[level], mark, True, sums)
            group = _least_sufficient(sums, count, left)
            if group >= 0:
                break
            level += 1
        if group >= 0:
            for node in range(len(fits)):
                if mark[node] == _OPEN and labels[level, node] != group:
                    mark[node] = _OUTSIDE
        level -= 1
        if level >= 0:  # The nodes of its smaller group with the most room.
            count = _sum_groups(fits, labels[level], mark, True, sums)
            group = _largest(sums, count)
        before = taken
        for node in range(len(fits)):
            if mark[node] == _OPEN and (level < 0 or labels[level, node] == group) and left > 0:
                mark[node] = _GONE
                order[taken] = node
                taken += 1
                left -= fits[node]
        if taken == before:
            break
    return taken


@compiled
def compact_order(counts: IntArray, slots: int, labels: IntArray) -> IntArray:
    """Return the nodes for slots in few groups of each level, see :func:`order_compactly`. `counts` fit on each."""
    nodes = len(counts)
    order = np.empty(nodes, dtype=np.int64)
    taken = order_compactly(
        counts, slots, labels, np.empty(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64), order
    )
    return order[:taken]


@compiled
def gathered(counts: IntArray, slots: int, labels: IntArray, groups: int) -> bool:
    """Set the slots outside of at most so many groups of a level to 0, see :func:`gather`. `labels` are those of it."""
    return gather(counts, slots, labels, groups, np.empty(len(counts), dtype=np.int64))


@compiled
def packed(counts: IntArray, sizes: IntArray, labels: IntArray) -> bool:
    """Set the units on each node to those of unequal slots, see :func:`pack`.

    With `labels` of a level all lie in one group of it, else these are empty.
    """
    order = np.arange(len(counts))
    if len(labels) == 0:
        return pack(counts, sizes, labels, -1, order, len(order))
    return gather_packed(counts, sizes, labels, np.empty(len(counts), dtype=np.int64), order, len(order))


@compiled
def place_compactly(
    start: IntArray, end: IntArray, slots: IntArray, room: IntArray, labels: IntArray, placed: IntArray
) -> None:
    """Place jobs in few groups, in order of their starts. They fit wherever they are: all slots are equal.

    Parameters
    ----------
    start, end, slots
        Of each job, in order of start. At one instant, ends come before starts. Shape (jobs,).
    room
        Slots of each empty node, shape (nodes,). Changed.
    labels
        Group of each node, shape (levels, nodes).
    placed
        Receives the nodes of all slots, one job after the other.
    """
    levels, nodes = labels.shape
    # The room of each group is counted on. A job reads only the nodes of groups that it uses.
    groups = np.zeros(levels, dtype=np.int64)
    most = _count_all_groups(labels, groups)
    free = np.zeros((levels, most), dtype=np.int64)
    sums = np.zeros((levels, most), dtype=np.int64)
    inside = np.empty(levels, dtype=np.int64)
    members = np.empty(levels * nodes, dtype=np.int64)
    begins = np.zeros((levels, most + 1), dtype=np.int64)
    for level in range(levels):
        members[level * nodes : (level + 1) * nodes] = np.argsort(labels[level], kind="mergesort")
        begins[level, 0] = level * nodes
        for node in range(nodes):
            free[level, labels[level, node]] += room[node]
            begins[level, labels[level, node] + 1] += 1
        for group in range(most):
            begins[level, group + 1] += begins[level, group]
    first = np.zeros(len(slots) + 1, dtype=np.int64)
    for job in range(len(slots)):
        first[job + 1] = first[job] + slots[job]
    ending = np.argsort(end, kind="mergesort")
    gone = 0
    for job in range(len(slots)):
        while end[ending[gone]] <= start[job]:
            for slot in range(first[ending[gone]], first[ending[gone] + 1]):
                node = placed[slot]
                room[node] += 1
                for level in range(levels):
                    free[level, labels[level, node]] += 1
            gone += 1
        left = slots[job]
        at = first[job]
        sums[:] = free
        inside[:] = -1
        while left > 0:
            level = 0
            group = -1
            while level < levels:
                group = _least_sufficient(sums[level], groups[level], left)
                if group >= 0:
                    break
                level += 1
            if group >= 0 and level > 0 and inside[level] != group:
                inside[level] = group
                sums[:] = 0
                for place in range(begins[level, group], begins[level, group + 1]):
                    node = members[place]
                    if room[node] > 0 and _is_inside(labels, node, inside):
                        for each in range(levels):
                            sums[each, labels[each, node]] += room[node]
            if level > 0:  # The nodes of its smaller group with the most room.
                level -= 1
                group = _largest(sums[level], groups[level])
            for place in range(begins[level, group], begins[level, group + 1]):
                node = members[place]
                here = min(room[node], left)
                if here > 0 and _is_inside(labels, node, inside):
                    room[node] -= here
                    left -= here
                    for each in range(levels):
                        free[each, labels[each, node]] -= here
                        sums[each, labels[each, node]] -= here
                    for _ in range(here):
                        placed[at] = node
                        at += 1


@within
def _count_all_groups(labels: IntArray, counts: IntArray) -> int:
    """Set the number of groups of each level, shape (levels,). Return the largest, at least 1."""
    most = 1
    for level in range(len(labels)):
        for node in range(labels.shape[1]):
            counts[level] = max(counts[level], labels[level, node] + 1)
        most = max(most, counts[level])
    return int(most)


@within
def _is_inside(labels: IntArray, node: int, inside: IntArray) -> bool:
    """Return whether a node lies in the chosen group of each level, -1 for none."""
    member = True
    for level in range(len(inside)):
        member = member and (inside[level] < 0 or labels[level, node] == inside[level])
    return member


class PlacedAttempts(NamedTuple):
    """Attempts with their nodes, by start.

    Attributes
    ----------
    start, end
        Seconds, shape (attempts,).
    first, node, factor
        Where the slots of each attempt begin, shape (attempts + 1,), their nodes, and units on each.
    kind
        Row of its amounts, shape (attempts,).
    slots
        Number of units, shape (attempts,).
    demand
        Amounts of a unit of each kind, shape (kinds, resources).
    """

    start: IntArray
    end: IntArray
    first: IntArray
    node: IntArray
    factor: IntArray
    kind: IntArray
    slots: IntArray
    demand: IntArray


@compiled
def least_groups(
    attempts: PlacedAttempts, asked: IntArray, packs: IntArray, capacity: IntArray, labels: IntArray
) -> IntArray:
    """Return in how few groups attempts could have started, beside all that runs right after their starts.

    Parameters
    ----------
    attempts
        All attempts.
    asked
        Which of them to answer, shape (attempts,). The others get 1.
    packs
        Unequal slots as in a profile. `asked` is 1, or else where they are.
    capacity, labels
        Of the machine, shape (nodes, resources), and the group of each node. Shape (nodes,).
    """
    count = len(attempts.start)
    least = np.ones(count, dtype=np.int64)
    free = capacity.copy()
    nodes = len(capacity)
    kinds = len(attempts.demand)
    groups = 0
    for place in range(nodes):
        groups = max(groups, labels[place] + 1)
    # The slots that fit in each group are counted on, for all kinds. With many kinds, and few attempts to answer, they
    # are counted anew for each of these instead.
    counted = kinds * len(attempts.node) <= nodes * np.count_nonzero(asked)
    rooms = np.zeros((kinds if counted else 0, groups), dtype=np.int64)
    for kind in range(len(rooms)):
        for place in range(nodes):
            rooms[kind, labels[place]] += _room_on(free[place], attempts.demand[kind])
    fits = np.empty(nodes, dtype=np.int64)
    sums = np.empty(nodes, dtype=np.int64)
    order = np.arange(nodes)
    ending = np.argsort(attempts.end, kind="mergesort")
    gone = 0
    job = 0
    while job < count:
        now = attempts.start[job]
        while gone < count and attempts.end[ending[gone]] <= now:
            if attempts.start[ending[gone]] < now:
                _use(free, ending[gone], 1, attempts, rooms, labels)
            gone += 1
        last = job
        while last < count and attempts.start[last] == now:
            last += 1
        # An attempt that starts alone is answered before its own amounts are taken.
        alone = last == job + 1
        if not alone:
            for each in range(job, last):
                if attempts.end[each] > now:
                    _use(free, each, -1, attempts, rooms, labels)
        for each in range(job, last):
            if asked[each] == 0 or attempts.end[each] == now:
                continue
            kind = attempts.kind[each]
            if not alone:
                _use(free, each, 1, attempts, rooms, labels)
            if counted:
                sums[:groups] = rooms[kind]
            if not counted or asked[each] > 1:
                for place in range(nodes):
                    fits[place] = _room_on(free[place], attempts.demand[kind])
                _sum_groups(fits, labels, fits, False, sums)
            if not alone:
                _use(free, each, -1, attempts, rooms, labels)
            left = attempts.slots[each]
            needed = 0
            while left > 0 and needed < groups:
                best = _largest(sums, groups)
                left -= sums[best]
                sums[best] = 0
                needed += 1
            if asked[each] > 1:
                sizes = packs[asked[each] : asked[each] + packs[asked[each] - 1]]
                needed = 1 if gather_packed(fits, sizes, labels, sums, order, nodes) else max(needed, 2)
            least[each] = needed
        if alone and attempts.end[job] > now:
            _use(free, job, -1, attempts, rooms, labels)
        job = last
    return least


@within
def _room_on(free: IntArray, demand: IntArray) -> int:
    """Return how many units fit in the free amounts of a node."""
    most = -1
    for resource in range(len(demand)):
        needs = demand[resource]
        if needs > 0:
            # Most nodes have room for none or one: a division is needed for few.
            here = max(free[resource], 0)
            here = here // needs if here >= 2 * needs else int(here >= needs)
            most = here if most < 0 else min(most, here)
    return max(most, 0)


@within
def _use(free: IntArray, attempt: int, sign: int, attempts: PlacedAttempts, rooms: IntArray, labels: IntArray) -> None:
    """Add `sign` times the amounts of an attempt, also to the slots of each kind that fit in groups."""
    kind = attempts.kind[attempt]
    for slot in range(attempts.first[attempt], attempts.first[attempt + 1]):
        place = attempts.node[slot]
        for each in range(len(rooms)):
            rooms[each, labels[place]] -= _room_on(free[place], attempts.demand[each])
        for resource in range(free.shape[1]):
            free[place, resource] += sign * attempts.factor[slot] * attempts.demand[kind, resource]
        for each in range(len(rooms)):
            rooms[each, labels[place]] += _room_on(free[place], attempts.demand[each])


@compiled
def stranded_share(
    start: IntArray, end: IntArray, first: IntArray, node: IntArray, labels: IntArray, size: int
) -> float:
    """Return the share of free nodes, over time, in groups with fewer free nodes than a size.

    Parameters
    ----------
    start, end
        Of the attempts, by start, seconds. Shape (attempts,).
    first, node
        Where the nodes of each attempt begin, shape (attempts + 1,), and the nodes, each once.
    labels
        Group of each node, shape (nodes,).
    size
        Number of nodes.
    """
    count = len(start)
    busy = np.zeros(len(labels), dtype=np.int64)
    groups = 0
    for place in range(len(labels)):
        groups = max(groups, labels[place] + 1)
    free = np.zeros(groups, dtype=np.int64)
    for place in range(len(labels)):
        free[labels[place]] += 1
    total = len(labels)
    stranded = 0
    for group in range(groups):
        stranded += free[group] if free[group] < size else 0
    ending = np.argsort(end, kind="mergesort")
    begun = gone = 0
    now = start[0] if count else 0
    lost = whole = 0.0
    while gone < count:
        time = end[ending[gone]]
        if begun < count:
            time = min(time, start[begun])
        lost += float(stranded) * (time - now)
        whole += float(total) * (time - now)
        now = time
        if end[ending[gone]] <= time and (begun == count or end[ending[gone]] <= start[begun]):
            job, change = ending[gone], -1
            gone += 1
            if start[job] == end[job]:
                continue
        else:
            job, change = begun, 1
            begun += 1
            if start[job] == end[job]:
                continue
        for place in range(first[job], first[job + 1]):
            was = busy[node[place]] == 0
            busy[node[place]] += change
            is_free = busy[node[place]] == 0
            if was != is_free:
                group = labels[node[place]]
                stranded -= free[group] if free[group] < size else 0
                free[group] += 1 if is_free else -1
                total += 1 if is_free else -1
                stranded += free[group] if free[group] < size else 0
    return lost / whole if whole > 0 else np.nan


@compiled
def count_groups(first: IntArray, node: IntArray, labels: IntArray) -> IntArray:
    """Return the number of groups of each placement, whose nodes begin at `first`. Shape (placements,)."""
    count = len(first) - 1
    seen = np.full(len(labels), -1)
    groups = np.zeros(count, dtype=np.int64)
    for each in range(count):
        for slot in range(first[each], first[each + 1]):
            group = labels[node[slot]]
            if seen[group] != each:
                seen[group] = each
                groups[each] += 1
    return groups
