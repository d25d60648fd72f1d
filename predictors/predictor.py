"""What a predictor is: the one thing it must do, what it may do beyond that, and those that can be had by name.

Times are seconds throughout. A predictor sees a job when it is submitted, when it outruns its prediction and
when it has ended; it keeps whatever it likes in between. Deterministic predictors make deterministic
simulations.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from ..base import InputError, Registry
from ..workloads import Job


@runtime_checkable
class Predictor(Protocol):
    """Answers how long a job will run.

    The optional parts are protocols of their own: `Correcting`, `Distributional`, `Resettable`, `Watching`. Two more
    methods are used where a predictor has them: ``predict_many(jobs, now)`` returns the predictions of jobs that are
    submitted at the same time, and ``counts()`` numbers by name for ``Result.manifest["predictions"]``.
    """

    def predict(self, job: Job, now: int) -> float:
        """Return the expected run time of a job that was just submitted.

        Parameters
        ----------
        job
            The job. Only an oracle may read its `runtime`.
        now
            The time of the simulation, seconds.

        Returns
        -------
        float
            Seconds, finite and at least 0.
        """
        ...

    def observe(self, job: Job) -> None:
        """Learn from a job that has finished; its `runtime` is what was observed.

        Jobs come in the order in which they end; those that end at the same instant, before the ones
        submitted then.
        """
        ...


@runtime_checkable
class Correcting(Protocol):
    """A predictor that has an answer when a job outruns its prediction."""

    def correct(self, job: Job, elapsed: int, misses: int) -> float:
        """Return a new prediction of the whole run time of a job that is still running.

        Parameters
        ----------
        job
            The running job; its `runtime` must not be read.
        elapsed
            How long it has run, seconds: as long as was predicted.
        misses
            How often this job was corrected before; 0 at the first.

        Returns
        -------
        float
            Seconds since the start of the job. A value not above `elapsed` says that nothing better is known: the
            job is then expected to end at any second, and not asked for again.
        """
        ...


@runtime_checkable
class Distributional(Protocol):
    """A predictor that knows more than one number."""

    def distribution(self, job: Job) -> Any:
        """Return the distribution of the whole run time of a job that enters the queue, seconds.

        A frozen scipy distribution, as `Job.law`, or anything with its ``cdf(x)`` and ``support()``; ``None`` where
        nothing is known. The job's `runtime` must not be read.
        """
        ...


@runtime_checkable
class Resettable(Protocol):
    """A predictor that can start afresh, so that one object serves several simulations."""

    def reset(self) -> None:
        """Forget everything observed; called at the start of each simulation."""
        ...


@runtime_checkable
class Watching(Protocol):
    """A predictor that learns which jobs run."""

    def started(self, job: Job, now: int) -> None:
        """Note that a job starts; its `runtime` must not be read."""
        ...

    def stopped(self, job: Job, now: int) -> None:
        """Note that a job has left the machine, to come back or not; before :meth:`Predictor.observe`."""
        ...


registry = Registry("predictor", "hpcdispatch.predictors")
"""The predictors that can be had by name."""


def create(spec: str | Predictor) -> Predictor:
    """Return the predictor that `spec` describes.

    Parameters
    ----------
    spec
        ``NAME`` or ``NAME:key=value,key=value``, or a predictor, which is returned as it is.

    Raises
    ------
    InputError
        For an unknown name or key, a bad value, or what is no predictor.
    """
    found = registry.create(spec) if isinstance(spec, str) else spec
    if isinstance(found, type) or not isinstance(found, Predictor):
        raise InputError(f"predictor: expected a name or an object with predict and observe, got {spec!r}")
    return found
