"""The two extremes: the user's walltime, and the true run time."""

from typing import ClassVar

from ..workloads import Job


class Walltime:
    """The walltime, as most production systems use it.

    A job with a soft walltime gets that, until it has passed. Called "-W" in the CP paper
    (section 5, job duration prediction).

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.predictors import Walltime
    >>> Walltime().predict(hd.Job("a", submit=0, runtime=100, walltime=900), now=0)
    900.0
    """

    uses: ClassVar[tuple[str, ...]] = ()

    def predict(self, job: Job, now: int) -> float:
        """Return the walltime of `job`, seconds."""
        return float(job.walltime if job.soft_walltime is None else job.soft_walltime)

    def correct(self, job: Job, elapsed: int, misses: int) -> float:
        """Return the walltime after a soft one. After the walltime, the job may end at any second."""
        return float(max(elapsed, job.walltime))

    def observe(self, job: Job) -> None:
        """Learn nothing."""


class Oracle:
    """The actual run time, for bounds: what a perfect predictor would give.

    Called "-R" (real) in the CP paper, "clairvoyant" in the SC'15 study. The walltime does not cap the run time. A job
    that overran its walltime in the trace is predicted to do so. A job of 0 s is predicted 0 s.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.predictors import Oracle
    >>> result = hd.simulate("example", "easy", Oracle())
    >>> bool((result.jobs["predicted"] == result.jobs["runtime"]).all())
    True
    """

    uses: ClassVar[tuple[str, ...]] = ()
    reads_runtimes: ClassVar[bool] = True

    def predict(self, job: Job, now: int) -> float:
        """Return the actual run time of `job`, seconds."""
        return float(job.runtime)

    def correct(self, job: Job, elapsed: int, misses: int) -> float:
        """Return `elapsed`: an actual run time needs no correction, but for delays that it does not contain."""
        return float(elapsed)

    def observe(self, job: Job) -> None:
        """Learn nothing."""
