"""Figures 6 to 8 of the ICPP 2019 paper: stochastic jobs beside a stream of small ones (scenarios 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..claims import by_construction, less, more
from ..outcome import Claim, Drawing, Means, Outcome, Parameter, Scale
from . import strategies_compared as runs
from .strategies_compared import (
    ALL_RESPONSE,
    ATOPT,
    HPC,
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
#: Processors of a small job.
_WIDTHS: Mapping[Scale, int] = {"smoke": 50, "small": 20, "full": 1}
#: For how many hours small jobs arrive for each large one: longer than HPC needs.
_HOURS = 12
#: Up to which ratio two results count as close.
_CLOSE = 1.05


def _parameters(scale: Scale) -> tuple[Parameter, ...]:
    return (
        runs.PROCESSORS,
        Parameter(
            "processors of a small job",
            str(_WIDTHS[scale]),
            "sequential, as the paper says of them, at full scale; at the others, the time that a simulation may take",
            "see reservations.md, for 20 large jobs",
        ),
        Parameter(
            "hours over which small jobs arrive, for each large job",
            str(_HOURS),
            "longer than HPC needs",
            "not measured",
        ),
    )


def fig6(means: Means) -> Outcome:
    """Return utilization and response time of all jobs by the work rate of the small ones."""
    values = _by_rate(means)
    shown = (USE, ALL_RESPONSE)
    claims, curves = tuple(fig6_claims(values)), _curves(values, means.scale, shown)
    return Outcome(_notes(means.scale), runs.rows(values, shown), claims, curves, parameters=_parameters(means.scale))


def fig6_claims(values: Values) -> Iterator[Claim]:
    """Yield the claims of figure 6: utilization and response time by work rate."""
    rates = list(values.values())
    for name in (HPC, TOPT, ATOPT):
        pair = ("rate 0.9", rates[-1][name][USE]), ("rate 0.1", rates[0][name][USE])
        yield better(f"{name}: grows from rate 0.1 to 0.9", USE, *pair, "increases")
    for rate, each in values.items():
        for other in (HPC, TOPT):
            pair = runs.pair_over([each], USE, ATOPT, other)
            yield better(f"{rate}: ATOptimal is better than {other}", USE, *pair, "always higher")
        lower, upper = (pick((each[HPC], each[TOPT]), key=_mean_of_all)[ALL_RESPONSE] for pick in (min, max))
        mine, text = (ATOPT, each[ATOPT][ALL_RESPONSE]), f"{rate}: ATOptimal is in between the others"
        yield more(f"{text}, not below: {ALL_RESPONSE}", mine, ("lower of the others", lower), "in between")
        yield less(f"{text}, not above: {ALL_RESPONSE}", mine, ("higher of the others", upper), "in between")
    text = f"HPC: grows from rate 0.1 to 0.9: {ALL_RESPONSE}"
    ends = ("rate 0.9", rates[-1][HPC][ALL_RESPONSE]), ("rate 0.1", rates[0][HPC][ALL_RESPONSE])
    yield more(text, *ends, "driven up", strictly=True)


def _mean_of_all(measured: Measured) -> float:
    return float(np.mean(measured[ALL_RESPONSE]))


def fig7(means: Means) -> Outcome:
    """Return the response time of the large jobs by the work rate of the small ones."""
    values = _by_rate(means)
    claims = tuple(fig7_claims(values))
    curves = _curves(values, means.scale, (RESPONSE,))
    return Outcome(
        _notes(means.scale), runs.rows(values, (RESPONSE,)), claims, curves, parameters=_parameters(means.scale)
    )


def fig7_claims(values: Values) -> Iterator[Claim]:
    """Yield the claims of figure 7: the response time of the large jobs.

    How close the strategies are at either end follows from what they request, Table 1: 10.86 h first against 10.8 at
    rate 0.1, and 17.39 against 20 at 0.9.
    """
    rates = list(values.values())
    for rate, each in values.items():
        pairs = {other: runs.pair_over([each], RESPONSE, ATOPT, other) for other in (TOPT, HPC)}
        yield more(f"{rate}: ATOptimal is not below TOptimal: {RESPONSE}", *pairs[TOPT], "in between, above it")
        yield less(f"{rate}: ATOptimal is below HPC: {RESPONSE}", *pairs[HPC], "in between, below it")
    text = f"ATOptimal: grows from rate 0.1 to 0.9: {RESPONSE}"
    ends = ("rate 0.9", rates[-1][ATOPT][RESPONSE]), ("rate 0.1", rates[0][ATOPT][RESPONSE])
    yield more(text, *ends, "increases", strictly=True)
    text = f"At rate 0.1, ATOptimal is close to TOptimal, at most 5% above: {RESPONSE}"
    yield by_construction(less(text, *runs.pair_over(rates[:1], RESPONSE, ATOPT, TOPT), "close", factor=_CLOSE))
    text = f"At rate 0.9, ATOptimal is close to HPC, which is at most 5% above: {RESPONSE}"
    yield by_construction(less(text, *runs.pair_over(rates[-1:], RESPONSE, HPC, ATOPT), "close", factor=_CLOSE))


def _by_rate(means: Means) -> Values:
    """Return the results by rate; figures 6 and 7 share the simulations."""
    seeds, large = runs.SIZES["fig6"][means.scale]
    window, width = _HOURS * large, _WIDTHS[means.scale]
    settings = {}
    for rate in _RATES[means.scale]:
        drawn = runs.jobs(
            large, processors="beta", low=1, high=20, work_rate=rate, window=window, stream_processors=width
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
        f"paper leaves open. Small jobs take {_WIDTHS[scale]} of the 100 processors each, and arrive for "
        f"{_HOURS * large} h. ATOptimal is told the work rate.",
    )
