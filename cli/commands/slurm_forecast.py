"""``hpcdispatch slurm forecast``: forecast the starts of jobs, and judge these forecasts later."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import click
import numpy as np
import pandas as pd

from ...analysis.calibration import LEAST, Calibration, PastForecast, past_forecasts
from ...analysis.kept_forecasts import ForecastScore, KeptForecast, judge, keep, read_kept
from ...analysis.start_forecasts import LEARNED, forecast_starts
from ...base.unfinished_files import temporary_folder
from ...bench.reports.number_formats import NOTHING, count, percent
from ...bench.reports.tables import Table
from ...dispatchers.protocol import JobView
from ...predictors import create as create_predictor
from ...workloads import Job, Workload
from ...workloads.fetching import cache_folder
from ...workloads.slurm_limits import SiteLimits
from ...workloads.slurm_workload import started_at
from ..app import OUTPUT, subcommand
from ..durations import Whole
from ..output import exact, finish, headed, time
from ..parameters import argument, option
from ..shared_options import validate
from ..site_options import SnapshotFiles
from ..slurm_moment import SiteAnswers, SlurmMoment, accounted, in_folder, moment_of

#: Largest errors in seconds of a forecast that counts as near.
NEAR = (300, 1200, 3600)


@dataclass(frozen=True, slots=True)
class Learning:
    """The predictor of run times, and the file of forecasts."""

    predictor: Annotated[str, option("Learns run times.", "NAME[:...]", default=LEARNED, group="Forecasts")]
    draws: Annotated[int, option("Simulations.", type=click.IntRange(4, 10_000), default=25)]
    seed: Annotated[int, option("Of their random numbers.", type=Whole(0), default=0)]
    kept: Annotated[Path | None, option("Where forecasts are kept.", type=click.Path(dir_okay=False, path_type=Path))]
    calibrate: Annotated[
        int,
        option(
            "Past moments to calibrate intervals on, where fewer than 20 kept forecasts tell; 0 for none.",
            "N",
            type=click.IntRange(0, 1000),
            default=6,
        ),
    ]


@subcommand(
    "forecast",
    "hpcdispatch slurm forecast 4711",
    "hpcdispatch slurm forecast --squeue squeue.json --sinfo sinfo.json --now 1795308804 --config slurm.conf "
    "--sacct jobs.sacct",
    "hpcdispatch slurm forecast --judge",
)
def forecast(
    job: Annotated[str | None, argument()],
    moment: SnapshotFiles,
    answers: SiteAnswers,
    learning: Learning,
    judged: Annotated[bool, option("Say what came of the forecasts that were kept.", name="--judge", group=OUTPUT)],
) -> None:
    """Forecast when JOB, or each waiting job, will start: an interval that holds in 8 of 10 cases.

    Slurm's rules run forward. Run times are sampled from ended jobs, and new jobs arrive at the rate of the past. The
    intervals are calibrated on the site's own past starts, by partition where there are enough. Each forecast is kept,
    and --judge compares it with the start.
    """
    validate([], [learning.predictor])
    store = learning.kept or cache_folder() / "forecasts.jsonl"
    if judged:
        with temporary_folder() as folder:
            past = accounted(in_folder(answers, moment.site), Path(folder))
        assert past.records is not None
        starts = past.columns.submit + past.records["wait"].to_numpy() + started_at(past)
        _tell(
            judge(
                read_kept(store, KeptForecast, "forecast"),
                dict(zip(past.columns.texts(), starts.tolist(), strict=True)),
                NEAR,
            )
        )
        return
    with moment_of(moment, answers, "running Slurm's rules forward") as now:
        held = None if job is None else now.held(job)
        wanted = job if held is not None else None if job is None else now.waiting(job)
        calibration, basis = _calibration(now, learning, store)
        made = _forecasts(now, learning, calibration)
        without = _without(now, {each.job for each in made})
    chosen = [each for each in made if wanted in (None, each.job)]
    without = {id_: why for id_, why in without.items() if wanted in (None, id_, id_.partition("_")[0])}
    keep(store, chosen)
    _print(chosen, without, calibration, basis)


def _calibration(now: SlurmMoment, learning: Learning, store: Path) -> tuple[Calibration, str]:
    """Return the calibration of intervals, and what it rests on: kept forecasts, or else past moments."""
    if not learning.calibrate:
        return Calibration.of([]), "by choice"
    kept = Calibration.of(_kept(now, store))
    if kept.pooled is not None:
        return kept, "kept forecasts"
    past = _history(now)
    options = {"moments": learning.calibrate, "draws": min(learning.draws, 10), "seed": learning.seed}
    forecasts = past_forecasts(past, now.slurm(), create_predictor(learning.predictor), now.state.at, **options)
    return Calibration.of(forecasts), f"starts at {learning.calibrate} past moments"


def _kept(now: SlurmMoment, store: Path) -> list[PastForecast]:
    """Return the kept forecasts of jobs that have started, or that should have."""
    if not store.is_file():
        return []
    starts = {each.job.id: each.start for each in now.state.ended} | {each.id: each.start for each in now.state.running}
    waiting = now.snapshot.by_id()
    forecasts = []
    for each in read_kept(store, KeptForecast, "forecast"):
        low, high = each.plain_low or each.low, each.plain_high or each.high
        start = starts.get(each.job, None)
        if start is not None and start + now.zero >= each.made:
            came = start + now.zero
        elif each.job in waiting and high < now.snapshot.now:
            came = now.snapshot.now
        else:
            continue
        forecasts.append(PastForecast(low - each.made, high - each.made, came - each.made, each.partition))
    return forecasts


def _history(now: SlurmMoment) -> Workload:
    """Return the ended, running and waiting jobs with their waits; NaN for jobs that wait."""
    starts: dict[str, float] = {since.id: since.start for since in now.state.running}
    pairs: list[tuple[Job, float]] = [(each.job, each.start) for each in now.state.ended]
    pairs += [(job, starts.get(job.id, np.nan)) for job in now.workload.jobs]
    unique = {job.id: (job, start) for job, start in pairs}
    listed = sorted(unique.values(), key=lambda pair: pair[0].submit)
    jobs = [replace(job, depends=(), array="", hold=False, together="") for job, _ in listed]
    waits = pd.DataFrame({"wait": [float(start - job.submit) for job, start in listed]})
    return Workload(tuple(jobs), now.workload.machine, now.workload.provenance, waits)


def _without(now: SlurmMoment, answered: set[str]) -> dict[str, str]:
    """Return why each other waiting job has no forecast, by id."""
    machine = now.workload.machine
    rows = None if now.limits is None else SiteLimits(now.limits, now.site, machine)
    planned = {job.id: job for job in now.workload.jobs}
    reasons = {}
    for id_, each in now.snapshot.by_id().items():
        if id_ in answered:
            continue
        job = planned.get(id_)
        over = rows.over(JobView(job, machine)) if rows is not None and job is not None else ()
        if not each.starts:
            reasons[id_] = f"it waits for {each.reason}, until its owner or an operator changes that"
        elif job is None:
            reasons[id_] = "it has no walltime, no cores, or no partition that is up"
        elif over:
            reasons[id_] = f"it is beyond the limit of {', '.join(sorted(over))} all alone"
        elif machine.slots(job.per_node) < job.nodes:
            reasons[id_] = "the nodes that it may use do not have so much, were they empty"
        else:
            reasons[id_] = "it starts in fewer than half of the simulations"
    return reasons


def _forecasts(now: SlurmMoment, learning: Learning, calibration: Calibration) -> list[KeptForecast]:
    """Return the forecasts of all waiting jobs, calibrated."""
    predictor = create_predictor(learning.predictor)
    zero = now.zero
    start_forecasts = forecast_starts(
        now.workload, now.state, now.slurm(), predictor, draws=learning.draws, seed=learning.seed
    )
    waiting = now.snapshot.by_id()
    partitions = {job.id: job.queue for job in now.workload.jobs}
    made = []
    for id_, plain in start_forecasts.items():
        each = calibration.applied(plain, now.state.at, partitions[id_])
        made.append(
            KeptForecast(
                now.snapshot.now,
                id_,
                each.low + zero,
                each.median + zero,
                each.high + zero,
                waiting[id_].expected if id_ in waiting else None,
                partitions[id_],
                plain.low + zero,
                plain.high + zero,
            )
        )
    return made


def _told(calibration: Calibration, basis: str) -> str:
    """Return what the intervals are calibrated on."""
    if calibration.pooled is None:
        why = f"{count(calibration.count, 'past start')} known, at least {LEAST} needed"
        return f"intervals are not calibrated on this site: {basis if basis == 'by choice' else why}"
    own = f"; of their own: {', '.join(sorted(calibration.stretch))}" if len(calibration.stretch) > 1 else ""
    return f"intervals are calibrated on {calibration.count:,} {basis}{own}"


def _print(made: list[KeptForecast], without: Mapping[str, str], calibration: Calibration, basis: str) -> None:
    rows = [
        (
            each.job,
            *(exact(max(0.0, moment - each.made)) for moment in (each.low, each.median, each.high)),
            NOTHING if each.slurm is None else exact(max(0, each.slurm - each.made)),
        )
        for each in made
    ]
    columns = ("job", *map(headed, ("starts in at least", "about", "at most", "Slurm says")))
    shown = Table("", columns, rows).terminal()
    more = [f"{id_}: no forecast: {why}" for id_, why in without.items()]
    more += [_told(calibration, basis)] if made else []
    fields = {
        "forecasts": [asdict(each) for each in made],
        "without": [*without.items()],
        "calibration": {"calibrated": calibration.pooled is not None, "past": calibration.count, "by": basis},
    }
    finish(_answer(made, without, calibrated=calibration.pooled is not None), fields, *([shown] if made else []), *more)


def _answer(made: list[KeptForecast], without: Mapping[str, str], *, calibrated: bool) -> str:
    """Return the first start of the jobs, against Slurm's own forecast. Only calibrated intervals have a number."""
    if not made and len(without) == 1:
        return f"Job {next(iter(without))} has no forecast: {next(iter(without.values()))}."
    if not made:
        return f"No job waits that can be planned; {len(without):,} wait for something else."
    each = min(made, key=lambda each: each.median)
    low, median, high = (time(max(0.0, moment - each.made)) for moment in (each.low, each.median, each.high))
    interval = "80% interval" if calibrated else "interval, not calibrated,"
    text = f"Job {each.job} starts in about {median} ({interval} {low} to {high})"
    text += "" if each.slurm is None else f", where Slurm says {time(max(0, each.slurm - each.made))}"
    if len(made) == 1 and not without:
        return f"{text}."
    others = f", {len(without):,} more have no forecast" if without else ""
    return f"{text}; it is the first of {count(len(made), 'waiting job')}{others}."


def _tell(score: ForecastScore) -> None:
    told = f"{count(score.known, 'forecast')} of jobs that have started, {score.unknown} of others"
    if not score.known:
        finish(f"{told}: nothing to judge yet.", asdict(score))
        return
    within = ", ".join(f"{percent(share)}% within {time(seconds)}" for seconds, share in score.near.items())
    answer = (
        f"{percent(score.covered)}% started within their intervals (80% is right), {time(score.deviation)} off on "
        f"average; "
    )
    answer += "Slurm gave no forecasts." if np.isnan(score.slurm) else f"squeue --start is {time(score.slurm)} off."
    finish(answer, asdict(score), told, within)
