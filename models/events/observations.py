"""Observations of a decision: rows of visible jobs, and columns of what is shown of each."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import IntArray
from ..backfilling.easy import Room, reserve
from ..backfilling.job_queue import NEVER, counts_of, fits, jobs_in
from ..compiled import borrowing
from .events import Events, amounts_of, event_counts, room_of

Observation = NDArray[np.float32]
Traits = NDArray[np.float32]
#: Number of default columns. All values are from 0 to 1, see :func:`show`.
FEATURES = 8
#: Wait, queue length and number of running jobs that count as 1/2 in an observation, seconds and jobs.
_HALF_WAIT, _HALF_QUEUE = 3600.0, 128.0
#: Number of one user's jobs, or of delays of a job, that counts as 1/2.
_HALF_FEW = 8.0
#: Logarithm of the seconds and of the cores that count as 1: 10^8.
_LONGEST = 18.42
#: Codes of columns: those of :func:`show`, then further ones, see :func:`show_columns`.
(
    ALLOWED,
    WAIT,
    PREDICTION,
    SHARE,
    FITS,
    STRETCH,
    FREE,
    QUEUE,
    WALLTIMES,
    CORES,
    SHADOW,
    RUNNERS,
    NEXT_END,
    NEXT_FREE,
    HOUR,
    WEEKDAY,
    DELAYS,
    RESERVED,
    TRAIT,
    USER_RUNNING,
) = range(20)


class Sight(NamedTuple):
    """What is visible of a simulation, and buffers.

    Attributes
    ----------
    rows
        Rows of the visible jobs.
    shown
        Number of visible rows.
    now
        Time, seconds.
    reserved
        Whether the first row is a job with a reservation.
    units
        Column of the primary resource in the amounts, and its units per amount. Shape (2,).
    put_off
        Number of delays of each row.
    traits
        Constant values of each job, from 0 to 1. Shape (traits, jobs).
    spare
        Buffer, shape (resources,).
    """

    rows: IntArray
    shown: int
    now: int
    reserved: bool
    units: IntArray
    put_off: IntArray
    traits: Traits
    spare: IntArray


@borrowing
def show(events: Events, rows: IntArray, shown: int, now: int, observation: Observation) -> None:
    """Fill an observation: a row per visible job, then zeros.

    The features of a row:

    * 1. The caller sets 0 for jobs that may not be chosen.
    * Wait w / (w + 1 h).
    * ln(1 + predicted run time p) / ln(10^8).
    * Largest share of the machine that it needs, over the resources.
    * Whether it fits now.
    * w / (w + p).
    * Least free share of the machine, over the resources that it has.
    * Waiting jobs n / (n + 128).
    """
    queue = events.queue
    amounts, jobs = amounts_of(events), jobs_in(queue)
    free = amounts.free
    whole = amounts.capacity
    waiting = float(counts_of(queue).waiting[0])
    room = _free_share(events)
    for at in range(len(rows)):
        if at >= shown:
            if observation[at, 0] == 0.0 and observation[at, 7] == 0.0:
                break
            for feature in range(FEATURES):
                observation[at, feature] = 0.0
            continue
        row, share = rows[at], 0.0
        for resource in range(len(free)):
            if whole[resource] > 0:
                share = max(share, queue.amount[row, resource] / whole[resource])
        wait = float(now - jobs.submit[row])
        predicted = float(jobs.predicted[row])
        observation[at, 0] = 1.0
        observation[at, 1] = wait / (wait + _HALF_WAIT)
        observation[at, 2] = min(1.0, _ln(predicted) / _LONGEST)
        observation[at, 3] = share
        observation[at, 4] = 1.0 if fits(queue.amount, row, free) else 0.0
        observation[at, 5] = wait / (wait + predicted)
        observation[at, 6] = room
        observation[at, 7] = waiting / (waiting + _HALF_QUEUE)


@borrowing
def show_columns(events: Events, sight: Sight, columns: IntArray, observation: Observation) -> None:
    """Fill an observation with selected columns: a row per visible job, then zeros.

    Parameters
    ----------
    events, sight
        The simulation.
    columns
        Code of each column, and its argument. Shape (2, columns). `NEXT_END` and `NEXT_FREE` have the number of an
        end, from 1. `TRAIT` has the row of the traits, and so has `USER_RUNNING`, where jobs with equal values have the
        same user.
    observation
        float32, shape (most, columns).
    """
    for place in range(columns.shape[1]):
        code = columns[0, place]
        argument = columns[1, place]
        if code in (FREE, QUEUE, RUNNERS, NEXT_END, NEXT_FREE, HOUR, WEEKDAY):
            value = _of_machine(events, sight.now, code, argument)
            for at in range(sight.shown):
                observation[at, place] = value
        else:
            for at in range(sight.shown):
                observation[at, place] = _of_job(events, sight, at, code, argument)
        for at in range(sight.shown, len(observation)):
            observation[at, place] = 0.0


@borrowing
def _of_machine(events: Events, now: int, code: int, number: int) -> float:
    """Return a value that all rows share."""
    waiting = counts_of(events.queue).waiting[0]
    running = event_counts(events).running[0]
    if code == QUEUE:
        return float(waiting / (waiting + _HALF_QUEUE))
    if code == RUNNERS:
        return float(running / (running + _HALF_QUEUE))
    if code == HOUR:
        return (now % 86400) / 86400.0
    if code == WEEKDAY:
        return (now // 86400 % 7) / 7.0
    if code == FREE:
        return _free_share(events)
    room = room_of(events)
    if code == NEXT_END:
        if number > running:
            return 1.0
        return min(1.0, _ln(float(max(room.ends[running - number] - now, 1))) / _LONGEST)
    least = 1.0
    amounts = amounts_of(events)
    whole = amounts.capacity
    for resource in range(len(whole)):
        if whole[resource] > 0:
            free = amounts.free[resource]
            for at in range(running - 1, max(running - number, 0) - 1, -1):
                free += events.queue.amount[room.rows[at], resource]
            least = min(least, free / whole[resource])
    return least


@borrowing
def _of_job(events: Events, sight: Sight, at: int, code: int, argument: int) -> float:
    """Return the value of one job."""
    queue = events.queue
    jobs, amounts = jobs_in(queue), amounts_of(events)
    row = sight.rows[at]
    wait = float(sight.now - jobs.submit[row])
    predicted = float(jobs.predicted[row])
    if code == ALLOWED:
        return 1.0
    if code == WAIT:
        return wait / (wait + _HALF_WAIT)
    if code == PREDICTION:
        return min(1.0, _ln(predicted) / _LONGEST)
    if code == SHARE:
        share = 0.0
        for resource in range(len(amounts.capacity)):
            if amounts.capacity[resource] > 0:
                share = max(share, queue.amount[row, resource] / amounts.capacity[resource])
        return share
    if code == FITS:
        return 1.0 if fits(queue.amount, row, amounts.free) else 0.0
    if code == STRETCH:
        return wait / (wait + predicted)
    if code == WALLTIMES:
        return min(1.0, _ln(float(jobs.walltime[row])) / _LONGEST)
    if code == CORES:
        return min(1.0, _ln(float(queue.amount[row, sight.units[0]] * sight.units[1])) / _LONGEST)
    if code == SHADOW:
        return _shadow(events, sight, row)
    if code == DELAYS:
        return float(sight.put_off[row] / (sight.put_off[row] + _HALF_FEW))
    if code == RESERVED:
        return 1.0 if at == 0 and sight.reserved else 0.0
    mine = sight.traits[argument, jobs.order[row]]
    if code == TRAIT:
        return float(mine)
    same = 0.0
    rows = room_of(events).rows
    for other in range(event_counts(events).running[0]):
        if sight.traits[argument, jobs.order[rows[other]]] == mine:
            same += 1.0
    return same / (same + _HALF_FEW)


@borrowing
def _shadow(events: Events, sight: Sight, row: int) -> float:
    """Return the logarithm of the seconds until a job fits, by expected ends and without the other waiting jobs."""
    if fits(events.queue.amount, row, amounts_of(events).free):
        return 0.0
    room = room_of(events)
    own = Room(room.free, room.ends, room.rows, room.held, sight.spare, room.chosen, room.closed, room.window)
    shadow = reserve(events.queue, own, row, event_counts(events).running[0], sight.now, sight.now)
    return 1.0 if shadow == NEVER else min(1.0, _ln(float(shadow - sight.now)) / _LONGEST)


@borrowing
def _free_share(events: Events) -> float:
    """Return the least free share of the machine, over the resources that it has."""
    room = 1.0
    amounts = amounts_of(events)
    for resource in range(len(amounts.capacity)):
        if amounts.capacity[resource] > 0:
            room = min(room, amounts.free[resource] / amounts.capacity[resource])
    return room


@borrowing
def _ln(value: float) -> float:
    return float(np.log1p(value))
