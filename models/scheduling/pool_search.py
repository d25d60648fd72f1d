"""The best order of jobs on a pool, compiled: several orders, then a local search, each started as early as it fits.

Each job is a row; of one that can run in several modes each mode is, and an order has one row of each job.

An order is decoded from the first position on at which it asks for something else than the best one so far, and only
until the profile is again the one of the best. Jobs of one shape (amounts, duration, promise) are the same to the
profile: where they change places only the cost changes. What is free beyond all that is asked for is no step. Where
jobs that start now must find nodes, what is left of these is kept beside the profile.

A profile is an array of shape (1 + resources, steps): when the amounts change, and what is free from then on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import FloatArray, IntArray
from ..compiled import borrowing, compiled
from .instant_search import InstantSearch, keep_groups, kept_again, open_instant_search, resume_groups, same_groups
from .node_groups import Instant, finds_slots, place_now, take_now
from ..profiles.amounts import Steps

#: The profile is kept before every so many jobs of an order.
_EVERY = 8
#: Columns of the rows; what makes a shape comes last, with the amounts at the end.
DUE, LATEST, _SHAPE, FIRST, MODES, _DURATION, _PROMISED, _NEED = range(8)
#: The latest start of a row that may start whenever it fits.
_WHENEVER = np.iinfo(np.int64).max
#: What a move does: takes a job elsewhere, swaps two, or gives one another mode.
MOVED, SWAPPED, REMODED = range(3)
#: The best schedule so far, and the one that is tried.
BEST, _TRIED = range(2)


class PoolSearch(NamedTuple):
    """The jobs, the best order so far and the one that is tried. Few arrays: handing one on costs as much as a sum.

    Attributes
    ----------
    weight
        What each second costs that a job starts past its due time, shape (rows,).
    jobs
        Due time; the latest start; number among the different durations, promises and amounts; the first row of the
        same job, and how many it has; duration; the start that is promised the first row until it is the job's turn
        (-1 for none); the amounts; slots and number of their demand. Shape (rows, 9 + resources).
    order
        Permutations of the jobs, by a row of each, shape (2, jobs).
    starts
        Of the job at each position, -1 if it never fits, shape (2, jobs).
    cost
        Of the jobs before each position, and of all, shape (2, jobs + 1).
    kept, counts
        The profile before each `_EVERY`-th position, shape (2, profiles, 1 + resources, most), and of how many steps it
        is, shape (2, profiles).
    profile
        Where one is filled, shape (1 + resources, most).
    kind
        The same number for jobs that differ in nothing, shape (jobs,), so that they do not change places; or empty.
    now
        The nodes on which what starts now must find places, if there are any.
    """

    weight: IntArray | FloatArray
    jobs: IntArray
    order: IntArray
    starts: IntArray
    cost: IntArray | FloatArray
    kept: IntArray
    counts: IntArray
    profile: IntArray
    kind: IntArray
    now: InstantSearch


@compiled
def open_pool_search(
    weight: IntArray | FloatArray, due: IntArray, duration: IntArray, need: IntArray, promised: IntArray, held: Steps,
    kind: IntArray, instant: Instant,
) -> PoolSearch:  # fmt: skip
    """Make room for a search beside what is `held`, of which the first step is at 0; see :class:`PoolSearch`."""
    return open_mode_search(weight, due, duration, need, promised, held, np.arange(len(need)), kind, instant)


@compiled
def open_mode_search(
    weight: IntArray | FloatArray, due: IntArray, duration: IntArray, need: IntArray, promised: IntArray, held: Steps,
    mode_of: IntArray, kind: IntArray, instant: Instant,
) -> PoolSearch:  # fmt: skip
    """Make room for a search among modes: the rows of a job follow each other, with its number in `mode_of`."""
    (number, resources), placed = need.shape, len(instant.nodes) > 0
    rows = np.zeros((number, _NEED + resources + 2), dtype=np.int64)
    for row in range(number):
        rows[row, DUE], rows[row, _DURATION], rows[row, _PROMISED] = due[row], duration[row], promised[row]
        rows[row, LATEST] = _WHENEVER
        for resource in range(resources):
            rows[row, _NEED + resource] = need[row, resource]
        if placed:
            rows[row, _NEED + resources], rows[row, _NEED + resources + 1] = instant.slots[row], instant.kind[row]
    count = _number_modes(rows, mode_of)
    _number_shapes(rows)
    profiles, most = count // _EVERY + 1, len(held.at) + count + 2
    kept = np.empty((2, profiles, 1 + resources, most), dtype=np.int64)
    counts = np.zeros((2, profiles), dtype=np.int64)
    counts[BEST, 0] = _clip(held, need, kept[BEST, 0])
    if placed:
        counts[BEST, 0] = _cut(kept[BEST, 0], counts[BEST, 0], instant.later)
    order, starts = np.full((2, count), -1, dtype=np.int64), np.full((2, count), -1, dtype=np.int64)
    cost = np.zeros((2, count + 1), dtype=weight.dtype)
    profile, now = np.empty((1 + resources, most), dtype=np.int64), open_instant_search(instant, profiles)
    return PoolSearch(weight, rows, order, starts, cost, kept, counts, profile, kind, now)  # type: ignore[arg-type]


@compiled
def _number_modes(jobs: IntArray, mode_of: IntArray) -> int:
    """Note the first row of each job and how many it has; return how many jobs there are."""
    count, first = 0, 0
    for row in range(len(jobs)):
        if row == 0 or mode_of[row] != mode_of[first]:
            count, first = count + 1, row
        jobs[row, FIRST] = first
        for other in range(first, row + 1):
            jobs[other, MODES] = row + 1 - first
    return count


@compiled
def limit_promised(search: PoolSearch) -> None:
    """Let jobs that are promised a start in their first mode end no later than that in any other."""
    jobs = search.jobs
    for row in range(len(jobs)):
        if jobs[row, _PROMISED] >= 0:
            jobs[row, LATEST] = jobs[row, _PROMISED] + jobs[jobs[row, FIRST], _DURATION] - jobs[row, _DURATION]


@compiled
def _number_shapes(jobs: IntArray) -> None:
    """Give jobs that differ in neither duration nor promise nor amounts the same number."""
    first = np.empty(len(jobs), dtype=np.int64)
    shapes = 0
    for job in range(len(jobs)):
        number = 0
        while number < shapes and not _alike(jobs, job, first[number]):
            number += 1
        if number == shapes:
            first[number] = job
            shapes += 1
        jobs[job, _SHAPE] = number


@compiled
def _alike(jobs: IntArray, job: int, other: int) -> bool:
    for column in range(_DURATION, jobs.shape[1]):
        if jobs[job, column] != jobs[other, column]:
            return False
    # What is given back for a promise is that of the first row.
    return bool(jobs[job, _PROMISED] < 0 or jobs[job, MODES] + jobs[other, MODES] == 2)


@compiled
def _clip(held: Steps, need: IntArray, profile: IntArray) -> int:
    """Copy a profile without the steps between which there is room for all jobs together; return how many are left."""
    enough = np.zeros(need.shape[1], dtype=np.int64)
    for job in range(len(need)):
        for resource in range(len(enough)):
            enough[resource] += need[job, resource]
    count, roomy = 0, False
    for step in range(len(held.at)):
        was_roomy, roomy = roomy, True
        for resource in range(len(enough)):
            roomy = roomy and held.free[step, resource] >= enough[resource]
        if not (roomy and was_roomy):
            profile[0, count] = held.at[step]
            for resource in range(len(enough)):
                profile[1 + resource, count] = held.free[step, resource]
            count += 1
    return count


@compiled
def _cut(profile: IntArray, count: int, time: int) -> int:
    """Have a step begin at a time, with what is free then; return how many there are."""
    step = _step_of(profile, count, time)
    if profile[0, step] == time:
        return count
    for row in range(profile.shape[0]):
        for later in range(count, step, -1):
            profile[row, later] = profile[row, later - 1]
    profile[0, step + 1] = time
    return count + 1


@compiled
def best_of_orders(search: PoolSearch, orders: IntArray, worst: float) -> int:
    """Decode the `orders`, shape (orders, jobs); keep the first of least cost, below `worst`; return which."""
    which, cost = 0, worst
    for place in range(len(orders)):
        for position in range(orders.shape[1]):
            search.order[_TRIED, position] = orders[place, position]
        first, until, found = _decode(search, cost)
        if found < cost:
            cost, which = found, place
            _accept(search, first, until)
    return which


@borrowing
def improve_order(search: PoolSearch, moves: IntArray) -> None:
    """Change the best order again and again, and keep what is not worse.

    Parameters
    ----------
    search
        With a best order.
    moves
        Two positions, and whether the first job is moved to the second, both are swapped, or the first gets another
        mode, by the second; shape (moves, 3).
    """
    order, cost = search.order, search.cost
    for position in range(order.shape[1]):
        order[_TRIED, position] = order[BEST, position]
    for move in range(len(moves)):
        here, there = moves[move, 0], moves[move, 1]
        best = cost[BEST, order.shape[1]]
        if not best:
            break
        if moves[move, 2] == REMODED:
            if not _give_mode(search.jobs, order[_TRIED], here, there):
                continue
        elif here == there or (
            len(search.kind) and same_kind(search.kind, order[BEST], here, there, moves[move, 2] == SWAPPED)
        ):
            continue
        elif moves[move, 2] == SWAPPED:
            order[_TRIED, here], order[_TRIED, there] = order[_TRIED, there], order[_TRIED, here]
        else:
            relocate(order[_TRIED], here, there)
        first, until, found = _decode(search, best)
        if found <= best:
            _accept(search, first, until)
        else:
            for position in range(min(here, there), max(here, there) + 1):
                order[_TRIED, position] = order[BEST, position]


@borrowing
def _give_mode(jobs: IntArray, order: IntArray, here: int, drawn: int) -> bool:
    """Take another row of the job at position `here`, if there is one; return whether there is."""
    row = order[here]
    first, many = jobs[row, FIRST], jobs[row, MODES]
    if many > 1:
        order[here] = first + (row - first + 1 + drawn % (many - 1)) % many
    return bool(many > 1)


@borrowing
def relocate(order: IntArray, here: int, there: int) -> None:
    """Take the job at position `here` out and put it in at position `there`."""
    job = order[here]
    step = 1 if there > here else -1
    for position in range(here, there, step):
        order[position] = order[position + step]
    order[there] = job


@borrowing
def same_kind(kind: IntArray, order: IntArray, here: int, there: int, swapped: bool) -> bool:
    """Return whether a move changes nothing: jobs that differ in nothing are swapped, or one moves past such alone."""
    if swapped:
        return bool(kind[order[here]] == kind[order[there]])
    same = True
    for place in range(min(here, there), max(here, there)):
        same = same and bool(kind[order[place]] == kind[order[place + 1]])
    return same


@borrowing
def _accept(search: PoolSearch, first: int, until: int) -> None:
    """Make the tried schedule the best; of the profiles only those past position `first` and before `until` differ."""
    _, _, order, starts, cost, kept, counts, _, _, now = search
    for position in range(order.shape[1]):
        order[BEST, position] = order[_TRIED, position]
        starts[BEST, position] = starts[_TRIED, position]
        cost[BEST, position + 1] = cost[_TRIED, position + 1]
    for place in range(first // _EVERY + 1, (until - 1) // _EVERY + 1):
        counts[BEST, place] = counts[_TRIED, place]
        _copy(kept[_TRIED, place], counts[_TRIED, place], kept[BEST, place])
        kept_again(now, place)


@borrowing
def _copy(profile: IntArray, count: int, target: IntArray) -> None:
    for row in range(profile.shape[0]):
        for step in range(count):
            target[row, step] = profile[row, step]


@borrowing
def _decode(search: PoolSearch, bound: float) -> tuple[int, int, float]:
    """Decode the tried order, until its cost is above `bound`.

    Returns
    -------
    first, until, cost
        Positions between which the profile differs from that of the best order, and the cost, of a part of the jobs if
        it is above `bound`; more than that if a job starts after its latest time.
    """
    weight, jobs, order, starts, costs, kept, counts, profile, _, now = search
    length = order.shape[1]
    placed, (first, last) = len(now.instant.nodes) > 0, _span(jobs, order)
    refused, later = now.instant.refused, now.instant.later
    cost = _keep_starts(search, 0, first)
    if first == length:
        return length, length, cost
    count, groups = resume(search, first)
    for position in range(first, length):
        if position % _EVERY == 0 and position > first:
            place = position // _EVERY
            known = position > last and _same(profile, count, kept[BEST, place], counts[BEST, place])
            if known and (not placed or same_groups(now, place, groups)):
                return first, position, _keep_starts(search, position, length)
            if placed:
                keep_groups(now, place, groups)
            counts[_TRIED, place] = count
            _copy(profile, count, kept[_TRIED, place])
        job = order[_TRIED, position]
        begin = 0
        if placed and not (
            refused[jobs[job, -1]] > jobs[job, -2]
            and room_at(jobs, job, profile, 0)
            and finds_slots(job, now.instant, groups)
        ):
            begin = _step_of(profile, count, later)
        count, start = _place(jobs, job, profile, count, begin)
        if placed and not start:
            groups = take_now(job, now.instant, groups, now.instant.kind[:0])
        starts[_TRIED, position] = start
        if start > jobs[job, LATEST]:
            return first, length, bound + 1
        if start > jobs[job, DUE]:
            cost += weight[job] * (start - jobs[job, DUE])
        costs[_TRIED, position + 1] = cost
        if cost > bound:
            break
    return first, length, cost


@borrowing
def _span(jobs: IntArray, order: IntArray) -> tuple[int, int]:
    """Return the first and the last position at which both orders differ in shape; the length and less if none does."""
    first, last = 0, order.shape[1] - 1
    if last >= 0 and order[BEST, 0] < 0:
        return 0, last
    while first <= last and jobs[order[BEST, first], _SHAPE] == jobs[order[_TRIED, first], _SHAPE]:
        first += 1
    while first < last and jobs[order[BEST, last], _SHAPE] == jobs[order[_TRIED, last], _SHAPE]:
        last -= 1
    return first, last


@borrowing
def _keep_starts(search: PoolSearch, begin: int, end: int) -> float:
    """Give the tried order the starts of the best at positions in [`begin`, `end`); return the cost until there."""
    weight, jobs, order, starts, costs, _, _, _, _, _ = search
    cost: float = costs[_TRIED, begin]
    for position in range(begin, end):
        start, job = starts[BEST, position], order[_TRIED, position]
        starts[_TRIED, position] = start
        if start > jobs[job, DUE]:
            cost += weight[job] * (start - jobs[job, DUE])
        costs[_TRIED, position + 1] = cost
    return cost


@borrowing
def resume(search: PoolSearch, first: int) -> tuple[int, int]:
    """Set the profile to that of the best order before position `first`; return how many steps and groups of nodes."""
    _, jobs, order, starts, _, kept, counts, profile, _, now = search
    place = first // _EVERY
    count: int = counts[BEST, place]
    groups = resume_groups(now, place)
    _copy(kept[BEST, place], count, profile)
    for position in range(place * _EVERY, first):
        job, start = order[BEST, position], starts[BEST, position]
        release_promise(jobs, job, profile, count)
        if start >= 0:
            step = _step_of(profile, count, start)
            last = step
            while last < count and profile[0, last] < start + jobs[job, _DURATION]:
                last += 1
            count = hold_steps(jobs, job, profile, count, step, last)
        if not start and len(now.instant.nodes):
            groups = place_now(job, now.instant, groups, now.instant.kind[:0])
    return count, groups


@borrowing
def _same(profile: IntArray, count: int, other: IntArray, others: int) -> bool:
    if count != others:
        return False
    equal = True
    for row in range(profile.shape[0]):
        mine, theirs = profile[row, :count], other[row, :count]
        for step in range(len(mine)):
            equal &= mine[step] == theirs[step]
    return equal


@borrowing
def _place(jobs: IntArray, job: int, profile: IntArray, count: int, begin: int) -> tuple[int, int]:
    """Start a job as early as it fits from a step on; return of how many steps the profile is, and the start.

    -1 if there is none.
    """
    release_promise(jobs, job, profile, count)
    step, last = earliest_steps(jobs, job, profile, count, begin)
    if step == count:
        return count, -1
    return hold_steps(jobs, job, profile, count, step, last), profile[0, step]


@borrowing
def room_at(jobs: IntArray, job: int, profile: IntArray, step: int) -> bool:
    """Return whether the profile has room for a job at a step."""
    room = True
    for row in range(1, profile.shape[0]):
        need = jobs[job, _NEED + row - 1]
        room = room and (need == 0 or profile[row, step] >= need)
    return room


@borrowing
def earliest_steps(jobs: IntArray, job: int, profile: IntArray, count: int, begin: int) -> tuple[int, int]:
    """Return the first step from `begin` on at which a job can start, and the first one at or past its end.

    (count, count) if it cannot.
    """
    if profile.shape[0] == 2 and jobs[job, _NEED] > 0:
        return _earliest_of_one(profile, count, jobs[job, _NEED], jobs[job, _DURATION], begin)
    return _earliest_of_several(jobs, job, profile, count, begin)


@borrowing
def _earliest_of_one(profile: IntArray, count: int, need: int, duration: int, first: int) -> tuple[int, int]:
    at, free = profile[0], profile[1]
    while True:
        while first < count and free[first] < need:
            first += 1
        if first == count:
            return count, count
        step, end = first + 1, at[first] + duration
        while step < count and at[step] < end and free[step] >= need:
            step += 1
        if step == count or at[step] >= end:
            return first, step
        first = step + 1


@borrowing
def _earliest_of_several(jobs: IntArray, job: int, profile: IntArray, count: int, first: int) -> tuple[int, int]:
    step = first
    while step < count and (step == first or profile[0, step] < profile[0, first] + jobs[job, _DURATION]):
        for row in range(1, profile.shape[0]):
            need = jobs[job, _NEED + row - 1]
            if need > 0 and profile[row, step] < need:
                first = step + 1
        step += 1
    return (first, step) if first < count else (count, count)


@borrowing
def release_promise(jobs: IntArray, job: int, profile: IntArray, count: int) -> None:
    """Give back what is held for a promise; where no step is at its begin or end, there is room for all anyway."""
    begin, row = jobs[job, _PROMISED], jobs[job, FIRST]
    if begin < 0:
        return
    end = begin + jobs[row, _DURATION]
    step = _step_of(profile, count, begin)
    while step < count and profile[0, step] < end:
        for resource in range(profile.shape[0] - 1):
            profile[1 + resource, step] += jobs[row, _NEED + resource]
        step += 1


@borrowing
def hold_steps(jobs: IntArray, job: int, profile: IntArray, count: int, step: int, last: int) -> int:
    """Take a job's amounts from a step until its end, before step `last`; return of how many steps the profile is.

    Slices from which a loop begins at 0 become vector instructions; other bounds might be negative.
    """
    end = profile[0, step] + jobs[job, _DURATION]
    if last == count or profile[0, last] != end:
        for row in range(profile.shape[0]):
            moved = profile[row, last - 1 : count + 1]
            for later in range(len(moved) - 1, 0, -1):
                moved[later] = moved[later - 1]
        profile[0, last] = end
        count += 1
    for row in range(1, profile.shape[0]):
        need, held = jobs[job, _NEED + row - 1], profile[row, step:last]
        for index in range(len(held)):
            held[index] -= need
    return count


@borrowing
def _step_of(profile: IntArray, count: int, time: int) -> int:
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        if profile[0, middle] <= time:
            low = middle
        else:
            high = middle
    return low
