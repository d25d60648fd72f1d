"""The metrics of a campaign's finished cells, one row each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from ...analysis.curves import utilization
from ...analysis.trimming import Cut, steady_state
from ...base.unfinished_files import write_whole
from ...simulation import Result
from ...workloads.formats.csv_text import csv_text
from .plan import Plan
from .store import Store

#: What tells the cells of a campaign apart.
LABELS = ("workload", "dispatcher", "predictor", "overrun", "same_instant", "jitter", "seed", "warm_up", "cool_down")
#: Entries of the summary that are about the whole simulation.
_OF_ALL = ("occupancy", "efficiency", "lost", "makespan")
#: Entries of the summary that are measured times.
_MEASURED = ("decision_ms_mean", "decision_ms_p95", "decision_ms_max", "prediction_s", "simulation_s")


def campaign_table(plan: Plan, store: Store) -> pd.DataFrame:
    """Return the metrics of every cell of a campaign that is in the store, in the order of the campaign.

    Measured times are not in it, so that it is the same from run to run.
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
    """Write the metrics as CSV, all of them or nothing."""
    write_whole(path, csv_text(campaign_table(plan, store)))


def cut_summary(result: Result, warm_up: Cut, cool_down: Cut) -> dict[str, float]:
    """Return the summary of a result without its warm-up and cool-down.

    The metrics of jobs are those of the jobs that are left, and utilization is taken from the first to the last
    submission of them; what else is said of the machine and of the dispatcher is about the whole simulation.
    """
    whole = result.summary()
    chosen = result.jobs[steady_state(result.jobs["submit"].to_numpy(), warm_up, cool_down)]
    if len(chosen) == len(result.jobs):
        return whole
    left = replace(result, jobs=chosen, attempts=result.attempts.iloc[:0]).summary()
    return {**left, **{name: whole[name] for name in _OF_ALL}, "utilization": utilization(result, chosen)}
