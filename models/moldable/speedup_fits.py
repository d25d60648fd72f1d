"""Fit speedups to a user's own runs, and predict times on sizes without runs.

Every speedup model has a grid of its parameters. The time of a run is L / S(n), with a normal error in its logarithm. L
has a flat prior in its logarithm, and the error variance an inverse gamma prior. So the posterior of a grid point has a
closed form. A future time is a mixture of Student's t over the points (Gelman et al., "Bayesian Data Analysis", 2013,
section 3.2). So three runs give an interval, although they do not give three parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ...base import FloatArray, InputError, check_number
from ...base.argument_types import names_wrong_types
from ..reservations import ESDD
from .speedups import amdahl, downey, gunther

#: Prior median of a run's relative error, and its weight in runs. A weight of four means 0.06 to 0.22 with probability
#: 90%. The last is the weight of a known error.
NOISE = 0.1
NOISE_WORTH = 4.0
KNOWN_WORTH = 1000.0
#: Largest prediction, in multiples of the largest measured size, without extrapolation.
FARTHEST = 2.0
#: Number of times in the law of a future run.
STEPS = 20
#: Grid points with this total share are left out.
_NEGLIGIBLE = 1e-3
_BISECTIONS = 40


@dataclass(frozen=True)
class SpeedupModel:
    """A speedup model on a grid of its parameters.

    Attributes
    ----------
    name
        Name of the model.
    parameters
        Names of the parameters.
    grid
        Values of the parameters, shape (points, parameters).
    speedup
        Function of sizes and one argument per parameter, broadcast, to speedups.
    """

    name: str
    parameters: tuple[str, ...]
    grid: FloatArray
    speedup: Callable[..., FloatArray]

    def at(self, sizes: FloatArray) -> FloatArray:
        """Return the speedups, shape (points, sizes)."""
        return self.speedup(sizes, *(column[:, None] for column in self.grid.T))


@dataclass(frozen=True, slots=True)
class ModelFit:
    """Fit of one model.

    Attributes
    ----------
    name
        Name of the model.
    parameters
        Most probable values, by name.
    sequential
        Matching time on one processor, seconds.
    left_out_error
        Root mean square of the relative errors when each run is predicted from the others.
    share
        Probability of the model among all.
    """

    name: str
    parameters: dict[str, float]
    sequential: float
    left_out_error: float
    share: float


@dataclass(frozen=True, slots=True)
class PredictedTimes:
    """Times on some sizes in seconds, all of shape (sizes,).

    Attributes
    ----------
    time
        Median.
    low, high
        Ends of the interval.
    """

    time: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class SpeedupFit:
    """Fit of a user's runs of a job.

    Attributes
    ----------
    models
        Every model, least left-out error first.
    largest
        Largest measured size.
    """

    models: tuple[ModelFit, ...]
    largest: float
    _mixture: _Mixture

    @property
    def best(self) -> ModelFit:
        """The model with the least left-out error."""
        return self.models[0]

    def predict(
        self, sizes: ArrayLike, level: float = 0.9, *, extrapolate: bool = False, of: str = "run"
    ) -> PredictedTimes:
        """Return the times on sizes, averaged over all models by probability.

        Parameters
        ----------
        sizes
            Processors, shape (sizes,).
        level
            Probability of the interval.
        extrapolate
            Predict beyond :data:`FARTHEST` times the largest measured size.
        of
            ``"run"``: interval of one future run. ``"mean"``: of the time without a run's own error.

        Raises
        ------
        InputError
            For a size beyond the limit, or below 1.
        """
        asked = self._asked(sizes, extrapolate)
        tails = 0.5, (1 - level) / 2, (1 + level) / 2
        return PredictedTimes(*np.exp(self._mixture.quantiles(asked, tails, own=of == "run")))

    def laws(self, sizes: ArrayLike, *, extrapolate: bool = False) -> list[ESDD]:
        """Return the law of a future run on each size, as :data:`STEPS` equally probable times.

        They are quantiles, rounded up to the next. The last stands for the longest runs and is the quantile of 99.9%.
        Parameters and errors are those of :meth:`predict`.
        """
        asked = self._asked(sizes, extrapolate)
        levels = [*(np.arange(1, STEPS) / STEPS).tolist(), 0.999]
        times = np.exp(self._mixture.quantiles(asked, levels, own=True))
        return [ESDD(column, np.full(STEPS, 1 / STEPS)) for column in times.T]

    def _asked(self, sizes: ArrayLike, extrapolate: bool) -> FloatArray:
        asked = np.atleast_1d(np.asarray(sizes, dtype=np.float64))
        if not extrapolate and (asked > FARTHEST * self.largest).any():
            raise InputError(
                f"size {asked.max():g}: expected at most {FARTHEST:g} times the largest size measured, "
                f"{self.largest:g}; ask for extrapolation to go beyond"
            )
        return asked

    def measure_next(self, sizes: Sequence[float]) -> float:
        """Return the size with the most uncertain time: a run there is most useful."""
        asked = np.asarray(sizes, dtype=np.float64)
        low, high = self._mixture.quantiles(asked, (0.05, 0.95), own=False)
        return float(asked[int(np.argmax(high - low))])


class _Mixture:
    """Mixture of Student's t distributions of the logarithm of a time, one per grid point."""

    def __init__(
        self, models: Sequence[SpeedupModel], sizes: FloatArray, logs: FloatArray, noise: float | None
    ) -> None:
        self.parts = [_Posterior(model, sizes, logs, noise) for model in models]
        evidence = np.concatenate([part.evidence for part in self.parts])
        total = scipy.special.logsumexp(evidence)
        self.shares = [float(np.exp(scipy.special.logsumexp(part.evidence) - total)) for part in self.parts]
        self._weights = [np.exp(part.evidence - total) for part in self.parts]

    def quantiles(self, sizes: FloatArray, levels: Sequence[float], own: bool) -> FloatArray:
        """Return quantiles of the logarithm of the time, shape (levels, sizes). `own` adds a run's own error."""
        weights = np.concatenate(self._weights)
        chosen = np.argsort(-weights, kind="stable")
        chosen = chosen[: int(np.searchsorted(np.cumsum(weights[chosen]), 1 - _NEGLIGIBLE)) + 1]
        weights = weights[chosen] / weights[chosen].sum()
        centres = np.concatenate([part.centre[:, None] - np.log(part.model.at(sizes)) for part in self.parts])[chosen]
        spread = np.concatenate([part.spread(own) for part in self.parts])[chosen, None]
        freedom = self.parts[0].freedom
        widest = 40 * spread.max() + np.ptp(centres, axis=0)
        quantiles = []
        for level in levels:
            low = centres.min(axis=0) - widest
            high = centres.max(axis=0) + widest
            for _ in range(_BISECTIONS):
                middle = (low + high) / 2
                below = weights @ scipy.special.stdtr(freedom, (middle - centres) / spread) < level
                low = np.where(below, middle, low)
                high = np.where(below, high, middle)
            quantiles.append((low + high) / 2)
        return np.array(quantiles)


