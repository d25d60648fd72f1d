"""Predict run times of jobs: when they arrive, when they return to the queue, and when they overrun."""

import math
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter_ns
from typing import Any

from ..base import LONGEST, shown
from ..base.checks import is_real
from ..base.contracts import PredictorContract
from ..base.corrections import correction_of
from ..dispatchers import Running
from ..predictors import Predictor
from ..workloads import Job
from .recorder import Recorder
from .simulated_job import JobRequest, SimulatedJob
from .simulation_errors import SimulationError, failed


class Forecasts:
    """A predictor's answers in whole seconds, with the time it needs.

    Parameters
    ----------
    predictor
        The predictor.
    recorder
        Records its time.
    bounded
        Whether no job overruns its walltime. Predictions are then at most the walltime, unless the predictor keeps
        longer ones.

    Attributes
    ----------
    cut
        Number of predictions that were above the walltime, and are the walltime now.
    above_walltime
        Whether the predictor keeps predictions above the walltime where jobs are killed there.
    """

    def __init__(self, predictor: Predictor, recorder: Recorder, bounded: bool) -> None:
        self._predictor = predictor
        self._predict = predictor.predict
        self._observe = predictor.observe
        self._recorder = recorder
        contract = PredictorContract(predictor)
        self.above_walltime = contract.above_walltime
        self._bounded = bounded and not contract.above_walltime
        self._correct = correction_of(predictor)
        self._distribution = contract.distribution
        self._many = contract.predict_many
        self._started = contract.started
        self._stopped = contract.stopped
        self.cut = 0

    def of(self, job: Job, now: int) -> int:
        """Return the predicted run time of a whole job, seconds, at least 1.

        Raises
        ------
        SimulationError
            If the predictor raises an error or returns no time.
        """
        return self._whole(self._asked("predict", self._predict, job, now, now), job, now)

    def of_all(self, jobs: Sequence[Job], now: int) -> list[int] | None:
        """Return the predicted run times of jobs of one submission; ``None`` if each needs a call of :meth:`of`."""
        many = self._many
        if many is None or len(jobs) < 2:
            return None
        predictions = self._asked("predict_many", lambda _: list(many(jobs, now)), jobs[0], now)
        if len(predictions) != len(jobs):
            expected = f"predict_many must return {len(jobs)} predictions, one per job"
            raise SimulationError(f"{self._where(jobs[0], now)}: {expected}, got {len(predictions)}")
        return [self._whole(predicted, job, now) for predicted, job in zip(predictions, jobs, strict=True)]

    def _whole(self, predicted: Any, job: Job, now: int) -> int:
        if not is_real(predicted) or not 0 <= predicted <= LONGEST:
            raise SimulationError(self._wrong(job, now, predicted))
        seconds = math.ceil(predicted) or 1
        if self._bounded and seconds > job.walltime:
            self.cut += 1
            return job.walltime
        return seconds

    def of_rest(self, job: SimulatedJob, now: int, ran: int = 0) -> int:
        """Predict the rest of a job that returns to the queue. After a kill at `ran` seconds it needs more."""
        done = job.own.runtime - job.remaining_on(job.own)
        rest = max(1, self.of(job.job, now) - done, ran + 1 if ran else 1)
        return min(rest, job.own.walltime) if self._bounded else rest

    def of_start(self, request: JobRequest, done: int, now: int) -> int:
        """Predict the rest of a job that starts on a shape, with `done` seconds done on it."""
        return max(1, self.of(request.job, now) - done)

    def corrected_end(self, job: SimulatedJob, running: Running, now: int) -> int | None:
        """Return the corrected end of an overrun job, ``None`` if none is known."""
        elapsed = running.done + max(0, now - running.start - running.restart)
        own = job.request.job
        whole = self._asked("correct", self._correct, own, now, elapsed, job.misses)
        job.misses += 1
        if not is_real(whole) or math.isnan(whole):
            raise SimulationError(self._wrong(own, now, whole))
        if not elapsed < whole <= LONGEST:
            return None
        return running.corrected_end(whole, now)

    def law(self, job: Job, now: int) -> Any:
        """Return the distribution of a job's run time: the predictor's if it has one, else the job's own."""
        if self._distribution is None:
            return job.law
        law = self._asked("distribution", self._distribution, job, now)
        whole = hasattr(law, "cdf") and hasattr(law, "support")
        known = whole or (hasattr(law, "values") and not callable(law.values))
        if law is not None and not known:
            expected = "a distribution must have cdf(x) and support(), or values"
            raise SimulationError(f"{self._where(job, now)}: {expected}, got {shown(law)}")
        return law

    def started(self, job: Job, now: int) -> None:
        """Tell the predictor that a job starts, if it watches."""
        if self._started is not None:
            self._asked("started", self._started, job, now, now)

    def stopped(self, job: Job, now: int) -> None:
        """Tell the predictor that a job leaves the machine, if it watches."""
        if self._stopped is not None:
            self._asked("stopped", self._stopped, job, now, now)

    def observe(self, job: Job, ran: int, now: int) -> None:
        """Pass an ended job to the predictor, with its run time."""
        self._asked("observe", self._observe, job if ran == job.runtime else replace(job, runtime=ran), now)

    def _asked(self, call: str, function: Any, job: Job, now: int, *given: Any) -> Any:
        """Return the predictor's answer for a job, and record its time. The predictor may not change the job."""
        times = (job.runtime, job.walltime)
        begin = perf_counter_ns()
        try:
            answer = function(job, *given)
        except BaseException as error:  # noqa: BLE001 - a plugged-in part may raise anything
            failed(self._where(job, now), call, error)
        self._recorder.prediction_ns += perf_counter_ns() - begin
        if (job.runtime, job.walltime) != times:
            raise SimulationError(f"{self._where(job, now)}: {call} changed the times of the job")
        return answer

    def _where(self, job: Job, now: int) -> str:
        name = PredictorContract(self._predictor).name or type(self._predictor).__name__
        return f"{name} at t={now}: job {job.id}"

    def _wrong(self, job: Job, now: int, predicted: Any) -> str:
        most = f" and at most {LONGEST}" if is_real(predicted) and LONGEST < predicted < math.inf else ""
        return f"{self._where(job, now)}: a prediction must be >= 0 s{most}, got {shown(predicted)}"
