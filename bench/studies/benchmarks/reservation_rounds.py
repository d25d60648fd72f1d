"""The paper's scheduler and the authors' public simulator: utilization and response of reservation sequences.

The authors' simulator, ScheduleFlow 1.0, gives the published figures on its own samples from the same laws. With the
same requests on the same jobs, the schedules are equal but for ties. Where they differ here, the samples do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ....base import FloatArray
from ....simulation import Result, simulate
from ...reports.tables import Table
from ..intervals import mean_interval, ratio_of_means
from ..reproductions.icpp2019.job_sets import LAWS, mixed
from ..reproductions.icpp2019.strategies_compared import (
    HOUR,
    HPC,
    NEURO,
    RESPONSE,
    TOPT,
    USE,
    Contender,
    Scheduler,
    jobs,
    measure,
)
from .reservation_draws import readings

STRATEGIES = (HPC, NEURO, TOPT)
#: Of the processors, those of figure 2.
ALLOCATIONS = ("full", "beta")
#: Share of small jobs to the published utilization, %. Means of 50 samples with 200 jobs.
SMALL_JOBS: Mapping[float, Mapping[str, float]] = {
    0.0: {},
    0.4: {HPC: 53.2, TOPT: 63.7},
    0.8: {HPC: 38.7, TOPT: 51.3},
}
#: Law of the run times to TOptimal over Neuroscience as published. In utilization and in response time, 100 jobs.
GAINS: Mapping[str, tuple[float, float]] = {
    "truncnorm": (1.054, 1 - 0.041),
    "beta": (1.032, 1 - 0.036),
    "exponential": (1.45, 1 / 2.0),
    "pareto": (1.54, 1 / 2.1),
}
#: Largest difference of equal figures, in points of utilization.
TOLERANCE = 2.0
#: Equation 2 as printed. There, a job is done when its reservation is over.
RESERVED = "response time with the reservation, h"
Samples = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class RoundsSetting:
    """How much is simulated.

    Attributes
    ----------
    seeds
        Draws.
    mixed, sets
        Jobs of a draw, with small ones and without.
    """

    seeds: int = 10
    mixed: int = 200
    sets: int = 100


def with_small_jobs(setting: RoundsSetting, over: Scheduler = "batches") -> Table:
    """Compare the strategies by the share of small jobs."""
    rows = []
    for share, published in SMALL_JOBS.items():
        for name in STRATEGIES:
            samples = _measured(Contender(name, over), mixed(setting.mixed, share), setting.seeds)
            use = float(np.mean(samples[USE]))
            cells = ["-"] * 3
            if name in published:
                difference = use - published[name]
                verdict = "within" if abs(difference) <= TOLERANCE else "beyond"
                cells = [f"{published[name]:.1f}", f"{difference:+.1f}", f"{verdict} {TOLERANCE:g} points"]
            rows.append(
                [f"{100 * share:.0f}%", name, _with_interval(samples[USE]), *cells]
                + [_with_interval(samples[metric]) for metric in (RESPONSE, RESERVED)]
            )
    columns = ("small jobs", "strategy", USE, "published", "difference", "", RESPONSE, RESERVED)
    note = f"Means of {setting.seeds} draws of {setting.mixed} jobs and intervals."
    return Table(f"{_TITLES[over]}, by the share of small jobs", columns, rows, labels=2, note=note)


def by_law(setting: RoundsSetting) -> list[Table]:
    """Compare TOptimal with Neuroscience by law of the run times and allocation of the processors."""
    samples: dict[tuple[str, str], dict[str, Samples]] = {}
    for law in LAWS:
        for processors in ALLOCATIONS:
            drawn = jobs(setting.sets, walltime=law, processors=processors)
            samples[law, processors] = {name: _measured(Contender(name), drawn, setting.seeds) for name in STRATEGIES}
        samples[law, "both"] = {
            name: _mean_of([samples[law, each][name] for each in ALLOCATIONS]) for name in STRATEGIES
        }
    return [_ratios(samples, place, metric, setting) for place, metric in enumerate((USE, RESPONSE))]


def _mean_of(several: Sequence[Samples]) -> Samples:
    """Return the mean of each sample over several settings."""
    return {metric: np.mean([each[metric] for each in several], axis=0).tolist() for metric in several[0]}


def _ratios(
    samples: Mapping[tuple[str, str], Mapping[str, Samples]], place: int, metric: str, setting: RoundsSetting
) -> Table:
    rows = []
    for (law, processors), each in samples.items():
        ratio, low, high = ratio_of_means(np.array(each[TOPT][metric]), np.array(each[NEURO][metric]))
        means = [f"{np.mean(each[name][metric]):.1f}" for name in STRATEGIES]
        rows.append([law, processors, *means, f"{ratio:.2f} [{low:.2f}, {high:.2f}]", f"{GAINS[law][place]:.2f}"])
    columns = ("law", "processors", *STRATEGIES, f"{TOPT} / {NEURO}", "published")
    note = (
        f"Means of {setting.seeds} draws of {setting.sets} jobs; ratios of means with intervals. The allocation of "
        "the published ratios is not known."
    )
    return Table(f"{_TITLES['batches']}: {metric}, by law of the run times", columns, rows, labels=2, note=note)


_TITLES: Mapping[Scheduler, str] = {
    "batches": "Batches of 100 whose reservations stand (rounds:batch=100/move=never)",
    "rounds": "For comparison: one round of all jobs, which move into gaps (rounds)",
    "easy": "For comparison: EASY",
}


def tables(setting: RoundsSetting) -> list[Table]:
    """Return the comparison: the paper's scheduler, and other schedulers on the same jobs."""
    others: tuple[Scheduler, ...] = ("rounds", "easy")
    published = {share: each for share, each in SMALL_JOBS.items() if each}
    own = readings(setting.seeds, setting.mixed, published, TOLERANCE)
    return [with_small_jobs(setting), own, *(with_small_jobs(setting, over) for over in others), *by_law(setting)]


def reserved_response(result: Result) -> FloatArray:
    """Return the seconds from the submission of each job to the end of its last reservation, shape (jobs,).

    The response time of equation 2 of A. Gainaru et al. (ICPP 2019) as printed. It has the failed reservations, the
    waits between them, and the whole successful reservation. A job that never started, or exceeded its request, counts
    to its end.

    Raises
    ------
    ValueError
        If the records do not hold what was requested.
    """
    attempts, jobs = result.attempts, result.jobs
    if "walltime" not in attempts:
        raise ValueError("attempts must have a column 'walltime', got a result that was made without")
    ends = (attempts["start"] + attempts["walltime"]).groupby(attempts["id"]).max()
    reserved = jobs["id"].map(ends).fillna(0).to_numpy(dtype=float)
    responses: FloatArray = np.maximum(reserved, jobs["end"].to_numpy(dtype=float)) - jobs["submit"].to_numpy(
        dtype=float
    )
    return responses


def _measured(contender: Contender, drawn: object, seeds: int) -> Samples:
    results = [simulate(drawn(seed), contender.dispatcher, overrun="kill") for seed in range(seeds)]  # type: ignore[operator]
    measures = [measure(result) for result in results]
    values = {metric: [each[metric] for each in measures] for metric in (USE, RESPONSE)}
    return values | {RESERVED: [float(reserved_response(result).mean()) / HOUR for result in results]}


def _with_interval(values: Sequence[float]) -> str:
    low, high = mean_interval(np.asarray(values))
    return f"{np.mean(values):.1f} [{low:.1f}, {high:.1f}]"
