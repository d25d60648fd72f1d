"""Possible sampling of jobs in the published figures: plausible readings of the paper's second scenario.

The printed laws leave two things open: samples beyond the bounds of a normal law, and the processors of small jobs. The
authors' public scripts (vanderbiltscl/SpeculativeScheduling) have other bounds, processors and submissions than the
text. Each reading changes one thing, or all that is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np

from ....base import IntArray
from ....simulation import simulate
from ....workloads import Job, Machine, Workload
from ....workloads.generators.applications import Hours, frozen_law
from ....workloads.generators.stochastic import MIXED, SMALL
from ...reports.tables import Table
from ..reproductions.icpp2019.strategies_compared import HOUR, USE, Contender, measure

#: The run times of a normal law that are cut at the bounds rather than sampled between them.
Cut = Literal["none", "small", "all"]
Processors = Literal["beta", "uniform", "all", "small sequential"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How jobs are sampled.

    Attributes
    ----------
    cut
        Which normal laws are cut at their bounds.
    machine
        Its processors.
    processors
        Of the jobs.
    small
        The law of small jobs.
    later
        When these are submitted, seconds; all jobs in random order if at 0, else the large ones first.
    """

    cut: Cut = "none"
    machine: int = 100
    processors: Processors = "beta"
    small: Hours = SMALL
    later: int = 0


_BOUNDS = Hours(0.1, 6, mean=1, deviation=1)
READINGS: Mapping[str, Reading] = {
    "as printed: between the bounds, Beta processors": Reading(),
    "normal run times of small jobs cut at the bounds": Reading(cut="small"),
    "normal run times of all jobs cut at the bounds": Reading(cut="all"),
    "10 processors, as in the authors' scripts": Reading(machine=10),
    "10 processors, run times of small jobs cut": Reading(cut="small", machine=10),
    "uniform processors": Reading(processors="uniform"),
    "all on all processors": Reading(processors="all"),
    "small jobs sequential": Reading(processors="small sequential"),
    "small jobs 10 s later, as in the authors' scripts": Reading(later=10),
    "small jobs up to 6 h, as in the authors' scripts": Reading(small=_BOUNDS),
    "all of the authors' scripts": Reading(machine=10, small=_BOUNDS, later=10),
}


def drawn(reading: Reading, total: int, share: float, seed: int) -> Workload:
    """Return large and small jobs as a reading has them."""
    rng = np.random.default_rng(seed)
    small = round(total * share)
    kinds = (("large", MIXED, total - small, 0), ("small", reading.small, small, reading.later))
    jobs = [job for kind in kinds for job in _jobs(reading, kind, rng)]
    if not reading.later:
        jobs = [jobs[place] for place in rng.permutation(total).tolist()]
    return Workload(tuple(jobs), Machine.pool(reading.machine))


def _jobs(reading: Reading, kind: tuple[str, Hours, int, int], rng: np.random.Generator) -> Iterator[Job]:
    name, hours, count, submit = kind
    law = frozen_law("truncnorm", hours)
    if reading.cut in ("all", name):
        assert hours.mean is not None
        assert hours.deviation is not None
        times = np.clip(rng.normal(hours.mean, hours.deviation, count), hours.low, hours.high) * HOUR
    else:
        times = law.ppf(rng.random(count))
    walltime = ceil(round(float(law.support()[1]), 6))
    processors = _PROCESSORS[reading.processors](rng, reading.machine, count, name)
    for number, (ran, size) in enumerate(zip(times.tolist(), processors.tolist(), strict=True)):
        id_ = f"{name}-{number}"
        yield Job(id_, submit, max(1, int(ran)), walltime, nodes=size, user=name, name=id_, queue=name, law=law)


def _beta(rng: np.random.Generator, machine: int, count: int, name: str) -> IntArray:
    return np.maximum(1, (machine * rng.beta(2, 2, count)).astype(np.int64))


_PROCESSORS: Mapping[Processors, Callable[[np.random.Generator, int, int, str], IntArray]] = {
    "beta": _beta,
    "uniform": lambda rng, machine, count, name: rng.integers(1, machine + 1, count),
    "all": lambda rng, machine, count, name: np.full(count, machine),
    "small sequential": lambda rng, machine, count, name: (
        np.ones(count, dtype=np.int64) if name == "small" else _beta(rng, machine, count, name)
    ),
}


def readings(seeds: int, total: int, published: Mapping[float, Mapping[str, float]], tolerance: float) -> Table:
    """Compare the utilization under each reading with published figures.

    Parameters
    ----------
    seeds
        Draws.
    total
        Jobs of a draw.
    published
        Share of small jobs to strategy to utilization, %.
    tolerance
        Up to how many points two figures count as equal.
    """
    places = [(share, name) for share, each in published.items() for name in each]
    rows = []
    for text, reading in READINGS.items():
        uses = [_use(reading, total, share, name, seeds) for share, name in places]
        off = [abs(use - published[share][name]) for use, (share, name) in zip(uses, places, strict=True)]
        cells = [f"{use:.1f}" for use in uses]
        rows.append([text, *cells, f"{max(off):.1f}", f"{sum(each <= tolerance for each in off)} of {len(off)}"])
    columns = ("reading", *(f"{100 * share:.0f}% small, {name}" for share, name in places), "furthest", "within")
    note = f"Utilization, %, means of {seeds} draws of {total} jobs; within: at most {tolerance:g} points off."
    own = ["published", *(f"{published[share][name]:.1f}" for share, name in places), "", ""]
    return Table("Readings of how the jobs are drawn", columns, [own, *rows], note=note)


def _use(reading: Reading, total: int, share: float, name: str, seeds: int) -> float:
    dispatcher = Contender(name).dispatcher
    results = (simulate(drawn(reading, total, share, seed), dispatcher, overrun="kill") for seed in range(seeds))
    return float(np.mean([measure(result)[USE] for result in results]))
