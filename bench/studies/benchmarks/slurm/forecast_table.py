"""Forecasts of starts at recorded moments, and the real Slurm's expectations then."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .....analysis.start_forecasts import LEARNED, forecast_starts
from .....base import InputError
from .....base.checks import shown
from .....dispatchers import Slurm
from .....predictors import create as create_predictor
from .....workloads import Workload, recorded_state
from .....workloads.slurm_workload import slurm_workload, started_at
from ....reports.number_formats import fixed, percent
from ....reports.tables import Table
from .live_moments import SHOWN
from .live_replay import MOMENTS
from .recorded_text import recorded_lines, recorded_table, recorded_time

#: When Slurm was asked.
_BEGUN = re.compile(r"# *(\d{1,15}(?:\.\d*)?)")
#: What Slurm says where it expects nothing.
_NOTHING = "N/A"
#: Predictors that learn run times.
_LEARNED = (LEARNED,)


class ForecastMoment(NamedTuple):
    """A moment, Slurm's expected starts of the waiting jobs then, seconds since 1970, and their priorities."""

    now: float
    expected: dict[str, float]
    priorities: dict[str, int]


def read_moments(path: Path, every: int) -> list[ForecastMoment]:
    """Return each so-manieth moment at which jobs waited, from what ``squeue -o '%i|%t|%Q|%r|%S|%M'`` printed.

    Raises
    ------
    InputError
        For a line that is none of these, or too few moments.
    """
    moments: list[ForecastMoment] = []
    for number, line in enumerate(recorded_lines(path), 1):
        where = f"{path}:{number}"
        fields = line.rstrip().split("|")
        if begun := _BEGUN.fullmatch(line.rstrip()):
            moments.append(ForecastMoment(float(begun[1]), {}, {}))
            continue
        if not moments or len(fields) != len(SHOWN.split("|")):
            raise InputError(f"{where}: expected # SECONDS or a line of squeue -o {SHOWN}, got {shown(line)}")
        id_, state, priority, _, start, _ = fields
        if state == "PD":
            if not priority.isdecimal():
                raise InputError(f"{where}: expected a priority, got {shown(priority)}")
            moments[-1].priorities[id_] = int(priority)
            if start != _NOTHING:
                moments[-1].expected[id_] = recorded_time(start, where)
    chosen = [moment for moment in moments if moment.expected][every - 1 :: every]
    if not chosen:
        raise InputError(f"{path}: expected {every} moments or more at which Slurm expected a job to start, got fewer")
    return chosen


def forecasts_table(workload: Workload, slurm: Slurm, moments: list[ForecastMoment], epoch: int, draws: int) -> Table:
    """Return the errors of the forecasts at some moments, and the coverage of their intervals.

    Parameters
    ----------
    workload
        The recorded jobs with their waits.
    slurm
        The scheduler with the site's configuration.
    moments
        What Slurm expected when.
    epoch
        Seconds since 1970 at time 0.
    draws
        Simulations of each.
    """
    rows = [_judged("squeue --start", pd.concat([_expected(workload, moment, epoch) for moment in moments]))]
    for learned, arrivals in [(name, True) for name in _LEARNED] + [(LEARNED, False)]:
        frames = [
            _forecast(workload, slurm, moment, epoch, learned, draws=draws, arrivals=arrivals) for moment in moments
        ]
        rows.append(_judged(f"run times by {learned}{', no later arrivals' * (not arrivals)}", pd.concat(frames)))
    columns = ("forecast", "of", "mean deviation (s)", "median (s)", "80% interval covers", "its width (s)")
    note = f"{len(moments)} moments, {draws} draws each; only what had ended before each is known."
    return Table("forecasts of starts", columns, rows, note=note)


def _real(workload: Workload) -> pd.Series[float]:
    assert workload.records is not None
    waits = workload.records["wait"].to_numpy(dtype=np.float64)
    return pd.Series(workload.columns.submit + waits, index=list(workload.columns.texts()))


def _expected(workload: Workload, moment: ForecastMoment, epoch: int) -> pd.DataFrame:
    starts = pd.Series(moment.expected, dtype=np.float64) - epoch
    return pd.DataFrame({"median": starts, "real": _real(workload).loc[starts.index]})


