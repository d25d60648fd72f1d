"""The compiled policies against the same policies in a few lines of Python."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.models.backfilling import (
    ORDER,
    backfill,
    backfill_shortest_first,
    enlarged,
    fill_best_first,
    follow,
    open_tree,
    reservation,
    start_of_queue,
)

NOW = 1000
sizes = st.integers(1, 12)


def tree_of(jobs):
    """Return a tree with jobs of an amount, a length and a submission, in this order."""
    tree = open_tree(len(jobs))
    follow(tree, np.array([(0, order, *job, 1) for order, job in enumerate(jobs)], dtype=np.int64).reshape(-1, 6))
    return tree


def orders(tree, places):
    """Return which jobs stand at these places."""
    return tree.places[places, ORDER].tolist()


@st.composite
def queues(draw):
    """Return amounts, lengths and submissions."""
    return draw(st.lists(st.tuples(sizes, sizes, st.integers(NOW - 20, NOW)), min_size=1, max_size=60))


def by_hand(free, jobs, order, skip):
    """Return who starts in an order."""
    started = []
    for place in order:
        if jobs[place][0] <= free:
            started.append(place)
            free -= jobs[place][0]
        elif not skip:
            break
    return started


@given(queues(), st.integers(0, 30), st.booleans(), st.booleans())
@settings(max_examples=150)
def test_fills_by_least_key(jobs, free, expansion, skip):
    keys = [(submit - NOW) / length if expansion else length for _, length, submit in jobs]
    tree = tree_of(jobs)
    before = tree.nodes.copy()
    found = fill_best_first(tree, free, NOW, expansion, skip)
    assert orders(tree, found) == by_hand(free, jobs, np.argsort(keys, kind="stable").tolist(), skip)
    assert (tree.nodes == before).all()


@given(queues(), st.integers(0, 12), st.lists(st.tuples(st.integers(NOW - 3, NOW + 15), sizes), max_size=8))
@settings(max_examples=150)
def test_backfills_by_the_book(jobs, free, running):
    """A job starts if it fits, and ends by the shadow time or takes what the head leaves then."""
    tree = tree_of(jobs)
    ahead, left, blocked = start_of_queue(tree, free)
    expected = by_hand(free, jobs, range(len(jobs)), skip=False)
    assert orders(tree, ahead) == (expected if any(amount <= free for amount, *_ in jobs) else [])
    free -= sum(jobs[place][0] for place in expected)
    head = len(expected)
    assert (blocked >= 0) == (free > 0 and any(amount <= free for amount, *_ in jobs[head + 1 :]))
    if blocked < 0:
        return
    assert left == free
    ends = [max(end, NOW + 1) for end, _ in sorted(running)]
    times = [NOW, *ends]
    at = [free - jobs[head][0] + sum(held for end, held in running if max(end, NOW + 1) <= time) for time in times]
    shadow, spare = next(((time, more) for time, more in zip(times, at, strict=True) if more >= 0), (times[-1], at[-1]))
    columns = np.array(sorted(running), dtype=np.int64).reshape(-1, 2).T.copy()
    assert reservation(NOW, free - jobs[head][0], *columns) == (shadow, spare)
    limit = shadow - NOW
    for shortest in (False, True):
        behind = range(head + 1, len(jobs))
        wanted, room, rest = [], spare, free
        for place in sorted(behind, key=lambda place: jobs[place][1]) if shortest else behind:
            amount, length, _ = jobs[place]
            if rest and amount <= rest and (length <= limit or amount <= room):
                wanted.append(place)
                rest -= amount
                room -= amount if length > limit else 0
        if shortest:
            found = backfill_shortest_first(tree, free, ahead, blocked, spare, limit, False)
        else:
            found = backfill(tree, free, blocked, spare, limit)
        assert orders(tree, found) == wanted


@given(st.lists(st.tuples(st.integers(0, 40), sizes, sizes), min_size=1, max_size=150))
@settings(max_examples=100)
def test_a_tree_follows_a_queue(changes):
    """Jobs leave, come back to their place, and come in between."""
    tree, queue = open_tree(0), {}
    for rank, amount, length in changes:
        came = rank not in queue
        if came:
            queue[rank] = (amount, length)
        else:
            del queue[rank]
        if tree.nodes[0, 0] == len(tree.places):
            tree = enlarged(tree, 1)
        follow(tree, np.array([(rank // 3, rank, amount, length, rank, came)], dtype=np.int64))
    assert tree.nodes[0, 1] == len(queue)
    shortest = sorted(queue, key=lambda rank: (queue[rank][1], rank))
    assert orders(tree, fill_best_first(tree, 10**6, 0, False, True)) == shortest
    assert orders(tree, start_of_queue(tree, 10**6)[0]) == sorted(queue)