class _Posterior:
    """Posterior of a model's grid points."""

    def __init__(self, model: SpeedupModel, sizes: FloatArray, logs: FloatArray, noise: float | None) -> None:
        self.model, self.noise = model, noise
        runs = len(logs)
        believed, worth = (NOISE, NOISE_WORTH) if noise is None else (noise, KNOWN_WORTH)
        levels = logs + np.log(model.at(sizes))
        #: Logarithm of L at each point, shape (points,).
        self.centre = levels.mean(axis=1)
        squares = scipy.special.chdtri(worth, 0.5) * believed**2 + ((levels - self.centre[:, None]) ** 2).sum(axis=1)
        self.freedom = worth + runs - 1
        self._variance = squares / self.freedom
        self._runs = runs
        self.evidence = -self.freedom / 2 * np.log(squares) - np.log(len(model.grid))

    def spread(self, own: bool) -> FloatArray:
        """Return the scale of the time's logarithm at each point. `own` adds a run's own error."""
        scale: FloatArray = np.sqrt(self._variance * (1 / self._runs + own))
        return scale


def speedup_models(largest: float) -> tuple[SpeedupModel, ...]:
    """Return the models with grids for runs up to a size.

    Downey's A goes up to eight times that size and sigma up to 2 (section 3.2). Amdahl's serial share and Gunther's
    costs go up to 1. They start at values too small to see on that many processors.
    """
    most = max(8.0 * largest, 256.0)
    parallelism = np.geomspace(1.0, most, 48)
    shares = np.r_[0.0, np.geomspace(0.01 / largest, 1.0, 40)]
    costs = np.geomspace(0.01 / largest**2, 1.0 / largest, 20)
    return (
        SpeedupModel("downey", ("A", "sigma"), _pairs(parallelism, np.linspace(0.0, 2.0, 21)), downey),
        SpeedupModel("amdahl", ("serial",), shares[:, None], amdahl),
        SpeedupModel("gunther", ("contention", "coherency"), _pairs(shares[::2], costs), gunther),
    )


