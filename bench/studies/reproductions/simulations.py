"""Simulations of a study. Each is stored and run once for all studies that need it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ....simulation import Result
from ....simulation.result import TABLES
from ...campaigns.cells import Cell
from ...campaigns.execution import CampaignPlan, Store, run_campaign
from ...campaigns.samples import Loaders, Samples
from .. import standing_rounds  # noqa: F401 - it simulates them
from .outcome import StudySettings

T = TypeVar("T")
#: Jobs, dispatcher and predictor.
Setting = tuple[Samples[Any], str, str]


class SimulationFailedError(Exception):
    """A simulation of a reproduction ended in an exception."""

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


def simulate_all(
    settings: Sequence[Setting], means: StudySettings, measure: Callable[[Result], T], tables: Collection[str] = TABLES
) -> list[list[T]]:
    """Return the measurements of each setting, one value per seed.

    Settings with the same samples have the same jobs. Seeds begin at that of `means`. Its control replaces dispatchers
    and predictors.

    Parameters
    ----------
    settings
        The settings to simulate.
    means
        The store of simulations, and the replacement of the system under test.
    measure
        Called with one result at a time.
    tables
        The tables of a result that are read.

    Raises
    ------
    SimulationFailedError
        If one of them failed. The others are stored.
    CampaignInterrupted
        On Ctrl-C. Finished simulations are stored.
    """
    loaders: Loaders = {}
    cells: dict[int, tuple[Cell, ...]] = {}
    for samples in {id(samples): samples for samples, _, _ in settings}.values():
        own = [place for place, (each, _, _) in enumerate(settings) if each is samples]
        drawn = replace(samples, first=samples.first + means.seed) if callable(samples.workload) else samples
        change = means.control or str
        pairs = [(change(settings[place][1]), change(settings[place][2])) for place in own]
        cells |= dict(zip(own, drawn.cells(pairs, loaders), strict=True))
    # Simulations of the same jobs are neighbours, so that the jobs are generated once.
    together = sorted((cell for each in cells.values() for cell in each), key=lambda cell: (cell.workload, cell.seed))
    store = finished(together, loaders, means)
    return [[measure(store.result(cell, tables)) for cell in cells[place]] for place in range(len(settings))]


def finished(cells: Iterable[Cell], loaders: Loaders, means: StudySettings) -> Store:
    """Simulate each missing cell once. Return the store, or raise as :func:`simulate_all`."""
    store = Store(means.store)
    plan = CampaignPlan.of("", cells, loaders)
    outcome = run_campaign(plan, store, workers=means.workers, retry=True, progress=means.progress)
    for cell, error in outcome.failed:
        raise SimulationFailedError(f"{cell.label}: {error}", error.traceback)
    return store
