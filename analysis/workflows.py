"""Analyse runs of workflows: ranges of run times, and whether they follow the size of the input."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..base import FloatArray, InputError
from ..base.argument_types import names_wrong_types
from ..models.complexity import CONSTANT, LEAST_SIZES, ComplexityFit, fit_complexity

#: A correlation above this explains the time; Gainaru et al., IJHPCA 2019, section 3.2.
EXPLAINS = 0.7
#: Percentiles of the run times in figure 2 there: the line, the box and the dash in it.
PERCENTILES = {"min": 0, "p10": 10, "median": 50, "p90": 90, "max": 100}


@dataclass(frozen=True)
class Workflow:
    """The runs of a workflow and its fit.

    Attributes
    ----------
    name
        Its name.
    sizes, times
        Of the runs, in the units of their table; shape (runs,).
    fit
        The classes of complexity; ``None`` where there are too few different sizes.
    note
        Remarks for the user, may be empty.

    Examples
    --------
    >>> import pandas as pd
    >>> from hpcdispatch.analysis import analyze
    >>> runs = pd.DataFrame({"workflow": "fsl", "size": [1.0, 2, 4, 8, 16], "time": [10.0, 21, 39, 82, 160]})
    >>> workflow = analyze(runs)[0]
    >>> workflow.name, workflow.fit.best.complexity
    ('fsl', 'n')
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


@names_wrong_types
def analyze(runs: pd.DataFrame, explains: float = EXPLAINS) -> tuple[Workflow, ...]:
    """Return every workflow, in the order of their median times.

    Parameters
    ----------
    runs
        Columns ``workflow``, ``size`` and ``time``, one row per run.
    explains
        Only a correlation above this explains the time.

    Raises
    ------
    InputError
        If no workflow has sizes that differ enough for a fit.

    Examples
    --------
    >>> import pandas as pd
    >>> from hpcdispatch.analysis import analyze
    >>> runs = pd.DataFrame({"workflow": "fsl", "size": [1.0, 2, 4, 8, 16], "time": [10.0, 21, 39, 82, 160]})
    >>> [workflow.fit.best.complexity for workflow in analyze(runs)]
    ['n']
    """
    workflows = [_workflow(str(name), group, explains) for name, group in runs.groupby("workflow", sort=False)]
    if all(workflow.fit is None for workflow in workflows):
        most = runs.groupby("workflow")["size"].nunique().max()
        whose = "" if len(workflows) == 1 else " in any workflow"
        raise InputError(f"expected at least {LEAST_SIZES} different sizes to fit, got {most}{whose}")
    return tuple(sorted(workflows, key=lambda workflow: (workflow.range["median"], workflow.name)))


@names_wrong_types
def phase_table(runs: pd.DataFrame, phases: Sequence[str]) -> pd.DataFrame:
    """Return how each phase of a workflow contributes to its run time.

    Source: Gainaru et al., section 5.1, figure 10.

    Parameters
    ----------
    runs
        One row per run, with the time of each phase in a column. Other columns do not count as time.
    phases
        The columns, at least one.

    Returns
    -------
    pandas.DataFrame
        One row per phase: ``phase``, ``mean``, ``variation``, ``correlation`` and ``share``. The variation is the
        standard deviation over the mean. The correlation is with the sum of the phases. The share is of the variance of
        that sum; all shares add up to 1. NaN where nothing varies.

    Raises
    ------
    InputError
        If there is no run or phase, or a phase is no column. Also if a time is not a finite number >= 0.

    Examples
    --------
    >>> import pandas as pd
    >>> from hpcdispatch.analysis import phase_table
    >>> runs = pd.DataFrame({"read": [10.0, 11, 10], "solve": [100.0, 150, 120]})
    >>> phase_table(runs, ["read", "solve"])[["phase", "mean", "share"]].round(2)
       phase    mean  share
    0   read   10.33   0.02
    1  solve  123.33   0.98
    """
    missing = [phase for phase in phases if phase not in runs]
    if missing or not len(phases) or runs.empty:
        wanted = f"a column {missing[0]!r}" if missing else "at least one phase and one run"
        raise InputError(f"phases: expected {wanted}, got columns {', '.join(map(str, runs.columns))}")
    times = runs[list(phases)].to_numpy(dtype=np.float64)
    for place, phase in np.argwhere(~(np.isfinite(times) & (times >= 0))).tolist():
        raise InputError(f"run {place + 1}: {phases[phase]}: expected a time >= 0, got {times[place, phase]:g}")
    total = times.sum(axis=1)
    spread = float(total.var())
    deviation = times.std(axis=0)
    together = ((times - times.mean(axis=0)) * (total - total.mean())[:, None]).mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return pd.DataFrame(
            {
                "phase": list(phases),
                "mean": times.mean(axis=0),
                "variation": deviation / times.mean(axis=0),
                "correlation": together / (deviation * math.sqrt(spread)),
                "share": together / spread,
            }
        )


def _workflow(name: str, runs: pd.DataFrame, explains: float) -> Workflow:
    sizes, times = (runs[column].to_numpy(dtype=np.float64) for column in ("size", "time"))
    different = len(np.unique(sizes))
    if different < LEAST_SIZES:
        return Workflow(name, sizes, times, None, f"fewer than {LEAST_SIZES} different sizes: {different}")
    fit = fit_complexity(sizes, times)
    return Workflow(name, sizes, times, fit, _note(fit, sizes, explains))


def _note(fit: ComplexityFit, sizes: FloatArray, explains: float) -> str:
    """Return why the size does not explain the time, and whether the unit of the sizes is too large."""
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


@names_wrong_types
def summary_table(workflows: Sequence[Workflow]) -> pd.DataFrame:
    """Return a row for each workflow.

    The columns are ``workflow``, ``runs`` and the :data:`PERCENTILES` of the times, then those of the best class:
    ``best``, ``tied``, ``correlation``, ``spearman``, ``mse``, ``error`` and ``note``. The error is the root of the
    left-out MSE over the mean time.

    Examples
    --------
    >>> import pandas as pd
    >>> from hpcdispatch.analysis import analyze, summary_table
    >>> runs = pd.DataFrame({"workflow": "fsl", "size": [1.0, 2, 4, 8, 16], "time": [10.0, 21, 39, 82, 160]})
    >>> summary_table(analyze(runs))[["workflow", "runs", "median", "best"]]
      workflow  runs  median best
    0      fsl     5    39.0    n
    """
    rows = []
    for workflow in workflows:
        row: dict[str, object] = {"workflow": workflow.name, "runs": len(workflow.times), **workflow.range}
        if workflow.fit is not None:
            best = workflow.fit.best
            mean = float(workflow.times.mean())
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


@names_wrong_types
def class_table(workflows: Sequence[Workflow]) -> pd.DataFrame:
    """Return a row for each workflow and class.

    Columns: ``workflow``, ``class``, ``intercept``, ``slope``, ``correlation``, ``mse``, ``left_out_mse`` and
    ``verdict``. The verdict is ``best``, ``tied`` or empty.

    Examples
    --------
    >>> import pandas as pd
    >>> from hpcdispatch.analysis import analyze, class_table
    >>> runs = pd.DataFrame({"workflow": "fsl", "size": [1.0, 2, 4, 8, 16], "time": [10.0, 21, 39, 82, 160]})
    >>> class_table(analyze(runs))[["class", "verdict"]].head(3)
       class verdict
    0      1
    1  log n
    2      n    best
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
