"""Measure a set of simulations, each once, and combine them by workload, contender and seed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...analysis.conclusions import Daily
from ...analysis.curves import Detail, schedule, window_of
from ...analysis.statistics import (
    CLASS_NAMES,
    METRICS,
    describe,
    fairness,
    prediction,
    real_and_predicted,
    real_over_predicted,
    run_time_class,
    statistics_by_class,
)
from ...base import InputError
from ...simulation import Result, job_metrics
from ...simulation.metrics import NARROWEST, OF_ATTEMPTS, utilization, width_class, width_name
from ...simulation.plots.curves import Grid, capacity_of, lost_over_time, over_time
from ...simulation.trimming import Cut, Window, steady_state
from ..campaigns.metrics_table import days_of
from .saved_results import FolderResults, Run
from .tunings import tunings_of
from .verdict import choose_baseline

#: Numbers of runs with power, under a signal, or with failures of nodes.
OF_CONDITIONS = (*OF_ATTEMPTS, "put_off_mean")
#: The distributions in figures, and the places where they are computed.
GRIDS = {
    "wait": Grid(0, 8, 100),
    "bounded_slowdown": Grid(0, 7, 100),
    "real_over_predicted": Grid(-4, 4, 100),
    "decision_ms": Grid(-4, 6, 100),
}


@dataclass(slots=True)
class Pool:
    """The distributions of one contender on one workload, summed over the seeds."""

    counts: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    n: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, values: NDArray[np.float64]) -> None:
        """Add the values of a run."""
        self.counts[name] = self.counts.get(name, 0) + GRIDS[name].counts(values)
        self.n[name] = self.n.get(name, 0) + len(values)


@dataclass(slots=True)
class Study:
    """Measurements of all runs.

    Attributes
    ----------
    baseline
        The contender that the others are compared with.
    cuts
        Warm-up and cool-down that the metrics of jobs leave out, by workload.
    campaign
        Name of the campaign of the runs, if any. Its cuts are the default.
    runs
        One row per run: ``workload, contender, dispatcher, predictor, seed, sample`` and its numbers.
    classes
        One row per run, way to split (``run time`` or ``width``), class and metric.
    pools
        Distributions by workload and contender.
    series, bars
        Loads over time and a part of the schedule, by workload. Both are of its first seed.
    losses
        Core hours that failures of nodes have cost up to each time, of the same seed, by workload.
    tunings
        Choices of portfolios over time, of the same seed, by workload; see :func:`.tunings_of`.
    seeds
        That seed, by workload.
    windows
        The drawn part of it, seconds from the first submission; by workload.
    window
        The requested window.
    detail
        Resolution of the drawing.
    hidden
        Number of attempts that the parts of schedules leave out, by workload and contender.
    left_out
        Unusable results, one line each.
    days
        Metrics of jobs by day, by workload, contender and seed, for the intervals of one trace.
    """

    baseline: str
    cuts: dict[str, tuple[Cut, Cut]] = field(default_factory=dict)
    campaign: str | None = None
    runs: pd.DataFrame = field(default_factory=pd.DataFrame)
    classes: pd.DataFrame = field(default_factory=pd.DataFrame)
    pools: dict[tuple[str, str], Pool] = field(default_factory=dict)
    series: dict[str, pd.DataFrame] = field(default_factory=dict)
    bars: dict[str, pd.DataFrame] = field(default_factory=dict)
    losses: dict[str, pd.DataFrame] = field(default_factory=dict)
    tunings: dict[str, pd.DataFrame] = field(default_factory=dict)
    seeds: dict[str, int] = field(default_factory=dict)
    windows: dict[str, tuple[int, int]] = field(default_factory=dict)
    window: Window | None = None
    detail: Detail = field(default_factory=Detail)
    hidden: dict[tuple[str, str], int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    days: dict[tuple[str, str, int], dict[str, Daily]] = field(default_factory=dict)

    @property
    def workloads(self) -> list[str]:
        """The workloads, in the order of the runs."""
        return list(dict.fromkeys(self.runs["workload"]))

    @property
    def order(self) -> list[str]:
        """All contenders, the baseline first, then by name. Their indices select their colours."""
        names = set(self.runs["contender"])
        return [self.baseline] * (self.baseline in names) + sorted(names - {self.baseline})

    def contenders(self, workload: str) -> list[str]:
        """Return the contenders on a workload, in that order."""
        return list(dict.fromkeys(self.runs.loc[self.runs["workload"] == workload, "contender"]))


def contender_names(runs: Iterable[Run]) -> dict[Run, str]:
    """Return the name of each run's contender: the dispatcher, and all other settings that differ between runs."""
    several = list(runs)
    varied = [
        (name, label)
        for name, label in (("predictor", "{}"), ("overrun", "overrun {}"), ("same_instant", "{}"))
        if len({getattr(run, name) for run in several}) > 1
    ]
    return {
        run: ", ".join([run.dispatcher, *(label.format(getattr(run, name)) for name, label in varied)])
        for run in several
    }


