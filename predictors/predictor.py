"""Interface of predictors: required and optional methods, and the registry.

Times are seconds. A predictor sees a job at its submission, when it overruns its prediction, and at its end. It may
store anything in between. Deterministic predictors make deterministic simulations.
"""

from typing import Any, Protocol, runtime_checkable

from ..base import InputError, shown
from ..base.argument_types import names_wrong_types
from ..base.corrections import PredictorRegistry
from ..workloads import Job


@runtime_checkable
class Predictor(Protocol):
    """Predicts how long a job will run.

    Everything else is optional, and listed with its default in
    :class:`~hpcdispatch.base.contracts.PredictorContract`. `Correcting`, `Distributional`, `Resettable` and `Watching`
    are protocols of single methods.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> class Half:
    ...     "Predict half the walltime."
    ...
    ...     def predict(self, job, now):
    ...         return job.walltime / 2
    ...
    ...     def observe(self, job):
    ...         pass
    >>> isinstance(Half(), hd.predictors.Predictor)
    True
    >>> round(hd.simulate("example", "easy", Half()).summary()["wait_mean"])
    7362
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
    """A predictor that corrects the predictions of overrunning jobs.

    Examples
    --------
    >>> from hpcdispatch.predictors import Correcting, LastTwo
    >>> isinstance(LastTwo(), Correcting)
    True
    """

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
    """A predictor of run-time distributions.

    Examples
    --------
    >>> from hpcdispatch.predictors import Distributional, Empirical, LastTwo
    >>> isinstance(Empirical(), Distributional), isinstance(LastTwo(), Distributional)
    (True, False)
    """

    def distribution(self, job: Job) -> Any:
        """Return the distribution of the whole run time of a job that enters the queue, seconds.

        A frozen scipy distribution, as `Job.law`, or an object with ``cdf(x)`` and ``support()``. ``None`` if unknown.
        The job's `runtime` must not be read.
        """
        ...


@runtime_checkable
class Resettable(Protocol):
    """A predictor that can be reset, so that one object serves several simulations.

    Examples
    --------
    >>> from hpcdispatch.predictors import LastTwo, Resettable, Walltime
    >>> isinstance(LastTwo(), Resettable), isinstance(Walltime(), Resettable)
    (True, False)
    """

    def reset(self) -> None:
        """Drop everything observed. Called at the start of each simulation."""
        ...


@runtime_checkable
class Watching(Protocol):
    """A predictor that follows which jobs run.

    Examples
    --------
    >>> from hpcdispatch.predictors import LastTwo, Watching
    >>> class Counting(LastTwo):
    ...     "Count the jobs on the machine."
    ...
    ...     running = 0
    ...
    ...     def started(self, job, now):
    ...         self.running += 1
    ...
    ...     def stopped(self, job, now):
    ...         self.running -= 1
    >>> isinstance(Counting(), Watching), isinstance(LastTwo(), Watching)
    (True, False)
    """

    def started(self, job: Job, now: int) -> None:
        """Record that a job starts. Its `runtime` must not be read."""
        ...

    def stopped(self, job: Job, now: int) -> None:
        """Record that a job has left the machine, for now or for good. Called before :meth:`Predictor.observe`."""
        ...


registry = PredictorRegistry()
"""The predictors that can be had by name."""


@names_wrong_types
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

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.predictors import create
    >>> job = hd.Job("a", submit=0, runtime=100, walltime=900)
    >>> create("scaled:factor=1.5").predict(job, now=0)
    1350.0
    """
    predictor = registry.create(spec) if isinstance(spec, str) else spec
    call = ", which is a class: call it" if isinstance(predictor, type) else ""
    if isinstance(predictor, type) or not isinstance(predictor, Predictor):
        raise InputError(f"predictor: expected a name or an object with predict and observe, got {shown(spec)}{call}")
    return predictor
