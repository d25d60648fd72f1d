"""The event manager that AccaSim's main loop calls: time, and who is asked when."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter_ns
from typing import Any

from ...dispatchers import Action, Dispatcher, Reject, Start, State, Stop, Waiting, Wake
from ...predictors import Predictor
from ...workloads import Machine
from ..accasim_compat import EventManager
from ..action_checks import ActionChecks, checked_report, whole_seconds
from ..budget import Budget, Spending
from ..forecasts import Forecasts
from ..life_cycle import LifeCycle, Told
from ..overrun import Overrun
from ..recorder import Recorder
from ..simulated_job import SimulatedJob
from ..simulation_errors import ActionError, SimulationError, failed
from .event_calendar import COMPLETION, TIMER, EventCalendar

_IDLE_WAKES = 10_000
#: AccaSim's main loop reads jobs when fewer than that are still to arrive.
_READ_BELOW = 10


#: Actions, ids of the jobs rejected by them, how many jobs were queued before, report, nanoseconds.
Answer = tuple[Sequence[Action], list[str], int, Any, int]


class Plan:
    """An answer of the dispatcher, of the length that AccaSim's main loop checks: the jobs that are still queued.

    It is ``None`` if the dispatcher was not asked.
    """

    __slots__ = ("answer", "length")

    def __init__(self, answer: Answer | None, length: int) -> None:
        self.answer = answer
        self.length = length

    def __len__(self) -> int:
        return self.length


class DispatchEvents(EventManager):  # type: ignore[misc]
    """The event manager behind AccaSim's main loop.

    At every instant: completions, then arrivals, then corrections of predictions, then one dispatch.

    Attributes
    ----------
    pause, at_pause
        Before the first instant from `pause` on, `at_pause` is called, which sets a later one.
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
        budget: Budget | None = None,
        told: Sequence[Told] = (),
    ) -> None:
        # AccaSim's constructor opens writers by its process-wide constants; nothing of that is wanted here.
        self.machine = machine
        self.recorder = recorder
        self.sequential = sequential
        self.current_time = 0
        bounded = overrun.mode != "run"
        self.calendar = EventCalendar()
        forecasts = Forecasts(predictor, recorder, bounded)
        self.cycle = LifeCycle(machine, self.calendar, forecasts, overrun, recorder, progress, told)
        self.resource_manager = self.cycle.nodes
        self.events = self.cycle.jobs
        self.loaded = self.calendar.arrivals
        self.checks = ActionChecks(self.events, machine.nodes, bounded)
        self.wakes: set[int] = set()
        self.pause = math.inf
        self.at_pause: Callable[[], None] | None = None
        self._balance = 0
        self._idle = 0
        self._spending = Spending(budget)
        self._decide = dispatcher.dispatch
        self._report = getattr(dispatcher, "report", None)
        self._name = getattr(dispatcher, "name", None) or type(dispatcher).__name__

    # What AccaSim's main loop calls, in its order.

    def load_events(self, es: Iterable[SimulatedJob]) -> None:
        """Take jobs that will arrive."""
        self.calendar.expect(es)

    def has_events(self) -> bool:
        """Return whether anything is still to come or to run."""
        return bool(self.loaded or self.cycle.queue.entries or self.cycle.running.entries)

    def next_events(self) -> list[Waiting]:
        """Go to the next instant and return the queue, which the jobs of that instant will join."""
        queue, time = self.cycle.queue.entries, self.calendar.next_time
        while time is not None and time >= self.pause and self.at_pause is not None:
            self.at_pause()
        if time is not None:
            self.current_time = time
        elif queue and not self.cycle.changed:
            raise SimulationError(
                f"{self._where()}: {len(queue)} jobs wait, nothing runs and nothing is to come, but nothing was started"
                f"; the first is job {queue[0].id}"
            )
        return queue

    def release_ended_events(self, event_dict: dict[str, SimulatedJob]) -> None:
        """Let happen what happens now; dispatch and go on for as long as AccaSim's loop would read no jobs in between.

        The step of that loop costs about as much as what happens at an instant.
        """
        cycle, queue, loaded, heap = self.cycle, self.cycle.queue.entries, self.loaded, self.calendar.heap
        self._happen()
        while len(loaded) >= _READ_BELOW and loaded[0].queued_time < self.pause:
            if queue and (cycle.changed or self.current_time in self.wakes):
                self._dispatch()
            time: int = loaded[0].queued_time
            self.current_time = heap[0][0] if heap and heap[0][0] < time else time
            self._happen()

    def call_dispatcher(self, event_dict: dict[str, SimulatedJob], events: list[Waiting]) -> tuple[Plan, list[str]]:
        """Ask the dispatcher, and take out what it rejects; not if only a prediction was corrected."""
        asked = self.cycle.changed or self.current_time in self.wakes
        answer = self._ask() if asked else None
        return Plan(answer, len(events)), answer[1] if answer else []

    def dispatch_events(
        self, event_dict: dict[str, SimulatedJob], to_dispatch: Plan, time_diff: int, omit_timediff: bool = True
    ) -> tuple[int, int, int]:
        """Carry out the actions; return how many jobs started for the first time, as AccaSim counts them."""
        if to_dispatch.answer is None:
            return 0, 0, 0
        first = self._carry_out(to_dispatch.answer)
        balance, self._balance = self._balance, 0
        return balance + first, 0, 0

    # Events.

    def _happen(self) -> None:
        """End what ends now, let arrive what arrives, correct predictions, and serve timers while no job waits."""
        now, cycle, loaded, heap = self.current_time, self.cycle, self.loaded, self.calendar.heap
        if self.sequential and self._one_event(now):
            return
        if heap and heap[0][0] == now:
            for _, _, _, job in self.calendar.due(now, COMPLETION):
                cycle.end(job, job.outcome, now)
        while loaded and loaded[0].queued_time == now:
            cycle.arrive(loaded.popleft(), now)
        if heap and heap[0][0] == now:
            for _, _, _, job in self.calendar.due(now):
                cycle.correct(job, now)
        if now in self.wakes and not cycle.queue.entries:
            self._dispatch()

    def _one_event(self, now: int) -> bool:
        """Let one job end, or else one arrive, and come back to this instant; return whether there was one.

        Jobs that end just when they were predicted to end before any other: their nodes were known to be free now.
        """
        ending = [job for _, _, _, job in self.calendar.due(now, COMPLETION)]
        if ending:
            early = [job for job in ending if job.running.predicted_end != now]
            for job in [job for job in ending if job.running.predicted_end == now] + early[:1]:
                self.cycle.end(job, job.outcome, now)
            for job in early[1:]:
                job.completion = self.calendar.add(now, COMPLETION, job)
        elif self.loaded and self.loaded[0].queued_time == now:
            self.cycle.arrive(self.loaded.popleft(), now)
        else:
            return False
        self.calendar.add(now, TIMER, None)
        return True

    # Decisions.

    def _dispatch(self) -> None:
        """Ask the dispatcher, without AccaSim's loop, and carry out what it says."""
        answer = self._ask()
        for id_ in answer[1]:
            del self.events[id_]
        self._balance += len(answer[1])
        self._balance += self._carry_out(answer)

    def _ask(self) -> Answer:
        now, cycle = self.current_time, self.cycle
        queued = len(cycle.queue.entries)
        cycle.changed = False
        self.wakes.discard(now)
        # Past the constructor, which makes columns of what has none.
        shown = now, cycle.queue.shown, cycle.running.shown, cycle.nodes.shown, self.machine
        state = tuple.__new__(State, shown)
        self._spend()
        begin = perf_counter_ns()
        try:
            actions = self._decide(state)
        except BaseException as error:  # noqa: BLE001 - a plugged-in part may raise anything
            failed(self._where(), "dispatch", error)
        ns = perf_counter_ns() - begin
        report = None if self._report is None else checked_report(self._where, self._report)
        if type(actions) is not list and not isinstance(actions, Sequence):
            raise ActionError(f"{self._where()}: expected a sequence of actions, got {actions!r}")
        rejected = self._reject(actions) if actions and Reject in map(type, actions) else []
        return actions, rejected, queued, report, ns

    def _spend(self) -> None:
        """Count the decision; see from time to time that the simulation gets anywhere."""
        try:
            if self._spending.spend():
                jobs = self.events.values()
                work = sum(job.done(self.current_time) for job in jobs)
                self._spending.check((len(self.loaded), len(jobs)), work)
        except SimulationError as error:
            raise type(error)(f"{self._where()}: {error}") from None

    def _reject(self, actions: Sequence[Action]) -> list[str]:
        """Take jobs out of the queue; return their ids, by which they are to be taken out of the jobs."""
        rejected = []
        for action in actions:
            if not isinstance(action, Reject):
                continue
            try:
                job, _ = self.checks.waiting(action.job, "reject")
            except ActionError as error:
                raise ActionError(f"{self._where()}: {error}") from None
            self.cycle.reject(job, str(action.reason), self.current_time)
            rejected.append(job.id)
            self._balance -= 1 if job.attempts else 0
        return rejected

    def _carry_out(self, answer: Answer) -> int:
        """Carry out the actions and book the decision; return how many jobs started for the first time."""
        actions, rejected, queued, report, ns = answer
        running, now = self.cycle.running.entries, self.current_time
        before = len(running)
        try:
            first, started, stopped = self._act(actions) if actions else (0, 0, 0)
        except ActionError as error:
            raise ActionError(f"{self._where()}: {error}") from None
        self.recorder.decision((now, queued, before, started, stopped, len(rejected)), report, ns)
        if started or stopped:
            self._spending.acted = True
        if started or rejected or running or self.loaded:
            self._idle = 0
        else:
            self._guard_idle()
        return first

    def _act(self, actions: Sequence[Action]) -> tuple[int, int, int]:
        """Return how many jobs started for the first time, started, and were stopped."""
        first, started, stopped, now = 0, 0, 0, self.current_time
        for action in actions:
            if isinstance(action, Start):
                first += self.cycle.start(*self.checks.start(action), now)
                started += 1
            elif isinstance(action, Stop):
                self._stop(action, now)
                stopped += 1
            elif isinstance(action, Wake):
                self._wake(action)
            elif not isinstance(action, Reject):
                raise ActionError(f"expected Start, Stop, Wake or Reject, got {action!r}")
        return first, started, stopped

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
