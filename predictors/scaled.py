"""Predict a multiple of the walltime or of another prediction, for studies of inaccurate predictions."""

from typing import Any, ClassVar

from ..base import check_number, part_label
from ..base.contracts import PredictorContract
from ..base.corrections import Correction, correction_of, tsafrir_correction
from ..workloads import Job
from .predictor import Predictor, create
from .walltime_oracle import Walltime


class Scaled:
    """A multiple of the walltime, or of the prediction of another predictor.

    Doubled walltimes shorten waits under EASY (Mu'alem and Feitelson, TPDS 2001, section 4; Zotkin and Keleher, HPDC
    1999). A prediction above the walltime counts as it is, also if jobs are killed at their walltimes. Other
    predictors' are then cut to the walltime. After a miss the job gets the correction of the inner
    predictor, and Tsafrir's steps if that is the walltime.

    Parameters
    ----------
    factor
        Factor, above 0.
    of
        The other predictor: an object, or a name with ``/`` instead of the comma between its options.

    Raises
    ------
    ValueError
        If `factor` is out of its range.
    InputError
        For an unknown predictor.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.predictors import Scaled
    >>> job = hd.Job("a", submit=0, runtime=100, walltime=900)
    >>> Scaled(factor=1.5).predict(job, now=0)
    1350.0
    """

    uses: ClassVar[tuple[str, ...]] = ()
    above_walltime: ClassVar[bool] = True

    def __init__(self, *, factor: float = 2.0, of: str | Predictor = "walltime") -> None:
        check_number("factor", factor, above=0)
        self.factor = factor
        self.of = of
        self._inner = create(of.replace("/", ",") if isinstance(of, str) else of)
        inner = PredictorContract(self._inner)
        self._reset = inner.reset
        self.reads_runtimes = inner.reads_runtimes
        own: dict[str, Any] = {"started": inner.started, "stopped": inner.stopped, "counts": inner.counts}
        own["notes"] = inner.notes
        vars(self).update({name: method for name, method in own.items() if method is not None})
        # That of walltimes would be the walltime at once.
        plain = isinstance(self._inner, Walltime)
        self.correct: Correction = tsafrir_correction if plain else correction_of(self._inner)

    def predict(self, job: Job, now: int) -> float:
        """Return the multiple, seconds."""
        return self.factor * self._inner.predict(job, now)

    def observe(self, job: Job) -> None:
        """Let the inner predictor learn."""
        self._inner.observe(job)

    def reset(self) -> None:
        """Reset the inner predictor."""
        if self._reset is not None:
            self._reset()

    def __repr__(self) -> str:
        """Return the factor and the inner predictor."""
        return f"Scaled(factor={self.factor}, of={part_label(self.of)})"
