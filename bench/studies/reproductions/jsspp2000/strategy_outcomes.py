"""Results of cases under several strategies. Rows, figures over parts of the cases, and preconditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ....reports.number_formats import short
from ..claims import LEAST, by_construction
from ..outcome import Claim, ComparedFigure, Drawing, Precondition
from .drawn_cases import BEST, CHOICES, NAS, USER
from .geometric_means import Ratio, contrast, gains, logarithms, mean, more, parts

STRATEGIES = (*CHOICES, BEST)
TURNAROUND = "turnaround, s"
RELATIVE = "relative performance"
#: With fewer differing choices than this share, strategies differ by chance only.
DIFFER = 0.2
#: Turnaround, s, and relative performance where the paper prints none.
NOWHERE: Mapping[str, tuple[float, float | None]] = {}


def close(cases: pd.DataFrame, strategy: str, which: str) -> Claim:
    """Return the claim that a strategy reaches at least 90% of the best choice's performance."""
    ratio = contrast(gains(cases, strategy), cases, gains(cases, BEST))
    return more(
        f"{strategy} has at least 90% of the performance of the best choice{which}", ratio, 0.9, "ratio", "above 90%"
    )


def differing(cases: pd.DataFrame, strategies: Sequence[str]) -> dict[str, Precondition]:
    """Return, per strategy, that its size differs from the user's in at least a fifth of the cases."""
    shares = {name: float((cases[f"{name} size"] != cases[f"{USER} size"]).mean()) for name in strategies}
    return {
        name: Precondition(
            f"{name} asks for another size than the user in at least {100 * DIFFER:g}% of the cases",
            share >= DIFFER,
            f"{100 * share:.1f}%",
            of_system=True,
        )
        for name, share in shares.items()
    }


def agreeing(cases: pd.DataFrame) -> Precondition:
    """Return that the dispatcher ``sa`` did as the longest list's strategy, where both were tried."""
    asked = cases.loc[cases["same"] >= 0, "same"]
    return Precondition(
        "the dispatcher `sa` does the same as SA here, in the first cases of each log",
        bool((asked == 1).all()),
        f"{cases['kind'].iloc[0]}: {int((asked == 1).sum())} of {len(asked)}",
        of_system=True,
    )


def promises(cases: pd.DataFrame) -> list[Claim]:
    """Return the claim that no job starts after its guaranteed start."""
    simulated = int(cases["simulated"].sum())
    late = int(cases["late"].sum())
    evidence = f"{late} of {simulated:,} requests that did not start at once, in {len(cases):,} cases"
    decided = late == 0 if simulated >= LEAST else None
    text = "Arriving jobs do not affect those that are there: none starts later than promised"
    return [by_construction(Claim(text, decided, f"{evidence}; the paper: conservative backfilling guarantees it"))]


def overall_rows(
    cases: pd.DataFrame, subject: str, published: Mapping[str, tuple[float, float | None]] = NOWHERE
) -> list[ComparedFigure]:
    """Return turnaround, relative performance and the share of other sizes chosen. One row per strategy."""
    rows = []
    for name in [name for name in (USER, *CHOICES, NAS, BEST) if name in cases]:
        own = f"{subject}: {name}"
        (seconds, gain) = published.get(name, (None, None))
        rows.append(ratio_row(own, TURNAROUND, mean(logarithms(cases, name), cases), seconds, 0))
        if name != USER:
            rows.append(ratio_row(own, RELATIVE, mean(gains(cases, name), cases), gain, 2))
            other = 100 * float((cases[f"{name} size"] != cases[f"{USER} size"]).mean())
            rows.append(ComparedFigure(own, "another size than the user's, %", other, digits=1))
    return rows


def ratio_row(subject: str, metric: str, ratio: Ratio, published: float | None, digits: int) -> ComparedFigure:
    """Return a row of a geometric mean or ratio."""
    low, high = (None if np.isnan(end) else end for end in (ratio.low, ratio.high))
    return ComparedFigure(subject, metric, ratio.value, published, low, high, digits)


def sizes_drawing(cases: pd.DataFrame, strategies: Sequence[str]) -> Drawing:
    """Draw a histogram of the requested sizes, by powers of two."""
    edges = 2 ** np.arange(10)
    data: dict[str, list[Any]] = {name: [] for name in ("subject", "x", "y")}
    for name in strategies:
        counted, _ = np.histogram(cases[f"{name} size"], [*edges, 2**10])
        data["subject"] += [name] * len(counted)
        data["x"] += np.log2(edges).tolist()
        data["y"] += (100 * counted / max(len(cases), 1)).tolist()
    return Drawing("steps", data, "processors asked for, logarithm to base 2", "cases, %")


def rows_by(groups: Mapping[str, pd.DataFrame], column: str, strategies: Sequence[str]) -> tuple[ComparedFigure, ...]:
    """Return the boundaries of the parts, and each part's relative performance."""
    rows = []
    for name, cases in groups.items():
        for part in parts(cases, column) if len(cases) else []:
            subject = f"{name}, {short(float(part[column].min()))} to {short(float(part[column].max()))}"
            rows.append(ComparedFigure(subject, "cases, %", 100 * len(part) / len(cases), digits=1))
            rows.append(ratio_row(subject, f"{USER}: {TURNAROUND}", mean(logarithms(part, USER), part), None, 0))
            rows += [
                ratio_row(subject, f"{each}: {RELATIVE}", mean(gains(part, each), part), None, 2)
                for each in (*strategies, BEST)
            ]
    return tuple(rows)


def drawing_by(
    groups: Mapping[str, pd.DataFrame], column: str, label: str, strategies: Sequence[str], log_x: bool
) -> Drawing:
    """Draw turnaround and relative performance over the parts' medians."""
    data: dict[str, list[Any]] = {name: [] for name in ("panel", "subject", "x", "value", "low", "high")}
    for name, cases in groups.items():
        for panel, shown in ((TURNAROUND, strategies), (RELATIVE, strategies[1:])):
            for strategy in shown:
                for part in parts(cases, column) if len(cases) else []:
                    values = logarithms(part, strategy) if panel == TURNAROUND else gains(part, strategy)
                    ratio = mean(values, part)
                    x = float(f"{np.median(part[column]):.2g}")
                    ends = (ratio.value, ratio.value) if np.isnan(ratio.low) else (ratio.low, ratio.high)
                    point = (f"{panel}: {name}", strategy, x, ratio.value, *ends)
                    for values_of, value in zip(data.values(), point, strict=True):
                        values_of.append(value)
    return Drawing("lines", data, label, log_x=log_x, log_y=log_x)
