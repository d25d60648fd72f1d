"""Compiled search for the best order of jobs on a pool: several orders, then a local search.

Each job is a row. A job with several modes has a row per mode, and an order has one row per job.

Each job starts at its earliest fit. A decoding starts at the first position that differs from the best order. It ends
where the profile equals the best order's profile again. Jobs of one shape (amounts, duration, guarantee, bounds of the
start) have equal effects on the profile. Swapping them changes only the cost. Steps with room for all jobs together are
left out. If jobs that start now need nodes, groups of nodes are stored with the profile.

A profile is an array of shape (1 + resources, steps): times of changes, and free amounts from then on.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import FloatArray, IntArray
from ..compiled import borrowing, compiled, within
from ..profiles.amounts import AmountSteps
from .node_groups import NodesNow, copy_slots, finds_slots, forget_refusals, take_slots

#: The profile is stored before every `_EVERY`-th position of an order.
_EVERY = 8
#: Latest start of a row without a bound.
_WHENEVER = np.iinfo(np.int64).max
#: Kinds of moves: move a job, swap two jobs, or change a mode.
MOVED, SWAPPED, REMODED = range(3)


#: A row of a search. Times are in seconds from now. Its fields:
#:
#: * Due time of the start.
#: * Number of the shape, which the fields after `modes` and the amounts make up.
#: * First row of the same job, and its number of rows.
#: * Latest and earliest start.
#: * Duration.
#: * Guaranteed start of the first row until the job's turn, -1 for none.
#: * Slots, and number of the distinct demand, for jobs that need nodes now. Otherwise 0.
SEARCH_ROW = np.dtype(
    [
        (name, np.int64)
        for name in ("due", "shape", "first", "modes", "latest", "after", "duration", "promised", "slots", "kind")
    ]
)


class SearchedSchedule(NamedTuple):
    """A schedule of a search, and what is stored before each `_EVERY`-th position.

    Attributes
    ----------
    order
        Permutation of the jobs, one row per job, shape (jobs,).
    starts
        Start of the job at each position, -1 if it never fits, shape (jobs,).
    profiles, groups
        Profile and groups of nodes. Shapes (places, 1 + resources, most) and (places, 2 + resources, most).
    steps, group_count
        Number of steps and of groups of these, shape (places,).
    """

    order: IntArray
    starts: IntArray
    profiles: IntArray
    groups: IntArray
    steps: IntArray
    group_count: IntArray


class PoolSearch(NamedTuple):
    """Jobs, the best order so far, and the current trial.

    The arrays are few: passing one on costs as much as an addition.

    Attributes
    ----------
    weight
        Cost per second that a job starts past its due time, shape (rows,).
    jobs
        Rows of type :data:`SEARCH_ROW`, shape (rows,).
    need
        Amounts of each row, shape (rows, resources).
    order, starts, kept, kept_groups
        Blocks of two :class:`SearchedSchedule`: the best one so far, and the current trial.
    cost
        Cost of the best order, shape (1,). Infinite before the first.
    counts
        Block of their numbers of steps and of groups, shape (2, 2, places).
    profile
        Current profile, shape (1 + resources, most).
    kind
        Equal numbers for equal jobs, shape (jobs,), or empty. Equal jobs are never swapped.
    now
        Nodes for the jobs that start now, if any.
    """

    weight: FloatArray
    jobs: NDArray[np.void]
    need: IntArray
    order: IntArray
    starts: IntArray
    cost: FloatArray
    kept: IntArray
    kept_groups: IntArray
    counts: IntArray
    profile: IntArray
    kind: IntArray
    now: NodesNow

    @property
    def best(self) -> SearchedSchedule:
        """The best schedule so far, for callers in Python."""
        return _schedule(self, 0)


def _schedule(search: PoolSearch, place: int) -> SearchedSchedule:
    return SearchedSchedule(
        search.order[place],
        search.starts[place],
        search.kept[place],
        search.kept_groups[place],
        search.counts[place, 0],
        search.counts[place, 1],
    )


_counted_schedule, _borrowed_schedule = compiled(_schedule), within(_schedule)


@within
def best_in(search: PoolSearch) -> SearchedSchedule:
    """Return the best schedule so far, for compiled callers that :func:`.borrowing` compiles."""
    return _borrowed_schedule(search, 0)


@within
def _tried_in(search: PoolSearch) -> SearchedSchedule:
    return _borrowed_schedule(search, 1)


@compiled
def counted_best(search: PoolSearch) -> SearchedSchedule:
    """Return the best schedule so far, with reference counts, for compiled callers that create arrays."""
    return _counted_schedule(search, 0)


@compiled
def open_search(
    weight: FloatArray,
    due: IntArray,
    duration: IntArray,
    need: IntArray,
    promised: IntArray,
    held: AmountSteps,
    mode_of: IntArray,
    kind: IntArray,
    instant: NodesNow,
    after: IntArray,
    latest: IntArray,
) -> PoolSearch:
    """Prepare a search beside the occupied steps `held`, the first at 0. See :class:`PoolSearch`.

    The rows of a job are adjacent and share a number in `mode_of`. If `mode_of` is empty, each row is a job. `after`
    and `latest` bound the starts unless they are empty.
    """
    (number, resources) = need.shape
    placed = len(instant.nodes) > 0
    jobs = np.zeros(number, dtype=SEARCH_ROW)
    if placed:
        copy_slots(instant, jobs)
    enough = np.zeros(resources, dtype=np.int64)
    count = 0
    first = 0
    shapes = 0
    extra = 2
    heads = np.empty(number, dtype=np.int64)
    for row in range(number):
        jobs[row].due, jobs[row].duration, jobs[row].promised = due[row], duration[row], promised[row]
        jobs[row].latest = latest[row] if len(latest) else _WHENEVER
        if len(after) and after[row]:
            jobs[row].after = after[row]
            extra += 1
        for resource in range(resources):
            enough[resource] += need[row, resource]
        if row == 0 or not len(mode_of) or mode_of[row] != mode_of[first]:
            count, first = count + 1, row
        jobs[row].first = first
        for other in range(first, row + 1):
            jobs[other].modes = row + 1 - first
    for row in range(number):
        shape = 0
        while shape < shapes:
            other = heads[shape]
            # A guarantee occupies the amounts of the first row.
            same = jobs[row].promised < 0 or jobs[row].modes + jobs[other].modes == 2
            same = same and jobs[row].latest == jobs[other].latest and jobs[row].after == jobs[other].after
            same = same and jobs[row].duration == jobs[other].duration and jobs[row].promised == jobs[other].promised
            same = same and jobs[row].slots == jobs[other].slots and jobs[row].kind == jobs[other].kind
            for resource in range(resources):
                same = same and need[row, resource] == need[other, resource]
            if same:
                break
            shape += 1
        if shape == shapes:
            heads[shape] = row
            shapes += 1
        jobs[row].shape = shape
    places = count // _EVERY + 1
    most = len(held.at) + count + extra
    groups = instant.room.shape
    kept = np.empty((2, places, 1 + resources, most), dtype=np.int64)
    kept_groups = np.empty((2, places, groups[0], groups[1]), dtype=np.int64)
    order = np.full((2, count), -1, dtype=np.int64)
    starts = np.full((2, count), -1, dtype=np.int64)
    search = PoolSearch(
        weight,
        jobs,
        need,
        order,
        starts,
        np.full(1, np.inf),
        kept,
        kept_groups,
        np.zeros((2, 2, places), dtype=np.int64),
        np.empty((1 + resources, most), dtype=np.int64),
        kind,
        instant,
    )
    best = counted_best(search)
    profile = best.profiles[0]
    steps = 0
    roomy = False
    for step in range(len(held.at)):
        was_roomy, roomy = roomy, True
        for resource in range(resources):
            roomy = roomy and held.free[step, resource] >= enough[resource]
        if not (roomy and was_roomy):
            profile[0, steps] = held.at[step]
            for resource in range(resources):
                profile[1 + resource, steps] = held.free[step, resource]
            steps += 1
    if placed:
        steps = _cut(profile, steps, instant.later[0])
        _copy(instant.begin, instant.begin.shape[1], best.groups[0])
    for row in range(number if len(after) else 0):
        steps = _cut(profile, steps, after[row])
    best.steps[0], best.group_count[0] = steps, instant.begin.shape[1]
    return search


@borrowing
def _cut(profile: IntArray, count: int, time: int) -> int:
    """Split the step that contains a time at that time. Return the number of steps."""
    step = step_of(profile, count, time)
    if profile[0, step] == time:
        return count
    for row in range(profile.shape[0]):
        for later in range(count, step, -1):
            profile[row, later] = profile[row, later - 1]
    profile[0, step + 1] = time
    return count + 1


@borrowing
def search_orders(search: PoolSearch, orders: IntArray, moves: IntArray) -> tuple[int, float]:
    """Decode orders, then change the best order repeatedly. Accept changes that do not raise the cost.

    Parameters
    ----------
    search
        Updated in place.
    orders
        Orders to try first, shape (orders, jobs). The cheapest is kept if it beats the previous best, the first of
        ties.
    moves
        Rows of two positions and a kind, shape (moves, 3). Kinds: move the first job to the second position, swap both,
        or give the first job another mode. The second number then chooses the mode.

    Returns
    -------
    which, cost
        Position of the best order in `orders`, and its cost before the moves.
    """
    jobs = search.jobs
    order, tried = best_in(search).order, _tried_in(search).order
    kind = search.kind
    which = 0
    listed = search.cost[0]
    length = len(order)
    for trial in range(len(orders) + len(moves)):
        first = 0
        last = length - 1
        best = search.cost[0]
        if trial < len(orders):
            for position in range(length):
                tried[position] = orders[trial, position]
        elif not 0 < best < np.inf:
            break
        else:
            move = trial - len(orders)
            here = moves[move, 0]
            there = moves[move, 1]
            what = moves[move, 2]
            row = order[here]
            first = min(here, there)
            last = max(here, there)
            for position in range(length if trial == len(orders) else 0):
                tried[position] = order[position]
            if what == REMODED:
                many = jobs[row].modes
                if many == 1:
                    continue
                tried[here] = jobs[row].first + (row - jobs[row].first + 1 + there % (many - 1)) % many
            elif here == there or (len(kind) and same_kind(kind, order, here, there, what == SWAPPED)):
                continue
            elif what == SWAPPED:
                tried[here], tried[there] = order[there], order[here]
            else:
                relocate(tried, here, there)
        begin, until, cost = _decode(search, best)
        if cost < best or (cost == best and trial >= len(orders)):
            search.cost[0] = cost
            if trial < len(orders):
                which, listed = trial, cost
            _accept(search, begin, until)
        else:
            for position in range(first, last + 1):
                tried[position] = order[position]
    return which, listed


@borrowing
def relocate(order: IntArray, here: int, there: int) -> None:
    """Move the job at position `here` to position `there`."""
    job = order[here]
    step = 1 if there > here else -1
    for position in range(here, there, step):
        order[position] = order[position + step]
    order[there] = job


@borrowing
def same_kind(kind: IntArray, order: IntArray, here: int, there: int, swapped: bool) -> bool:
    """Return whether a move changes nothing because all jobs involved are equal."""
    if swapped:
        return bool(kind[order[here]] == kind[order[there]])
    same = True
    for place in range(min(here, there), max(here, there)):
        same = same and bool(kind[order[place]] == kind[order[place + 1]])
    return same


@borrowing
def _accept(search: PoolSearch, first: int, until: int) -> None:
    """Make the trial the best schedule.

    Only profiles after position `first` and before `until` differ.
    """
    best, tried = best_in(search), _tried_in(search)
    for position in range(len(best.order)):
        best.order[position] = tried.order[position]
        best.starts[position] = tried.starts[position]
    for place in range(first // _EVERY + 1, (until - 1) // _EVERY + 1):
        best.steps[place], best.group_count[place] = tried.steps[place], tried.group_count[place]
        _copy(tried.profiles[place], tried.steps[place], best.profiles[place])
        _copy(tried.groups[place], tried.group_count[place], best.groups[place])


@borrowing
def _copy(table: IntArray, count: int, target: IntArray) -> None:
    for row in range(table.shape[0]):
        for step in range(count):
            target[row, step] = table[row, step]


@borrowing
def _same(table: IntArray, count: int, other: IntArray) -> bool:
    equal = True
    for row in range(table.shape[0]):
        mine = table[row, :count]
        theirs = other[row, :count]
        for step in range(len(mine)):
            equal &= mine[step] == theirs[step]
    return equal


@borrowing
def _decode(search: PoolSearch, bound: float) -> tuple[int, int, float]:
    """Decode the trial order until its cost exceeds `bound`.

    Returns
    -------
    first, until, cost
        Positions between which the profile differs from the best order's, and the cost. The cost is partial if it
        exceeds `bound`. It is infinite if a job starts after its latest start.
    """
    weight, jobs, profile, now = search.weight, search.jobs, search.profile, search.now
    need, best, tried = search.need, best_in(search), _tried_in(search)
    length = len(best.order)
    placed = len(now.nodes) > 0
    first = 0
    last = length - 1
    cost = 0.0
    if last >= 0 and best.order[0] >= 0:
        while first <= last and jobs[best.order[first]].shape == jobs[tried.order[first]].shape:
            first += 1
        while first < last and jobs[best.order[last]].shape == jobs[tried.order[last]].shape:
            last -= 1
    position = first // _EVERY * _EVERY
    until = length
    count = 0
    groups = 0
    if first == length:
        position = until = 0
    else:
        count = best.steps[position // _EVERY]
        groups = best.group_count[position // _EVERY]
        _copy(best.profiles[position // _EVERY], count, profile)
        _copy(best.groups[position // _EVERY], groups, now.room)
        forget_refusals(now)
    for before in range(position):
        cost += _cost_of(weight, jobs, tried.order[before], best.starts[before])
        tried.starts[before] = best.starts[before]
    while position < until:
        place = position // _EVERY
        job = tried.order[position]
        if position % _EVERY == 0 and position > first:
            alike = count == best.steps[place] and groups == best.group_count[place]
            if (
                position > last
                and alike
                and _same(profile, count, best.profiles[place])
                and _same(now.room, groups, best.groups[place])
            ):
                until = position
                break
            tried.steps[place], tried.group_count[place] = count, groups
            _copy(profile, count, tried.profiles[place])
            _copy(now.room, groups, tried.groups[place])
        # Starts are unchanged up to the first difference.
        start = best.starts[position] if position < first else jobs[job].after
        begin = 0
        if start > 0:
            begin = step_of(profile, count, start)
        elif start < 0:
            begin = count
        elif placed and not (_room_at(need, job, profile, 0) and finds_slots(now, groups, job)):
            begin = step_of(profile, count, now.later[0])
        release_promise(jobs, need, job, profile, count)
        step, end = earliest_steps(jobs, need, job, profile, count, begin)
        start = profile[0, step] if step < count else -1
        if step < count:
            count = hold_steps(jobs, need, job, profile, count, step, end)
            if placed and not start:
                groups = take_slots(now, groups, job, now.nodes[:0])
        tried.starts[position] = start
        if start > jobs[job].latest:
            return first, length, np.inf
        cost += _cost_of(weight, jobs, job, start)
        position += 1
        if cost > bound:
            return first, length, cost
    for behind in range(until, length):
        cost += _cost_of(weight, jobs, tried.order[behind], best.starts[behind])
        tried.starts[behind] = best.starts[behind]
    return first, until, cost


@borrowing
def _cost_of(weight: FloatArray, jobs: NDArray[np.void], job: int, start: int) -> float:
    late = start - jobs[job].due
    return weight[job] * late if late > 0 else 0.0


@borrowing
def _room_at(need: IntArray, job: int, profile: IntArray, step: int) -> bool:
    """Return whether a job fits into the profile at a step."""
    room = True
    for row in range(1, profile.shape[0]):
        amount = need[job, row - 1]
        room = room and (amount == 0 or profile[row, step] >= amount)
    return room


@borrowing
def earliest_steps(
    jobs: NDArray[np.void], need: IntArray, job: int, profile: IntArray, count: int, begin: int
) -> tuple[int, int]:
    """Return the first step from `begin` on where a job can start, and the first step at or after its end.

    (count, count) if it never fits.
    """
    at = profile[0]
    duration = jobs[job].duration
    first = begin
    if profile.shape[0] == 2 and need[job, 0] > 0:
        free, amount = profile[1], need[job, 0]
        while True:
            while first < count and free[first] < amount:
                first += 1
            if first == count:
                return count, count
            step, end = first + 1, at[first] + duration
            while step < count and at[step] < end and free[step] >= amount:
                step += 1
            if step == count or at[step] >= end:
                return first, step
            first = step + 1
    step = first
    while step < count and (step == first or at[step] < at[first] + duration):
        for row in range(1, profile.shape[0]):
            amount = need[job, row - 1]
            if amount > 0 and profile[row, step] < amount:
                first = step + 1
        step += 1
    return (first, step) if first < count else (count, count)


@borrowing
def release_promise(jobs: NDArray[np.void], need: IntArray, job: int, profile: IntArray, count: int) -> None:
    """Free the amounts of a job's guaranteed start.

    Where no step starts at its begin or end, all jobs fit anyway.
    """
    begin = jobs[job].promised
    row = jobs[job].first
    if begin < 0:
        return
    end = begin + jobs[row].duration
    step = step_of(profile, count, begin)
    while step < count and profile[0, step] < end:
        for resource in range(profile.shape[0] - 1):
            profile[1 + resource, step] += need[row, resource]
        step += 1


@borrowing
def hold_steps(
    jobs: NDArray[np.void], need: IntArray, job: int, profile: IntArray, count: int, step: int, last: int
) -> int:
    """Occupy a job's amounts from `step` until its end before step `last`. Return the number of steps.

    Loops over slices start at 0, so they compile to vector instructions.
    """
    end = profile[0, step] + jobs[job].duration
    if last == count or profile[0, last] != end:
        for row in range(profile.shape[0]):
            moved = profile[row, last - 1 : count + 1]
            for later in range(len(moved) - 1, 0, -1):
                moved[later] = moved[later - 1]
        profile[0, last] = end
        count += 1
    for row in range(1, profile.shape[0]):
        amount = need[job, row - 1]
        held = profile[row, step:last]
        for index in range(len(held)):
            held[index] -= amount
    return count


@borrowing
def step_of(profile: IntArray, count: int, time: int) -> int:
    """Return the step that contains a time."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        if profile[0, middle] <= time:
            low = middle
        else:
            high = middle
    return low
