"""The dispatchers on published traces: whole traces once, and jittered copies of a slice of each.

``python -m hpcdispatch.bench.benchmarks.results`` keeps every finished run in a folder. Interrupted, it goes on where
it was; called once more, it prints the tables of what is there. Predictions are the requested times, a missing one
being the largest of its queue; jobs run on to their real end.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ...base import InputError
from ...dispatchers import create_dispatcher, registry
from ...simulation import mean_interval
from ...workloads import Workload, read
from ...workloads.fetching import TRACES
from ...workloads.formats.read_log import TraceWarning
from ..campaigns.comparison_runs import Failure, Task
from ..campaigns.comparison_runs import Progress as Reached
from ..campaigns.summary_files import Kept, Part, run_missing
from ..reports.tables import Table, show
from .traces import published_trace

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
    "Predictions: the requested times. Jobs run on to their real end. Milliseconds on the wall clock of whatever "
    "machine made the runs."
)
#: Commas that are followed by the next name, and not by another ``key=value`` of the same.
_BETWEEN = re.compile(r",(?!\s*[^,:=]*=)")


@dataclass(frozen=True, slots=True)
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

    def parts(self, trace: str) -> list[Part]:
        """Return what is run of a trace, the quick part first."""
        name, workload = load(trace)
        parts = [Part.slice_of(name, workload, self.span, self.jitter, self.seeds)]
        return [*parts, Part(name, workload)] if self.whole else parts


def load(trace: str) -> tuple[str, Workload]:
    """Return the name and the jobs of a trace; a missing requested time is the largest of its queue."""
    if trace in TRACES:
        name, path = trace, published_trace(trace)
    else:
        path = Path(trace)
        name = path.name.partition(".")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TraceWarning)
        return name, read(path)


def run_all(setting: Setting, kept: Kept, workers: int, console: Console) -> tuple[list[Part], list[Failure]]:
    """Do what is missing and say how far it is; return the parts and the runs that failed."""
    parts: list[Part] = []
    failures: list[Failure] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("jobs"))
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal) as bar:
        for trace in setting.traces:
            for part in setting.parts(trace):
                row = bar.add_task(f"{part.trace}, {_jobs(part.span)}", total=None)

                def reached(now: Reached, row: int = row) -> None:
                    bar.update(row, completed=now.jobs, total=now.expected)  # type: ignore[arg-type]

                def said(task: Task, outcome: dict[str, float] | Failure, part: Part = part) -> None:
                    bar.console.print(_line(part, task, outcome), highlight=False, markup=False, soft_wrap=True)

                failures += run_missing(part, setting.dispatchers, kept, workers=workers, progress=reached, said=said)
                bar.remove_task(row)
                parts.append(part)
    return parts, failures


def _line(part: Part, task: Task, outcome: dict[str, float] | Failure) -> str:
    run = f"{part.trace}, {_jobs(part.span)}, {task.dispatcher_name}, seed {task.seed}"
    if isinstance(outcome, Failure):
        return f"{run}: {outcome.error}"
    return f"{run}: mean wait {outcome['wait_mean']:,.0f} s, simulated in {outcome['simulation_s']:,.0f} s"


def _jobs(span: tuple[int, int] | None) -> str:
    return "whole" if span is None else "jobs {:,}-{:,}".format(*span)


def rows(parts: Sequence[Part], dispatchers: Sequence[str], kept: Kept) -> list[list[str]]:
    """Return what is kept, as text: trace, dispatcher, number of runs (of a whole trace: of jobs), and the metrics."""
    made = []
    for part in parts:
        for name in dispatchers:
            records = [kept.find(part, name, seed) for seed in range(part.seeds)]
            found = [record["summary"] for record in records if record is not None]
            if found:
                number = found[0]["jobs"] if part.span is None else len(found)
                cells = [
                    _cell([summary[metric] * factor for summary in found], digits, metric != TIME)
                    for metric, _, factor, digits in SHOWN
                ]
                made.append([part.trace, name, f"{number:,.0f}", *cells])
    return made


def _cell(values: list[float], digits: int, interval: bool) -> str:
    low, high = mean_interval(np.array(values)) if interval else (np.nan, np.nan)
    mean = f"{np.mean(values):,.{digits}f}"
    return mean if np.isnan(low) else f"{mean} [{low:,.{digits}f}, {high:,.{digits}f}]"


def sheets(setting: Setting, parts: Sequence[Part], kept: Kept) -> list[Table]:
    """Return both tables."""
    sliced = [part for part in parts if part.span is not None]
    whole = [part for part in parts if part.span is None]
    metrics = [header for _, header, _, _ in SHOWN]
    seeds = f"mean of {setting.seeds} seeds [95% interval], submissions shifted by 0-{setting.jitter} s"
    titles = {f"{_jobs(setting.span).capitalize()} of each trace: {seeds}": ("runs", sliced)}
    if whole:
        titles["Whole traces, once, as they stand"] = ("jobs", whole)
    return [
        Table(title, ("trace", "dispatcher", number, *metrics), rows(of, setting.dispatchers, kept), 2, NOTE)
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
    "--dispatchers", callback=_names, metavar="A,B,...",
    help=f"Names with options.  [default: those registered of {','.join(DISPATCHERS)}]",
)  # fmt: skip
@click.option(
    "--trace", "traces", multiple=True, default=PUBLISHED, show_default=True, help="Name of a published trace, or path."
)
@click.option(
    "--slice", "span", callback=_span, default="10000:18000", show_default=True, metavar="FIRST:LAST",
    help="Jobs of each trace that are run jittered, counted from 0, the last excluded.",
)  # fmt: skip
@click.option("--jitter", type=click.IntRange(min=0), default=60, show_default=True, help="Largest shift, seconds.")
@click.option("--seeds", type=click.IntRange(min=1), default=5, show_default=True, help="Jittered copies.")
@click.option("--whole/--no-whole", default=True, show_default=True, help="Run the whole traces too.")
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Processes to run in.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("results"), show_default=True,
    help="Folder in which every finished run is kept.",
)  # fmt: skip
@click.option("--again", multiple=True, metavar="NAME", help="Forget what is kept of this dispatcher and rerun it.")
@click.option("--kept", "only_kept", is_flag=True, help="Run nothing, print what is kept.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
def main(
    dispatchers: tuple[str, ...], traces: tuple[str, ...], span: tuple[int, int], jitter: int, seeds: int, whole: bool,
    workers: int, out: Path, again: tuple[str, ...], only_kept: bool, as_markdown: bool,
) -> None:  # fmt: skip
    """Run what is missing and print both tables."""
    setting, kept = Setting(traces, dispatchers, span, jitter, seeds, whole), Kept(out)
    failures: list[Failure] = []
    try:
        for name in (*dispatchers, *again):
            create_dispatcher(name)
        if only_kept:
            parts = [part for trace in traces for part in setting.parts(trace)]
        else:
            _forget(setting, again, kept)
            parts, failures = run_all(setting, kept, workers, Console(stderr=True))
        found = sheets(setting, parts, kept)
    except KeyboardInterrupt:
        raise click.ClickException(f"interrupted; what was finished is kept in {out}") from None
    except (InputError, OSError) as error:
        raise click.ClickException(str(error)) from None
    show(found, as_markdown)
    if failures:
        raise click.ClickException(f"{len(failures)} runs failed, see above")


def _forget(setting: Setting, again: tuple[str, ...], kept: Kept) -> None:
    """Remove what is to be run again; it is gone before the first run, so that an interrupted rerun goes on."""
    unknown = [name for name in again if name not in setting.dispatchers]
    if unknown:
        raise InputError(f"--again {unknown[0]}: expected one of {', '.join(setting.dispatchers)}")
    for part in [part for trace in setting.traces if again for part in setting.parts(trace)]:
        for name in again:
            for seed in range(part.seeds):
                kept.forget(part, name, seed)


if __name__ == "__main__":
    main()
