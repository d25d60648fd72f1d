"""Figures 6 to 8 of the ICPP 2019 paper. Stochastic jobs run beside a stream of small ones (scenarios 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from .....workloads.generators.stochastic import OUTLASTS
from ....campaigns.samples import Generated
from ..claims import by_construction, elsewhere, less, more
from ..outcome import Claim, Drawing, Parameter, Scale, StudyOutcome, StudySettings
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

_RATES = (0.1, 0.3, 0.5, 0.7, 0.9)
#: Processors of a small job.
_WIDTHS: Mapping[Scale, int] = {"smoke": 50, "brief": 50, "small": 20, "full": 1}
#: Hours that small jobs arrive for each large one. HPC needs less.
_HOURS = 12
#: The small jobs of the authors' public scripts. All processors, 400 at a work rate of 1.
_SCRIPT_WIDTH, _SCRIPT_JOBS = 100, 400
#: What its settings are called before their work rate.
SCRIPT = "authors' scripts, "
_SCRIPTED = "the small jobs of the authors' scripts"
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


def fig6(means: StudySettings) -> StudyOutcome:
    """Return utilization and response time of all jobs. By the work rate of the small ones."""
    values = _by_rate(means)
    scripted = _as_scripted(means)
    shown = (USE, ALL_RESPONSE)
    claims = (*fig6_claims(values), *elsewhere(fig6_claims(scripted, SCRIPT), _SCRIPTED))
    curves = _curves(values, shown)
    rows = runs.rows(values | scripted, shown)
    return StudyOutcome(_notes(means), rows, claims, curves, parameters=_parameters(means.scale), runs=_runs(means))


def fig6_claims(values: Values, place: str = "") -> Iterator[Claim]:
    """Yield the claims of figure 6: utilization and response time by work rate.

    Parameters
    ----------
    values
        By setting, in order of the work rate.
    place
        Prefix of the settings' names.
    """
    rates = list(values.values())
    for name in (HPC, TOPT, ATOPT):
        pair = ("rate 0.9", rates[-1][name][USE]), ("rate 0.1", rates[0][name][USE])
        yield better(f"{place}{name}: grows from rate 0.1 to 0.9", USE, *pair, "increases")
    for rate, each in values.items():
        for other in (HPC, TOPT):
            pair = runs.pair_over([each], USE, ATOPT, other)
            yield better(f"{rate}: ATOptimal is better than {other}", USE, *pair, "always higher")
        lower, upper = (pick((each[HPC], each[TOPT]), key=_mean_of_all)[ALL_RESPONSE] for pick in (min, max))
        mine = (ATOPT, each[ATOPT][ALL_RESPONSE])
        text = f"{rate}: ATOptimal is in between the others"
        yield more(f"{text}, not below: {ALL_RESPONSE}", mine, ("lower of the others", lower), "in between")
        yield less(f"{text}, not above: {ALL_RESPONSE}", mine, ("higher of the others", upper), "in between")
    text = f"{place}HPC: grows from rate 0.1 to 0.9: {ALL_RESPONSE}"
    ends = ("rate 0.9", rates[-1][HPC][ALL_RESPONSE]), ("rate 0.1", rates[0][HPC][ALL_RESPONSE])
    yield more(text, *ends, "driven up", strictly=True)


def _mean_of_all(measured: Measured) -> float:
    return float(np.mean(measured[ALL_RESPONSE]))


def fig7(means: StudySettings) -> StudyOutcome:
    """Return the large jobs' response time by the small ones' work rate."""
    values = _by_rate(means)
    scripted = _as_scripted(means)
    claims = (*fig7_claims(values), *elsewhere(fig7_claims(scripted, SCRIPT), _SCRIPTED))
    curves = _curves(values, (RESPONSE,))
    rows = runs.rows(values | scripted, (RESPONSE,))
    return StudyOutcome(_notes(means), rows, claims, curves, parameters=_parameters(means.scale), runs=_runs(means))


def fig7_claims(values: Values, place: str = "") -> Iterator[Claim]:
    """Yield the claims of figure 7: the large jobs' response time.

    The strategies' gap at either end follows from their requests in Table 1. At rate 0.1 the first requests are 10.86 h
    and 10.8 h. At 0.9 they are 17.39 h and 20 h. `values` and `place` are those of :func:`fig6_claims`.
    """
    rates = list(values.values())
    for rate, each in values.items():
        pairs = {other: runs.pair_over([each], RESPONSE, ATOPT, other) for other in (TOPT, HPC)}
        yield more(f"{rate}: ATOptimal is not below TOptimal: {RESPONSE}", *pairs[TOPT], "in between, above it")
        yield less(f"{rate}: ATOptimal is below HPC: {RESPONSE}", *pairs[HPC], "in between, below it")
    text = f"{place}ATOptimal: grows from rate 0.1 to 0.9: {RESPONSE}"
    ends = ("rate 0.9", rates[-1][ATOPT][RESPONSE]), ("rate 0.1", rates[0][ATOPT][RESPONSE])
    yield more(text, *ends, "increases", strictly=True)
    text = f"{place}At rate 0.1, ATOptimal is close to TOptimal, at most 5% above: {RESPONSE}"
    yield by_construction(less(text, *runs.pair_over(rates[:1], RESPONSE, ATOPT, TOPT), "close", factor=_CLOSE))
    text = f"{place}At rate 0.9, ATOptimal is close to HPC, which is at most 5% above: {RESPONSE}"
    yield by_construction(less(text, *runs.pair_over(rates[-1:], RESPONSE, HPC, ATOPT), "close", factor=_CLOSE))


def _by_rate(means: StudySettings) -> dict[str, dict[str, Measured]]:
    """Return the results by rate, as in the paper. Figures 6 and 7 share the simulations."""
    seeds, large = runs.sizes("fig6", means)
    window = _HOURS * large
    width = _WIDTHS[means.scale]
    drawn = {
        rate: runs.jobs(
            large, processors="beta", low=1, high=20, work_rate=rate, window=window, stream_processors=width
        )
        for rate in _RATES
    }
    return _simulated(drawn, "", seeds, means)


def _as_scripted(means: StudySettings) -> dict[str, dict[str, Measured]]:
    """Return results by rate with few wide small jobs, as the authors' public scripts have them."""
    seeds, large = runs.sizes("scripts", means)
    # This many jobs arrive over 1.5 times the best time for 100 large ones.
    over = round(_SCRIPT_JOBS / (100 * OUTLASTS), 3)
    drawn = {
        rate: runs.jobs(
            large, processors="full", low=1, high=20, work_rate=rate, stream_processors=_SCRIPT_WIDTH, scaled_down=over
        )
        for rate in _RATES
    }
    return _simulated(drawn, SCRIPT, seeds, means)


