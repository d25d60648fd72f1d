"""``hpcdispatch sequence``: what to request for run times that are a lottery."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import click
import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from ...analysis import GROWTH, LEAST_TO_HALVE, LEAST_TO_TRUST, Advice, Fared, Planning, advise
from ...analysis.site_requests import SiteAdvice, measure
from ...base import InputError
from ...base.checks import LONGEST, MOST_STEPS, shown
from ...bench.reports.number_formats import NOTHING, count, percent, ratio
from ...bench.reports.requests_figure import KINDS, draw_advice
from ...models.reservations import Checkpointing
from ...models.reservations import Sequence as Reservations
from ...workloads import Workload
from ...workloads.formats.run_times import Unit, as_seconds, read_run_times
from ..app import debug_option
from ..command_errors import say
from ..durations import Duration, clock
from ..help_texts import examples
from ..output import console, pairs, print_json, table_of
from ..progress import spinner
from ..shared_options import ReadingOptions, json_option, reading_options
from ..trace_argument import load, resolve

#: What Slurm sends a job that is to write a checkpoint before its time is up.
_SIGNAL = "USR1"


@click.command(
    "sequence",
    epilog=examples(
        "sacct -X -n -P -S 2025-01-01 --name=segment --state=CD -o Elapsed > runs.csv",
        "hpcdispatch sequence runs.csv --max 2-00:00:00 --plot requests.png",
        "hpcdispatch sequence table.tsv --column hours --unit h --backfill-rate 0.2 --sbatch",
    ),
)
@click.argument("runs", metavar="RUNTIMES", type=click.Path(path_type=Path))
@click.option("--column", metavar="NAME", help="Column of the run times, where there are several.")
@click.option(
    "--unit",
    type=click.Choice(get_args(Unit)),
    default="s",
    show_default=True,
    help="Of plain numbers, in the file and in --max.",
)
@click.option(
    "--bins",
    type=click.IntRange(min=1, max=MOST_STEPS),
    default=200,
    metavar="N",
    show_default=True,
    help="Divide the law of the run times into N values, the only ones that are requested.",
)
@click.option(
    "--backfill-rate",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    metavar="Z",
    show_default=True,
    help="Work of small jobs that arrives to fill what is reserved and not used, as a share of the machine.",
)
@click.option(
    "--max", "longest", metavar="WALLTIME", help="The last request, such as the queue's limit.  [default: longest run]"
)
@click.option(
    "--fit", "fitted", is_flag=True, help="Take the best fitting family for the law, not the runs themselves."
)
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw the run times and the requests (.png, .svg)."
)
@click.option(
    "--checkpoint",
    type=Duration(),
    metavar="TIME",
    help="A checkpoint at the end of a request takes so long, such as 5m: say also where to write one.",
)
@click.option(
    "--restart",
    type=Duration(),
    metavar="TIME",
    help="Of a job that goes on from a checkpoint, before it works; with --checkpoint.  [default: 0s]",
)
@click.option(
    "--site",
    metavar="TRACE",
    help="Replay this trace with the runs among its jobs, and say whether a sequence pays there.",
)
@click.option(
    "--site-jobs",
    type=click.IntRange(min=2),
    default=5000,
    metavar="N",
    show_default=True,
    help="The last jobs of the trace that are replayed.",
)
@click.option(
    "--cores",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    show_default=True,
    help="Of the job; for --site.",
)
@reading_options
@click.option("--sbatch", is_flag=True, help="Print the requests as --time=D-HH:MM:SS, one a line, and nothing else.")
@json_option
@debug_option
def command(
    runs: Path,
    column: str | None,
    unit: Unit,
    bins: int,
    backfill_rate: float,
    longest: str | None,
    fitted: bool,
    plot: Path | None,
    checkpoint: int | None,
    restart: int | None,
    site: str | None,
    site_jobs: int,
    cores: int,
    reading: ReadingOptions,
    sbatch: bool,
    as_json: bool,
) -> None:
    """Print which times to request, one after the other until the job succeeds, for runs like those in RUNTIMES.

    RUNTIMES is text (.gz too), the oldest run first: one time a line, or a table with a header and fields separated by
    tabs, |, ; or commas. A time is a number (--unit) or as Slurm writes it, [[D-]H:]MM:SS.

    The requests are those of least expected time to success; a killed run begins anew, or with --checkpoint where a
    request before ended with one. They are compared with requesting the maximum, the mean run time, and the longest of
    the last 10 runs. Waits in the queue do not count; with --site they are measured in a replay of a trace.

    With --sbatch, times are rounded up to the minutes in which Slurm counts; a request that ends with a checkpoint has
    Slurm signal the job when to write it. With --json, times are in seconds.
    """
    if sbatch and as_json:
        raise click.UsageError("--sbatch and --json: expected one of them, got both")
    if restart is not None and checkpoint is None:
        raise click.UsageError("--restart: expected --checkpoint with it")
    if site is None and reading != ReadingOptions():
        raise click.UsageError("options that say how to read a trace: expected --site with them")
    checkpointing = None if checkpoint is None else Checkpointing(checkpoint, restart or 0)
    if plot is not None:
        if plot.suffix.lower() not in KINDS:
            expected = f"expected a file name ending in {' or '.join(KINDS)}"
            raise InputError(f"{plot}: {expected}, got suffix {plot.suffix!r}")
        if plot.is_dir() or not plot.parent.is_dir():
            raise InputError(f"{plot}: expected a file for --plot in a folder that is there")
    run_times = read_run_times(runs, column, unit)
    planning = Planning(bins, backfill_rate, last_request(longest, unit, run_times), fitted, checkpointing)
    with spinner("optimising"):
        advice = advise(run_times, planning)
    measured = None if site is None else _measure(load(resolve(site), reading), site_jobs, run_times, planning, cores)
    if len(run_times) < LEAST_TO_TRUST:
        say("note", f"{count(len(run_times), 'run')} tell little of the next one; expected at least {LEAST_TO_TRUST}")
    if sbatch:
        click.echo("\n".join(_options(advice, checkpoint)))
    elif as_json:
        print_json(_plain(advice, run_times) | {"site": measured and _site_json(measured)})
    else:
        _print(advice, run_times, planning)
        _print_site(measured, site, cores)
    if plot is not None:
        draw_advice(advice, run_times, plot)
        say("note", f"drawn in {plot}")


def slurm_time(seconds: float) -> str:
    """Return seconds, rounded up to whole ones, as ``H:MM:SS`` or ``D-HH:MM:SS``."""
    minutes, whole = divmod(math.ceil(round(seconds, 6)), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{days}-{hours:02}:{minutes:02}:{whole:02}" if days else f"{hours}:{minutes:02}:{whole:02}"


def whole_minutes(values: Sequence[float]) -> list[int]:
    """Return requests, seconds, rounded up to the minutes in which Slurm counts; those that become equal once."""
    return list(dict.fromkeys(math.ceil(round(value, 6) / 60) for value in values))


def sbatch_lines(values: Sequence[float]) -> list[str]:
    """Return the requests as options of ``sbatch``, rounded up to minutes; those that become equal once."""
    lines = []
    for minutes in whole_minutes(values):
        hours, minute = divmod(minutes, 60)
        lines.append(f"--time={hours // 24}-{hours % 24:02}:{minute:02}:00")
    return lines


def _measure(site: Workload, jobs: int, run_times: NDArray[np.float64], planning: Planning, cores: int) -> SiteAdvice:
    """Replay the last jobs of a site's trace with the runs among them."""
    with spinner("replaying the trace"):
        return measure(site.slice(max(0, len(site) - jobs), len(site)), run_times, planning, cores)


