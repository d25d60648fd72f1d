"""Claims of the IJHPCA 2019 paper about figures 8, 9 and 12, as inequalities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product

import numpy as np

from ....reports.number_formats import short
from ..claims import LEAST, by_construction, calibrated, given, less, more
from ..outcome import Claim, Precondition
from .patterns import FAILURES, MIX, PATTERNS, RESERVED, STRETCH, UTILIZATION, WAIT, WINDOW, PatternResults

#: The ratio of real logs, where the schedulers are compared.
_REAL = 1.2
#: Printed ranges are read from figures. They hold to half a step of their numbers.
_STEPS = {UTILIZATION: 2.5, STRETCH: 0.5, WINDOW: 6.0}
#: Largest ratio of the most to the least, for values flat in the estimation ratio.
_FLAT = {UTILIZATION: 1.05, STRETCH: 1.25}
_FLY = ("SEJF", "LEJF")
#: The two ways to run RBS. The point of the figures was chosen with the first.
RBS = ("RBS", "RBS anew")


def utilization_claims(results: PatternResults) -> tuple[Claim, ...]:
    """Return claims about the utilization and the failures (section 4.4, figure 8)."""
    real = _near(results, _REAL)
    claims = [calibrated(_range(results, UTILIZATION, "LEJF", pattern, 45, 90)) for pattern in PATTERNS]
    claims += [calibrated(_window(results)), *_flat(results, UTILIZATION)]
    for rbs in _ways(results):
        ranges = [_range(results, UTILIZATION, rbs, pattern, 20, 65) for pattern in PATTERNS]
        claims += map(calibrated, ranges) if rbs == RBS[0] else ranges
        for pattern, name in PATTERNS.items():
            mine, other = (_of(results, UTILIZATION, label, pattern, real) for label in (rbs, "LEJF"))
            text = f"{rbs} uses less of the machine than LEJF at a ratio of {real}"
            share = 45 if pattern in "ac" else 35
            claims.append(less(f"{text}: {name}", mine, other, f"-{share}%"))
            claims.append(
                less(
                    f"{text}, by as much as published, -{share}%: {name}",
                    mine,
                    other,
                    f"-{share}%",
                    factor=1 - share / 100,
                )
            )
        claims += [by_construction(_fall(results, pattern, rbs)) for pattern in PATTERNS]
        claims += [_peak(results, pattern, rbs) for pattern in "ac"] + [
            _no_loss(results, pattern, rbs) for pattern in "bd"
        ]
    return tuple(claims)


def stretch_claims(results: PatternResults) -> tuple[Claim, ...]:
    """Return claims about the average stretch (section 4.4, figure 9)."""
    last = _ratios(results)[-1]
    real = _near(results, _REAL)
    return (
        *(_range(results, STRETCH, label, pattern, 1, 3) for pattern, label in product(PATTERNS, _FLY)),
        *_flat(results, STRETCH),
        *(
            less(
                f"SEJF stretches jobs less than LEJF at a ratio of {real}: {PATTERNS[pattern]}",
                _of(results, STRETCH, "SEJF", pattern, real),
                _of(results, STRETCH, "LEJF", pattern, real),
                "a gap",
            )
            for pattern in "ac"
        ),
        *(
            claim
            for rbs in _ways(results)
            for claim in (
                _times(results, STRETCH, rbs, (1.5, 2.5), "about 2 times"),
                _times(results, WAIT, rbs, (2.5, 3.5), "about 3 times"),
                less(
                    f"{rbs} comes close to the best on the fly where small jobs abound and estimates are long: at most "
                    "10% above",
                    _of(results, STRETCH, rbs, "d", last),
                    _of(results, STRETCH, "SEJF", "d", last),
                    "close",
                    factor=1.1,
                ),
            )
        ),
    )


def _ways(results: PatternResults) -> list[str]:
    return [label for label in RBS if any(label == each for _, each, _ in results)]


def hybrid_claims(results: PatternResults) -> tuple[Claim, ...]:
    """Return claims about the paper's hybrids (section 5.2, figure 12). Each must work in both of its modes."""
    conditions = {label: condition for label, condition in hybrid_conditions(results).items() if label.count(",") < 2}
    return tuple(
        claim
        for label, condition in conditions.items()
        for rbs in _ways(results)
        for claim in given(
            [_mostly(results, metric, label, rbs, sign) for metric, sign in ((UTILIZATION, 1), (STRETCH, -1))],
            [condition],
        )
    )


