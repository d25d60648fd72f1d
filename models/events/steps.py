"""Event loop that stops at each decision of an outside policy, for several simulations in parallel."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import BoolArray, FloatArray, IntArray
from ..backfilling.easy import SUBMISSION, backfill, backfill_behind, fill, reserve
from ..backfilling.job_queue import (
    COUNT,
    HEAD,
    NEVER,
    PREDICTED,
    RUNTIME,
    SUBMIT,
    WAITING,
    WAITS,
    JobQueue,
    best_allowed,
    fits,
    next_allowed,
)
from ..compiled import borrowing
from .events import RUNNING, WAKE, Events, advance, next_instant, put_on_machine, room_of, start

Observation = NDArray[np.float32]
#: What a policy decides: the next job, the job to backfill, whether the next job starts now, or the dispatcher.
PICK, BACKFILL, INSPECT, SELECT = range(4)
#: What happens behind a job that does not fit: nothing, backfilling in queue order, or backfilling of the shortest job
#: first.
NOTHING, IN_ORDER, SHORTEST_FIRST = range(3)
#: Entries of the rules. `COMMIT`: whether a chosen job that does not fit stays the next one. `DELAY`, `MOST`: seconds
#: by which a job is delayed, or for which a dispatcher is chosen, and the most delays of a job. From `PARTS` on, three
#: per dispatcher: whether it is EASY, its order, and whether it skips blocked jobs or backfills the shortest job first.
MODE, BEHIND, COMMIT, DELAY, MOST, PARTS, ORDERED, FLAG = range(8)
#: Entries of a simulation's numbers:
#:
#: * Time.
#: * Whether the decisions of this instant continue.
#: * Number of visible rows.
#: * Row of the next job, -1 for none.
#: * Seconds until the shadow time, -1 before it is known.
#: * Whether the simulation is over.
#: * Number of started jobs.
#: * Chosen dispatcher, and the end of its choice, seconds.
NOW, OPEN, SHOWN, HELD, LIMIT, OVER, STARTED, PART, UNTIL, NUMBERS = range(10)
#: Values for no action: before the first decision, and to skip a simulation.
BEGIN, PASS = -1, -2
#: Number of features per row of an observation. All are from 0 to 1, see :func:`show`.
FEATURES = 8
#: Wait and queue length that count as 1/2 in an observation, seconds and jobs.
_HALF_WAIT, _HALF_QUEUE = 3600.0, 128.0
#: Logarithm of the run time that counts as 1: 10^8 s.
_LONGEST = 18.42
#: Least run time in a bounded slowdown, seconds.
_BOUND = 10.0


class One(NamedTuple):
    """One simulation. Its arrays are those of :class:`Steps` without the first axis."""

    events: Events
    numbers: IntArray
    costs: FloatArray
    rows: IntArray
    put_off: IntArray
    started: IntArray


class Steps(NamedTuple):
    """Several simulations in parallel.

    Attributes
    ----------
    events
        Events of the simulations. Every array except `closed` has them as a further first axis.
    numbers
        See :data:`NOW` and the following, shape (simulations, 9).
    costs
        Sums over started jobs: wait and turnaround, seconds, slowdown, and bounded slowdown. Shape (simulations, 4).
    rows
        Rows of the visible jobs, shape (simulations, most).
    put_off
        Number of delays of each row, shape (simulations, jobs).
    started
        Rows in order of their starts, shape (simulations, jobs).
    ended
        Buffer for jobs that end at one instant, longer than the number of jobs.
    """

    events: Events
    numbers: IntArray
    costs: FloatArray
    rows: IntArray
    put_off: IntArray
    started: IntArray
    ended: IntArray


@borrowing
def step(steps: Steps, actions: IntArray, rules: IntArray, observation: Observation, masks: BoolArray) -> None:
    """Take an action in each simulation, and advance to its next decision.

    Parameters
    ----------
    steps
        Updated in place.
    actions
        An allowed action for each simulation, or :data:`BEGIN` or :data:`PASS`.
    rules
        See :data:`MODE` and the following, shape (5 + 3 * dispatchers,).
    observation, masks
        Receive the observations, float32, shape (simulations, most, 8), and the allowed actions. Shape (simulations,
        actions).
    """
    for place in range(len(actions)):
        if actions[place] == PASS or steps.numbers[place, OVER] == 1:
            continue
        one = simulation(steps, place)
        events, numbers = one.events, one.numbers
        if actions[place] != BEGIN:
            act(one, actions[place], rules)
        while not (numbers[OPEN] == 1 and asks(one, rules)):
            now = next_instant(events)
            if now == NEVER:
                numbers[OVER], numbers[SHOWN] = 1, 0
                break
            if 0 < events.queue.numbers[WAKE] <= now:
                events.queue.numbers[WAKE] = 0
            advance(events, now, steps.ended, 0)
            numbers[NOW] = now
            numbers[OPEN] = 1
            numbers[LIMIT] = -1
        view(one, rules, observation[place], masks[place])


def side_by_side(events: Events, count: int, shown: int) -> Steps:
    """Return several simulations of the same jobs, before their first instant.

    Parameters
    ----------
    events
        Initial simulation. Its `running`, `chosen` and `placed` have room for all of them, see :func:`begin`.
    count
        Number of simulations.
    shown
        Most rows that are visible at a decision.
    """

    def repeated(array: Any) -> Any:
        return np.repeat(array[None], count, axis=0)

    queue = JobQueue(*map(repeated, events.queue))
    repeats = Events._make([*map(repeated, events[:3]), events.closed, queue, *map(repeated, events[5:])])
    jobs = len(events.amount)
    steps = Steps(
        events=repeats,
        numbers=np.zeros((count, NUMBERS), dtype=np.int64),
        costs=np.zeros((count, 4)),
        rows=np.zeros((count, shown), dtype=np.int64),
        put_off=np.zeros((count, jobs), dtype=np.int64),
        started=np.zeros((count, jobs), dtype=np.int64),
        ended=np.zeros(jobs + 1, dtype=np.int64),
    )
    steps.numbers[:, (HELD, LIMIT)] = -1
    return steps


def begin(steps: Steps, place: int, columns: IntArray, amount: IntArray, whole: IntArray, slots: IntArray) -> None:
    """Restart one simulation with other jobs.

    Parameters
    ----------
    steps, place
        The simulations, and the position of this one.
    columns
        Submission, predicted run time, walltime, and time on the machine, seconds, in order of submission. Shape (4,
        jobs).
    amount, whole
        Amounts of each job and of the machine, shape (jobs, resources) and (resources,).
    slots
        Slots of each node, shape (nodes,), or (0,) on a pool.
    """
    events = steps.events
    events.jobs[place] = 0
    events.jobs[place, 0, :-1] = columns[0]
    events.jobs[place, 1:5, :-1] = columns
    events.amount[place] = amount
    events.slots[place] = slots
    events.queue.least[place] = NEVER
    events.queue.numbers[place] = 0
    events.amounts[place, :2] = whole
    steps.numbers[place] = 0
    steps.costs[place] = 0.0
    steps.put_off[place] = 0
    steps.numbers[place, HELD] = steps.numbers[place, LIMIT] = -1


@borrowing
def decide(steps: Steps, action: int, rules: IntArray, observation: Observation, masks: BoolArray) -> bool:
    """Take an action in the first simulation. Return whether a further decision is needed at this instant.

    :data:`BEGIN` takes no action.
    """
    one = simulation(steps, 0)
    if action != BEGIN:
        act(one, action, rules)
    if one.numbers[OPEN] == 0 or not asks(one, rules):
        return False
    view(one, rules, observation[0], masks[0])
    return True


@borrowing
def resume(steps: Steps, running: int, now: int) -> None:
    """Start the first `running` jobs of the first simulation. The others wait. It has only this instant."""
    one = simulation(steps, 0)
    events, numbers = one.events, one.numbers
    advance(events, now, steps.ended, 0)
    for row in range(running):
        start(events, row, now)
    numbers[NOW] = now
    numbers[OPEN] = 1
    numbers[LIMIT] = -1


def arrays_of(steps: Steps) -> list[NDArray[Any]]:
    """Return all arrays that simulations change."""
    events = steps.events
    own = [each for each in (*events[:4], *events[5:]) if each is not events.closed]
    return [*own, *events.queue, *steps[1:-1]]


def events_of(steps: Steps, place: int) -> Events:
    """Return the events of one simulation, for calls from Python."""
    events = steps.events
    queue = JobQueue(*(each[place] for each in events.queue))
    arrays: list[Any] = [each if each is events.closed else each[place] for each in (*events[:4], *events[5:])]
    return Events._make([*arrays[:4], queue, *arrays[4:]])


@borrowing
def simulation(steps: Steps, place: int) -> One:
    """Return one of the simulations."""
    events = steps.events
    queue = steps.events.queue
    jobs = JobQueue(
        queue.columns[place], queue.amount[place], queue.start[place], queue.least[place], queue.numbers[place]
    )
    only = Events(
        events.jobs[place],
        events.amount[place],
        events.lists[place],
        events.closed,
        jobs,
        events.running[place],
        events.amounts[place],
        events.chosen[place],
        events.slots[place],
        events.placed[place],
    )
    return One(
        only, steps.numbers[place], steps.costs[place], steps.rows[place], steps.put_off[place], steps.started[place]
    )


@borrowing
def asks(one: One, rules: IntArray) -> bool:
    """Do what needs no decision at this instant. Return whether a decision is needed, on the rows then visible."""
    if rules[MODE] == PICK:
        return _asks_next(one, rules)
    if rules[MODE] == SELECT:
        return _asks_dispatcher(one, rules)
    return _asks_backfill(one) if rules[MODE] == BACKFILL else _asks_start(one, rules)


@borrowing
def _asks_next(one: One, rules: IntArray) -> bool:
    events, numbers = one.events, one.numbers
    queue, free = events.queue, events.amounts[0]
    if numbers[HELD] >= 0:
        if not fits(queue.amount, numbers[HELD], free):
            _backfill(one, numbers[HELD], rules[BEHIND])
            numbers[OPEN] = 0
            return False
        _start(one, numbers[HELD])
        numbers[HELD] = -1
    nothing = next_allowed(queue, queue.numbers[HEAD], free, free, NEVER, PREDICTED) == queue.numbers[COUNT]
    # Where nothing fits, all choices are the same, but for a choice that stands.
    if queue.numbers[WAITING] == 0 or (nothing and rules[COMMIT] == 0):
        numbers[OPEN] = 0
        return False
    numbers[SHOWN] = 0
    _show_waiting(queue, one.rows, numbers)
    return True


@borrowing
def _asks_backfill(one: One) -> bool:
    events = one.events
    numbers = one.numbers
    rows = one.rows
    queue = events.queue
    free = events.amounts[0]
    spare = events.amounts[1]
    if numbers[LIMIT] < 0:
        while queue.numbers[HEAD] < queue.numbers[COUNT] and fits(queue.amount, queue.numbers[HEAD], free):
            _start(one, queue.numbers[HEAD])
        if queue.numbers[WAITING] > 1:
            now = numbers[NOW]
            running = queue.numbers[RUNNING]
            shadow = reserve(queue, room_of(events), queue.numbers[HEAD], running, now, now)
            numbers[LIMIT] = shadow - now if shadow < NEVER else NEVER
    rows[0] = queue.numbers[HEAD]
    numbers[SHOWN] = 1
    row = queue.numbers[HEAD] + 1
    while queue.numbers[WAITING] > 1 and numbers[SHOWN] < len(rows):
        row = next_allowed(queue, row, free, spare, numbers[LIMIT], PREDICTED)
        if row == queue.numbers[COUNT]:
            break
        rows[numbers[SHOWN]] = row
        numbers[SHOWN] += 1
        row += 1
    if numbers[SHOWN] == 1:
        numbers[OPEN] = 0
    return bool(numbers[SHOWN] > 1)


@borrowing
def _asks_start(one: One, rules: IntArray) -> bool:
    events, numbers = one.events, one.numbers
    queue = events.queue
    free = events.amounts[0]
    bound = events.amounts[1]
    while queue.numbers[WAITING] > 0:
        for resource in range(len(bound)):
            bound[resource] = free[resource] if rules[FLAG] == 1 else NEVER
        if rules[ORDERED] == SUBMISSION:
            row = next_allowed(queue, queue.numbers[HEAD], bound, bound, NEVER, PREDICTED)
        else:
            head = queue.numbers[HEAD]
            row = best_allowed(queue, head, bound, bound, NEVER, PREDICTED, rules[ORDERED], numbers[NOW])
        if row == queue.numbers[COUNT]:
            break
        if not fits(queue.amount, row, free):
            _backfill(one, row, rules[BEHIND])
            break
        if one.put_off[row] < rules[MOST]:
            one.rows[0] = row
            numbers[SHOWN] = 1
            numbers[HELD] = row
            _show_waiting(queue, one.rows, numbers)
            return True
        _start(one, row)
    numbers[OPEN] = 0
    return False


@borrowing
def _asks_dispatcher(one: One, rules: IntArray) -> bool:
    queue, numbers = one.events.queue, one.numbers
    numbers[SHOWN] = 0
    if queue.numbers[WAITING] > 0 and numbers[NOW] >= numbers[UNTIL]:
        _show_waiting(queue, one.rows, numbers)
        return True
    _dispatch(one, rules)
    return False


@borrowing
def act(one: One, action: int, rules: IntArray) -> None:
    """Carry out a decision."""
    events, numbers = one.events, one.numbers
    queue = events.queue
    free = events.amounts[0]
    spare = events.amounts[1]
    row = one.rows[action] if rules[MODE] < INSPECT else 0
    if rules[MODE] == SELECT:
        numbers[PART], numbers[UNTIL] = action, numbers[NOW] + rules[DELAY]
        _dispatch(one, rules)
    elif rules[MODE] == PICK:
        if fits(queue.amount, row, free):
            _start(one, row)
            return
        if rules[COMMIT] == 1:
            numbers[HELD] = row
        _backfill(one, row, rules[BEHIND])
        numbers[OPEN] = 0
    elif rules[MODE] == BACKFILL:
        if action == 0:
            numbers[OPEN] = 0
            return
        if queue.columns[PREDICTED, row] > numbers[LIMIT]:
            for resource in range(len(spare)):
                spare[resource] -= queue.amount[row, resource]
        _start(one, row)
    elif action == 0:
        _start(one, numbers[HELD])
    else:
        one.put_off[numbers[HELD]] += 1
        if queue.numbers[WAKE] == 0:
            queue.numbers[WAKE] = numbers[NOW] + rules[DELAY]
        numbers[OPEN] = 0


@borrowing
def _start(one: One, row: int) -> None:
    start(one.events, row, one.numbers[NOW])
    _count(one, row)


@borrowing
def _backfill(one: One, blocked: int, behind: int) -> None:
    if behind == NOTHING:
        return
    events, now = one.events, one.numbers[NOW]
    queue = events.queue
    shortest = behind == SHORTEST_FIRST
    head = queue.numbers[HEAD]
    running = queue.numbers[RUNNING]
    _start_chosen(one, backfill_behind(queue, room_of(events), running, 0, blocked, head, now, shortest, PREDICTED))


@borrowing
def _dispatch(one: One, rules: IntArray) -> None:
    """Let the chosen dispatcher decide. This ends the instant."""
    events = one.events
    now = one.numbers[NOW]
    part = 3 * one.numbers[PART]
    queue = events.queue
    order = rules[part + ORDERED]
    flag = rules[part + FLAG] == 1
    if rules[part + PARTS] == 1:
        count = backfill(queue, room_of(events), queue.numbers[RUNNING], now, flag, PREDICTED)
    else:
        count = fill(queue, room_of(events), queue.numbers[RUNNING], now, order, flag)
    _start_chosen(one, count)
    one.numbers[OPEN] = 0


@borrowing
def _start_chosen(one: One, count: int) -> None:
    for at in range(count):
        put_on_machine(one.events, one.events.chosen[at], one.numbers[NOW])
        _count(one, one.events.chosen[at])


@borrowing
def _count(one: One, row: int) -> None:
    """Add the costs of a starting job."""
    columns = one.events.queue.columns
    numbers = one.numbers
    costs = one.costs
    run = float(columns[RUNTIME, row])
    wait = float(numbers[NOW] - columns[SUBMIT, row])
    costs[0] += wait
    costs[1] += wait + run
    costs[2] += max(1.0, (wait + run) / max(run, 1.0))
    costs[3] += max(1.0, (wait + run) / max(run, _BOUND))
    one.started[numbers[STARTED]] = row
    numbers[STARTED] += 1


@borrowing
def _show_waiting(queue: JobQueue, rows: IntArray, numbers: IntArray) -> None:
    """Add the first waiting jobs to the visible rows. Skip the job that is already visible as the next one."""
    for row in range(queue.numbers[HEAD], queue.numbers[COUNT]):
        if numbers[SHOWN] == len(rows):
            break
        if queue.start[row] == WAITS and row != numbers[HELD]:
            rows[numbers[SHOWN]] = row
            numbers[SHOWN] += 1


@borrowing
def view(one: One, rules: IntArray, observation: Observation, mask: BoolArray) -> None:
    """Fill the observation of a decision, and the allowed actions."""
    events, numbers = one.events, one.numbers
    shown, mode = numbers[SHOWN], rules[MODE]
    show(events, one.rows, shown, numbers[NOW], observation)
    for at in range(len(mask)):
        mask[at] = at < shown or mode >= INSPECT
    if mode == BACKFILL and shown > 0:
        observation[0, 0] = 0.0
    if mode == INSPECT:
        for at in range(1, shown):
            observation[at, 0] = 0.0


@borrowing
def show(events: Events, rows: IntArray, shown: int, now: int, observation: Observation) -> None:
    """Fill an observation: a row per visible job, then zeros.

    The features of a row:

    * 1. :func:`view` sets 0 for jobs that may not be chosen.
    * Wait w / (w + 1 h).
    * ln(1 + predicted run time p) / ln(10^8).
    * Largest share of the machine that it needs, over the resources.
    * Whether it fits now.
    * w / (w + p).
    * Least free share of the machine, over the resources that it has.
    * Waiting jobs n / (n + 128).
    """
    queue = events.queue
    free = events.amounts[0]
    whole = events.amounts[2]
    columns = queue.columns
    waiting = float(queue.numbers[WAITING])
    room = 1.0
    for resource in range(len(free)):
        if whole[resource] > 0:
            room = min(room, free[resource] / whole[resource])
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
        wait = float(now - columns[SUBMIT, row])
        predicted = float(columns[PREDICTED, row])
        observation[at, 0] = 1.0
        observation[at, 1] = wait / (wait + _HALF_WAIT)
        observation[at, 2] = min(1.0, _ln(predicted) / _LONGEST)
        observation[at, 3] = share
        observation[at, 4] = 1.0 if fits(queue.amount, row, free) else 0.0
        observation[at, 5] = wait / (wait + predicted)
        observation[at, 6] = room
        observation[at, 7] = waiting / (waiting + _HALF_QUEUE)


@borrowing
def _ln(value: float) -> float:
    return float(np.log1p(value))
