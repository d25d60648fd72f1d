"""The speedup of a job from a user's own runs: what it would take on sizes that were not tried.

Every model of the speedup stands with a grid of its parameters. A run's time is L / S(n) with an error that is normal
in its logarithm; L has a flat prior in its logarithm, the variance of the error an inverse gamma one. Then the
posterior of a grid point is known in closed form, and a time to come is a mixture of Student's t over them (Gelman et
al., "Bayesian Data Analysis", 2013, section 3.2). So three runs give an interval, though they do not give three
parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ...base import FloatArray, InputError
from ...base.checks import check_number
from ..reservations import ESDD
from .speedups import amdahl, downey, gunther

#: Relative error of a run that is as likely too small as too large, and how many runs that is worth: with four it is
#: between 0.06 and 0.22 in nine cases of ten. And what one is worth that is known.
NOISE, NOISE_WORTH, KNOWN_WORTH = 0.1, 4.0, 1000.0
#: Prediction does not go beyond that many times the largest size measured, unless asked.
FARTHEST = 2.0
#: Times that a law of a run to come has.
STEPS = 20
#: Grid points that together have no more than this share are left out.
_NEGLIGIBLE = 1e-3
_BISECTIONS = 40


@dataclass(frozen=True)
class SpeedupModel:
    """A model of the speedup, at a grid of its parameters.

    Attributes
    ----------
    name
        What it is called.
    parameters
        Their names.
    grid
        Their values, shape (points, parameters).
    speedup
        From sizes and one argument a parameter, broadcast, to speedups.
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
    """What runs say of a model.

    Attributes
    ----------
    name
        Of the model.
    parameters
        The most probable values, by name.
    sequential
        The time on one processor that goes with them, seconds.
    left_out_error
        Root mean square of the relative errors with which each run is predicted from the others.
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
    """Times on some sizes, seconds, all of shape (sizes,).

    Attributes
    ----------
    time
        The median.
    low, high
        Ends of the interval.
    """

    time: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class SpeedupFit:
    """What a user's runs say of a job.

    Attributes
    ----------
    models
        Every model, the one with the least left-out error first.
    largest
        The largest size measured.
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
        """Return the times on sizes, averaged over all models by their probability.

        Parameters
        ----------
        sizes
            Processors, shape (sizes,).
        level
            Of the interval.
        extrapolate
            Predict also beyond :data:`FARTHEST` times the largest size measured.
        of
            ``"run"``: the interval is that of one run to come; ``"mean"``: of the time without a run's own error.

        Raises
        ------
        InputError
            For a size beyond what was measured, or below 1.
        """
        asked = self._asked(sizes, extrapolate)
        tails = 0.5, (1 - level) / 2, (1 + level) / 2
        return PredictedTimes(*np.exp(self._mixture.quantiles(asked, tails, own=of == "run")))

    def laws(self, sizes: ArrayLike, *, extrapolate: bool = False) -> list[ESDD]:
        """Return the law of a run to come on each size, as :data:`STEPS` equally probable times.

        They are quantiles, rounded up to the next; the last, which stands for the longest runs, is that of 99.9%.
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
        """Return the size, of some, whose time is known worst: a run there says most."""
        asked = np.asarray(sizes, dtype=np.float64)
        low, high = self._mixture.quantiles(asked, (0.05, 0.95), own=False)
        return float(asked[int(np.argmax(high - low))])


class _Mixture:
    """Student's t distributions of the logarithm of a time, a component a grid point."""

    def __init__(
        self, models: Sequence[SpeedupModel], sizes: FloatArray, logs: FloatArray, noise: float | None
    ) -> None:
        self.parts = [_Posterior(model, sizes, logs, noise) for model in models]
        evidence = np.concatenate([part.evidence for part in self.parts])
        total = scipy.special.logsumexp(evidence)
        self.shares = [float(np.exp(scipy.special.logsumexp(part.evidence) - total)) for part in self.parts]
        self._weights = [np.exp(part.evidence - total) for part in self.parts]

    def quantiles(self, sizes: FloatArray, levels: Sequence[float], own: bool) -> FloatArray:
        """Return quantiles of the logarithm of the time, shape (levels, sizes); with a run's own error if asked."""
        weights = np.concatenate(self._weights)
        chosen = np.argsort(-weights, kind="stable")
        chosen = chosen[: int(np.searchsorted(np.cumsum(weights[chosen]), 1 - _NEGLIGIBLE)) + 1]
        weights = weights[chosen] / weights[chosen].sum()
        centres = np.concatenate([part.centre[:, None] - np.log(part.model.at(sizes)) for part in self.parts])[chosen]
        spread = np.concatenate([part.spread(own) for part in self.parts])[chosen, None]
        freedom = self.parts[0].freedom
        widest = 40 * spread.max() + np.ptp(centres, axis=0)
        found = []
        for level in levels:
            low, high = centres.min(axis=0) - widest, centres.max(axis=0) + widest
            for _ in range(_BISECTIONS):
                middle = (low + high) / 2
                below = weights @ scipy.special.stdtr(freedom, (middle - centres) / spread) < level
                low, high = np.where(below, middle, low), np.where(below, high, middle)
            found.append((low + high) / 2)
        return np.array(found)


