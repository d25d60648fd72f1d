"""AccaSim's events and event manager: time, the queue, running jobs, kills, checkpoints, timers."""

from __future__ import annotations

import bisect
import heapq
import math
import operator
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter, perf_counter_ns

from ..dispatchers import Dispatcher, JobView, Reject, Running, Start, State, Stop, Waiting, Wake
from ..predictors import Predictor
from ..workloads import Job, Machine
from .accasim_compat import EventManager
from .action_checks import ActionChecks
from .node_matrix import NodeMatrix
from .overrun import Overrun
from .recorder import CHECKPOINTED, COMPLETED, KILLED, LIMIT, Attempt, Recorder
from .sim_event import Plan, ReadOnly, SimEvent
from .simulation_errors import ActionError, SimulationError

_IDLE_WAKES = 10_000
_by_prediction = operator.attrgetter("predicted_end")
#: Seconds between two reports of progress.
_REPORT_EVERY = 0.1


class DispatchEvents(ActionChecks, EventManager):  # type: ignore[misc]
    """The event manager behind AccaSim's main loop.

    At every instant: completions, then arrivals, then one dispatch. The queue is kept between instants in order of
    submission; only what changes is touched.
    """

    def __init__(
        self,
        machine: Machine,
        dispatcher: Dispatcher,
        predictor: Predictor,
        overrun: Overrun,
        recorder: Recorder,
        *,
        sequential: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        # AccaSim's constructor opens writers by its process-wide constants; nothing of that is wanted here.
        self.machine = machine
        self.dispatcher = dispatcher
        self.predictor = predictor
        self.overrun = overrun
        self.recorder = recorder
        self.sequential = sequential
        self.progress = progress
        self.resource_manager = NodeMatrix(machine)
        self.current_time = 0
        self.time_points: list[int] = []
        self.arrivals: deque[int] = deque()
        self.loaded: dict[int, list[SimEvent]] = {}
        self.events: dict[str, SimEvent] = {}
        self.queued: list[Waiting] = []
        self.running: list[Running] = []
        self.real_ending: dict[int, list[tuple[SimEvent, Running]]] = {}
        self.corrections: dict[int, list[tuple[SimEvent, Running]]] = {}
        self.wakes: set[int] = set()
        self.finished = 0
        self.balance = 0
        self._idle = 0
        self._primary = machine.primary
        self._news = False
        self._reported = perf_counter()
        self._queue_view = ReadOnly(self.queued)
        self._running_view = ReadOnly(self.running)
        self._report = getattr(dispatcher, "report", None)
        self._correct = getattr(predictor, "correct", None)
        self._distribution = getattr(predictor, "distribution", None)
        self._name = getattr(dispatcher, "name", None) or type(dispatcher).__name__

    # What AccaSim's main loop calls, in its order.

    def load_events(self, es: list[SimEvent]) -> None:
        """Take jobs that will arrive."""
        for event in es:
            time = event.queued_time
            if time not in self.loaded:
                self.loaded[time] = []
                self.arrivals.append(time)
            self.loaded[time].append(event)

    def has_events(self) -> bool:
        """Return whether anything is still to come or to run."""
        return bool(self.loaded or self.queued or self.running)

    def next_events(self) -> list[Waiting]:
        """Go to the next instant and return the queue, which the jobs of that instant will join."""
        points, arrivals = self.time_points, self.arrivals
        if arrivals and (not points or arrivals[0] <= points[0]):
            now = arrivals[0]
        elif points:
            now = points[0]
        elif self.queued and self._news:
            return self.queued
        elif self.queued:
            raise SimulationError(
                f"{self._name} at t={self.current_time}: {len(self.queued)} jobs wait, nothing runs and nothing is to"
                f" come, but nothing was started; the first is job {self.queued[0].id}"
            )
        else:
            return self.queued
        while points and points[0] == now:
            heapq.heappop(points)
        self.current_time = now
        return self.queued

    def release_ended_events(self, event_dict: dict[str, SimEvent]) -> None:
        """End what ends now, let arrive what arrives, correct predictions, and serve timers while no job waits."""
        now = self.current_time
        if self.sequential:
            if self._one_event(now):
                return
        else:
            for event, running in self.real_ending.pop(now, ()):
                if event.running is running and event.ends_at == now:
                    self._end(event, event.due)
            if self.arrivals and self.arrivals[0] == now:
                self.arrivals.popleft()
                for event in self.loaded.pop(now):
                    self._arrive(event, now)
        for event, running in self.corrections.pop(now, ()):
            if event.running is running and not running.stopping:
                self._correct_prediction(event, running)
        if now in self.wakes and not self.queued:
            plan, _ = self.call_dispatcher(event_dict, self.queued)
            self.balance += self.dispatch_events(event_dict, plan, 0)[0]

    def call_dispatcher(self, event_dict: dict[str, SimEvent], events: list[Waiting]) -> tuple[Plan, list[str]]:
        """Ask the dispatcher, and take out what it rejects; not if only a prediction was corrected."""
        now = self.current_time
        if not self._news and now not in self.wakes:
            return Plan((), len(events), None, None, len(events)), []
        self._news = False
        self.wakes.discard(now)
        state = State(now, self._queue_view, self._running_view, self.resource_manager.shown, self.machine)
        begin = perf_counter_ns()
        actions = self.dispatcher.dispatch(state)
        ns = perf_counter_ns() - begin
        report = self._report() if self._report is not None else None
        if type(actions) is not list and not isinstance(actions, Sequence):
            raise ActionError(f"{self._where()}: expected a sequence of actions, got {actions!r}")
        queued = len(events)
        rejected = []
        for action in actions:
            if isinstance(action, Reject):
                event = self._find(action.job, "reject", waiting=True)
                self._leave_queue(event, now)
                self._finish(event, "rejected", now, str(action.reason))
                rejected.append(event.id)  # AccaSim's loop takes these out of the dictionary of events.
                self.balance -= 1 if event.attempts else 0
        return Plan(actions, queued - len(rejected), report, ns, queued), rejected

    def dispatch_events(
        self, event_dict: dict[str, SimEvent], to_dispatch: Plan, time_diff: int, omit_timediff: bool = True
    ) -> tuple[int, int, int]:
        """Carry out the actions; return how many jobs started for the first time, as AccaSim counts them."""
        if to_dispatch.ns is None:
            return 0, 0, 0
        first, started, stopped, rejected = self.balance, 0, 0, 0
        self.balance = 0
        running = len(self.running)
        for action in to_dispatch:
            if isinstance(action, Start):
                first += self._start(action)
                started += 1
            elif isinstance(action, Stop):
                self._stop(action)
                stopped += 1
            elif isinstance(action, Wake):
                self._wake(action)
            elif isinstance(action, Reject):
                rejected += 1
            else:
                raise ActionError(f"{self._where()}: expected Start, Stop, Wake or Reject, got {action!r}")
        counts = (self.current_time, to_dispatch.queued, running, started, stopped, rejected)
        self.recorder.decision(counts, to_dispatch.report, to_dispatch.ns)
        if started or rejected or self.running or self.loaded:
            self._idle = 0
        else:
            self._guard_idle()
        return first, 0, 0

    # Actions.

    def _start(self, action: Start) -> int:
        event = self._find(action.job, "start", waiting=True)
        now = self.current_time
        waiting = event.waiting
        assert waiting is not None
        shape, nodes, demand = self._shape(event, action)
        placement = self._placement(event, action, nodes)
        if not self.resource_manager.allocate(placement, demand):
            raise ActionError(f"{self._where()}: job {event.id}: no room for {nodes} x {demand} at {placement}")
        self._leave_queue(event, now)
        running = Running(waiting.job, now, placement, demand, event.order)
        event.running = running
        self._set_work(event, shape)
        if event.attempts:
            running.done = event.runtime_of(shape) - event.remaining
        limit = self._limit(event, action)
        predicted = waiting.predicted
        if shape >= 0:
            done = event.runtime_of(shape) - event.remaining
            predicted = max(1, self._predict(self._as_shape(event.job, shape), now) - done)
        left = event.remaining
        event.due = COMPLETED
        if limit is not None:
            running.kill_at = now + limit
            predicted = min(predicted, limit)
            if left > limit:
                left, event.due = limit, LIMIT
        running.predicted_end = now + predicted
        bisect.insort(self.running, running, key=_by_prediction)
        self._end_at(now + left, event, running)
        if self._correct is not None and predicted < left:
            self._correct_at(now + predicted, event, running)
        if event.start_time is None:
            event.start_time = now
            self.recorder.start[event.order] = now
            return 1
        return 0

    def _stop(self, action: Stop) -> None:
        event = self._find(action.job, "stop", waiting=False)
        running = event.running
        assert running is not None
        if running.stopping:
            raise ActionError(f"{self._where()}: job {event.id}: it is already being checkpointed")
        if action.how == "kill":
            if action.delay:
                raise ActionError(f"{self._where()}: job {event.id}: a kill takes no delay, got {action.delay}")
            self._end(event, KILLED)
        elif action.how == "checkpoint":
            delay = self._seconds(action.delay, f"job {event.id}: delay")
            if delay < 0:
                raise ActionError(f"{self._where()}: job {event.id}: delay must be >= 0, got {delay}")
            event.stopped_at = self.current_time
            running.stopping = True
            self._expect(running, self.current_time + delay)
            event.due = CHECKPOINTED
            if delay:
                self._end_at(running.predicted_end, event, running)
            else:
                self._end(event, CHECKPOINTED)
        else:
            raise ActionError(f"{self._where()}: job {event.id}: how must be kill or checkpoint, got {action.how!r}")

    def _wake(self, action: Wake) -> None:
        at = self._seconds(action.at, "a timer")
        if at <= self.current_time:
            raise ActionError(f"{self._where()}: a timer must lie in the future, got {at}")
        if at not in self.wakes:
            self.wakes.add(at)
            heapq.heappush(self.time_points, at)

    # The life of a job.

    def _one_event(self, now: int) -> bool:
        """Let one job end, or else one arrive, and come back to this instant; return whether there was one.

        Jobs that end just when they were predicted to end before any other: their nodes were known to be free now.
        """
        ending = [one for one in self.real_ending.pop(now, ()) if one[0].running is one[1] and one[0].ends_at == now]
        if ending:
            on_time = [one for one in ending if one[1].predicted_end == now]
            early = [one for one in ending if one[1].predicted_end != now]
            for event, _ in on_time + early[:1]:
                self._end(event, event.due)
            self.real_ending[now] = early[1:]
        elif self.arrivals and self.arrivals[0] == now:
            arriving = self.loaded[now]
            self._arrive(arriving.pop(0), now)
            if not arriving:
                self.arrivals.popleft()
                del self.loaded[now]
        else:
            return False
        heapq.heappush(self.time_points, now)
        return True

    def _arrive(self, event: SimEvent, now: int) -> None:
        predicted = self._predict(event.job, now)
        self.recorder.predicted[event.order] = predicted
        self._enqueue(event, now, predicted)

    def _enqueue(self, event: SimEvent, since: int, predicted: int) -> None:
        job = event.job
        law = job.law
        if self._distribution is not None:
            begin = perf_counter_ns()
            law = self._distribution(job)
            self.recorder.prediction_ns += perf_counter_ns() - begin
        view = JobView(job, self.machine)
        waiting = Waiting(view, predicted, since, len(event.attempts), event.order, event.demand, law)
        event.waiting = waiting
        event.entered = self.current_time
        self._news = True
        queue = self.queued
        if queue and (queue[-1].since, queue[-1].order) > (since, event.order):
            bisect.insort(queue, waiting, key=lambda entry: (entry.since, entry.order))
        else:
            queue.append(waiting)

    def _leave_queue(self, event: SimEvent, now: int) -> None:
        self.queued.remove(event.waiting)  # type: ignore[arg-type]
        self.recorder.queued[event.order] += now - event.entered
        event.waiting = None

    def _end(self, event: SimEvent, outcome: int) -> None:
        """Take a job off the machine and see what becomes of it."""
        now = self.current_time
        running = event.running
        assert running is not None
        self._news = True
        self.resource_manager.release(running.placement, running.demand)
        self._take_out(running)
        event.running = None
        useful = self._saved(event, running, outcome)
        units = running.nodes * running.demand[self._primary]
        event.attempts.append(Attempt(running.start, now, outcome, useful, event.shape, units, running.placement))
        event.remaining -= useful
        if outcome == COMPLETED:
            self._finish(event, "completed", now)
            del self.events[event.id]
        elif outcome != LIMIT:
            self._enqueue(event, event.queued_time, self._predict_rest(event, 0))
        else:
            self._reach_limit(event, now - running.start)

    def _reach_limit(self, event: SimEvent, ran: int) -> None:
        """End, enlarge or requeue a job that was killed at a limit: its request, or a shorter one of the dispatcher."""
        now, job = self.current_time, event.job
        walltime = job.walltime if event.shape < 0 else job.shapes[event.shape].walltime
        if ran >= walltime and self.overrun.mode == "kill":
            self._finish(event, "killed", now, f"reached its requested time of {walltime} s")
            del self.events[event.id]
            return
        if ran >= walltime and self.overrun.mode == "resubmit":
            larger = self.overrun.enlarge(walltime)
            if larger is None:
                self._finish(event, "rejected", now, f"killed at the largest request of {walltime} s")
                del self.events[event.id]
                return
            event.job = self._enlarged(job)
        self._enqueue(event, now, self._predict_rest(event, ran))

    def _enlarged(self, job: Job) -> Job:
        """Return the job with every request enlarged, as far as the cap lets."""
        enlarge = self.overrun.enlarge
        shapes = tuple(replace(shape, walltime=enlarge(shape.walltime) or shape.walltime) for shape in job.shapes)
        return replace(job, walltime=enlarge(job.walltime) or job.walltime, shapes=shapes)

    def _finish(self, event: SimEvent, status: str, end: int, reason: str = "") -> None:
        recorder, order, attempts, job = self.recorder, event.order, event.attempts, event.job
        recorder.job(order, status, end, reason)
        recorder.attempts(order, attempts, lost=status != "completed")
        recorder.tries[order] = len(attempts)
        ran = 0
        if len(attempts) == 1 or (attempts and status != "completed"):
            ran = attempts[-1].end - attempts[-1].start
        elif attempts:
            ran = sum(attempt.useful for attempt in attempts)
        recorder.run[order] = ran
        if status != "rejected":
            begin = perf_counter_ns()
            self.predictor.observe(job if ran == job.runtime else replace(job, runtime=ran))
            recorder.prediction_ns += perf_counter_ns() - begin
        self.finished += 1
        if self.progress is not None and perf_counter() - self._reported >= _REPORT_EVERY:
            self._reported = perf_counter()
            self.progress(self.finished)

    # Work, predictions, times.

    def _saved(self, event: SimEvent, running: Running, outcome: int) -> int:
        """Return the seconds of this attempt whose work is kept."""
        elapsed = self.current_time - running.start
        if outcome == COMPLETED:
            return elapsed
        if outcome == CHECKPOINTED:
            return event.stopped_at - running.start
        checkpoint = event.job.checkpoint
        if checkpoint is None or checkpoint.interval is None:
            return 0
        before = event.runtime_of(event.shape) - event.remaining
        kept = (before + elapsed) // checkpoint.interval * checkpoint.interval
        return max(0, kept - before)

    def _set_work(self, event: SimEvent, shape: int) -> None:
        """Convert the remaining work to the run time of another shape, rounded up."""
        event.remaining, event.shape = event.remaining_on(shape), shape

    def _predict(self, job: Job, now: int) -> int:
        begin = perf_counter_ns()
        predicted = self.predictor.predict(job, now)
        self.recorder.prediction_ns += perf_counter_ns() - begin
        if not 0 <= predicted < math.inf:
            name = type(self.predictor).__name__
            raise SimulationError(f"{name} at t={now}: job {job.id}: a prediction must be >= 0 s, got {predicted}")
        seconds = max(1, math.ceil(predicted))
        return seconds if self.overrun.mode == "run" else min(seconds, job.walltime)

    def _predict_rest(self, event: SimEvent, ran: int) -> int:
        """Predict what is left of a job that comes back; after a kill at `ran` seconds it is known to need more."""
        whole = self._predict(event.job, self.current_time)
        done = event.job.runtime - event.remaining_on(-1)
        rest = max(1, whole - done, ran + 1 if ran else 1)
        return rest if self.overrun.mode == "run" else min(rest, event.job.walltime)

    def _correct_prediction(self, event: SimEvent, running: Running) -> None:
        now = self.current_time
        before = event.runtime_of(event.shape) - event.remaining
        elapsed = before + now - running.start
        job = event.job if event.shape < 0 else self._as_shape(event.job, event.shape)
        begin = perf_counter_ns()
        whole = self._correct(job, elapsed, event.misses)  # type: ignore[misc]
        self.recorder.prediction_ns += perf_counter_ns() - begin
        event.misses += 1
        if whole <= elapsed:
            return
        end = running.start + max(math.ceil(whole) - before, now - running.start + 1)
        self._expect(running, end if running.kill_at is None else min(end, max(running.kill_at, now + 1)))
        if not (running.kill_at is not None and running.predicted_end >= running.kill_at):
            self._correct_at(running.predicted_end, event, running)

    def _expect(self, running: Running, end: int) -> None:
        """Give a running job another predicted end, and its place in the order of these."""
        self._take_out(running)
        running.predicted_end = end
        bisect.insort(self.running, running, key=_by_prediction)

    def _take_out(self, running: Running) -> None:
        index = bisect.bisect_left(self.running, running.predicted_end, key=_by_prediction)
        while self.running[index] is not running:
            index += 1
        del self.running[index]

    def _end_at(self, time: int, event: SimEvent, running: Running) -> None:
        event.ends_at = time
        self.real_ending.setdefault(time, []).append((event, running))
        heapq.heappush(self.time_points, time)

    def _correct_at(self, time: int, event: SimEvent, running: Running) -> None:
        self.corrections.setdefault(time, []).append((event, running))
        heapq.heappush(self.time_points, time)

    # Guards.

    def _guard_idle(self) -> None:
        self._idle += 1
        if self._idle > _IDLE_WAKES:
            raise SimulationError(f"{self._where()}: it set {_IDLE_WAKES} timers in a row without starting anything")

    @staticmethod
    def _as_shape(job: Job, shape: int) -> Job:
        chosen = job.shapes[shape]
        per_node = job.per_node if chosen.per_node is None else chosen.per_node
        return replace(
            job,
            nodes=chosen.nodes,
            per_node=per_node,
            runtime=chosen.runtime,
            walltime=chosen.walltime,
            shapes=(),
        )
