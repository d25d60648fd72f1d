"""Draw figures 2 to 4 of the CP 2019 paper. They show mean and standard deviation of slowdown and wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from .....analysis.statistics import real_and_predicted
from .....simulation.metrics import CLASSES, job_metrics
from ..claims import row
from ..outcome import Claim, ComparedFigure, Drawing, StudyOutcome, StudySettings
from . import contenders as runs
from . import crowds
from .conditions import Conditions, accuracy, conditions_of
from .months import SimulatedPart
from .parameters import VARIANTS, parameters
from .prediction_claims import Values, accuracy_claims, class_claims, early_claims, hcp_claims, pcp_claims

Class = tuple[str, str, float, float]
#: Metric suffix of a class, its title, and its run time range (s).
_ALL = ("", "", 0.0, np.inf)
_MEDIUM, _LONG = ((f"_{name}", f"{name} jobs: ", float(low), float(high)) for name, low, high in CLASSES[1:])
_DIGITS = {"slowdown": 1, "wait": 0}
_HEADERS = {"slowdown": "slowdown", "wait": "wait, s"}


def fig2(means: StudySettings) -> StudyOutcome:
    """Return slowdown and wait of the versions of PCP."""
    return _quality(runs.eurora(means), runs.in_time(runs.PCPS, means), (_ALL,), pcp_claims, means)


def fig3(means: StudySettings) -> StudyOutcome:
    """Return slowdown and wait of the versions of HCP and of others. HCP as printed runs under a budget."""
    contest = runs.eurora(means)
    outcome = _quality(contest, runs.HCPS, (_ALL,), hcp_claims, means)
    others = runs.varied(contest, VARIANTS, means)
    first = crowds.early(contest, means)
    values = _values(first, (_ALL,))
    conditions = conditions_of(first["HCP3-D"], first["HCP1-W"], contest.nodes)
    named = {f"{label}, budget": metrics for label, metrics in values.items()}
    rows = _rows(_values(others, (_ALL,)) | named, (_ALL,))
    del values[crowds.AS_PRINTED]
    note = "Rows with a budget are of its jobs. FCFS, EASY and lookahead are not in the paper."
    claims = (*outcome.claims, *early_claims(values, conditions))
    return replace(
        outcome,
        notes=(*outcome.notes, crowds.note(means.scale, len(first["HCP"])), note),
        rows=(*outcome.rows, *rows),
        claims=claims,
    )


def fig4(means: StudySettings) -> StudyOutcome:
    """Return slowdown and wait of medium and long jobs. The utilization is included."""
    labels = tuple(dict.fromkeys((*runs.in_time(runs.PCPS, means), *runs.HCPS)))
    outcome = _quality(runs.eurora(means), labels, (_MEDIUM, _LONG), class_claims, means, use=True)
    limits = (
        "Medium jobs run for 1-5 h, long ones for more. Not penalised: at most 5% above version 1 with requested "
        "times. Utilization alike: within 5%."
    )
    return replace(outcome, notes=(*outcome.notes, limits))


def on_hpc2n(means: StudySettings) -> StudyOutcome:
    """Return slowdown and wait on HPC2N, for versions 1 to 3."""
    labels = tuple(dict.fromkeys((*runs.PCPS, *runs.HCPS)))

    def claims(values: Values, conditions: Conditions) -> tuple[Claim, ...]:
        shares = {"walltime": values["HCP3-W"], "heuristic": values["HCP3-D"]}
        return (*accuracy_claims(shares), *pcp_claims(values, conditions), *hcp_claims(values, conditions))

    outcome = _quality(runs.hpc2n(means), labels, (_ALL,), claims, means)
    return replace(outcome, notes=runs.hpc2n_notes(means), parameters=(), runs=str(len(runs.hpc2n_firsts(means))))


def _quality(
    contest: runs.Contest,
    labels: tuple[str, ...],
    classes: Sequence[Class],
    claims: Callable[[Values, Conditions], tuple[Claim, ...]],
    means: StudySettings,
    *,
    use: bool = False,
) -> StudyOutcome:
    results = contest.results(labels, means)
    values = _values(results, classes)
    guessed, requested = ("PCP3-D", "HCP3-D", "FAST-D"), ("PCP1-W", "HCP1-W", "FAST-W")
    first, second = (next(results[label] for label in each if label in results) for each in (guessed, requested))
    conditions = conditions_of(first, second, contest.nodes, contest.named)
    rows = _rows(values, classes)
    if use:
        rows += [
            row(label, "utilization, %", [100 * share for share in each["utilization"]], digits=1)
            for label, each in values.items()
        ]
    return StudyOutcome(
        runs.notes(means),
        tuple(rows),
        claims(values, conditions),
        _bars(values, classes),
        conditions.all,
        parameters(means.scale),
        runs.runs_of(means),
    )


def _rows(values: Values, classes: Sequence[Class]) -> list[ComparedFigure]:
    rows: list[ComparedFigure] = []
    for suffix, name, *_ in classes:
        for metric, header in _HEADERS.items():
            for label, each in values.items():
                mean = each[metric + suffix]
                spread = each[f"{metric}_deviation{suffix}"]
                digits = _DIGITS[metric]
                rows += [row(label, f"{name}mean {header}", _finite(mean), digits=digits)]
                rows += [ComparedFigure(label, f"{name}deviation of {header}", _mean(spread), digits=digits)]
    return rows


def _finite(values: Sequence[float]) -> list[float]:
    """Return the parts' values where they exist, NaN if none does."""
    return [value for value in values if np.isfinite(value)] or [np.nan]


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(_finite(values)))


def _bars(values: Values, classes: Sequence[Class]) -> Drawing:
    bars: dict[str, list[float | str]] = {"panel": [], "subject": [], "value": [], "deviation": []}
    for suffix, name, *_ in classes:
        for metric, header in _HEADERS.items():
            for label, each in values.items():
                bars["panel"].append(f"{name}{header}")
                bars["subject"].append(label)
                bars["value"].append(_mean(each[metric + suffix]))
                bars["deviation"].append(_mean(each[f"{metric}_deviation{suffix}"]))
    return Drawing("bars", bars)


def _values(results: runs.Runs, classes: Sequence[Class]) -> Values:
    return {label: _measured(parts, classes) for label, parts in results.items()}


def _measured(parts: Sequence[SimulatedPart], classes: Sequence[Class]) -> dict[str, list[float]]:
    """Return each part's metrics, and how well its run times were predicted. NaN where a class has no jobs."""
    metrics: dict[str, list[float]] = {"utilization": []}
    for part in parts:
        metrics["utilization"].append(part.utilization)
        for metric, value in accuracy(*real_and_predicted(part.jobs)).items():
            metrics.setdefault(metric, []).append(value)
        jobs = job_metrics(part.jobs)
        for suffix, _, low, high in classes:
            chosen = jobs[(jobs["run"] >= low) & (jobs["run"] < high)]
            for metric in _HEADERS:
                values = chosen[metric].to_numpy(dtype=float)
                mean, spread = (float(values.mean()), float(values.std())) if len(values) else (np.nan, np.nan)
                metrics.setdefault(metric + suffix, []).append(mean)
                metrics.setdefault(f"{metric}_deviation{suffix}", []).append(spread)
    return metrics
