"""Galleguillos, Kiziltan, Sîrbu and Babaoglu, CP 2019: predictions, and PCP and HCP in their versions."""

from __future__ import annotations

import numpy as np

from .....analysis.statistics import real_and_predicted, real_over_predicted
from ..claims import calibrated, row
from ..outcome import Claim, ComparedFigure, Drawing, Run, StudyOutcome, StudySettings
from . import contenders as runs
from . import crowds
from .conditions import accuracy, conditions_of
from .months import SimulatedPart
from .parameters import parameters
from .prediction_claims import COLUMNS, TABLE2, TIMED, Values, accuracy_claims, size_claims
from .quality import fig2, fig3, fig4, on_hpc2n
from .searches import searches

#: Published values by predictor. Mean absolute error (min), shares of under- and overestimates (%).
_ACCURACY = {"W": (225.0, 3.6, 96.3), "R": (0.0, 0.0, 0.0), "D": (40.0, 25.8, 53.7)}
_METHODS = {"W": "walltime", "R": "real", "D": "heuristic"}
_DIGITS = (2, 2, 1, 1, 1, 1)


def fig1(means: StudySettings) -> StudyOutcome:
    """Return the distribution of run time over predicted run time, by predictor."""
    contest = runs.eurora(means)
    results = contest.results(("HCP3-W", "HCP3-R", "HCP3-D"), means)
    rows: list[ComparedFigure] = []
    shares: Values = {}
    curves: dict[str, list[float | str]] = {"subject": [], "x": [], "y": []}
    grid = np.round(np.linspace(0, 2.5, 251), 2)
    for label, parts in results.items():
        name = _METHODS[label[-1]]
        each = [accuracy(*real_and_predicted(part.jobs)) for part in parts]
        shares[name] = {metric: [sample[metric] for sample in each] for metric in each[0]}
        known = dict(zip(shares[name], (*_ACCURACY[label[-1]], None), strict=True))
        rows += [row(name, metric, values, known[metric], 1) for metric, values in shares[name].items()]
        ratios = np.sort(np.concatenate([real_over_predicted(*real_and_predicted(part.jobs)) for part in parts]))
        curves["subject"] += [name] * len(grid)
        curves["x"] += grid.tolist()
        curves["y"] += (np.searchsorted(ratios, grid, side="right") / max(len(ratios), 1)).tolist()
    drawing = Drawing("steps", curves, "run time / predicted run time", "share of the jobs", (0, 2.5))
    note = (
        "Predictions are those at submission, while HCP3 dispatches. The habits of the generator's users were fitted "
        "to these figures, so that the claims are calibrated and do not count."
    )
    conditions = conditions_of(results["HCP3-D"], results["HCP3-W"], contest.nodes)
    claims = tuple(map(calibrated, accuracy_claims(shares)))
    return StudyOutcome(
        (*runs.notes(means), note),
        tuple(rows),
        claims,
        drawing,
        conditions.all,
        parameters(means.scale),
        runs.runs_of(means),
    )


def table2(means: StudySettings) -> StudyOutcome:
    """Return times and problem sizes. Runs under a budget are included."""
    contest = runs.eurora(means)
    results = contest.results(runs.in_time([label for label in TABLE2 if label != "HCP"], means), means)
    values = {name: _sizes(parts) for name, parts in results.items()}
    brief = means.scale == "brief"
    stopped = {label: _sizes(parts) for label, parts in ({} if brief else runs.stopped(contest, means)).items()}
    early = crowds.early(contest, means)
    stopped["HCP"] = _sizes(early["HCP"])
    rows = [
        row(name, column, each[column], known, digits, column in TIMED)
        for name, each in (stopped | values).items()
        for column, known, digits in zip(COLUMNS, TABLE2.get(name, (None,) * 6), _DIGITS, strict=True)
    ]
    budget = runs.PCP_BUDGET[means.scale]
    crash = Claim(
        "PCP cannot process the workload",
        None,
        f"PCP, first {budget} jobs: {'not run' if brief else 'ended'}; the paper: it crashes within the 400,000 jobs",
        unmet=f"PCP runs without a budget (here it has {budget} jobs of each draw)",
    )
    note = (
        "Means over all calls of the dispatcher. Times are of the wall clock, on the machine that made them and beside "
        "other work, and differ between runs. The paper's are of a 16-core Xeon and a patched OR-Tools 6.7 with a "
        "limit of 1 to 16 s. What cannot finish is stopped after a budget of jobs, and its row is of these."
    )
    conditions = conditions_of(results["HCP3-D"], results["HCP1-W"], contest.nodes)
    first = {label: _sizes(parts) for label, parts in early.items()}
    of_early = conditions_of(early["HCP3-D"], early["HCP1-W"], contest.nodes)
    claims = (*size_claims(values, conditions), *size_claims(first, of_early, with_zero=True), crash)
    notes = (*runs.notes(means), crowds.note(means.scale, len(early["HCP"])), note)
    return StudyOutcome(notes, tuple(rows), claims, None, conditions.all, parameters(means.scale), runs.runs_of(means))


def _sizes(parts: list[SimulatedPart]) -> dict[str, list[float]]:
    """Return the columns of the table for each part."""
    columns: dict[str, list[float]] = {name: [] for name in COLUMNS}
    for part in parts:
        sizes = part.decisions.reindex(columns=["intervals", "requested", "available"]).mean()
        measured = (1000 * float(part.seconds.mean()), part.prediction_s, part.simulation_s, *sizes.tolist())
        for name, value in zip(COLUMNS, measured, strict=True):
            columns[name].append(float(value))
    return columns


RUNS: dict[str, Run] = {
    "cp2019/table2": table2,
    "cp2019/fig1": fig1,
    "cp2019/fig2": fig2,
    "cp2019/fig3": fig3,
    "cp2019/fig4": fig4,
    "cp2019/searches": searches,
    "cp2019/hpc2n": on_hpc2n,
}
