"""The simulations of Gainaru et al., IJHPCA 2019: patterns of jobs, estimation ratios and dispatchers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from ....simulation import Result
from ....workloads import Workload, generate
from ...campaigns.cells import Cell
from ...campaigns.samples import Loaders, Samples
from ..outcome import Means, Scale
from ..simulations import finished

#: Patterns of figure 6, as they are called in figures 8 and 9.
PATTERNS = {"a": "(a) normal", "b": "(b) 50% large", "c": "(c) 80% large", "d": "(d) 20% large"}
#: The workload of section 5.2.
MIX = "mix"
DISPATCHERS = {"RBS": "rbs", "SEJF": "sejf", "LEJF": "lejf"}
HYBRIDS = {"RBS": "rbs", "hybrid, SEJF": "hybrid", "hybrid, LEJF": "hybrid:order=longest", "EASY": "easy"}
_SEEDS: dict[Scale, int] = {"smoke": 1, "small": 10, "full": 30}
_GRID = tuple(round(0.5 + 0.1 * step, 1) for step in range(13))
_SMOKE = ":jobs=60,nodes=6,interarrival=4800"
UTILIZATION, STRETCH, WAIT, FAILURES = "utilization, %", "average stretch", "average wait, h", "failures"
#: Pattern, label and mean estimation ratio to metric to a value of each run.
Found = dict[tuple[str, str, float], dict[str, list[float]]]


def grid(scale: Scale) -> tuple[float, ...]:
    """Return the mean estimation ratios."""
    return (0.5, 1.2, 1.7) if scale == "smoke" else _GRID


def measured(patterns: Sequence[str], dispatchers: Mapping[str, str], means: Means) -> Found:
    """Return what was measured of each pattern, dispatcher and mean estimation ratio."""
    pairs = [(spec, "walltime") for spec in dispatchers.values()]
    rows: dict[tuple[str, float], list[tuple[Cell, ...]]] = {}
    loaders: Loaders = {}
    for pattern in patterns:
        for ratio in grid(means.scale):
            drawn = Samples(partial(jobs, pattern, ratio, means.scale), _SEEDS[means.scale])
            rows[pattern, ratio] = drawn.cells(pairs, loaders)
    together = (cell for row in rows.values() for same_jobs in zip(*row, strict=True) for cell in same_jobs)
    store = finished(together, loaders, means)
    found: Found = {}
    for (pattern, ratio), row in rows.items():
        for label, cells in zip(dispatchers, row, strict=True):
            for metric, value in (item for cell in cells for item in metrics(store.result(cell)).items()):
                found.setdefault((pattern, label, ratio), {}).setdefault(metric, []).append(value)
    return found


def jobs(pattern: str, ratio: float, scale: Scale, seed: int) -> Workload:
    """Return the jobs of a run."""
    small = _SMOKE if scale == "smoke" else ""
    if small and pattern == MIX:
        small += ",wide=6"
    return generate(f"accre{small}", pattern=pattern, mean_er=ratio, seed=seed)


def metrics(result: Result) -> dict[str, float]:
    """Return utilization (equation 3), average stretch (equation 2), wait and how often a job was killed."""
    summary = result.summary()
    return {
        UTILIZATION: 100 * summary["utilization"],
        STRETCH: summary["slowdown_mean"],
        WAIT: summary["wait_mean"] / 3600,
        FAILURES: float(np.count_nonzero(result.attempts["outcome"] == "limit")),
    }


def notes(scale: Scale) -> tuple[str, ...]:
    """Return what was simulated, and how it differs from the paper."""
    ratios = grid(scale)
    return (
        f"Simulated: mean estimation ratios {ratios[0]} to {ratios[-1]}, runs of each: {_SEEDS[scale]}. Brackets: 95% "
        "bootstrap intervals of the mean over the runs. A run has the same arrivals, run times and deviations of the "
        "estimates at every ratio. Nobody ends a job but RBS.",
        "The paper does not say how many nodes there are. Here there are 40, on which utilization, stretch and wait "
        "together are nearest to its ranges and factors. No number gives them all: pattern (a) keeps 60 nodes busy, "
        "(d) 16, and where more is offered than can be done, LEJF lets small jobs wait to the end. Nor is its time "
        "window of 24 to 48 h to be had: 800 jobs, one every 8 min, take 107 h to arrive. Run times follow its words "
        "and drawings (figure 6).",
        "RBS keeps its reservations (`promise=kept`), so that a job that ends early leaves a gap, as section 4.4 has "
        "it. Requests grow by 50% at each failure, of the 30 to 50% of the paper.",
    )
