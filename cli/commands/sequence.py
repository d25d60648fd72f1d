"""``hpcdispatch sequence``: choose walltimes for stochastic run times."""

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import click
import numpy as np
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ...analysis import GROWTH, LEAST_TO_HALVE, LEAST_TO_TRUST, Advice, Planning, StrategyResult, advise
from ...analysis.conclusions import of_samples
from ...analysis.requests import BEST, MAXIMUM, MOST_VALUES, SURE, StrategyRow
from ...analysis.site_requests import SiteAdvice, measure
from ...base import InputError, shown
from ...base.checks import MOST_STEPS
from ...bench.reports.number_formats import NOTHING, count, percent, ratio
from ...bench.reports.requests_figure import KINDS, draw_advice
from ...bench.reports.tables import terminal_table
from ...bench.reports.verdict import against
from ...models.reservations import Checkpointing, Cost
from ...models.reservations import Sequence as Reservations
from ...workloads.fetching import RUN_TIMES, fetch
from ...workloads.formats.run_times import RunHistory, read_run_history
from ..app import OUTPUT, settings, subcommand
from ..command_errors import say
from ..durations import Number
from ..output import exact, finish, headed, pairs, time
from ..parameters import argument, option
from ..progress import spinner
from ..shared_options import (
    ColumnOption,
    LongestOption,
    ReadingOptions,
    UnitOption,
    check_writable,
)
from ..trace_argument import load, resolve

#: Costs of requests by name.
RESERVED, TURNAROUND = "reserved", "turnaround"
#: Slurm's signal to a job that must write a checkpoint before its walltime.
_SIGNAL = "USR1"
#: A fitted family is bad if its p-value is below the first share, or its extra cost is above the second.
_UNLIKE, _COSTLY = 0.05, 0.05


