"""Compiled availability profile: what is free on each node, and of each shared amount, over time.

A row occupies slots of some nodes, and shared amounts, in a half-open interval. Running jobs, planned jobs and closed
nodes are rows. A search follows the begins and ends of rows from now on. So its time grows with the occupied slots, and
no matrix of steps and nodes is needed. A pool is one node.

At a *fall*, room is lost: nodes close, or a cap gets lower. A job that runs past a fall needs room there beside the
jobs that may run past it, too. Both count by their walltimes.

Each structure is one block of memory, and its named parts are views of it. A compiled call takes the blocks. A call
with twenty arrays would take longer than most searches.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import BoolArray, IntArray
from ..compiled import compiled, within
from .layouts import NO_LABELS, NO_PACKS, gather, gather_packed, most_in_groups, order_compactly, pack

#: Later than any time, and more than any amount.
NEVER = int(np.iinfo(np.int64).max)
#: Head of a block. The present, seconds, and sizes: nodes, resources, keys, rows and entries for which there is room,
#: falls, nodes with bounds, levels, and numbers for unequal slots. Then counters: rows and entries in use, rows with a
#: begin and with an end ahead.
HEADER = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("now", "nodes", "resources", "keys", "most_rows", "most_entries", "falls", "bounded", "levels", "packs"),
            *("rows", "entries", "begins", "ends"),
        )
    ]
)
_HEAD = HEADER.itemsize // 8
#: Which nodes are filled first: in their order, by the least free share, or in few groups of each level.
FIRST_FIT, BEST_FIT, COMPACT = range(3)
#: Columns of a job that asks, before its amounts per slot: slots, seconds, walltime, and the four of its layout.
FIXED = 7
#: Layout of a job that may use any nodes: no level, no groups, no time, no unequal slots.
ANY_LAYOUT = (-1, 0, 0, 0)
#: Demands whose free slots are remembered in a decision.
_KINDS = 16


class Timeline(NamedTuple):
    """Free amounts now, and the rows that change them later.

    Attributes
    ----------
    memory
        The block with all that follows.
    now
        Begin of the profile, seconds, when the views were made.
    free, shared
        Free amounts of each node now, shape (nodes, resources), and of each key. Shape (keys,). They may be negative.
    capacity
        Shape (nodes, resources). It weighs resources for best-fit.
    begin, end, bound
        Of each row, seconds: its interval, and its end by walltime. Shape (rows,).
    demand, need
        Amounts per slot, shape (rows, resources), and shared amounts. Shape (rows, keys).
    first, last
        The entries of each row, half-open. Shape (rows,).
    node, slots
        Node of each entry, and the row's slots on it. Shape (entries,).
    begins, ends
        Rows that begin after now, by begin, and rows that end, by end. Shape (rows,).
    header
        The head of the block, of type :data:`HEADER`. Shape (1,).
    fall_at, fall_free, fall_shared
        Times of falls, shape (falls,), and the amounts that are left then beside walltimes. Shapes (falls, nodes,
        resources) and (falls, keys). :data:`NEVER` where nothing falls.
    longest
        Longest walltime on each node, seconds. Shape (nodes,), or (0,) without bounds.
    labels
        Group of each node at each level, the smallest groups first. Shape (levels, nodes).
    packs
        Number of unequal slots and their units, largest first, for each kind of job with such slots.
    """

    memory: IntArray
    now: int
    free: IntArray
    shared: IntArray
    capacity: IntArray
    begin: IntArray
    end: IntArray
    bound: IntArray
    demand: IntArray
    need: IntArray
    first: IntArray
    last: IntArray
    node: IntArray
    slots: IntArray
    begins: IntArray
    ends: IntArray
    header: NDArray[np.void]
    fall_at: IntArray
    fall_free: IntArray
    fall_shared: IntArray
    longest: IntArray
    labels: IntArray
    packs: IntArray

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the block alone, so that the parts of a copy are views of it, too."""
        return _read_timeline, (self.memory,)


