"""Event loop that stops at each decision of an outside policy, for several simulations in parallel."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import BoolArray, FloatArray, IntArray
from ..backfilling.easy import SUBMISSION, backfill, backfill_behind, fill, reserve
from ..backfilling.job_queue import (
    COUNT,
    EXPANSION,
    HEAD,
    NEVER,
    ORDER,
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
from .events import (
    ARRIVED,
    ELIGIBLE,
    RUNNING,
    WAKE,
    Events,
    advance,
    enter,
    next_instant,
    put_on_machine,
    room_of,
    start,
)
from .job_orders import GIVEN, insert_ranked, rank
from .observations import ALLOWED, Observation, Sight, Traits, show, show_columns

#: What a policy decides: the next job, the job to backfill, whether the next job starts now, the dispatcher, or the
#: next job and then the jobs to backfill behind it.
PICK, BACKFILL, INSPECT, SELECT, TWO_LEVELS = range(5)
#: What happens behind a job that does not fit: nothing, backfilling in queue order, backfilling of the shortest job
#: first, or a decision.
NOTHING, IN_ORDER, SHORTEST_FIRST, BY_POLICY = range(4)
#: Order of the next job if the policy chooses it.
CHOSEN = 99
#: Entries of the rules. `COMMIT`: whether a chosen job that does not fit stays the next one. `DELAY`, `MOST`: seconds
#: by which a job is delayed, or for which a dispatcher is chosen, and the most delays. `SORT`: order of the visible
#: jobs. `SKIP`: whether the last action of :data:`TWO_LEVELS` is a delay. From `PARTS` on, three per dispatcher:
#: whether it is EASY, its order, and whether it skips blocked jobs or backfills the shortest job first.
MODE, BEHIND, COMMIT, DELAY, MOST, SORT, SKIP, PARTS, ORDERED, FLAG = range(10)
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
#: * Whether jobs behind the next one are chosen, and the number of delays since the last start, for
#:   :data:`TWO_LEVELS`.
#: * Number of jobs over which costs are averaged.
NOW, OPEN, SHOWN, HELD, LIMIT, OVER, STARTED, PART, UNTIL, BACKFILLS, SKIPS, COUNTED, NUMBERS = range(13)
#: Entry of the costs after those of :func:`_count`: what has been paid as rewards.
_PAID = 4
#: Values for no action: before the first decision, and to skip a simulation.
BEGIN, PASS = -1, -2
#: Least run time in a bounded slowdown, seconds.
_BOUND = 10.0


class One(NamedTuple):
    """One simulation. Its arrays are those of :class:`ParallelSimulations` without the first axis."""

    events: Events
    numbers: IntArray
    costs: FloatArray
    rows: IntArray
    put_off: IntArray
    started: IntArray
    keys: FloatArray
    ranks: FloatArray
    visible: NDArray[np.int32]
    trace: IntArray
    traits: Traits
    spare: IntArray
    units: IntArray


class ParallelSimulations(NamedTuple):
    """Several simulations in parallel.

    Attributes
    ----------
    events
        Events of the simulations. Every array except `closed` has them as a further first axis.
    numbers
        See :data:`NOW` and the following, shape (simulations, 12).
    costs
        Sums over started jobs: wait and turnaround, seconds, slowdown, and bounded slowdown. Then what has been paid.
        Shape (simulations, 5).
    rows
        Rows of the visible jobs, shape (simulations, most).
    put_off
        Number of delays of each row, shape (simulations, jobs).
    started
        Rows in order of their starts, shape (simulations, jobs).
    keys
        Ranks of the visible rows if they are sorted, shape (simulations, most).
    ranks
        Rank of each row for :data:`.GIVEN`, shape (simulations, jobs).
    visible
        Visible jobs by their positions in the trace, -1 for none. Shape (simulations, most).
    trace
        Position of each job in the trace, shape (simulations, jobs).
    traits
        See :class:`.Sight`, shape (simulations, traits, jobs).
    spare
        Buffer, shape (simulations, resources).
    units
        See :class:`.Sight`, shape (simulations, 2).
    ended
        Buffer for jobs that end at one instant, longer than the number of jobs.
    """

    events: Events
    numbers: IntArray
    costs: FloatArray
    rows: IntArray
    put_off: IntArray
    started: IntArray
    keys: FloatArray
    ranks: FloatArray
    visible: NDArray[np.int32]
    trace: IntArray
    traits: Traits
    spare: IntArray
    units: IntArray
    ended: IntArray


@borrowing
def step(
    steps: ParallelSimulations,
    actions: IntArray,
    rules: IntArray,
    columns: IntArray,
    cost: int,
    observation: Observation,
    masks: BoolArray,
    rewards: FloatArray,
    ended: BoolArray,
) -> None:
    """Take an action in each simulation, and advance to its next decision.

    Parameters
    ----------
    steps
        Updated in place.
    actions
        An allowed action for each simulation, or :data:`BEGIN` or :data:`PASS`.
    rules
        See :data:`MODE` and the following, shape (7 + 3 * dispatchers,).
    columns
        As for :func:`.show_columns`. Shape (2, 0) for those of :func:`.show`.
    cost
        Index of the cost that rewards pay.
    observation, masks
        Receive the observations, float32, shape (simulations, most, columns), and the allowed actions. Shape
        (simulations, actions).
    rewards, ended
        Receive the rewards, and which simulations ended with this action, shape (simulations,). Starts before the first
        decision are paid with that decision. A simulation without decisions ends with its first action.
    """
    for place in range(len(actions)):
        rewards[place] = 0.0
        ended[place] = False
        if actions[place] == PASS:
            continue
        one = simulation(steps, place)
        events, numbers = one.events, one.numbers
        if numbers[OVER] == 0:
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
                _open(one, now)
            view(one, rules, columns, observation[place], masks[place])
        if actions[place] != BEGIN:
            rewards[place] = (one.costs[_PAID] - one.costs[cost]) / numbers[COUNTED]
            one.costs[_PAID] = one.costs[cost]
            ended[place] = numbers[OVER] == 1


@borrowing
def take_allowed(
    chosen: IntArray, masks: BoolArray, nothing_left: BoolArray, over: BoolArray, actions: IntArray
) -> bool:
    """Copy chosen actions where simulations are not over, if all are allowed. Return whether they are.

    Where nothing is left to decide, any action is allowed. All but `masks` have shape (simulations,).
    """
    for place in range(len(chosen)):
        if not 0 <= chosen[place] < masks.shape[1] or not (masks[place, chosen[place]] or nothing_left[place]):
            return False
    for place in range(len(chosen)):
        if not over[place]:
            actions[place] = chosen[place]
    return True


def side_by_side(
    events: Events, count: int, shown: int, traits: int = 0, units: tuple[int, int] = (0, 1)
) -> ParallelSimulations:
    """Return several simulations of the same jobs, before their first instant.

    Parameters
    ----------
    events
        Initial simulation. Its `running`, `chosen` and `placed` have room for all of them, see :func:`begin`.
    count
        Number of simulations.
    shown
        Most rows that are visible at a decision.
    traits, units
        Number of traits of a job, and the units of the primary resource; see :class:`.Sight`.
    """

    def repeated(array: Any) -> Any:
        return np.repeat(array[None], count, axis=0)

    queue = JobQueue(*map(repeated, events.queue))
    repeats = Events._make([*map(repeated, events[:3]), events.closed, queue, *map(repeated, events[5:])])
    jobs = len(events.amount)
    steps = ParallelSimulations(
        events=repeats,
        numbers=np.zeros((count, NUMBERS), dtype=np.int64),
        costs=np.zeros((count, 5)),
        rows=np.zeros((count, shown), dtype=np.int64),
        put_off=np.zeros((count, jobs), dtype=np.int64),
        started=np.zeros((count, jobs), dtype=np.int64),
        keys=np.zeros((count, shown)),
        ranks=np.zeros((count, jobs)),
        visible=np.full((count, shown), -1, dtype=np.int32),
        trace=np.tile(np.arange(jobs), (count, 1)),
        traits=np.zeros((count, traits, jobs), dtype=np.float32),
        spare=np.zeros((count, events.amount.shape[1]), dtype=np.int64),
        units=np.tile(np.array(units, dtype=np.int64), (count, 1)),
        ended=np.zeros(jobs + 1, dtype=np.int64),
    )
    steps.numbers[:, (HELD, LIMIT)] = -1
    return steps


def begin(
    steps: ParallelSimulations,
    place: int,
    columns: IntArray,
    amount: IntArray,
    whole: IntArray,
    slots: IntArray,
    traits: Traits,
    trace: IntArray,
    starts: tuple[IntArray, IntArray] | None = None,
    early: int = 0,
) -> None:
    """Restart one simulation with other jobs.

    Parameters
    ----------
    steps, place
        The simulations, and the position of this one.
    columns
        Submission, predicted run time, walltime, and time on the machine, seconds, in order of submission. Shape (4,
        jobs), at most as many jobs as there is room for. They get the last numbers.
    amount, whole
        Amounts of each job and of the machine, shape (jobs, resources) and (resources,).
    slots
        Slots of each node, shape (nodes,), or (0,) on a pool.
    traits, trace
        Shape (traits, jobs) and (jobs,), see :class:`ParallelSimulations`.
    starts
        Jobs that run at the beginning, and their starts, seconds, in order of their starts. None by default.
    early
        Number of the first jobs that came before the beginning. Those that do not run wait.
    """
    events = steps.events
    unused = events.amount.shape[1] - len(amount)
    events.jobs[place] = 0
    events.jobs[place, 0, unused:-1] = columns[0]
    events.jobs[place, 1:5, unused:-1] = columns
    events.amount[place, unused:] = amount
    events.slots[place] = slots
    events.queue.least[place] = NEVER
    events.queue.numbers[place] = 0
    events.queue.numbers[place, ARRIVED] = unused
    events.amounts[place, :2] = whole
    steps.numbers[place] = 0
    steps.costs[place] = 0.0
    steps.put_off[place] = 0
    steps.traits[place, :, unused:] = traits
    steps.trace[place, unused:] = trace
    steps.numbers[place, HELD] = steps.numbers[place, LIMIT] = -1
    steps.numbers[place, COUNTED] = len(amount)
    if early:
        jobs, times = (np.zeros(0, dtype=np.int64),) * 2 if starts is None else starts
        steps.numbers[place, COUNTED] -= len(jobs)
        begin_early(steps, place, unused, early, jobs, times)


@borrowing
def begin_early(
    steps: ParallelSimulations, place: int, first: int, early: int, jobs: IntArray, times: IntArray
) -> None:
    """Let the first jobs of a simulation come, and start some of them. See :func:`begin`."""
    events = simulation(steps, place).events
    for job in range(first, first + early):
        enter(events, job, events.jobs[ELIGIBLE, job])
        events.queue.numbers[ARRIVED] += 1
    for at in range(len(jobs)):
        start(events, jobs[at], times[at])


@borrowing
def decide(
    steps: ParallelSimulations,
    action: int,
    rules: IntArray,
    columns: IntArray,
    observation: Observation,
    masks: BoolArray,
) -> bool:
    """Take an action in the first simulation. Return whether a further decision is needed at this instant.

    :data:`BEGIN` takes no action.
    """
    one = simulation(steps, 0)
    if action != BEGIN:
        act(one, action, rules)
    if one.numbers[OPEN] == 0 or not asks(one, rules):
        return False
    view(one, rules, columns, observation[0], masks[0])
    return True


@borrowing
def resume(steps: ParallelSimulations, running: int, now: int) -> None:
    """Start the first `running` jobs of the first simulation. The others wait. It has only this instant."""
    one = simulation(steps, 0)
    events = one.events
    advance(events, now, steps.ended, 0)
    for row in range(running):
        start(events, row, now)
    _open(one, now)


@borrowing
def _open(one: One, now: int) -> None:
    """Begin the decisions of an instant."""
    numbers = one.numbers
    numbers[NOW] = now
    numbers[OPEN] = 1
    numbers[LIMIT] = -1
    numbers[BACKFILLS] = 1 if numbers[HELD] >= 0 else 0


@borrowing
def look(
    steps: ParallelSimulations, rules: IntArray, columns: IntArray, observation: Observation, masks: BoolArray
) -> None:
    """Fill the observation of the first simulation with the first waiting jobs."""
    one = simulation(steps, 0)
    one.numbers[SHOWN] = 0
    _show_waiting(one, rules)
    view(one, rules, columns, observation[0], masks[0])


def arrays_of(steps: ParallelSimulations) -> list[NDArray[Any]]:
    """Return all arrays that simulations change."""
    events = steps.events
    own = [each for each in (*events[:4], *events[5:]) if each is not events.closed]
    return [*own, *events.queue, *steps[1:-1]]


def events_of(steps: ParallelSimulations, place: int) -> Events:
    """Return the events of one simulation, for calls from Python."""
    events = steps.events
    queue = JobQueue(*(each[place] for each in events.queue))
    arrays: list[Any] = [each if each is events.closed else each[place] for each in (*events[:4], *events[5:])]
    return Events._make([*arrays[:4], queue, *arrays[4:]])


@borrowing
def simulation(steps: ParallelSimulations, place: int) -> One:
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
        only,
        steps.numbers[place],
        steps.costs[place],
        steps.rows[place],
        steps.put_off[place],
        steps.started[place],
        steps.keys[place],
        steps.ranks[place],
        steps.visible[place],
        steps.trace[place],
        steps.traits[place],
        steps.spare[place],
        steps.units[place],
    )


@borrowing
def asks(one: One, rules: IntArray) -> bool:
    """Do what needs no decision at this instant. Return whether a decision is needed, on the rows then visible."""
    if rules[MODE] == PICK:
        return _asks_next(one, rules)
    if rules[MODE] == SELECT:
        return _asks_dispatcher(one, rules)
    if rules[MODE] == TWO_LEVELS:
        return _asks_two_levels(one, rules)
    return _asks_backfill(one, rules) if rules[MODE] == BACKFILL else _asks_start(one, rules)


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
    _show_waiting(one, rules)
    return True


@borrowing
def _asks_backfill(one: One, rules: IntArray) -> bool:
    events = one.events
    numbers = one.numbers
    queue = events.queue
    free = events.amounts[0]
    if numbers[LIMIT] < 0:
        while queue.numbers[HEAD] < queue.numbers[COUNT] and fits(queue.amount, queue.numbers[HEAD], free):
            _start(one, queue.numbers[HEAD])
    if queue.numbers[WAITING] < 2:
        numbers[OPEN] = 0
        return False
    return _asks_behind(one, rules, queue.numbers[HEAD])


@borrowing
def _asks_behind(one: One, rules: IntArray, blocked: int) -> bool:
    """Show a blocked job, and the jobs that fit without a delay of it. Return whether there are any."""
    events = one.events
    numbers = one.numbers
    queue = events.queue
    free = events.amounts[0]
    spare = events.amounts[1]
    now = numbers[NOW]
    if numbers[LIMIT] < 0:
        shadow = reserve(queue, room_of(events), blocked, queue.numbers[RUNNING], now, now)
        numbers[LIMIT] = shadow - now if shadow < NEVER else NEVER
    one.rows[0] = blocked
    numbers[SHOWN] = 1
    row = queue.numbers[HEAD]
    while rules[SORT] != SUBMISSION or numbers[SHOWN] < len(one.rows):
        row = next_allowed(queue, row, free, spare, numbers[LIMIT], PREDICTED)
        if row == queue.numbers[COUNT]:
            break
        _show_row(one, rules, row, 1)
        row += 1
    if numbers[SHOWN] == 1:
        numbers[OPEN] = 0
    return bool(numbers[SHOWN] > 1)


@borrowing
def _asks_two_levels(one: One, rules: IntArray) -> bool:
    events, numbers = one.events, one.numbers
    queue = events.queue
    free = events.amounts[0]
    while queue.numbers[WAITING] > 0:
        if numbers[BACKFILLS] == 1:
            if fits(queue.amount, numbers[HELD], free):
                _start(one, numbers[HELD])
                numbers[HELD] = -1
                numbers[BACKFILLS] = 0
                continue
            if rules[BEHIND] == BY_POLICY and _asks_behind(one, rules, numbers[HELD]):
                return True
            if rules[BEHIND] != BY_POLICY:
                _backfill(one, numbers[HELD], rules[BEHIND])
            break
        if rules[ORDERED] == CHOSEN:
            nothing = next_allowed(queue, queue.numbers[HEAD], free, free, NEVER, PREDICTED) == queue.numbers[COUNT]
            if nothing and rules[COMMIT] == 0:
                break
            numbers[HELD] = -1
            numbers[SHOWN] = 0
            _show_waiting(one, rules)
            return True
        numbers[HELD] = _best(one, rules[ORDERED])
        if fits(queue.amount, numbers[HELD], free):
            if rules[SKIP] == 1 and one.put_off[numbers[HELD]] < rules[MOST]:
                one.rows[0] = numbers[HELD]
                numbers[SHOWN] = 1
                _show_waiting(one, rules)
                return True
            _start(one, numbers[HELD])
            continue
        numbers[BACKFILLS] = 1
    _close(one, rules)
    return False


@borrowing
def _close(one: One, rules: IntArray) -> None:
    """End the decisions of an instant. A chosen job stays chosen only by :data:`COMMIT`."""
    numbers = one.numbers
    numbers[OPEN] = 0
    if numbers[BACKFILLS] == 0 or rules[COMMIT] == 0:
        numbers[HELD] = -1


@borrowing
def _best(one: One, order: int) -> int:
    """Return the row of the first waiting job by an order."""
    queue = one.events.queue
    if order == SUBMISSION:
        return int(queue.numbers[HEAD])
    best = np.inf
    found = queue.numbers[HEAD]
    for row in range(queue.numbers[HEAD], queue.numbers[COUNT]):
        if queue.start[row] == WAITS:
            key = _rank(one, order, row)
            if key < best:
                best, found = key, row
    return int(found)


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
        elif rules[ORDERED] > EXPANSION:
            row = _best(one, rules[ORDERED])
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
            _show_waiting(one, rules)
            return True
        _start(one, row)
    numbers[OPEN] = 0
    return False


@borrowing
def _asks_dispatcher(one: One, rules: IntArray) -> bool:
    queue, numbers = one.events.queue, one.numbers
    numbers[SHOWN] = 0
    if queue.numbers[WAITING] > 0 and numbers[NOW] >= numbers[UNTIL]:
        _show_waiting(one, rules)
        return True
    _dispatch(one, rules)
    return False


@borrowing
def act(one: One, action: int, rules: IntArray) -> None:
    """Carry out a decision."""
    events, numbers = one.events, one.numbers
    queue = events.queue
    free = events.amounts[0]
    row = one.rows[action] if rules[MODE] < INSPECT else 0
    if rules[MODE] == TWO_LEVELS:
        _act_on_levels(one, action, rules)
    elif rules[MODE] == SELECT:
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
        _backfill_chosen(one, row)
    elif action == 0:
        _start(one, numbers[HELD])
    else:
        one.put_off[numbers[HELD]] += 1
        _wait(one, rules)


@borrowing
def _act_on_levels(one: One, action: int, rules: IntArray) -> None:
    numbers = one.numbers
    queue = one.events.queue
    if numbers[BACKFILLS] == 1:
        if action == 0:
            _close(one, rules)
        else:
            _backfill_chosen(one, one.rows[action])
        return
    if rules[SKIP] == 1 and action == len(one.rows):
        if rules[ORDERED] == CHOSEN:
            numbers[SKIPS] += 1
        else:
            one.put_off[numbers[HELD]] += 1
        numbers[HELD] = -1
        _wait(one, rules)
        return
    row = one.rows[action]
    if fits(queue.amount, row, one.events.amounts[0]):
        _start(one, row)
        numbers[HELD] = -1
    else:
        numbers[HELD] = row
        numbers[BACKFILLS] = 1


@borrowing
def _backfill_chosen(one: One, row: int) -> None:
    """Start a job behind a blocked one. If it runs past the shadow time, it takes extra amounts."""
    queue = one.events.queue
    spare = one.events.amounts[1]
    if queue.columns[PREDICTED, row] > one.numbers[LIMIT]:
        for resource in range(len(spare)):
            spare[resource] -= queue.amount[row, resource]
    _start(one, row)


@borrowing
def _wait(one: One, rules: IntArray) -> None:
    """Start nothing until the next event, or until the delay is over."""
    queue = one.events.queue
    if queue.numbers[WAKE] == 0:
        queue.numbers[WAKE] = one.numbers[NOW] + rules[DELAY]
    one.numbers[OPEN] = 0


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
    numbers[SKIPS] = 0


@borrowing
def _show_waiting(one: One, rules: IntArray) -> None:
    """Add waiting jobs to the visible rows, in their order. Skip the job that is already visible as the next one."""
    queue = one.events.queue
    numbers = one.numbers
    first = numbers[SHOWN]
    for row in range(queue.numbers[HEAD], queue.numbers[COUNT]):
        if rules[SORT] == SUBMISSION and numbers[SHOWN] == len(one.rows):
            break
        if queue.start[row] == WAITS and row != numbers[HELD]:
            _show_row(one, rules, row, first)


@borrowing
def _show_row(one: One, rules: IntArray, row: int, first: int) -> None:
    """Add a job to the visible rows from `first` on."""
    numbers = one.numbers
    if rules[SORT] == SUBMISSION:
        one.rows[numbers[SHOWN]] = row
        numbers[SHOWN] += 1
    else:
        key = _rank(one, rules[SORT], row)
        numbers[SHOWN] = insert_ranked(one.keys, one.rows, first, numbers[SHOWN], row, key)


@borrowing
def _rank(one: One, order: int, row: int) -> float:
    if order == GIVEN:
        return float(one.ranks[row])
    queue = one.events.queue
    columns = queue.columns
    cores = max(1.0, float(queue.amount[row, one.units[0]] * one.units[1]))
    return rank(order, float(columns[SUBMIT, row]), float(columns[PREDICTED, row]), cores, float(one.numbers[NOW]))


@borrowing
def view(one: One, rules: IntArray, columns: IntArray, observation: Observation, mask: BoolArray) -> None:
    """Fill the observation of a decision, the allowed actions, and the visible jobs."""
    events, numbers = one.events, one.numbers
    shown, mode = numbers[SHOWN], rules[MODE]
    behind = mode == BACKFILL or (mode == TWO_LEVELS and numbers[BACKFILLS] == 1)
    # In these a single job is accepted or delayed.
    single = mode == INSPECT or (mode == TWO_LEVELS and not behind and rules[ORDERED] != CHOSEN)
    if columns.shape[1] == 0:
        show(events, one.rows, shown, numbers[NOW], observation)
    else:
        sight = Sight(one.rows, shown, numbers[NOW], behind, one.units, one.put_off, one.traits, one.spare)
        show_columns(events, sight, columns, observation)
    for at in range(len(one.visible)):
        one.visible[at] = one.trace[events.queue.columns[ORDER, one.rows[at]]] if at < shown else -1
    for at in range(len(mask)):
        mask[at] = at < shown or mode in (INSPECT, SELECT)
    if mode == TWO_LEVELS:
        if single:
            for at in range(1, len(mask)):
                mask[at] = False
        if rules[SKIP] == 1:
            mask[len(mask) - 1] = shown > 0 and not behind and numbers[SKIPS] < rules[MOST]
    first, last = (0, 1) if behind else (1, shown) if single else (0, 0)
    for at in range(first, min(last, shown)):
        if columns.shape[1] == 0:
            observation[at, 0] = 0.0
        for place in range(columns.shape[1]):
            if columns[0, place] == ALLOWED:
                observation[at, place] = 0.0
