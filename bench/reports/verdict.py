"""State the result of a comparison in one sentence: the contender with the least wait, against the baseline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from ...analysis.conclusions import Daily, Estimate, conclusions, of_days
from ...base import FloatArray, IntArray, time_text
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
    if ratio >= 1000:  # Of two samples, an interval may be without bound in practice.
        return "over 1,000 times as much"
    if ratio >= 2:
        return f"{ratio:.1f} times as much"
    share = abs(ratio - 1)
    return f"{_share(share)} {'less' if ratio < 1 else 'more'}" if share >= 5e-4 else "the same"


def against(
    baseline: str, ratio: float, low: float = math.nan, high: float = math.nan, basis: str = "", noun: str = ""
) -> str:
    """Return the difference from a baseline: ``31% less than easy, better (interval 25% to 38% less, 10 runs)``.

    Parameters
    ----------
    baseline
        Name of the baseline.
    ratio, low, high
        The ratio to it and its interval; NaN if there is none. Less is better.
    basis
        Sample of the interval, such as ``10 samples``, or the reason why there is none.
    noun
        The quantity, if it is not clear.
    """
    interval = "" if math.isnan(low) else f"interval {span_text(low, high)}"
    verdict = "not decided" if math.isnan(low) or low <= 1 <= high else "better" if high < 1 else "worse"
    return _told(baseline, ratio, verdict if basis else "", [each for each in (interval, basis) if each], noun)


def estimated(baseline: str, estimate: Estimate, noun: str = "") -> str:
    """Return the difference from a baseline with its verdict and what it rests on, see :func:`against`."""
    return _told(baseline, estimate.ratio, estimate.verdict(), grounds(estimate), noun)


def grounds(estimate: Estimate) -> list[str]:
    """Return what a verdict rests on: the interval and its samples, the range over shifts, or why there is none."""
    shifts = not math.isnan(estimate.span[0])
    reasons = []
    if not math.isnan(estimate.low):
        name = "95% interval" if estimate.tested else "interval"
        reasons.append(f"{name} {span_text(estimate.low, estimate.high)}, {samples_of(estimate)}")
    elif not shifts or estimate.reason != "shifts of one trace":
        reasons.append(estimate.reason)
    if shifts:
        reasons.append(f"range over {estimate.n} shifts {span_text(*estimate.span)}")
    return reasons


def samples_of(estimate: Estimate) -> str:
    """Return the samples behind an interval, and for how many comparisons it is widened."""
    several = f"{estimate.n} {'resamples' if estimate.basis == 'resamples' else 'samples'}"
    basis = f"{estimate.blocks} blocks of the trace" if estimate.blocks else several
    return basis + (f", widened for {estimate.corrected} comparisons" if estimate.corrected > 1 else "")


def verdict(
    runs: pd.DataFrame,
    baseline: str | None = None,
    show: Show = time_text,
    days: Mapping[tuple[str, str, int], Mapping[str, Daily]] | None = None,
) -> str:
    """Return the contender with the least mean wait, against the baseline, in one sentence.

    Parameters
    ----------
    runs
        One row per run: ``workload``, ``seed``, ``sample``, ``contender``, ``wait_mean`` and ``wait_max``, seconds, and
        ``basis``, see :func:`~hpcdispatch.analysis.conclusions.conclusions`.
    baseline
        The contender to compare with; by default that of :func:`choose_baseline`.
    show
        Formats a duration.
    days
        Waits by day, for an interval from one trace.
    """
    if runs.empty:
        return "No run finished."
    base = choose_baseline(runs["contender"]) if baseline is None else baseline
    by_workload = {str(name): part for name, part in runs.groupby("workload", sort=False)}
    if len(by_workload) == 1:
        return _of_one(runs, base, show, days)
    return _of_several(by_workload, base, days)


def _of_several(
    by_workload: Mapping[str, pd.DataFrame],
    base: str,
    days: Mapping[tuple[str, str, int], Mapping[str, Daily]] | None,
) -> str:
    """Return the contender that is most often the best. Workloads on which all are equal have none."""
    means = {name: _means(part) for name, part in by_workload.items()}
    idle = [name for name, each in means.items() if each.max() == 0]
    equal = [name for name, each in means.items() if name not in idle and len(each) > 1 and each.min() == each.max()]
    best = {name: str(each.index[0]) for name, each in means.items() if name not in idle and name not in equal}
    beside = f"; all wait equally long on {len(equal)}" if equal else ""
    beside += f"; no job waits on {len(idle)}" if idle else ""
    total = count(len(by_workload), "workload")
    if not best:
        return f"No contender is better on any of {total}{beside}."
    names = pd.Series(list(best.values())).value_counts()
    first = str(names.index[0])
    text = f"{first} has the least mean wait on {names.iloc[0]} of {total}"
    others = [part for name in best if {first, base} <= set((part := by_workload[name])["contender"])]
    if first == base or not others:
        return f"{text}{beside}."
    rows = [_row(part, base, first, days) for part in others]
    verdicts = [row["verdict"] for row in rows]
    told = ", ".join(
        f"{word} on {verdicts.count(word)}" for word in ("better", "worse", "not decided") if word in verdicts
    )
    ratios = [row["ratio"] for row in rows if not math.isnan(row["ratio"])]
    if not ratios:
        return f"{text}; {told}{beside}."
    return f"{text}: {span_text(min(ratios), max(ratios))} than {base} on those that both have; {told}{beside}."


def _of_one(
    runs: pd.DataFrame, base: str, show: Show, days: Mapping[tuple[str, str, int], Mapping[str, Daily]] | None
) -> str:
    means = _means(runs)
    best = str(means.index[0])
    if len(means) == 1 or base not in means.index:
        alone = f"Under {best} a job waits {show(means.iloc[0])} on average"
        return f"{alone}; there is no {base} to compare with." if len(means) > 1 else f"{alone}."
    if means.max() == 0:
        return "No job waits under any of them."
    other = best if best != base else str(means.index[1])
    estimate = estimate_of(_row(runs, base, other, days))
    told = estimated(base, estimate)
    longest = runs.groupby("contender")["wait_max"].mean()
    if best == base:
        text = f"{base} has the least mean wait, {show(means.iloc[0])}; next is {other}, {told}"
    else:
        text = f"{best} has the least mean wait, {show(means.iloc[0])}: {told}"
    return f"{text}{longest_wait(float(longest[other]), float(longest[base]), show)}."


def left_out(answer: str, warm_up: object, cool_down: object) -> str:
    """Return an answer that also says which jobs at both ends it leaves out."""
    cuts = [(name, _cut_text(cut)) for name, cut in (("warm-up", warm_up), ("cool-down", cool_down))]
    named = [f"{name} {cut}" for name, cut in cuts if cut not in ("", "none")]
    return f"{answer} Left out: {', '.join(named)}." if named else answer


def _cut_text(cut: object) -> str:
    """Return an amount of jobs as text, a time as ``2d``."""
    text = str(cut)
    return time_text(float(text[:-2])) if text.endswith(" s") else text


def beside_replay(reacting: Mapping[str, Estimate], replayed: Mapping[str, Estimate], base: str) -> str:
    """Return where a replay with the recorded submissions disagrees with one whose users react, in one sentence.

    It does where the verdict is another one.

    Parameters
    ----------
    reacting, replayed
        The estimate of each contender in both.
    base
        The baseline of both.
    """
    others: list[str] = []
    same: list[str] = []
    for name, estimate in reacting.items():
        recorded = replayed.get(name)
        if recorded is None or math.isnan(recorded.ratio) or math.isnan(estimate.ratio):
            continue
        told = f"{name} {change(recorded.ratio)}, {recorded.verdict()}"
        if recorded.verdict() == estimate.verdict():
            same.append(told)
        else:
            others.append(f"{told}, and here {change(estimate.ratio)}, {estimate.verdict()}")
    begin = "The replay with recorded submissions"
    if others:
        return f"{begin} disagrees, against {base}: {'; '.join(others)}."
    return f"{begin} agrees, against {base}: {'; '.join(same)}." if same else f"{begin} cannot be compared with it."


def longest_wait(own: float, other: float, show: Show) -> str:
    """Return the longest wait beside that of the baseline, to stand after a mean wait."""
    if math.isnan(own) or math.isnan(other):
        return ""
    beside = f", is {change(own / other)}" if other > 0 else " is beside none"
    return f"; its longest wait, {show(own)}{beside}"


def estimate_of(row: Mapping[Any, Any] | pd.Series[Any]) -> Estimate:
    """Return the estimate in a row of :func:`~hpcdispatch.analysis.conclusions.conclusions`."""
    return Estimate(
        row["ratio"],
        row["ratio_low"],
        row["ratio_high"],
        (row["range_low"], row["range_high"]),
        int(row["n"]),
        int(row["blocks"]),
        row["basis"],
        int(row["corrected"]),
        row["reason"],
        bool(row["tested"]),
    )


def _told(baseline: str, ratio: float, verdict: str, grounds: list[str], noun: str) -> str:
    told = change(ratio)
    if math.isnan(ratio):
        return f"{told} with {baseline}" + (f" ({'; '.join(grounds)})" if grounds else "")
    text = f"{told} {noun}".rstrip() + (" as " if told.endswith(("much", "same")) else " than ") + baseline
    text += f", {verdict}" if verdict else ""
    return f"{text} ({'; '.join(grounds)})" if grounds else text


def _means(runs: pd.DataFrame) -> pd.Series[float]:
    """Return the mean wait of each contender with the full number of runs, sorted."""
    number = runs.groupby("contender")["wait_mean"].count()
    whole = runs[runs["contender"].isin(number[number == number.max()].index)]
    return whole.groupby("contender", sort=False)["wait_mean"].mean().sort_values(kind="stable")


def _row(
    runs: pd.DataFrame, base: str, other: str, days: Mapping[tuple[str, str, int], Mapping[str, Daily]] | None
) -> pd.Series[Any]:
    """Return the conclusion on one contender, corrected for all."""
    table = conclusions(runs, base, "wait_mean", days)
    return table[table["contender"] == other].iloc[0]


def _share(share: float) -> str:
    if 0 < share < 5e-4:
        return f"{100 * share:.1g}%"
    return f"{share:.0%}" if round(share, 3) >= 0.1 else f"{share:.1%}"


def _times(ratio: float) -> str:
    """Return a ratio of at least 1 with so many digits that one above 1 is not shown as 1."""
    return next((text for digits in (1, 2, 3) if float(text := f"{ratio:.{digits}f}") > 1), f"{ratio:.4g}")


def span_text(low: float, high: float) -> str:
    """Return two ratios as ``25% to 38% less``, the smaller change first."""
    if high <= 1:
        return f"{_share(1 - high)} to {_share(1 - low)} less"
    if low >= 1:
        return f"{_times(low)} to {change(high)}" if high >= 2 else f"{_share(low - 1)} to {_share(high - 1)} more"
    return f"{change(low)} to {change(high)}"


def of_jobs(
    name: str,
    waits: FloatArray,
    base: str,
    baseline: FloatArray,
    submit: IntArray | FloatArray,
    show: Show = time_text,
    counted: str = "",
) -> str:
    """Return the waits under one scheduler against another on the same jobs, in one sentence.

    Parameters
    ----------
    name, base
        Of the schedulers.
    waits, baseline
        The waits under both, seconds, shape (jobs,); NaN for jobs that do not count.
    submit
        Their submissions, seconds, shape (jobs,).
    show
        Formats a duration.
    counted
        Which jobs these are, if not all.
    """
    both = ~(pd.isna(waits) | pd.isna(baseline))
    waits, baseline, submit = waits[both], baseline[both], submit[both]
    if not len(waits):
        return f"No job starts under both {name} and {base}."
    mean = show(float(waits.mean()))
    begin = f"Under {name} a job waits {mean} on average{counted}"
    if baseline.sum() == 0:
        return f"{begin}; under {base} none does."
    estimate = estimate_of_jobs(waits, baseline, submit)
    longest = longest_wait(float(waits.max()), float(baseline.max()), show)
    return f"{begin}: {estimated(base, estimate)}{longest}."


def estimate_of_jobs(waits: FloatArray, baseline: FloatArray, submit: IntArray | FloatArray) -> Estimate:
    """Return the ratio of the mean waits of the same jobs under two schedulers, by blocks of the trace.

    Parameters
    ----------
    waits, baseline
        The waits under both, seconds, shape (jobs,); NaN for jobs that do not count.
    submit
        Their submissions, seconds, shape (jobs,).
    """
    both = ~(pd.isna(waits) | pd.isna(baseline))
    return of_days(*(Daily.of(submit[both], each[both]) for each in (waits, baseline)))
