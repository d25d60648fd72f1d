"""``hpcdispatch slurm forecast``: forecast the starts of jobs, and judge these forecasts later."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import click

from ...analysis.kept_forecasts import ForecastScore, KeptForecast, judge, keep, read_kept
from ...analysis.start_forecasts import LEARNED, forecast_starts
from ...base import InputError
from ...base.unfinished_files import temporary_folder
from ...bench.reports.number_formats import NOTHING, count, percent
from ...bench.reports.tables import Table
from ...predictors import create as create_predictor
from ...workloads.fetching import cache_folder
from ...workloads.slurm_workload import started_at
from ..app import OUTPUT, subcommand
from ..durations import Whole
from ..output import exact, finish, headed, time
from ..parameters import argument, option
from ..shared_options import validate
from ..site_options import SnapshotFiles
from ..slurm_moment import Moment, SiteAnswers, accounted, moment_of

#: Largest errors in seconds of a forecast that counts as near.
NEAR = (300, 1200, 3600)


@dataclass(frozen=True, slots=True)
class Learning:
    """The predictor of run times, and the file of forecasts."""

    predictor: Annotated[str, option("Learns run times.", "NAME[:...]", default=LEARNED, group="Forecasts")]
    draws: Annotated[int, option("Simulations.", type=click.IntRange(4, 10_000), default=25)]
    seed: Annotated[int, option("Of their random numbers.", type=Whole(0), default=0)]
    kept: Annotated[Path | None, option("Where forecasts are kept.", type=click.Path(dir_okay=False, path_type=Path))]


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

    Slurm's rules run forward. Run times are sampled from ended jobs, and new jobs arrive at the rate of the past. Each
    forecast is kept, and --judge compares it with the start.
    """
    validate([], [learning.predictor])
    store = learning.kept or cache_folder() / "forecasts.jsonl"
    if judged:
        with temporary_folder() as folder:
            past = accounted(answers, Path(folder))
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
        wanted = None if job is None else now.waiting(job)
        made = _forecasts(now, learning)
    chosen = [each for each in made if wanted in (None, each.job)]
    if wanted is not None and not chosen:
        raise InputError(f"job {wanted}: it starts in fewer than half of the simulations")
    keep(store, chosen)
    _print(chosen)


def _forecasts(now: Moment, learning: Learning) -> list[KeptForecast]:
    """Return the forecasts of all waiting jobs."""
    predictor = create_predictor(learning.predictor)
    zero = now.zero
    found = forecast_starts(now.workload, now.state, now.slurm(), predictor, draws=learning.draws, seed=learning.seed)
    waiting = now.snapshot.by_id()
    return [
        KeptForecast(
            now.snapshot.now,
            id_,
            each.low + zero,
            each.median + zero,
            each.high + zero,
            waiting[id_].expected if id_ in waiting else None,
        )
        for id_, each in found.items()
    ]


def _print(made: list[KeptForecast]) -> None:
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
    finish(_answer(made), {"forecasts": [asdict(each) for each in made]}, shown)


def _answer(made: list[KeptForecast]) -> str:
    """Return the first start of the jobs, against Slurm's own forecast."""
    if not made:
        return "No job waits that can be planned."
    each = min(made, key=lambda each: each.median)
    low, median, high = (time(max(0.0, moment - each.made)) for moment in (each.low, each.median, each.high))
    text = f"Job {each.job} starts in about {median} (80% interval {low} to {high})"
    text += "" if each.slurm is None else f", where Slurm says {time(max(0, each.slurm - each.made))}"
    return f"{text}." if len(made) == 1 else f"{text}; it is the first of {count(len(made), 'waiting job')}."


def _tell(score: ForecastScore) -> None:
    told = f"{count(score.known, 'forecast')} of jobs that have started, {score.unknown} of others"
    if not score.known:
        finish(f"{told}: nothing to judge yet.", asdict(score))
        return
    within = ", ".join(f"{percent(share)}% within {time(seconds)}" for seconds, share in score.near.items())
    answer = (
        f"{percent(score.covered)}% started within their intervals (80% is right), {time(score.deviation)} off on "
        f"average; Slurm's own forecasts are {time(score.slurm)} off."
    )
    finish(answer, asdict(score), told, within)