def _print_site(measured: SiteAdvice | None, site: str | None, cores: int) -> None:
    out = console()
    out.print()
    if measured is None or site is None:
        out.print("This assumes that a request starts as soon as it is made; --site TRACE measures it.")
        return
    out.print(Text(f"measured on {site}", style="bold"))
    out.print(_site_table(measured))
    out.print(_site_note(measured, site, cores))


def _site_table(advice: SiteAdvice) -> Table:
    """Return a row for each way of requesting."""
    table = table_of("", "requests", "response", "lost (h)", "to maximum (%)", "")
    for row in advice.rows:
        change, low, high = (f"{100 * (value - 1):+.0f}" for value in (row.ratio, row.low, row.high))
        against = f"{change} [{low}, {high}]" if row.verdict else NOTHING
        table.add_row(row.name, ratio(row.requests), clock(row.response), f"{row.lost:,.0f}", against, row.verdict)
    return table


def _site_note(advice: SiteAdvice, name: str, cores: int) -> str:
    """Return what the figures are of, and where the waits come from."""
    waits = advice.waits
    width = f"about as wide as {cores:,} cores" if waits.alike else "of all widths"
    runs = "the second half of the runs, requests made from the first" if advice.unseen else "all runs, seen before"
    return (
        f"{advice.runs:,} runs at even times among the jobs of {name}, replayed under EASY: {runs}.\n"
        f"Response: from submission to success; lost: core-hours used in vain; 95% intervals over the runs.\n"
        f"The waits are {clock(waits.gamma)} + {waits.alpha:.2f} x the request: those of {waits.jobs:,} jobs "
        f"of {name}, {width}, in a replay."
    )


