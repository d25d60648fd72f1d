"""Heterogeneous nodes day after day: waits of jobs under each dispatcher."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from .....workloads import Workload
from ....campaigns.comparison import compare
from ....reports.tables import Table
from ...intervals import ratio_of_means
from .on_nodes import EURORA, eurora_stream

#: Metric of the comparison, header, and its divisor.
COLUMNS = (
    ("wait_mean", "mean wait, s", 1.0),
    ("bounded_slowdown_mean", "mean bounded slowdown", 1.0),
    ("wait_max", "longest wait, h", 3600.0),
    ("decision_ms_mean", "ms a decision", 1.0),
)
#: The baseline of the others, compared run by run, and the metrics.
AGAINST = "hcp3"
PAIRED = {"wait_mean": "wait", "bounded_slowdown_mean": "bounded slowdown"}


@dataclass(frozen=True, slots=True)
class Stream:
    """The samples of :func:`eurora_stream`. Sample k has seed k."""

    jobs: int
    load: float
    nodes: int

    def __call__(self, seed: int) -> Workload:
        """Return the sample of a seed."""
        return eurora_stream(self.jobs, seed, self.load, self.nodes)


def on_stream(dispatchers: tuple[str, ...], jobs: int, seeds: int, load: float, nodes: int = EURORA) -> Table:
    """Return the table of some dispatchers at one load; every schedule is checked.

    Raises
    ------
    RuntimeError
        If a run failed or its schedule broke an invariant.
    """
    outcome = compare(Stream(jobs, load, nodes), dispatchers, seeds=seeds, check_invariants=True)
    for failed in outcome.failures:
        raise RuntimeError(f"{failed.dispatcher}, seed {failed.seed}: {failed.error}")
    rows = []
    runs = outcome.runs.set_index(["dispatcher", "seed"]).sort_index()
    against = AGAINST if AGAINST in dispatchers else dispatchers[0]
    for row in outcome.table.to_dict("records"):
        cells = [str(row["dispatcher"])]
        for name, _, unit in COLUMNS:
            low = row[f"{name}_low"] / unit
            high = row[f"{name}_high"] / unit
            cells.append(f"{row[name] / unit:,.2f}" + (f" [{low:,.2f}, {high:,.2f}]" if seeds > 1 else ""))
        cells += [_ratio(runs, str(row["dispatcher"]), against, name) for name in PAIRED]
        rows.append(cells)
    title = f"{jobs:,} jobs on {nodes:,} nodes with GPUs or MICs, load {load:g}, {seeds} workloads"
    note = (
        "Mean over the workloads with an interval; wall-clock time. Every schedule passed the independent check. "
        f"Against {against}: the ratio of the means, with an interval over pairs of runs on the same workload."
    )
    ratios = [f"{header} against {against}" for header in PAIRED.values()]
    return Table(title, ("dispatcher", *(header for _, header, _ in COLUMNS), *ratios), rows, note=note)


def _ratio(runs: pd.DataFrame, dispatcher: str, against: str, name: str) -> str:
    if dispatcher == against:
        return "1"
    column = runs[name].unstack("dispatcher")
    both = column[[dispatcher, against]].dropna().to_numpy(dtype=np.float64)
    ratio, low, high = ratio_of_means(both[:, 0], both[:, 1])
    interval = f" [{low:.3f}, {high:.3f}]" if len(both) > 1 else ""
    return f"{ratio:.3f}{interval}"
