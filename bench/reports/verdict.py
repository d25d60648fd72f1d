"""State the result of a comparison in one sentence: the contender with the least wait, against the baseline."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pandas as pd

from ...analysis.paired import by_parts, paired_differences
from ...base import FloatArray, time_text
from .number_formats import Show, count

#: Default baselines by preference.
BASELINES = ("easy", "fcfs")


def choose_baseline(names: Iterable[str]) -> str:
    """Return the contender to compare with: easy, else fcfs, else the first by name. Prefer walltime predictions."""
    known = sorted(set(names))
    dispatchers = {name: name.partition(", ")[0] for name in sorted(known, key=lambda name: "walltime" not in name)}
    return next((name for base in BASELINES for name, own in dispatchers.items() if own == base), known[0])


def change(ratio: float) -> str:
    """Return a ratio in words: ``31% less``, ``4.2% more``, ``2.5 times as much``."""
    if math.isnan(ratio):
        return "not comparable"
    if ratio >= 2:
        return f"{ratio:.1f} times as much"
    share = abs(ratio - 1)
    return f"{_share(share)} {'less' if ratio < 1 else 'more'}" if share >= 5e-4 else "the same"


def against(
    baseline: str, ratio: float, low: float = math.nan, high: float = math.nan, basis: str = "", noun: str = ""
) -> str:
    """Return the difference from a baseline: ``31% less than easy (95% interval 25% to 38% less, 10 seeds)``.

    Parameters
    ----------
    baseline
        Name of the baseline.
    ratio, low, high
        The ratio to it and its interval; NaN if there is none.
    basis
        Sample of the interval, such as ``10 seeds``.
    noun
        The quantity, if it is not clear.
    """
    told = change(ratio)
    text = f"{told} {noun}".rstrip() + (" as " if told.endswith(("much", "same")) else " than ") + baseline
    if math.isnan(low):
        return f"{text} ({basis})" if basis else text
    doubt = ", no clear difference" if low <= 1 <= high and ratio != 1 else ""
    return f"{text}{doubt} (95% interval {_span(low, high)}, {basis})"


def verdict(runs: pd.DataFrame, baseline: str | None = None, show: Show = time_text) -> str:
    """Return the contender with the least mean wait, against the baseline, in one sentence.

    Parameters
    ----------
    runs
        One row per run: ``workload``, ``seed``, ``sample``, ``contender``, ``wait_mean`` and ``wait_max``, seconds.
    baseline
        The contender to compare with; by default that of :func:`choose_baseline`.
    show
        Formats a duration.
    """
    if runs.empty:
        return "No run finished."
    base = choose_baseline(runs["contender"]) if baseline is None else baseline
    found = {str(name): part for name, part in runs.groupby("workload", sort=False)}
    if len(found) == 1:
        return _of_one(runs, base, show)
    best = [(_means(part).index[0], part) for part in found.values()]
    names = pd.Series([name for name, _ in best]).value_counts()
    first = str(names.index[0])
    text = f"{first} has the least mean wait on {names.iloc[0]} of {count(len(found), 'workload')}"
    others = [part for part in found.values() if {first, base} <= set(part["contender"])]
    if first == base or not others:
        return f"{text}."
    ratios = [_row(part, base, first)["ratio"] for part in others]
    return f"{text}: {_span(min(ratios), max(ratios))} than {base} on those that both have."


def _of_one(runs: pd.DataFrame, base: str, show: Show) -> str:
    means = _means(runs)
    best = str(means.index[0])
    if len(means) == 1 or base not in means.index:
        alone = f"Under {best} a job waits {show(means.iloc[0])} on average"
        return f"{alone}; there is no {base} to compare with." if len(means) > 1 else f"{alone}."
    if means.max() == 0:
        return "No job waits under any of them."
    other = best if best != base else str(means.index[1])
    row = _row(runs, base, other)
    basis = f"{row['n']} seeds" if row["n"] > 1 else "one sample, so that there is no interval"
    told = against(base, row["ratio"], row["ratio_low"], row["ratio_high"], basis)
    if best == base:
        return f"{base} has the least mean wait, {show(means.iloc[0])}; next is {other}, {told}."
    text = f"{best} has the least mean wait, {show(means.iloc[0])}: {told}"
    longest = runs.groupby("contender")["wait_max"].mean()
    if longest[best] > longest[base] > 0:
        text += f"; its longest wait is {change(float(longest[best] / longest[base]))}"
    return f"{text}."


def _means(runs: pd.DataFrame) -> pd.Series[float]:
    """Return the mean wait of each contender with the full number of runs, sorted."""
    number = runs.groupby("contender")["wait_mean"].count()
    whole = runs[runs["contender"].isin(number[number == number.max()].index)]
    return whole.groupby("contender", sort=False)["wait_mean"].mean().sort_values(kind="stable")


def _row(runs: pd.DataFrame, base: str, other: str) -> pd.Series:
    return paired_differences(runs[runs["contender"].isin([base, other])], base, "wait_mean").iloc[0]


def _share(share: float) -> str:
    return f"{share:.0%}" if round(share, 3) >= 0.1 else f"{share:.1%}"


def _span(low: float, high: float) -> str:
    """Return two ratios as ``25% to 38% less``, the smaller change first."""
    if high <= 1:
        return f"{_share(1 - high)} to {_share(1 - low)} less"
    if low >= 1:
        return f"{low:.1f} to {change(high)}" if high >= 2 else f"{_share(low - 1)} to {_share(high - 1)} more"
    return f"{change(low)} to {change(high)}"


def of_jobs(name: str, waits: FloatArray, base: str, baseline: FloatArray, show: Show = time_text) -> str:
    """Return the waits under one scheduler against another on the same jobs, in one sentence."""
    mean = show(float(waits.mean()))
    ratio, low, high, parts = by_parts(waits, baseline)
    if math.isnan(ratio):
        return f"Under {name} a job waits {mean} on average; under {base} none does."
    basis = f"{parts} parts of the trace" if parts > 1 else "too few jobs for an interval"
    return f"Under {name} a job waits {mean} on average: {against(base, ratio, low, high, basis)}."
