"""Event loop that stops at each decision of an outside policy, for several simulations in parallel."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import BoolArray, FloatArray, IntArray
from ..backfilling.easy import SUBMISSION, backfill, backfill_behind, fill, reserve
from ..backfilling.job_queue import (
    EXPANSION,
    NEVER,
    WAITS,
    JobQueue,
    best_allowed,
    counts_of,
    fits,
    jobs_in,
    next_allowed,
)
from ..compiled import borrowing, within
from .events import (
    EventJobs,
    Events,
    advance,
    amounts_of,
    enter_early,
    event_counts,
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
#: Costs that rewards may pay, in the order of the sums over started jobs.
COSTS = ("wait", "turnaround", "slowdown", "bounded_slowdown")
#: Values for no action: before the first decision, and to skip a simulation.
BEGIN, PASS = -1, -2
#: Least run time in a bounded slowdown, seconds.
_BOUND = 10.0


class StepRules(NamedTuple):
    """What a policy decides, and what happens otherwise.

    Attributes
    ----------
    mode
        What the policy decides, :data:`PICK` or one of the following.
    behind
        What happens behind a job that does not fit, :data:`NOTHING` or one of the following.
    commit
        1 if a chosen job that does not fit stays the next one. Otherwise 0.
    delay, most
        Seconds by which a job is delayed, or for which a dispatcher is chosen, and the most delays.
    sort
        Order of the visible jobs.
    skip
        1 if the last action of :data:`TWO_LEVELS` is a delay. Otherwise 0.
    easy, order, flag
        Of each dispatcher: whether it is EASY, its order, and whether it skips blocked jobs or backfills the shortest
        job first. Shape (dispatchers,). The first order is that of the next job, for :data:`TWO_LEVELS`.
    """

    mode: int
    behind: int
    commit: int
    delay: int
    most: int
    sort: int
    skip: int
    easy: IntArray
    order: IntArray
    flag: IntArray


class Stage(NamedTuple):
    """State of the decisions of a simulation, each of shape (1,).

    Attributes
    ----------
    now
        Time, seconds.
    open
        Whether the decisions of this instant continue.
    shown
        Number of visible rows.
    next_row
        Row of the next job, -1 for none.
    limit
        Seconds until the shadow time, -1 before it is known.
    over
        Whether the simulation is over.
    started
        Number of started jobs.
    dispatcher, until
        Chosen dispatcher, and the end of its choice, seconds.
    backfills, skips
        Whether jobs behind the next one are chosen, and the number of delays since the last start, for
        :data:`TWO_LEVELS`.
    counted
        Number of jobs over which costs are averaged.
    """

    now: IntArray
    open: IntArray
    shown: IntArray
    next_row: IntArray
    limit: IntArray
    over: IntArray
    started: IntArray
    dispatcher: IntArray
    until: IntArray
    backfills: IntArray
    skips: IntArray
    counted: IntArray


class One(NamedTuple):
    """One simulation. Its arrays are those of :class:`ParallelSimulations` without the first axis."""

    events: Events
    numbers: IntArray
    costs: FloatArray
    paid: FloatArray
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
        Blocks of :class:`Stage`, shape (simulations, 12, 1).
    costs
        Sums of :data:`COSTS` over started jobs, times in seconds. Shape (simulations, 4).
    paid
        What has been paid as rewards, shape (simulations, 1).
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
    paid: FloatArray
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

    @property
    def stages(self) -> Stage:
        """The state of the decisions by name, each of shape (simulations,), for callers in Python."""
        return Stage(*self.numbers[:, :, 0].T)


@within
def _stage(one: One) -> Stage:
    block = one.numbers
    return Stage(
        block[0],
        block[1],
        block[2],
        block[3],
        block[4],
        block[5],
        block[6],
        block[7],
        block[8],
        block[9],
        block[10],
        block[11],
    )


@borrowing
def step(
    steps: ParallelSimulations,
    actions: IntArray,
    rules: StepRules,
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
        What the policy decides.
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
        events, stage = one.events, _stage(one)
        if stage.over[0] == 0:
            if actions[place] != BEGIN:
                act(one, actions[place], rules)
            while not (stage.open[0] == 1 and asks(one, rules)):
                now = next_instant(events)
                if now == NEVER:
                    stage.over[0], stage.shown[0] = 1, 0
                    break
                if 0 < event_counts(events).wake[0] <= now:
                    event_counts(events).wake[0] = 0
                advance(events, now, steps.ended, 0)
                _open(one, now)
            view(one, rules, columns, observation[place], masks[place])
        if actions[place] != BEGIN:
            rewards[place] = (one.paid[0] - one.costs[cost]) / stage.counted[0]
            one.paid[0] = one.costs[cost]
            ended[place] = stage.over[0] == 1


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
    arrays = {name: repeated(value) for name, value in events._asdict().items() if name not in ("queue", "closed")}
    repeats = Events(queue=queue, closed=events.closed, **arrays)
    jobs = len(events.amount)
    steps = ParallelSimulations(
        events=repeats,
        numbers=np.zeros((count, len(Stage._fields), 1), dtype=np.int64),
        costs=np.zeros((count, len(COSTS))),
        paid=np.zeros((count, 1)),
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
    steps.stages.next_row[:] = steps.stages.limit[:] = -1
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
    events = events_of(steps, place)
    stages = steps.stages
    unused = len(events.amount) - len(amount)
    events.jobs[:] = 0
    jobs, later = EventJobs(*events.jobs), slice(unused, -1)
    jobs.eligible[later] = jobs.submit[later] = columns[0]
    jobs.predicted[later], jobs.walltime[later], jobs.runtime[later] = columns[1:]
    events.amount[unused:] = amount
    events.slots[:] = slots
    events.queue.least_amount[:] = NEVER
    events.queue.least_times[:] = NEVER
    events.queue.numbers[:] = 0
    events.numbers[:] = 0
    events.counts.arrived[0] = unused
    events.machine.free[:] = events.machine.extra[:] = whole
    steps.numbers[place] = 0
    steps.costs[place] = 0.0
    steps.paid[place] = 0.0
    steps.put_off[place] = 0
    steps.traits[place, :, unused:] = traits
    steps.trace[place, unused:] = trace
    stages.next_row[place] = stages.limit[place] = -1
    stages.counted[place] = len(amount)
    if early:
        rows, times = (np.zeros(0, dtype=np.int64),) * 2 if starts is None else starts
        stages.counted[place] -= len(rows)
        begin_early(steps, place, unused, early, rows, times)


@borrowing
def begin_early(
    steps: ParallelSimulations, place: int, first: int, early: int, jobs: IntArray, times: IntArray
) -> None:
    """Let the first jobs of a simulation come, and start some of them. See :func:`begin`."""
    events = simulation(steps, place).events
    for job in range(first, first + early):
        enter_early(events, job)
    for at in range(len(jobs)):
        start(events, jobs[at], times[at])


@borrowing
def decide(
    steps: ParallelSimulations,
    action: int,
    rules: StepRules,
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
    if _stage(one).open[0] == 0 or not asks(one, rules):
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
    stage = _stage(one)
    stage.now[0] = now
    stage.open[0] = 1
    stage.limit[0] = -1
    stage.backfills[0] = 1 if stage.next_row[0] >= 0 else 0


@borrowing
def look(
    steps: ParallelSimulations, rules: StepRules, columns: IntArray, observation: Observation, masks: BoolArray
) -> None:
    """Fill the observation of the first simulation with the first waiting jobs."""
    one = simulation(steps, 0)
    _stage(one).shown[0] = 0
    _show_waiting(one, rules)
    view(one, rules, columns, observation[0], masks[0])


def arrays_of(steps: ParallelSimulations) -> list[NDArray[Any]]:
    """Return all arrays that simulations change."""
    events = steps.events
    own = [each for name, each in events._asdict().items() if name not in ("closed", "queue")]
    return [*own, *events.queue, *steps[1:-1]]


def events_of(steps: ParallelSimulations, place: int) -> Events:
    """Return the events of one simulation, for calls from Python."""
    events = steps.events
    queue = JobQueue(*(each[place] for each in events.queue))
    arrays: Any = (each[place] for each in events._replace(closed=steps.ranks, queue=steps.ranks))  # type: ignore[arg-type]
    return Events(*arrays)._replace(closed=events.closed, queue=queue)


@borrowing
def simulation(steps: ParallelSimulations, place: int) -> One:
    """Return one of the simulations."""
    events = steps.events
    queue = steps.events.queue
    jobs = JobQueue(
        queue.columns[place],
        queue.amount[place],
        queue.start[place],
        queue.least_amount[place],
        queue.least_times[place],
        queue.numbers[place],
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
        events.numbers[place],
    )
    return One(
        only,
        steps.numbers[place],
        steps.costs[place],
        steps.paid[place],
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
def asks(one: One, rules: StepRules) -> bool:
    """Do what needs no decision at this instant. Return whether a decision is needed, on the rows then visible."""
    if rules.mode == PICK:
        return _asks_next(one, rules)
    if rules.mode == SELECT:
        return _asks_dispatcher(one, rules)
    if rules.mode == TWO_LEVELS:
        return _asks_two_levels(one, rules)
    return _asks_backfill(one, rules) if rules.mode == BACKFILL else _asks_start(one, rules)


@borrowing
def _asks_next(one: One, rules: StepRules) -> bool:
    events, stage = one.events, _stage(one)
    queue, free = events.queue, amounts_of(events).free
    counts = counts_of(queue)
    if stage.next_row[0] >= 0:
        if not fits(queue.amount, stage.next_row[0], free):
            _backfill(one, stage.next_row[0], rules.behind)
            stage.open[0] = 0
            return False
        _start(one, stage.next_row[0])
        stage.next_row[0] = -1
    nothing = next_allowed(queue, counts.head[0], free, free, NEVER, False) == counts.rows[0]
    # Where nothing fits, all choices are the same, but for a choice that stands.
    if counts.waiting[0] == 0 or (nothing and rules.commit == 0):
        stage.open[0] = 0
        return False
    stage.shown[0] = 0
    _show_waiting(one, rules)
    return True


@borrowing
def _asks_backfill(one: One, rules: StepRules) -> bool:
    events = one.events
    stage = _stage(one)
    queue = events.queue
    counts = counts_of(queue)
    free = amounts_of(events).free
    if stage.limit[0] < 0:
        while counts.head[0] < counts.rows[0] and fits(queue.amount, counts.head[0], free):
            _start(one, counts.head[0])
    if counts.waiting[0] < 2:
        stage.open[0] = 0
        return False
    return _asks_behind(one, rules, counts.head[0])


@borrowing
def _asks_behind(one: One, rules: StepRules, blocked: int) -> bool:
    """Show a blocked job, and the jobs that fit without a delay of it. Return whether there are any."""
    events = one.events
    stage = _stage(one)
    queue = events.queue
    counts = counts_of(queue)
    free = amounts_of(events).free
    spare = amounts_of(events).extra
    now = stage.now[0]
    if stage.limit[0] < 0:
        shadow = reserve(queue, room_of(events), blocked, event_counts(one.events).running[0], now, now)
        stage.limit[0] = shadow - now if shadow < NEVER else NEVER
    one.rows[0] = blocked
    stage.shown[0] = 1
    row = counts.head[0]
    while rules.sort != SUBMISSION or stage.shown[0] < len(one.rows):
        row = next_allowed(queue, row, free, spare, stage.limit[0], False)
        if row == counts.rows[0]:
            break
        _show_row(one, rules, row, 1)
        row += 1
    if stage.shown[0] == 1:
        stage.open[0] = 0
    return bool(stage.shown[0] > 1)


@borrowing
def _asks_two_levels(one: One, rules: StepRules) -> bool:
    events, stage = one.events, _stage(one)
    queue = events.queue
    counts = counts_of(queue)
    free = amounts_of(events).free
    while counts.waiting[0] > 0:
        if stage.backfills[0] == 1:
            if fits(queue.amount, stage.next_row[0], free):
                _start(one, stage.next_row[0])
                stage.next_row[0] = -1
                stage.backfills[0] = 0
                continue
            if rules.behind == BY_POLICY and _asks_behind(one, rules, stage.next_row[0]):
                return True
            if rules.behind != BY_POLICY:
                _backfill(one, stage.next_row[0], rules.behind)
            break
        if rules.order[0] == CHOSEN:
            nothing = next_allowed(queue, counts.head[0], free, free, NEVER, False) == counts.rows[0]
            if nothing and rules.commit == 0:
                break
            stage.next_row[0] = -1
            stage.shown[0] = 0
            _show_waiting(one, rules)
            return True
        stage.next_row[0] = _best(one, rules.order[0])
        if fits(queue.amount, stage.next_row[0], free):
            if rules.skip == 1 and one.put_off[stage.next_row[0]] < rules.most:
                one.rows[0] = stage.next_row[0]
                stage.shown[0] = 1
                _show_waiting(one, rules)
                return True
            _start(one, stage.next_row[0])
            continue
        stage.backfills[0] = 1
    _close(one, rules)
    return False


@borrowing
def _close(one: One, rules: StepRules) -> None:
    """End the decisions of an instant. A chosen job stays chosen only by :attr:`StepRules.commit`."""
    stage = _stage(one)
    stage.open[0] = 0
    if stage.backfills[0] == 0 or rules.commit == 0:
        stage.next_row[0] = -1


@borrowing
def _best(one: One, order: int) -> int:
    """Return the row of the first waiting job by an order."""
    queue = one.events.queue
    counts = counts_of(queue)
    if order == SUBMISSION:
        return int(counts.head[0])
    least = np.inf
    best = counts.head[0]
    for row in range(counts.head[0], counts.rows[0]):
        if queue.start[row] == WAITS:
            key = _rank(one, order, row)
            if key < least:
                least, best = key, row
    return int(best)


@borrowing
def _asks_start(one: One, rules: StepRules) -> bool:
    events, stage = one.events, _stage(one)
    queue = events.queue
    counts = counts_of(queue)
    free = amounts_of(events).free
    bound = amounts_of(events).extra
    while counts.waiting[0] > 0:
        for resource in range(len(bound)):
            bound[resource] = free[resource] if rules.flag[0] == 1 else NEVER
        if rules.order[0] == SUBMISSION:
            row = next_allowed(queue, counts.head[0], bound, bound, NEVER, False)
        elif rules.order[0] > EXPANSION:
            row = _best(one, rules.order[0])
        else:
            head = counts.head[0]
            row = best_allowed(queue, head, bound, bound, NEVER, False, rules.order[0], stage.now[0])
        if row == counts.rows[0]:
            break
        if not fits(queue.amount, row, free):
            _backfill(one, row, rules.behind)
            break
        if one.put_off[row] < rules.most:
            one.rows[0] = row
            stage.shown[0] = 1
            stage.next_row[0] = row
            _show_waiting(one, rules)
            return True
        _start(one, row)
    stage.open[0] = 0
    return False


@borrowing
def _asks_dispatcher(one: One, rules: StepRules) -> bool:
    queue, stage = one.events.queue, _stage(one)
    stage.shown[0] = 0
    if counts_of(queue).waiting[0] > 0 and stage.now[0] >= stage.until[0]:
        _show_waiting(one, rules)
        return True
    _dispatch(one, rules)
    return False


@borrowing
def act(one: One, action: int, rules: StepRules) -> None:
    """Carry out a decision."""
    events, stage = one.events, _stage(one)
    queue = events.queue
    free = amounts_of(events).free
    row = one.rows[action] if rules.mode < INSPECT else 0
    if rules.mode == TWO_LEVELS:
        _act_on_levels(one, action, rules)
    elif rules.mode == SELECT:
        stage.dispatcher[0], stage.until[0] = action, stage.now[0] + rules.delay
        _dispatch(one, rules)
    elif rules.mode == PICK:
        if fits(queue.amount, row, free):
            _start(one, row)
            return
        if rules.commit == 1:
            stage.next_row[0] = row
        _backfill(one, row, rules.behind)
        stage.open[0] = 0
    elif rules.mode == BACKFILL:
        if action == 0:
            stage.open[0] = 0
            return
        _backfill_chosen(one, row)
    elif action == 0:
        _start(one, stage.next_row[0])
    else:
        one.put_off[stage.next_row[0]] += 1
        _wait(one, rules)


@borrowing
def _act_on_levels(one: One, action: int, rules: StepRules) -> None:
    stage = _stage(one)
    queue = one.events.queue
    if stage.backfills[0] == 1:
        if action == 0:
            _close(one, rules)
        else:
            _backfill_chosen(one, one.rows[action])
        return
    if rules.skip == 1 and action == len(one.rows):
        if rules.order[0] == CHOSEN:
            stage.skips[0] += 1
        else:
            one.put_off[stage.next_row[0]] += 1
        stage.next_row[0] = -1
        _wait(one, rules)
        return
    row = one.rows[action]
    if fits(queue.amount, row, amounts_of(one.events).free):
        _start(one, row)
        stage.next_row[0] = -1
    else:
        stage.next_row[0] = row
        stage.backfills[0] = 1


@borrowing
def _backfill_chosen(one: One, row: int) -> None:
    """Start a job behind a blocked one. If it runs past the shadow time, it takes extra amounts."""
    queue = one.events.queue
    spare = amounts_of(one.events).extra
    if jobs_in(queue).predicted[row] > _stage(one).limit[0]:
        for resource in range(len(spare)):
            spare[resource] -= queue.amount[row, resource]
    _start(one, row)


@borrowing
def _wait(one: One, rules: StepRules) -> None:
    """Start nothing until the next event, or until the delay is over."""
    wake = event_counts(one.events).wake
    if wake[0] == 0:
        wake[0] = _stage(one).now[0] + rules.delay
    _stage(one).open[0] = 0


@borrowing
def _start(one: One, row: int) -> None:
    start(one.events, row, _stage(one).now[0])
    _count(one, row)


@borrowing
def _backfill(one: One, blocked: int, behind: int) -> None:
    if behind == NOTHING:
        return
    events, now = one.events, _stage(one).now[0]
    queue = events.queue
    shortest = behind == SHORTEST_FIRST
    head = counts_of(queue).head[0]
    running = event_counts(one.events).running[0]
    _start_chosen(one, backfill_behind(queue, room_of(events), running, 0, blocked, head, now, shortest, False))


@borrowing
def _dispatch(one: One, rules: StepRules) -> None:
    """Let the chosen dispatcher decide. This ends the instant."""
    events = one.events
    now = _stage(one).now[0]
    part = _stage(one).dispatcher[0]
    queue = events.queue
    order = rules.order[part]
    flag = rules.flag[part] == 1
    if rules.easy[part] == 1:
        count = backfill(queue, room_of(events), event_counts(one.events).running[0], now, flag, False)
    else:
        count = fill(queue, room_of(events), event_counts(one.events).running[0], now, order, flag)
    _start_chosen(one, count)
    _stage(one).open[0] = 0


@borrowing
def _start_chosen(one: One, count: int) -> None:
    for at in range(count):
        put_on_machine(one.events, one.events.chosen[at], _stage(one).now[0])
        _count(one, one.events.chosen[at])


@borrowing
def _count(one: One, row: int) -> None:
    """Add the costs of a starting job."""
    jobs = jobs_in(one.events.queue)
    stage = _stage(one)
    costs = one.costs  # In the order of COSTS.
    run = float(jobs.runtime[row])
    wait = float(stage.now[0] - jobs.submit[row])
    costs[0] += wait
    costs[1] += wait + run
    costs[2] += max(1.0, (wait + run) / max(run, 1.0))
    costs[3] += max(1.0, (wait + run) / max(run, _BOUND))
    one.started[stage.started[0]] = row
    stage.started[0] += 1
    stage.skips[0] = 0


@borrowing
def _show_waiting(one: One, rules: StepRules) -> None:
    """Add waiting jobs to the visible rows, in their order. Skip the job that is already visible as the next one."""
    queue = one.events.queue
    stage = _stage(one)
    counts = counts_of(queue)
    first = stage.shown[0]
    for row in range(counts.head[0], counts.rows[0]):
        if rules.sort == SUBMISSION and stage.shown[0] == len(one.rows):
            break
        if queue.start[row] == WAITS and row != stage.next_row[0]:
            _show_row(one, rules, row, first)


@borrowing
def _show_row(one: One, rules: StepRules, row: int, first: int) -> None:
    """Add a job to the visible rows from `first` on."""
    stage = _stage(one)
    if rules.sort == SUBMISSION:
        one.rows[stage.shown[0]] = row
        stage.shown[0] += 1
    else:
        key = _rank(one, rules.sort, row)
        stage.shown[0] = insert_ranked(one.keys, one.rows, first, stage.shown[0], row, key)


@borrowing
def _rank(one: One, order: int, row: int) -> float:
    if order == GIVEN:
        return float(one.ranks[row])
    queue = one.events.queue
    jobs = jobs_in(queue)
    cores = max(1.0, float(queue.amount[row, one.units[0]] * one.units[1]))
    return rank(order, float(jobs.submit[row]), float(jobs.predicted[row]), cores, float(_stage(one).now[0]))


@borrowing
def view(one: One, rules: StepRules, columns: IntArray, observation: Observation, mask: BoolArray) -> None:
    """Fill the observation of a decision, the allowed actions, and the visible jobs."""
    events, stage = one.events, _stage(one)
    shown, mode = stage.shown[0], rules.mode
    behind = mode == BACKFILL or (mode == TWO_LEVELS and stage.backfills[0] == 1)
    # In these a single job is accepted or delayed.
    single = mode == INSPECT or (mode == TWO_LEVELS and not behind and rules.order[0] != CHOSEN)
    if columns.shape[1] == 0:
        show(events, one.rows, shown, stage.now[0], observation)
    else:
        sight = Sight(one.rows, shown, stage.now[0], behind, one.units, one.put_off, one.traits, one.spare)
        show_columns(events, sight, columns, observation)
    orders = jobs_in(events.queue).order
    for at in range(len(one.visible)):
        one.visible[at] = one.trace[orders[one.rows[at]]] if at < shown else -1
    for at in range(len(mask)):
        mask[at] = at < shown or mode in (INSPECT, SELECT)
    if mode == TWO_LEVELS:
        if single:
            for at in range(1, len(mask)):
                mask[at] = False
        if rules.skip == 1:
            mask[len(mask) - 1] = shown > 0 and not behind and stage.skips[0] < rules.most
    first, last = (0, 1) if behind else (1, shown) if single else (0, 0)
    for at in range(first, min(last, shown)):
        if columns.shape[1] == 0:
            observation[at, 0] = 0.0
        for place in range(columns.shape[1]):
            if columns[0, place] == ALLOWED:
                observation[at, place] = 0.0