class Asks(NamedTuple):
    """Jobs that ask for room.

    Attributes
    ----------
    memory
        The block with all that follows.
    slots, seconds, bound
        Slots, seconds for which they count against other jobs, and walltime. Shape (jobs,).
    level, groups, until
        The level whose groups it asks for, -1 for none, the most groups, and the time from which it only prefers them,
        seconds. Shape (jobs,).
    packs
        Where the profile has its unequal slots, 0 for none. Its slots are then units of these. Shape (jobs,).
    demand, need
        Amounts per slot, shape (jobs, resources), and shared amounts. Shape (jobs, keys).
    """

    memory: IntArray
    slots: IntArray
    seconds: IntArray
    bound: IntArray
    level: IntArray
    groups: IntArray
    until: IntArray
    packs: IntArray
    demand: IntArray
    need: IntArray

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the block alone, as a profile does."""
        return _read_asks, (self.memory, self.demand.shape[1], self.need.shape[1])


class RoomReservations(NamedTuple):
    """Jobs with kept room.

    Attributes
    ----------
    memory
        The block with all that follows.
    asks, at
        What they ask for, and when, seconds. With 0 slots only shared amounts are kept. -1 stands for the earliest
        start, before it is needed. Shape (most,).
    number
        Number of jobs, shape (1,).
    held
        For each key, 1 if a job that lacks it keeps it. Shape (keys,).
    """

    memory: IntArray
    asks: Asks
    at: IntArray
    number: IntArray
    held: IntArray


class SearchBuffers(NamedTuple):
    """Buffers of a search.

    Attributes
    ----------
    level, shared, fits
        Free amounts at the start in question, and the slots that fit on each node. Shape (nodes,).
    later, later_shared, least
        Free amounts within the interval, and the least so far.
    lasting
        Slots that fit on each node during the whole interval, shape (nodes,).
    sums, mark, order
        Slots of groups, marks and order of nodes. Shape (nodes,).
    """

    level: IntArray
    shared: IntArray
    fits: IntArray
    later: IntArray
    later_shared: IntArray
    least: IntArray
    lasting: IntArray
    sums: IntArray
    mark: IntArray
    order: IntArray


def _read_timeline(memory: IntArray) -> Timeline:
    """Return the parts of a block."""
    header = memory[:_HEAD].view(HEADER)
    nodes, resources, keys = header[0]["nodes"], header[0]["resources"], header[0]["keys"]
    rows, entries = header[0]["most_rows"], header[0]["most_entries"]
    falls, bounded = header[0]["falls"], header[0]["bounded"]
    levels, packs = header[0]["levels"], header[0]["packs"]
    amounts = nodes * resources
    at = _HEAD
    free = memory[at : at + amounts].reshape(nodes, resources)
    at += amounts
    capacity = memory[at : at + amounts].reshape(nodes, resources)
    at += amounts
    shared = memory[at : at + keys]
    at += keys
    columns = memory[at : at + 7 * rows].reshape(7, rows)
    at += 7 * rows
    demand = memory[at : at + rows * resources].reshape(rows, resources)
    at += rows * resources
    need = memory[at : at + rows * keys].reshape(rows, keys)
    at += rows * keys
    node = memory[at : at + entries]
    at += entries
    slots = memory[at : at + entries]
    at += entries
    fall_at = memory[at : at + falls]
    at += falls
    fall_free = memory[at : at + falls * amounts].reshape(falls, nodes, resources)
    at += falls * amounts
    fall_shared = memory[at : at + falls * keys].reshape(falls, keys)
    at += falls * keys
    longest = memory[at : at + bounded]
    at += bounded
    labels = memory[at : at + levels * nodes].reshape(levels, nodes)
    at += levels * nodes
    return Timeline(
        memory,
        header[0]["now"],
        free,
        shared,
        capacity,
        columns[0],
        columns[1],
        columns[2],
        demand,
        need,
        columns[3],
        columns[4],
        node,
        slots,
        columns[5],
        columns[6],
        header,
        fall_at,
        fall_free,
        fall_shared,
        longest,
        labels,
        memory[at : at + packs],
    )


def _read_asks(memory: IntArray, resources: int, keys: int) -> Asks:
    """Return the parts of a block."""
    jobs = len(memory) // (FIXED + resources + keys)
    fixed = memory[: FIXED * jobs].reshape(FIXED, jobs)
    demand = memory[FIXED * jobs : (FIXED + resources) * jobs].reshape(jobs, resources)
    need = memory[(FIXED + resources) * jobs : (FIXED + resources + keys) * jobs].reshape(jobs, keys)
    return Asks(memory, fixed[0], fixed[1], fixed[2], fixed[3], fixed[4], fixed[5], fixed[6], demand, need)


#: The same for compiled callers.
timeline_of, asks_of = compiled(_read_timeline), compiled(_read_asks)


@compiled
def kept_of(memory: IntArray, resources: int, keys: int) -> RoomReservations:
    """Return the parts of a block."""
    jobs = (len(memory) - 1 - keys) // (1 + FIXED + resources + keys)
    at = 1 + keys
    asks = asks_of(memory[at + jobs :], resources, keys)
    return RoomReservations(memory, asks, memory[at : at + jobs], memory[:1], memory[1:at])


def _scratch(nodes: int, resources: int, keys: int) -> int:
    """Return the length of the buffers of a search."""
    return 3 * nodes * resources + 2 * keys + 5 * nodes


_scratch_size = within(_scratch)


def open_timeline(
    now: int,
    free: IntArray,
    shared: IntArray,
    capacity: IntArray,
    rows: int,
    entries: int,
    falls: tuple[IntArray, IntArray, IntArray],
    longest: IntArray,
    labels: IntArray = NO_LABELS,
    packs: IntArray = NO_PACKS,
) -> Timeline:
    """Return a profile without rows, with room for `rows` rows and `entries` entries."""
    nodes, resources = free.shape
    keys = len(shared)
    size = _HEAD + (2 + len(falls[0])) * nodes * resources + keys + (7 + resources + keys) * rows + 2 * entries
    size += len(falls[0]) * (1 + keys) + len(longest) + labels.size + len(packs) + _scratch(nodes, resources, keys)
    memory = np.empty(size, dtype=np.int64)
    sizes = nodes, resources, keys, rows, entries, len(falls[0]), len(longest), len(labels), len(packs)
    memory[:_HEAD].view(HEADER)[0] = (now, *sizes, 0, 0, 0, 0)
    line = _read_timeline(memory)
    line.free[:], line.capacity[:] = free, capacity
    if keys:
        line.shared[:] = shared
    if len(falls[0]):
        line.fall_at[:], line.fall_free[:], line.fall_shared[:] = falls
    line.longest[:] = longest
    if labels.size:
        line.labels[:] = labels
    line.packs[:] = packs
    return line


def with_room(line: Timeline, rows: int, entries: int) -> Timeline:
    """Return the profile with room for so many more rows and entries: itself, or a copy in a longer block."""
    header = line.header[0]
    rows += int(header["rows"])
    entries += int(header["entries"])
    if rows <= len(line.begin) and entries <= len(line.node):
        return line
    falls = line.fall_at, line.fall_free, line.fall_shared
    now = int(header["now"])
    room = 2 * rows, 2 * entries
    longer = open_timeline(
        now, line.free, line.shared, line.capacity, *room, falls, line.longest, line.labels, line.packs
    )
    used = dict.fromkeys(("begin", "end", "bound", "demand", "need", "first", "last"), int(header["rows"]))
    used |= dict.fromkeys(("node", "slots"), int(header["entries"]))
    used |= {name: int(header[name]) for name in ("begins", "ends")}
    for name, count in used.items():
        getattr(longer, name)[:count] = getattr(line, name)[:count]
    for name in ("rows", "entries", "begins", "ends"):
        longer.header[name] = header[name]
    return longer


def make_asks(
    slots: IntArray,
    seconds: IntArray,
    bound: IntArray,
    demand: IntArray,
    need: IntArray,
    layout: IntArray | None = None,
) -> Asks:
    """Return jobs that ask for these. See :class:`Asks`.

    The layout has level, groups, time and unequal slots, shape (4, jobs). ``None``: all may use any nodes.
    """
    jobs, resources = demand.shape
    keys = need.shape[1]
    memory = np.empty(jobs * (FIXED + resources + keys), dtype=np.int64)
    memory[:jobs], memory[jobs : 2 * jobs], memory[2 * jobs : 3 * jobs] = slots, seconds, bound
    asks = _read_asks(memory, resources, keys)
    if layout is None:
        memory[3 * jobs : 4 * jobs] = -1
        memory[4 * jobs : FIXED * jobs] = 0
    else:
        memory[3 * jobs : FIXED * jobs] = layout.reshape(-1)
    asks.demand[:] = demand
    if keys:
        asks.need[:] = need
    return asks


def one_of(asks: Asks, job: int) -> Asks:
    """Return one of several jobs that ask."""
    part = slice(job, job + 1)
    layout = np.stack((asks.level[part], asks.groups[part], asks.until[part], asks.packs[part]))
    return make_asks(asks.slots[part], asks.seconds[part], asks.bound[part], asks.demand[part], asks.need[part], layout)


@compiled
def _scratch_of(line: Timeline) -> SearchBuffers:
    """Return the buffers of a search, which lie at the end of the profile's block."""
    nodes, resources = line.free.shape
    keys = len(line.shared)
    amounts = nodes * resources
    at = len(line.memory) - _scratch_size(nodes, resources, keys)
    several = line.memory[at : at + 3 * amounts].reshape(3, nodes, resources)
    at += 3 * amounts
    shared = line.memory[at : at + 2 * keys].reshape(2, keys)
    at += 2 * keys
    slots = line.memory[at : at + 5 * nodes].reshape(5, nodes)
    return SearchBuffers(
        several[0], shared[0], slots[0], several[1], shared[1], several[2], slots[1], slots[2], slots[3], slots[4]
    )


