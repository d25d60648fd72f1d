"""``hpcdispatch partition``: choose the number of processors to request, and the walltime."""

from pathlib import Path
from typing import Annotated

import numpy as np
from rich.console import RenderableType
from rich.text import Text

from ...analysis import read_scenario
from ...analysis.partition_sizes import (
    MachineMoment,
    SizeAdvice,
    advise_size,
    advise_size_and_time,
    moment_of_state,
    moment_of_trace,
    read_own_runs,
    read_requests,
    requests_of_runs,
)
from ...base import InputError
from ...bench.reports.number_formats import NOTHING, count, percent
from ...bench.reports.partition_figure import draw_sizes
from ...bench.reports.tables import terminal_table
from ...bench.reports.verdict import change
from ...models.moldable import Request, SpeedupFit
from ..app import OUTPUT, subcommand
from ..command_errors import say
from ..durations import Duration, Number
from ..output import exact, finish, headed, time
from ..parameters import option
from ..progress import spinner
from ..shared_options import ReadingOptions, check_writable
from ..trace_argument import load, resolve


@subcommand(
    "partition",
    "hpcdispatch partition --state state.json --requests requests.csv --plot choice.png",
    "hpcdispatch partition --trace trace.swf.gz@30d --runs runs.csv",
)
def command(
    state: Annotated[Path | None, option("The running jobs, JSON as of 'hpcdispatch evict'.", group="The machine")],
    trace: Annotated[str | None, option("A trace, at a time from its first submission on, as in 30d12h.", "FILE@TIME")],
    requests: Annotated[Path | None, option("CSV with processors and walltime (s).", group="What may be requested")],
    runs: Annotated[
        Path | None, option("Own runs instead: CSV with processors and time (s), or the output of sacct -P.")
    ],
    sizes: Annotated[str | None, option("With --runs: sizes to choose from.  [default: powers of two]", "N,N,...")],
    level: Annotated[
        float,
        option(
            "With --runs: walltimes are the upper end of this interval of the time.",
            "P",
            Number(0, 1, min_open=True, max_open=True),
            default=0.9,
        ),
    ],
    weight: Annotated[
        float,
        option(
            "Seconds of turnaround that a processor-hour is worth.",
            "S",
            Number(0),
            default=0.0,
            show_default=False,
        ),
    ],
    joint: Annotated[bool, option("With --runs: choose size and first walltime together.")],
    plot: Annotated[Path | None, option("Draw list and requests, .png or .svg.", group=OUTPUT)],
) -> None:
    """Choose the request with the least predicted turnaround (Cirne and Berman, JSSPP 2000).

    Each request would start where the availability list has room, and run for its walltime. The list is that of a state
    or of a trace. In a state, jobs without the field ends stay for ever. A trace runs under conservative backfilling
    with kills; then the output has the error of such predictions.

    With --joint a request may be too short. A longer one then follows. The output has the first request and the
    expected turnaround. The law of the run time comes from the fit of the runs.
    """
    for names, given in (("--state or --trace", (state, trace)), ("--requests or --runs", (requests, runs))):
        if sum(each is not None for each in given) != 1:
            how_many = "both" if given[0] is not None else "neither"
            raise InputError(f"expected {names}, got {how_many}")
    check_writable(plot, "--plot", ("png", "svg"))
    if joint and (runs is None or weight):
        raise InputError(f"--joint: expected --runs and no --weight, got {'--weight' if runs else '--requests'}")
    texts = [] if sizes is None else [part.strip() for part in sizes.split(",")]
    for text in texts:
        if not text.isdecimal() or int(text) < 1 or texts.count(text) > 1:
            raise InputError(f"--sizes: expected different whole numbers >= 1, separated by commas, got {sizes!r}")
    with spinner("looking at the machine"):
        moment = _moment(state, trace)
    speedup_fit = None
    if requests is not None:
        asked = read_requests(requests)
    else:
        asked, speedup_fit = _of_runs(runs, moment, level, [int(text) for text in texts])
    if joint and speedup_fit is not None:
        advice = advise_size_and_time(moment, speedup_fit, [request.processors for request in asked])
    else:
        advice = advise_size(moment, asked, weight)
    finish(_answer(moment, advice), _fields(moment, advice), *_shown(moment, advice))
    if plot is not None:
        draw_sizes(moment, advice, plot)
        say("note", f"drawn in {plot}")


