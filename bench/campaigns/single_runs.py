"""Run one simulation in another, supervised process: for plug-ins, which may end it or never return."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...base.unfinished_files import temporary_folder
from ...simulation import Result, SameInstant, simulate
from ...workloads import Workload
from ...workloads.machine_state import MachineState
from .board import Board, CampaignOutcome
from .cells import Cell, CellError
from .plan import CampaignPlan
from .processes import run_pooled
from .store import Store


@dataclass(frozen=True)
class SingleRun(Cell):
    """A simulation outside a campaign.

    Attributes
    ----------
    state
        The state at its beginning; ``None`` for an empty machine.
    seconds
        Most wall-clock time; ``None`` without bound.
    """

    state: MachineState | None = field(default=None, compare=False, repr=False)
    seconds: float | None = field(default=None, compare=False)

    @property
    def patience(self) -> float | None:
        """Most seconds."""
        return self.seconds

    @property
    def overdue(self) -> str:
        """Message if it takes longer."""
        return f"expected an end within the budget of {self.seconds:g} s, got none"

    def simulated(self, jobs: Workload, report: Callable[[int], None] | None) -> Any:
        """Simulate."""
        how = {"overrun": self.overrun, "seed": self.seed, "same_instant": self.same_instant, "state": self.state}
        return simulate(jobs, *copy.deepcopy(self.parts), **how, progress=report)  # type: ignore[arg-type]


def simulate_apart(
    workload: Workload,
    dispatcher: str,
    predictor: str,
    *,
    overrun: str,
    seed: int,
    same_instant: SameInstant,
    state: MachineState | None,
    progress: Callable[[int], None],
    seconds: float | None = None,
) -> Result | CellError:
    """Simulate in another process. Return the result, or the error, which may be the end of that process.

    The parameters are those of :func:`hpcdispatch.simulation.simulate`; `seconds` is as in :class:`SingleRun`.
    """
    parts = dispatcher, predictor, overrun, same_instant
    run = SingleRun("", len(workload), workload.digest(), None, seed, *parts, state=state, seconds=seconds)
    with temporary_folder() as folder:
        store, outcome = Store(folder), CampaignOutcome(1)
        store.open()
        plan = CampaignPlan.of("", [run], {run.digest: lambda: workload})
        run_pooled(Board(plan, store, outcome, [run], lambda now: progress(now.jobs)), 1, most_losses=1)
        return outcome.failed[0][1] if outcome.failed else store.result(run)