def _forecast(
    workload: Workload, slurm: Slurm, moment: ForecastMoment, epoch: int, learned: str, **options: Any
) -> pd.DataFrame:
    kept, state = recorded_state(workload, int(moment.now) - epoch)
    state = replace(state, memory={"Slurm": {"priorities": moment.priorities}})
    here = kept.slice(0, int(np.searchsorted(kept.columns.submit, state.at)))
    hidden = replace(here, jobs=tuple(replace(job, runtime=job.walltime) for job in here.jobs), records=None)
    start_forecasts = forecast_starts(hidden, state, slurm, create_predictor(learned), **options)
    table = pd.DataFrame(
        [(each.low, each.median, each.high) for each in start_forecasts.values()], index=list(start_forecasts)
    )
    table.columns = pd.Index(["low", "median", "high"])
    table["real"] = _real(workload).loc[table.index]
    return table.loc[[id_ for id_ in table.index if id_ in moment.expected]]


def _judged(name: str, frame: pd.DataFrame) -> list[str]:
    off = (frame["median"] - frame["real"]).abs()
    if "low" not in frame:
        return [name, f"{len(frame):,}", fixed(float(off.mean()), 0), fixed(float(off.median()), 0), "-", "-"]
    # Starts are whole seconds, and so are forecasts.
    inside = (frame["real"] >= np.floor(frame["low"])) & (frame["real"] <= np.ceil(frame["high"]))
    width = float((frame["high"] - frame["low"]).mean())
    means = [fixed(float(each), 0) for each in (off.mean(), off.median())]
    return [name, f"{len(frame):,}", *means, percent(float(inside.mean())), fixed(width, 0)]


def site_workload(folder: Path) -> Workload:
    """Return the recorded jobs as a site has them: its accounting in one, with its configuration."""
    tables = [recorded_table(folder / name, "JobID") for name in ("replay-a.sacct", "replay-a-more.sacct")]
    with TemporaryDirectory(prefix="hpcdispatch-") as made:
        path = Path(made, "jobs.sacct")
        tables[0].merge(tables[1], on="JobID").to_csv(path, sep="|")
        return slurm_workload(path, folder / "slurm.conf", timezone="UTC")


def forecasts(folder: Path, shares: str, every: int, draws: int) -> Table:
    """Return the table of each so-manieth recorded moment; see :func:`forecasts_table`."""
    workload = site_workload(folder)
    moments = read_moments(folder / "priorities-a.txt.gz", every)
    return _of_site(workload, folder / "slurm.conf", shares, moments, draws)


def replay_forecasts(folder: Path, shares: str, every: int, draws: int) -> Table:
    """Return the same of a replay that ``live replay --keep`` has kept, with its limits and reservations."""
    config = folder / "site.txt"
    moments = folder / MOMENTS
    files = {name: folder / f"{name}.txt" for name in ("limits", "qos", "reservations")}
    there = {name: str(path) for name, path in files.items() if path.exists()}
    limits = ";".join(there[name] for name in ("limits", "qos") if name in there)
    workload = slurm_workload(folder / "jobs.sacct", config)
    packed = moments.with_suffix(".txt.gz")
    forecast_moments = read_moments(packed if packed.exists() else moments, every)
    return _of_site(
        workload, config, shares, forecast_moments, draws, limits=limits, reservations=there.get("reservations", "")
    )


def _of_site(
    workload: Workload, config: Path, shares: str, moments: list[ForecastMoment], draws: int, **files: Any
) -> Table:
    epoch = started_at(workload)
    known = set(workload.columns.texts())
    # Jobs that never started, and jobs unknown to the reader, have no start to compare with.
    kept = [
        moment._replace(expected={id_: start for id_, start in moment.expected.items() if id_ in known})
        for moment in moments
    ]
    if not any(moment.expected for moment in kept):
        raise InputError(f"{config.parent}: expected jobs of the accounting among those that waited, got none")
    slurm = Slurm(config=str(config), shares=shares, epoch=epoch, **files)
    return forecasts_table(workload, slurm, kept, epoch, draws)
