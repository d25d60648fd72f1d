"""Slurm's scheduler as a dispatcher: when its parts run, and what they start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from ...base import BoolArray, IntArray
from ...models import count_slots
from ...models.slurm.backfill import backfill_pass
from ...models.slurm.jobs import SlurmQueue, SlurmRun, job_table
from ...models.slurm.limits import JobLimits, count_start, may_run, no_limits
from ...models.slurm.main_scheduler import main_pass
from ...models.slurm.preemption import Preemption
from ...models.slurm.reservations import NodeClosures
from ...workloads import Machine
from ...workloads.machine_state import MachineState
from ...workloads.slurm_limits import read_slurm_limits
from ...workloads.slurm_reservations import SlurmReservation
from ..options import Configured
from ..protocol import Action, Reject, Start, State, Waiting, Wake
from .cycles import CyclePeriods, CycleTimes, after_idle
from .jobs import SlurmJobs, entries, running_by_place
from .limits import Arrays, Limits, Tests
from .options import SlurmGiven, SlurmOptions, charges_ended, configured, reserved, seconds, shares_of, tres_weights
from .partitions import Partitions
from .preemption import JobClasses, JobPreemption
from .reservations import SlurmReservations
from .usage import AccountUsage, Charge, restored

_BEYOND = "it is beyond a limit of its association or quality of service"
_UNAVAILABLE = "Requested node configuration is not available"
#: Before any time of a simulation.
_NEVER = -(10**12)


class Slurm(Configured[SlurmOptions]):
    """Slurm's main scheduler and backfill, in the order of its multifactor priority.

    The main scheduler runs after arrivals and ends, at most every ``batch_sched_delay`` seconds. Every
    ``sched_interval`` it considers the whole queue. Backfill runs every ``bf_interval`` if anything changed. Priorities
    are set at submission and every ``PriorityCalcPeriod``. The controller begins at time 0. Run times are walltimes in
    whole minutes, or predictions of another predictor. Runs are left out while no waiting job fits the free
    nodes: they would start nothing.

    Attributes
    ----------
    given
        Options that were given. They override the configuration.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import Slurm
    >>> from hpcdispatch.testing import tiny
    >>> hd.simulate(tiny(), Slurm(bf_interval=30)).jobs["start"].tolist()
    [0, 0, 100, 30, 160]
    """

    Options: ClassVar[type] = SlurmOptions
    uses: ClassVar[tuple[str, ...]] = ("numba",)
    #: See :func:`.knows_site`.
    knows_site: ClassVar[bool] = True
    #: See :class:`.RuleGate`.
    plans_closures: ClassVar[bool] = True
    reads_free: ClassVar[bool] = True

    def __init__(self, options: SlurmOptions | None = None, /, **given: Unpack[SlurmGiven]) -> None:
        super().__init__(options, **given)
        others = {field.name: getattr(options, field.name) for field in fields(options)} if options else {}
        self.given = others | given
        self._rules, self._site = configured(self.options, self.given)
        self._machine: Machine | None = None
        cluster = self._site.settings.get("clustername", "") if self._site is not None else ""
        self._given_limits = read_slurm_limits(self._rules.limits, cluster) if self._rules.limits else None
        self._reserved = reserved(self._rules, self._site)

    def with_reservations(self, reservations: Sequence[SlurmReservation]) -> Slurm:
        """Add reservations to those of the options. Return the dispatcher."""
        self._reserved = (*self._reserved, *reservations)
        return self

    def reset(self, machine: Machine, rng: np.random.Generator | None = None) -> None:
        """Start a simulation on a machine."""
        self.forget()
        self._open(machine)

    def forget(self) -> None:
        """Drop all jobs."""
        self._machine = None
        self._ran = _NEVER
        self._full = 0
        self._cycle = 0
        self._asked = self._changed = False
        self._ticked = self._seen = 0
        self._running = np.empty(0, dtype=np.int64)
        self._late: list[int] = []
        self._ended: list[tuple[Charge, int]] = []
        self._recalled: Mapping[str, Any] | None = None
        self._begun = False
        #: The last decision and the charges of running jobs, while no waiting job can start.
        self._idle: tuple[int, list[Charge]] | None = None
        #: Position and entry into the queue of the jobs that wait then.
        self._held = np.empty(0, np.int64), np.empty(0, np.int64)

    def memory(self) -> dict[str, Any]:
        """Return the times of the last runs, priorities, usage and jobs that are being stopped. See :meth:`recall`."""
        ids = self._jobs.ids
        return {
            "times": [self._ran, self._full, self._cycle, self._ticked, self._seen],
            "due": [self._asked, self._changed],
            "running": [ids[order] for order in self._running.tolist() if order in ids],
            "priorities": self._jobs.priorities(),
            "usage": self._usage.usage(),
            "charged": self._jobs.charged(),
            "ended": list(self._ended),
            "weights": self._partitions.weight.tolist(),
            "preemption": self._preemption.memory(ids),
            "idle": self._idle,
        }

    def recall(self, state: MachineState, memory: Mapping[str, Any] | None) -> None:
        """Continue from a memory. For a real system that is ``None``, or the ``priorities`` of jobs."""
        self._recalled = memory
        if memory is None or "usage" not in memory:
            begin = min((since.start for since in state.running), default=state.at)
            period = 1 if charges_ended(self._site) else self._period
            self._usage.past(state.ended, self._limits.charged_then, begin, period)
            self._ticked = 0 if memory is None else state.at - state.at % self._period
            return
        self._ran, self._full, self._cycle, self._ticked, self._seen = memory["times"]
        self._asked, self._changed = memory["due"]
        accounts, users = memory["usage"]
        self._usage.restore(accounts, users, self._ticked)
        self._ended = [(restored(charge), end) for charge, end in memory["ended"]]
        self._partitions.weight[:] = memory["weights"]
        if memory["idle"] is not None:
            since, charges = memory["idle"]
            self._idle = since, list(map(restored, charges))

    def dispatch(self, state: State) -> Sequence[Action]:
        """Run the due parts of the scheduler."""
        if self._machine is not state.machine:
            self._open(state.machine)
        pending = self._asked
        actions = self._update(state)
        left = self._in_order(state, actions)
        if not len(left):
            return self._with_timer(state, actions, waits=False)
        now, rules = state.now, self._rules
        parts = [_ReservationJobs(*part) for part in self._reservations.parts(state, left, self._partitions.members)]
        turn = _Turn(state, state.free.copy(), self._limits.room(state), self._arrays.room(state), actions)
        full = now - self._full >= rules.sched_interval
        stopped = self._preemption.stopped_at
        due = now - self._ran >= rules.batch_sched_delay
        if full or (self._asked and due) or (stopped is not None and now > stopped):
            self._preemption.stopped_at = None
            late = self._late if not pending and not full else ()
            for part in parts:
                self._main(turn, part, len(part.left) if full else rules.default_queue_depth + 1, late)
            self._ran = now
            self._full = now if full else self._full
            self._asked = bool(late)
            self._changed = True
        stops = self._preemption.stopped_at is not None
        waits = any(len(part.left) for part in parts)
        if waits and self._changed and now - self._cycle >= rules.bf_interval and not stops:
            for part in parts:
                self._backfill(turn, part)
            self._cycle, self._changed = now, False
        started = np.array([job.place for job in turn.started], np.int64)
        self._running = np.sort(np.concatenate([self._running, started]))
        waits = any(len(part.left) for part in parts)
        if waits and not actions and self._plain and _nothing_fits(state):
            charges = self._jobs.charges(state, self._usage) if rules.PriorityWeightFairshare else []
            self._idle = now, charges
            self._held = state.queue.order.copy(), state.queue.since.copy()
            return actions
        return self._with_timer(state, actions, waits=waits)

    def _open(self, machine: Machine) -> None:
        rules, site = self._rules, self._site
        self._machine = machine
        self._partitions = Partitions(machine, site, busy_first=rules.bf_busy_nodes)
        self._limits = Limits(self._given_limits, site, machine)
        self._jobs = SlurmJobs(
            machine,
            self._partitions,
            self._limits,
            rules.weights(),
            small=rules.PriorityFavorSmall,
            tres=tres_weights(rules.PriorityWeightTRES),
            epoch=rules.epoch,
        )
        self._tests = Tests(rules.tests())
        self._arrays = Arrays(rules.bf_max_job_array_resv)
        self._reservations = SlurmReservations(self._reserved, machine.nodes, rules.epoch)
        classes = JobClasses(rules, site, self._partitions, self._limits)
        self._preemption = JobPreemption(classes, rules.KillWait, rules.stop_time)
        self._period = seconds("PriorityCalcPeriod", rules.PriorityCalcPeriod)
        self._usage = AccountUsage(
            shares_of(rules.shares),
            seconds("PriorityDecayHalfLife", rules.PriorityDecayHalfLife),
            associations=self._limits.associations,
        )

    def _update(self, state: State) -> list[Action]:
        """Process changes. Return rejections of jobs that can never run."""
        printed = {} if self._begun else self._begin(state)
        self._catch_up(state.now)
        tick = state.now - state.now % self._period
        joined = self._jobs.joining(state)
        self._add(joined, tick)
        recorded = self._rules.epoch > 0  # Several jobs may arrive at one instant.
        self._late = _behind_the_first([each for each in joined if each.since == state.now]) if recorded else []
        if printed:
            self._jobs.restore(state, printed)
        self._jobs.test_submitted(state, joined)
        if self._rules.PriorityWeightFairshare and charges_ended(self._site):
            self._ended += self._jobs.gone(state, self._usage)
        if tick > self._ticked:
            if self._rules.PriorityWeightFairshare:
                self._usage.tick(tick, self._jobs.charges(state, self._usage), self._ended)
                self._ended = []
            self._jobs.prioritize(state.queue.order, state.queue.since, tick)
            self._ticked, self._changed = tick, True
        self._changed = self._changed or self._preemption.due(state.now)
        running = np.sort(state.running.order)
        if joined or not np.array_equal(running, self._running):
            self._asked = self._changed = True
            self._running = running
            self._jobs.forget(running)
        if self._reservations.due(self._seen, state.now, state.machine):
            self._asked = self._changed = True
        self._seen = state.now
        refused = self._preemption.ended(running_by_place(state), state.now)
        if refused:
            self._jobs.give_way(self._preemption.away)
        refused += self._preemption.cancelled(state.queue) + self._reservations.refused(state.queue, state.now)
        possible = {waiting.order: self._jobs.could_run(waiting) for waiting in joined}
        refused += [Reject(waiting, _UNAVAILABLE) for waiting in joined if not possible[waiting.order]]
        return refused + [
            Reject(waiting, _BEYOND) for waiting in joined if possible[waiting.order] and self._limits.forbids(waiting)
        ]

    def _begin(self, state: State) -> Mapping[str, int]:
        """Take the jobs of a recalled simulation as they were at its last decision.

        Returns the priorities that a real Slurm printed, by id.
        """
        self._begun = True
        self._jobs.begin(state.running)
        recalled = self._recalled
        self._recalled = None
        if recalled is None:
            return {}
        if "running" not in recalled:
            printed: Mapping[str, int] = recalled["priorities"]
            return printed
        known = [waiting for waiting in self._jobs.joining(state) if waiting.id in recalled["priorities"]]
        self._add(known, self._ticked)
        self._jobs.restore(state, recalled["priorities"])
        self._held = entries(known)
        here = {each.id: each.order for each in state.running}
        # Jobs that ended since get an impossible position, so that their end is noticed.
        self._running = np.sort(np.array([here.get(id_, -1) for id_ in recalled["running"]], dtype=np.int64))
        self._jobs.restore_charged(recalled["charged"], here)
        self._preemption.restore(recalled["preemption"], here | {each.id: each.order for each in known})
        return {}

    def _add(self, joined: Sequence[Waiting], tick: int) -> None:
        """Add jobs that joined the queue, with priorities as of a tick."""
        self._jobs.add(joined, self._usage, tick)
        self._limits.know(joined)
        for waiting in joined:
            if waiting.job.array:
                self._arrays.add(waiting.order, waiting.job)
        self._reservations.add(joined)

    def _catch_up(self, now: int) -> None:
        """Keep the times of the runs that started nothing until now, and the priorities of those that wait."""
        if self._idle is None:
            return
        (since, charges), self._idle = self._idle, None
        rules, before = self._rules, self._ticked
        periods = CyclePeriods(rules.sched_interval, rules.batch_sched_delay, rules.bf_interval, self._period)
        times = CycleTimes(self._ran, self._full, self._cycle, self._ticked, self._asked, self._changed)
        times = after_idle(times, since, now, periods)
        self._ran, self._full, self._cycle, self._ticked, self._asked, self._changed = times
        if self._ticked == before:
            return
        if rules.PriorityWeightFairshare:
            self._usage.idle_ticks(self._ticked, self._period, charges, self._ended)
            self._ended = []
        self._jobs.prioritize(*self._held, self._ticked)

    @property
    def _plain(self) -> bool:
        """Whether a job that does not fit the free amounts can only start after another one ends or arrives."""
        machine = self._machine
        return not (self._preemption.modes or self._reserved or self._partitions.gpus or (machine and machine.rules))

    def _in_order(self, state: State, refused: Sequence[Action]) -> IntArray:
        """Return the queue rows by priority, without rejected jobs and those that may not start again yet."""
        rows = self._jobs.by_priority(state)
        if self._preemption.away:
            rows = rows[self._jobs.columns["again"][state.queue.order[rows]] <= state.now]
        gone = [action.job.order for action in refused if isinstance(action, Reject)]
        return rows[~np.isin(state.queue.order[rows], gone)] if gone else rows

    def _main(self, turn: _Turn, part: _ReservationJobs, most: int, late: Sequence[int]) -> None:
        """Run the main scheduler on the first jobs of a part, except late ones."""
        if not len(late):
            self._try_first(turn, part, most)
            return
        whole = part.left
        behind = np.isin(turn.state.queue.order[whole], late)
        part.left = whole[~behind]
        self._try_first(turn, part, most)
        part.left = whole[behind | np.isin(whole, part.left)]

    def _try_first(self, turn: _Turn, part: _ReservationJobs, most: int) -> None:
        if not len(part.left):
            return
        state = turn.state
        jobs, limits, preemption = self._first(turn, part, most)
        stopping = None
        if preemption is not None:
            stopping = job_table(self._jobs.running(state), jobs, len(turn.free)), preemption
        cluster = self._partitions.cluster(turn.free, part.members)
        now = state.now + self._rules.epoch
        starts = main_pass(jobs, cluster, now, limits, stopping, part.closed, self._rules.partition_job_depth)
        self._act(turn, part, jobs, preemption, starts)

    def _backfill(self, turn: _Turn, part: _ReservationJobs) -> None:
        """Run backfill on the first jobs of a part."""
        if not len(part.left):
            return
        jobs, limits, preemption = self._first(turn, part, self._rules.bf_max_job_test)
        limits = self._with_tests(turn, part, jobs, limits)
        running = self._jobs.running(turn.state) + turn.started
        now = turn.state.now + self._rules.epoch
        cluster = self._partitions.cluster(turn.free, part.members)
        table = job_table(running, jobs, len(turn.free))
        backfill_pass(jobs, cluster, table, now, self._rules.rules(), limits, preemption, part.closed)
        first = len(running)
        begin = table.start[first:]
        ready = (begin >= 0) & (begin <= now)
        if len(jobs.together):
            joint = jobs.together >= 0
            together = self._joint(turn, jobs, limits, ready & joint)
            ready &= ~joint | together
            for job in np.flatnonzero(together).tolist():
                nodes, slots = table.nodes_of(first + job), table.slots_of(first + job)
                turn.free[nodes] -= slots[:, None] * jobs.demand[job] + jobs.by_node[job]
                count_start(job, limits)
        starts = [
            (job, table.nodes_of(first + job).copy(), table.slots_of(first + job).copy())
            for job in np.flatnonzero(ready).tolist()
        ]
        self._act(turn, part, jobs, preemption, starts)

    def _joint(self, turn: _Turn, jobs: SlurmQueue, limits: JobLimits, ready: BoolArray) -> BoolArray:
        """Return the components of heterogeneous jobs of which all can start now."""
        startable = np.zeros(len(ready), np.bool_)
        known = self._jobs.components(turn.state)
        for job in np.unique(jobs.together[ready]).tolist():
            rows = np.flatnonzero(ready & (jobs.together == job))
            if len(rows) == known[job] and all(may_run(row, limits.room.shape[1], limits) for row in rows.tolist()):
                startable[rows] = True
        return startable

    def _first(self, turn: _Turn, part: _ReservationJobs, most: int) -> tuple[SlurmQueue, JobLimits, Preemption | None]:
        """Return the first jobs left, their limits and preemption. All tasks of an array count as one."""
        state = turn.state
        rows = part.left[: self._arrays.first(state.queue.order[part.left], most)]
        jobs = self._jobs.waiting(state, rows)
        limits = no_limits(len(rows))
        if len(turn.tasks):
            limits = limits._replace(array=self._arrays.of(jobs.place), tasks=turn.tasks)
        if len(turn.room):
            of, takes = self._limits.of([state.queue.entries[row] for row in rows.tolist()])
            limits = limits._replace(of=of, room=turn.room, takes=takes)
        preemption = None
        if self._preemption.modes:
            running = running_by_place(state)
            tried = [state.queue.entries[row] for row in rows.tolist()]
            preemption = self._preemption.of(tried, running, state.now)
        return jobs, limits, preemption

    def _with_tests(self, turn: _Turn, part: _ReservationJobs, jobs: SlurmQueue, limits: JobLimits) -> JobLimits:
        """Add to the limits how many jobs backfill considers, and for which it reserves nodes."""
        first = [turn.state.queue.entries[row] for row in part.left[: len(jobs.slots)].tolist()]
        if any(self._rules.tests()):
            tested = self._tests.of(first)
            limits = limits._replace(tested=tested, tests=self._tests.room())
        reserves = self._jobs.columns["priority"][jobs.place] >= self._rules.bf_min_prio_reserve
        if self._given_limits is not None:
            reserves &= ~np.array([self._limits.unreserved(each.job) for each in first], np.bool_)
        return limits._replace(reserves=reserves)

    def _act(
        self,
        turn: _Turn,
        part: _ReservationJobs,
        jobs: SlurmQueue,
        preemption: Preemption | None,
        starts: Sequence[tuple[int, IntArray, IntArray]],
    ) -> None:
        """Stop preempted jobs, and start jobs on their nodes."""
        state = turn.state
        if preemption is not None:
            turn.actions += self._preemption.stops(preemption, jobs.place, running_by_place(state), state.now)
            self._jobs.give_way(self._preemption.away)
        for job, nodes, slots in starts:
            waiting = state.queue.entries[part.left[job]]
            self._jobs.start(waiting.order, state.now, nodes, slots)
            end = state.now + self._rules.epoch + int(jobs.limit[job])
            turn.started.append(SlurmRun(end, nodes, slots, waiting.demand, waiting.order))
            turn.actions.append(Start(waiting, np.repeat(nodes, slots)))
        part.left = np.delete(part.left, [job for job, _, _ in starts])

    def _with_timer(self, state: State, actions: list[Action], *, waits: bool) -> list[Action]:
        """Return the actions, with a timer for the next due part."""
        rules = self._rules
        times = self._reservations.following(state.now) if len(state.queue) else []
        if waits:
            times += [self._full + rules.sched_interval]
            times += [self._ran + rules.batch_sched_delay] if self._asked else []
            times += [self._cycle + rules.bf_interval] if self._changed else []
            times += [state.now + 1] if self._preemption.stopped_at is not None else []
        times += self._preemption.away.values()
        times += self._preemption.following()
        if waits or (rules.PriorityWeightFairshare and len(self._running)):
            times.append(self._ticked + self._period)
        if times:
            actions.append(Wake(max(min(times), state.now + 1)))
        return actions


def _nothing_fits(state: State) -> bool:
    """Return whether no waiting job fits the free amounts, whatever the order of the jobs."""
    queue, free = state.queue, state.free
    possible = (queue.nodes[:, None] * queue.demand <= free.sum(axis=0)).all(axis=1)
    if not possible.any():
        return True
    least = dict[tuple[int, ...], int]()
    for nodes, demand in zip(queue.nodes[possible].tolist(), queue.demand[possible].tolist(), strict=True):
        least[tuple(demand)] = min(nodes, least.get(tuple(demand), nodes))
    return all(count_slots(free, demand).sum() < nodes for demand, nodes in least.items())


def _behind_the_first(joined: Sequence[Waiting]) -> list[int]:
    """Return the positions of jobs that arrive later in the same second as another, and are not of its array.

    The main scheduler of an idle controller runs as soon as a job arrives. It does not see later jobs of that second.
    """
    if not joined:
        return []
    first = min(joined, key=lambda each: each.order)
    array = first.job.array
    return [each.order for each in joined if each is not first and not (array and each.job.array == array)]


@dataclass(slots=True)
class _ReservationJobs:
    """Jobs in one reservation or in none: their queue rows, their nodes, and when these close."""

    left: IntArray
    members: BoolArray
    closed: NodeClosures | None


@dataclass(slots=True)
class _Turn:
    """Free amounts and limits left while the parts run, and their starts."""

    state: State
    free: IntArray
    room: IntArray
    tasks: NDArray[np.void]
    actions: list[Action]
    started: list[SlurmRun] = field(default_factory=list)
