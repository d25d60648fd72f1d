"""The metrics of a campaign's finished cells, one row each."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from ...analysis.curves import utilization
from ...analysis.trimming import Cut, steady_state
from ...base import write_whole
from ...simulation import Result
from ...workloads.formats.csv_text import csv_text
from .plan import Plan
from .store import Store

#: Columns that identify the cells of a campaign.
LABELS = ("workload", "dispatcher", "predictor", "overrun", "same_instant", "jitter", "seed", "warm_up", "cool_down")
#: Entries of the summary for the whole simulation.
_OF_ALL = ("occupancy", "efficiency", "lost", "makespan")
#: Entries of the summary with measured times.
_MEASURED = ("decision_ms_mean", "decision_ms_p95", "decision_ms_max", "prediction_s", "simulation_s")


def campaign_table(plan: Plan, store: Store) -> pd.DataFrame:
    """Return the metrics of every cell of a campaign in the store, in the order of the campaign.

    It has no measured times, so that it is the same in every run.
    """
    rows = []
    for cell in plan.rows:
        if store.has(cell.key):
            summary = cut_summary(store.result(cell), cell.warm_up, cell.cool_down)
            shown = {name: value for name, value in summary.items() if name not in _MEASURED}
            cuts = {"jitter": cell.jitter or 0, "warm_up": str(cell.warm_up), "cool_down": str(cell.cool_down)}
            rows.append({**{name: getattr(cell, name) for name in LABELS}, **cuts, **shown})
    return pd.DataFrame(rows)


def write_table(plan: Plan, store: Store, path: Path) -> None:
    """Write the metrics as CSV, completely or not at all."""
    write_whole(path, csv_text(campaign_table(plan, store)))


def cut_summary(result: Result, warm_up: Cut, cool_down: Cut) -> dict[str, float]:
    """Return the summary of a result without its warm-up and cool-down.

    The metrics of jobs are those of the remaining jobs. Utilization is from their first to their last submission. All
    other metrics are of the whole simulation.
    """
    whole = result.summary()
    chosen = result.jobs[steady_state(result.jobs["submit"].to_numpy(), warm_up, cool_down)]
    if len(chosen) == len(result.jobs):
        return whole
    left = replace(result, jobs=chosen, attempts=result.attempts.iloc[:0]).summary()
    return {**left, **{name: whole[name] for name in _OF_ALL}, "utilization": utilization(result, chosen)}
