"""SEJF by learned run times: by one number, and by their law.

``python -m hpcdispatch.bench.studies.benchmarks.onthefly`` prints a table for the jobs of ACCRE. Each has the name of
its workflow. There is a table for each available trace, KTH and the first part of HPC2N. SEJF by the mean of past run
times is the baseline of the others. These are SEJF by the request, and by three numbers of the same law. The numbers
are the expected remaining time, the Gittins index and the median. Ratios below 1 are better. Brackets are
intervals. They are over the samples of ACCRE, or over a trace's months by submission.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import click
import numpy as np

from ....base import FloatArray
from ....simulation import Result, simulate
from ....workloads import Workload, generate, read
from ....workloads.sources import resolve
from ...reports.number_formats import short
from ...reports.tables import PrintedCell, Table, between, label, number
from ..intervals import ratio_of_means
from ..printed_tables import show

Part = Literal["accre", "traces"]
#: Label of each dispatcher, its options, and whether run times are learned.
ORDERS = {
    "request": ("", False),
    "learned mean": ("", True),
    "order=mean": ("order=mean", True),
    "order=gittins": ("order=gittins", True),
    "order=quantile": ("order=quantile", True),
}
BASELINE = "learned mean"
METRICS = ("mean wait, h", "bounded slowdown")
MONTH = 30 * 86_400
#: Run times below it are taken as it, seconds.
SHORTEST = 10


@dataclass(frozen=True, slots=True)
class OnTheFlySetting:
    """What is simulated.

    Attributes
    ----------
    patterns, jobs, seeds
        Of ACCRE: patterns of run times, jobs, and draws of each.
    traces
        Names of published traces and how many of the first jobs of each are taken; ``None`` takes all.
    """

    patterns: str = "abcd"
    jobs: int = 800
    seeds: int = 10
    traces: Mapping[str, int | None] | None = None


SMALL = OnTheFlySetting("b", 60, 2, {"kth-sp2": 400})
FULL = OnTheFlySetting(traces={"kth-sp2": None, "hpc2n": 60_000})


def accre(setting: OnTheFlySetting) -> Table:
    """Return the table of the jobs of ACCRE: 40 nodes, a job per 8 minutes, eight workflows."""
    rows: list[list[PrintedCell]] = []
    for pattern in setting.patterns:
        spec = f"accre:pattern={pattern},jobs={setting.jobs},nodes=40,workflows=8"
        by_order: dict[str, list[FloatArray]] = {name: [] for name in ORDERS}
        for seed in range(setting.seeds):
            workload = generate(spec, seed=seed)
            for name, result in _results(workload, "empirical:by=name,least=5", "sejf"):
                by_order[name].append(_per_job(result).mean(axis=0))
        rows += _rows(f"({pattern})", {name: np.array(each) for name, each in by_order.items()})
    note = f"{setting.seeds} draws of {setting.jobs} jobs each, mean estimation ratio 1.2."
    return Table("ACCRE, 40 nodes, a job per 480 s, eight workflows", _columns("pattern"), rows, 2, note)


def traces(setting: OnTheFlySetting) -> Iterator[Table]:
    """Return a table for each trace."""
    for trace, jobs in (setting.traces or {}).items():
        whole = read(resolve(trace).file())
        workload = whole if jobs is None else whole.head(jobs)
        months = (workload.columns.submit - workload.columns.submit[0]) // MONTH
        by_order = {}
        for name, result in _results(workload, "empirical", "sejf:drain=none"):
            each = _per_job(result)
            by_order[name] = np.array([each[months == month].mean(axis=0) for month in np.unique(months)])
        note = (
            f"{len(workload):,} jobs, {len(np.unique(months))} months; means of the months. Nobody drains the machine "
            "for a wide job, which would hide the order. Jobs run on to their real end."
        )
        yield Table(trace, _columns("trace"), list(_rows(trace, by_order)), 2, note)


def _results(workload: Workload, learned: str, dispatcher: str) -> Iterator[tuple[str, Result]]:
    """Simulate the jobs in every order."""
    for name, (options, learns) in ORDERS.items():
        spec = dispatcher + (("," if ":" in dispatcher else ":") + options if options else "")
        yield name, simulate(workload, spec, predictor=learned if learns else "walltime")


def _per_job(result: Result) -> FloatArray:
    """Return wait in hours and bounded slowdown, shape (jobs, 2), in the order of the trace."""
    jobs = result.jobs
    wait = (jobs["start"] - jobs["submit"]).to_numpy(float)
    ran = (jobs["end"] - jobs["start"]).to_numpy(float)
    return np.column_stack((wait / 3600, np.maximum(1, (wait + ran) / np.maximum(ran, SHORTEST))))


def _rows(subject: str, by_order: Mapping[str, FloatArray]) -> Iterator[list[PrintedCell]]:
    base = by_order[BASELINE]
    for name, values in by_order.items():
        row = [label(subject), label(f"SEJF, {name}")]
        for place in range(len(METRICS)):
            row.append(number(float(values[:, place].mean()), short))
            row.append(between(*ratio_of_means(values[:, place], base[:, place]), _ratio))
        yield row


def _ratio(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"


def _columns(first: str) -> Sequence[str]:
    return first, "order", *(text for metric in METRICS for text in (metric, "ratio"))


@click.command(help=__doc__)
@click.option("--part", type=click.Choice(get_args(Part)), help="One part alone.")
@click.option("--small", is_flag=True, help="Smoke test: few jobs.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
def main(part: Part | None, small: bool, as_markdown: bool) -> None:
    """Print the tables."""
    setting = SMALL if small else FULL
    tables = [accre(setting)] if part != "traces" else []
    show([*tables, *(traces(setting) if part != "accre" else ())], as_markdown)


if __name__ == "__main__":
    main()
