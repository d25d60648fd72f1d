"""Which dispatchers and predictors the CP 2019 paper compares, and the jobs they are compared on here."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache

from ....simulation import Result
from ....workloads import Workload, generate, read
from ....workloads.fetching import TRACES, fetch
from ...campaigns.samples import Samples
from ..outcome import Means, Scale
from ..simulations import simulate_all

#: The paper's -D counts a job that outran its prediction as one of one more second.
PREDICTORS = {"W": "walltime", "R": "oracle", "D": "heuristic:correction=none"}
PCPS = ("PCP1-W", "PCP1-R", "PCP2-D", "PCP3-W", "PCP3-R", "PCP3-D")
HCPS = ("HCP", "HCP1-W", "HCP1-R", "HCP1-D", "HCP2-D", "HCP3-W", "HCP3-R", "HCP3-D")
#: Version 0 of PCP has no search of its own: it runs on the first jobs only, under a cap on the solver's time.
CAPPED = {"smoke": (20, "pcp:d=0.0005,d_max=0.001"), "small": (500, "pcp:d=0.005"), "full": (2000, "pcp:d=0.005")}
_TRACE, _FIRST = "kth-sp2", 10_000
_JOBS = {"small": 2000, "full": 8000}
_SEEDS = {"smoke": 1, "small": 3, "full": 5}
_GENERATED = "lublin:jobs=80,processors=32,load=1.2"
#: Labels to results, one a seed.
Runs = dict[str, list[Result]]


@cache
def samples(scale: Scale) -> Samples[Workload]:
    """Return the jobs of a scale."""
    if scale == "smoke":
        return _shifted(generate(_GENERATED, seed=2), scale, _GENERATED)
    published = TRACES[_TRACE].file
    last = _FIRST + _JOBS[scale]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        workload = read(fetch(_TRACE)).slice(_FIRST, last)
    return _shifted(workload, scale, f"jobs {_FIRST:,}-{last:,} of {published.partition('.')[0]}")


def _shifted(workload: Workload, scale: Scale, label: str) -> Samples[Workload]:
    return Samples(workload, _SEEDS[scale], 60, "run", label=label)


def specs(label: str) -> tuple[str, str]:
    """Return dispatcher and predictor of a label such as ``PCP3-D``; one without a predictor has the wall-time."""
    dispatcher, _, predictor = label.partition("-")
    return dispatcher.lower(), PREDICTORS[predictor or "W"]


def results(labels: tuple[str, ...], means: Means) -> Runs:
    """Return the results of labels."""
    found = simulate_all(samples(means.scale), [specs(label) for label in labels], means)
    return dict(zip(labels, found, strict=True))


def capped(means: Means) -> tuple[str, list[Result]]:
    """Return label and results of version 0 of PCP."""
    jobs, spec = CAPPED[means.scale]
    whole = samples(means.scale)
    few = replace(whole, label=f"{whole.label}, the first {jobs}", workload=whole.workload.head(jobs), seeds=1)
    return f"PCP, first {jobs} jobs", simulate_all(few, [(spec, PREDICTORS["W"])], means)[0]


def notes(scale: Scale) -> tuple[str, ...]:
    """Return what was simulated, and how it differs from the paper."""
    used = samples(scale)
    machine = used.workload.machine
    return (
        f"Simulated: {used.label}, on {machine.describe()}; copies: {used.seeds}, in each of which every submission is "
        f"shifted by up to {used.jitter} s. Jobs run for their real duration, also past the requested time, as the "
        "paper's do.",
        "Another machine and another trace than the paper's (Eurora, 64 nodes with accelerators, over 400,000 jobs): "
        "figures stand beside the published ones and are not to equal them; the claims are what is tested. On a pool "
        "of cores no job can lack a place on the nodes, which is where PCP and HCP differ most.",
        "-W: the requested time; -R: the real duration; -D: the data-driven heuristic, a job that outran it counting "
        "as one of one more second. Brackets: 95% bootstrap intervals of the mean over the copies, "
        "which say nothing of other jobs.",
    )
