"""Check the actions of a dispatcher: the jobs they name, the nodes and the times.

Every refusal is an :class:`ActionError` that names the job and the expected value.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base import shown
from ..dispatchers import NODE_ZERO, Placement, Running, Start, Stop, Waiting
from .recorder import DECISION
from .simulated_job import JobRequest, SimulatedJob
from .simulation_errors import ActionError, SimulationError, asked

_INT64 = np.dtype(np.int64)


class ActionChecks:
    """Checks before an action is carried out.

    Parameters
    ----------
    jobs
        The jobs that have not left, by their ids.
    nodes
        Number of nodes of the machine.
    bounded
        Whether a job is killed at its walltime.
    """

    def __init__(self, jobs: Mapping[str, SimulatedJob], nodes: int, bounded: bool) -> None:
        self._jobs = jobs
        self._nodes = nodes
        self._bounded = bounded

    def waiting(self, named: Any, verb: str) -> tuple[SimulatedJob, Waiting]:
        """Return a job that must be waiting, and its entry."""
        job = self._jobs.get(named.job.id) if type(named) is Waiting else self._find(named, verb)
        if job is None or job.waiting is None:
            raise ActionError(f"cannot {verb} job {_id(named)}: it is not waiting")
        return job, job.waiting

    def running(self, named: Any, verb: str) -> tuple[SimulatedJob, Running]:
        """Return a job that must be running, and its entry."""
        job = self._find(named, verb)
        if job is None or job.running is None:
            raise ActionError(f"cannot {verb} job {_id(named)}: it is not running")
        return job, job.running

    def start(self, action: Start) -> tuple[SimulatedJob, JobRequest, Placement, int | None]:
        """Return the job to start, its request, its nodes, and the seconds until it is killed."""
        job, _ = self.waiting(action.job, "start")
        request = job.own if action.shape is None else self.requested(job, action.shape)
        placement = action.placement
        if placement is not NODE_ZERO or request.nodes != 1:
            placement = self._placement(job, placement, request.nodes)
        limit = action.limit
        if limit is not None or self._bounded:
            limit = self._limit(job, limit, request.walltime)
        job.write = self._write(job, action.write, limit) if action.write else 0
        return job, request, placement, limit

    def requested(self, job: SimulatedJob, shape: int | None) -> JobRequest:
        """Return the request of a waiting job on one of its shapes. ``None`` is the job's own request."""
        if shape is None or job.waiting is None:
            return job.own
        shapes = job.waiting.job.shapes
        if not 0 <= shape < len(shapes):
            raise ActionError(f"job {job.id}: shape must be below {len(shapes)}, got {shape}")
        return job.request_of(shape, shapes[shape])

    def stop(self, action: Stop) -> tuple[SimulatedJob, int | None]:
        """Return the job to stop and the delay; ``None`` for a kill."""
        job, running = self.running(action.job, "stop")
        if running.stopping:
            raise ActionError(f"job {job.id}: it is already being checkpointed")
        if action.how == "kill":
            if action.delay:
                raise ActionError(f"job {job.id}: a kill takes no delay, got {action.delay}")
            return job, None
        if action.how != "checkpoint":
            raise ActionError(f"job {job.id}: how must be kill or checkpoint, got {action.how!r}")
        delay = whole_seconds(action.delay, f"job {job.id}: delay")
        if delay < 0:
            raise ActionError(f"job {job.id}: delay must be >= 0, got {delay}")
        return job, delay

    def _find(self, named: Any, verb: str) -> SimulatedJob | None:
        id_ = _id(named)
        if not isinstance(id_, str):
            raise ActionError(f"cannot {verb}: expected a job or its id, got {named!r}")
        return self._jobs.get(id_)

    def _placement(self, job: SimulatedJob, given: Sequence[int] | Placement, nodes: int) -> Placement:
        try:
            placement = np.asarray(given)
        except ValueError:  # Lists of different lengths.
            raise ActionError(f"job {job.id}: placement must be {nodes} node indices, got {shown(given)}") from None
        dtype = placement.dtype
        if placement.shape != (nodes,) or dtype.kind not in "iu":
            description = f"{dtype} of shape {placement.shape}"
            raise ActionError(f"job {job.id}: placement must be {nodes} node indices, got {description}")
        if dtype != _INT64:
            placement = placement.astype(np.int64)
        # Not max and min: they take ten times as long on a few nodes.
        if placement.item(placement.argmax()) >= self._nodes or placement.item(placement.argmin()) < 0:
            raise ActionError(f"job {job.id}: placement must lie in 0..{self._nodes - 1}, got {placement}")
        # The engine keeps it while the job runs: copy what the caller could change.
        return placement.copy() if placement.flags.writeable else placement

    def _limit(self, job: SimulatedJob, given: int | None, walltime: int) -> int:
        if given is None:
            return walltime
        limit = whole_seconds(given, f"job {job.id}: limit")
        if limit < 1:
            raise ActionError(f"job {job.id}: limit must be >= 1 s, got {limit}")
        return min(limit, walltime) if self._bounded else limit

    def _write(self, job: SimulatedJob, given: int, limit: int | None) -> int:
        write = whole_seconds(given, f"job {job.id}: write")
        if limit is None or not 0 <= write < limit:
            expected = "0 without a limit" if limit is None else f"in 0..{limit - 1}, below its limit"
            raise ActionError(f"job {job.id}: write must be {expected}, got {write}")
        return write


def _id(named: Any) -> Any:
    if type(named) is Waiting:
        return named.job.id
    return named if isinstance(named, str) else getattr(named, "id", None)


def whole_seconds(value: Any, what: str) -> int:
    """Return a time of any integer type as an integer."""
    try:
        return operator.index(value)
    except TypeError:
        raise ActionError(f"{what} must be a whole number of seconds, got {value!r}") from None


def checked_report(where: Callable[[], str], ask: Callable[[], Any]) -> Mapping[str, Any]:
    """Return a dispatcher's report of a decision, empty for ``None``.

    Raises
    ------
    SimulationError
        If it is no mapping, a key is no text, or the engine uses the key.
    """
    report = asked(where, "report", ask)
    if report is None:
        return {}
    if not isinstance(report, Mapping):
        raise SimulationError(f"{where()}: report: expected a mapping, got {shown(report)}")
    for key in report:
        if key in DECISION or not isinstance(key, str):
            taken = f"expected keys that are texts other than {', '.join(DECISION)}"
            raise SimulationError(f"{where()}: report: {taken}, got {shown(key)}")
    return report
