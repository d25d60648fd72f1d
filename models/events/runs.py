"""The event loop under each policy, compiled.

Each policy has an entry of its own, since numba finds no function in its cache that is passed as an argument. An entry
goes on from where the last call stopped, for as many decisions as there is room to note.
"""

from __future__ import annotations

from ...base import IntArray
from ..backfilling.easy import backfill, fill
from ..backfilling.job_queue import COUNT, PREDICTED, WAITING, WALLTIME
from ..compiled import borrowing
from .events import (
    RUNNING,
    WAKE,
    WINDOW,
    Events,
    advance,
    correct,
    expect,
    literal_room_of,
    next_instant,
    note,
    put_on_machine,
    room_of,
)


@borrowing
def run_in_order(
    events: Events, until: int, decisions: IntArray, ended: IntArray, order: int, skip: bool
) -> tuple[int, int]:
    """Go through instants with jobs started in an order, as :func:`.fill` has it.

    Parameters
    ----------
    events
        Brought forward.
    until
        No instant from this one on is looked at, seconds.
    decisions
        Filled: time, jobs that wait and run before it, and that it starts; shape (decisions, 4).
    ended
        Filled: the jobs that ended, in this order; longer than the number of jobs that may run at once.
    order, skip
        As for :func:`.fill`.

    Returns
    -------
    How many decisions and ended jobs there are; nothing is left to come if there are none.
    """
    rows, gone, now, numbers = 0, 0, next_instant(events), events.queue.numbers
    while now < until and rows < len(decisions) and gone + numbers[RUNNING] < len(ended):
        # A job that comes and has to wait for another one is no reason to decide.
        before = numbers[COUNT] + gone
        gone = advance(events, now, ended, gone)
        if numbers[WAITING] > 0 and numbers[COUNT] + gone > before:
            note(events, now, decisions[rows])
            count = fill(events.queue, room_of(events), numbers[RUNNING], now, order, skip)
            for place in range(count):
                put_on_machine(events, events.chosen[place], now)
            decisions[rows, 3] = count
            rows += 1
        now = next_instant(events)
    return rows, gone


@borrowing
def run_easy(
    events: Events, until: int, decisions: IntArray, ended: IntArray, shortest_first: bool, by_walltime: bool
) -> tuple[int, int]:
    """Go through instants under EASY backfilling.

    Parameters
    ----------
    events, until, decisions, ended
        As for :func:`run_in_order`.
    shortest_first
        As for :func:`.backfill`.
    by_walltime
        Whether starts are reserved by walltimes, not by predicted run times.
    """
    rows, gone, now, numbers = 0, 0, next_instant(events), events.queue.numbers
    while now < until and rows < len(decisions) and gone + numbers[RUNNING] < len(ended):
        # A job that comes and has to wait for another one is no reason to decide.
        before, woken = numbers[COUNT] + gone, 0 < numbers[WAKE] == now
        gone = advance(events, now, ended, gone)
        if woken or (numbers[WAITING] > 0 and numbers[COUNT] + gone > before):
            correct(events, now)
            note(events, now, decisions[rows])
            room = literal_room_of(events, now) if by_walltime else room_of(events)
            column = WALLTIME if by_walltime else PREDICTED
            count = backfill(events.queue, room, numbers[RUNNING], now, shortest_first, column)
            for place in range(count):
                if by_walltime:
                    expect(events, events.chosen[place], now)
                put_on_machine(events, events.chosen[place], now)
            decisions[rows, 3] = count
            rows += 1
            # While jobs wait, it is decided again when the closed time is over.
            if woken:
                numbers[WAKE] = 0
            if numbers[WAITING] > 0 and numbers[WINDOW] < len(events.closed):
                numbers[WAKE] = events.closed[numbers[WINDOW], 1]
        now = next_instant(events)
    return rows, gone
