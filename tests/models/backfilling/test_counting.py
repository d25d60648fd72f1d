"""The compiled policies against the same policies in a few lines of Python."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.models.backfilling import backfill, fill_in_order, fill_smallest_first
from hpcdispatch.models.backfilling.counting import drop_first, make_heap

NOW = 1000
sizes = st.integers(1, 12)


@st.composite
def instances(draw):
    """Return what is free, nodes, unit and predictions of the queue, and ends and amounts of what runs."""
    count = draw(st.integers(1, 30))
    columns = [draw(st.lists(values, min_size=count, max_size=count)) for values in (sizes, st.integers(1, 3), sizes)]
    ends = sorted(draw(st.lists(st.integers(NOW - 3, NOW + 15), max_size=8)))
    held = draw(st.lists(sizes, min_size=len(ends), max_size=len(ends)))
    arrays = [np.array(values, dtype=np.int64) for values in (*columns, ends, held)]
    return draw(st.integers(0, 12)), *arrays


def by_hand(free, amounts, order, skip):
    """Return who starts in an order."""
    started = []
    for place in order:
        if amounts[place] <= free:
            started.append(place)
            free -= amounts[place]
        elif not skip:
            break
    return started


@given(instances())
@settings(max_examples=60, deadline=None)
def test_fills_in_order(instance):
    free, nodes, unit, *_ = instance
    assert fill_in_order(free, nodes, unit) == len(by_hand(free, nodes * unit, range(len(nodes)), skip=False))


@given(instances(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_fills_by_least_key(instance, skip):
    free, nodes, unit, predicted, *_ = instance
    order = np.argsort(predicted, kind="stable").tolist()
    chosen = fill_smallest_first(free, nodes, unit, predicted.astype(float), skip)
    assert chosen.tolist() == by_hand(free, nodes * unit, order, skip)


def test_many_start_at_once():
    """Guards the part that no longer looks for the least one by one."""
    key = np.random.default_rng(0).integers(0, 5, 200).astype(float)
    ones = np.ones(200, dtype=np.int64)
    assert fill_smallest_first(150, ones, ones, key, True).tolist() == np.argsort(key, kind="stable")[:150].tolist()


@given(instances(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_backfills_by_the_book(instance, shortest):
    """A job starts if it fits, and ends by the shadow time or takes what the head leaves then."""
    free, nodes, unit, predicted, ends, held = instance
    amounts = nodes * unit
    expected = by_hand(free, amounts, range(len(nodes)), skip=False)
    free -= int(amounts[expected].sum())
    head = len(expected)
    if head < len(nodes):
        running = [(max(end, NOW + 1), amount) for end, amount in zip(ends.tolist(), held.tolist(), strict=True)]
        running += [(NOW + int(predicted[place]), int(amounts[place])) for place in expected]
        times = [NOW, *sorted({end for end, _ in running})]
        at = {time: free + sum(amount for end, amount in running if end <= time) for time in times}
        shadow = next((time for time in times if at[time] >= amounts[head]), times[-1])
        spare = at[shadow] - amounts[head]
        behind = range(head + 1, len(nodes))
        for place in sorted(behind, key=lambda place: predicted[place]) if shortest else behind:
            late = NOW + predicted[place] > shadow
            if amounts[place] <= free and (not late or amounts[place] <= spare):
                expected.append(place)
                free -= amounts[place]
                spare -= amounts[place] if late else 0
    found = backfill(NOW, instance[0], nodes, unit, predicted, ends, held, shortest)
    assert found.tolist() == expected


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40))
def test_a_heap_drops_the_least_first(values):
    key = np.array(values, dtype=np.int64)
    places = np.arange(len(key))
    size, order = make_heap(places, key), []
    while size:
        order.append(int(places[0]))
        size = drop_first(places, size, key)
    assert order == np.argsort(key, kind="stable").tolist()
