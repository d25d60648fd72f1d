"""Draw the figures of IJHPCA 2019 by pattern.

Gainaru, Sun, Aupy, Huo, Landman and Raghavan compare on-the-fly scheduling with reservations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..claims import row
from ..outcome import Claim, ComparedFigure, Drawing, Run, StudyOutcome, StudySettings
from . import patterns as runs
from . import workflow_complexity as table1
from .pattern_claims import (
    RBS,
    hybrid_claims,
    hybrid_conditions,
    stretch_claims,
    utilization_claims,
)
from .pattern_surface import hybrid_parameters, parameters, surface
from .patterns import FAILURES, RESERVED, STRETCH, UTILIZATION, WAIT, WINDOW, PatternResults
from .workload_figures import RUNS as WORKLOADS

#: Mean estimation ratios in the tables. The drawing and its CSV have all.
_SHOWN = (0.5, 0.8, 1.0, 1.2, 1.5, 1.7)
_AXIS = "mean estimation ratio"
_BEYOND = (
    "The failures are those of the jobs that RBS killed at their requests. The CSV has every mean estimation ratio."
)


def fig8(means: StudySettings) -> StudyOutcome:
    """Return the utilization by mean estimation ratio, pattern by pattern."""
    printed = {"RBS": (20, 65), "RBS anew": (20, 65), "LEJF": (45, 90)}
    return _by_pattern(means, (UTILIZATION, FAILURES, WINDOW), printed, utilization_claims)


def fig9(means: StudySettings) -> StudyOutcome:
    """Return average stretch by mean estimation ratio, for each pattern."""
    printed = {"SEJF": (1, 3), "LEJF": (1, 3)}
    return _by_pattern(means, (STRETCH, WAIT), printed, stretch_claims)


def _by_pattern(
    means: StudySettings,
    metrics: Sequence[str],
    printed: Mapping[str, tuple[float, float]],
    claims: Callable[[PatternResults], tuple[Claim, ...]],
) -> StudyOutcome:
    """Return the outcome of a figure, drawn from its first metric. `printed` are ranges over all patterns."""
    results = runs.measured(tuple(runs.PATTERNS), runs.DISPATCHERS, means)
    rows = (*_rows(results, metrics), *_ranges(results, metrics[0], printed))
    drawing = _drawing(results, metrics[0], runs.PATTERNS)
    notes = (*runs.notes(means), _BEYOND)
    varied = () if means.control else parameters(metrics[0], means)
    return StudyOutcome(notes, rows, claims(results), drawing, (), varied, runs.runs_of(means))


def fig12(means: StudySettings) -> StudyOutcome:
    """Return utilization and average stretch of the hybrid beside RBS."""
    results = runs.measured((runs.MIX,), runs.HYBRIDS, means, runs.MIXED)
    rows = _rows(results, (UTILIZATION, STRETCH, RESERVED, FAILURES))
    panels = [_drawing(results, metric, {runs.MIX: metric}, failures=False).data for metric in (UTILIZATION, STRETCH)]
    data = {name: [*panels[0][name], *panels[1][name]] for name in panels[0]}
    note = (
        "300 jobs of one node and 30 of half the machine. The paper says no more of the wide jobs; their run times are "
        "taken as uniform between 3 and 15 h. The paper does not say what the hybrid is compared with: here, with RBS "
        "on the same jobs. EASY is not in the paper, either. Where its jobs run on, estimates only order its "
        "backfilling. So it tells the gain of not killing from that of the hybrid. A checkpoint takes 60 s. The "
        f"machine is not that of figures 8 and 9: {runs.MIXED}, a load near 1. All wide jobs come in every other of "
        f"{runs.PHASES} phases, so that both modes have something to do."
    )
    conditions = tuple(hybrid_conditions(results).values())
    drawing = Drawing("lines", data, _AXIS)
    notes = (*runs.notes(means), note)
    varied = () if means.control else hybrid_parameters(means)
    return StudyOutcome(notes, tuple(rows), hybrid_claims(results), drawing, conditions, varied, runs.runs_of(means))


def _ranges(results: PatternResults, metric: str, published: Mapping[str, tuple[float, float]]) -> list[ComparedFigure]:
    """Return the least and the most mean over all patterns and ratios."""
    rows = []
    for label, known in published.items():
        each = [metrics[metric] for (_, named, _), metrics in results.items() if named == label]
        ordered = sorted(each, key=sum)
        for subject, values, printed in zip(
            ("least of all", "most of all"), (ordered[0], ordered[-1]), known, strict=True
        ):
            rows.append(row(subject, f"{label}: {metric}", values, printed, 1))
    return rows


def _rows(results: PatternResults, metrics: Sequence[str]) -> list[ComparedFigure]:
    """Return the numbers at some ratios. Failures are only those of RBS."""
    return [
        row(
            f"{runs.PATTERNS.get(pattern, '')} at {ratio}".strip(),
            f"{label}: {metric}",
            metrics[metric],
            digits=int(metric != FAILURES),
        )
        for metric in metrics
        for (pattern, label, ratio), metrics in results.items()
        if ratio in _SHOWN and (metric != FAILURES or label in RBS)
    ]


def _drawing(results: PatternResults, metric: str, panels: Mapping[str, str], failures: bool = True) -> Drawing:
    data: dict[str, list[object]] = {name: [] for name in ("panel", "subject", "x", "value", "low", "high", "counted")}
    for (pattern, label, ratio), metrics in results.items():
        drawn = [(label, metric, False)] + [("failures of RBS", FAILURES, True)] * (failures and label == "RBS")
        for subject, name, bars in drawn:
            mean = row("", "", metrics[name])
            low, high = (mean.measured if edge is None else edge for edge in (mean.low, mean.high))
            values = (panels[pattern], subject, ratio, mean.measured, low, high, bars)
            for column, value in zip(data.values(), values, strict=True):
                column.append(value)
    return Drawing("lines", data, _AXIS, metric)


RUNS: dict[str, Run] = {
    "ijhpca2019/surface": surface,
    "ijhpca2019/table1": table1.run,
    **WORKLOADS,
    "ijhpca2019/fig8": fig8,
    "ijhpca2019/fig9": fig9,
    "ijhpca2019/fig12": fig12,
}
