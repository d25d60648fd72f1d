"""The event manager that AccaSim's main loop calls."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile

from ...dispatchers import Dispatcher, Waiting
from ...dispatchers.registered import knows_site
from ...predictors import Predictor
from ...workloads import Machine
from ...workloads.machine import announced
from ..accasim_compat import EventManager
from ..action_checks import ActionChecks
from ..budget import Budget, Spending
from ..eligibility import eligibility_of
from ..forecasts import Forecasts
from ..life_cycle import LifeCycle, Told
from ..overrun import Overrun
from ..recorder import Recorder
from ..simulated_job import SimulatedJob
from ..simulation_errors import SimulationError
from .decisions import Answer, Decisions
from .event_calendar import COMPLETION, CORRECTION, ELIGIBLE, OUTAGE, TIMER, EventCalendar

#: AccaSim's main loop reads jobs when fewer than this are still to arrive.
_READ_BELOW = 10


class DispatchPlan:
    """An answer of the dispatcher. Its length, which AccaSim's main loop checks, is the number of queued jobs.

    The answer is ``None`` if the dispatcher was not called.
    """

    __slots__ = ("answer", "length")

    def __init__(self, answer: Answer | None, length: int) -> None:
        self.answer = answer
        self.length = length

    def __len__(self) -> int:
        return self.length


class DispatchEvents(EventManager):  # type: ignore[misc]
    """The event manager behind AccaSim's main loop.

    At every instant: completions, then arrivals, then corrections of predictions, then one dispatch. Or one event at a
    time with a dispatch after each, by the order of `same_instant`, see :func:`hpcdispatch.simulation.simulate`.

    Attributes
    ----------
    pause, at_pause
        `at_pause` is called before the first instant from `pause` on. It sets a later pause.
    """

    def __init__(
        self,
        machine: Machine,
        dispatcher: Dispatcher,
        predictor: Predictor,
        overrun: Overrun,
        recorder: Recorder,
        *,
        same_instant: str = "batch",
        progress: Callable[[int], None] | None = None,
        budget: Budget | None = None,
        told: Sequence[Told] = (),
    ) -> None:
        # AccaSim's constructor is not called: it opens writers by its process-wide constants.
        self.machine = machine
        self.recorder = recorder
        # What happens before a dispatch, where there are several in an instant; ``None`` if all happens before one.
        steps = {
            "sequence": self._one_event,
            "arrivals-first": self._one_arrival_or_end,
            "arrivals-alone-first": self._one_arrival_or_end,
        }
        self._step = steps.get(same_instant)
        self._frees_foreseen = same_instant == "arrivals-first"
        self._opened = -1
        self._owed = False
        self._predicted: deque[int | None] = deque()
        self.current_time = 0
        bounded = overrun.mode != "run"
        self.calendar = EventCalendar()
        self.forecasts = forecasts = Forecasts(predictor, recorder, bounded)
        eligibility = eligibility_of(recorder.workload, self.calendar, not knows_site(dispatcher))
        self.cycle = LifeCycle(
            announced(machine), self.calendar, forecasts, overrun, recorder, progress, told, eligibility
        )
        self.held: Mapping[int, SimulatedJob] = {} if eligibility is None else eligibility.held
        self.resource_manager = self.cycle.nodes
        self.events = self.cycle.jobs
        self.loaded = self.calendar.arrivals
        checks = ActionChecks(self.events, machine.nodes, bounded)
        self.decisions = Decisions(dispatcher, self.cycle, self.calendar, checks, Spending(budget), recorder, machine)
        self._outages = bool(machine.outages)
        for outage in machine.outages:
            self.calendar.add(outage.begin, OUTAGE, outage)
        self.pause = math.inf
        self.at_pause: Callable[[], None] | None = None

    @property
    def lost(self) -> int:
        """Number of jobs that left without ever being in the queue."""
        return self.cycle.lost

    # Methods that AccaSim's main loop calls, in its order.

    def load_events(self, es: Iterable[SimulatedJob]) -> None:
        """Add jobs that will arrive."""
        self.calendar.expect(es)

    def has_events(self) -> bool:
        """Return whether any events, waiting or running jobs are left."""
        return bool(self.loaded or self.cycle.queue.entries or self.cycle.running.entries or self.held)

    def next_events(self) -> list[Waiting]:
        """Go to the next instant. Return the queue; the jobs of that instant will join it."""
        queue = self.cycle.queue.entries
        time = self.calendar.next_time
        while time is not None and time >= self.pause and self.at_pause is not None:
            self.at_pause()
        if time is not None:
            self.current_time = time
        elif queue and not self.cycle.changed and self.decisions.every_second:
            self.current_time += 1
            self.cycle.changed = True
        elif queue and not self.cycle.changed:
            stuck = f"{len(queue)} jobs wait, nothing runs and nothing is to come, but nothing was started"
            where = self.decisions.where(self.current_time)
            raise SimulationError(f"{where}: {stuck}; the first is job {queue[0].id}")
        return queue

    def release_ended_events(self, event_dict: dict[str, SimulatedJob]) -> None:
        """Run the events of this instant. Continue with the next ones while AccaSim's loop would read no jobs.

        A step of that loop costs about as much as the events of one instant.
        """
        decisions = self.decisions
        queue = self.cycle.queue.entries
        loaded = self.loaded
        heap = self.calendar.heap
        self.happen()
        while len(loaded) >= _READ_BELOW and loaded[0].queued_time < self.pause:
            if queue and decisions.due(self.current_time):
                decisions.dispatch(self.current_time)
            time: int = loaded[0].queued_time
            self.current_time = heap[0][0] if heap and heap[0][0] < time else time
            self.happen()

    def call_dispatcher(
        self, event_dict: dict[str, SimulatedJob], events: list[Waiting]
    ) -> tuple[DispatchPlan, list[str]]:
        """Call the dispatcher and remove rejected jobs. Skip this if only a prediction was corrected."""
        answer = self.decisions.ask(self.current_time) if self.decisions.due(self.current_time) else None
        return DispatchPlan(answer, len(events)), answer[1] if answer else []

    def dispatch_events(
        self, event_dict: dict[str, SimulatedJob], to_dispatch: DispatchPlan, time_diff: int, omit_timediff: bool = True
    ) -> tuple[int, int, int]:
        """Carry out the actions. Return the number of first starts, as AccaSim counts them."""
        answer = to_dispatch.answer
        return 0 if answer is None else self.decisions.carry_out(answer), 0, 0

    # Events.

    def happen(self) -> None:
        """Run the events of this instant: ends, arrivals and corrections. Timers run while no job waits."""
        now = self.current_time
        cycle = self.cycle
        loaded = self.loaded
        heap = self.calendar.heap
        if self._step is not None and self._step(now):
            return
        if heap and heap[0][0] == now:
            for _, _, _, job in self.calendar.due(now, COMPLETION):
                cycle.end(job, job.outcome, now)
            if self._outages:
                for _, _, _, outage in self.calendar.due(now, OUTAGE):
                    cycle.fail(outage, now)
            if self.held:
                for _, _, _, job in self.calendar.due(now, ELIGIBLE):
                    cycle.release(job, now)
        arriving = []
        while loaded and loaded[0].queued_time == now:
            arriving.append(loaded.popleft())
        if arriving:
            cycle.submit_all(arriving, now)
        if heap and heap[0][0] == now:
            for _, _, _, job in self.calendar.due(now):
                cycle.correct(job, now)
        if now in self.decisions.wakes and not cycle.queue.entries:
            self.decisions.dispatch(now)

    def _one_event(self, now: int) -> bool:
        """Run one end, or else one arrival, and return to this instant. Return whether there was one.

        Jobs that end exactly as predicted end first. Their nodes were expected to be free now.
        """
        ending = [job for _, _, _, job in self.calendar.due(now, COMPLETION)]
        if ending:
            early = [job for job in ending if job.running.predicted_end != now]
            for job in [job for job in ending if job.running.predicted_end == now] + early[:1]:
                self.cycle.end(job, job.outcome, now)
            for job in early[1:]:
                job.completion = self.calendar.add(now, COMPLETION, job)
        elif failing := self.calendar.due(now, OUTAGE):
            for _, _, _, outage in failing:
                self.cycle.fail(outage, now)
        elif released := self.calendar.due(now, ELIGIBLE):
            self.cycle.release(released[0][3], now)
            for _, _, _, job in released[1:]:
                self.calendar.add(now, ELIGIBLE, job)
        elif self.loaded and self.loaded[0].queued_time == now:
            self.cycle.submit(self.loaded.popleft(), now)
        else:
            return False
        self.calendar.add(now, TIMER, None)
        return True

    def _one_arrival_or_end(self, now: int) -> bool:
        """Run one arrival, or else one end, and return to this instant. Return whether there was one.

        The first call of an instant corrects predictions and predicts all arrivals. By the order of pyss it also ends
        the jobs that end exactly as predicted. So these free their nodes before the first arrival, and no prediction
        learns from an end of its own instant.
        """
        cycle, calendar = self.cycle, self.calendar
        ending = [job for _, _, _, job in calendar.due(now, COMPLETION)]
        happened = False
        if self._opened != now:
            self._opened = now
            foreseen = [job for job in ending if self._frees_foreseen and job.running.predicted_end == now]
            # The dispatch after a first end that was foreseen comes after the arrivals and before the other ends.
            self._owed = bool(foreseen) and foreseen[0] is ending[0]
            happened = self._open(now, foreseen)
            ending = [job for job in ending if job.running is not None]
        if self.loaded and self.loaded[0].queued_time == now:
            cycle.submit(self.loaded.popleft(), now, self._predicted.popleft() if self._predicted else None)
            happened = True
        elif self._owed:
            self._owed, cycle.changed = False, True
            happened = True
        elif ending and not happened:
            cycle.end(ending[0], ending[0].outcome, now)
            del ending[0]
            happened = True
        for job in ending:
            job.completion = calendar.add(now, COMPLETION, job)
        if happened:
            calendar.add(now, TIMER, None)
        return happened

    def _open(self, now: int, foreseen: list[SimulatedJob]) -> bool:
        """Begin an instant in which arrivals come first. Return whether nodes failed or held jobs entered the queue."""
        cycle = self.cycle
        rest = self.calendar.due(now)
        for _, kind, _, job in rest:
            if kind == CORRECTION:
                cycle.correct(job, now)
        arriving = list(takewhile(lambda job: job.queued_time == now, self.loaded))
        self._predicted = deque(cycle.predictions(arriving, now))
        for job in foreseen:
            cycle.end(job, job.outcome, now)
        others = False
        for _, kind, _, payload in rest:
            if kind == OUTAGE:
                cycle.fail(payload, now)
            elif kind == ELIGIBLE:
                cycle.release(payload, now)
            else:
                continue
            others = True
        return others
