"""Interface of predictors: required and optional methods, and the registry.

Times are seconds. A predictor sees a job at its submission, when it overruns its prediction, and at its end. It may
store anything in between. Deterministic predictors make deterministic simulations.
"""

from typing import Any, Protocol, runtime_checkable

from ..base import InputError, shown
from ..base.corrections import PredictorRegistry
from ..workloads import Job


@runtime_checkable
class Predictor(Protocol):
    """Predicts how long a job will run.

    Everything else is optional, and listed with its default in
    :class:`~hpcdispatch.base.contracts.PredictorContract`. `Correcting`, `Distributional`, `Resettable` and `Watching`
    are protocols of single methods.
    """

    def predict(self, job: Job, now: int) -> float:
        """Return the predicted run time of a newly submitted job.

        Parameters
        ----------
        job
            The job. Only an oracle may read its `runtime`.
        now
            Time of the simulation, seconds.

        Returns
        -------
        float
            Seconds, finite and at least 0.
        """
        ...

    def observe(self, job: Job) -> None:
        """Learn from an ended job. Its `runtime` is the observed one.

        Jobs come in order of their ends. At one instant, ends come before submissions.
        """
        ...


@runtime_checkable
class Correcting(Protocol):
    """A predictor that corrects the predictions of overrunning jobs."""

    def correct(self, job: Job, elapsed: int, misses: int) -> float:
        """Return a new prediction of the whole run time of a running job.

        Parameters
        ----------
        job
            The running job. Its `runtime` must not be read.
        elapsed
            Its seconds so far, equal to the prediction.
        misses
            Number of earlier corrections of this job. 0 at the first.

        Returns
        -------
        float
            Seconds since the start of the job. A value of at most `elapsed` means that no better one is known. The job
            may then end at any second, and is not corrected again.
        """
        ...


@runtime_checkable
class Distributional(Protocol):
    """A predictor of run-time distributions."""

    def distribution(self, job: Job) -> Any:
        """Return the distribution of the whole run time of a job that enters the queue, seconds.

        A frozen scipy distribution, as `Job.law`, or an object with ``cdf(x)`` and ``support()``. ``None`` if unknown.
        The job's `runtime` must not be read.
        """
        ...


@runtime_checkable
class Resettable(Protocol):
    """A predictor that can be reset, so that one object serves several simulations."""

    def reset(self) -> None:
        """Drop everything observed. Called at the start of each simulation."""
        ...


@runtime_checkable
class Watching(Protocol):
    """A predictor that follows which jobs run."""

    def started(self, job: Job, now: int) -> None:
        """Record that a job starts. Its `runtime` must not be read."""
        ...

    def stopped(self, job: Job, now: int) -> None:
        """Record that a job has left the machine, for now or for good. Called before :meth:`Predictor.observe`."""
        ...


registry = PredictorRegistry()
"""The predictors that can be had by name."""


def create(spec: str | Predictor) -> Predictor:
    """Return the predictor that `spec` describes.

    Parameters
    ----------
    spec
        ``NAME`` or ``NAME:key=value,key=value``, or a predictor, which is returned as is.

    Raises
    ------
    InputError
        For an unknown name or key, a bad value, or an object that is not a predictor.
    """
    predictor = registry.create(spec) if isinstance(spec, str) else spec
    call = ", which is a class: call it" if isinstance(predictor, type) else ""
    if isinstance(predictor, type) or not isinstance(predictor, Predictor):
        raise InputError(f"predictor: expected a name or an object with predict and observe, got {shown(spec)}{call}")
    return predictor
