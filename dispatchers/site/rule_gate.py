"""Check starts against the rules of the machine. Dispatchers without a profile see only jobs that may start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np

from ...base import IntArray
from ...models import choose, count_slots, shift
from ...models.profiles.timeline import NEVER
from ...workloads import Machine
from ...workloads.machine_rules import Reservation, refuse_reservation
from ..columns import JobSequence, NewJobs
from ..layouts import place, wrong_layout
from ..problems import closed_amounts
from ..profile import Profile
from ..protocol import (
    Action,
    Dispatcher,
    DispatcherContract,
    Placement,
    Reject,
    Running,
    Start,
    State,
    Stop,
    Waiting,
    Wake,
    by_end,
    id_of,
)
from ..registered import knows_site, layers
from ..rule_book import RuleBook, keep_book, keep_rules, next_end, on_shape
from .machine_rules import machine_constraints
from .restrictions import Restrictions, SiteRules, bound_of
from .site_constraints import Closed
from .start_check import StartCheck, StartError

#: Key of the new jobs among the followers of the queue.
_JUDGED = "judged"
Decide = Callable[[State], Sequence[Action]]
#: Nodes, amounts per slot there, and end.
_Held = tuple[Placement, tuple[int, ...], int]


class RuleGate:
    """Wraps a dispatcher so that the machine's rules hold.

    Jobs with a reservation start in it as soon as they fit there, in queue order. The dispatcher never sees them. Jobs
    that can never start are rejected when they enter the queue. A moldable job whose own request can never start has
    its first shape that can as its request, for all dispatchers.

    A dispatcher that takes its room from ``state.profile()`` sees all other jobs. Its starts are checked, see
    :class:`.StartCheck`. A start against a rule is an error.

    Any other dispatcher sees the jobs that each may start beside running jobs, by licences, limits and power. Its
    starts use these one after another. The first job that is held back gets a reservation as in EASY. First is by the
    dispatcher's own order (``sorted_queue``), if it has one. If it does not plan closed nodes, it sees only jobs that
    could start on nodes open for their walltime. A start that still breaks a rule moves to other nodes, or is dropped.

    Four attributes of a dispatcher say what it does itself:

    * ``on_profile``: it takes its room from ``state.profile()``. A dispatcher that does not say so is asked once on a
      copy, at its first decision.
    * ``plans_closures``: its own profile contains closed nodes.
    * ``memoryless``: closed nodes may be shown as one more resource, different at each decision.
    * ``reads_free``: it uses the free amounts, so closed nodes are shown as occupied.

    Parameters
    ----------
    machine
        A machine with rules.
    dispatcher
        The dispatcher to wrap.
    running
        The running jobs of its states. They keep the rules for its profiles.

    Attributes
    ----------
    refused
        Number of dropped starts.
    first_refused
        The first of them, with job, rule and time.
    """

    def __init__(self, machine: Machine, dispatcher: Dispatcher, running: JobSequence[Running] | None = None) -> None:
        parts = list(map(DispatcherContract, layers(dispatcher)))
        self.refused = 0
        self.first_refused = ""
        #: Whether this decision uses other nodes than the dispatcher chose.
        self._moved = False
        self._dispatcher = dispatcher
        self._decide: Decide = dispatcher.dispatch
        self._machine = machine
        told = any(
            part.on_profile is not None or part.plans_closures or part.memoryless or part.reads_free for part in parts
        )
        #: ``None`` if it is not known yet.
        self._on_profile = all(part.on_profile for part in parts) if told else None
        self._closures = all(part.plans_closures for part in parts)
        self._widened = all(part.memoryless for part in parts)
        self._reads_free = all(part.reads_free for part in parts)
        self._site = knows_site(dispatcher)
        self._sorted = next((part.sorted_queue for part in parts if part.sorted_queue is not None), None)
        self._named = {each.name: each for each in machine.rules.reservations if each.name}
        self._rules = SiteRules(machine_constraints(machine))
        self._rules.reset(machine)
        self._book = RuleBook(machine) if running is None else keep_book(running, machine)
        self._next_change: int | None = None
        #: Until when it is the next one, seconds. An outage without announcement adds another.
        self._next_valid = 0
        #: Whether a cap changes.
        self._steps = machine.rules.power is not None and len(machine.rules.power.caps) > 1
        #: By order, moldable jobs whose own request can never start, as dispatchers see them, and the shape.
        self._reshaped: dict[int, tuple[Waiting, Waiting, int]] = {}

    def ask(self, state: State) -> Sequence[Action]:
        """Return the actions."""
        if self._on_profile is None:
            self._on_profile = self._uses_profile(state)
        new: list[Waiting] = state.queue.followed(_JUDGED, NewJobs).taken()
        for entry in new:
            if entry.job.shapes and self._impossible(entry, state.now):
                self._reshape(entry, state.now)
        if not (self._on_profile and len(state.running)):  # A job that has missed its last chance is rejected now.
            for entry in state.queue.entries:
                if entry.job.shapes and self._impossible(self._as_shown(entry), state.now):
                    self._reshape(entry, state.now)
        if not self._reshaped:
            return self._asked(state, new)
        return list(map(self._of_shape, self._asked(self._with_shapes(state), list(map(self._as_shown, new)))))

    def _asked(self, state: State, new: Sequence[Waiting]) -> Sequence[Action]:
        if self._on_profile:
            return self._checked(state, new)
        return self._under_steps(state, new) if self._steps else self._filtered(state)

    def _reshape(self, entry: Waiting, now: int) -> None:
        """Give a moldable job its first shape that may ever start, if there is one."""
        for shape in range(len(entry.job.shapes)):
            shown = on_shape(entry, shape)
            if not self._impossible(shown, now):
                self._reshaped[entry.order] = entry, shown, shape
                return

    def _as_shown(self, entry: Waiting) -> Waiting:
        known = self._reshaped.get(entry.order)
        return entry if known is None or known[0] is not entry else known[1]

    def _with_shapes(self, state: State) -> State:
        """Return the state with the shapes of moldable jobs whose own request can never start."""
        queue = list(map(self._as_shown, state.queue.entries))
        there = {entry.order for entry, shown in zip(state.queue.entries, queue, strict=True) if entry is not shown}
        self._reshaped = {order: self._reshaped[order] for order in there}
        return state.showing(queue) if there else state

    def _of_shape(self, action: Action) -> Action:
        """Return the start of a job on its first possible shape as a start of the moldable job."""
        if not isinstance(action, Start) or action.shape is not None:
            return action
        id_ = id_of(action.job)
        shape = next((shape for _, shown, shape in self._reshaped.values() if shown.id == id_), None)
        return replace(action, shape=shape)

    def _under_steps(self, state: State, new: Sequence[Waiting]) -> Sequence[Action]:
        """Ask a dispatcher that knows nothing of a cap that changes, and leave out starts against it."""
        gone = {entry.order: why for entry in new if (why := self._never(entry, state.now))}
        left = [entry for entry in state.queue if entry.order not in gone]
        actions: list[Action] = [Reject(entry, gone[entry.order]) for entry in state.queue if entry.order in gone]
        if not left:
            return actions
        shown = _with_queue(state, left) if gone else state
        check = StartCheck(self._book, shown)
        for action in self._filtered(shown):
            if isinstance(action, Stop):
                check.stop(action)
            why = check.refusal(action, amounts_only=True) if isinstance(action, Start) else ""
            if why:
                self._refuse(why)
            else:
                actions.append(action)
        change = self._book.next_change(state.now)
        return actions if change is None else [*actions, Wake(change)]

    def _refuse(self, why: str) -> None:
        self.refused += 1
        self.first_refused = self.first_refused or why

    def _filtered(self, state: State) -> Sequence[Action]:
        """Ask a dispatcher that does not use the profile. It sees only jobs that may start."""
        queue, inside, actions = self._split(state)
        # Without the cached columns of earlier decisions, which contain all jobs.
        outside = _with_queue(state, queue)
        rest = Restrictions(self._rules, outside)
        self._moved = False
        if inside:
            free = state.free.copy()
            actions += self._start_inside(state, inside, rest, free)
            self._moved = True
            outside = State(state.now, queue, state.running, free, state.machine)
        beside = self._beside(outside, queue, [each for each in actions if isinstance(each, Start)], outside.free)
        return [*actions, *self._guarded(outside, rest, state.free, beside.profile())]

    def _uses_profile(self, state: State) -> bool:
        """Return whether a copy of the dispatcher takes its room from the profile."""
        self._book.read = False
        try:
            deepcopy(self._dispatcher).dispatch(state)
        except Exception:  # noqa: BLE001 - a third party's code may raise anything, and will again when it is asked
            return False
        return self._book.read

    def _split(self, state: State) -> tuple[list[Waiting], list[Waiting], list[Action]]:
        """Return the jobs outside and inside of reservations, and rejections of jobs that never fit in theirs."""
        queue: list[Waiting] = []
        inside: list[Waiting] = []
        actions: list[Action] = []
        for entry in state.queue:
            if not self._is_inside(entry):
                queue.append(entry)
            elif why := self._never_inside(entry, state.now):
                actions.append(Reject(entry, why))
            else:
                inside.append(entry)
        return queue, inside, actions

    def _is_inside(self, entry: Waiting) -> bool:
        """Return whether a job starts in a reservation of the machine."""
        name = entry.job.reservation
        return bool(name and self._named) and not (self._site and name not in self._named)

    def _checked(self, state: State, new: Sequence[Waiting]) -> Sequence[Action]:
        """Ask a dispatcher on the profile, and check its starts."""
        actions: list[Action] = []
        shown = state
        if self._named and any(entry.job.reservation for entry in state.queue.entries):
            queue, inside, actions = self._split(state)
            free = state.free.copy()
            actions += self._start_inside(state, inside, Restrictions(self._rules, _with_queue(state, [])), free)
            shown = self._beside(state, queue, [each for each in actions if isinstance(each, Start)], free)
        outside = [entry for entry in new if not self._is_inside(entry)]
        judged = {entry.order: why for entry in outside if (why := self._never(entry, state.now))}
        if judged:
            actions += [Reject(entry, judged[entry.order]) for entry in shown.queue if entry.order in judged]
            left = [entry for entry in shown.queue if entry.order not in judged]
            shown = self._beside(shown, left, [], shown.free)
        answer = list(self._decide(shown)) if len(shown.queue) else []
        if answer:
            check = StartCheck(self._book, shown)
            for action in answer:
                if isinstance(action, Stop):
                    check.stop(action)
                elif isinstance(action, Start) and (why := check.refusal(action)):
                    raise StartError(why)
            actions += answer
        if not (len(state.running) or any(isinstance(action, Start) for action in actions)):
            # A job may have missed its last chance, such as the time before the first of repeated closures.
            gone = {id(action.job) for action in actions if isinstance(action, Reject)}
            missed = [(entry, self._never(entry, state.now)) for entry in shown.queue if id(entry) not in gone]
            actions += [Reject(entry, why) for entry, why in missed if why]
        if len(actions) < len(state.queue):
            if self._next_valid <= state.now:
                self._next_change = self._book.next_change(state.now)
                bounds = (self._machine.rules.next_outage(state.now), self._next_change)
                self._next_valid = min((time for time in bounds if time is not None), default=NEVER)
            if self._next_change is not None:
                actions.append(Wake(self._next_change))
            actions += self._easing(state)
        return actions

    def _easing(self, state: State) -> list[Action]:
        """Return a timer for the next job that then takes other nodes than those of its level."""
        easing = self._book.next_easing(state.queue.entries, state.now)
        return [] if easing is None else [Wake(easing)]

    def _impossible(self, entry: Waiting, now: int) -> str:
        """Return why a job can never start, in the reservation that it names or outside. Empty if it can."""
        return self._never_inside(entry, now) if self._is_inside(entry) else self._never(entry, now)

    def _never_inside(self, entry: Waiting, now: int) -> str:
        """Return why a job can never start in the reservation that it names. Empty if it can."""
        why = refuse_reservation(entry.job, self._machine.rules) or self._over(entry, now)
        return why or self._rules.of_running(entry).never

    def _never(self, entry: Waiting, now: int) -> str:
        """Return why a job can never start. Empty if it can."""
        said = self._rules.of(entry, now)
        if said.never:
            return said.never
        for (number, what), amount in self._book.ask(entry.job).items():
            part = self._book.parts[number]
            if amount > part.least(what) and self._alone(entry, now) is None:
                return f"constraint {part.name}: never leaves it {amount} of {what} for its walltime"
        if self._machine.rules.closing and (entry.job.within or entry.job.slots) and self._alone(entry, now) is None:
            return "closed nodes: never leave it room for its slots as they must lie"
        return ""

    def _alone(self, entry: Waiting, now: int) -> tuple[int, Placement] | None:
        """Return the first start and the nodes of a job on the empty machine."""
        return State(now, [entry], [], self._machine.capacity, self._machine).profile().earliest(entry)

    def _beside(self, state: State, queue: Sequence[Waiting], starts: Sequence[Start], free: IntArray) -> State:
        """Return the state with other waiting jobs, and with jobs that start in reservations as running."""
        running: Sequence[Running] = state.running
        if starts:
            running = list(state.running)
            for start in starts:
                run = Running(start.job.job, state.now, np.asarray(start.placement), start.job.demand, start.job.order)
                run.predicted_end = state.now + start.job.predicted
                running.append(run)
            running.sort(key=by_end)
        shown = State(state.now, queue, running, free, state.machine)
        if starts:
            keep_rules(shown, self._book)
        return shown

    def _guarded(self, state: State, rest: Restrictions, free: IntArray, profile: Profile) -> Sequence[Action]:
        """Run a dispatcher that ignores rules, and keep the starts that the rules allow.

        `free` holds the free amounts before the starts in reservations. The profile is beside these.
        """
        ordered = rest.queue if self._sorted is None else self._sorted(_with_queue(state, rest.queue))
        room = AllowedRoom(profile, ordered, self._book.layouts)
        shown = self._shown(state, rest, [entry for entry in rest.queue if entry.order in room.shown], free)
        if not len(shown.queue):
            return self._answer(rest, [], state)
        waiting = {entry.id: entry for entry in state.queue}
        starts: list[Start] = []
        others: list[Action] = []
        for action in self._decide(shown):
            if not isinstance(action, Start) or id_of(action.job) not in waiting:
                others.append(action)
                continue
            entry = waiting[id_of(action.job)]
            start = None
            if room.leaves_amounts(entry if action.shape is None else on_shape(entry, action.shape)):
                start = self._allowed(action, entry, state, rest, starts)
            taken = None if start is None else room.take(start, entry)
            if taken is None:
                self._refuse(f"job {id_of(action.job)} at {state.now} s")
            else:
                self._moved = self._moved or taken is not start
                starts.append(taken)
        return [*others, *self._answer(rest, starts, state)]

    def _answer(self, rest: Restrictions, starts: Sequence[Start], state: State) -> list[Action]:
        """Return these starts and the rejections. While jobs wait, add a timer for the next opening of nodes."""
        actions: list[Action] = [*starts, *rest.rejected]
        if len(actions) == len(state.queue):
            return actions
        actions += self._easing(state)
        ends = [next_end(rule, self._machine, state.now) for rule in self._machine.rules.closing]
        later = [end for end in ends if end is not None]
        return [*actions, Wake(min(later))] if later else actions

    def _shown(self, state: State, rest: Restrictions, queue: Sequence[Waiting], free: IntArray) -> State:
        """Return the state with the jobs that could start on open nodes.

        A dispatcher with closed nodes in its profile does not see the jobs that run in reservations. Their nodes are
        closed in it already.
        """
        if not self._closures and not self._widened and rest.closures:
            queue = [entry for entry in queue if self._open_for(entry, state.now, rest.closures)]
        if self._widened and not self._closures:
            rest.queue = queue
            return rest.state
        if not (self._closures or self._reads_free):
            return State(state.now, queue, state.running, state.free, state.machine)
        if rest.closures and self._closures:  # Planned with their walltimes, because they could reach a closure.
            queue = [entry.shown_as(predicted=max(entry.predicted, entry.walltime)) for entry in queue]
        running: Sequence[Running] = state.running
        inside = [run for run in running if self._machine.rules.is_on(run.job.reservation, state.now)]
        if inside:
            hidden = set(map(id, inside))
            free = free.copy()
            running = [run for run in running if id(run) not in hidden]
            for run in inside:
                shift(free, run.placement, run.demand, 1)
        closed: Sequence[Closed] = rest.closures
        if self._closures:  # It knows of all but failed nodes.
            failures = self._machine.rules.failures
            closed = [] if failures is None else list(failures.closures(self._machine.nodes, state.now, state.now + 1))
        if closed and self._reads_free:
            free = np.maximum(free - closed_amounts(closed, state.now, self._machine), 0)
        return State(state.now, queue, running, free, state.machine)

    def _open_for(self, entry: Waiting, now: int, closures: Sequence[Closed]) -> bool:
        """Return whether a job fits on an empty machine's nodes that stay open for its walltime."""
        shapes = [(entry.nodes, entry.demand, bound_of(entry))]
        shapes += [(shape.nodes, shape.demand, shape.walltime) for shape in entry.job.shapes]
        rooms = ((nodes, count_slots(self._left(now, bound, closures, ()), demand)) for nodes, demand, bound in shapes)
        return any(int(room.sum()) >= nodes for nodes, room in rooms)

    def _left(self, now: int, bound: int, closures: Sequence[Closed], held: Sequence[_Held]) -> IntArray:
        """Return the free amounts of each node for the next `bound` seconds, beside closures and `held`."""
        left = self._machine.capacity.copy()
        for time in sorted({now, *(closed.begin for closed in closures if now < closed.begin < now + bound)}):
            there = self._machine.capacity - closed_amounts(closures, time, self._machine)
            for placement, demand, end in held:
                if end > time:
                    shift(there, placement, demand, -1)
            np.minimum(left, there, out=left)
        return np.maximum(left, 0, out=left)

    def _allowed(
        self, start: Start, entry: Waiting, state: State, rest: Restrictions, before: Sequence[Start]
    ) -> Start | None:
        """Return a start as the rules allow it, or ``None``."""
        if start.shape is not None:
            entry = on_shape(entry, start.shape)
        demand, bound = _asked(start, entry)
        placement = np.asarray(start.placement)
        now = state.now
        misplaced = self._book.layouts and bool(wrong_layout(entry.job, entry.since, now, placement, self._machine))
        closing = any(closed.begin < now + bound and closed.end > now for closed in rest.closures)
        if self._moved or misplaced or closing:
            free, started = state.free.copy(), []
            for other in before:
                used, longest = _asked(other, next(each for each in state.queue if each.id == id_of(other.job)))
                started.append((np.asarray(other.placement), used, now + longest))
                shift(free, np.asarray(other.placement), used, -1)
            running = [
                (run.placement, run.demand, run.walltime_end(now)) for run in state.running if not run.job.reservation
            ]
            left = np.minimum(self._left(now, bound, rest.closures, [*running, *started]), free)
            placed = None if misplaced else _fitted(left, self._machine, placement, demand)
            if self._book.layouts and placed is not placement:
                counts = count_slots(np.maximum(left, 0), demand)
                placed = place(entry.job, entry.since, now, counts, len(placement), self._machine)
            if placed is None:
                return None
            self._moved = self._moved or placed is not placement
            placement = placed
        return Start(start.job, placement, start.limit, start.shape, start.write)

    def _over(self, entry: Waiting, now: int) -> str:
        """Return why a job can no longer start in its reservation. Empty if it can."""
        reservation = self._named[entry.job.reservation]
        if reservation.every is None and now + entry.job.walltime > reservation.end:
            return f"reservation {reservation.name} ends at {reservation.end}, before the job would"
        left = self._room(entry, self._machine.capacity)
        if int(count_slots(left, entry.demand).sum()) < entry.nodes:
            return f"reservation {reservation.name} has no room for it"
        return ""

    def _room(self, entry: Waiting, free: IntArray) -> IntArray:
        """Return the free amounts in a job's reservation."""
        reservation = self._named[entry.job.reservation]
        nodes = list(reservation.indices(self._machine.nodes))
        room = np.zeros_like(free)
        most = np.maximum(free[nodes], 0)
        if reservation.amounts is not None:
            most = np.minimum(most, [reservation.amounts.get(name, 0) for name in self._machine.resources])
        room[nodes] = most
        return room

    def _start_inside(
        self, state: State, inside: Sequence[Waiting], rest: Restrictions, free: IntArray
    ) -> list[Action]:
        """Start jobs that fit in their reservations, first come, first served. Add a timer for the next begin.

        Reduces `free` by their amounts.
        """
        now, actions = state.now, []
        wakes: list[int] = []
        started: list[tuple[Placement, tuple[int, ...], str]] = []
        check = StartCheck(self._book, state)
        change = self._book.next_change(now) if self._steps and inside else None
        if change is not None:
            wakes.append(change)
        for entry in inside:
            reservation = self._named[entry.job.reservation]
            walltime = entry.job.walltime
            begin, end = next(reservation.windows(now, now + (reservation.every or reservation.end) + 1), (now, now))
            if begin > now:
                wakes.append(begin)
                continue
            whole = reservation.amounts is None
            uses = rest.rules.of_running(entry).uses
            room = self._room(entry, free if whole else self._machine.capacity)
            if not whole:
                for run in state.running:
                    if run.job.reservation == reservation.name:
                        shift(room, run.placement, run.demand, -1)
                for placement, demand, name in started:
                    if name == reservation.name:
                        shift(room, placement, demand, -1)
                room = np.minimum(np.maximum(room, 0), free)
            outages = [rule for rule in self._machine.rules.closing if not isinstance(rule, Reservation)]
            down = [each for outage in outages for each in outage.closures(self._machine.nodes, now, now + walltime)]
            wakes += [closure.end for closure in down]
            room -= np.minimum(closed_amounts(down, None, self._machine), np.maximum(room, 0))
            counts = count_slots(room, entry.demand)
            if now + walltime > end:
                wakes += [] if reservation.every is None else [begin + reservation.every]
            elif int(counts.sum()) >= entry.nodes:
                placement = choose(room, self._machine.capacity, counts, entry.nodes)
                start = Start(entry, placement)
                # A cap may be lower now, or fall during the walltime.
                if (self._steps and check.refusal(start, amounts_only=True)) or not rest.take_quotas(uses):
                    continue
                shift(free, placement, entry.demand, -1)
                started.append((placement, entry.demand, reservation.name))
                actions.append(start)
        return [*actions, *([Wake(min(wakes))] if wakes else [])]


