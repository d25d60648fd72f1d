"""The scheduler of Slurm as a dispatcher: when its parts run, and what they start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np

from ...base import BoolArray, IntArray
from ...models.slurm import (
    Caps,
    ClosedNodes,
    Cluster,
    Held,
    Preemption,
    Tried,
    backfill_pass,
    main_pass,
    no_caps,
    placed,
)
from ...workloads import Machine
from ...workloads.machine_state import MachineState
from ...workloads.slurm_limits import read_slurm_limits
from ..options import Configured
from ..protocol import Action, Reject, Start, State, Waiting, Wake
from .account_usage import AccountUsage
from .known_arrays import KnownArrays
from .known_jobs import KnownJobs
from .known_limits import KnownLimits
from .known_partitions import KnownPartitions
from .known_preemption import KnownPreemption
from .known_reservations import KnownReservations
from .running_rows import RunningRows, by_order
from .slurm_options import SlurmOptions, configured, reserved, seconds, shares_of

_BEYOND = "it is beyond a limit of its association or quality of service"
_UNAVAILABLE = "Requested node configuration is not available"
#: Before any time of a simulation.
_NEVER = -(10**12)


class Slurm(Configured[SlurmOptions]):
    """Slurm's main scheduler and backfill, in the order of its multifactor priority.

    The main scheduler runs when jobs came or ended, at most every ``batch_sched_delay`` seconds, and over the whole
    queue every ``sched_interval``; backfill runs every ``bf_interval`` if anything changed; priorities are set at
    submission and every ``PriorityCalcPeriod``. The controller begins at time 0. Times are those of the requests (of
    the predictor, if there is another), in whole minutes. Not in it: topology, licences.

    Attributes
    ----------
    given
        The options that were given, which come before those of a configuration.
    """

    Options: ClassVar[type] = SlurmOptions
    uses: ClassVar[tuple[str, ...]] = ("numba",)

    def __init__(self, options: SlurmOptions | None = None, /, **given: Any) -> None:
        super().__init__(options, **given)
        others = {field.name: getattr(options, field.name) for field in fields(options)} if options else {}
        self.given = others | given
        self._rules, self._site = configured(self.options, self.given)
        self._machine: Machine | None = None
        self._given_limits = read_slurm_limits(self._rules.limits) if self._rules.limits else None
        self._reserved = reserved(self._rules, self._site)

    def reset(self, machine: Machine, rng: np.random.Generator | None = None) -> None:
        """Begin anew on a machine."""
        self.forget()
        self._open(machine)

    def forget(self) -> None:
        """Forget all jobs."""
        self._machine = None
        self._ran, self._full, self._cycle = _NEVER, 0, 0
        self._asked = self._changed = False
        self._ticked = self._seen = 0
        self._running = np.empty(0, dtype=np.int64)
        self._recalled: Mapping[str, Any] | None = None

    def memory(self) -> dict[str, Any]:
        """Return when what ran, the priorities of jobs and who has used how much; see :meth:`recall`."""
        running = set(self._running.tolist())
        ran = [id_ for order, id_ in self._jobs.ids.items() if order in running]
        return {
            "times": [self._ran, self._full, self._cycle, self._ticked],
            "due": [self._asked, self._changed],
            "running": ran,
            "priorities": self._jobs.priorities(),
            "usage": self._shares.usage(),
            "weights": self._partitions.weight.tolist(),
        }

    def recall(self, state: MachineState, memory: Mapping[str, Any] | None) -> None:
        """Go on as what it has in memory would have; of a real one that is nothing, or the ``priorities`` of jobs."""
        self._recalled = memory
        if memory is None or "usage" not in memory:
            begin = min((since.start for since in state.running), default=state.at)
            cores = self._machine.resources[self._machine.primary] if self._machine is not None else ""
            self._shares.past(state.ended, cores, begin, self._period)
            self._ticked = 0 if memory is None else state.at - state.at % self._period
            return
        self._ran, self._full, self._cycle, self._ticked = memory["times"]
        self._asked, self._changed = memory["due"]
        self._shares.restore(memory["usage"], self._ticked)
        self._partitions.weight[:] = memory.get("weights", self._partitions.weight)

    def dispatch(self, state: State) -> Sequence[Action]:
        """Let the parts run that are due."""
        if self._machine is not state.machine:
            self._open(state.machine)
        actions = self._look(state)
        left = self._in_order(state, actions)
        if not len(left):
            return self._woken(state, actions, waits=False)
        now, rules = state.now, self._rules
        parts = self._reservations.parts(state, left, self._partitions.members)
        instant = _Instant(state, [_Part(*part) for part in parts], self._partitions)
        instant.room = self._limits.room(state) if self._limits else None
        instant.tasks = self._arrays.left(state)
        full, stopped = now - self._full >= rules.sched_interval, self._preemption.stopped_at
        due = now - self._ran >= rules.batch_sched_delay
        if full or (self._asked and due) or (stopped is not None and now > stopped):
            self._preemption.stopped_at = None
            for _ in instant.each_part():
                self._main(instant, len(left) if full else rules.default_queue_depth + 1)
            self._ran, self._full, self._asked, self._changed = now, now if full else self._full, False, True
        stops = self._preemption.stopped_at is not None
        if instant.waits and self._changed and now - self._cycle >= rules.bf_interval and not stops:
            for _ in instant.each_part():
                self._backfill(instant)
            self._cycle, self._changed = now, False
        actions += instant.actions
        self._running = np.sort(np.concatenate([self._running, instant.started]))
        return self._woken(state, actions, waits=instant.waits)

    def _open(self, machine: Machine) -> None:
        rules = self._rules
        self._machine = machine
        self._partitions = KnownPartitions(machine, self._site)
        self._jobs = KnownJobs(machine, self._partitions, rules.weights(), small=rules.PriorityFavorSmall)
        self._rows = RunningRows(rules.epoch)
        self._limits = self._limited(machine)
        self._arrays = KnownArrays(rules.bf_max_job_array_resv)
        self._reservations = KnownReservations(self._reserved, machine.nodes, rules.epoch)
        self._preemption = KnownPreemption(self._partitions, rules.preempt_modes(self._site), rules.KillWait)
        self._period = seconds("PriorityCalcPeriod", rules.PriorityCalcPeriod)
        self._shares = AccountUsage(
            shares_of(rules.shares), seconds("PriorityDecayHalfLife", rules.PriorityDecayHalfLife)
        )

    def _limited(self, machine: Machine) -> KnownLimits | None:
        if self._given_limits is None:
            return None
        qualities = {partition.name: partition.quality for partition in self._site.partitions} if self._site else {}
        return KnownLimits(self._given_limits, qualities, machine.primary)

    def _look(self, state: State) -> list[Action]:
        """See what has changed; return refusals of jobs that could never run."""
        tick = state.now - state.now % self._period
        met = self._jobs.met(state, self._shares, tick)
        self._arrays.met(met)
        self._reservations.met(met)
        joined = self._resumed(state, met)
        self._jobs.submitted(state, joined)
        if tick > self._ticked:
            if self._rules.PriorityWeightFairshare:
                self._shares.tick(tick, self._jobs.charged(state, self._shares))
            self._jobs.prioritize(state, tick)
            self._ticked, self._changed = tick, True
        self._changed = self._changed or self._preemption.due(state.now)
        if self._reservations.due(self._seen, state.now):
            self._asked = self._changed = True
        self._seen = state.now
        running = np.sort(state.running.order)
        if joined or not np.array_equal(running, self._running):
            self._asked = self._changed = True
            self._running = running
            self._rows.forget(running)
        refused = self._preemption.cancelled(state.queue) + self._reservations.refused(state.queue, state.now)
        refused += [Reject(waiting, _UNAVAILABLE) for waiting in joined if not self._jobs.could_run(waiting)]
        beyond = [waiting for waiting in joined if self._limits and self._limits.never(waiting)]
        return refused + [Reject(waiting, _BEYOND) for waiting in beyond if self._jobs.could_run(waiting)]

    def _resumed(self, state: State, joined: list[Waiting]) -> list[Waiting]:
        """Return the jobs that have joined the queue since what was recalled."""
        recalled, self._recalled = self._recalled, None
        if recalled is None:
            return joined
        self._jobs.restore(state, recalled["priorities"])
        if "running" not in recalled:
            return joined
        here = {each.id: each.order for each in state.running}
        # Those that have ended since are no job's place, so that their end is seen.
        self._running = np.sort(np.array([here.get(id_, -1) for id_ in recalled["running"]], dtype=np.int64))
        return [waiting for waiting in joined if waiting.id not in recalled["priorities"]]

    def _in_order(self, state: State, refused: Sequence[Action]) -> IntArray:
        """Return the rows of the queue by priority, without the jobs that are refused."""
        rows = self._jobs.by_priority(state)
        if self._preemption.away:
            rows = rows[self._jobs.again[state.queue.order[rows]] <= state.now]
        if refused:
            gone = [action.job.order for action in refused if isinstance(action, Reject)]
            rows = rows[~np.isin(state.queue.order[rows], gone)]
        return rows

    def _main(self, instant: _Instant, most: int) -> None:
        most = self._arrays.first(instant.state.queue.order[instant.left], most)
        tried = self._jobs.tried(instant.state, instant.left[:most])
        preemption = self._gives_way(instant, tried)
        table = None if preemption is None else placed(self._rows.of(instant.state), tried, len(instant.cluster.free))
        stopping = None if preemption is None or table is None else (table, preemption)
        caps, closed, now = self._caps(instant, len(tried.slots)), instant.part.closed, instant.state.now
        starts = main_pass(tried, instant.cluster, now + self._rules.epoch, caps, stopping, closed)
        self._stop(instant, preemption)
        self._start(instant, tried, starts)

    def _backfill(self, instant: _Instant) -> None:
        state, epoch = instant.state, self._rules.epoch
        running = self._rows.of(state) + instant.rows
        most = self._arrays.first(state.queue.order[instant.left], self._rules.bf_max_job_test)
        tried = self._jobs.tried(state, instant.left[:most])
        caps = self._caps(instant, len(tried.slots))
        table, preemption = placed(running, tried, len(instant.cluster.free)), self._gives_way(instant, tried)
        rules, closed = self._rules.rules(), instant.part.closed
        backfill_pass(tried, instant.cluster, table, state.now + epoch, rules, caps, preemption, closed)
        self._stop(instant, preemption)
        first = len(running)
        now = (table.start[first:] >= 0) & (table.start[first:] <= state.now + epoch)
        starts = [(job, table.nodes_of(first + job).copy(), table.slots_of(first + job).copy())
                  for job in np.flatnonzero(now).tolist()]  # fmt: skip
        self._start(instant, tried, starts)

    def _gives_way(self, instant: _Instant, tried: Tried) -> Preemption | None:
        """Return which running jobs give way to the jobs that are tried, which are the first that are left."""
        if not self._preemption.modes:
            return None
        first = instant.left[: len(tried.slots)]
        running = by_order(instant.state)
        return self._preemption.of(instant.state.queue.order[first], tried.partition, running, instant.state.now)

    def _stop(self, instant: _Instant, preemption: Preemption | None) -> None:
        """Stop what gives way."""
        if preemption is None:
            return
        state = instant.state
        running, order = by_order(state), state.queue.order[instant.left]
        instant.actions += self._preemption.stops(preemption, order, running, state.now)
        self._jobs.give_way(self._preemption.away)

    def _caps(self, instant: _Instant, jobs: int) -> Caps | None:
        """Return the limits of the first jobs that are left."""
        rows, limits, room = instant.left[:jobs], self._limits, instant.room
        if (limits is None or room is None) and not len(instant.tasks):
            return None
        caps = no_caps(jobs)._replace(array=self._arrays.of(instant.state.queue.order[rows]), tasks=instant.tasks)
        if limits is None or room is None:
            return caps
        return caps._replace(of=limits.of([instant.state.queue.entries[row] for row in rows.tolist()]), room=room)

    def _start(self, instant: _Instant, tried: Tried, starts: Sequence[tuple[int, IntArray, IntArray]]) -> None:
        """Start jobs on their nodes."""
        if not starts:
            return
        now, epoch = instant.state.now, self._rules.epoch
        for job, nodes, slots in starts:
            waiting = instant.state.queue.entries[instant.left[job]]
            self._rows.started(waiting.order, now, nodes, slots)
            end = now + epoch + int(tried.limit[job])
            instant.rows.append(Held(end, nodes, slots, waiting.demand, waiting.order))
            instant.actions.append(Start(waiting, np.repeat(nodes, slots)))
        begun = [job for job, _, _ in starts]
        instant.started = np.append(instant.started, instant.state.queue.order[instant.left[begun]])
        instant.part.left = np.delete(instant.left, begun)

    def _woken(self, state: State, actions: list[Action], *, waits: bool) -> list[Action]:
        """Return the actions, and a timer for what is next if nothing happens before."""
        rules, times = self._rules, self._reservations.following(state.now) if len(state.queue) else []
        if waits:
            times += [self._full + rules.sched_interval]
            times += [self._ran + rules.batch_sched_delay] if self._asked else []
            times += [self._cycle + rules.bf_interval] if self._changed else []
            times += [state.now + 1] if self._preemption.stopped_at is not None else []
        times += self._preemption.away.values()
        if waits or (rules.PriorityWeightFairshare and len(self._running)):
            times.append(self._ticked + self._period)
        if times:
            actions.append(Wake(max(min(times), state.now + 1)))
        return actions


class _Part:
    """Jobs in one reservation or in none: those that are left, their nodes, and when these are closed."""

    __slots__ = ("closed", "left", "members")

    def __init__(self, left: IntArray, members: BoolArray, closed: ClosedNodes | None) -> None:
        self.left, self.members, self.closed = left, members, closed


class _Instant:
    """What is left of the queue and of the nodes while the parts run, and what they have started."""

    __slots__ = ("_free", "_partitions", "_parts", "actions", "part", "room", "rows", "started", "state", "tasks")

    def __init__(self, state: State, parts: list[_Part], partitions: KnownPartitions) -> None:
        self.state, self._free, self._parts, self.part = state, state.free.copy(), parts, parts[0]
        self._partitions = partitions
        self.room: IntArray | None = None
        self.tasks: IntArray = np.empty((0, 2), dtype=np.int64)
        self.rows: list[Held] = []
        self.actions: list[Action] = []
        self.started = np.empty(0, dtype=np.int64)

    @property
    def left(self) -> IntArray:
        """The rows of the queue that are left of the part."""
        return self.part.left

    @property
    def cluster(self) -> Cluster:
        """The nodes of the part."""
        return self._partitions.cluster(self._free, self.part.members)

    @property
    def waits(self) -> bool:
        """Whether any job is left."""
        return any(len(part.left) for part in self._parts)

    def each_part(self) -> Iterator[None]:
        """Go to one part with jobs after the other."""
        for part in self._parts:
            if len(part.left):
                self.part = part
                yield
