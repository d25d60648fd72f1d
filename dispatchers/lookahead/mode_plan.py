"""Look-ahead plan of moldable jobs: which jobs start now, and on which size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...models.lookahead.guarantees import Settings
from ...models.lookahead.mode_planning import Modes, plan_modes
from ..backfilling.closed_times import fitting_beside
from ..fitting import amounts_of
from ..moldable.job_modes import JobModes, Mode, modes_that_fit
from ..protocol import Placement, State
from ..space import place_all
from .instant import Decision, Instant
from .pool_plan import put


def plan_in_modes(seen: Instant, settings: Settings, modes: JobModes) -> Decision:
    """Start all jobs in their fastest modes if they fit, else those planned to start now. None if none fits.

    The plan uses sums of resources. A planned job starts if it fits on the nodes.
    """
    state, each = seen.state, modes.of_queue(seen.state)
    rows = [mode for job in each for mode in job]
    fits = modes_that_fit(state, seen.space, [mode.waiting for mode in rows], pooled=False)
    if seen.closures:
        fits &= fitting_beside(state, "first-fit", [mode.waiting for mode in rows])
    if not fits.any():
        return Decision()
    fastest = [min(job, key=lambda mode: mode.waiting.predicted) for job in each]
    placed = None if seen.closures else _together(seen, fastest)
    if placed is not None:
        requested = sum(mode.waiting.nodes * sum(mode.waiting.demand) for mode in fastest)
        return Decision(list(enumerate(placed)), "trivial", len(placed), requested, 0.0, modes=fastest)
    ahead = State(state.now, [mode.waiting for mode in rows], state.running, state.free, state.machine)
    first = np.cumsum([0, *map(len, each)])
    offered = Modes(first, ahead.queue.predicted, amounts_of(ahead.queue), fits)
    found = plan_modes(seen.waiting.wait, offered, seen.busy, settings)
    chosen = found.start.tolist()
    job_of = np.repeat(np.arange(len(each)), np.diff(first)).tolist()
    overdue = found.overdue if found.overdue not in {job_of[row] for row in chosen} else -1
    by_row = replace(seen, state=ahead)
    starts = put(by_row, chosen, int(first[overdue]) if overdue >= 0 else -1)
    if not (starts or state.running or seen.closures):
        starts = put(by_row, [int(fits.argmax())])  # Nothing else will happen, so the first job that fits must start.
    return Decision(
        [(job_of[row], placement) for row, placement in starts],
        "feasible",
        candidates=found.candidates,
        requested=int(offered.need[first[:-1]].sum()),
        objective=float(found.objective),
        used="search" if found.searched else "list",
        guarantees=int(found.guarantees),
        modes=[rows[row] for row, _ in starts],
    )


def _together(seen: Instant, fastest: Sequence[Mode]) -> list[Placement] | None:
    """Return a placement of all jobs in their fastest modes, or ``None`` if not all fit."""
    entries = [mode.waiting for mode in fastest]
    for resource, free in enumerate(seen.available):
        if sum(entry.nodes * entry.demand[resource] for entry in entries) > free:
            return None
    return place_all(seen.space, entries)
