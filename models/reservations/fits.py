"""Fit distributions to run times."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ...base import BoolArray, InputError
from ...base.argument_types import names_wrong_types
from .laws import checked_run_times


@dataclass(frozen=True, slots=True)
class Fit:
    """A family fitted to run times by maximum likelihood.

    Attributes
    ----------
    name
        Name of the family in ``scipy.stats``.
    distribution
        Its frozen distribution.
    log_likelihood
        Log-likelihood of the run times.
    aic
        Akaike's information criterion, 2 parameters - 2 log-likelihood. Less is better.
    ks
        Kolmogorov-Smirnov statistic: the largest distance of the distribution functions.
    p_value
        p-value of that test, or ``None`` for censored run times. It is too large, because the parameters come from the
        same run times. A small value speaks against the family. A large one does not speak for it.
    """

    name: str
    distribution: Any
    log_likelihood: float
    aic: float
    ks: float
    p_value: float | None


@names_wrong_types
def fit(run_times: Sequence[float], censored: Sequence[bool] | BoolArray | None = None) -> list[Fit]:
    """Fit common families to run times, best (least ``aic``) first.

    The families are expon, gamma, loguniform, lognorm, norm, pareto, uniform and weibull_min. Those on [0, inf) have
    ``loc`` 0. Pareto, uniform and loguniform begin at the shortest run time. A family that does not fit is left out,
    such as lognorm with a run time of 0. Uniform and loguniform are left out for censored run times.

    Parameters
    ----------
    run_times
        Seconds, or any other unit.
    censored
        Runs that were stopped before their end, so that they are longer. ``None`` for none.

    Raises
    ------
    InputError
        If a run time is not a finite number >= 0, all are equal, or all are censored.
    """
    times = checked_run_times(run_times)
    if times.min() == times.max():
        raise InputError(f"run_times: at least two must differ to fit a distribution, got {times[0]:g} only")
    cut = np.zeros(len(times), dtype=np.bool_) if censored is None else np.asarray(censored, dtype=np.bool_)
    if cut.all():
        raise InputError(f"censored: expected a run that ended by itself, got {len(cut)} that did not")
    ended, longer = times[~cut], times[cut]
    steps = scipy.stats.ecdf(scipy.stats.CensoredData.right_censored(times, cut)).cdf
    sample = scipy.stats.CensoredData.right_censored(times, cut) if len(longer) else times
    fits = []
    shortest, stats = ended.min(), scipy.stats
    families: dict[str, tuple[Callable[[], Any], int]] = {
        "expon": (lambda: stats.expon(scale=times.sum() / len(ended)), 1),
        "gamma": (lambda: stats.gamma(*stats.gamma.fit(sample, floc=0)), 2),
        "lognorm": (lambda: stats.lognorm(*stats.lognorm.fit(sample, floc=0)), 2),
        "norm": (lambda: stats.norm(*stats.norm.fit(sample)), 2),
        "pareto": (lambda: stats.pareto(len(ended) / np.log(np.maximum(times / shortest, 1)).sum(), scale=shortest), 2),
        "weibull_min": (lambda: stats.weibull_min(*stats.weibull_min.fit(sample, floc=0)), 2),
    }
    if not len(longer):
        families["loguniform"] = lambda: stats.loguniform(shortest, times.max()), 2
        families["uniform"] = lambda: stats.uniform(*stats.uniform.fit(times)), 2
    for name, (family, parameters) in families.items():
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                distribution = family()
                likelihood = float(distribution.logpdf(ended).sum() + distribution.logsf(longer).sum())
                ks = _distance(steps, distribution)
                p_value = None if len(longer) else float(stats.kstest(times, distribution.cdf).pvalue)
            except (ArithmeticError, RuntimeError, ValueError):
                continue
        if np.isfinite(likelihood) and np.isfinite(ks):
            aic = 2 * parameters - 2 * likelihood
            fits.append(Fit(name, distribution, likelihood, aic, ks, p_value))
    return sorted(fits, key=lambda one: (one.aic, one.name))


def _distance(steps: Any, distribution: Any) -> float:
    """Return the largest distance of a family from the Kaplan-Meier distribution of run times."""
    family = distribution.cdf(steps.quantiles)
    above = steps.probabilities
    below = np.concatenate(([0.0], above[:-1]))
    return float(np.maximum(np.abs(family - above), np.abs(family - below)).max())
