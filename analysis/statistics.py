"""Statistics of one simulation: distributions, classes of jobs, fairness, and the quality of predictions.

All functions work on whole columns. Wait, turnaround, slowdown and bounded slowdown are those of
:func:`hpcdispatch.simulation.job_metrics`.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base import FloatArray
from ..base.argument_types import names_wrong_types
from ..simulation.metrics import CLASSES

METRICS = ("wait", "turnaround", "slowdown", "bounded_slowdown")
STATISTICS = ("mean", "median", "p90", "p95", "p99", "max")
#: Names of run-time classes in tables.
CLASS_NAMES = {"short": "< 1 h", "medium": "1-5 h", "long": "> 5 h"}
#: Waits that count as starvation, hours.
STARVATION_H = (24, 72)
#: A prediction is near if real over predicted run time is in this range.
NEAR = (0.75, 1.25)
#: Names of unknown users in workloads.
_NOBODY = ("", "-1")


@names_wrong_types
def describe(values: FloatArray) -> dict[str, float]:
    """Return ``n`` and the :data:`STATISTICS`, NaN if there are no values.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.analysis import describe
    >>> {name: round(float(value), 1) for name, value in describe(np.array([1.0, 2.0, 9.0])).items()}
    {'n': 3.0, 'mean': 4.0, 'median': 2.0, 'p90': 7.6, 'p95': 8.3, 'p99': 8.9, 'max': 9.0}
    """
    if not len(values):
        return {"n": 0, **dict.fromkeys(STATISTICS, float("nan"))}
    numbers = float(values.mean()), *np.percentile(values, [50, 90, 95, 99, 100]).tolist()
    return {"n": len(values), **dict(zip(STATISTICS, numbers, strict=True))}


@names_wrong_types
def run_time_class(run: FloatArray) -> NDArray[np.str_]:
    """Return the name of the run-time class of each job.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.analysis import run_time_class
    >>> run_time_class(np.array([600.0, 7200.0, 86400.0])).tolist()
    ['< 1 h', '1-5 h', '> 5 h']
    """
    names = np.array([CLASS_NAMES[name] for name, _, _ in CLASSES])
    return names[np.searchsorted([high for _, _, high in CLASSES[:-1]], run, side="right")]


@names_wrong_types
def statistics_by_class(metrics: pd.DataFrame, classes: NDArray[Any], order: list[Any]) -> pd.DataFrame:
    """Return one row per class and metric: ``class, metric, n`` and the :data:`STATISTICS`.

    Classes follow `order`. Classes without jobs are left out.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.analysis import run_time_class, statistics_by_class
    >>> from hpcdispatch.simulation import job_metrics
    >>> metrics = job_metrics(hd.simulate(hd.example(), "easy").jobs)
    >>> classes = run_time_class(metrics["run"].to_numpy())
    >>> table = statistics_by_class(metrics, classes, ["< 1 h", "1-5 h", "> 5 h"])
    >>> table[table["metric"] == "wait"][["class", "n"]]
       class    n
    0  < 1 h  614
    4  1-5 h  218
    8  > 5 h   68
    """
    rows = []
    for label in order:
        chosen = classes == label
        if chosen.any():
            rows += [{"class": label, "metric": name, **describe(metrics[name].to_numpy()[chosen])} for name in METRICS]
    return pd.DataFrame(rows, columns=["class", "metric", "n", *STATISTICS])


@names_wrong_types
def jain(values: FloatArray) -> float:
    """Return Jain's index, (sum x)^2 / (n sum x^2). It is 1 if all are equal, and 1/n if one has everything.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.analysis import jain
    >>> jain(np.array([1.0, 1.0])), jain(np.array([1.0, 0.0]))
    (1.0, 0.5)
    """
    squares = float((values**2).sum())
    return float(values.sum()) ** 2 / (len(values) * squares) if squares else float("nan")


@names_wrong_types
def fairness(jobs: pd.DataFrame, metrics: pd.DataFrame, baseline: pd.Series | None = None) -> dict[str, float]:
    """Return how unevenly jobs and users wait.

    Parameters
    ----------
    jobs, metrics
        The jobs and their :func:`~hpcdispatch.simulation.job_metrics`.
    baseline
        Waits under another dispatcher, by job id.

    Returns
    -------
    dict
        ``wait_max`` is in seconds. ``over_24h`` and ``over_72h`` count the jobs that waited longer. ``users`` counts
        the known users. ``jain`` is the index of their mean bounded slowdowns (NaN below two users). ``longer`` counts
        the jobs that waited longer than under the baseline. ``longer_share`` is their share of the jobs that ran under
        both (NaN without a baseline).

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.analysis import fairness
    >>> from hpcdispatch.simulation import job_metrics
    >>> jobs = hd.simulate(hd.example(), "easy").jobs
    >>> fair = fairness(jobs, job_metrics(jobs))
    >>> fair["users"], round(fair["jain"], 2)
    (22, 0.27)
    """
    wait = metrics["wait"].to_numpy()
    numbers: dict[str, float] = {"wait_max": float(wait.max()) if len(wait) else float("nan")}
    for hours in STARVATION_H:
        numbers[f"over_{hours}h"] = int((wait > 3600 * hours).sum())
    numbers["users"], numbers["jain"] = _over_users(jobs.loc[metrics.index, "user"], metrics["bounded_slowdown"])
    numbers["longer"] = numbers["longer_share"] = float("nan")
    if baseline is not None and len(metrics):
        before = aligned(baseline, jobs.loc[metrics.index, "id"])
        both = ~np.isnan(before)
        numbers["longer"] = int((wait[both] > before[both]).sum())
        numbers["longer_share"] = numbers["longer"] / both.sum() if both.any() else float("nan")
    return numbers


def aligned(values: pd.Series, ids: pd.Series) -> FloatArray:
    """Return the values of the jobs `ids`, NaN for missing ones."""
    if len(values) == len(ids) and np.array_equal(values.index.to_numpy(), ids.to_numpy()):
        return values.to_numpy(dtype=float)
    return values.reindex(pd.Index(ids)).to_numpy(dtype=float)


def _over_users(users: pd.Series, slowdown: pd.Series) -> tuple[int, float]:
    known = ~users.isin(_NOBODY).to_numpy() & users.notna().to_numpy()
    codes, names = pd.factorize(users.to_numpy()[known])
    if len(names) < 2:
        return len(names), float("nan")
    means = np.bincount(codes, weights=slowdown.to_numpy()[known]) / np.bincount(codes)
    return len(names), jain(means)


@names_wrong_types
def prediction(jobs: pd.DataFrame) -> dict[str, float]:
    """Return how good the predicted run times of the jobs that ran are.

    Returns
    -------
    dict
        ``predicted_jobs`` counts the jobs. ``mae`` is the mean absolute error, s. ``under`` and ``over`` are the shares
        with a prediction below and above the real run time. ``near`` is the share with real over predicted run time in
        :data:`NEAR`.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.analysis import prediction
    >>> quality = prediction(hd.simulate(hd.example(), "easy", "last2").jobs)
    >>> quality["predicted_jobs"], round(quality["mae"])
    (900, 3770)
    """
    real, predicted = real_and_predicted(jobs)
    if not len(real):
        return {"predicted_jobs": 0, **dict.fromkeys(("mae", "under", "over", "near"), float("nan"))}
    ratio = real_over_predicted(real, predicted)
    return {
        "predicted_jobs": len(real),
        "mae": float(np.abs(real - predicted).mean()),
        "under": float((predicted < real).mean()),
        "over": float((predicted > real).mean()),
        "near": float(((ratio >= NEAR[0]) & (ratio <= NEAR[1])).mean()),
    }


def real_and_predicted(jobs: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """Return the real and the predicted run time of the jobs that ran, seconds."""
    ran = jobs[(jobs["status"] != "rejected") & (jobs["end"] >= 0)]
    return ran["runtime"].to_numpy(dtype=float), ran["predicted"].to_numpy(dtype=float)


def real_over_predicted(real: FloatArray, predicted: FloatArray) -> FloatArray:
    """Return the ratio. Times below 1 s count as 1 s."""
    return np.maximum(real, 1.0) / np.maximum(predicted, 1.0)
