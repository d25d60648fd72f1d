"""The metrics of a campaign's finished cells, one row each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from ..simulation import Result
from .campaign_plan import Plan
from .store import Store
from .whole import write_whole

#: What tells the cells of a campaign apart.
LABELS = ("workload", "dispatcher", "predictor", "overrun", "same_instant", "jitter", "seed", "warmup")
#: Entries of the summary that are measured times.
_MEASURED = ("decision_ms_mean", "decision_ms_p95", "decision_ms_max", "prediction_s", "simulation_s")


def campaign_table(plan: Plan, store: Store, *, measured: bool = False) -> pd.DataFrame:
    """Return the metrics of every cell of a campaign that is in the store, in the order of the campaign.

    Parameters
    ----------
    plan, store
        The cells, and where they are.
    measured
        Whether the measured times are in it too; without them it is the same from run to run.
    """
    rows = []
    for cell in plan.rows:
        if store.has(cell.key):
            summary = without_warmup(store.result(cell), cell.warmup).summary()
            kept = {name: value for name, value in summary.items() if measured or name not in _MEASURED}
            rows.append({**{name: getattr(cell, name) for name in LABELS}, "jitter": cell.jitter or 0, **kept})
    return pd.DataFrame(rows)


def write_table(plan: Plan, store: Store, path: Path) -> None:
    """Write the metrics as CSV, all of them or nothing."""
    write_whole(path, campaign_table(plan, store).to_csv(index=False))


def without_warmup(result: Result, jobs: int) -> Result:
    """Return a result whose metrics leave out the first jobs.

    The metrics of jobs are of the jobs that come after. Those of the machine begin with the submission of the first of
    them: what ran before is cut off there, and of an attempt that was running then the work from then on counts.
    """
    if not jobs:
        return result
    counted = result.jobs.iloc[jobs:]
    begin = int(counted["submit"].min())
    attempts = result.attempts[result.attempts["end"] > begin].copy()
    before = (begin - attempts["start"]).clip(lower=0)
    attempts["start"] = attempts["start"] + before
    attempts["useful"] = (attempts["useful"] - before).clip(lower=0)
    return replace(result, jobs=counted, attempts=attempts)
