"""Figures 2 to 4 of the CP 2019 paper: mean and standard deviation of slowdown and wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....simulation import Result
from ....simulation.metrics import CLASSES, job_metrics
from ..claims import row
from ..outcome import Claim, Drawing, Means, Outcome, Row
from . import contenders as runs
from .prediction_claims import Values, class_claims, hcp_claims, pcp_claims

#: Suffix of the metrics of a class, what it is called, and its least and largest run time, seconds.
_ALL = ("", "", 0.0, np.inf)
_MEDIUM, _LONG = ((f"_{name}", f"{name} jobs: ", float(low), float(high)) for name, low, high in CLASSES[1:])
_DIGITS = {"slowdown": 1, "wait": 0}
_HEADERS = {"slowdown": "slowdown", "wait": "wait, s"}


_NO_PBS = "PBS, the scheduler of the paper's machine, is left out: nothing here was dispatched by it."


def fig2(means: Means) -> Outcome:
    """Return slowdown and wait of the versions of PCP."""
    return _quality(runs.PCPS, (_ALL,), pcp_claims, means)


def fig3(means: Means) -> Outcome:
    """Return slowdown and wait of the versions of HCP."""
    return _quality(runs.HCPS, (_ALL,), hcp_claims, means)


def fig4(means: Means) -> Outcome:
    """Return slowdown and wait of medium and long jobs, and the utilization."""
    found = _quality((*runs.PCPS, *runs.HCPS), (_MEDIUM, _LONG), class_claims, means, use=True)
    limits = (
        "Medium jobs run for 1-5 h, long ones for more. Not penalised: at most 5% above version 1 with requested "
        "times. Utilization alike: within 5%."
    )
    return Outcome((*found.notes, limits), found.rows, found.claims, found.drawing)


def _quality(
    labels: tuple[str, ...],
    classes: Sequence[tuple[str, str, float, float]],
    claims: Callable[[Values], tuple[Claim, ...]],
    means: Means,
    *,
    use: bool = False,
) -> Outcome:
    found = runs.results(labels, means)
    values = {label: _measured(results, classes) for label, results in found.items()}
    rows: list[Row] = []
    bars: dict[str, list[float | str]] = {"panel": [], "subject": [], "value": [], "deviation": []}
    for suffix, name, *_ in classes:
        for metric, header in _HEADERS.items():
            for label, each in values.items():
                mean, spread = each[metric + suffix], each[f"{metric}_deviation{suffix}"]
                digits = _DIGITS[metric]
                rows += [row(label, f"{name}mean {header}", mean, digits=digits)]
                rows += [Row(label, f"{name}deviation of {header}", float(np.mean(spread)), digits=digits)]
                bars["panel"].append(f"{name}{header}")
                bars["subject"].append(label)
                bars["value"].append(float(np.mean(mean)))
                bars["deviation"].append(float(np.mean(spread)))
    if use:
        rows += [row(label, "utilization, %", [100 * share for share in each["utilization"]], digits=1)
                 for label, each in values.items()]  # fmt: skip
    return Outcome((*runs.notes(means.scale), _NO_PBS), tuple(rows), claims(values), Drawing("bars", bars))


def _measured(results: Sequence[Result], classes: Sequence[tuple[str, str, float, float]]) -> dict[str, list[float]]:
    """Return the metrics of each sample; NaN where a class has no jobs."""
    found: dict[str, list[float]] = {"utilization": []}
    for result in results:
        found["utilization"].append(result.summary()["utilization"])
        jobs = job_metrics(result.jobs)
        for suffix, _, low, high in classes:
            chosen = jobs[(jobs["run"] >= low) & (jobs["run"] < high)]
            for metric in _HEADERS:
                values = chosen[metric].to_numpy(dtype=float)
                mean, spread = (float(values.mean()), float(values.std())) if len(values) else (np.nan, np.nan)
                found.setdefault(metric + suffix, []).append(mean)
                found.setdefault(f"{metric}_deviation{suffix}", []).append(spread)
    return found
