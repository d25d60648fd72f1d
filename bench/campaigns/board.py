"""Progress of a campaign's cells: waiting, running and finished ones."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .cells import Cell, CellError, Files
from .plan import CampaignPlan
from .store import Store


class CampaignProgress(NamedTuple):
    """Progress of a campaign.

    Attributes
    ----------
    cells, planned
        Cells that have ended, and all cells to simulate.
    failed
        Number of failed cells.
    jobs, expected
        Finished jobs, and all jobs.
    running
        The cells in simulation.
    """

    cells: int
    planned: int
    failed: int
    jobs: int
    expected: int
    running: tuple[str, ...]


@dataclass
class CampaignOutcome:
    """Outcome of a campaign's cells.

    Attributes
    ----------
    planned
        Number of cells in the campaign.
    done
        Cells simulated in this run.
    reused
        Cells from the store.
    failed
        Cells that failed in this run, with their errors.
    failed_before
        Cells that failed in an earlier run and were not tried again.
    damaged
        Keys of cells with changed or missing files, and the reason. The cell follows if it is in the campaign.
    seconds
        Wall-clock time.
    """

    planned: int
    done: list[Cell] = field(default_factory=list)
    reused: list[Cell] = field(default_factory=list)
    failed: list[tuple[Cell, CellError]] = field(default_factory=list)
    failed_before: list[tuple[Cell, CellError]] = field(default_factory=list)
    damaged: list[tuple[str, str, Cell | None]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def missing(self) -> int:
        """Number of cells with neither a result nor an error."""
        return self.planned - len(self.done) - len(self.reused) - len(self.failed) - len(self.failed_before)


class WorkerError(Exception):
    """A worker cannot simulate the campaign: its versions differ, or none can be started."""


class Board:
    """Distributes the cells of a campaign and collects their results.

    Parameters
    ----------
    plan, store, outcome
        As in :func:`run_campaign`.
    missing
        The cells to simulate.
    progress
        Called with every step.
    """

    def __init__(
        self,
        plan: CampaignPlan,
        store: Store,
        outcome: CampaignOutcome,
        missing: Sequence[Cell],
        progress: Callable[[CampaignProgress], None] | None,
    ) -> None:
        self.plan = plan
        self.store = store
        self.outcome = outcome
        self.waiting = deque(missing)
        self.underway: dict[str, tuple[Cell, int]] = {}
        self._planned = len(missing)
        self._expected = sum(cell.jobs for cell in missing)
        self._jobs = 0
        self._progress = progress
        self._tell()

    def next(self) -> Cell | None:
        """Return the next cell to simulate, without those that another campaign has finished meanwhile."""
        while self.waiting:
            cell = self.waiting.popleft()
            if not self.store.has(cell.key):
                self.underway[cell.key] = cell, 0
                self._tell()
                return cell
            self.outcome.reused.append(cell)
            self._jobs += cell.jobs
        return None

    def again(self, cell: Cell) -> None:
        """Take back the cell of a lost worker. It is the next cell."""
        self.underway.pop(cell.key, None)
        self.waiting.appendleft(cell)

    def advance(self, cell: Cell, jobs: int) -> None:
        """Record the number of finished jobs of a cell."""
        self.underway[cell.key] = cell, jobs
        self._tell()

    def finish(self, cell: Cell, result: Files | CellError) -> None:
        """Store the result of a cell, or its error."""
        if isinstance(result, CellError):
            if result.blameless:
                raise (OSError if result.type == "OSError" else WorkerError)(f"worker: {result.message}")
            self.store.fail(cell, result)
            self.outcome.failed.append((cell, result))
        else:
            self.store.put(cell.key, result)
            self.outcome.done.append(cell)
        self.underway.pop(cell.key, None)
        self._jobs += cell.jobs
        self._tell()

    def settle(self) -> None:
        """Count the cells that an interrupt left in the store before they were counted."""
        known = {cell.key for cell in self.outcome.done}
        self.outcome.done.extend(
            cell for key, (cell, _) in self.underway.items() if key not in known and self.store.has(key)
        )

    def _tell(self) -> None:
        if self._progress is not None:
            jobs = self._jobs + sum(jobs for _, jobs in self.underway.values())
            running = tuple(cell.label for cell, _ in self.underway.values())
            ended = self._planned - len(self.waiting) - len(running)
            failed = len(self.outcome.failed)
            counts = ended, self._planned, failed, jobs, self._expected
            self._progress(CampaignProgress(*counts, running))
