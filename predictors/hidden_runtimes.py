"""Jobs and predictors without a look into the future: the run time of a job is hidden until it has ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NoReturn, TypeVar

from ..base.contracts import PredictorContract
from ..base.corrections import correction_of
from ..workloads import Job
from .predictor import Predictor

T = TypeVar("T")


class EarlyReadError(AssertionError):
    """The run time of a job was read before its end.

    Parameters
    ----------
    name
        Id of the job.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"job {name}: the run time of a job was read before it ended; {ONLY}")


#: What to do about it.
ONLY = "only observe(job) may read it, or an oracle, which has reads_runtimes = True"


class HiddenJob(Job):
    """A job that has not ended. Reading its run time is an error, also if a predictor catches it."""

    __slots__ = ("_reads",)
    _reads: list[str]

    @classmethod
    def of(cls, job: Job, reads: list[str] | None = None) -> HiddenJob:
        """Return `job` without its run time.

        Parameters
        ----------
        job
            The job.
        reads
            Receives the job's id when the run time is read.
        """
        hidden = object.__new__(cls)
        for name in SHOWN:
            object.__setattr__(hidden, name, getattr(job, name))
        object.__setattr__(hidden, "_reads", [] if reads is None else reads)
        return hidden

    @property
    def runtime(self) -> NoReturn:
        """Unknown until the job ends."""
        self._reads.append(self.id)
        raise EarlyReadError(self.id)


#: Fields of a job that are known before it ends.
SHOWN = tuple(field.name for field in fields(Job) if field.name != "runtime")


class HonestPredictor:
    """Wraps a predictor, and hides run times of jobs until they end.

    Parameters
    ----------
    inner
        The predictor.
    """

    def __init__(self, inner: Predictor) -> None:
        self._inner = inner
        self._contract = contract = PredictorContract(inner)
        self._corrected = correction_of(inner)
        self._reads: list[str] = []
        #: Jobs that have not ended, by the id of the object, with the hidden one.
        self._jobs: dict[int, tuple[Job, HiddenJob]] = {}
        self.name = contract.name or type(inner).__name__
        self.above_walltime = contract.above_walltime
        if contract.distribution is not None:
            self.distribution = self._distribution
        if contract.predict_many is not None:
            self.predict_many = self._predict_many
        if contract.started is not None:
            self.started = self._started
        if contract.stopped is not None:
            self.stopped = self._stopped
        if contract.counts is not None:
            self.counts = contract.counts
        if contract.notes is not None:
            self.notes = contract.notes

    def reset(self) -> None:
        """Reset a predictor that supports it."""
        self._jobs.clear()
        self._reads.clear()
        if self._contract.reset is not None:
            self._contract.reset()

    def predict(self, job: Job, now: int) -> float:
        """Return what the predictor answers. Raise if it reads the run time."""
        return self._honest(self._inner.predict(self._hidden(job), now))

    def observe(self, job: Job) -> None:
        """Pass an ended job to the predictor."""
        self._jobs.pop(id(job), None)
        self._inner.observe(job)

    def correct(self, job: Job, elapsed: int, misses: int) -> float:
        """Return its correction. Raise if it reads the run time."""
        return self._honest(self._corrected(self._hidden(job), elapsed, misses))

    def _predict_many(self, jobs: Sequence[Job], now: int) -> list[float]:
        assert self._contract.predict_many is not None
        return self._honest(list(self._contract.predict_many([self._hidden(job) for job in jobs], now)))

    def _distribution(self, job: Job) -> Any:
        assert self._contract.distribution is not None
        return self._honest(self._contract.distribution(self._hidden(job)))

    def _started(self, job: Job, now: int) -> None:
        assert self._contract.started is not None
        self._honest(self._contract.started(self._hidden(job), now))

    def _stopped(self, job: Job, now: int) -> None:
        assert self._contract.stopped is not None
        self._honest(self._contract.stopped(self._hidden(job), now))
        self._jobs.pop(id(job), None)

    def _hidden(self, job: Job) -> Job:
        known = self._jobs.get(id(job))
        if known is None or known[0] is not job:
            known = self._jobs[id(job)] = job, HiddenJob.of(job, self._reads)
        return known[1]

    def _honest(self, answer: T) -> T:
        """Return an answer. Raise if the predictor has caught the error of a look at a run time."""
        if self._reads:
            raise EarlyReadError(self._reads[0])
        return answer


def honest(predictor: Predictor) -> Predictor:
    """Return a predictor that sees no run time before the end of a job. An oracle is returned as it is."""
    return predictor if PredictorContract(predictor).reads_runtimes else HonestPredictor(predictor)