def known_baseline(names: Iterable[str], wanted: str | None) -> str:
    """Return the contender to compare with, by default that of :func:`~.verdict.choose_baseline`.

    Raises
    ------
    InputError
        If there is no contender of that name.
    """
    known = sorted(set(names))
    if wanted is None:
        return choose_baseline(known)
    if wanted not in known:
        raise InputError(f"--baseline: expected one of {'; '.join(known)}, got {wanted!r}")
    return wanted


def study(
    results: FolderResults,
    *,
    baseline: str | None = None,
    warm_up: Cut | None = None,
    cool_down: Cut | None = None,
    window: Window | None = None,
    progress: Callable[[Run], None] | None = None,
) -> Study:
    """Read and measure every run. Unreadable runs are left out, with one line each.

    Runs are read one after another, so that only one is in memory.

    Parameters
    ----------
    results
        The runs.
    baseline
        The contender to compare with; by default easy, else fcfs, else the first by name.
    warm_up, cool_down
        The jobs at both ends that the metrics of jobs leave out. They are simulated and drawn. The defaults are those
        of the campaign; without a campaign none.
    window
        The part of the schedules to draw; by default one in the middle.
    progress
        Called with each finished run.

    Raises
    ------
    InputError
        For an unknown baseline, if no job is left, or if no run can be read. Also if the window is outside.
    """
    names = contender_names(results.runs)
    if not names:
        raise InputError(f"expected a result that can be read, got none; {results.left_out[0]}")
    detail = Detail.of(len({(run.workload, name) for run, name in names.items()}))
    chosen = known_baseline(names.values(), baseline)
    made = Study(chosen, campaign=results.campaign, left_out=list(results.left_out), detail=detail, window=window)
    for run in names:
        made.cuts[run.workload] = (warm_up or run.warm_up, cool_down or run.cool_down)
    reader = _Reader(made, names)
    for run in sorted(names, key=lambda run: (run.workload, run.seed, run.sample, names[run] != made.baseline)):
        reader.take(run)
        if progress is not None:
            progress(run)
    if not reader.rows:
        raise InputError(f"expected a result that can be read, got none; {made.left_out[0]}")
    reader.rows.sort(key=lambda row: (row["workload"], row["contender"] != chosen, row["contender"], row["seed"]))
    made.runs = _with_basis(pd.DataFrame(reader.rows))
    made.classes = pd.concat(reader.classes, ignore_index=True)
    return made


