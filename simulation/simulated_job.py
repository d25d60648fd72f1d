"""A job in the simulator: its requests, its remaining work, and its attempts so far."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

from ..dispatchers import Running, ShapeView, Waiting
from ..workloads import Job
from .events.event_calendar import Entry
from .recorder import CHECKPOINTED, COMPLETED, KILLED, LIMIT, NODE_FAIL, Attempt


class JobRequest(NamedTuple):
    """The resources of a job: by its own request, or on one of its shapes.

    Attributes
    ----------
    shape
        Index of the shape; -1 for the job's own request, as in the records.
    nodes, demand
        Node slots, and the amounts per slot in the order of the machine's resources.
    runtime, walltime
        Run time of the whole job and walltime, seconds.
    job
        The job with this request alone, for predictors.
    """

    shape: int
    nodes: int
    demand: tuple[int, ...]
    runtime: int
    walltime: int
    job: Job

    def __deepcopy__(self, memo: dict[int, Any]) -> JobRequest:
        """Return itself: it never changes."""
        return self

    @classmethod
    def of_job(cls, job: Job, demand: tuple[int, ...]) -> JobRequest:
        """Return a job's own request."""
        # Skip the checks of the constructor: this runs for every job.
        return tuple.__new__(cls, (-1, job.nodes, demand, job.runtime, job.walltime, job))

    @classmethod
    def of_shape(cls, job: Job, index: int, view: ShapeView) -> JobRequest:
        """Return the request of a shape. `view` shows the shape to dispatchers."""
        runtime = job.shapes[index].runtime
        walltime = job.shapes[index].walltime
        return cls(index, view.nodes, view.demand, runtime, walltime, job.on_shape(index))


class SimulatedJob:
    """A job in the simulation.

    Attributes
    ----------
    id, queued_time
        Its id and its submission, with AccaSim's names.
    eligible
        Time of its first entry into the queue.
    job, order
        The job, with requests enlarged by resubmissions; its place in the trace.
    own, request
        Its own request, and its current or last one.
    places
        Places of its own request and its shapes among those of the workload, -1 for the request. ``None`` if they are
        the same.
    remaining
        Remaining work, seconds on `request`.
    waiting, running
        Its entry in the queue or on the machine; at most one of them.
    stopped_at
        Begin of the writing of its checkpoint.
    completion, correction, outcome
        Its events in the calendar while it runs, and the outcome of the completion.
    misses
        Number of corrections of its prediction.
    write
        Seconds for a checkpoint at the end of the limit of its last start.
    attempts
        Its ended attempts, except the one that ended the job.
    """

    __slots__ = (
        "attempts",
        "completion",
        "correction",
        "eligible",
        "id",
        "job",
        "misses",
        "order",
        "outcome",
        "own",
        "places",
        "queued_time",
        "remaining",
        "request",
        "running",
        "stopped_at",
        "waiting",
        "write",
    )

    completion: Entry
    outcome: int
    stopped_at: int

    def __init__(self, job: Job, order: int, demand: tuple[int, ...], places: tuple[int, ...] | None = None) -> None:
        self.id = job.id
        self.queued_time = self.eligible = job.submit
        self.job = job
        self.order = order
        own = JobRequest.of_job(job, demand)
        self.places = places
        self.own = self.request = own if places is None else own._replace(shape=places[0])
        self.remaining = job.runtime
        self.waiting: Waiting | None = None
        self.running: Running | None = None
        self.correction: Entry | None = None
        self.misses = self.write = 0
        self.attempts: tuple[Attempt, ...] = ()

    def __deepcopy__(self, memo: dict[int, Any]) -> SimulatedJob:
        """Return a copy that shares all but its entries in queue, machine and calendar."""
        copied = memo[id(self)] = copy.copy(self)
        if self.running is not None:
            copied.running = copy.deepcopy(self.running, memo)
            copied.completion = copy.deepcopy(self.completion, memo)
            copied.correction = copy.deepcopy(self.correction, memo)
        return copied

    def done(self, now: int) -> int:
        """Return the seconds of work done on its last request, including work that a kill would lose."""
        running = self.running
        return self.request.runtime - self.remaining + (now - running.start if running is not None else 0)

    def request_of(self, index: int, view: ShapeView) -> JobRequest:
        """Return the request of a shape that dispatchers see."""
        request = JobRequest.of_shape(self.job, index, view)
        return request if self.places is None else request._replace(shape=self.places[index + 1])

    def enlarge(self, job: Job) -> None:
        """Set the job with larger walltimes, for its next start."""
        self.job = job
        self.own = self.own._replace(walltime=job.walltime, job=job)

    def remaining_on(self, request: JobRequest) -> int:
        """Return the remaining seconds of work on a request. They are rounded up if it is not the last one."""
        whole = self.request.runtime
        if request.shape == self.request.shape:
            return self.remaining
        return request.runtime if self.remaining == whole else -(-self.remaining * request.runtime // max(whole, 1))

    def saved(self, running: Running, outcome: int, now: int) -> int:
        """Return the seconds of saved work of an attempt that ends `now`."""
        until = self.stopped_at if outcome == CHECKPOINTED else now
        worked = max(0, until - running.start - running.restart)
        if outcome in (COMPLETED, CHECKPOINTED):
            return worked
        if outcome == LIMIT and self.write:
            return worked - self.write
        checkpoint = self.job.checkpoint
        return 0 if checkpoint is None else max(0, checkpoint.kept_of(running.done + worked) - running.done)

    @property
    def restart(self) -> int:
        """Restart time of its next start, seconds. It applies after a stop, or if some work was saved."""
        if self.job.checkpoint is None or not self.attempts:
            return 0
        gave_way = self.attempts[-1].outcome in (KILLED, CHECKPOINTED, NODE_FAIL)
        resumes = gave_way or self.remaining < self.request.runtime
        return self.job.checkpoint.restart if resumes else 0
