"""List scheduling and EASY on the queue. Both against a few lines of Python."""

import numpy as np
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.models.backfilling.easy import SUBMISSION, Room, chosen_by_easy, chosen_in_order
from hpcdispatch.models.backfilling.job_queue import (
    EXPANSION,
    LONGEST,
    SHORTEST,
    enlarged,
    follow,
    open_queue,
)

NOW = 1000
sizes = st.integers(1, 12)
ORDERS = {
    SUBMISSION: lambda submit, length: 0,
    SHORTEST: lambda submit, length: length,
    LONGEST: lambda submit, length: -length,
    EXPANSION: lambda submit, length: (submit - NOW) / length,
}


def queue_of(jobs):
    """Return a queue of jobs (amounts, length, submission)."""
    queue = open_queue(len(jobs), len(jobs[0][0]))
    follow(queue, np.array([(1, order, job[2], 0, job[1], job[1], 0, *job[0]) for order, job in enumerate(jobs)]))
    return queue


def room_of(free, held=(), most=200):
    """Return what is free, with running jobs that hold something."""
    ends, rows, chosen = np.zeros((3, most), dtype=np.int64)
    shape = len(held), len(free)
    amounts = np.array(held, dtype=np.int64).reshape(shape)
    return Room(np.array(free), ends, rows, amounts, np.zeros(len(free), dtype=np.int64), chosen)


def fitting(amount, free):
    return all(asked <= left for asked, left in zip(amount, free, strict=True))


def less(free, amount):
    return [left - asked for left, asked in zip(free, amount, strict=True)]


@st.composite
def queues(draw):
    """Return jobs with a length and a submission. They use one or two resources."""
    resources = draw(st.integers(1, 2))
    amounts = st.tuples(*[sizes] * resources)
    return draw(st.lists(st.tuples(amounts, sizes, st.integers(NOW - 20, NOW)), min_size=1, max_size=150))


@given(queues(), st.integers(0, 30), st.sampled_from(list(ORDERS)), st.booleans())
@settings(max_examples=number_of_inputs(150))
def test_fills_by_least_key(jobs, free, order, skip):
    free = [free] * len(jobs[0][0])
    queue = queue_of(jobs)
    before = queue.least_amount.copy(), queue.least_times.copy(), queue.numbers.copy()
    room = room_of(free)
    found = room.chosen[: chosen_in_order(queue, room, NOW, order, skip)]
    started = []
    for place in sorted(range(len(jobs)), key=lambda place: ORDERS[order](jobs[place][2], jobs[place][1])):
        if fitting(jobs[place][0], free):
            started.append(place)
            free = less(free, jobs[place][0])
        elif not skip:
            break
    assert found.tolist() == started
    assert all(
        (one == other).all()
        for one, other in zip(before, (queue.least_amount, queue.least_times, queue.numbers), strict=True)
    )


@given(
    queues(), st.integers(0, 12), st.lists(st.tuples(st.integers(NOW - 3, NOW + 15), sizes), max_size=8), st.booleans()
)
@settings(max_examples=number_of_inputs(200))
def test_backfills_by_the_book(jobs, free, running, shortest):
    """A job starts if it fits. It must end by the shadow time or use the extra resources."""
    resources = len(jobs[0][0])
    free = [free] * resources
    running = sorted(running)
    room = room_of(free, [[amount] * resources for _, amount in running])
    ends = np.array([end for end, _ in running], dtype=np.int64)
    found = room.chosen[: chosen_by_easy(queue_of(jobs), room, ends, NOW, shortest)]

    started = []
    busy = [(max(end, NOW + 1), [amount] * resources) for end, amount in running]
    for place, (amount, length, _) in enumerate(jobs):
        if not fitting(amount, free):
            break
        started.append(place)
        free = less(free, amount)
        busy.append((NOW + length, amount))
    head = len(started)
    if head < len(jobs):
        shadow, spare = NOW, less(free, jobs[head][0])
        for end in sorted({end for end, _ in busy}):
            if min(spare) >= 0:
                break
            shadow = end
            spare = [left + sum(held[r] for when, held in busy if when == end) for r, left in enumerate(spare)]
        shadow = shadow if min(spare) >= 0 else np.inf
        behind = range(head + 1, len(jobs))
        for place in sorted(behind, key=lambda place: jobs[place][1]) if shortest else behind:
            amount, length, _ = jobs[place]
            late = NOW + length > shadow
            if fitting(amount, free) and (not late or fitting(amount, spare)):
                started.append(place)
                free = less(free, amount)
                spare = less(spare, amount) if late else spare
    assert found.tolist() == started


@given(st.lists(st.tuples(st.integers(0, 40), sizes, sizes), min_size=1, max_size=200))
@settings(max_examples=number_of_inputs(100))
def test_a_queue_follows_changes(changes):
    """Jobs leave, come back to their place, and come in between."""
    queue, waiting = open_queue(0, 1), {}
    for rank, *drawn in changes:
        came = rank not in waiting
        amount, length = drawn if came else waiting.pop(rank)
        if came:
            waiting[rank] = (amount, length)
        if queue.counts.rows[0] == len(queue.start):
            queue = enlarged(queue, 2 * len(waiting) + 1)
        follow(queue, np.array([(came, rank, rank, rank // 3, length, length, 0, amount)], dtype=np.int64))
        room = room_of([10**6])
        found = room.chosen[: chosen_in_order(queue, room, 0, SHORTEST, True)]
        shortest = sorted(waiting, key=lambda rank: (waiting[rank][1], rank))
        assert queue.jobs.order[found].tolist() == shortest
    room = room_of([10**6])
    found = room.chosen[: chosen_in_order(queue, room, 0, SUBMISSION, True)]
    assert queue.jobs.order[found].tolist() == sorted(waiting)
