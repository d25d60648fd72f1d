"""Distributions fitted to run times."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ...base import InputError
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
    shortest, stats = times.min(), scipy.stats
    families: dict[str, tuple[Callable[[], Any], int]] = {
        "expon": (lambda: stats.expon(*stats.expon.fit(times, floc=0)), 1),
        "gamma": (lambda: stats.gamma(*stats.gamma.fit(times, floc=0)), 2),
        "loguniform": (lambda: stats.loguniform(shortest, times.max()), 2),
        "lognorm": (lambda: stats.lognorm(*stats.lognorm.fit(times, floc=0)), 2),
        "norm": (lambda: stats.norm(*stats.norm.fit(times)), 2),
        "pareto": (lambda: stats.pareto(1 / np.log(times / shortest).mean(), scale=shortest), 2),
        "uniform": (lambda: stats.uniform(*stats.uniform.fit(times)), 2),
        "weibull_min": (lambda: stats.weibull_min(*stats.weibull_min.fit(times, floc=0)), 2),
    }
    for name, (family, parameters) in families.items():
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                distribution = family()
                likelihood = float(distribution.logpdf(times).sum())
                ks, p_value = map(float, scipy.stats.kstest(times, distribution.cdf))
            except (ArithmeticError, RuntimeError, ValueError):
                continue
        if np.isfinite(likelihood) and np.isfinite(ks):
            aic = 2 * parameters - 2 * likelihood
            found.append(Fit(name, distribution, likelihood, aic, ks, p_value))
    return sorted(found, key=lambda one: (one.aic, one.name))