@compiled
def occupy(memory: IntArray, row: int, sign: int) -> None:
    """Add a row with its fields to the profile (`sign` 1), or remove it (-1)."""
    _occupy(timeline_of(memory), row, sign)


@compiled
def advance(memory: IntArray, now: int) -> None:
    """Let a profile without falls begin later. Rows that have ended then are no longer on it."""
    line = timeline_of(memory)
    header = line.header[0]
    first = done = 0
    while first < header.begins and line.begin[line.begins[first]] <= now:
        _shift(line, line.begins[first], -1, line.free, line.shared)
        first += 1
    while done < header.ends and line.end[line.ends[done]] <= now:
        _shift(line, line.ends[done], 1, line.free, line.shared)
        done += 1
    for place in range(first, header.begins):
        line.begins[place - first] = line.begins[place]
    for place in range(done, header.ends):
        line.ends[place - done] = line.ends[place]
    header.begins -= first
    header.ends -= done
    header.now = now


@within
def _occupy(line: Timeline, row: int, sign: int) -> None:
    header = line.header[0]
    if line.begin[row] <= line.now:
        _shift(line, row, -sign, line.free, line.shared)
    else:
        header.begins += _list(line.begins, line.begin, header.begins, row, sign)
    if line.end[row] < NEVER:
        header.ends += _list(line.ends, line.end, header.ends, row, sign)
    for fall in range(len(line.fall_at)):
        if not line.begin[row] < line.fall_at[fall] < line.bound[row]:
            continue
        for key in range(len(line.shared)):
            if line.fall_shared[fall, key] < NEVER:
                line.fall_shared[fall, key] -= sign * line.need[row, key]
        for entry in range(line.first[row], line.last[row]):
            node = line.node[entry]
            for resource in range(line.free.shape[1]):
                if line.fall_free[fall, node, resource] < NEVER:
                    line.fall_free[fall, node, resource] -= sign * line.slots[entry] * line.demand[row, resource]


@compiled
def add_running(
    memory: IntArray, asks: IntArray, begin: IntArray, end: IntArray, bound: IntArray, placed: IntArray
) -> None:
    """Add running jobs to a profile whose free amounts are beside them.

    Parameters
    ----------
    memory
        The profile, with room for them.
    asks
        Their slots and amounts.
    begin, end, bound
        Seconds, shape (jobs,). A job that counts from a later time on is given back until then, and one that has ended.
    placed
        Node of each slot, one job after the other. Empty on a pool.
    """
    line = timeline_of(memory)
    jobs = asks_of(asks, line.demand.shape[1], line.need.shape[1])
    entry = line.header[0].entries
    slot = 0
    for job in range(len(end)):
        row = line.header[0].rows
        line.begin[row] = begin[job]
        line.end[row] = end[job]
        line.bound[row] = bound[job]
        line.demand[row] = jobs.demand[job]
        line.need[row] = jobs.need[job]
        line.first[row] = entry
        if len(placed) == 0:
            line.node[entry] = 0
            line.slots[entry] = jobs.slots[job]
            entry += 1
        else:
            for _ in range(jobs.slots[job]):
                line.node[entry] = placed[slot]
                line.slots[entry] = 1
                entry += 1
                slot += 1
        line.last[row] = entry
        line.header[0].rows += 1
        line.header[0].entries = entry
        _shift(line, row, 1, line.free, line.shared)
        if end[job] > max(line.now, begin[job]):
            _occupy(line, row, 1)


@compiled
def add_rows(
    memory: IntArray,
    times: IntArray,
    demand: IntArray,
    need: IntArray,
    last: IntArray,
    node: IntArray,
    slots: IntArray,
) -> None:
    """Add many rows, fastest in order of begin.

    Parameters
    ----------
    memory
        The profile, with room for them.
    times
        Begin, end, and end by walltime. Shape (3, rows).
    demand, need
        Amounts per slot, shape (rows, resources), and shared amounts. Shape (rows, keys).
    last
        End of each row's entries among all, shape (rows,).
    node, slots
        Node of each entry, and the slots on it.
    """
    line = timeline_of(memory)
    begin, end, bound = times[0], times[1], times[2]
    done = 0
    for number in range(len(begin)):
        row = line.header[0].rows
        entry = line.header[0].entries
        line.begin[row], line.end[row], line.bound[row] = begin[number], end[number], bound[number]
        line.demand[row] = demand[number]
        line.need[row] = need[number]
        line.first[row] = entry
        for place in range(done, last[number]):
            line.node[entry] = node[place]
            line.slots[entry] = slots[place]
            entry += 1
        line.last[row] = entry
        done = last[number]
        line.header[0].rows += 1
        line.header[0].entries = entry
        _occupy(line, row, 1)


