"""The dispatchers on published traces: whole traces once, and jittered copies of a slice of each.

``python -m hpcdispatch.bench.studies.benchmarks.results`` keeps every finished run in the store of a campaign,
``results``. After an interruption it continues where it was. Called once more, it prints the finished tables.
Predictions are the walltimes. A missing walltime is the largest of its queue. Jobs run on to their real end.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import click
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ....base import InputError
from ....dispatchers import registry
from ....workloads import Workload, read
from ....workloads.formats.read_log import TraceWarning
from ....workloads.sources import resolve
from ...campaigns.cells import Cell
from ...campaigns.execution import CampaignProgress, Outcome, Plan, Store, run_campaign
from ...campaigns.samples import Loaders, Samples
from ...reports.tables import Table
from ..bootstrap import mean_interval
from ..one_line_errors import in_one_line
from ..printed_tables import show

DISPATCHERS = ("easy", "easy-sjbf", "conservative", "lxf", "hcp3", "lookahead")
PUBLISHED = ("kth-sp2", "ctc-sp2", "sdsc-sp2", "hpc2n")
#: The one metric that is not the same from run to run.
TIME = "decision_ms_mean"
#: Entry of the summary, header, factor, digits.
SHOWN = (
    ("wait_mean", "mean wait, s", 1, 0),
    ("bounded_slowdown_mean", "mean bounded slowdown", 1, 1),
    ("slowdown_mean", "mean slowdown", 1, 1),
    ("wait_max", "max wait, h", 1 / 3600, 1),
    ("utilization", "utilization, %", 100, 1),
    (TIME, "ms a decision", 1, 3),
)
#: What the tables have in common.
NOTE = (
    "Predictions: the walltimes. Jobs run on to their real end. Milliseconds on the wall clock of whatever "
    "machine made the runs."
)
#: Commas before the next name, but not before another ``key=value`` of the same.
_BETWEEN = re.compile(r",(?!\s*[^,:=]*=)")


@dataclass(frozen=True, slots=True)
class Part:
    """Runs of a trace: jittered copies of a slice of it, or the whole trace unchanged.

    Attributes
    ----------
    trace
        Its name.
    span
        The first job of the slice and the one after its last, by their place in the trace; ``None`` for all jobs.
    cells
        Those of each dispatcher, one for each seed.
    """

    trace: str
    span: tuple[int, int] | None
    cells: dict[str, tuple[Cell, ...]]


@dataclass(frozen=True)
class Setting:
    """What is run.

    Attributes
    ----------
    traces
        Names of published traces, or paths.
    dispatchers
        Names with options.
    span, jitter, seeds
        The slice of each trace, the largest shift of a submission in seconds, and how many jittered copies.
    whole
        Whether the whole traces are run too.
    """

    traces: tuple[str, ...] = PUBLISHED
    dispatchers: tuple[str, ...] = DISPATCHERS
    span: tuple[int, int] = (10_000, 18_000)
    jitter: int = 60
    seeds: int = 5
    whole: bool = True

    @cached_property
    def planned(self) -> tuple[list[Part], Plan]:
        """The runs of each trace, the quick part first, and all of it as a campaign.

        Raises
        ------
        InputError
            If a trace has not the jobs of the slice, or a dispatcher is unknown.
        """
        parts: list[Part] = []
        loaders: Loaders = {}
        for trace in self.traces:
            name, workload = load(trace)
            label = f"{name}, {_jobs(self.span)}"
            parts.append(
                self._part(
                    name, self.span, Samples(self._slice(name, workload), self.seeds, self.jitter, label=label), loaders
                )
            )
            if self.whole:
                parts.append(self._part(name, None, Samples(workload, label=f"{name}, {_jobs(None)}"), loaders))
        together = [
            cell for part in parts for same_jobs in zip(*part.cells.values(), strict=True) for cell in same_jobs
        ]
        return parts, Plan.of("results", together, loaders)

    def _slice(self, name: str, workload: Workload) -> Workload:
        first, last = self.span
        if not 0 <= first < last <= len(workload):
            raise InputError(f"{name}: expected a slice within its {len(workload)} jobs, got {first}:{last}")
        return workload.slice(first, last)

    def _part(self, trace: str, span: tuple[int, int] | None, samples: Samples[Workload], loaders: Loaders) -> Part:
        cells = samples.cells([(name, "walltime") for name in self.dispatchers], loaders)
        return Part(trace, span, dict(zip(self.dispatchers, cells, strict=True)))


def load(trace: str) -> tuple[str, Workload]:
    """Return the name and the jobs of a trace. A missing walltime is the largest of its queue."""
    source = resolve(trace)
    name = trace if source.path is None else source.path.name.partition(".")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TraceWarning)
        return name, read(source.file())


def run_all(plan: Plan, store: Store, workers: int, console: Console) -> Outcome:
    """Run what is missing and report progress. Then report what was done and what failed."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("jobs"))
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal) as bar:
        row = bar.add_task("checking the store", total=None)

        def reached(now: CampaignProgress) -> None:
            bar.update(row, completed=now.jobs, total=now.expected, description=f"{now.cells} of {now.planned} runs")

        outcome = run_campaign(plan, store, workers=workers, retry=True, progress=reached)
    for cell in outcome.done:
        summary = store.result(cell).summary()
        told = f"mean wait {summary['wait_mean']:,.0f} s, simulated in {summary['simulation_s']:,.0f} s"
        console.print(f"{cell.label}: {told}", highlight=False, markup=False, soft_wrap=True)
    for cell, error in outcome.failed:
        console.print(f"{cell.label}: {error}", highlight=False, markup=False, soft_wrap=True)
    return outcome


