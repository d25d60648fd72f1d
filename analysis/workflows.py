"""Workflows by their runs: ranges of the run times, and whether these follow the size of the input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..base import FloatArray, InputError
from ..models.complexity import CONSTANT, LEAST_SIZES, ComplexityFit, fit_complexity

#: Correlations above this explain the time; Gainaru et al., IJHPCA 2019, section 3.2.
EXPLAINS = 0.7
#: What figure 2 there shows of run times: the line, the bin and the dash in it, in percent of the runs.
PERCENTILES = {"min": 0, "p10": 10, "median": 50, "p90": 90, "max": 100}


@dataclass(frozen=True)
class Workflow:
    """The runs of a workflow and what is found.

    Attributes
    ----------
    name
        Of the workflow.
    sizes, times
        Of the runs, in the units of their table; shape (runs,).
    fit
        The classes of complexity; ``None`` where there are too few different sizes.
    note
        What is to be known of it, if anything.
    """

    name: str
    sizes: FloatArray
    times: FloatArray
    fit: ComplexityFit | None
    note: str

    @property
    def range(self) -> dict[str, float]:
        """The :data:`PERCENTILES` of the times."""
        return dict(zip(PERCENTILES, np.percentile(self.times, list(PERCENTILES.values())).tolist(), strict=True))


def analyze(runs: pd.DataFrame, explains: float = EXPLAINS) -> tuple[Workflow, ...]:
    """Return every workflow, that with the least median time first.

    Parameters
    ----------
    runs
        Columns ``workflow``, ``size`` and ``time``, a row a run.
    explains
        A correlation that is not above it does not explain the time.

    Raises
    ------
    InputError
        If no workflow has sizes that differ enough for a fit.
    """
    found = [_workflow(str(name), group, explains) for name, group in runs.groupby("workflow", sort=False)]
    if all(workflow.fit is None for workflow in found):
        most = runs.groupby("workflow")["size"].nunique().max()
        whose = "" if len(found) == 1 else " in any workflow"
        raise InputError(f"expected at least {LEAST_SIZES} different sizes to fit, got {most}{whose}")
    return tuple(sorted(found, key=lambda workflow: (workflow.range["median"], workflow.name)))


def phase_table(runs: pd.DataFrame, phases: Sequence[str]) -> pd.DataFrame:
    """Return what each phase of a workflow has to do with how long it runs (Gainaru et al., section 5.1, figure 10).

    Parameters
    ----------
    runs
        A row a run, with the time of each phase in a column; what is in none of `phases` is no part of the time.
    phases
        The columns, at least one.

    Returns
    -------
    pandas.DataFrame
        A row a phase: ``phase``, ``mean``, ``variation`` (standard deviation over the mean), ``correlation`` with the
        sum of the phases, and ``share`` of the variance of the sum, which for all phases together is 1. NaN where
        nothing varies.

    Raises
    ------
    InputError
        If there is no run or phase, a phase is no column, or a time is not a finite number >= 0.
    """
    missing = [phase for phase in phases if phase not in runs]
    if missing or not len(phases) or runs.empty:
        wanted = f"a column {missing[0]!r}" if missing else "at least one phase and one run"
        raise InputError(f"phases: expected {wanted}, got columns {', '.join(map(str, runs.columns))}")
    times = runs[list(phases)].to_numpy(dtype=np.float64)
    for place, phase in np.argwhere(~(np.isfinite(times) & (times >= 0))).tolist():
        raise InputError(f"run {place + 1}: {phases[phase]}: expected a time >= 0, got {times[place, phase]:g}")
    total = times.sum(axis=1)
    spread, deviation = float(total.var()), times.std(axis=0)
    together = ((times - times.mean(axis=0)) * (total - total.mean())[:, None]).mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return pd.DataFrame({
            "phase": list(phases),
            "mean": times.mean(axis=0),
            "variation": deviation / times.mean(axis=0),
            "correlation": together / (deviation * math.sqrt(spread)),
            "share": together / spread,
        })  # fmt: skip


def _workflow(name: str, runs: pd.DataFrame, explains: float) -> Workflow:
    sizes, times = (runs[column].to_numpy(dtype=np.float64) for column in ("size", "time"))
    different = len(np.unique(sizes))
    if different < LEAST_SIZES:
        return Workflow(name, sizes, times, None, f"fewer than {LEAST_SIZES} different sizes: {different}")
    fit = fit_complexity(sizes, times)
    return Workflow(name, sizes, times, fit, _note(fit, sizes, explains))


def _note(fit: ComplexityFit, sizes: FloatArray, explains: float) -> str:
    """Return what the size does not say of the time, and where the sizes are in too large a unit."""
    if math.isnan(fit.pearson):
        return "the time does not vary"
    notes = []
    if fit.spearman < -explains:
        notes.append(f"the time falls as the size grows: Spearman {fit.spearman:.2f}")
    elif fit.best.complexity == CONSTANT or fit.correlation <= explains:
        whose = "the size" if fit.best.complexity == CONSTANT else "the best class"
        notes.append(f"unpredictable from the size: correlation with {whose} {fit.correlation:.2f}, limit {explains:g}")
        if fit.spearman > explains:
            notes[0] = f"grows as none of the classes does: Spearman {fit.spearman:.2f}"
    if np.median(sizes) < 10:
        notes.append("sizes below 10, where log(1 + n) is far from log n: use a smaller unit")
    return "; ".join(notes)


def summary_table(workflows: Sequence[Workflow]) -> pd.DataFrame:
    """Return a row for each workflow.

    Columns: ``workflow``, ``runs``, the :data:`PERCENTILES` of the times, ``best`` class, those ``tied`` with it,
    ``correlation`` and ``spearman``, ``mse``, ``error`` (root of the left-out MSE over the mean time) and ``note``.
    """
    rows = []
    for workflow in workflows:
        row: dict[str, object] = {"workflow": workflow.name, "runs": len(workflow.times), **workflow.range}
        if workflow.fit is not None:
            best, mean = workflow.fit.best, float(workflow.times.mean())
            row |= {
                "best": best.complexity,
                "tied": ", ".join(name for name in workflow.fit.tied if name != best.complexity),
                "correlation": workflow.fit.correlation,
                "spearman": workflow.fit.spearman,
                "mse": best.mse,
                "error": math.sqrt(best.left_out_mse) / mean if mean else math.nan,
            }
        rows.append(row | {"note": workflow.note})
    columns = ["best", "tied", "correlation", "spearman", "mse", "error", "note"]
    return pd.DataFrame(rows, columns=["workflow", "runs", *PERCENTILES, *columns])


def class_table(workflows: Sequence[Workflow]) -> pd.DataFrame:
    """Return a row for each workflow and class.

    Columns: ``workflow``, ``class``, ``intercept``, ``slope``, ``correlation``, ``mse``, ``left_out_mse``, and
    ``verdict``, which is ``best``, ``tied`` or nothing.
    """
    of_fit = ["intercept", "slope", "correlation", "mse", "left_out_mse"]
    rows = [
        [
            workflow.name,
            fit.complexity,
            *(getattr(fit, name) for name in of_fit),
            "best" if fit is workflow.fit.best else "tied" if fit.tied else "",
        ]
        for workflow in workflows
        if workflow.fit is not None
        for fit in workflow.fit.classes
    ]
    return pd.DataFrame(rows, columns=["workflow", "class", *of_fit, "verdict"])