def _with_basis(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with the kind of the samples of each workload: samples of a function differ without a note."""
    several = runs["workload"].map(runs.groupby("workload")["sample"].nunique() > 1).astype(bool)
    drawn = (runs["basis"] == "trace") & several
    basis = runs["basis"].mask(drawn & runs["failing"], "shifts").mask(drawn & ~runs["failing"], "independent")
    return runs.assign(basis=basis)


class _Reader:
    """Adds one run after another to a study. Runs of one sample follow each other, the baseline first."""

    def __init__(self, made: Study, names: dict[Run, str]) -> None:
        self._made = made
        self._names = names
        self._waits: tuple[str, pd.Series] | None = None
        self.rows: list[dict[str, Any]] = []
        self.classes: list[pd.DataFrame] = []

    def take(self, run: Run) -> None:
        """Read a run and measure it."""
        try:
            result = run.load()
        except (OSError, InputError) as error:
            self._made.left_out.append(" ".join(str(error).split()))
            return
        jobs = result.jobs.drop(columns="placement", errors="ignore")
        try:
            chosen = jobs[steady_state(jobs["submit"].to_numpy(), *self._made.cuts[run.workload])]
        except InputError as error:
            raise InputError(f"{run.workload}: {error}") from None
        metrics = job_metrics(chosen)
        contender = self._names[run]
        if contender == self._made.baseline:
            self._waits = (
                run.sample,
                pd.Series(metrics["wait"].to_numpy(), index=pd.Index(chosen.loc[metrics.index, "id"])),
            )
        self._made.days[run.workload, contender, run.seed] = days_of(result, chosen)
        self._row(run, result, chosen, metrics)
        self._classes(run, result, chosen, metrics)
        pool = self._made.pools.setdefault((run.workload, contender), Pool())
        for name in ("wait", "bounded_slowdown"):
            pool.add(name, metrics[name].to_numpy())
        pool.add("real_over_predicted", real_over_predicted(*real_and_predicted(chosen)))
        timings = result.timings
        pool.add("decision_ms", timings.loc[timings["what"] == "decision", "seconds"].to_numpy() * 1e3)
        if self._made.seeds.setdefault(run.workload, run.seed) == run.seed:
            self._draw(run, result, jobs)

    def _row(self, run: Run, result: Result, chosen: pd.DataFrame, metrics: pd.DataFrame) -> None:
        """Add the numbers of a run."""
        whole = result.summary()
        row: dict[str, Any] = {
            "workload": run.workload,
            "contender": self._names[run],
            "dispatcher": run.dispatcher,
            "predictor": run.predictor,
            "seed": run.seed,
            "sample": run.sample,
            "basis": run.basis,
            "failing": run.failing,
            "jobs": len(metrics),
            "cut": len(result.jobs) - len(chosen),
        }
        for name in ("killed", "rejected"):
            row[name] = int((chosen["status"] == name).sum())
        for name in METRICS:
            described = describe(metrics[name].to_numpy())
            row |= {f"{name}_{key}": value for key, value in described.items() if key != "n"}
        same = self._waits is not None and self._waits[0] == run.sample and self._names[run] != self._made.baseline
        row |= fairness(chosen, metrics, self._waits[1] if same and self._waits else None)
        row |= prediction(chosen)
        row["utilization"] = utilization(result, chosen)
        row |= {name: whole[name] for name in ("makespan", "decisions", "prediction_s", "simulation_s", "lost")}
        row |= {name: whole[name] for name in whole if name.startswith("decision_ms") or name in OF_CONDITIONS}
        self.rows.append(row)

    def _classes(self, run: Run, result: Result, chosen: pd.DataFrame, metrics: pd.DataFrame) -> None:
        """Add the numbers of the classes of jobs."""
        width = width_class(chosen.loc[metrics.index, "units"].to_numpy(), capacity_of(result))
        by_width = statistics_by_class(metrics, width, list(range(NARROWEST + 1)))
        by_width["class"] = by_width["class"].map(width_name)
        by_time = statistics_by_class(metrics, run_time_class(metrics["run"].to_numpy()), list(CLASS_NAMES.values()))
        for split, frame in (("run time", by_time), ("width", by_width)):
            known: dict[str, Any] = {"workload": run.workload, "contender": self._names[run], "seed": run.seed}
            for place, (name, value) in enumerate({**known, "split": split}.items()):
                frame.insert(place, name, value)
            self.classes.append(frame)

    def _draw(self, run: Run, result: Result, jobs: pd.DataFrame) -> None:
        """Add the data to draw of one seed."""
        contender, made = self._names[run], self._made
        if run.workload not in made.windows:
            try:
                asked = made.window if len(jobs) else None
                interval = window_of(jobs) if asked is None else asked.seconds(jobs["submit"].to_numpy())
            except InputError as error:
                raise InputError(f"{run.workload}: {error}") from None
            made.windows[run.workload] = interval
        window = made.windows[run.workload]
        bars, hidden = schedule(jobs, result.attempts, window, made.detail.bars)
        made.hidden[run.workload, contender] = hidden
        loads = over_time(jobs, result.attempts, capacity_of(result), made.detail.bins)
        if "watts" in loads:
            loads["watts"] += result.manifest["machine"].get("idle_watts", 0.0)
        drawn = [(made.series, loads), (made.bars, bars)]
        if run.failing or ("outcome" in result.attempts and (result.attempts["outcome"] == "node-fail").any()):
            times, hours = lost_over_time(result)
            drawn.append((made.losses, pd.DataFrame({"seconds": times, "hours": hours})))
        if (chosen := tunings_of(result)) is not None:
            drawn.append((made.tunings, chosen))
        for target, frame in drawn:
            frame.insert(0, "contender", contender)
            before = [target[run.workload]] if run.workload in target else []
            target[run.workload] = pd.concat([*before, frame], ignore_index=True)
