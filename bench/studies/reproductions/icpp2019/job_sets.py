"""Figures 2 to 5 of the ICPP 2019 paper. They use sets of stochastic jobs (scenarios 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ....campaigns.samples import Generated
from ..claims import given, less
from ..outcome import Claim, Precondition, Scale, StudyOutcome, StudySettings
from . import strategies_compared as runs
from .strategies_compared import (
    HPC,
    METRICS,
    NEURO,
    RESPONSE,
    TOPT,
    USE,
    Contender,
    Measured,
    Pair,
    Values,
    better,
)

LAWS = ("truncnorm", "beta", "exponential", "pareto")
_ALLOCATIONS = ("full", "half", "truncnorm", "beta")
_STRATEGIES = (HPC, NEURO, TOPT)
#: Claimed gain of TOptimal over the best other. In words and as a factor, by metric.
_MODEST = {USE: ("+10-11%", 1.10), RESPONSE: ("-12-14%", 0.88)}
_MUCH = {USE: ("over 1.5x", 1.5), RESPONSE: ("over 2.5x", 0.4)}
_GAINS = {"truncnorm": _MODEST, "beta": _MODEST, "exponential": _MUCH, "pareto": _MUCH}
#: What "drastically" means here. No number is printed, and the least printed gain is 10%.
DRASTICALLY = 1.1
HISTORIES = (1, 2, 5, 10, 20, 50, 100)
_SHARES: Mapping[Scale, Sequence[float]] = {
    "smoke": (0.0, 0.5),
    "brief": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    "small": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    "full": tuple(round(0.1 * step, 1) for step in range(11)),
}


def fig2(means: StudySettings) -> StudyOutcome:
    """Return utilization and response time by law. Jobs use all or some processors."""
    seeds, large = runs.sizes("fig2", means)
    contenders = [Contender(name, over) for over in runs.MOVING for name in _STRATEGIES] + runs.PLAIN
    settings = {
        f"{law}, {allocation}": (runs.jobs(large, walltime=law, processors=allocation), contenders)
        for law in LAWS
        for allocation in ("full", "beta")
    }
    values = runs.simulate(settings, seeds, means)
    panels = {
        f"{setting}: {metric}": {name: values[setting][name][metric] for name in _STRATEGIES}
        for setting in settings
        for metric in METRICS
    }
    note = (
        f"Runs: {seeds} of {large} jobs, on which all strategies are compared. Settings: law of the run times, law of "
        "the processors. EASY is not in the figure. It stands for a scheduler with reservations that move up when jobs "
        "end early. A request that is too long costs little there."
    )
    claims = tuple(fig2_claims(values))
    return StudyOutcome(
        (*runs.NOTES, note),
        runs.rows(values, METRICS),
        claims,
        runs.bars(panels),
        parameters=(runs.GROWTH,),
        runs=str(seeds),
    )


def fig2_claims(values: Values) -> Iterator[Claim]:
    """Yield the claims of figure 2: TOptimal's gain by law."""
    for law in LAWS:
        chosen = [each for setting, each in values.items() if setting.startswith(f"{law},")]
        for metric, (said, factor) in _GAINS[law].items():
            pair = _against_best(chosen, metric, TOPT, (HPC, NEURO))
            size = f"{100 * (factor - 1):+.0f}%"
            yield better(f"{law}: TOptimal is better than the best of the others", metric, *pair, said)
            yield better(f"{law}: TOptimal gains as much as published, {size}", metric, *pair, said, factor=factor)
        for metric in METRICS:
            pair = _against_best(chosen, metric, f"{TOPT} EASY", (f"{HPC} EASY", f"{NEURO} EASY"))
            text = f"Ours: {law}: TOptimal is better than the best of the others also when reservations move up"
            yield better(text, metric, *pair, "")
    for metric in METRICS:
        pair = runs.pair_over(list(values.values()), metric, NEURO, HPC)
        yield better("Neuroscience is better than HPC", metric, *pair, "better")


def _against_best(settings: Sequence[Mapping[str, Measured]], metric: str, named: str, others: Sequence[str]) -> Pair:
    """Return a contender and the best other in each setting. Means are over the settings, for each seed."""
    pick = max if metric == USE else min
    best = [
        pick((each[name] for name in others), key=lambda metrics: float(np.mean(metrics[metric]))) for each in settings
    ]
    mine = [each[named] for each in settings]
    return (named, runs.average(mine, metric)), ("best other", runs.average(best, metric))


def fig3(means: StudySettings) -> StudyOutcome:
    """Return the utilization by law and by processor allocation."""
    seeds, large = runs.sizes("fig3", means)
    contenders = [Contender(HPC), Contender(TOPT), *runs.PLAIN]
    settings = {
        f"{law}, {allocation}": (runs.jobs(large, walltime=law, processors=allocation), contenders)
        for law in LAWS
        for allocation in _ALLOCATIONS
    }
    values = runs.simulate(settings, seeds, means)
    panels = {
        f"{law}: {USE}": {
            f"{allocation}-{name}": values[f"{law}, {allocation}"][name][USE]
            for allocation in _ALLOCATIONS
            for name in (HPC, TOPT)
        }
        for law in LAWS
    }
    claims = [
        better(f"{setting}: TOptimal is better than HPC", metric, *runs.pair_over([each], metric, TOPT, HPC), "better")
        for metric in METRICS
        for setting, each in values.items()
    ]
    note = f"Runs: {seeds} of {large} jobs. Settings: law of the run times, law of the processors."
    return StudyOutcome(
        (*runs.NOTES, note), runs.rows(values, METRICS), tuple(claims), runs.bars(panels), runs=str(seeds)
    )


