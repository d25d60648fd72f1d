"""What happens when, in which order."""

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from hpcdispatch.simulation.events.event_calendar import COMPLETION, CORRECTION, TIMER, EventCalendar

TIMES = st.integers(0, 5)
KINDS = st.sampled_from((COMPLETION, CORRECTION, TIMER))


def taken(calendar):
    """Take everything out, instant by instant; return time, kind and payload."""
    return [
        (now, kind, payload)
        for now in iter(lambda: calendar.next_time, None)
        for _, kind, _, payload in calendar.due(now)
    ]


@given(st.lists(st.tuples(TIMES, KINDS)))
def test_by_time_then_kind_then_as_they_were_added(events):
    calendar = EventCalendar()
    for number, (time, kind) in enumerate(events):
        calendar.add(time, kind, str(number))
    expected = sorted((*event, number) for number, event in enumerate(events))
    assert taken(calendar) == [(time, kind, str(number)) for time, kind, number in expected]


@given(st.lists(st.tuples(TIMES, KINDS, st.booleans())))
def test_what_is_cancelled_does_not_happen_but_its_instant_is_visited(events):
    calendar = EventCalendar()
    entries = [calendar.add(time, kind, str(number)) for number, (time, kind, _) in enumerate(events)]
    for entry, (_, _, cancelled) in zip(entries, events, strict=True):
        if cancelled:
            calendar.cancel(entry)
    visited, happened = [], []
    while (now := calendar.next_time) is not None:
        visited.append(now)
        happened += [entry[3] for entry in calendar.due(now)]
    assert visited == sorted({time for time, _, _ in events})
    assert sorted(happened) == sorted(str(number) for number, event in enumerate(events) if not event[2])


def test_what_is_moved_comes_after_those_that_were_there_and_happens_once():
    calendar = EventCalendar()
    moved = calendar.add(1, COMPLETION, "moved")
    calendar.add(3, COMPLETION, "first")
    assert calendar.move(moved, 1) is moved
    again = calendar.move(calendar.move(moved, 2), 3)
    calendar.add(3, COMPLETION, "last")
    assert again[0] == 3
    assert [payload for _, _, payload in taken(calendar)] == ["first", "moved", "last"]


def test_up_to_a_kind_leaves_the_rest_of_the_instant():
    calendar = EventCalendar()
    for kind in (TIMER, CORRECTION, COMPLETION):
        calendar.add(7, kind, kind)
    assert [entry[3] for entry in calendar.due(7, COMPLETION)] == [COMPLETION]
    assert calendar.next_time == 7
    assert [entry[3] for entry in calendar.due(7)] == [CORRECTION, TIMER]
    assert calendar.next_time is None


def test_the_next_instant_is_that_of_an_arrival_or_of_an_event():
    calendar = EventCalendar()
    calendar.expect([SimpleNamespace(queued_time=time) for time in (2, 2, 6)])
    calendar.add(4, TIMER, None)
    seen = []
    while (now := calendar.next_time) is not None:
        seen.append(now)
        assert calendar.due(now) == []
        while calendar.arrivals and calendar.arrivals[0].queued_time == now:
            calendar.arrivals.popleft()
    assert seen == [2, 4, 6]
