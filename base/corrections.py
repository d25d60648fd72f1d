"""Corrections of predictions that a running job has exceeded, by name. They serve any predictor.

Tsafrir, Etsion and Feitelson, "Backfilling using system-generated predictions rather than user runtime estimates", IEEE
TPDS 18(6), 2007, and Gaussier, Glesser, Reis and Trystram, "Improving backfilling by using machine learning to predict
running times", SC 2015, section 4.3.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from typing import Any, Protocol, TypeVar, get_args

from .argument_types import names_wrong_types
from .checks import check_whole, shown
from .contracts import PredictorContract
from .errors import InputError
from .registry import Option, Registry, options_of, part_label

#: Seconds so far and number of earlier corrections of a job to its new predicted run time, seconds.
Correction = Callable[[Any, int, int], float]
P = TypeVar("P")


class TimedJob(Protocol):
    """What a correction reads of a job."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def walltime(self) -> int:
        """Its walltime, seconds."""
        ...


TSAFRIR_INCREMENTS: tuple[int, ...] = tuple(
    60 * minutes for minutes in (1, 5, 15, 30, 60, 120, 300, 600, 1200, 3000, 6000)
)
"""Seconds added at the first, second, ... miss: 1, 5, 15, 30 min, then 1, 2, 5, 10, 20, 50, 100 h."""

corrections = Registry("correction", "hpcdispatch.corrections")
#: The option of every predictor, and its value for the predictor's own correction.
OPTION, OWN = "correction", "own"


@names_wrong_types
def tsafrir_correction(
    job: TimedJob, elapsed: int, misses: int, increments: Sequence[int] = TSAFRIR_INCREMENTS
) -> float:
    """Add 1, 5, 15, 30 min, 1, 2, 5, 10, ... h to the elapsed time, up to the walltime (Tsafrir, TPDS 2007).

    It is ``elapsed + increments[misses]``, with the last increment repeated. Before the walltime it is at most the
    walltime. After the walltime the increments continue.

    Parameters
    ----------
    job
        The running job.
    elapsed
        Its seconds so far.
    misses
        Number of earlier corrections. 0 at the first.
    increments
        Increment of each miss, seconds, all above 0.

    Returns
    -------
    float
        Seconds since the start of the job, greater than `elapsed`.

    Raises
    ------
    ValueError
        If `misses` is negative.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.predictors import tsafrir_correction
    >>> job = hd.Job("a", submit=0, runtime=1000, walltime=900)
    >>> [tsafrir_correction(job, elapsed=100, misses=misses) for misses in range(4)]
    [160.0, 400.0, 900.0, 900.0]
    """
    check_whole(f"job {job.id}: misses", misses, 0)
    corrected = elapsed + increments[min(misses, len(increments) - 1)]
    return float(min(corrected, job.walltime) if elapsed < job.walltime else corrected)


@names_wrong_types
def walltime_correction(job: TimedJob, elapsed: int, misses: int) -> float:
    """Predict the walltime at the first miss. After the walltime the job may end at any second (SC 2015, reqtime).

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.predictors import walltime_correction
    >>> job = hd.Job("a", submit=0, runtime=1000, walltime=900)
    >>> walltime_correction(job, elapsed=100, misses=0)
    900.0
    """
    return float(max(elapsed, job.walltime))


@names_wrong_types
def doubling_correction(job: TimedJob, elapsed: int, misses: int) -> float:
    """Double the elapsed time, up to the walltime. After the walltime the doubling continues (SC 2015).

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.predictors import doubling_correction
    >>> job = hd.Job("a", submit=0, runtime=1000, walltime=900)
    >>> doubling_correction(job, elapsed=100, misses=0), doubling_correction(job, elapsed=800, misses=3)
    (200.0, 900.0)
    """
    doubled = 2 * max(1, elapsed)
    return float(min(doubled, job.walltime) if elapsed < job.walltime else doubled)