@compiled
def add_row(
    memory: IntArray,
    begin: int,
    end: int,
    bound: int,
    demand: IntArray,
    need: IntArray,
    node: IntArray,
    slots: IntArray,
) -> None:
    """Occupy slots of nodes. `bound` is the end by walltime."""
    line = timeline_of(memory)
    row = line.header[0].rows
    entry = line.header[0].entries
    line.begin[row], line.end[row], line.bound[row] = begin, end, bound
    line.demand[row] = demand
    line.need[row] = need
    line.first[row] = entry
    line.last[row] = entry + len(node)
    for place in range(len(node)):
        line.node[entry + place] = node[place]
        line.slots[entry + place] = slots[place]
    line.header[0].rows += 1
    line.header[0].entries += len(node)
    _occupy(line, row, 1)


@within
def _shift(line: Timeline, row: int, sign: int, level: IntArray, shared: IntArray) -> None:
    """Add `sign` times the amounts of a row."""
    for key in range(len(shared)):
        shared[key] += sign * line.need[row, key]
    for entry in range(line.first[row], line.last[row]):
        slots = sign * line.slots[entry]
        node = line.node[entry]
        for resource in range(level.shape[1]):
            level[node, resource] += slots * line.demand[row, resource]


@within
def _list(rows: IntArray, times: IntArray, count: int, row: int, sign: int) -> int:
    """Insert a row into a list by time, after rows of the same time, or remove it. Return the change of its length."""
    time = times[row]
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if times[rows[middle]] <= time:
            low = middle + 1
        else:
            high = middle
    if sign > 0:
        for place in range(count, low, -1):
            rows[place] = rows[place - 1]
        rows[low] = row
        return 1
    low -= 1
    while rows[low] != row:
        low -= 1
    for place in range(low, count - 1):
        rows[place] = rows[place + 1]
    return -1


@within
def _copy(source: IntArray, target: IntArray) -> None:
    for place in range(len(source)):
        target[place] = source[place]


@within
def _copy_rows(source: IntArray, target: IntArray) -> None:
    for row in range(source.shape[0]):
        for column in range(source.shape[1]):
            target[row, column] = source[row, column]


@within
def _slots_of(level: IntArray, node: int, demand: IntArray) -> int:
    """Return how many slots of a demand fit on a node."""
    most = -1
    for resource in range(len(demand)):
        amount = demand[resource]
        if amount > 0:
            fits = max(level[node, resource], 0)
            if amount > 1:
                fits //= amount
            if most < 0 or fits < most:
                most = fits
    return int(most)


@within
def _count(line: Timeline, level: IntArray, asks: Asks, job: int, fits: IntArray) -> int:
    """Set how many slots of a job fit on each node. Return the total."""
    demand = asks.demand[job]
    bounded = len(line.longest) > 0
    total = 0
    for node in range(len(fits)):
        fits[node] = 0
        if not bounded or asks.bound[job] <= line.longest[node]:
            fits[node] = _slots_of(level, node, demand)
            total += fits[node]
    return total


@within
def _suffice(shared: IntArray, asks: Asks, job: int) -> bool:
    """Return whether shared amounts suffice for a job."""
    enough = True
    for key in range(len(shared)):
        enough = enough and (asks.need[job, key] == 0 or shared[key] >= asks.need[job, key])
    return enough


@within
def _narrow(level: IntArray, demand: IntArray, node: int, fits: IntArray) -> int:
    """Reduce the slots on a node to those that fit at this level. Return how many are lost."""
    if fits[node] == 0:
        return 0
    left = min(fits[node], _slots_of(level, node, demand))
    lost = fits[node] - left
    fits[node] = left
    return int(lost)


@within
def _passes_falls(line: Timeline, asks: Asks, job: int, start: int, buffer: SearchBuffers, total: int) -> int:
    """Reduce the slots to those that last through the falls within the walltime. Return the total, -1 if too few."""
    demand = asks.demand[job]
    until = start + asks.bound[job]
    for fall in range(len(line.fall_at)):
        if not start < line.fall_at[fall] < until:
            continue
        if not _suffice(line.fall_shared[fall], asks, job):
            return -1
        for node in range(len(buffer.lasting)):
            total -= _narrow(line.fall_free[fall], demand, node, buffer.lasting)
        if total < asks.slots[job]:
            return -1
    return total


@within
def _outlasts(
    line: Timeline,
    asks: Asks,
    job: int,
    start: int,
    first: int,
    done: int,
    total: int,
    buffer: SearchBuffers,
    rule: int,
) -> bool:
    """Return whether a job's slots, which fit at a start, last for its seconds and its walltime.

    Sets the lasting slots of each node. `first` and `done` are the next begin and the next end after the start.
    """
    demand = asks.demand[job]
    end = start + asks.seconds[job]
    _copy(buffer.fits, buffer.lasting)
    if len(line.fall_at) > 0:
        total = _passes_falls(line, asks, job, start, buffer, total)
        if total < 0:
            return False
    if rule == BEST_FIT:
        _copy_rows(buffer.level, buffer.least)
    begins = line.header[0].begins
    if first == begins or line.begin[line.begins[first]] >= end:
        return True
    _copy_rows(buffer.level, buffer.later)
    _copy(buffer.shared, buffer.later_shared)
    while first < begins and line.begin[line.begins[first]] < end:
        time = line.begin[line.begins[first]]
        while done < line.header[0].ends and line.end[line.ends[done]] <= time:
            _shift(line, line.ends[done], 1, buffer.later, buffer.later_shared)
            done += 1
        following = first
        while following < begins and line.begin[line.begins[following]] == time:
            _shift(line, line.begins[following], -1, buffer.later, buffer.later_shared)
            following += 1
        if not _suffice(buffer.later_shared, asks, job):
            return False
        for place in range(first, following):
            row = line.begins[place]
            for entry in range(line.first[row], line.last[row]):
                node = line.node[entry]
                total -= _narrow(buffer.later, demand, node, buffer.lasting)
                if rule == BEST_FIT:
                    for resource in range(len(demand)):
                        buffer.least[node, resource] = min(buffer.least[node, resource], buffer.later[node, resource])
        if total < asks.slots[job]:
            return False
        first = following
    return True