def _jobs(span: tuple[int, int] | None) -> str:
    return "whole" if span is None else "jobs {:,}-{:,}".format(*span)


def rows(parts: Sequence[Part], store: Store) -> list[list[str]]:
    """Return the stored results as text.

    Columns are trace, dispatcher, number of runs (of a whole trace: of jobs), and the metrics.
    """
    made = []
    for part in parts:
        for name, cells in part.cells.items():
            found = [store.result(cell).summary() for cell in cells if store.has(cell.key)]
            if found:
                number = found[0]["jobs"] if part.span is None else len(found)
                metrics = [
                    _cell([summary[metric] * factor for summary in found], digits, metric != TIME)
                    for metric, _, factor, digits in SHOWN
                ]
                made.append([part.trace, name, f"{number:,.0f}", *metrics])
    return made


def _cell(values: list[float], digits: int, interval: bool) -> str:
    low, high = mean_interval(np.array(values)) if interval else (np.nan, np.nan)
    mean = f"{np.mean(values):,.{digits}f}"
    return mean if np.isnan(low) else f"{mean} [{low:,.{digits}f}, {high:,.{digits}f}]"


def sheets(setting: Setting, store: Store) -> list[Table]:
    """Return both tables."""
    parts, _ = setting.planned
    sliced = [part for part in parts if part.span is not None]
    whole = [part for part in parts if part.span is None]
    metrics = [header for _, header, _, _ in SHOWN]
    seeds = f"mean of {setting.seeds} seeds [95% interval], submissions shifted by 0-{setting.jitter} s"
    titles = {f"{_jobs(setting.span).capitalize()} of each trace: {seeds}": ("runs", sliced)}
    if whole:
        titles["Whole traces, once, as they stand"] = ("jobs", whole)
    return [
        Table(title, ("trace", "dispatcher", number, *metrics), rows(of, store), 2, NOTE)
        for title, (number, of) in titles.items()
    ]


def _span(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, int]:
    first, _, last = value.partition(":")
    if not (first.isdecimal() and last.isdecimal() and int(first) < int(last)):
        raise click.BadParameter(f"expected FIRST:LAST, such as 10000:18000, got {value!r}", ctx, param)
    return int(first), int(last)


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    if value is None:
        return tuple(name for name in DISPATCHERS if name in registry.names())
    return tuple(dict.fromkeys(name.strip() for name in _BETWEEN.split(value) if name.strip()))


@click.command(help=__doc__)
@click.option(
    "--dispatchers",
    callback=_names,
    metavar="A,B,...",
    help=f"Names with options.  [default: those registered of {','.join(DISPATCHERS)}]",
)
@click.option(
    "--trace", "traces", multiple=True, default=PUBLISHED, show_default=True, help="Name of a published trace, or path."
)
@click.option(
    "--slice",
    "span",
    callback=_span,
    default="10000:18000",
    show_default=True,
    metavar="FIRST:LAST",
    help="Jobs of each trace that are run jittered, counted from 0, the last excluded.",
)
@click.option("--jitter", type=click.IntRange(min=0), default=60, show_default=True, help="Largest shift, seconds.")
@click.option("--seeds", type=click.IntRange(min=1), default=5, show_default=True, help="Jittered copies.")
@click.option("--whole/--no-whole", default=True, show_default=True, help="Run the whole traces too.")
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Processes to run in.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Folder in which every finished run is kept.",
)
@click.option("--again", multiple=True, metavar="NAME", help="Forget what is kept of this dispatcher and rerun it.")
@click.option("--kept", "only_kept", is_flag=True, help="Run nothing, print what is kept.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(
    dispatchers: tuple[str, ...],
    traces: tuple[str, ...],
    span: tuple[int, int],
    jitter: int,
    seeds: int,
    whole: bool,
    workers: int,
    out: Path,
    again: tuple[str, ...],
    only_kept: bool,
    as_markdown: bool,
) -> None:
    """Run what is missing and print both tables."""
    setting = Setting(traces, dispatchers, span, jitter, seeds, whole)
    store = Store(out)
    failed = 0
    try:
        _, plan = setting.planned
        if not only_kept:
            _forget(setting, again, store)
            failed = len(run_all(plan, store, workers, Console(stderr=True)).failed)
        found = sheets(setting, store)
    except KeyboardInterrupt:
        raise click.ClickException(f"interrupted; what was finished is kept in {out}") from None
    show(found, as_markdown)
    if failed:
        raise click.ClickException(f"{failed} runs failed, see above")


def _forget(setting: Setting, again: tuple[str, ...], store: Store) -> None:
    """Remove what is to be run again. It is removed before the first run, so an interrupted rerun continues."""
    for name in again:
        if name not in setting.dispatchers:
            raise InputError(f"--again {name}: expected one of {', '.join(setting.dispatchers)}")
    for cell in [cell for part in setting.planned[0] for name in again for cell in part.cells[name]]:
        store.discard(cell.key)


if __name__ == "__main__":
    main()