def _moment(state: Path | None, trace: str | None) -> MachineMoment:
    """Return the free processors over time, from a state or from a trace at a time."""
    if state is not None:
        scenario = read_scenario(state)
        try:
            return moment_of_state(scenario)
        except InputError as error:
            raise InputError(f"{state}: {error}") from None
    assert trace is not None
    name, at, time = trace.rpartition("@")
    if not at or not name:
        raise InputError(f"--trace: expected FILE@TIME, as in trace.swf@30d, got {trace!r}")
    seconds = Duration().convert(time, None, None)
    return moment_of_trace(load(resolve(name), ReadingOptions()), seconds)


def _of_runs(
    runs: Path | None, moment: MachineMoment, level: float, sizes: list[int]
) -> tuple[list[Request], SpeedupFit]:
    """Return the requests made from own runs, and print the main results of the fit."""
    assert runs is not None
    own = read_own_runs(runs)
    try:
        requests, speedup_fit = requests_of_runs(own, moment.profile.processors, level, sizes)
    except InputError as error:
        raise InputError(f"{runs}: {error}") from None
    best = speedup_fit.best
    values = ", ".join(f"{name} {value:.3g}" for name, value in best.parameters.items())
    say(
        "note",
        f"{len(own)} runs: best is {best.name} ({values}), left-out error {percent(best.left_out_error)}%; "
        f"measure {speedup_fit.measure_next([r.processors for r in requests]):.0f} processors next",
    )
    return requests, speedup_fit


def _off(moment: MachineMoment) -> tuple[float, float] | None:
    """Return the 10th and the 90th percentile of turnaround over prediction."""
    if moment.kept is None:
        return None
    low, high = np.percentile(moment.kept, [10, 90]).tolist()
    return low, high


def _answer(moment: MachineMoment, advice: SizeAdvice) -> str:
    """Return the best request, against the one that starts first."""
    chosen = advice.choice
    text = f"Request {chosen.request.processors:,} processors for {exact(chosen.request.walltime)}"
    text += f": the job ends in {exact(chosen.turnaround)}"
    off = _off(moment)
    if off is not None:
        low, high = (time(share * chosen.turnaround) for share in off)
        text += f" (jobs with this prediction took {low} to {high}, an 80% interval)"
    options = [offer for offer in advice.options if offer is not None]
    first = min(options, key=lambda offer: (offer.start, -offer.request.processors))
    if first == chosen:
        return f"{text}, and no request starts sooner."
    told = change(chosen.turnaround / first.turnaround).replace("less", "sooner").replace("more", "later")
    return f"{text}, {told} than with {count(first.request.processors, 'processor')}, where it starts first."


def _shown(moment: MachineMoment, advice: SizeAdvice) -> list[RenderableType]:
    headers = headed("walltime"), headed("starts in"), headed("turnaround")
    table = terminal_table(["processors", *headers, "processor-hours", ""], 0)
    for request, offer in zip(advice.requests, advice.options, strict=True):
        times = (NOTHING, NOTHING) if offer is None else (exact(offer.start - moment.now), exact(offer.turnaround))
        mark = "never fits" if offer is None else "chosen" * (offer == advice.choice)
        cells = (f"{request.processors:,}", exact(request.walltime), *times, f"{request.processor_hours:,.1f}")
        table.add_row(*map(Text, (*cells, mark)))
    off = _off(moment)
    if off is None or moment.kept is None:
        return [table]
    told = f"of {len(moment.kept):,} jobs of the trace 80% took {percent(off[0])} to {percent(off[1])}% of the "
    return [table, "", told + "turnaround that was predicted (10th to 90th percentile)"]


def _fields(moment: MachineMoment, advice: SizeAdvice) -> dict[str, object]:
    rows = [
        {
            "processors": request.processors,
            "walltime_s": request.walltime,
            "starts_in_s": None if offer is None else offer.start - moment.now,
            "turnaround_s": None if offer is None else offer.turnaround,
            "processor_hours": request.processor_hours,
            "chosen": offer == advice.choice,
        }
        for request, offer in zip(advice.requests, advice.options, strict=True)
    ]
    off = _off(moment)
    taken = None if off is None else {"p10": off[0], "p90": off[1]}
    return {"machine_processors": moment.profile.processors, "options": rows, "turnaround_over_predicted": taken}
