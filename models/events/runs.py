"""Compiled event loop of each policy.

Each policy has its own entry, because numba never finds a function argument in its cache. An entry continues where the
last call stopped, for as many decisions as the output can hold.
"""

from collections.abc import Callable

from ...base import IntArray
from ..backfilling.easy import backfill, fill
from ..backfilling.job_queue import counts_of
from ..compiled import borrowing
from .events import (
    Events,
    advance,
    advance_once,
    correct,
    event_counts,
    expect,
    literal_room_of,
    next_instant,
    note,
    put_on_machine,
    room_of,
)

#: Event loop of a policy, see :func:`run_in_order`. It returns the number of decisions and of ended jobs.
Run = Callable[[Events, int, IntArray, IntArray], tuple[int, int]]


@borrowing
def run_in_order(
    events: Events, until: int, decisions: IntArray, ended: IntArray, order: int, skip: bool, in_sequence: bool
) -> tuple[int, int]:
    """Simulate instants with jobs started in an order, as in :func:`.fill`.

    Parameters
    ----------
    events
        Updated in place.
    until
        End of the simulation, seconds. Instants at or after it are not simulated.
    decisions
        Receives time, waiting and running jobs before it, and started jobs. Shape (decisions, 4).
    ended
        Receives the jobs that ended, in order. Longer than the number of jobs that can run at once.
    order, skip
        As for :func:`.fill`.
    in_sequence
        Whether there is a decision after each event of an instant, see :func:`.advance_once`.

    Returns
    -------
    Number of decisions and of ended jobs. The simulation is over if both are 0.
    """
    rows = 0
    gone = 0
    now = next_instant(events)
    queued, counts = counts_of(events.queue), event_counts(events)
    while now < until and rows < len(decisions) and gone + counts.running[0] < len(ended):
        # An arriving job that waits for another job triggers no decision.
        before = queued.rows[0] + gone
        gone = advance_once(events, now, ended, gone) if in_sequence else advance(events, now, ended, gone)
        if queued.waiting[0] > 0 and queued.rows[0] + gone > before:
            note(events, now, decisions[rows])
            count = fill(events.queue, room_of(events), counts.running[0], now, order, skip)
            for place in range(count):
                put_on_machine(events, events.chosen[place], now)
            decisions[rows, 3] = count
            rows += 1
        now = next_instant(events)
    return rows, gone


@borrowing
def run_easy(
    events: Events,
    until: int,
    decisions: IntArray,
    ended: IntArray,
    shortest_first: bool,
    by_walltime: bool,
    in_sequence: bool,
) -> tuple[int, int]:
    """Simulate instants under EASY backfilling.

    Parameters
    ----------
    events, until, decisions, ended, in_sequence
        As for :func:`run_in_order`.
    shortest_first
        As for :func:`.backfill`.
    by_walltime
        Whether reservations use walltimes instead of predicted run times.
    """
    rows = 0
    gone = 0
    now = next_instant(events)
    queued, counts = counts_of(events.queue), event_counts(events)
    while now < until and rows < len(decisions) and gone + counts.running[0] < len(ended):
        # An arriving job that waits for another job triggers no decision.
        before = queued.rows[0] + gone
        woken = 0 < counts.wake[0] == now
        gone = advance_once(events, now, ended, gone) if in_sequence else advance(events, now, ended, gone)
        if woken or (queued.waiting[0] > 0 and queued.rows[0] + gone > before):
            correct(events, now)
            note(events, now, decisions[rows])
            room = literal_room_of(events, now) if by_walltime else room_of(events)
            count = backfill(events.queue, room, counts.running[0], now, shortest_first, by_walltime)
            for place in range(count):
                if by_walltime:
                    expect(events, events.chosen[place], now)
                put_on_machine(events, events.chosen[place], now)
            decisions[rows, 3] = count
            rows += 1
            # While jobs wait, decide again at the end of the closed time.
            if woken:
                counts.wake[0] = 0
            if queued.waiting[0] > 0 and counts.window[0] < len(events.closed):
                counts.wake[0] = events.closed[counts.window[0], 1]
        now = next_instant(events)
    return rows, gone