@within
def _lasts(
    line: Timeline,
    asks: Asks,
    job: int,
    start: int,
    first: int,
    done: int,
    total: int,
    buffer: SearchBuffers,
    rule: int,
) -> bool:
    """Return what :func:`_outlasts` does, for slots that also lie as the job asks. Only these are left."""
    if not _outlasts(line, asks, job, start, first, done, total, buffer, rule):
        return False
    if asks.level[job] < 0 and asks.packs[job] == 0:
        return True
    return _lie_as_asked(line, asks, job, start, buffer, rule)


@within
def _lie_as_asked(line: Timeline, asks: Asks, job: int, start: int, buffer: SearchBuffers, rule: int) -> bool:
    """Narrow the lasting slots to nodes that a job asks for. Return whether they suffice."""
    level = asks.level[job]
    slots = asks.slots[job]
    fits = buffer.lasting
    bound_to_groups = level >= 0 and start < asks.until[job]
    if asks.packs[job] == 0:
        return not bound_to_groups or gather(fits, slots, line.labels[level], asks.groups[job], buffer.sums)
    at = asks.packs[job]
    sizes = line.packs[at : at + line.packs[at - 1]]
    for node in range(len(fits)):
        buffer.order[node] = node
    if not bound_to_groups and (rule == COMPACT or level >= 0):
        first, last = _levels_of(line, asks, job, rule)
        for row in range(first, last):  # The smallest group with room for all slots is best.
            if gather_packed(fits, sizes, line.labels[row], buffer.sums, buffer.order, len(fits)):
                return True
    count = 0
    if rule == COMPACT or level >= 0:
        first, last = _levels_of(line, asks, job, rule)
        count = order_compactly(fits, slots, line.labels[first:last], buffer.sums, buffer.mark, buffer.order)
    for node in range(len(fits)):
        buffer.mark[node] = 0
    for place in range(count):
        buffer.mark[buffer.order[place]] = 1
    for node in range(len(fits)):
        if buffer.mark[node] == 0:
            buffer.order[count] = node
            count += 1
    if not bound_to_groups:
        return pack(fits, sizes, buffer.sums, -1, buffer.order, count)
    if asks.groups[job] == 1:
        return gather_packed(fits, sizes, line.labels[level], buffer.sums, buffer.order, count)
    return gather(fits, slots, line.labels[level], asks.groups[job], buffer.sums) and pack(
        fits, sizes, buffer.sums, -1, buffer.order, count
    )


@within
def _levels_of(line: Timeline, asks: Asks, job: int, rule: int) -> tuple[int, int]:
    """Return the levels by whose groups a job is placed, half-open. Those of the machine, or the one it asks for."""
    if rule == COMPACT:
        return 0, len(line.labels)
    return asks.level[job], asks.level[job] + 1


@within
def _may_fit(line: Timeline, asks: Asks, job: int, start: int, buffer: SearchBuffers) -> bool:
    """Return whether the groups that a job asks for have room for its slots at a start."""
    level = asks.level[job]
    if level < 0 or start >= asks.until[job]:
        return True
    return bool(most_in_groups(buffer.fits, line.labels[level], asks.groups[job], buffer.sums) >= asks.slots[job])


@within
def _search(line: Timeline, asks: Asks, job: int, after: int, before: int, buffer: SearchBuffers, rule: int) -> int:
    """Return the first start of a job in [`after`, `before`), -1 if none. Sets the lasting slots of each node."""
    demand = asks.demand[job]
    begins = line.header[0].begins
    ends = line.header[0].ends
    bounded = len(line.longest) > 0
    _copy_rows(line.free, buffer.level)
    _copy(line.shared, buffer.shared)
    first = done = 0
    start = after
    while first < begins and line.begin[line.begins[first]] <= after:
        _shift(line, line.begins[first], -1, buffer.level, buffer.shared)
        first += 1
    while done < ends and line.end[line.ends[done]] <= after:
        _shift(line, line.ends[done], 1, buffer.level, buffer.shared)
        done += 1
    total = _count(line, buffer.level, asks, job, buffer.fits)
    while start < before:
        if (
            total >= asks.slots[job]
            and _suffice(buffer.shared, asks, job)
            and _may_fit(line, asks, job, start, buffer)
            and _lasts(line, asks, job, start, first, done, total, buffer, rule)
        ):
            return int(start)
        tried = start
        start = NEVER
        if first < begins:
            start = line.begin[line.begins[first]]
        if done < ends:
            start = min(start, line.end[line.ends[done]])
        if asks.level[job] >= 0 and tried < asks.until[job]:  # From then on, any nodes will do.
            start = min(start, asks.until[job])
        if start == NEVER:
            return -1
        while True:  # All rows that begin or end then.
            if done < ends and line.end[line.ends[done]] == start:
                row = line.ends[done]
                sign = 1
                done += 1
            elif first < begins and line.begin[line.begins[first]] == start:
                row = line.begins[first]
                sign = -1
                first += 1
            else:
                break
            _shift(line, row, sign, buffer.level, buffer.shared)
            for entry in range(line.first[row], line.last[row]):
                node = line.node[entry]
                if not bounded or asks.bound[job] <= line.longest[node]:
                    fits = _slots_of(buffer.level, node, demand)
                    total += fits - buffer.fits[node]
                    buffer.fits[node] = fits
    return -1