def _simulated(
    drawn: Mapping[float, Generated], place: str, seeds: int, means: StudySettings
) -> dict[str, dict[str, Measured]]:
    settings = {
        f"{place}rate {rate}": (
            jobs,
            [Contender(HPC), Contender(TOPT), Contender(ATOPT, options=f"rate={rate}"), *runs.PLAIN],
        )
        for rate, jobs in drawn.items()
    }
    return runs.simulate(settings, seeds, means)


def _curves(values: Values, metrics: Sequence[str]) -> Drawing:
    return runs.curves(dict(zip(_RATES, values.values(), strict=True)), metrics, "work rate of the small jobs")


def _runs(means: StudySettings) -> str:
    return f"{runs.sizes('fig6', means)[0]}, scripts {runs.sizes('scripts', means)[0]}"


def _notes(means: StudySettings) -> tuple[str, ...]:
    seeds, large = runs.sizes("fig6", means)
    scripted, jobs = runs.sizes("scripts", means)
    return (
        *runs.NOTES,
        f"Runs: {seeds} of {large} large jobs (the paper: 50 of 100). Their processors have the law Beta, which the "
        f"paper leaves open. Small jobs take {_WIDTHS[means.scale]} of the 100 processors each, and arrive for "
        f"{_HOURS * large} h. ATOptimal is told the work rate.",
        "The authors' public scripts (vanderbiltscl/SpeculativeScheduling) have other small jobs than the text says. "
        f"They are {_SCRIPT_JOBS} times the work rate, on all processors each, and about a third as long as the large "
        f"ones. These are on all processors too. So have the settings that are named after them: {scripted} runs of "
        f"{jobs} large jobs; small ones come at uniform times, as the text says.",
    )
