"""The simulations of a reproduction: each is kept, and done once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ...simulation import Result
from ...workloads import Workload
from ..campaigns.cells import Cell
from ..campaigns.execution import Plan, Store, run_campaign
from ..campaigns.versions import canonical_dispatcher, canonical_predictor
from .outcome import Means


@dataclass(frozen=True)
class Samples:
    """Jittered copies of the jobs that are simulated.

    Attributes
    ----------
    label
        What they are called.
    workload
        The jobs.
    seeds
        How many copies.
    jitter
        Largest shift of a submission, seconds.
    overrun
        What becomes of a job that reaches its requested time.
    """

    label: str
    workload: Workload
    seeds: int
    jitter: int = 60
    overrun: str = "kill"


class SimulationFailedError(Exception):
    """A simulation of a reproduction ended in an exception."""

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


def simulate_all(samples: Samples, pairs: Sequence[tuple[str, str]], means: Means) -> list[list[Result]]:
    """Return the results of each pair of dispatcher and predictor, one for each seed.

    Raises
    ------
    SimulationFailedError
        If one of them failed; the others are kept.
    CampaignInterrupted
        On Ctrl-C; what was finished is kept.
    """
    loaders: dict[str, Callable[[], Workload]] = {samples.workload.digest(): lambda: samples.workload}
    cells = {(pair, seed): _cell(samples, *pair, seed) for seed in range(samples.seeds) for pair in pairs}
    store = finished(cells.values(), loaders, means)
    return [[store.result(cells[pair, seed]) for seed in range(samples.seeds)] for pair in pairs]


def finished(cells: Iterable[Cell], loaders: dict[str, Callable[[], Workload]], means: Means) -> Store:
    """Simulate the cells that are not kept yet, each once; return where all are, or raise as :func:`simulate_all`."""
    each = tuple({cell.key: cell for cell in cells}.values())
    store = Store(means.store)
    plan = Plan("reproduce", each, (), loaders)
    outcome = run_campaign(plan, store, workers=means.workers, retry=True, progress=means.progress)
    for cell, error in outcome.failed:
        raise SimulationFailedError(f"{cell.label}: {error}", error.traceback)
    return store


def _cell(samples: Samples, dispatcher: str, predictor: str, seed: int) -> Cell:
    return Cell(
        samples.label,
        len(samples.workload),
        samples.workload.digest(),
        samples.jitter,
        seed,
        canonical_dispatcher(dispatcher),
        canonical_predictor(predictor),
        samples.overrun,
        "batch",
    )
