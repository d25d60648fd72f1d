"""Simulations of generated jobs: another draw for each seed, measured one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from ...simulation import Result
from ...workloads import Workload
from ..campaigns.cells import Cell
from ..campaigns.comparison_runs import Generated
from ..campaigns.versions import canonical_dispatcher, canonical_predictor
from .outcome import Means
from .simulations import finished

T = TypeVar("T")
_PREDICTOR = "walltime"


@dataclass(frozen=True, slots=True)
class Pairing:
    """A dispatcher on generated jobs.

    Attributes
    ----------
    jobs
        What is drawn; all pairings of the same jobs have the same draw of a seed.
    dispatcher
        With its options.
    """

    jobs: Generated
    dispatcher: str


def measure_all(pairings: Sequence[Pairing], seeds: int, means: Means, measure: Callable[[Result], T]) -> list[list[T]]:
    """Return what is measured of each pairing, one for each seed; jobs end at their requested time at the latest.

    Raises
    ------
    SimulationFailedError, CampaignInterrupted
        As :func:`~.runs.simulate_all`.
    """
    names = {pairing.dispatcher: canonical_dispatcher(pairing.dispatcher) for pairing in pairings}
    predictor = canonical_predictor(_PREDICTOR)
    loaders: dict[str, Callable[[], Workload]] = {}
    cells: dict[tuple[Pairing, int], Cell] = {}
    for jobs in dict.fromkeys(pairing.jobs for pairing in pairings):
        own = [pairing for pairing in pairings if pairing.jobs == jobs]
        for seed in range(seeds):
            workload = jobs(seed)
            loaders[workload.digest()] = partial(jobs, seed)
            drawn = jobs.spec, len(workload), workload.digest(), None, seed
            for pairing in own:
                cells[pairing, seed] = Cell(*drawn, names[pairing.dispatcher], predictor, "kill", "batch")
    store = finished(cells.values(), loaders, means)
    return [[measure(store.result(cells[pairing, seed])) for seed in range(seeds)] for pairing in pairings]
