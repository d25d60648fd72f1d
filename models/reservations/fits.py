"""Distributions fitted to run times."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ...base import FloatArray, InputError
from .laws import checked_run_times


@dataclass(frozen=True, slots=True)
class Fit:
    """A family fitted to run times by maximum likelihood.

    Attributes
    ----------
    name
        Of the family, as in ``scipy.stats``.
    distribution
        Its frozen distribution.
    log_likelihood
        Of the run times.
    aic
        Akaike's information criterion, 2 parameters - 2 log-likelihood: less is better.
    ks
        Kolmogorov-Smirnov statistic: the largest distance of the distribution functions.
    p_value
        Of that test. Too large, for the parameters come from the same run times: a small one speaks against the family,
        a large one not for it.
    """

    name: str
    distribution: Any
    log_likelihood: float
    aic: float
    ks: float
    p_value: float


def fit(run_times: Sequence[float]) -> list[Fit]:
    """Fit the usual families to run times, best (least ``aic``) first.

    They are expon, gamma, loguniform, lognorm, norm, pareto, uniform and weibull_min; those from 0 on have ``loc`` 0,
    and pareto, uniform and loguniform begin at the shortest run time. A family that does not fit, as lognorm
    where a run time is 0, is left out.

    Raises
    ------
    InputError
        If a run time is not a finite number >= 0, or all are equal.
    """
    times = checked_run_times(run_times)
    if times.min() == times.max():
        raise InputError(f"run_times: at least two must differ to fit a distribution, got {times[0]:g} only")
    found = []
    for name, (family, parameters) in _families().items():
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                distribution = family(times)
                likelihood = float(distribution.logpdf(times).sum())
                ks, p_value = map(float, scipy.stats.kstest(times, distribution.cdf))
            except (ArithmeticError, RuntimeError, ValueError):
                continue
        if np.isfinite(likelihood) and np.isfinite(ks):
            aic = 2 * parameters - 2 * likelihood
            found.append(Fit(name, distribution, likelihood, aic, ks, p_value))
    return sorted(found, key=lambda one: (one.aic, one.name))


def _families() -> dict[str, tuple[Callable[[FloatArray], Any], int]]:
    """Return the name of each family, how to fit it, and how many parameters are free."""

    def from_zero(family: Any) -> Callable[[FloatArray], Any]:
        return lambda times: family(*family.fit(times, floc=0))

    def pareto(times: FloatArray) -> Any:
        shortest = times.min()
        return scipy.stats.pareto(1 / np.log(times / shortest).mean(), scale=shortest)

    return {
        "expon": (from_zero(scipy.stats.expon), 1),
        "gamma": (from_zero(scipy.stats.gamma), 2),
        "loguniform": (lambda times: scipy.stats.loguniform(times.min(), times.max()), 2),
        "lognorm": (from_zero(scipy.stats.lognorm), 2),
        "norm": (lambda times: scipy.stats.norm(*scipy.stats.norm.fit(times)), 2),
        "pareto": (pareto, 2),
        "uniform": (lambda times: scipy.stats.uniform(*scipy.stats.uniform.fit(times)), 2),
        "weibull_min": (from_zero(scipy.stats.weibull_min), 2),
    }