def _site_json(advice: SiteAdvice) -> dict[str, Any]:
    """Return it as JSON knows it, times in seconds."""
    return asdict(advice) | {"rows": {row.name: asdict(row) | {"verdict": row.verdict} for row in advice.rows}}


def _options(advice: Advice, write: int | None) -> list[str]:
    """Return the requests as options of ``sbatch``, with a signal where a checkpoint is to be written."""
    lengths, keeps = advice.sequence.values.tolist(), advice.sequence.keeps.tolist()
    if not any(keeps):
        return sbatch_lines(lengths)
    times = [line for length in lengths for line in sbatch_lines([length])]
    return [
        f"{time} --signal={_SIGNAL}@{max(1, write or 0)}" if keep else time
        for time, keep in zip(times, keeps, strict=True)
    ]


def last_request(text: str | None, unit: Unit, run_times: NDArray[np.float64]) -> float | None:
    """Return what ``--max`` says, seconds, which is at least the longest run time; ``None`` if it says nothing."""
    if text is None:
        return None
    limit = float(as_seconds([text.strip()], unit)[0])
    if not 0 < limit <= LONGEST:
        expected = f"a time above 0 and up to {LONGEST} s, such as 90 or 1-12:00:00"
        raise InputError(f"--max: expected {expected}, got {shown(text)}")
    if limit < run_times.max():
        longest = f"{slurm_time(run_times.max())} (run {int(run_times.argmax()) + 1})"
        raise InputError(f"--max: expected at least the longest run time, {longest}, got {slurm_time(limit)}")
    return limit