def _cost(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Refuse what is no cost."""
    if value in (None, RESERVED, TURNAROUND):
        return value
    try:
        _weights(str(value))
    except (ValueError, InputError) as error:
        told = error if isinstance(error, InputError) else f"got {shown(value)}"
        raise click.BadParameter(
            f"expected reserved, turnaround, or three numbers A,B,C >= 0: {told}", ctx, param
        ) from None
    return value


def _weights(text: str) -> Cost:
    alpha, beta, gamma = map(float, text.split(","))
    return Cost(alpha, beta, gamma)


@subcommand(
    "sequence",
    "sacct -X -P -S 2025-01-01 --name=segment -o Elapsed,State > runs.csv",
    "hpcdispatch sequence runs.csv --max 2-00:00:00 --plot requests.png",
    "hpcdispatch sequence table.tsv --column hours --unit h --backfill-rate 0.2 --sbatch",
)
def command(
    runs: Annotated[Path, argument("RUNTIMES")],
    column: ColumnOption,
    unit: UnitOption,
    longest: LongestOption,
    bins: Annotated[
        int | None,
        option(
            "Round run times up to N values; says the loss.  [default: exact]",
            "N",
            click.IntRange(min=1, max=MOST_STEPS),
        ),
    ],
    most: Annotated[int | None, option("At most N requests.  [default: any number]", "N", name="--requests")],
    backfill_rate: Annotated[
        float,
        option("Share of the machine that small jobs backfill.", "Z", Number(0, 1, max_open=True), default=0.0),
    ],
    cost: Annotated[
        str | None,
        option(
            "What is least: all reserved time (the paper's), wait and run time, or aR + b min(R, t) + c over the "
            "requests R of a run of t seconds.  [default: turnaround with --site, else reserved]",
            "reserved|turnaround|A,B,C",
            callback=_cost,
        ),
    ],
    fitted: Annotated[bool, option("The law of the best fitting family, not the runs'.", name="--fit")],
    smoothed: Annotated[bool, option("The runs' law, interpolated between them.", name="--smooth")],
    checkpoint: Annotated[int | None, option("Time to write a checkpoint at the end of a request.", "TIME")],
    restart: Annotated[int | None, option("Time to go on from one.  [default: 0s]", "TIME")],
    site: Annotated[
        str | None, option("Replay this trace with the runs among its jobs.", "TRACE", group="Replay on a site")
    ],
    site_jobs: Annotated[int, option("Its last jobs, replayed.", "N", click.IntRange(min=2), default=5000)],
    cores: Annotated[int, option("Of the job.", "N", default=1)],
    reading: ReadingOptions,
    plot: Annotated[Path | None, option("Draw the run times and the requests (.png, .svg).", group=OUTPUT)],
    sbatch: Annotated[bool, option("Print the requests as --time=D-HH:MM:SS alone, one a line.")],
) -> None:
    """Print which times to request, one after another until the job succeeds, for runs like those in RUNTIMES.

    RUNTIMES is text (.gz too), the oldest run first: one time per line, or a table with a header. Tabs, |, ; or commas
    separate fields. A time is a number (--unit), 2h30m, or in Slurm's format. If a column State says TIMEOUT, the run
    counts as longer. Failed and cancelled ones are left out.

    The requests have the least expected cost. With --cost reserved it is all reserved time, as if it were paid. With
    --cost turnaround it is the waits in the queue plus the run time: the waits by request are fitted to the accounting
    of --site. From 20 runs on, each way to request is made from the first half of the runs and judged on the second.
    The one with the least cost there is recommended.
    """
    if sbatch and settings().json:
        raise click.UsageError("--sbatch and --json: expected one of them, got both")
    if restart is not None and checkpoint is None:
        raise click.UsageError("--restart: expected --checkpoint with it")
    if site is None and reading != ReadingOptions():
        raise click.UsageError("options that say how to read a trace: expected --site with them")
    if cost == TURNAROUND and site is None:
        raise click.UsageError("--cost turnaround: expected --site with it, whose waits are fitted")
    if backfill_rate and cost not in (None, RESERVED):
        raise click.UsageError(f"--cost {cost}: expected no --backfill-rate with it, which counts reserved time")
    kind = cost or (TURNAROUND if site is not None and not backfill_rate else RESERVED)
    checkpointing = None if checkpoint is None else Checkpointing(checkpoint, restart or 0)
    check_writable(plot, "--plot", KINDS)
    published = str(runs) in RUN_TIMES and not runs.exists()
    history = read_run_history(fetch(str(runs)) if published else runs, column, unit)
    limit = last_request(longest, history)
    planning = Planning(bins, backfill_rate, limit, fitted, checkpointing, smoothed, most)
    measured = None
    if site is not None:
        trace = load(resolve(site), reading)
        with spinner("replaying the trace"):
            ended = history.times[~history.censored]
            measured = measure(trace.slice(max(0, len(trace) - site_jobs), len(trace)), ended, planning, cores)
    planning = replace(planning, cost=_priced(kind, measured))
    with spinner("optimising"):
        advice = advise(history, planning)
    if measured is not None and kind == TURNAROUND:
        advice = replace(advice, requests=measured.sequences[measured.best.name])
    _warn(history, advice, planning)
    if sbatch:
        click.echo("\n".join(_options(advice.advised, checkpoint)))
    else:
        rows = {row.name: asdict(row) | {"verdict": row.verdict} for row in measured.rows} if measured else {}
        name = _recommended(advice, measured if kind == TURNAROUND else None)
        fields = _plain(advice, history) | {
            "cost": kind,
            "recommended": name,
            "site": measured
            and {"waits": asdict(measured.waits), "runs": measured.runs, "unseen": measured.unseen} | {"rows": rows},
        }
        tables = [*_shown(advice, history, planning, kind, name), "", *_site_shown(measured, site, cores)]
        finish(_answer(advice, measured, kind), fields, *tables)
    if plot is not None:
        draw_advice(advice, history.times, plot)
        say("note", f"drawn in {plot}")


def whole_minutes(values: Sequence[float]) -> list[int]:
    """Return requests, seconds, rounded up to Slurm's minutes, without repetitions."""
    return list(dict.fromkeys(math.ceil(round(value, 6) / 60) for value in values))


def sbatch_lines(values: Sequence[float]) -> list[str]:
    """Return the requests as options of ``sbatch``, rounded up to minutes, without repetitions."""
    lines = []
    for minutes in whole_minutes(values):
        hours, minute = divmod(minutes, 60)
        lines.append(f"--time={hours // 24}-{hours % 24:02}:{minute:02}:00")
    return lines


def _warn(history: RunHistory, advice: Advice, planning: Planning) -> None:
    """Print the limits of the advice."""
    ended = int((~history.censored).sum())
    runs = len(history)
    if runs < LEAST_TO_TRUST:
        say("note", f"{count(runs, 'run')} tell little of the next one; expected at least {LEAST_TO_TRUST}")
    _say_left_out(history)
    if ended < runs:
        say("note", f"{count(runs - ended, 'TIMEOUT run')} of {runs:,} count as longer than their time")
    if advice.tail:
        law = f"their law is that of {advice.fits[0].name}" if advice.fits else "nothing tells their law"
        say("note", f"{percent(advice.tail)}% of the runs are longer than any that was seen to end; {law}")
    if history.at_limit:
        many = f"{history.at_limit:,} of {runs:,} runs end within a minute after the same limit"
        say("warning", f"{many}, as if killed there; give a column State, by which such runs count as longer")
    if planning.fitted and advice.fits:
        _warn_of_fit(advice)
    if not planning.exact and len(np.unique(history.times)) > MOST_VALUES and planning.bins is None:
        share = percent(float(history.times.max() / history.times.min()) ** (1 / MOST_VALUES) - 1)
        say("note", f"run times are rounded up to {MOST_VALUES:,} values, each by at most {share}%")


def _say_left_out(history: RunHistory, timeouts: int = 0) -> None:
    """Print the runs that are left out."""
    left_out = dict(history.left_out) | ({"TIMEOUT": timeouts} if timeouts else {})
    if left_out:
        states = ", ".join(f"{number:,} {state}" for state, number in left_out.items())
        say("note", f"left out, as they do not tell what a run takes: {states}")


def _warn_of_fit(advice: Advice) -> None:
    """Warn if the fitted family differs from the runs."""
    best = advice.fits[0]
    loss = advice.loss or 0.0
    unlike = best.p_value is not None and best.p_value < _UNLIKE
    if unlike or loss > _COSTLY:
        told = f"its requests cost {percent(loss)}% more time on the runs than the best ones for them"
        say("warning", f"{best.name} fits badly (KS {best.ks:.3f}): {told}; without --fit these are found")


def _priced(kind: str, measured: SiteAdvice | None) -> Cost | None:
    """Return what a request costs; ``None`` for all reserved time."""
    if kind == RESERVED:
        return None
    if kind == TURNAROUND and measured is not None:
        return Cost(measured.waits.alpha, 1, measured.waits.gamma)
    return _weights(kind)


def _noun(kind: str) -> str:
    return {RESERVED: "reserved time", TURNAROUND: "time from submission to success"}.get(kind, f"cost ({kind})")


def _recommended(advice: Advice, measured: SiteAdvice | None) -> str:
    """Return the name of the way to request that is recommended."""
    return advice.rows[advice.recommended].strategy.name if measured is None else measured.best.name


def _answer(advice: Advice, measured: SiteAdvice | None, kind: str) -> str:
    """Return the first request of the recommended way, and its result against the others."""
    first = f"Request {exact(advice.advised.values[0])} first"
    if len(advice.advised.values) == 1:
        first = f"Request {exact(advice.advised.values[0])}, and nothing after it"
    if measured is not None and kind == TURNAROUND:
        return _answer_of_site(first, measured)
    row = advice.rows[advice.recommended]
    text = first if row is advice.rows[0] else f"{first}, as by {row.strategy.name}"
    text += _beside(advice, kind)
    if kind == RESERVED:
        text += " All reserved time counts, as if it were paid."
        text += " Where a job that ends early frees its nodes and no request waits, the maximum is best."
    if measured is None:
        return text
    best = next(each for each in measured.rows if each.name == BEST)
    replayed = against("the maximum", best.ratio, best.low, best.high, count(measured.runs, "run"), "response time")
    return f"{text} Replayed with the queue, the {BEST} of reserved time has {replayed}."


def _beside(advice: Advice, kind: str) -> str:
    """Return how the recommended way compares with others, and what loses to it."""
    row = advice.rows[advice.recommended]
    others = [each for each in advice.rows if each is not row and each.strategy.name in (BEST, MAXIMUM)]
    names = {MAXIMUM: "requesting the maximum at once", BEST: f"the {BEST}"}
    told = [pair for each in others if (pair := _against(row, each, names[each.strategy.name], _noun(kind)))]
    if not told:
        return "."
    end = ". It is the way with the least on these runs." if row.unseen else ", on the runs that it is made from."
    return f": {'; '.join(text for _, text in told)}{end}"


def _answer_of_site(first: str, measured: SiteAdvice) -> str:
    """Return the way with the least mean response in the replay."""
    row, waits = measured.best, measured.waits
    basis = count(measured.runs, "run") + (" not seen before" if measured.unseen else ", seen before")
    if row is measured.rows[0]:
        text = f"{first}: the maximum has the least time from submission to success"
        lost = [each for each in measured.rows[1:] if each.verdict == "worse"]
        text += f", {time(row.response)} on average over {basis}"
        text += f"; worse: {', '.join(each.name for each in lost)}" if lost else "; no other way is clearly worse"
    else:
        noun = "time from submission to success"
        text = f"{first}, as by '{row.name}': {against('the maximum', row.ratio, row.low, row.high, basis, noun)}"
    source = "its accounting" if waits.recorded else "a replay, for its accounting has none"
    model = f"{time(waits.gamma)} + {waits.alpha:.2f} x the request, {time(waits.error)} off on average"
    return f"{text}. The replay has the runs among the jobs of the site. Waits by {source}: {model}."


def _against(best: StrategyRow, other: StrategyRow, name: str, noun: str) -> tuple[float, str] | None:
    """Return the ratio of the costs, as a number and in words; ``None`` without a common run."""
    mine, rival = (row.unseen if best.unseen else row.seen for row in (best, other))
    if mine is None or rival is None:
        return None
    runs = len(rival.times)
    estimate = of_samples(mine.times[-runs:], rival.times)
    basis = f"{count(runs, 'run')}{' not seen before' if best.unseen else ''}"
    if estimate.reason:
        basis = f"{basis}; {estimate.reason}"
    return estimate.ratio, against(name, estimate.ratio, estimate.low, estimate.high, basis, noun)


def _site_shown(measured: SiteAdvice | None, site: str | None, cores: int) -> list[RenderableType]:
    if measured is None or site is None:
        return ["This assumes that a request starts as soon as it is made; --site TRACE measures it."]
    table = terminal_table(["", "requests", headed("response"), "lost (h)", "to maximum (%)", ""])
    for row in measured.rows:
        change, low, high = (f"{100 * (value - 1):+.0f}" for value in (row.ratio, row.low, row.high))
        to_maximum = f"{change} [{low}, {high}]" if row.verdict else NOTHING
        table.add_row(row.name, ratio(row.requests), time(row.response), f"{row.lost:,.0f}", to_maximum, row.verdict)
    waits = measured.waits
    width = f"about as wide as {cores:,} cores" if waits.alike else "of all widths"
    runs = "the second half of the runs, requests made from the first" if measured.unseen else "all runs, seen before"
    told = (
        f"{measured.runs:,} runs at even times among the jobs of {site}, replayed under EASY: {runs}.\n"
        f"Response: from submission to success; lost: core-hours used in vain; intervals over the runs.\n"
        f"The waits are {time(waits.gamma)} + {waits.alpha:.2f} x the request, {time(waits.error)} off on average: "
        f"those of {waits.jobs:,} jobs of {site}, {width}, {'in its accounting' if waits.recorded else 'in a replay'}."
    )
    return [Text(f"measured on {site}", style="bold"), table, told]


def _options(requests: Reservations, write: int | None) -> list[str]:
    """Return the requests as options of ``sbatch``, with a signal before each checkpoint."""
    lengths = requests.values.tolist()
    keeps = requests.keeps.tolist()
    if not any(keeps):
        return sbatch_lines(lengths)
    times = [line for length in lengths for line in sbatch_lines([length])]
    return [
        f"{time} --signal={_SIGNAL}@{max(1, write or 0)}" if keep else time
        for time, keep in zip(times, keeps, strict=True)
    ]


def last_request(limit: int | None, history: RunHistory) -> float | None:
    """Return ``--max`` in seconds, at least the longest run time; ``None`` without the option."""
    run_times = np.where(history.censored, 0.0, history.times)
    if limit is not None and limit < run_times.max():
        longest = f"{exact(run_times.max())} (run {int(run_times.argmax()) + 1})"
        raise InputError(f"--max: expected at least the longest run time, {longest}, got {exact(limit)}")
    return None if limit is None else float(limit)


def _shown(advice: Advice, history: RunHistory, planning: Planning, kind: str, name: str) -> list[RenderableType]:
    run_times = history.times
    span = f"{exact(run_times.min())} to {exact(run_times.max())}, mean {exact(run_times.mean())}"
    families = ", ".join(f"{fit.name} {fit.ks:.3f}" for fit in advice.fits[:3])
    law = advice.fits[0].name if planning.fitted and advice.fits else "the runs" + ", smoothed" * planning.smoothed
    law += "" if planning.bins is None else f", in {count(planning.bins, 'value')}"
    priced = kind not in (RESERVED, TURNAROUND)
    expected = ratio(advice.sequence.expected_makespan) if priced else exact(advice.sequence.expected_makespan)
    waste = exact(advice.sequence.expected_waste)
    half = len(run_times) // 2
    lines: list[RenderableType] = [
        Text(f"{count(len(run_times), 'run')}: {span}", style="bold"),
        f"best fitting families (AIC), with their distance from the runs (KS): {families}"
        if advice.fits
        else "best fitting families: none, as all run times are equal",
        "",
        Text(f"requests: {name}", style="bold"),
        _requests(advice),
        f"{expected} per run expected at best, {waste} unused (law: {law})",
        *([] if advice.sure is None else [_sure(advice.sure, len(run_times))]),
        *([] if advice.loss is None else [f"on the runs as they are, {percent(advice.loss)}% longer than the best"]),
        *([] if advice.without is None else [_checkpoints(advice, advice.without)]),
        "",
        Text("on the runs they are made from", style="bold"),
        _strategies([(row.strategy.name, exact(row.first), row.seen) for row in advice.rows], kind),
        "",
    ]
    if advice.rows[0].unseen is None:
        lines.append(f"on unseen runs: not known from fewer than {LEAST_TO_HALVE}")
    else:
        lines.append(Text(f"on the last {len(run_times) - half}, made from the first {half}", style="bold"))
        lines.append(_strategies([(row.strategy.name, "", row.unseen) for row in advice.rows], kind))
    return [
        *lines,
        "",
        f"Means per run; {_head_of_cost(kind)} is the {_noun(kind)}. A run longer than the last request takes "
        f"{GROWTH:g} times as much, until it succeeds.",
        pairs([(row.strategy.name, row.strategy.note) for row in advice.rows]),
    ]


def _sure(sure: tuple[tuple[float, float], tuple[float, float]], runs: int) -> str:
    """Return the uncertainty of the advice."""
    first, expected = (f"{exact(low)} to {exact(high)}" for low, high in sure)
    told = f"first request {first}, expected time {expected}"
    return f"from {count(runs, 'run')} alone: {told} ({SURE}% of resampled runs)"


def _requests(advice: Advice) -> Table:
    sequence = advice.advised
    more = ("checkpoint", "for runs up to") if advice.without is not None else ()
    table = terminal_table(["request", headed("time"), "needed (%)", headed("expected waste"), *more])
    columns = sequence.values, sequence.needed, sequence.wasted, sequence.keeps, sequence.reached
    for number, (value, needed, wasted, keeps, reached) in enumerate(zip(*columns, strict=True), 1):
        last = ("yes" if keeps else "no", exact(reached)) if more else ()
        table.add_row(str(number), exact(value), percent(float(needed)), exact(float(wasted)), *last)
    return table


def _checkpoints(advice: Advice, without: Reservations) -> str:
    """Return the savings of checkpoints, and the longest writing time with a saving."""
    saved = without.expected_makespan - advice.sequence.expected_makespan
    most = exact(advice.worthwhile or 0)
    pays = f"some requests end with one where writing takes up to {most}"
    if not advice.sequence.keeps.any():
        return f"checkpoints do not pay: {pays}" if advice.worthwhile else "checkpoints do not pay, however short"
    share = percent(saved / without.expected_makespan)
    return f"checkpoints save {exact(saved)} per run ({share}%)\n{pays}"


def _head_of_cost(kind: str) -> str:
    """Return the head of the column of costs."""
    return "time" if kind in (RESERVED, TURNAROUND) else "cost"


def _strategies(rows: Sequence[tuple[str, str, StrategyResult | None]], kind: str) -> Table:
    """Return the table of strategies: their names, first requests, and means."""
    first = (headed("first request"),) if rows[0][1] else ()
    priced = _head_of_cost(kind) == "cost"
    table = terminal_table(["", *first, "requests", "cost" if priced else headed("time"), headed("waste")])
    for name, request, fared in rows:
        cells: tuple[str, ...] = (NOTHING,) * 3
        if fared:
            cells = ratio(fared.requests), (ratio if priced else exact)(fared.time), exact(fared.waste)
        table.add_row(Text(name), *((request,) if request else ()), *cells)
    return table


def _plain(advice: Advice, history: RunHistory) -> dict[str, Any]:
    """Return all results for JSON, times in seconds."""
    sequence = advice.advised
    return {
        "runs": len(history),
        "timeouts": int(history.censored.sum()),
        "left_out": dict(history.left_out),
        "at_limit": history.at_limit,
        "beyond": advice.tail,
        "loss": advice.loss,
        "first_request_interval": advice.sure and list(advice.sure[0]),
        "expected_time_interval": advice.sure and list(advice.sure[1]),
        "requests": [
            {"time": value, "needed": needed, "waste": wasted, "reached": reached, "checkpoint": keeps}
            for value, needed, wasted, reached, keeps in zip(
                *(
                    column.tolist()
                    for column in (sequence.values, sequence.needed, sequence.wasted, sequence.reached, sequence.keeps)
                ),
                strict=True,
            )
        ],
        "checkpoints_pay_up_to": advice.worthwhile,
        "without_checkpoints": advice.without and advice.without.expected_makespan,
        "expected_time": sequence.expected_makespan,
        "expected_waste": sequence.expected_waste,
        "strategies": {
            row.strategy.name: {
                "first_request": row.first,
                "seen": row.seen and row.seen.plain(),
                "unseen": row.unseen and row.unseen.plain(),
            }
            for row in advice.rows
        },
        "families": [{"name": fit.name, "ks": fit.ks, "p_value": fit.p_value, "aic": fit.aic} for fit in advice.fits],
    }