@within
def _fill(line: Timeline, row: int, slots: int, buffer: SearchBuffers, order: IntArray) -> None:
    """Set the entries of a row to nodes with lasting slots, in an order. An empty one stands for that of the nodes."""
    entry = line.header[0].entries
    line.first[row] = entry
    fits = buffer.lasting
    for place in range(len(order) if len(order) > 0 else len(fits)):
        node = order[place] if len(order) > 0 else place
        if fits[node] > 0:
            line.node[entry] = node
            line.slots[entry] = min(slots, fits[node])
            slots -= line.slots[entry]
            entry += 1
            if slots == 0:
                break
    line.last[row] = entry
    line.header[0].entries = entry


@compiled
def _best_first(line: Timeline, buffer: SearchBuffers) -> IntArray:
    """Return the nodes with lasting slots, the least free share first."""
    nodes = np.flatnonzero(buffer.lasting)
    share = np.zeros(len(nodes), dtype=np.float64)
    for place, node in enumerate(nodes):
        for resource in range(line.free.shape[1]):
            share[place] += buffer.least[node, resource] / max(line.capacity[node, resource], 1)
    return nodes[np.argsort(share, kind="mergesort")]


@compiled
def _order(line: Timeline, asks: Asks, job: int, buffer: SearchBuffers, rule: int) -> IntArray:
    """Return the order in which nodes with lasting slots are filled. An empty one stands for that of the nodes."""
    if rule == COMPACT or asks.level[job] >= 0:
        first, last = _levels_of(line, asks, job, rule)
        labels = line.labels[first:last]
        count = order_compactly(buffer.lasting, asks.slots[job], labels, buffer.sums, buffer.mark, buffer.order)
        return buffer.order[:count].copy()
    return _best_first(line, buffer) if rule == BEST_FIT else buffer.fits[:0]


@compiled
def _plan(line: Timeline, asks: Asks, job: int, start: int, buffer: SearchBuffers, rule: int) -> int:
    """Occupy the lasting slots of a job from a start on. Return its row."""
    row = line.header[0].rows
    line.begin[row] = start
    line.end[row] = start + asks.seconds[job]
    line.bound[row] = start + asks.bound[job]
    line.demand[row] = asks.demand[job]
    line.need[row] = asks.need[job]
    _fill(line, row, asks.slots[job], buffer, _order(line, asks, job, buffer, rule))
    line.header[0].rows = row + 1
    _occupy(line, row, 1)
    return int(row)


@within
def _remove_last(line: Timeline) -> None:
    """Remove the last row."""
    row = line.header[0].rows - 1
    _occupy(line, row, -1)
    line.header[0].rows = row
    line.header[0].entries = line.first[row]


@compiled
def earliest(memory: IntArray, asks: IntArray, after: int, before: int, rule: int) -> tuple[int, int, int]:
    """Return the first start of the first job in [`after`, `before`), -1 if none, and where its entries are.

    These are its nodes and the slots on each, behind all others. They are not occupied.
    """
    line = timeline_of(memory)
    return _earliest(line, asks_of(asks, line.demand.shape[1], line.need.shape[1]), after, before, rule)


@compiled
def _earliest(line: Timeline, asks: Asks, after: int, before: int, rule: int) -> tuple[int, int, int]:
    buffer = _scratch_of(line)
    start = _search(line, asks, 0, after, before, buffer, rule)
    if start < 0:
        return -1, 0, 0
    row = line.header[0].rows  # The row is only filled, so nothing is occupied.
    entry = line.header[0].entries
    _fill(line, row, asks.slots[0], buffer, _order(line, asks, 0, buffer, rule))
    line.header[0].entries = entry
    return start, entry, line.last[row]


@compiled
def earlier(memory: IntArray, row: int, asks: IntArray, after: int, before: int, rule: int) -> tuple[int, int, int]:
    """Return what :func:`earliest` does, for the job of a row. Its own room is open to it."""
    line = timeline_of(memory)
    _occupy(line, row, -1)
    fit = _earliest(line, asks_of(asks, line.demand.shape[1], line.need.shape[1]), after, before, rule)
    _occupy(line, row, 1)
    return fit


@compiled
def fit_now(memory: IntArray, asks: IntArray, rule: int) -> BoolArray:
    """Return which jobs could each start now, alone. Shape (jobs,)."""
    line = timeline_of(memory)
    jobs = asks_of(asks, line.demand.shape[1], line.need.shape[1])
    buffer = _scratch_of(line)
    fits = np.zeros(len(jobs.slots), dtype=np.bool_)
    for job in range(len(fits)):
        fits[job] = _search(line, jobs, job, line.now, line.now + 1, buffer, rule) >= 0
    return fits


@compiled
def any_fits(free: IntArray, wanted: IntArray, keys: int, order: IntArray) -> bool:
    """Return whether any job fits into the sums of the free amounts, shape (nodes, resources), of all nodes.

    `order` has the places of the jobs. Their shared amounts, of so many keys, do not count.
    """
    nodes, resources = free.shape
    totals = np.zeros(resources, dtype=np.int64)
    for node in range(nodes):
        for resource in range(resources):
            totals[resource] += max(free[node, resource], 0)
    asks = asks_of(wanted, resources, keys)
    for job in order:
        fits = True
        for resource in range(resources):
            fits = fits and asks.slots[job] * asks.demand[job, resource] <= totals[resource]
        if fits:
            return True
    return False


@compiled
def peak(memory: IntArray, begin: int, end: int) -> IntArray:
    """Return the largest amounts that are free on all nodes at one time in [`begin`, `end`), shape (resources,)."""
    line = timeline_of(memory)
    level = line.free.copy()
    total = np.zeros(level.shape[1], dtype=np.int64)
    for node in range(len(level)):
        for resource in range(level.shape[1]):
            total[resource] += max(level[node, resource], 0)
    first = done = 0
    most = np.zeros_like(total)
    time = begin
    while True:
        while done < line.header[0].ends and line.end[line.ends[done]] <= time:
            _shift_total(line, line.ends[done], 1, level, total)
            done += 1
        while first < line.header[0].begins and line.begin[line.begins[first]] <= time:
            _shift_total(line, line.begins[first], -1, level, total)
            first += 1
        most[:] = np.maximum(most, total)
        time = NEVER
        if done < line.header[0].ends:
            time = line.end[line.ends[done]]
        if first < line.header[0].begins:
            time = min(time, line.begin[line.begins[first]])
        if time >= end:
            return most