def _print(advice: Advice, run_times: NDArray[np.float64], planning: Planning) -> None:
    out = console()
    span = f"{slurm_time(run_times.min())} to {slurm_time(run_times.max())}, mean {slurm_time(run_times.mean())}"
    out.print(Text(f"{count(len(run_times), 'run')}: {span}", style="bold"))
    families = ", ".join(f"{fit.name} {fit.ks:.3f}" for fit in advice.fits[:3])
    if families:
        out.print(f"best fitting families (AIC), with their distance from the runs (KS): {families}")
    else:
        out.print("best fitting families: none, as all run times are equal")
    out.print()
    out.print(_requests(advice))
    law = advice.fits[0].name if planning.fitted and advice.fits else "the runs"
    time, waste = (slurm_time(each) for each in (advice.sequence.expected_makespan, advice.sequence.expected_waste))
    out.print(f"{time} a run expected, {waste} of it waste (law: {law}, in {count(planning.bins, 'value')})")
    if advice.without is not None:
        out.print(_checkpoints(advice, advice.without))
    out.print()
    half = len(run_times) // 2
    out.print(Text("on the runs they are made from", style="bold"))
    out.print(_strategies([(row.strategy.name, slurm_time(row.first), row.seen) for row in advice.rows]))
    out.print()
    if advice.rows[0].unseen is None:
        out.print(f"on unseen runs: not known from fewer than {LEAST_TO_HALVE}")
    else:
        out.print(Text(f"on the last {len(run_times) - half}, made from the first {half}", style="bold"))
        out.print(_strategies([(row.strategy.name, "", row.unseen) for row in advice.rows]))
    out.print()
    out.print("Means a run, H:MM:SS; waits in the queue do not count. A run longer than the")
    out.print(f"last request: {GROWTH:g} times as much, until it succeeds.")
    out.print(pairs([(row.strategy.name, row.strategy.note) for row in advice.rows]))


def _requests(advice: Advice) -> Table:
    found = advice.sequence
    more = ("checkpoint", "for runs up to") if advice.without is not None else ()
    table = table_of("request", "time", "needed (%)", "expected waste", *more)
    columns = found.values, found.needed, found.wasted, found.keeps, found.reached
    for number, (value, needed, wasted, keeps, reached) in enumerate(zip(*columns, strict=True), 1):
        last = ("yes" if keeps else "no", slurm_time(reached)) if more else ()
        table.add_row(str(number), slurm_time(value), percent(float(needed)), slurm_time(float(wasted)), *last)
    return table


def _checkpoints(advice: Advice, without: Reservations) -> str:
    """Return what checkpoints save, and up to which time of writing they would."""
    saved = without.expected_makespan - advice.sequence.expected_makespan
    most = slurm_time(advice.worthwhile or 0)
    pays = f"some requests end with one where writing takes up to {most}"
    if not advice.sequence.keeps.any():
        return f"checkpoints do not pay: {pays}" if advice.worthwhile else "checkpoints do not pay, however short"
    share = percent(saved / without.expected_makespan)
    return f"checkpoints save {slurm_time(saved)} a run ({share}%)\n{pays}"


def _strategies(rows: Sequence[tuple[str, str, Fared | None]]) -> Table:
    """Return how strategies fare: their names, first requests, and means."""
    table = table_of("", *(("first request",) if rows[0][1] else ()), "requests", "time", "waste")
    for name, first, fared in rows:
        cells = (ratio(fared.requests), slurm_time(fared.time), slurm_time(fared.waste)) if fared else (NOTHING,) * 3
        table.add_row(Text(name), *((first,) if first else ()), *cells)
    return table


def _plain(advice: Advice, run_times: NDArray[np.float64]) -> dict[str, Any]:
    """Return all as JSON knows it, times in seconds."""
    found = advice.sequence
    return {
        "runs": len(run_times),
        "requests": [
            {"time": value, "needed": needed, "waste": wasted, "reached": reached, "checkpoint": keeps}
            for value, needed, wasted, reached, keeps in zip(
                *(column.tolist() for column in (found.values, found.needed, found.wasted, found.reached, found.keeps)),
                strict=True,
            )
        ],
        "checkpoints_pay_up_to": advice.worthwhile,
        "without_checkpoints": advice.without and advice.without.expected_makespan,
        "expected_time": found.expected_makespan,
        "expected_waste": found.expected_waste,
        "strategies": {
            row.strategy.name: {
                "first_request": row.first,
                "seen": row.seen and asdict(row.seen),
                "unseen": row.unseen and asdict(row.unseen),
            }
            for row in advice.rows
        },
        "families": [{"name": fit.name, "ks": fit.ks, "p_value": fit.p_value, "aic": fit.aic} for fit in advice.fits],
    }
