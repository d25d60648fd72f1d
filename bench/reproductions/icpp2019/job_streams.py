"""Figures 6 to 8 of the ICPP 2019 paper: stochastic jobs beside a stream of small ones (scenarios 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...campaigns.samples import Generated
from ..claims import less, more
from ..outcome import Claim, Drawing, Means, Outcome, Scale
from . import strategies_compared as runs
from .strategies_compared import (
    ALL_RESPONSE,
    ATOPT,
    HPC,
    METRICS,
    RESPONSE,
    TOPT,
    USE,
    Contender,
    Measured,
    Values,
    better,
)

_RATES: Mapping[Scale, Sequence[float]] = {
    "smoke": (0.1, 0.9),
    "small": (0.1, 0.3, 0.5, 0.7, 0.9),
    "full": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
}
#: Processors of a small job, and for how many hours they arrive for each large one: longer than HPC needs.
_WIDTH, _HOURS = 50, 12
#: Up to which ratio two results count as close.
_CLOSE = 1.05
#: Work rate of the small jobs on Intrepid (table 2).
RATE = 0.21


def fig6(means: Means) -> Outcome:
    """Return utilization and response time of all jobs by the work rate of the small ones."""
    values = _by_rate(means)
    shown = (USE, ALL_RESPONSE)
    claims = tuple(fig6_claims(values))
    return Outcome(_notes(means.scale), runs.rows(values, shown), claims, _curves(values, means.scale, shown))


def fig6_claims(values: Values) -> Iterator[Claim]:
    """Yield the claims of figure 6: utilization and response time by work rate."""
    rates = list(values.values())
    for name in (HPC, TOPT, ATOPT):
        pair = ("rate 0.9", rates[-1][name][USE]), ("rate 0.1", rates[0][name][USE])
        yield better(f"{name}: grows from rate 0.1 to 0.9", USE, *pair, "increases")
    for other in (HPC, TOPT):
        pair = runs.pair_over(rates, USE, ATOPT, other)
        yield better(f"ATOptimal is better than {other}, over all rates", USE, *pair, "always higher")
    lower, upper = ([pick((each[HPC], each[TOPT]), key=_mean_of_all) for each in rates] for pick in (min, max))
    mine = ATOPT, runs.average([each[ATOPT] for each in rates], ALL_RESPONSE)
    least, most = (runs.average(several, ALL_RESPONSE) for several in (lower, upper))
    text = "ATOptimal is in between the others"
    yield more(f"{text}, not below: {ALL_RESPONSE}", mine, ("lower of the others", least), "in between")
    yield less(f"{text}, not above: {ALL_RESPONSE}", mine, ("higher of the others", most), "in between")
    text = f"HPC: grows from rate 0.1 to 0.9: {ALL_RESPONSE}"
    ends = ("rate 0.9", rates[-1][HPC][ALL_RESPONSE]), ("rate 0.1", rates[0][HPC][ALL_RESPONSE])
    yield more(text, *ends, "driven up", strictly=True)


def _mean_of_all(measured: Measured) -> float:
    return float(np.mean(measured[ALL_RESPONSE]))


def fig7(means: Means) -> Outcome:
    """Return the response time of the large jobs by the work rate of the small ones."""
    values = _by_rate(means)
    claims = tuple(fig7_claims(values))
    shown = (RESPONSE,)
    return Outcome(_notes(means.scale), runs.rows(values, shown), claims, _curves(values, means.scale, shown))


def fig7_claims(values: Values) -> Iterator[Claim]:
    """Yield the claims of figure 7: the response time of the large jobs."""
    rates = list(values.values())
    pairs = {other: runs.pair_over(rates, RESPONSE, ATOPT, other) for other in (TOPT, HPC)}
    yield more(f"ATOptimal is not below TOptimal, over all rates: {RESPONSE}", *pairs[TOPT], "in between, above it")
    yield less(f"ATOptimal is below HPC, over all rates: {RESPONSE}", *pairs[HPC], "in between, below it")
    text = f"ATOptimal: grows from rate 0.1 to 0.9: {RESPONSE}"
    ends = ("rate 0.9", rates[-1][ATOPT][RESPONSE]), ("rate 0.1", rates[0][ATOPT][RESPONSE])
    yield more(text, *ends, "increases", strictly=True)
    text = f"At rate 0.1, ATOptimal is close to TOptimal, at most 5% above: {RESPONSE}"
    yield less(text, *runs.pair_over(rates[:1], RESPONSE, ATOPT, TOPT), "close", factor=_CLOSE)
    text = f"At rate 0.9, ATOptimal is close to HPC, which is at most 5% above: {RESPONSE}"
    yield less(text, *runs.pair_over(rates[-1:], RESPONSE, HPC, ATOPT), "close", factor=_CLOSE)


def _by_rate(means: Means) -> Values:
    """Return the results by rate; figures 6 and 7 share the simulations."""
    seeds, large = runs.SIZES["fig6"][means.scale]
    window = _HOURS * large
    settings = {}
    for rate in _RATES[means.scale]:
        drawn = runs.jobs(
            large, processors="beta", low=1, high=20, work_rate=rate, window=window, stream_processors=_WIDTH
        )
        contenders = [Contender(HPC), Contender(TOPT), Contender(ATOPT, options=f"rate={rate}")]
        settings[f"rate {rate}"] = drawn, contenders
    return runs.simulate(settings, seeds, means)


def _curves(values: Values, scale: Scale, metrics: Sequence[str]) -> Drawing:
    return runs.curves(dict(zip(_RATES[scale], values.values(), strict=True)), metrics, "work rate of the small jobs")


def _notes(scale: Scale) -> tuple[str, ...]:
    seeds, large = runs.SIZES["fig6"][scale]
    return (
        *runs.NOTES,
        f"Runs: {seeds} of {large} large jobs (the paper: 50 of 100), whose processors have the law Beta, which the "
        f"paper leaves open. Small jobs take {_WIDTH} of the 100 processors each, so that there are few enough of them "
        f"to simulate, and arrive for {_HOURS * large} h. ATOptimal is told the work rate.",
    )


def fig8(means: Means) -> Outcome:
    """Return utilization and response time of two weeks on Intrepid."""
    seeds, size = runs.SIZES["fig8"][means.scale]
    contenders = [
        Contender(name, over, speculative, f"rate={RATE}" if name == ATOPT else "")
        for over in runs.MOVING
        for name in (HPC, ATOPT)
        for speculative in (False, True)
    ]
    drawn = Generated("intrepid-neuroscience", size if means.scale == "smoke" else None)
    values = runs.simulate({"Intrepid": (drawn, contenders)}, seeds, means)
    each, shown = values["Intrepid"], (*METRICS, ALL_RESPONSE)
    drawn_ones = [contender.label for contender in contenders if contender.over == "batches"]
    panels = {metric: {label: each[label][metric] for label in drawn_ones} for metric in shown}
    notes = (
        f"Runs: {seeds} of {size} submissions within two weeks, a quarter of them large; whether the paper's response "
        "time is that of the large jobs or of all is not said. The jobs are fewer than would fill the machine. EASY, "
        "not in the figure, stands for a scheduler whose reservations move up when jobs end early.",
        f"ATOptimal is told the work rate, {RATE}. It then requests 31 h of AbOrganSeg, as HPC does, and 2.64 h, then "
        "3 h, of maCRUISE, an expected makespan 5% below that of 3 h: the published laws leave the sequences little to "
        "gain.",
    )
    return Outcome((*runs.NOTES, *notes), runs.rows(values, shown), tuple(fig8_claims(each)), runs.bars(panels))


def fig8_claims(each: Mapping[str, Measured]) -> Iterator[Claim]:
    """Yield the claims of figure 8: two weeks on Intrepid."""
    tried = {name: f"{name} speculative" for name in (HPC, ATOPT)}
    cases = [
        ("ATOptimal is better than HPC", ATOPT, HPC, "+20% utilization, -20% response time"),
        ("HPC is better with speculative backfilling", tried[HPC], HPC, "better"),
        ("ATOptimal is better with speculative backfilling", tried[ATOPT], ATOPT, "better"),
        ("ATOptimal with speculative backfilling is better than HPC", tried[ATOPT], HPC, "25-30%"),
        ("Ours: ATOptimal is better than HPC also when reservations move up", f"{ATOPT} EASY", f"{HPC} EASY", ""),
    ]
    for text, named, other, said in cases:
        for metric in (*METRICS, ALL_RESPONSE):
            yield better(text, metric, *runs.pair_over([each], metric, named, other), said)
