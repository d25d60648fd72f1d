"""The metrics of a campaign's finished cells, one row each."""

from pathlib import Path

import pandas as pd

from ...analysis.conclusions import Daily
from ...base import write_whole
from ...base.argument_types import names_wrong_types
from ...simulation import Result, job_metrics
from ...simulation.metrics import cut_summary
from ...workloads.formats.csv_text import csv_text
from .plan import CampaignPlan
from .store import Store

#: Columns that identify the cells of a campaign.
LABELS = (
    "workload",
    "dispatcher",
    "predictor",
    "overrun",
    "same_instant",
    "samples",
    "jitter",
    "seed",
    "warm_up",
    "cool_down",
)
#: Entries of the summary with measured times.
_MEASURED = ("decision_ms_mean", "decision_ms_p95", "decision_ms_max", "prediction_s", "simulation_s")


@names_wrong_types
def campaign_table(plan: CampaignPlan, store: Store) -> pd.DataFrame:
    """Return the metrics of every cell of a campaign in the store, in the order of the campaign.

    It has no measured times, so that it is the same in every run.
    """
    rows = []
    for cell in plan.rows:
        if store.has(cell.key):
            summary = cut_summary(store.result(cell), cell.warm_up, cell.cool_down)
            shown = {name: value for name, value in summary.items() if name not in _MEASURED}
            cuts = {
                "samples": cell.basis,
                "jitter": cell.jitter or 0,
                "warm_up": str(cell.warm_up),
                "cool_down": str(cell.cool_down),
            }
            known = {name: getattr(cell, name) for name in LABELS if name != "samples"}
            row = {**known, **cuts}
            rows.append({**{name: row[name] for name in LABELS}, **shown})
    return pd.DataFrame(rows)


def write_table(plan: CampaignPlan, store: Store, path: Path) -> None:
    """Write the metrics as CSV, completely or not at all."""
    write_whole(path, csv_text(campaign_table(plan, store)))


def days_of(result: Result, chosen: pd.DataFrame) -> dict[str, Daily]:
    """Return the metrics of some jobs of a result by the day of their submission, for the interval of one trace."""
    metrics = job_metrics(chosen)
    submit = chosen["submit"].to_numpy()[chosen.index.get_indexer(metrics.index)]
    first = float(result.jobs["submit"].min()) if len(result.jobs) else 0.0
    return {
        f"{name}_mean": Daily.of(submit, metrics[name].to_numpy(dtype=float), first)
        for name in ("wait", "bounded_slowdown", "slowdown")
    }