@names_wrong_types
def no_correction(job: TimedJob, elapsed: int, misses: int) -> float:
    """Keep the prediction. The job may end at any second.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.predictors import no_correction
    >>> no_correction(hd.Job("a", submit=0, runtime=1000, walltime=900), elapsed=100, misses=0)
    100.0
    """
    return float(elapsed)


def correction_of(predictor: Any) -> Correction:
    """Return the correction of a predictor: its own ``correct``, else the one it names, else Tsafrir's steps.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.predictors import Heuristic, correction_of
    >>> job = hd.Job("a", submit=0, runtime=1000, walltime=900)
    >>> correction_of(Heuristic())(job, elapsed=100, misses=0)
    900.0
    """
    contract = PredictorContract(predictor)
    return named_correction(contract.correction) if contract.correct is None else contract.correct


def named_correction(name: str | Correction) -> Correction:
    """Return a registered correction. A function is returned as is.

    Raises
    ------
    InputError
        If the name is unknown, or the correction is not a function.
    """
    correction = (_BUILT_IN.get(name) or corrections.factory(name)) if isinstance(name, str) else name
    if not callable(correction):
        raise InputError(f"correction {name!r}: expected a function of job, elapsed, misses, got {shown(correction)}")
    return correction


def with_correction(predictor: P, name: str | Correction) -> P:
    """Return a copy of a predictor with another correction.

    Parameters
    ----------
    predictor
        The predictor.
    name
        Name of a registered correction, or a function of job, elapsed and misses. ``"own"`` keeps that of the
        predictor.

    Raises
    ------
    InputError
        For an unknown name, or an object that is not a function.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.predictors import LastTwo, with_correction
    >>> predictor = with_correction(LastTwo(), "doubling")
    >>> round(hd.simulate("example", "easy", predictor).summary()["wait_mean"])
    8004
    """
    if not callable(getattr(predictor, "predict", None)):
        raise InputError(f"predictor: expected an object with predict and observe, got {shown(predictor)}")
    return predictor if name == OWN else _corrected(copy(predictor), name)


def _corrected(predictor: Any, name: str | Correction) -> Any:
    """Give a predictor a correction and a name that tells it."""
    label = part_label(predictor)
    told = name if isinstance(name, str) else getattr(name, "__name__", type(name).__name__)
    object.__setattr__(predictor, "correct", named_correction(name))  # Also of a frozen dataclass.
    with suppress(AttributeError):  # A name that cannot be set stays.
        object.__setattr__(predictor, "name", f"{label}{',' if ':' in label else ':'}{OPTION}={told}")
    return predictor


class PredictorRegistry(Registry):
    """Predictors by name. Each takes the option ``correction`` beside its own."""

    def __init__(self) -> None:
        super().__init__("predictor", "hpcdispatch.predictors")

    def options(self, name: str, internal: bool = False) -> list[Option]:
        """Return the options of a predictor, and ``correction``. See :meth:`.Registry.options`."""
        own = super().options(name, internal)
        if all(option.name != OPTION for option in own):
            return [*own, Option(OPTION, str, OWN, meaning=_meaning())]
        return [replace(option, annotation=str) if option.name == OPTION else option for option in own]

    def made(self, factory: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        """Return a predictor from its converted options, with the correction that it asks for."""
        declared = next((option for option in options_of(factory) if option.name == OPTION), None)
        name = arguments.get(OPTION, OWN)
        own = declared is not None and (OPTION not in arguments or name in (get_args(declared.annotation) or (name,)))
        if own:
            return factory(**arguments)
        made = factory(**{key: value for key, value in arguments.items() if key != OPTION})
        return made if name == OWN else _corrected(made, name)


def _meaning() -> str:
    known = ", ".join(corrections.names())
    return f"Correction of a prediction that a running job has exceeded: {known}, or {OWN}, that of the predictor."


_BUILT_IN: dict[str, Correction] = {
    "reqtime": walltime_correction,
    "doubling": doubling_correction,
    "tsafrir": tsafrir_correction,
    "none": no_correction,
}
