"""The simulations of a reproduction: each is kept, and done once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ....simulation import Result
from ...campaigns.cells import Cell
from ...campaigns.execution import Plan, Store, run_campaign
from ...campaigns.samples import Loaders, Samples
from .. import standing_rounds  # noqa: F401 - it simulates them
from .outcome import Means


class SimulationFailedError(Exception):
    """A simulation of a reproduction ended in an exception."""

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


def simulate_all(samples: Samples[Any], pairs: Sequence[tuple[str, str]], means: Means) -> list[list[Result]]:
    """Return the results of each pair of dispatcher and predictor, one for each seed.

    Raises
    ------
    SimulationFailedError
        If one of them failed; the others are kept.
    CampaignInterrupted
        On Ctrl-C; what was finished is kept.
    """
    loaders: Loaders = {}
    cells = samples.cells(pairs, loaders)
    store = finished((cell for each in zip(*cells, strict=True) for cell in each), loaders, means)
    return [[store.result(cell) for cell in each] for each in cells]


def finished(cells: Iterable[Cell], loaders: Loaders, means: Means) -> Store:
    """Simulate the cells that are not kept yet, each once; return where all are, or raise as :func:`simulate_all`."""
    store = Store(means.store)
    plan = Plan.of("", cells, loaders)
    outcome = run_campaign(plan, store, workers=means.workers, retry=True, progress=means.progress)
    for cell, error in outcome.failed:
        raise SimulationFailedError(f"{cell.label}: {error}", error.traceback)
    return store
