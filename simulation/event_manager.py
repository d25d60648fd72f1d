"""The event manager that AccaSim's main loop calls: time, and who is asked when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

from ..dispatchers import Action, Dispatcher, Reject, Start, State, Stop, Waiting, Wake
from ..predictors import Predictor
from ..workloads import Machine
from .accasim_compat import EventManager
from .action_checks import ActionChecks, whole_seconds
from .event_calendar import ARRIVAL, COMPLETION, CORRECTION, TIMER, EventCalendar
from .forecasts import Forecasts
from .life_cycle import LifeCycle
from .overrun import Overrun
from .recorder import Recorder
from .simulated_job import SimulatedJob
from .simulation_errors import ActionError, SimulationError

_IDLE_WAKES = 10_000


class Plan(list[Action]):
    """The actions of one decision, of the length that AccaSim's main loop checks: the jobs that were queued.

    `ns` is how long the dispatcher took, ``None`` if it was not asked.
    """

    def __init__(
        self, actions: Sequence[Action], length: int, report: Any = None, ns: int | None = None, queued: int = 0
    ) -> None:
        super().__init__(actions)
        self.length = length
        self.report = report
        self.ns = ns
        self.queued = queued

    def __len__(self) -> int:
        return self.length


class DispatchEvents(EventManager):  # type: ignore[misc]
    """The event manager behind AccaSim's main loop.

    At every instant: completions, then arrivals, then corrections of predictions, then one dispatch.
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
        self.recorder = recorder
        self.sequential = sequential
        self.current_time = 0
        bounded = overrun.mode != "run"
        self.calendar = EventCalendar()
        forecasts = Forecasts(predictor, recorder, bounded)
        self.cycle = LifeCycle(machine, self.calendar, forecasts, overrun, recorder, progress)
        self.resource_manager = self.cycle.nodes
        self.events = self.cycle.jobs
        self.loaded: set[SimulatedJob] = set()
        self.checks = ActionChecks(self.events, machine.nodes, bounded)
        self.wakes: set[int] = set()
        self._balance = 0
        self._idle = 0
        self._report = getattr(dispatcher, "report", None)
        self._name = getattr(dispatcher, "name", None) or type(dispatcher).__name__

    # What AccaSim's main loop calls, in its order.

    def load_events(self, es: list[SimulatedJob]) -> None:
        """Take jobs that will arrive."""
        self.loaded.update(es)
        for job in es:
            self.calendar.add(job.queued_time, ARRIVAL, job)

    def has_events(self) -> bool:
        """Return whether anything is still to come or to run."""
        return bool(self.loaded or self.cycle.queue.entries or self.cycle.running.entries)

    def next_events(self) -> list[Waiting]:
        """Go to the next instant and return the queue, which the jobs of that instant will join."""
        queue, time = self.cycle.queue.entries, self.calendar.next_time
        if time is not None:
            self.current_time = time
        elif queue and not self.cycle.changed:
            raise SimulationError(
                f"{self._where()}: {len(queue)} jobs wait, nothing runs and nothing is to come, but nothing was started"
                f"; the first is job {queue[0].id}"
            )
        return queue

    def release_ended_events(self, event_dict: dict[str, SimulatedJob]) -> None:
        """End what ends now, let arrive what arrives, correct predictions, and serve timers while no job waits."""
        now, cycle = self.current_time, self.cycle
        if self.sequential and self._one_event(now):
            return
        for kind, job in self.calendar.due(now):
            if kind == COMPLETION:
                cycle.end(job, job.outcome, now)
            elif kind == ARRIVAL:
                self._arrive(job, now)
            elif kind == CORRECTION:
                cycle.correct(job, now)
        if now in self.wakes and not cycle.queue.entries:
            plan, _ = self.call_dispatcher(event_dict, cycle.queue.entries)
            self._balance += self.dispatch_events(event_dict, plan, 0)[0]

    def call_dispatcher(self, event_dict: dict[str, SimulatedJob], events: list[Waiting]) -> tuple[Plan, list[str]]:
        """Ask the dispatcher, and take out what it rejects; not if only a prediction was corrected."""
        now, cycle, queued = self.current_time, self.cycle, len(events)
        if not cycle.changed and now not in self.wakes:
            return Plan((), queued), []
        cycle.changed = False
        self.wakes.discard(now)
        state = State(now, cycle.queue.shown, cycle.running.shown, cycle.nodes.shown, self.machine)
        begin = perf_counter_ns()
        actions = self.dispatcher.dispatch(state)
        ns = perf_counter_ns() - begin
        report = self._report() if self._report is not None else None
        if type(actions) is not list and not isinstance(actions, Sequence):
            raise ActionError(f"{self._where()}: expected a sequence of actions, got {actions!r}")
        refused = [action for action in actions if type(action) is Reject]
        rejected = self._reject(refused) if refused else []
        return Plan(actions, queued - len(rejected), report, ns, queued), rejected

    def dispatch_events(
        self, event_dict: dict[str, SimulatedJob], to_dispatch: Plan, time_diff: int, omit_timediff: bool = True
    ) -> tuple[int, int, int]:
        """Carry out the actions; return how many jobs started for the first time, as AccaSim counts them."""
        if to_dispatch.ns is None:
            return 0, 0, 0
        balance, self._balance = self._balance, 0
        running = len(self.cycle.running.entries)
        try:
            first, started, stopped, rejected = self._carry_out(to_dispatch)
        except ActionError as error:
            raise ActionError(f"{self._where()}: {error}") from None
        counts = (self.current_time, to_dispatch.queued, running, started, stopped, rejected)
        self.recorder.decision(counts, to_dispatch.report, to_dispatch.ns)
        if started or rejected or self.cycle.running.entries or self.loaded:
            self._idle = 0
        else:
            self._guard_idle()
        return balance + first, 0, 0

    # Events.

    def _arrive(self, job: SimulatedJob, now: int) -> None:
        self.loaded.remove(job)
        self.cycle.arrive(job, now)

    def _one_event(self, now: int) -> bool:
        """Let one job end, or else one arrive, and come back to this instant; return whether there was one.

        Jobs that end just when they were predicted to end before any other: their nodes were known to be free now.
        """
        ending = [job for _, job in self.calendar.due(now, COMPLETION)]
        arriving = None if ending else next(self.calendar.due(now, ARRIVAL), None)
        if ending:
            early = [job for job in ending if job.running.predicted_end != now]
            for job in [job for job in ending if job.running.predicted_end == now] + early[:1]:
                self.cycle.end(job, job.outcome, now)
            for job in early[1:]:
                job.completion = self.calendar.add(now, COMPLETION, job)
        elif arriving is not None:
            self._arrive(arriving[1], now)
        else:
            return False
        self.calendar.add(now, TIMER, None)
        return True

    # Actions.

    def _reject(self, actions: Sequence[Reject]) -> list[str]:
        """Take jobs out of the queue; return their ids, which AccaSim's loop takes out of the jobs."""
        rejected = []
        for action in actions:
            try:
                job, _ = self.checks.waiting(action.job, "reject")
            except ActionError as error:
                raise ActionError(f"{self._where()}: {error}") from None
            self.cycle.reject(job, str(action.reason), self.current_time)
            rejected.append(job.id)
            self._balance -= 1 if job.attempts else 0
        return rejected

    def _carry_out(self, actions: Sequence[Action]) -> tuple[int, int, int, int]:
        """Return how many jobs started for the first time, started, stopped and were rejected."""
        first, started, stopped, rejected = 0, 0, 0, 0
        now = self.current_time
        for action in actions:
            if isinstance(action, Start):
                first += self.cycle.start(*self.checks.start(action), now)
                started += 1
            elif isinstance(action, Stop):
                self._stop(action, now)
                stopped += 1
            elif isinstance(action, Wake):
                self._wake(action)
            elif isinstance(action, Reject):
                rejected += 1
            else:
                raise ActionError(f"expected Start, Stop, Wake or Reject, got {action!r}")
        return first, started, stopped, rejected

    def _stop(self, action: Stop, now: int) -> None:
        job, delay = self.checks.stop(action)
        if delay is None:
            self.cycle.kill(job, now)
        else:
            self.cycle.checkpoint(job, delay, now)

    def _wake(self, action: Wake) -> None:
        at = whole_seconds(action.at, "a timer")
        if at <= self.current_time:
            raise ActionError(f"a timer must lie in the future, got {at}")
        if at not in self.wakes:
            self.wakes.add(at)
            self.calendar.add(at, TIMER, None)

    def _guard_idle(self) -> None:
        self._idle += 1
        if self._idle > _IDLE_WAKES:
            raise SimulationError(f"{self._where()}: it set {_IDLE_WAKES} timers in a row without starting anything")

    def _where(self) -> str:
        return f"{self._name} at t={self.current_time}"
