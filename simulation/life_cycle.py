"""The life cycle of a job: it arrives, waits, runs, may be stopped and return, and leaves."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np

from ..dispatchers import JobView, Placement, Running, Waiting
from ..dispatchers.ordered_jobs import JobsOnMachine, WaitingQueue
from ..workloads import Job, Machine
from ..workloads.machine_rules import Outage
from .eligibility import Eligibility, Lost
from .events.event_calendar import COMPLETION, CORRECTION, LEFT, EventCalendar
from .forecasts import Forecasts
from .node_matrix import NodeMatrix
from .overrun import Overrun
from .recorder import CHECKPOINTED, COMPLETED, KILLED, LIMIT, NODE_FAIL, Attempt, Recorder
from .simulated_job import JobRequest, SimulatedJob
from .simulation_errors import ActionError

#: Seconds between two reports of progress.
REPORT_EVERY = 0.1
#: Receives the id of an ended job, its total run time and its end, seconds.
Told = Callable[[str, int, int], None]


class LifeCycle:
    """Moves jobs through the states: waiting, running, perhaps stopping, then waiting again or done.

    Attributes
    ----------
    queue, running, nodes
        The waiting jobs, the running jobs, and the free amounts of the nodes.
    jobs
        All jobs that have not left, by their ids.
    changed
        Whether a job came or left since this was last reset.
    lost
        Number of rejected jobs that never were in the queue.
    """

    def __init__(
        self,
        machine: Machine,
        calendar: EventCalendar,
        forecasts: Forecasts,
        overrun: Overrun,
        recorder: Recorder,
        progress: Callable[[int], None] | None = None,
        told: Sequence[Told] = (),
        eligibility: Eligibility | None = None,
    ) -> None:
        self.queue = WaitingQueue(len(machine.resources))
        self.running = JobsOnMachine(len(machine.resources))
        self.nodes = NodeMatrix(machine)
        self.jobs: dict[str, SimulatedJob] = {}
        self.changed = False
        self.lost = 0
        self._machine = machine
        self._primary = machine.primary
        self._calendar = calendar
        self._forecasts = forecasts
        self._overrun = overrun
        self._recorder = recorder
        self._progress = progress
        self._told = told
        self.eligibility = eligibility
        self._finished = 0
        self._reported = perf_counter()

    def submit(self, job: SimulatedJob, now: int, predicted: int | None = None) -> None:
        """Submit a job. It enters the queue, is held until it is eligible, or is rejected if it never is."""
        if self.eligibility is None:
            self.arrive(job, now, predicted)
            return
        enters, lost = self.eligibility.enter(job, now)
        if enters:
            self.arrive(job, now, predicted)
        self._lose(lost, now)

    def submit_all(self, jobs: Sequence[SimulatedJob], now: int) -> None:
        """Let jobs come at the same time, see :meth:`submit`; those that are not held are predicted together."""
        known = self._predicted_together(jobs, now)
        for place, job in enumerate(jobs):
            self.submit(job, now, None if known is None else known[place])

    def predictions(self, jobs: Sequence[SimulatedJob], now: int) -> Sequence[int | None]:
        """Return the predicted run times of jobs that will be submitted now; ``None`` for those that may be held."""
        if self.eligibility is not None:
            return [None] * len(jobs)
        return self._predicted_together(jobs, now) or [self._forecasts.of(job.job, now) for job in jobs]

    def _predicted_together(self, jobs: Sequence[SimulatedJob], now: int) -> Sequence[int] | None:
        """Return the predicted run times of jobs that the predictor takes together; ``None``: each has its own call."""
        return self._forecasts.of_all([job.job for job in jobs], now) if self.eligibility is None else None

    def release(self, job: SimulatedJob, now: int) -> None:
        """Let a held job enter the queue."""
        assert self.eligibility is not None
        if self.eligibility.release(job, now):
            self.arrive(job, now)

    def arrive(self, job: SimulatedJob, now: int, predicted: int | None = None) -> None:
        """Add a job to the queue for the first time. `predicted` is its predicted run time, if already known."""
        if job.eligible != job.queued_time:
            self._recorder.eligible[job.order] = job.eligible
        if predicted is None:
            predicted = self._forecasts.of(job.job, now)
        self._recorder.predicted[job.order] = predicted
        self._wait(job, job.eligible, predicted, now)

    def start(self, job: SimulatedJob, request: JobRequest, placement: Placement, limit: int | None, now: int) -> bool:
        """Start a waiting job on the machine. Return whether this is its first start.

        Raises
        ------
        ActionError
            If there is no room.
        """
        if not self.nodes.allocate(placement, request.demand):
            raise ActionError(f"job {job.id}: no room for {request.nodes} x {request.demand} at {placement}")
        if request is not job.request:
            job.remaining = job.remaining_on(request)
            job.request = request
        done = request.runtime - job.remaining
        waiting = self._leave_queue(job)
        predicted = waiting.predicted
        if request is not job.own:
            predicted = job.restart + self._forecasts.of_start(request, done, now)
        running = job.running = Running(waiting.job, now, placement, request.demand, job.order)
        running.done = done
        running.restart = job.restart
        running.walltime = job.restart + max(1, request.walltime - done)
        # With a predictor that keeps predictions above the walltime, the walltime is no end that dispatchers count on.
        counted = limit is not None and not (self._forecasts.above_walltime and limit >= request.walltime - done)
        if limit is not None:
            limit += running.restart
            if counted:
                running.kill_at = now + limit
                predicted = min(predicted, limit)
        running.predicted_end = now + predicted
        self.running.add(running)
        self._forecasts.started(request.job, now)
        self._schedule(job, predicted, limit, now)
        if self.eligibility is not None and not job.attempts:
            self.eligibility.started(job.order, now)
        return not job.attempts

    def close(self) -> None:
        """Separate queue and running jobs from what dispatchers see of them, at the end of a simulation."""
        self.queue.shown.close()
        self.running.shown.close()

    def kill(self, job: SimulatedJob, now: int) -> None:
        """Kill a running job at once. It returns to its place in the queue."""
        self._calendar.cancel(job.completion)
        self.end(job, KILLED, now)

    def fail(self, outage: Outage, now: int) -> None:
        """Remove the jobs on failing nodes. They end, or return to the queue."""
        self.changed = True
        nodes = outage.indices(self._machine.nodes)
        for run in [run for run in self.running.entries if np.isin(run.placement, nodes).any()]:
            job = self.jobs[run.id]
            node = int(run.placement[np.isin(run.placement, nodes)][0])
            self._calendar.cancel(job.completion)
            self.end(job, NODE_FAIL, now, "" if outage.requeue else f"node {node} failed")

    def checkpoint(self, job: SimulatedJob, delay: int, now: int) -> None:
        """Stop the work of a running job now, and free its nodes after a delay."""
        running = job.running
        assert running is not None
        job.stopped_at = now
        if not delay:
            self._calendar.cancel(job.completion)
            self.end(job, CHECKPOINTED, now)
            return
        running.stopping = True
        job.outcome = CHECKPOINTED
        self.running.expect(running, now + delay)
        job.completion = self._calendar.move(job.completion, now + delay)
        self._cancel_correction(job)

    def end(self, job: SimulatedJob, outcome: int, now: int, reason: str = "") -> None:
        """Take a job off the machine, and complete, reject or requeue it.

        Its completion is no longer in the calendar. With a reason, the job does not return.
        """
        running = job.running
        assert running is not None
        job.running = None
        job.completion = LEFT
        self.changed = True
        self._forecasts.stopped(job.request.job, now)
        self.nodes.release(running.placement, running.demand)
        self.running.remove(running)
        if job.correction is not None:
            self._cancel_correction(job)
        useful = job.saved(running, outcome, now)
        units = running.nodes * running.demand[self._primary]
        request = job.request
        placement = running.placement
        walltime = request.walltime if running.kill_at is None else running.kill_at - running.start
        stay = Attempt(running.start, now, outcome, useful, request.shape, units, request.walltime, walltime, placement)
        job.attempts += (stay,)
        if outcome == COMPLETED:
            self._complete(job)
            return
        job.remaining -= useful
        if reason:
            self._give_up(job, "killed", now, reason)
        elif outcome == LIMIT:
            self._reach_limit(job, now - running.start - running.restart, now)
        else:
            self._wait(job, job.eligible, job.restart + self._forecasts.of_rest(job, now), now)

    def correct(self, job: SimulatedJob, now: int) -> None:
        """Correct the predicted end of a running job that overruns it."""
        running, job.correction = job.running, None
        assert running is not None
        end = self._forecasts.corrected_end(job, running, now)
        if end is None:
            return
        self.running.expect(running, end)
        if running.kill_at is None or end < running.kill_at:
            job.correction = self._calendar.add(end, CORRECTION, job)

    def predict_end(self, job: SimulatedJob, end: int, misses: int, now: int) -> None:
        """Set the predicted end of a running job and the number of its corrections."""
        assert job.running is not None
        self._cancel_correction(job)
        job.misses = misses
        self.running.expect(job.running, end)
        # A past prediction stays: there is no better one.
        if now <= end < job.completion[0]:
            job.correction = self._calendar.add(end, CORRECTION, job)

    def reject(self, job: SimulatedJob, reason: str, now: int) -> None:
        """Reject a waiting job. It stays in `jobs` until AccaSim removes it."""
        self._leave_queue(job)
        self._recorder.fail(job.order, "rejected", now, reason, job.attempts)
        self._tell()
        self._end_for_others(job, "rejected", now)

    def _schedule(self, job: SimulatedJob, predicted: int, limit: int | None, now: int) -> None:
        """Add the end of a starting job to the calendar, and the end of its prediction."""
        assert job.running is not None
        work = job.running.restart + job.remaining
        job.outcome = COMPLETED
        if limit is not None and work > limit - job.write:
            work, job.outcome = limit, LIMIT
        job.completion = self._calendar.add(now + work, COMPLETION, job)
        if predicted < work:
            job.correction = self._calendar.add(now + predicted, CORRECTION, job)

    def _cancel_correction(self, job: SimulatedJob) -> None:
        if job.correction is not None:
            self._calendar.cancel(job.correction)
            job.correction = None

    def _wait(self, job: SimulatedJob, since: int, predicted: int, now: int) -> None:
        view = JobView(job.job, self._machine)
        law = self._forecasts.law(job.job, now)
        view.submit = job.eligible
        if view.shapes:
            self._predict_shapes(job, view, now)
        done = job.own.runtime - job.remaining_on(job.own) if job.attempts else 0
        job.waiting = Waiting(view, predicted, since, len(job.attempts), job.order, job.own.demand, law, done)
        self.changed = True
        self.queue.add(job.waiting)

    def _predict_shapes(self, job: SimulatedJob, view: JobView, now: int) -> None:
        """Set the predicted rest of a job on each of its shapes, for dispatchers."""
        for index, shape in enumerate(view.shapes):
            request = job.request_of(index, shape)
            done = request.runtime - job.remaining_on(request)
            shape.predicted = job.restart + self._forecasts.of_start(request, done, now)

    def _leave_queue(self, job: SimulatedJob) -> Waiting:
        waiting, job.waiting = job.waiting, None
        assert waiting is not None
        self.queue.remove(waiting)
        return waiting

    def _reach_limit(self, job: SimulatedJob, ran: int, now: int) -> None:
        """End, enlarge or requeue a job killed at its walltime or at a shorter limit of the dispatcher."""
        walltime = job.request.walltime
        mode = self._overrun.mode
        if ran >= walltime and mode == "kill":
            self._give_up(job, "killed", now, f"reached its walltime of {walltime} s")
            return
        if ran >= walltime and mode == "resubmit":
            if self._overrun.enlarge(walltime) is None:
                self._give_up(job, "rejected", now, f"killed at the largest request of {walltime} s")
                return
            job.enlarge(self._enlarged(job.job))
        kept = job.attempts[-1].useful
        self._wait(job, now, job.restart + self._forecasts.of_rest(job, now, 0 if kept else ran), now)

    def _enlarged(self, job: Job) -> Job:
        """Return the job with every walltime enlarged, as far as the cap allows."""
        enlarge = self._overrun.enlarge
        shapes = tuple(replace(shape, walltime=enlarge(shape.walltime) or shape.walltime) for shape in job.shapes)
        return replace(job, walltime=enlarge(job.walltime) or job.walltime, shapes=shapes)

    def _complete(self, job: SimulatedJob) -> None:
        attempts = job.attempts
        self._recorder.complete(job.order, attempts)
        ran = attempts[0].useful if len(attempts) == 1 else sum(attempt.useful for attempt in attempts)
        self._observe(job, ran)
        self._leave(job)
        self._end_for_others(job, "completed", attempts[-1].end)

    def _give_up(self, job: SimulatedJob, status: str, now: int, reason: str) -> None:
        """Record a job whose work does not count. A predictor sees its last attempt, unless it was rejected."""
        self._recorder.fail(job.order, status, now, reason, job.attempts)
        if status == "killed":
            self._observe(job, job.attempts[-1].end - job.attempts[-1].start)
        self._leave(job)
        self._end_for_others(job, status, now)

    def _observe(self, job: SimulatedJob, ran: int) -> None:
        """Pass an ended job to the predictor and to the other listeners."""
        now = job.attempts[-1].end
        self._forecasts.observe(job.request.job, ran, now)
        for tell in self._told:
            tell(job.id, ran, now)

    def _end_for_others(self, job: SimulatedJob, status: str, now: int) -> None:
        """Update the jobs that depend on an ended job."""
        if self.eligibility is not None:
            self._lose(self.eligibility.ended(job, status, now), now)

    def _lose(self, lost: Sequence[Lost], now: int) -> None:
        """Reject jobs that can never enter the queue."""
        for job, reason in lost:
            self._recorder.eligible[job.order] = now
            self._recorder.fail(job.order, "rejected", now, reason)
            self.lost += 1
            self._leave(job)

    def _leave(self, job: SimulatedJob) -> None:
        del self.jobs[job.id]
        if self._progress is not None:
            self._tell()

    def _tell(self) -> None:
        """Report progress: one more job has left."""
        self._finished += 1
        if self._progress is not None and perf_counter() - self._reported >= REPORT_EVERY:
            self._reported = perf_counter()
            self._progress(self._finished)
