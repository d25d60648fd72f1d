"""The tables: repeated decisions of a real Slurm, whole runs and real ones, and the time per year."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, get_args

import click
import numpy as np

from .....base import FloatArray, InputError
from .....dispatchers.slurm import SlurmOptions, configured, seconds, shares_of
from .....simulation import check, simulate
from .....workloads import Job, Machine, Workload
from .....workloads.job_columns import Coded, JobColumns
from .....workloads.slurm_conf import APART, PARTITION, read_slurm_conf
from ....reports.number_formats import fixed, percent, short
from ....reports.number_formats import seconds as spent
from ....reports.tables import Table
from ...one_line_errors import in_one_line
from ...printed_tables import show
from ..measurements import measured
from .controller_log import AccountedJob, Event, began_at, read_jobs, read_log, site_jobs
from .forecast_table import forecasts, replay_forecasts
from .live_replay import LOG
from .recorded_decisions import RecordedDecisions, compared_priorities
from .recorded_scenes import scenes
from .recorded_text import recorded_table, recorded_time
from .site_classes import classes

Part = Literal["decisions", "free", "forecast", "scale", "classes", "scenes"]
#: Shares of the accounts of the record, as its set-up made them.
SHARES = {"phys": 10, "chem": 20, "bio": 30}
#: Seconds within which a start counts as met.
WITHIN = (2, 10, 30)
#: Jobs of a part of a year of 500,000 jobs on 1,000 nodes.
JOBS = 5_000
NODES = 1_000
YEAR = 500_000
LOAD = 0.85
_SMALL = 600


@dataclass(frozen=True)
class Record:
    """The files of a recorded replay.

    Attributes
    ----------
    folder
        Where they are.
    """

    folder: Path

    @property
    def config(self) -> Path:
        """The configuration."""
        return self.folder / "slurm.conf"

    @property
    def log(self) -> Path:
        """The log of the controller."""
        return self.folder / "replay-a.slurmctld.log.gz"

    def jobs(self) -> dict[str, AccountedJob]:
        """Return the jobs by id."""
        return read_jobs(self.folder / "replay-a.sacct", self.folder / "replay-a-more.sacct")


def recorded() -> Record:
    """Return the record next to the data folder.

    Raises
    ------
    InputError
        If it is not there.
    """
    folder = Path(os.environ.get("HPCDISPATCH_DATA", "../shared/data")).parent / "slurm" / "recorded"
    if not folder.is_dir():
        raise InputError(f"{folder}: no recorded replay of Slurm; HPCDISPATCH_DATA names the folder beside its own")
    return Record(folder)


def decisions(record: Record, lines: int | None = None) -> Table:
    """Return the number of recorded decisions that the model makes alike, from the real state before each.

    Parameters
    ----------
    record
        The files.
    lines
        How many lines of the log; all by default.
    """
    jobs = record.jobs()
    events = list(islice(read_log(record.log), lines))
    return _decided(record.config, jobs, events, began_at(record.log), SHARES)


def replay_decisions(folder: Path, shares: str) -> Table:
    """Return the same of a replay that ``live replay --keep`` has kept, with its controller log."""
    config = folder / "site.txt"
    log = folder / LOG
    log = folder / f"{LOG}.gz" if (folder / f"{LOG}.gz").exists() else log
    named = (folder / name for name in ("limits.txt", "qos.txt"))
    limits = ";".join(str(file) for file in named if file.exists())
    jobs = site_jobs(folder / "jobs.sacct", config, limits)
    return _decided(config, jobs, list(read_log(log)), began_at(log), shares_of(shares))


def _decided(
    config: Path, jobs: dict[str, AccountedJob], events: list[Event], began: float, shares: dict[str, int]
) -> Table:
    started = {event.job for event in events if event.kind in ("allocated", "backfilled")}
    arrays = {job.partition("_")[0] for job in jobs}
    # Jobs that never started, beyond a limit for instance, are in no accounting that is read.
    events = [
        event for event in events if event.job in started or event.job.partition("_")[0] in arrays or not event.job
    ]
    options, site = configured(SlurmOptions(config=str(config)))
    if site is None:
        raise InputError(f"{config}: expected a configuration")
    again = RecordedDecisions(site, jobs, options.rules())
    again.follow(events)
    period, half_life = (
        seconds(name, getattr(options, name)) for name in ("PriorityCalcPeriod", "PriorityDecayHalfLife")
    )
    order = compared_priorities(
        site, jobs, events, began, period, half_life, options.weights(), shares, small=options.PriorityFavorSmall
    )
    counts = again.counts
    rows = [
        _share("planned starts within 2 s", counts["near"], counts["planned"], 0.97),
        _share("planned on the same nodes", counts["same nodes"], counts["planned"], 0.97),
        _share("starts by backfill", counts["started here"], counts["started"], 0.99),
        _share("starts by backfill on the same nodes", counts["start nodes"], counts["started"], None),
        _share("priorities within 5 points", order["near"], order["seen"], 0.99),
        _share("priorities equal", order["equal"], order["seen"], None),
    ]
    note = "Each cycle of backfill once more, from the real state before it; priorities from real starts and ends."
    return Table("decision by decision", ("decision", "alike", "of", "share", "wanted"), rows, note=note)


def free_running(record: Record) -> Table:
    """Return a comparison of whole simulations with the recorded run, and with another real run."""
    jobs = record.jobs()
    start = int(began_at(record.log))
    workload = recorded_workload(record, jobs, start)
    submit = workload.columns.submit.astype(np.float64)
    real = np.array([job.start - start for job in jobs.values()], dtype=np.float64)
    rows = [["another run of the real Slurm", *_compared(_other_run(record, jobs) + submit, real, submit)]]
    own = f"slurm:config={record.config},shares={_shares()},epoch={start}"
    for name, spec in {"slurm": own, "easy": "easy", "conservative": "conservative", "fcfs": "fcfs"}.items():
        result = simulate(workload, spec)
        check(workload, result)
        rows.append([name, *_compared(result.jobs["start"].to_numpy(), real, submit)])
    columns = ("scheduler", *(f"within {near} s" for near in WITHIN), "mean deviation (s)", "mean wait", "correlation")
    note = f"{len(jobs)} jobs; the recorded mean wait is {fixed(float((real - submit).mean()), 1)} s."
    return Table("whole runs", columns, rows, note=note)


def recorded_workload(record: Record, jobs: dict[str, AccountedJob], start: int) -> Workload:
    """Return the recorded jobs with their real run times. Time 0 is `start` (seconds since 1970)."""
    made = [
        Job(
            id=name,
            submit=job.submit - start,
            runtime=job.end - job.start,
            walltime=job.limit,
            nodes=job.slots,
            per_node={"core": job.cores, f"{PARTITION}{job.partition}": 1} | ({APART: 1} if job.apart else {}),
            user=job.user,
            group=job.account,
            queue=job.partition,
        )
        for name, job in jobs.items()
    ]
    return Workload(tuple(made), read_slurm_conf(record.config).machine())


def scale(jobs: int) -> Table:
    """Return the time for a part of a year of 500,000 jobs on 1,000 nodes. Also return the year at that pace."""
    workload = drawn(jobs)
    simulate(workload.head(50), "slurm")  # compiles
    result, took = measured(lambda: simulate(workload, "slurm", overrun="kill"))
    check(workload, result)
    days = float(workload.columns.submit[-1] - workload.columns.submit[0]) / 86400
    row = [f"{jobs:,}", short(days), f"{len(result.decisions):,}", spent(took.cpu), spent(took.cpu * YEAR / jobs)]
    waited = float(result.jobs["wait"].mean()) / 60
    note = f"Load {LOAD}, {NODES:,} nodes; the mean wait is {fixed(waited, 0)} min. CPU seconds on one core."
    return Table("pace", ("jobs", "days", "decisions", "time", f"{YEAR:,} jobs"), [row], note=note)


def drawn(jobs: int) -> Workload:
    """Return a part of a year of 500,000 jobs on 1,000 nodes.

    They take 1 to 64 nodes each. Requests are 1 to 4 times too long.
    """
    rng = np.random.default_rng(1)
    gap = 365 * 86400 / YEAR
    nodes = 2 ** rng.integers(0, 7, jobs)
    area = LOAD * NODES * gap / np.mean(2 ** np.arange(7))
    runtime = np.maximum(rng.lognormal(np.log(area) - 0.5, 1.0, jobs), 1).astype(np.int64)
    walltime = (np.ceil(runtime * rng.uniform(1, 4, jobs) / 60) * 60).astype(np.int64)
    submit = np.cumsum(rng.exponential(gap, jobs)).astype(np.int64)
    columns = JobColumns.made(
        np.arange(jobs),
        submit=submit,
        runtime=runtime,
        walltime=walltime,
        nodes=nodes,
        user=Coded.of(rng.integers(0, 50, jobs)),
    )
    return Workload(columns, Machine.homogeneous(NODES, core=1))


def _shares() -> str:
    return ";".join(f"{name}={number}" for name, number in SHARES.items())


def _share(name: str, alike: int, count: int, wanted: float | None) -> list[str]:
    share = percent(alike / count) if count else "-"
    return [name, f"{alike:,}", f"{count:,}", share, "-" if wanted is None else percent(wanted)]


def _compared(starts: FloatArray, real: FloatArray, submit: FloatArray) -> list[str]:
    off = np.abs(starts - real)
    wait = starts - submit
    real_wait = real - submit
    near = [percent(float((off <= within).mean())) for within in WITHIN]
    more = f"{wait.mean() / real_wait.mean() - 1:+.1%}"
    return [*near, fixed(float(off.mean()), 1), more, fixed(float(np.corrcoef(wait, real_wait)[0, 1]), 2)]


def _other_run(record: Record, jobs: dict[str, AccountedJob]) -> FloatArray:
    """Return the waits of the same jobs in another run. It has one more job before them. Jobs match by name."""
    path = record.folder / "replay-x10.sacct"
    table = recorded_table(path, "JobName", ("Submit", "Start"))
    names = [f"j{int(job) - 1}" for job in jobs]
    if strange := sorted(set(names) - set(table.index)):
        raise InputError(f"{path}: expected the jobs of the record, got none with the name {strange[0]}")
    times = [[recorded_time(text, str(path)) for text in table.loc[names, name]] for name in ("Submit", "Start")]
    return np.subtract(times[1], times[0])


@click.command(help=__doc__)
@click.option("--part", type=click.Choice(get_args(Part)), help="One part alone.")
@click.option(
    "--jobs", type=click.IntRange(min=1, max=YEAR), default=JOBS, show_default=True, help="Of the part scale."
)
@click.option(
    "--replay",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="For the parts decisions, forecast and classes, what `live replay --keep` has kept, in place of the record. "
    "For the part scenes, a folder of scenes.",
)
@click.option(
    "--again",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="For the part classes, the accounting of a second run of the same jobs.",
)
@click.option("--shares", default=None, metavar="A=N;B=N", help="Of its accounts.")
@click.option("--every", type=click.IntRange(1), default=5, show_default=True, help="Of its moments.")
@click.option("--small", is_flag=True, help="Smoke test: a short part of the record, few jobs.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
def main(
    part: Part | None,
    jobs: int,
    replay: Path | None,
    again: Path | None,
    shares: str | None,
    every: int,
    small: bool,
    as_markdown: bool,
) -> None:
    """Print the tables."""

    def tables() -> Iterator[Table]:
        if replay is not None:
            if part == "decisions":
                yield replay_decisions(replay, shares or "")
            elif part == "classes":
                yield classes(replay, shares or "", again)
            elif part in (None, "forecast"):
                yield replay_forecasts(replay, shares or "", every, 4 if small else 25)
            elif part == "scenes":
                yield scenes(replay)
            else:
                raise InputError(f"--replay: expected the part decisions, forecast, classes or scenes, got {part}")
            return
        if part in ("classes", "scenes"):
            raise InputError(f"--part {part}: expected a folder, --replay FOLDER, got none")
        if part in (None, "decisions"):
            yield decisions(recorded(), _SMALL if small else None)
        if part in (None, "free"):
            yield free_running(recorded())
        if part in (None, "forecast"):
            yield forecasts(recorded().folder, _shares(), *((100, 4) if small else (20, 25)))
            yield replay_forecasts(recorded().folder.parent / "site-a", _shares(), *((20, 4) if small else (3, 25)))
        if part in (None, "scale"):
            yield scale(_SMALL if small else jobs)

    with in_one_line():
        show(list(tables()), as_markdown)