def hybrid_conditions(results: PatternResults) -> dict[str, Precondition]:
    """Return, per hybrid, that either mode starts at least 10% of jobs. It must hold at every ratio."""
    conditions = {}
    for label in dict.fromkeys(label for _, label, _ in results if label.startswith("hybrid")):
        shares = [float(np.mean(results[MIX, label, ratio][RESERVED])) for ratio in _ratios(results)]
        met = min(shares) >= 10 and max(shares) <= 90
        evidence = f"{label}: {short(min(shares))}-{short(max(shares))}% of the starts by reservation"
        conditions[label] = Precondition("either mode starts at least 10% of the jobs", met, evidence, of_system=True)
    return conditions


def _ratios(results: PatternResults) -> list[float]:
    return sorted({ratio for _, _, ratio in results})


def _near(results: PatternResults, ratio: float) -> float:
    return min(_ratios(results), key=lambda other: abs(other - ratio))


def _of(results: PatternResults, metric: str, label: str, pattern: str, ratio: float) -> tuple[str, list[float]]:
    return label, results[pattern, label, ratio][metric]


def _curve(results: PatternResults, metric: str, label: str, pattern: str) -> list[float]:
    """Return the means over the runs, ratio by ratio."""
    return [float(np.mean(results[pattern, label, ratio][metric])) for ratio in _ratios(results)]


def _samples(results: PatternResults) -> int:
    return min(len(values) for metrics in results.values() for values in metrics.values())


def _decided(results: PatternResults, holds: bool) -> bool | None:
    return holds if _samples(results) >= LEAST else None


def _range(results: PatternResults, metric: str, label: str, pattern: str, low: float, high: float) -> Claim:
    curve = _curve(results, metric, label, pattern)
    step = _STEPS[metric]
    inside = low - step <= min(curve) and max(curve) <= high + step
    text = f"{metric.partition(',')[0].capitalize()} of {label} is {low:g}-{high:g}: {PATTERNS[pattern]}"
    evidence = f"means {short(min(curve))}-{short(max(curve))}; the paper, over all patterns: {low:g}-{high:g}"
    return Claim(text, _decided(results, inside), evidence)


def _window(results: PatternResults) -> Claim:
    """Return the claim about the simulated time. It covers all on-the-fly dispatchers at the ratio of real logs."""
    hours = [np.mean(results[pattern, label, _near(results, _REAL)][WINDOW]) for pattern in PATTERNS for label in _FLY]
    inside = bool(min(hours) >= 24 and max(hours) <= 48 + _STEPS[WINDOW])
    evidence = f"means {short(float(min(hours)))}-{short(float(max(hours)))} h; the paper: 24-48 h"
    return Claim("The simulated time is 24 to 48 h on the fly", _decided(results, inside), evidence)


def _flat(results: PatternResults, metric: str) -> Iterator[Claim]:
    ratios, factor = _ratios(results), _FLAT[metric]
    for pattern, label in product(PATTERNS, _FLY):
        curve = _curve(results, metric, label, pattern)
        most, least = (ratios[int(place)] for place in (np.argmax(curve), np.argmin(curve)))
        named = f"{label} at {most}", results[pattern, label, most][metric]
        other = f"at {least}", results[pattern, label, least][metric]
        text = f"{label} is flat in the estimation ratio, the most at most {100 * (factor - 1):.0f}% above the least"
        text = f"{text}: {metric.partition(',')[0]}, {PATTERNS[pattern]}"
        yield less(text, named, other, "a small variation", factor=factor)


