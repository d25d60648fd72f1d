"""Galleguillos, Kiziltan, Sîrbu and Babaoglu, CP 2019: predictions, and PCP and HCP in their versions."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ....simulation import Result
from ..claims import Floats, row
from ..outcome import Claim, Drawing, Means, Outcome, Row, Run
from . import contenders as runs
from .prediction_claims import COLUMNS, TABLE2, TIMED, Values, accuracy_claims, size_claims
from .quality import fig2, fig3, fig4

#: Published mean absolute error (min) and shares of under- and overestimates (%) by predictor.
_ACCURACY = {"W": (225.0, 3.6, 96.3), "R": (0.0, 0.0, 0.0), "D": (40.0, 25.8, 53.7)}
_METHODS = {"W": "wall-time", "R": "real", "D": "heuristic"}
_DIGITS = (2, 2, 1, 1, 1, 1)


def fig1(means: Means) -> Outcome:
    """Return the distribution of run time / predicted run time by predictor."""
    found = runs.results(("HCP3-W", "HCP3-R", "HCP3-D"), means)
    rows: list[Row] = []
    shares: Values = {}
    curves: dict[str, list[float | str]] = {"subject": [], "x": [], "y": []}
    grid = np.round(np.linspace(0, 2.5, 251), 2)
    for label, results in found.items():
        name = _METHODS[label[-1]]
        each = [_accuracy(result.jobs) for result in results]
        shares[name] = {metric: [sample[metric] for sample in each] for metric in each[0]}
        known = dict(zip(shares[name], (*_ACCURACY[label[-1]], None), strict=True))
        rows += [row(name, metric, values, known[metric], 1) for metric, values in shares[name].items()]
        ratios = np.sort(np.concatenate([_ratio(result.jobs) for result in results]))
        curves["subject"] += [name] * len(grid)
        curves["x"] += grid.tolist()
        curves["y"] += (np.searchsorted(ratios, grid, side="right") / max(len(ratios), 1)).tolist()
    drawing = Drawing("steps", curves, "run time / predicted run time", "share of the jobs", (0, 2.5))
    note = (
        "Predictions are those at submission, while HCP3 dispatches. Run times are the trace's, which has jobs past "
        "their requested time, as the paper's has."
    )
    return Outcome((*runs.notes(means.scale), note), tuple(rows), accuracy_claims(shares), drawing)


def _times(jobs: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return real and predicted run times of the jobs that ran."""
    chosen = jobs[jobs["attempts"] > 0]
    real, predicted = chosen["runtime"], chosen["predicted"]
    return real.to_numpy(dtype=float), predicted.to_numpy(dtype=float)


def _ratio(jobs: pd.DataFrame) -> Floats:
    real, predicted = _times(jobs)
    found: Floats = np.maximum(real, 1.0) / np.maximum(predicted, 1.0)
    return found


def _accuracy(jobs: pd.DataFrame) -> dict[str, float]:
    """Return how well the run times were predicted when the jobs were submitted."""
    ratio = _ratio(jobs)
    real, predicted = _times(jobs)
    return {
        "mean absolute error, min": float(np.abs(real - predicted).mean() / 60),
        "underestimated, %": float(100 * (ratio > 1).mean()),
        "overestimated, %": float(100 * (ratio < 1).mean()),
        "within 0.75-1.25, %": float(100 * ((ratio >= 0.75) & (ratio <= 1.25)).mean()),
    }


def table2(means: Means) -> Outcome:
    """Return times and problem sizes, PCP under a cap first."""
    label, few = runs.capped(means)
    values = {name: _sizes(results) for name, results in runs.results(tuple(TABLE2), means).items()}
    rows = [
        row(name, column, each[column], known, digits, column in TIMED)
        for name, each, published in [(label, _sizes(few), (None,) * 6)]
        + [(name, values[name], TABLE2[name]) for name in TABLE2]
        for column, known, digits in zip(COLUMNS, published, _DIGITS, strict=True)
    ]
    crash = Claim(
        "PCP cannot process the workload",
        None,
        f"{label}, ended, under a cap of the solver's time; the paper: it crashes within the 400,000 jobs",
    )
    note = (
        "Means over all calls of the dispatcher. Times are of the wall clock, on whatever machine made them, whatever "
        "else ran on it, and never the same twice; the paper's are of a 16-core Xeon and a patched OR-Tools 6.7 with a "
        "limit of 1 to 16 s."
    )
    return Outcome((*runs.notes(means.scale), note), tuple(rows), (*size_claims(values), crash))


def _sizes(results: list[Result]) -> dict[str, list[float]]:
    """Return the columns of the table for each sample."""
    found: dict[str, list[float]] = {name: [] for name in COLUMNS}
    for result in results:
        times, sizes = result.summary(), result.decisions[["intervals", "requested", "available"]].mean()
        measured = (times["decision_ms_mean"], times["prediction_s"], times["simulation_s"], *sizes.tolist())
        for name, value in zip(COLUMNS, measured, strict=True):
            found[name].append(float(value))
    return found


RUNS: dict[str, Run] = {
    "cp2019/table2": table2,
    "cp2019/fig1": fig1,
    "cp2019/fig2": fig2,
    "cp2019/fig3": fig3,
    "cp2019/fig4": fig4,
}
