"""The dispatchers on published traces: each whole trace once, with intervals of the mean wait against EASY's.

``python -m hpcdispatch.bench.studies.benchmarks.results`` keeps every finished run, and goes on where it was
interrupted. Called once more, it prints the finished table. Predictions are the walltimes. A missing walltime is the
largest of its queue. Jobs run on to their real end.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ....analysis.conclusions import Estimate
from ....workloads import read
from ....workloads.formats.read_log import TraceWarning
from ....workloads.sources import resolve
from ...campaigns.board import CampaignProgress
from ...campaigns.comparison import Comparison, ComparisonInterrupted, compare
from ...reports.tables import Table
from ...reports.verdict import estimate_of, samples_of, span_text
from ..one_line_errors import in_one_line
from ..printed_tables import show

#: The first is the baseline.
DISPATCHERS = ("easy", "easy-sjbf", "conservative", "lxf", "hcp3", "lookahead")
PUBLISHED = ("kth-sp2", "ctc-sp2", "sdsc-sp2", "hpc2n")
COLUMNS = (
    "trace",
    "dispatcher",
    "mean wait, s",
    "against the first",
    "mean bounded slowdown",
    "longest wait, h",
    "utilization, %",
)
NOTE = (
    "Against the first: the interval of the ratio of the mean waits, from blocks of the trace. "
    "Predictions: the walltimes. Jobs run on to their real end."
)


def compared(trace: str, dispatchers: tuple[str, ...], out: Path, workers: int, console: Console) -> Comparison:
    """Return the runs of a whole trace, in its own folder of the store."""
    source = resolve(trace)
    name = trace if source.path is None else source.path.name.partition(".")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TraceWarning)
        workload = read(source.file())
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("jobs"))
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal) as bar:
        row = bar.add_task(name, total=None)

        def reached(now: CampaignProgress) -> None:
            bar.update(row, completed=now.jobs, total=now.expected)

        return compare(workload, dispatchers, out=out / name, workers=workers, progress=reached)


def rows(name: str, comparison: Comparison, first: str) -> Iterator[list[str]]:
    """Yield the row of each dispatcher with a finished run. Without a run of the first nothing is held against it."""
    estimates: dict[str, Estimate] = {}
    if first in comparison.contenders:
        table = comparison.conclusions(baseline=first)
        estimates = {row["contender"]: estimate_of(row) for row in table.to_dict("records")}
    for run in comparison.runs.to_dict("records"):
        yield [
            name,
            run["dispatcher"],
            f"{run['wait_mean']:,.0f}",
            _against(estimates[run["dispatcher"]]) if run["dispatcher"] in estimates else "",
            f"{run['bounded_slowdown_mean']:,.1f}",
            f"{run['wait_max'] / 3600:,.1f}",
            f"{100 * run['utilization']:.1f}",
        ]


def _against(estimate: Estimate) -> str:
    if math.isnan(estimate.low):
        return estimate.reason
    return f"{span_text(estimate.low, estimate.high)}, {estimate.verdict()} ({samples_of(estimate)})"


@click.command(help=__doc__)
@click.option(
    "--dispatcher",
    "dispatchers",
    multiple=True,
    default=DISPATCHERS,
    show_default=True,
    help="Name with options. The first is the baseline.",
)
@click.option(
    "--trace", "traces", multiple=True, default=PUBLISHED, show_default=True, help="Name of a published trace, or path."
)
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Processes to run in.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Folder in which every finished run is kept.",
)
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(dispatchers: tuple[str, ...], traces: tuple[str, ...], workers: int, out: Path, as_markdown: bool) -> None:
    """Run what is missing and print the table."""
    console = Console(stderr=True)
    printed: list[list[str]] = []
    failed = 0
    for trace in traces:
        try:
            comparison = compared(trace, dispatchers, out, workers, console)
        except ComparisonInterrupted:
            raise click.ClickException(f"interrupted; what was finished is kept in {out}") from None
        for failure in comparison.failures:
            console.print(
                f"{trace}, {failure.dispatcher}: {failure.error}", highlight=False, markup=False, soft_wrap=True
            )
        failed += len(comparison.failures)
        if not comparison.runs.empty:
            printed += rows(trace, comparison, dispatchers[0])
    show([Table("Whole traces, once, as they stand", COLUMNS, printed, 2, NOTE)], as_markdown)
    if failed:
        raise click.ClickException(f"{failed} runs failed, see above")


if __name__ == "__main__":
    main()
