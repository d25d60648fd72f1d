"""What resamples of a trace keep: the cycles of day and week, the sessions of users, the sizes, and the load.

Run it by ``python -m hpcdispatch.bench.studies.resampled_cycles``. With ``--figure FILE`` it draws the share of the
jobs in each hour of the week. The last row is the control: the jobs of the trace at random times. It must lose the
cycles and the sessions.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from time import perf_counter

import click
import numpy as np

from ...base import FloatArray
from ...workloads import Workload, resample
from ...workloads.closed_loops import GAP
from ...workloads.formats.read_log import TraceWarning
from ...workloads.resampling import WEEK, way_of
from ...workloads.sources import workload_of
from ..reports.tables import Table
from .one_line_errors import in_one_line
from .printed_tables import show

HOUR = 3600
HOURS = WEEK // HOUR
#: Parts of the machine: the table has the share of the jobs that take at most so much of it.
SIZES = (0.05, 0.25)


@dataclass(frozen=True, slots=True)
class WorkloadProperties:
    """Properties of a workload.

    Attributes
    ----------
    hours
        Share of the jobs in each hour of the week, counted from the first submission, shape (168,).
    sessions
        Mean number of sessions of a user. A session ends where the user submits nothing for 20 minutes.
    per_session
        Mean number of jobs in a session.
    sizes
        Share of the jobs that take at most :data:`SIZES` of the machine.
    load
        Offered load in the whole weeks.
    """

    hours: FloatArray
    sessions: float
    per_session: float
    sizes: tuple[float, ...]
    load: float


def kept(workload: Workload, weeks: int) -> WorkloadProperties:
    """Return the properties of a workload in its first weeks."""
    jobs = workload.columns
    since = jobs.submit - jobs.submit[0]
    inside = since < weeks * WEEK
    since, users = since[inside], jobs.user.codes[inside]
    order = np.lexsort((since, users))
    goes_on = (np.diff(users[order]) == 0) & (np.diff(since[order]) <= GAP)
    sessions = len(since) - int(goes_on.sum())
    primary = workload.machine.primary
    units = jobs.amounts(workload.machine.resources[primary])[inside]
    capacity = float(workload.machine.capacity[:, primary].sum())
    return WorkloadProperties(
        np.bincount((since % WEEK) // HOUR, minlength=HOURS) / len(since),
        sessions / len(np.unique(users)),
        len(since) / sessions,
        tuple(float((units <= part * capacity).mean()) for part in SIZES),
        float((units * jobs.runtime[inside]).sum()) / (capacity * weeks * WEEK),
    )


def at_random_times(workload: Workload, seed: int) -> Workload:
    """Return the jobs of a workload at times drawn from its whole span."""
    rng = np.random.default_rng(seed)
    last = workload.columns.submit[-1]
    times = rng.integers(workload.columns.submit[0], last + 1, size=len(workload)).tolist()
    moved = [replace(job, submit=time) for job, time in zip(workload.columns, times, strict=True)]
    return workload.with_jobs(sorted(moved, key=attrgetter("submit")))


def row(name: str, properties: WorkloadProperties, trace: WorkloadProperties, jobs: int) -> list[str]:
    """Return a row of the table."""
    return [
        name,
        f"{jobs:,}",
        f"{np.corrcoef(properties.hours, trace.hours)[0, 1]:.2f}",
        f"{properties.sessions:.1f}",
        f"{properties.per_session:.2f}",
        *(f"{100 * share:.1f}" for share in properties.sizes),
        f"{properties.load:.3f}",
    ]


def draw(trace: WorkloadProperties, samples: list[WorkloadProperties], path: Path) -> None:
    """Draw the hours of the week."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - only with a figure

    figure = Figure(figsize=(8, 3), layout="constrained")
    axes = figure.subplots()
    for place, sample in enumerate(samples):
        label = f"{len(samples)} resamples" if place == 0 else None
        axes.plot(np.arange(HOURS) / 24, 100 * sample.hours, color="0.75", linewidth=0.8, label=label)
    axes.plot(np.arange(HOURS) / 24, 100 * trace.hours, color="C0", linewidth=1.5, label="the trace")
    axes.set(xlabel="days since the first submission, within the week", ylabel="share of the jobs, % per hour", ylim=0)
    axes.set_xlim(0, 7)
    axes.legend(frameon=False)
    figure.savefig(path)


@click.command(help=__doc__)
@click.argument("trace", default="kth-sp2")
@click.option("--samples", type=click.IntRange(min=1), default=10, show_default=True, help="Number of resamples.")
@click.option("--figure", type=click.Path(dir_okay=False, path_type=Path), help="Draw the hours of the week here.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(trace: str, samples: int, figure: Path | None, as_markdown: bool) -> None:
    """Print what the resamples keep."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TraceWarning)
        workload = workload_of(trace)
    way = way_of(workload)
    if way.reason:
        raise click.ClickException(f"{trace}: expected a trace that is resampled by users, got one {way.reason}")
    weeks = way.count
    own = kept(workload, weeks)
    rows = [row(trace, own, own, len(workload))]
    resamples, seconds = [], 0.0
    for seed in range(samples):
        begin = perf_counter()
        sample = resample(workload, seed)
        seconds += perf_counter() - begin
        resamples.append(kept(sample, weeks))
        rows.append(row(f"resample {seed}", resamples[-1], own, len(sample)))
    control = at_random_times(workload, 0)
    rows.append(row("at random times", kept(control, weeks), own, len(control)))
    columns = (
        "sample",
        "jobs",
        "correlation of the hours of the week",
        "sessions per user",
        "jobs per session",
        *(f"jobs of at most {part:.0%} of the machine, %" for part in SIZES),
        "load",
    )
    note = f"{weeks} whole weeks. A resample of {len(workload):,} jobs takes {seconds / samples:.2f} s."
    show([Table(f"Resamples of {trace}", columns, rows, 1, note)], as_markdown)
    if figure is not None:
        draw(own, resamples, figure)


if __name__ == "__main__":
    main()