def fig4(means: StudySettings) -> StudyOutcome:
    """Return utilization and response time by history length.

    The length is the number of past runs that Neuroscience uses.
    """
    seeds, large = runs.sizes("fig4", means)
    drawn = runs.jobs(large)
    settings = {
        f"history {length}": (
            drawn,
            [Contender(HPC), Contender(NEURO, options=f"history={length}"), Contender(TOPT), *runs.PLAIN],
        )
        for length in HISTORIES
    }
    values = runs.simulate(settings, seeds, means)
    curves = runs.curves(
        dict(zip(HISTORIES, values.values(), strict=True)),
        METRICS,
        "past runs of the Neuroscience strategy",
        log_x=True,
    )
    note = (
        f"Runs: {seeds} of {large} jobs on the whole machine each, truncated normal. Each job is of an application of "
        "its own, with a past drawn once for each run. After a failure 1.5 times as much is requested; the paper has "
        "no number for it."
    )
    others = {name: metrics for name, metrics in values["history 10"].items() if name != NEURO}
    table = {"any history": others} | {name: {NEURO: each[NEURO]} for name, each in values.items()}
    claims = tuple(fig4_claims(values))
    return StudyOutcome(
        (*runs.NOTES, note), runs.rows(table, METRICS), claims, curves, parameters=(runs.GROWTH,), runs=str(seeds)
    )


def fig4_claims(values: Values) -> Iterator[Claim]:
    """Yield the claims of figure 4: the best history length."""
    each = {f"history {length}": values[f"history {length}"][NEURO] for length in HISTORIES}
    hpc = values["history 10"][HPC]
    ten = "history 10"
    longest = f"history {HISTORIES[-1]}"
    for metric in METRICS:
        yield better(
            "10 past runs are better than 100", metric, *runs.pair_over([each], metric, ten, longest), "10 are best"
        )
        others = {name: metrics for name, metrics in each.items() if name != ten}
        pick = max if metric == USE else min
        best = pick(others, key=lambda name: float(np.mean(others[name][metric])))
        yield better(
            "10 past runs are the best of all", metric, *runs.pair_over([each], metric, ten, best), "about 10 are best"
        )
        far, near = (
            [_distance(mine, other) for mine, other in zip(each[name][metric], hpc[metric], strict=True)]
            for name in (ten, longest)
        )
        text = f"A longer history brings it closer to HPC, 100 below 10: distance of the {metric}"
        yield less(text, (longest, near), (ten, far), "approaches HPC")


def _distance(value: float, other: float) -> float:
    """Return by how many percent two values differ."""
    return 100 * abs(value / other - 1)


def fig5(means: StudySettings) -> StudyOutcome:
    """Return utilization and response time by share of small jobs. With and without speculative backfilling."""
    seeds, total = runs.sizes("fig5", means)
    shares = _SHARES[means.scale]
    contenders = [Contender(name, speculative=on) for name in (HPC, TOPT) for on in (False, True)] + runs.PLAIN
    settings = {f"{100 * share:.0f}% small": (mixed(total, share), contenders) for share in shares}
    values = runs.simulate(settings, seeds, means)
    curves = runs.curves(
        {100 * share: each for share, each in zip(shares, values.values(), strict=True)}, METRICS, "small jobs, %"
    )
    note = (
        f"Runs: {seeds} of {total} stochastic jobs, all of which count; their processors have the law Beta, which the "
        "paper leaves open. Only jobs without a reservation are tried in gaps that their requests do not fit."
    )
    condition = Precondition(
        f"more jobs than the {runs.BATCH} of a batch, so that some have no reservation",
        total > runs.BATCH,
        f"{total} jobs",
    )
    return StudyOutcome(
        (*runs.NOTES, note),
        runs.rows(values, METRICS),
        given(fig5_claims(values), [condition]),
        curves,
        preconditions=(condition,),
        parameters=(runs.PROCESSORS,),
        runs=str(seeds),
    )


def mixed(total: int, share: float) -> Generated:
    """Return large and small jobs. Without small ones, the law of the large must be passed."""
    if share:
        return runs.jobs(total, processors="beta", small_share=share)
    return runs.jobs(total, processors="beta", low=1, high=8, mean=4, deviation=2)


def fig5_claims(values: Values) -> Iterator[Claim]:
    """Yield the claims of figure 5: which jobs speculative backfilling helps."""
    settings = list(values.values())
    tried = {name: f"{name} speculative" for name in (HPC, TOPT)}
    for metric in METRICS:
        pairs = {name: runs.pair_over(settings, metric, tried[name], name) for name in (HPC, TOPT)}
        factor = DRASTICALLY if metric == USE else 1 / DRASTICALLY
        much = f"by {100 * (DRASTICALLY - 1):g}% or more"
        yield better(
            f"Speculative backfilling helps HPC drastically, {much}", metric, *pairs[HPC], "drastically", factor=factor
        )
        yield better("It helps TOptimal", metric, *pairs[TOPT], "slightly")
        named, plain = pairs[TOPT]
        least, most = (named, plain) if metric == USE else (plain, named)
        yield less(f"It helps TOptimal slightly, less than that: {metric}", least, most, "slightly", factor=DRASTICALLY)
        gains = [
            [mine / other for mine, other in zip(named[1], plain[1], strict=True)] for named, plain in pairs.values()
        ]
        text = "It helps HPC more than TOptimal, ratio to plain"
        said = "drastically and slightly"
        yield better(text, metric, (HPC, gains[0]), (TOPT, gains[1]), said)
        past = list(values)[len(values) // 2 :]
        text = f"From {past[0]} jobs to {past[-1]} jobs, HPC needs no sequence if it backfills so: better than TOptimal"
        pair = runs.pair_over([values[name] for name in past], metric, tried[HPC], TOPT)
        yield better(text, metric, *pair, "past 50%, good performance")