class _Posterior:
    """A model's grid points, given runs."""

    def __init__(self, model: SpeedupModel, sizes: FloatArray, logs: FloatArray, noise: float | None) -> None:
        self.model, self.noise = model, noise
        runs = len(logs)
        believed, worth = (NOISE, NOISE_WORTH) if noise is None else (noise, KNOWN_WORTH)
        levels = logs + np.log(model.at(sizes))
        #: The logarithm of L at each point, shape (points,).
        self.centre = levels.mean(axis=1)
        squares = scipy.special.chdtri(worth, 0.5) * believed**2 + ((levels - self.centre[:, None]) ** 2).sum(axis=1)
        self.freedom = worth + runs - 1
        self._variance, self._runs = squares / self.freedom, runs
        self.evidence = -self.freedom / 2 * np.log(squares) - np.log(len(model.grid))

    def spread(self, own: bool) -> FloatArray:
        """Return the scale of the time's logarithm at each point, with a run's own error if asked."""
        scale: FloatArray = np.sqrt(self._variance * (1 / self._runs + own))
        return scale


def speedup_models(largest: float) -> tuple[SpeedupModel, ...]:
    """Return the models whose grids serve runs up to a size.

    Downey's A up to eight times that and sigma up to 2 (section 3.2); Amdahl's serial share, and Gunther's costs, from
    what cannot be seen on so many processors to 1.
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


def fit(runs: Sequence[tuple[float, float]], noise: float | None = None) -> SpeedupFit:
    """Fit every model to a user's own runs.

    Parameters
    ----------
    runs
        Processors and run time in seconds of each, at two sizes or more.
    noise
        The standard deviation of the logarithm of a run's time, about its relative error, if it is known: intervals
        count on it. By default it is as likely below 0.1 as above, and what the runs show of it counts as well:
        intervals are then wider, and hold more where it is 0.1 indeed.

    Raises
    ------
    ValueError
        If `noise` is not above 0.
    InputError
        If a size is below 1 or a time not above 0, if all runs are at one size, or if the times rise with every size,
        which no speedup does.
    """
    if noise is not None:
        check_number("noise", noise, above=0)
    sizes, logs = _checked(runs)
    models = speedup_models(float(sizes.max()))
    mixture = _Mixture(models, sizes, logs, noise)
    fits = [
        _of_model(part, sizes, logs, share) for part, share in zip(mixture.parts, mixture.shares, strict=True)
    ]  # fmt: skip
    fits.sort(key=lambda fitted: fitted.left_out_error)
    return SpeedupFit(tuple(fits), float(sizes.max()), mixture)


def _of_model(part: _Posterior, sizes: FloatArray, logs: FloatArray, share: float) -> ModelFit:
    likely = int(np.argmax(part.evidence))
    names = zip(part.model.parameters, part.model.grid[likely].tolist(), strict=True)
    errors = [
        np.expm1(_Mixture([part.model], np.delete(sizes, run), np.delete(logs, run), part.noise).quantiles(
            sizes[run : run + 1], [0.5], own=True)[0, 0] - logs[run])
        for run in range(len(logs))
    ]  # fmt: skip
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
