"""Call the dispatcher and carry out its actions."""

from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any

from ...dispatchers import Action, Dispatcher, Reject, Start, State, Stop, Wake
from ...dispatchers.protocol import DispatcherContract
from ...dispatchers.site.rule_gate import RuleGate
from ...dispatchers.site.start_check import StartError
from ...workloads import Machine
from ..action_checks import ActionChecks, checked_report, whole_seconds
from ..budget import Spending
from ..life_cycle import LifeCycle
from ..recorder import Recorder
from ..simulation_errors import ActionError, SimulationError, failed
from .event_calendar import TIMER, EventCalendar

#: Most decisions in a row without a start or a future event. They come by timers, or each second.
_IDLE_WAKES, _IDLE_SECONDS = 10_000, 1_000_000

#: Actions, ids of the rejected jobs, queue length before, report, nanoseconds.
Answer = tuple[Sequence[Action], list[str], int, Any, int]


class Decisions:
    """Calls the dispatcher and carries out its actions.

    Parameters
    ----------
    dispatcher
        The dispatcher.
    cycle, calendar
        The jobs, and their future events.
    checks
        Checks of the actions.
    spending
        The used part of the budget.
    recorder
        Records the decisions.
    machine
        With all its rules, also those that no dispatcher knows.

    Attributes
    ----------
    wakes
        Instants, seconds, at which the dispatcher is called in any case.
    every_second
        Whether it is called each second while jobs wait without future events, as in AccaSim. Otherwise this is an
        error.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        cycle: LifeCycle,
        calendar: EventCalendar,
        checks: ActionChecks,
        spending: Spending,
        recorder: Recorder,
        machine: Machine,
    ) -> None:
        self.checks = checks
        self.wakes: set[int] = set()
        self.every_second: bool = DispatcherContract(dispatcher).every_second
        self._cycle = cycle
        self._calendar = calendar
        self._spending = spending
        self._recorder = recorder
        self._balance = 0
        self._queued = 0
        self._idle = 0
        self._now = 0
        self._gate = RuleGate(machine, dispatcher, cycle.running.shown) if machine.rules else None
        self._decide = dispatcher.dispatch if self._gate is None else self._gate.ask
        self._report = DispatcherContract(dispatcher).report
        self._name = DispatcherContract(dispatcher).name or type(dispatcher).__name__

    @property
    def refused(self) -> int:
        """Number of starts that were not carried out."""
        return 0 if self._gate is None else self._gate.refused

    @property
    def first_refused(self) -> str:
        """The first start that was dropped, with job, node, rule and time. Empty if there is none."""
        return "" if self._gate is None else self._gate.first_refused

    def due(self, now: int) -> bool:
        """Return whether the dispatcher is to be called. A corrected prediction alone is no reason."""
        return self._cycle.changed or now in self.wakes

    def dispatch(self, now: int) -> None:
        """Call the dispatcher outside AccaSim's loop, and carry out its actions."""
        self._finish(self.ask(now))

    def open(self, now: int) -> State:
        """Begin a decision that is made outside, by :meth:`close`. Return the state."""
        cycle, self._now = self._cycle, now
        self._queued = len(cycle.queue.entries)
        cycle.changed = False
        self.wakes.discard(now)
        self._spend()
        return State(now, cycle.queue.shown, cycle.running.shown, cycle.nodes.shown, cycle.nodes.machine)

    def close(self, actions: Sequence[Action]) -> None:
        """Carry out the actions of the decision that :meth:`open` began."""
        rejected = self._reject(actions) if actions and Reject in map(type, actions) else []
        self._finish((actions, rejected, self._queued, None, 0))

    def _finish(self, answer: Answer) -> None:
        for id_ in answer[1]:
            del self._cycle.jobs[id_]
        self._balance += len(answer[1])
        self._balance += self._carry_out(answer)

    def ask(self, now: int) -> Answer:
        """Call the dispatcher, and remove rejected jobs from the queue."""
        cycle, self._now = self._cycle, now
        queued = len(cycle.queue.entries)
        cycle.changed = False
        self.wakes.discard(now)
        # The constructor would make columns where they are missing.
        shown = now, cycle.queue.shown, cycle.running.shown, cycle.nodes.shown, cycle.nodes.machine
        state = tuple.__new__(State, shown)
        self._spend()
        begin = perf_counter_ns()
        try:
            actions = self._decide(state)
        except StartError as error:
            raise ActionError(f"{self._where()}: {error}") from None
        except BaseException as error:  # noqa: BLE001 - a plugged-in part may raise anything
            failed(self._where(), "dispatch", error)
        ns = perf_counter_ns() - begin
        report = None if self._report is None else checked_report(self._where, self._report)
        if type(actions) is not list and not isinstance(actions, Sequence):
            raise ActionError(f"{self._where()}: expected a sequence of actions, got {actions!r}")
        rejected = self._reject(actions) if actions and Reject in map(type, actions) else []
        return actions, rejected, queued, report, ns

    def carry_out(self, answer: Answer) -> int:
        """Carry out the actions. Return the number of first starts since the last call.

        AccaSim counts so. It takes rejected jobs for jobs that never started.
        """
        first = self._carry_out(answer)
        balance, self._balance = self._balance, 0
        return balance + first

    def where(self, now: int) -> str:
        """Return the dispatcher's name and the time, for error messages."""
        return f"{self._name} at t={now}"

    def _spend(self) -> None:
        """Count the decision, and check progress from time to time."""
        try:
            if self._spending.spend():
                jobs = self._cycle.jobs.values()
                work = sum(job.done(self._now) for job in jobs)
                self._spending.check((len(self._calendar.arrivals), len(jobs)), work)
        except SimulationError as error:
            raise type(error)(f"{self._where()}: {error}") from None

    def _reject(self, actions: Sequence[Action]) -> list[str]:
        """Remove jobs from the queue. Return their ids, by which AccaSim removes them from the jobs."""
        rejected = []
        for action in actions:
            if not isinstance(action, Reject):
                continue
            try:
                job, _ = self.checks.waiting(action.job, "reject")
            except ActionError as error:
                raise ActionError(f"{self._where()}: {error}") from None
            self._cycle.reject(job, str(action.reason), self._now)
            rejected.append(job.id)
            self._balance -= 1 if job.attempts else 0
        return rejected

    def _carry_out(self, answer: Answer) -> int:
        """Carry out the actions and record the decision. Return the number of first starts."""
        actions, rejected, queued, report, ns = answer
        running = self._cycle.running.entries
        now = self._now
        before = len(running)
        try:
            first, started, stopped = self._act(actions) if actions else (0, 0, 0)
        except ActionError as error:
            raise ActionError(f"{self._where()}: {error}") from None
        self._recorder.decision((now, queued, before, started, stopped, len(rejected)), report, ns)
        if started or stopped:
            self._spending.acted = True
        if started or rejected or running or self._calendar.arrivals:
            self._idle = 0
        else:
            self._guard_idle()
        return first

    def _act(self, actions: Sequence[Action]) -> tuple[int, int, int]:
        """Return the numbers of first starts, starts and stops."""
        first = 0
        started = 0
        stopped = 0
        now = self._now
        for action in actions:
            if isinstance(action, Start):
                first += self._cycle.start(*self.checks.start(action), now)
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
            self._cycle.kill(job, now)
        else:
            self._cycle.checkpoint(job, delay, now)

    def _wake(self, action: Wake) -> None:
        at = whole_seconds(action.at, "a timer")
        if at <= self._now:
            raise ActionError(f"a timer must lie in the future, got {at}")
        if at not in self.wakes:
            self.wakes.add(at)
            self._calendar.add(at, TIMER, None)

    def _guard_idle(self) -> None:
        self._idle += 1
        most = _IDLE_SECONDS if self.every_second else _IDLE_WAKES
        if self._idle > most:
            raise SimulationError(f"{self._where()}: it was asked {most:,} times in a row without starting anything")

    def _where(self) -> str:
        return self.where(self._now)