@within
def _shift_total(line: Timeline, row: int, sign: int, level: IntArray, total: IntArray) -> None:
    """Add `sign` times the amounts of a row to the level, and the change of what is free to the total."""
    for entry in range(line.first[row], line.last[row]):
        slots = sign * line.slots[entry]
        node = line.node[entry]
        for resource in range(level.shape[1]):
            before = max(level[node, resource], 0)
            level[node, resource] += slots * line.demand[row, resource]
            total[resource] += max(level[node, resource], 0) - before


@compiled
def lasting(memory: IntArray, wanted: IntArray, at: int, rule: int) -> tuple[int, int, int]:
    """Return until when the first job's slots stay free from a time on, and where its entries are.

    At most `at` if they are not free. :data:`NEVER` if they stay free. Seconds and walltime of the job do not count.
    """
    line = timeline_of(memory)
    asks = asks_of(wanted, line.demand.shape[1], line.need.shape[1])
    buffer = _scratch_of(line)
    times = [at]
    for place in range(line.header[0].begins):
        times.append(line.begin[line.begins[place]])
    for fall in range(len(line.fall_at)):
        times.append(line.fall_at[fall])
    ends = np.unique(np.array(times))
    ends = ends[ends > at]
    low, high = -1, len(ends)  # The slots are free until ends[low]. At len(ends), that is for ever. At -1, not at all.
    while low < high:
        middle = (low + high + 1) // 2
        asks.seconds[0] = (ends[middle] if middle < len(ends) else max(at, ends[-1] if len(ends) else at) + 1) - at
        asks.bound[0] = asks.seconds[0]
        if _search(line, asks, 0, at, at + 1, buffer, rule) < 0:
            high = middle - 1
        else:
            low = middle
    if low < 0:
        return at, 0, 0
    until = ends[low] if low < len(ends) else NEVER
    asks.seconds[0] = (until if low < len(ends) else max(at, ends[-1] if len(ends) else at) + 1) - at
    asks.bound[0] = asks.seconds[0]
    _, first, last = _earliest(line, asks, at, at + 1, rule)
    return until, first, last


def open_kept(jobs: int, resources: int, keys: int) -> RoomReservations:
    """Return kept room of no job, with room for so many."""
    at = 1 + keys
    memory = np.zeros(at + jobs * (1 + FIXED + resources + keys), dtype=np.int64)
    asks = _read_asks(memory[at + jobs :], resources, keys)
    return RoomReservations(memory, asks, memory[at : at + jobs], memory[:1], memory[1:at])


@compiled
def keep(memory: IntArray, asks: IntArray, resources: int, keys: int, job: int, at: int) -> None:
    """Keep room for a job at a time."""
    jobs = asks_of(asks, resources, keys)
    _keep(kept_of(memory, resources, keys), jobs, job, jobs.slots[job], at)


@compiled
def _keep(kept: RoomReservations, asks: Asks, job: int, slots: int, at: int) -> None:
    place = kept.number[0]
    kept.asks.slots[place] = slots
    kept.asks.seconds[place] = asks.seconds[job]
    kept.asks.bound[place] = asks.bound[job]
    kept.asks.level[place] = asks.level[job] if slots > 0 else -1  # Without slots only amounts are kept.
    kept.asks.groups[place] = asks.groups[job]
    kept.asks.until[place] = asks.until[job]
    kept.asks.packs[place] = asks.packs[job] if slots > 0 else 0
    kept.asks.demand[place] = asks.demand[job]
    kept.asks.need[place] = asks.need[job]
    kept.at[place] = at
    kept.number[0] += 1


@compiled
def _first_delayed(line: Timeline, kept: RoomReservations, buffer: SearchBuffers, rule: int) -> int:
    """Return the first job with kept room that no longer fits at its time beside those before, -1 if all fit."""
    planned = 0
    delayed = -1
    count = kept.number[0]
    for job in range(count):
        if _search(line, kept.asks, job, kept.at[job], kept.at[job] + 1, buffer, rule) < 0:
            delayed = job
            break
        if job + 1 < count:
            _plan(line, kept.asks, job, kept.at[job], buffer, rule)
            planned += 1
    for _ in range(planned):
        _remove_last(line)
    return delayed


@compiled
def _settle(line: Timeline, kept: RoomReservations, until: int, buffer: SearchBuffers, rule: int) -> bool:
    """Set the time of a job that keeps room at its earliest start. Return whether it ends before `until`.

    A job without a start keeps nothing.
    """
    last = kept.number[0] - 1
    if last < 0 or kept.at[last] >= 0:
        return True
    at = _search(line, kept.asks, last, line.now, NEVER, buffer, rule)
    if until < NEVER and (at < 0 or at + max(kept.asks.seconds[last], kept.asks.bound[last]) > until):
        return False
    if at < 0:
        kept.number[0] = last
    kept.at[last] = at
    return True


@within
def _matters(line: Timeline, asks: Asks, job: int, kept: RoomReservations) -> bool:
    """Return whether a job that starts now may take kept room: it runs into it, or both run past the same fall."""
    for other in range(kept.number[0]):
        if line.now + asks.seconds[job] > kept.at[other]:
            return True
        for fall in range(len(line.fall_at)):
            time = line.fall_at[fall]
            last = kept.at[other] + kept.asks.bound[other]
            if line.now < time < line.now + asks.bound[job] and kept.at[other] < time < last:
                return True
    return False