def _fall(results: PatternResults, pattern: str, rbs: str) -> Claim:
    curve = _curve(results, FAILURES, rbs, pattern)
    falls = all(after <= before for before, after in pairwise(curve))
    evidence = ", ".join(short(value) for value in curve) + "; the paper: up to 1,600 of 800 jobs"
    return Claim(
        f"Failures of {rbs} fall with the estimation ratio: {PATTERNS[pattern]}", _decided(results, falls), evidence
    )


def _peak(results: PatternResults, pattern: str, rbs: str) -> Claim:
    curve, failures = (_curve(results, metric, rbs, pattern) for metric in (UTILIZATION, FAILURES))
    best = int(np.argmax(curve))
    holds = 50 <= failures[best] <= 200 and best < len(curve) - 1
    text = f"{rbs} uses most of the machine where 50-200 jobs fail, and less beyond: {PATTERNS[pattern]}"
    evidence = f"most at {_ratios(results)[best]}, with {short(failures[best])} failures: {short(curve[best])}%, and "
    return Claim(
        text, _decided(results, holds), f"{evidence}{short(curve[-1])}% at {_ratios(results)[-1]}; the paper: so"
    )


def _no_loss(results: PatternResults, pattern: str, rbs: str) -> Claim:
    last = _ratios(results)[-1]
    before = _near(results, 1.4)
    text = f"{rbs} uses no less of the machine at a ratio of {last} than at {before}: {PATTERNS[pattern]}"
    named, other = (_of(results, UTILIZATION, rbs, pattern, ratio) for ratio in (last, before))
    return more(text, (f"at {last}", named[1]), (f"at {before}", other[1]), "no decrease")


def _times(results: PatternResults, metric: str, rbs: str, about: tuple[float, float], published: str) -> Claim:
    """Return the claim about RBS as a multiple of on-the-fly. It averages over patterns and ratios."""
    means = {label: _overall(results, metric, (label,)) for label in (rbs, *_FLY)}
    fly = (means["SEJF"] + means["LEJF"]) / 2
    times = means[rbs] / fly if fly > 0 else np.nan
    text = f"{metric.partition(',')[0].capitalize()} under {rbs} is {about[0]:g} to {about[1]:g} times that on the fly"
    each = "; ".join(f"{label} {short(value)}" for label, value in means.items())
    holds = _decided(results, about[0] <= times <= about[1]) if fly > 0 else None
    return Claim(text, holds, f"{each}: {short(times) if fly > 0 else 'no'} times; the paper: {published}")


def _overall(results: PatternResults, metric: str, labels: Sequence[str]) -> float:
    return float(np.mean([np.mean(metrics[metric]) for (_, label, _), metrics in results.items() if label in labels]))


def _mostly(results: PatternResults, metric: str, label: str, rbs: str, better: int) -> Claim:
    """Return the claim that the hybrid beats RBS at most ratios. RBS is run in one way."""
    pairs = [(results[MIX, label, ratio][metric], results[MIX, rbs, ratio][metric]) for ratio in _ratios(results)]
    wins = _count(better * (float(np.mean(mine)) - float(np.mean(other))) > 0 for mine, other in pairs)
    means = [float(np.mean([np.mean(values) for values in column])) for column in zip(*pairs, strict=True)]
    text = f"The {label}, is better than {rbs} at most ratios: {metric.partition(',')[0]}"
    evidence = f"at {wins} of {len(pairs)}; over all, {short(means[0])} and {short(means[1])}; the paper: in most"
    return Claim(text, _decided(results, wins > len(pairs) / 2), f"{evidence} scenarios")


def _count(which: Iterable[bool]) -> int:
    return sum(map(bool, which))