def _asked(start: Start, entry: Waiting) -> tuple[tuple[int, ...], int]:
    """Return the amounts per slot of a starting job, and how many seconds it may run."""
    shape = None if start.shape is None else entry.job.shapes[start.shape]
    bound = bound_of(entry) if shape is None else shape.walltime
    return entry.demand if shape is None else shape.demand, bound if start.limit is None else min(bound, start.limit)


def _with_queue(state: State, queue: Sequence[Waiting]) -> State:
    return State(state.now, queue, state.running, state.free, state.machine)


def _fitted(left: IntArray, machine: Machine, placement: Placement, demand: tuple[int, ...]) -> Placement | None:
    """Return nodes for all slots of a placement: the same if they fit, else others, or ``None``."""
    taken = left.copy()
    shift(taken, placement, demand, -1)
    if taken[np.unique(placement)].min() >= 0:
        return placement
    counts = count_slots(np.maximum(left, 0), demand)
    return choose(left, machine.capacity, counts, len(placement)) if int(counts.sum()) >= len(placement) else None


class AllowedRoom:
    """What the rules leave to jobs of a dispatcher that knows none, beside the amounts and nodes that others keep.

    Parameters
    ----------
    profile
        Room beside all running jobs.
    ordered
        Waiting jobs in the dispatcher's order.
    layouts
        Whether slots of jobs may have to lie in some way.

    Attributes
    ----------
    shown
        Jobs that each may start, by order in the trace.
    """

    def __init__(self, profile: Profile, ordered: Sequence[Waiting], layouts: bool) -> None:
        self._profile = profile
        #: Whether jobs could lack an amount of the whole machine.
        self._lacking = bool(len(ordered)) and profile.may_lack()
        self._places = {entry.order: place for place, entry in enumerate(ordered)}
        self._keepers: list[Waiting] = []
        left: Sequence[Waiting] = ordered
        if self._lacking:
            held, self._keepers = profile.held_back(ordered)
            left = [entry for entry, back in zip(ordered, held.tolist(), strict=True) if not back]
        asking = [entry for entry in left if layouts and (entry.job.within or entry.job.slots)]
        fits = profile.fit_now(asking).tolist() if asking else []
        misfits = [entry for entry, fit in zip(asking, fits, strict=True) if not fit]
        self.shown = {entry.order for entry in left} - {entry.order for entry in misfits}
        #: Whether a job keeps nodes.
        self._keeps_nodes = bool(misfits)
        if misfits:
            profile.keep(misfits[0])

    def leaves_amounts(self, entry: Waiting) -> bool:
        """Return whether a job leaves the amounts that earlier ones keep. One that lacks an amount keeps it."""
        if not self._lacking:
            return True
        place = self._places[entry.order]
        before = [keeper for keeper in self._keepers if self._places[keeper.order] < place]
        held, keepers = self._profile.held_back([*before, entry])
        if entry in keepers:
            self._keepers = [*before, entry, *self._keepers[len(before) :]]
        return not held[-1]

    def take(self, start: Start, entry: Waiting) -> Start | None:
        """Take the room of a start, perhaps on other nodes. ``None`` if it takes nodes that another job keeps."""
        if not self._keeps_nodes or start.shape is not None:
            if self._lacking:
                self._profile.take(entry, self._profile.now, np.asarray(start.placement), start.shape)
            return start
        starts = self._profile.start_now([entry])
        if not starts:
            return None
        if np.array_equal(np.sort(starts[0].placement), np.sort(start.placement)):
            return start
        return Start(start.job, starts[0].placement, start.limit, start.shape, start.write)