@compiled
def _lacks_amounts(line: Timeline, asks: Asks, job: int, kept: RoomReservations, buffer: SearchBuffers) -> bool:
    """Return whether shared amounts do not suffice for a job now.

    The first job that lacks an amount keeps it, at the first time when there is enough.
    """
    needs = False
    for key in range(len(line.shared)):
        needs = needs or asks.need[job, key] > 0
    if not needs:
        return False
    place = kept.number[0]
    _keep(kept, asks, job, 0, line.now)
    kept.number[0] = place
    if _search(line, kept.asks, place, line.now, line.now + 1, buffer, FIRST_FIT) >= 0:
        return False
    short = False
    for key in range(len(line.shared)):
        short = short or line.shared[key] < asks.need[job, key]
    new = False
    for key in range(len(line.shared)):
        need = asks.need[job, key]
        if kept.held[key] == 0 and need > 0 and (line.shared[key] < need or not short):
            kept.held[key] = 1
            new = True
        else:
            kept.asks.need[place, key] = 0
    if new:
        at = _search(line, kept.asks, place, line.now, NEVER, buffer, FIRST_FIT)
        if at > line.now:
            kept.at[place] = at
            kept.number[0] = place + 1
    return True


@compiled
def hold_amounts(memory: IntArray, wanted: IntArray, reserved: IntArray, held: BoolArray, keeps: BoolArray) -> None:
    """Mark the jobs that shared amounts hold back now, each judged alone. Nodes do not count.

    The first job that lacks an amount keeps it: a later job is held back, too, if that one would be delayed.

    Parameters
    ----------
    memory
        With room for one row, and one for each key.
    wanted
        The jobs, in order.
    reserved
        No jobs, and space for two and one for each key.
    held, keeps
        Receive which jobs are held back, and which of these keep an amount. Shape (jobs,).
    """
    line = timeline_of(memory)
    resources = line.demand.shape[1]
    asks = asks_of(wanted, resources, line.need.shape[1])
    kept = kept_of(reserved, resources, line.need.shape[1])
    buffer = _scratch_of(line)
    for job in range(len(asks.slots)):
        last = kept.number[0]
        if _lacks_amounts(line, asks, job, kept, buffer):
            held[job] = True
            keeps[job] = kept.number[0] > last
        elif last > 0 and asks.need[job].any():
            _keep(kept, asks, job, 0, line.now)  # Its amounts without nodes, as a job that starts now.
            kept.number[0] = last
            if _matters(line, kept.asks, last, kept):
                _plan(line, kept.asks, last, line.now, buffer, FIRST_FIT)
                held[job] = _first_delayed(line, kept, buffer, FIRST_FIT) >= 0
                _remove_last(line)


@compiled
def start_now(
    memory: IntArray,
    wanted: IntArray,
    order: IntArray,
    skip: bool,
    reserved: IntArray,
    until: int,
    rule: int,
    chosen: IntArray,
) -> tuple[int, int, int]:
    """Start jobs now that fit and leave the kept room.

    Each new row of the profile is one of them, in the order of `chosen`. A job with room on the nodes that lacks a
    shared amount keeps it from later jobs, and stops none.

    Returns
    -------
    How many start. The place in `order` of the job that stops the others, -1 if none does. And the place of the first
    job that was not tried because the profile ends before the earliest start of a job with kept room. -1 if all were.

    Parameters
    ----------
    memory
        With room for the jobs and one row more for each job of `reserved`.
    wanted, order
        The jobs, and the order in which to try them.
    skip
        Whether to try jobs behind one that does not start. Otherwise they wait.
    reserved
        Jobs with kept room, and space for one more and one for each key.
    until
        All closures up to this time are on the profile, seconds.
    rule
        :data:`FIRST_FIT`, :data:`BEST_FIT` or :data:`COMPACT`.
    chosen
        Receives the places of the starting jobs, shape (jobs,).
    """
    line = timeline_of(memory)
    resources = line.demand.shape[1]
    asks = asks_of(wanted, resources, line.need.shape[1])
    kept = kept_of(reserved, resources, line.need.shape[1])
    buffer = _scratch_of(line)
    nodes = len(line.free)
    totals = np.zeros(resources, dtype=np.int64)
    kinds = np.empty(_KINDS, dtype=np.int64)
    rooms = np.full(_KINDS, -1)
    known = 0
    count = 0
    fresh = True
    unsettled = True
    for place in range(len(order)):
        job = order[place]
        if fresh:
            totals[:] = 0
            for node in range(nodes):
                for resource in range(resources):
                    totals[resource] += max(line.free[node, resource], 0)
            rooms[:] = -1
            fresh = False
            if skip and totals.sum() == 0:
                break
        started = True
        for resource in range(resources):
            started = started and asks.slots[job] * asks.demand[job, resource] <= totals[resource]
        if started and nodes > 1:
            kind = 0
            while kind < known and not np.array_equal(asks.demand[kinds[kind]], asks.demand[job]):
                kind += 1
            if kind == known and known < _KINDS:
                kinds[known] = job
                rooms[known] = -1
                known += 1
            if kind < known:
                if rooms[kind] < 0:
                    rooms[kind] = 0
                    for node in range(nodes):
                        rooms[kind] += _slots_of(line.free, node, asks.demand[job])
                started = rooms[kind] >= asks.slots[job]
        if started:
            if unsettled:
                if not _settle(line, kept, until, buffer, rule):
                    return count, -1, place
                unsettled = False
            # A job without room on the nodes waits for these, whatever else it lacks. One that keeps amounts comes
            # behind the job whose start is known only now.
            if len(line.shared) > 0 and _lacks_amounts(line, asks, job, kept, buffer):
                continue
            _copy_rows(line.free, buffer.level)
            _copy(line.shared, buffer.shared)
            total = _count(line, line.free, asks, job, buffer.fits)
            started = total >= asks.slots[job] and _lasts(line, asks, job, line.now, 0, 0, total, buffer, rule)
        delayed = -1
        if started:
            _plan(line, asks, job, line.now, buffer, rule)
            if _matters(line, asks, job, kept):
                delayed = _first_delayed(line, kept, buffer, rule)
            if delayed >= 0:
                _remove_last(line)
                started = False
        if started:
            chosen[count] = job
            count += 1
            fresh = True
        elif not skip and (delayed < 0 or kept.asks.slots[delayed] > 0):
            return count, place, -1
    return count, -1, -1
