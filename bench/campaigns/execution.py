"""Run campaigns: every combination of workloads, dispatchers, predictors, options and seeds, each simulated once."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

from ...base import InputError
from ...base.argument_types import names_wrong_types
from .board import Board, CampaignOutcome, CampaignProgress, WorkerError
from .cells import Cell
from .dask_cluster import run_on_cluster
from .plan import CampaignPlan, plan_campaign
from .processes import run_here, run_pooled
from .recorded_names import recorded
from .store import Store

__all__ = [
    "CampaignInterrupted",
    "CampaignOutcome",
    "CampaignPlan",
    "CampaignProgress",
    "Store",
    "WorkerError",
    "plan_campaign",
    "run_campaign",
]


class CampaignInterrupted(KeyboardInterrupt):
    """Ctrl-C during a campaign; `outcome` has the finished cells, which are in the store."""

    def __init__(self, outcome: CampaignOutcome) -> None:
        super().__init__(f"interrupted: {len(outcome.done)} cells finished")
        self.outcome = outcome


@names_wrong_types
def run_campaign(
    plan: CampaignPlan,
    store: Store,
    *,
    workers: int = 1,
    cluster: Any = None,
    retry: bool = False,
    verify: bool = False,
    isolate: bool = False,
    progress: Callable[[CampaignProgress], None] | None = None,
) -> CampaignOutcome:
    """Simulate the cells of a campaign that are not in the store yet.

    Parameters
    ----------
    plan
        The cells.
    store
        Store of the results. Only this process writes to it; workers need no access. The campaign's cells in it are
        checked first, and damaged ones are simulated again.
    workers
        Number of processes; 1 runs in this one. They are spawned, so a script needs its main guard.
    cluster
        A ``distributed.Client`` to run on instead.
    retry
        Simulate cells again that failed in an earlier run.
    verify
        Check every cell of the store, those of other campaigns too. Simulate only the damaged cells of this one.
    isolate
        Run cells with a plug-in in another process even with one worker.
    progress
        Called from time to time.

    Raises
    ------
    InputError
        For a number of workers out of range, or a store that is a file.
    OSError
        If the store or temporary files cannot be written, for example on a full disk. Finished cells are in the store.
    WorkerError
        If a worker cannot be used. Finished cells are in the store.
    CampaignInterrupted
        On Ctrl-C, with the finished cells; the workers are stopped.
    """
    if workers < 1:
        raise InputError(f"campaign: workers must be >= 1, got {workers}")
    begin = perf_counter()
    outcome = CampaignOutcome(len(plan.cells))
    board: Board | None = None
    try:
        store.open()
        missing = _missing(plan, store, outcome, retry=retry, verify=verify)
        if store.refusal is not None and missing:
            raise store.refusal
        if plan.name and store.refusal is None:
            store.note(plan.name, recorded(plan))
        board = Board(plan, store, outcome, missing, progress)
        if cluster is not None:
            run_on_cluster(board, cluster)
        elif min(workers, len(missing)) > 1 or (isolate and any(cell.plugged for cell in missing)):
            run_pooled(board, min(workers, len(missing)))
        else:
            run_here(board)
    except KeyboardInterrupt:
        if board is not None:
            board.settle()
        raise CampaignInterrupted(outcome) from None
    finally:
        outcome.seconds = perf_counter() - begin
    return outcome


def _missing(plan: CampaignPlan, store: Store, outcome: CampaignOutcome, *, retry: bool, verify: bool) -> list[Cell]:
    """Return the cells to simulate. Existing cells are checked, and damaged ones removed."""
    own = {cell.key: cell for cell in plan.cells}
    for cell in plan.cells if store.refusal is None else ():
        if not cell.lasting:
            store.discard(cell.key)
    damaged = {}
    for key in store.finished() if verify else filter(store.has, own):
        reason = store.damage(key)
        if reason is not None:
            outcome.damaged.append((key, reason, own.get(key)))
            damaged[key] = reason
    for key in damaged.keys() & own.keys() if store.refusal is None else ():
        store.discard(key)
    missing = []
    for key, cell in own.items():
        failure = None if retry else store.failure(key)
        if store.has(key) and key not in damaged:
            outcome.reused.append(cell)
        elif failure is not None:
            outcome.failed_before.append((cell, failure))
        elif key in damaged or not verify:
            missing.append(cell)
    return missing
