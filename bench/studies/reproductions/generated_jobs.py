"""Simulations of generated jobs: another draw for each seed, measured one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ....simulation import Result
from ...campaigns.cells import Cell
from ...campaigns.samples import Generated, Loaders, Samples
from .outcome import Means
from .simulations import finished

T = TypeVar("T")


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
    """Return what is measured of each pairing, one for each seed; jobs end at their walltime at the latest.

    What measures is given the tables of jobs and attempts.

    Raises
    ------
    SimulationFailedError, CampaignInterrupted
        As :func:`~.simulations.simulate_all`.
    """
    loaders: Loaders = {}
    cells: dict[Pairing, tuple[Cell, ...]] = {}
    for jobs in dict.fromkeys(pairing.jobs for pairing in pairings):
        own = [pairing for pairing in pairings if pairing.jobs == jobs]
        samples = Samples(jobs, seeds, overrun="kill", label=jobs.spec)
        found = samples.cells([(pairing.dispatcher, "walltime") for pairing in own], loaders)
        cells |= dict(zip(own, found, strict=True))
    together = sorted((cell for each in cells.values() for cell in each), key=lambda cell: (cell.workload, cell.seed))
    store = finished(together, loaders, means)
    return [[measure(store.result(cell, ("jobs", "attempts"))) for cell in cells[pairing]] for pairing in pairings]