@names_wrong_types
def fit(runs: Sequence[tuple[float, float]], noise: float | None = None) -> SpeedupFit:
    """Fit every model to a user's own runs.

    Parameters
    ----------
    runs
        Processors and run time in seconds of each run, on two sizes or more.
    noise
        Standard deviation of the logarithm of a run's time, about its relative error, if known. Intervals rely on it.
        By default its prior median is 0.1, and the runs update it. Intervals are then wider, and cover more than stated
        if it is 0.1.

    Raises
    ------
    ValueError
        If `noise` is not above 0.
    InputError
        If a size is below 1 or a time not above 0. Also if all runs have one size, or if the times rise with every
        size.
    """
    if noise is not None:
        check_number("noise", noise, above=0)
    sizes, logs = _checked(runs)
    models = speedup_models(float(sizes.max()))
    mixture = _Mixture(models, sizes, logs, noise)
    fits = [_of_model(part, sizes, logs, share) for part, share in zip(mixture.parts, mixture.shares, strict=True)]
    fits.sort(key=lambda fitted: fitted.left_out_error)
    return SpeedupFit(tuple(fits), float(sizes.max()), mixture)


def _of_model(part: _Posterior, sizes: FloatArray, logs: FloatArray, share: float) -> ModelFit:
    likely = int(np.argmax(part.evidence))
    names = zip(part.model.parameters, part.model.grid[likely].tolist(), strict=True)
    errors = [
        np.expm1(
            _Mixture([part.model], np.delete(sizes, run), np.delete(logs, run), part.noise).quantiles(
                sizes[run : run + 1], [0.5], own=True
            )[0, 0]
            - logs[run]
        )
        for run in range(len(logs))
    ]
    error = float(np.sqrt(np.mean(np.square(errors))))
    return ModelFit(part.model.name, dict(names), float(np.exp(part.centre[likely])), error, share)


def _checked(runs: Sequence[tuple[float, float]]) -> tuple[FloatArray, FloatArray]:
    for number, (size, seconds) in enumerate(runs, 1):
        if not (np.isfinite(size) and size >= 1):
            raise InputError(f"run {number}: processors: expected a number >= 1, got {size!r}")
        if not (np.isfinite(seconds) and seconds > 0):
            raise InputError(f"run {number}: time: expected seconds > 0, got {seconds!r}")
    sizes, times = np.array(runs, dtype=np.float64).reshape(-1, 2).T
    different = np.unique(sizes)
    if len(different) < 2:
        raise InputError(f"runs: expected runs on two sizes or more, got {len(runs)} on {len(different)}")
    logs = np.log(times)
    means = np.array([logs[sizes == size].mean() for size in different])
    if (np.diff(means) > 0).all() and means[-1] - means[0] > NOISE:
        raise InputError("runs: the times rise with every size: more processors make it slower, so there is no speedup")
    return sizes, logs


def _pairs(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.stack([values.ravel() for values in np.meshgrid(first, second, indexing="ij")], axis=1)
