"""Compare dispatchers and predictors: every pair of them, on the same samples of a workload.

A sample is what one seed makes of the workload: a jittered copy of a trace, or another sample of a generator. All pairs
get the same samples. The records of a run depend only on its own arguments. Therefore the number of workers changes
only the measured times.
"""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from ...base import InputError, check_whole, distinct_labels, shown, time_text
from ...base.facts import Facts
from ...base.unfinished_files import make_temporary
from ...dispatchers import Dispatcher, create_dispatcher
from ...predictors import Predictor
from ...predictors import create as create_predictor
from ...simulation import Overrun, Result, SameInstant, mean_interval
from ...workloads import Workload
from ...workloads.sources import WorkloadLike, source_of, workload_of
from .board import CampaignProgress, Outcome
from .cells import Cell
from .comparison_plots import WORDS, ComparisonPlots
from .execution import CampaignInterrupted, run_campaign
from .plan import Plan
from .samples import Generated, Jittered, Loaders, Sampler, Samples
from .store import Store

__all__ = ["METRICS", "Comparison", "ComparisonInterrupted", "Failure", "Generated", "Jittered", "compare"]

#: Columns of the aggregated table: means over the seeds of these entries of ``Result.summary()``.
METRICS = ("wait_mean", "bounded_slowdown_mean", "slowdown_mean", "wait_max", "utilization", "decision_ms_mean")
#: Default largest shift of a submission with several seeds, seconds.
DEFAULT_JITTER = 60


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that ended with an exception: its settings, ``Type: message``, and the traceback as text."""

    dispatcher: str
    predictor: str
    seed: int
    error: str
    traceback: str = ""


@dataclass(frozen=True)
class Comparison:
    """The outcome of :func:`compare`.

    Attributes
    ----------
    runs
        One row per finished run, in the order of seed, dispatcher, predictor: ``dispatcher``, ``predictor``, ``seed``
        and every entry of ``Result.summary()``. Empty if none finished.
    table
        One row per pair of dispatcher and predictor with a finished run: ``dispatcher``, ``predictor`` and the number
        of ``runs``. Each of :data:`METRICS` has its mean over the seeds, under its name. The 95% bootstrap interval is
        in ``..._low`` and ``..._high`` (NaN for one seed).
    failures
        The runs that ended with an exception.
    workload
        Source of its jobs.
    planned
        Number of planned runs. After an interrupt it exceeds the finished and failed ones.
    seeds, jitter, overrun
        As compared; `jitter` is ``None`` without shifts.
    store
        Store of the results. Without `out` it is a temporary folder that lasts as long as this object.
    contenders
        The dispatchers, with their predictors if there are several, and the finished cells of each by their seeds.
    """

    runs: pd.DataFrame
    table: pd.DataFrame
    failures: tuple[Failure, ...]
    workload: str
    planned: int
    seeds: int
    jitter: int | None
    overrun: str
    store: Store
    contenders: dict[str, dict[int, Cell]]

    def best(self, metric: str = "wait_mean") -> str:
        """Return the contender with the best mean over the seeds: its dispatcher, and its predictor if there are more.

        Parameters
        ----------
        metric
            A metric of the table. The least value is best, except for ``utilization``.

        Raises
        ------
        InputError
            For an unknown metric, or if no run has finished.
        """
        if metric not in METRICS:
            raise InputError(f"best: expected a metric of {', '.join(METRICS)}; got {shown(metric)}")
        if self.table.empty:
            reason = f"; the first error: {self.failures[0].error}" if self.failures else ""
            raise InputError(f"best: no run has finished{reason}")
        values = self.table[metric].to_numpy() * (-1 if metric == "utilization" else 1)
        return str(self._named(self.table).iloc[int(values.argmin())])

    def result(self, contender: str, seed: int = 0) -> Result:
        """Return the result of one run.

        Parameters
        ----------
        contender
            The dispatcher, with its predictor if there are several: ``"easy"`` or ``"easy, last2"``.
        seed
            Of the sample.

        Raises
        ------
        InputError
            If there is no such run, or it has not finished.
        """
        cell = self.contenders.get(contender, {}).get(seed)
        if cell is None:
            expected = f"expected a finished run of {'; '.join(self.contenders)}, seeds 0 to {self.seeds - 1}"
            raise InputError(f"result: {expected}; got {shown(contender)}, seed {seed}")
        return self.store.result(cell)

    @property
    def plot(self) -> ComparisonPlots:
        """Plots: ``ratios()``, ``waits()``, ``slowdown_by_size()``, ``utilization()``, ``queue()``, ``gantt()``."""
        results = {name: _Results(self.store, tuple(cells.values())) for name, cells in self.contenders.items()}
        return ComparisonPlots(results, self.runs.assign(contender=self._named(self.runs)), self.best)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write the report, one offline page with a folder of its figures beside it. Return its path.

        Raises
        ------
        InputError
            If the path is a folder, or no run has finished.
        OSError
            If it cannot be written.
        """
        from ..reports.page import write_report  # noqa: PLC0415 - a comparison alone does without
        from ..reports.saved_results import runs_of  # noqa: PLC0415
        from ..reports.study import study  # noqa: PLC0415

        page = Path(path)
        if page.is_dir():
            raise InputError(f"report: expected a file such as {page / 'report.html'}, got a folder")
        page.parent.mkdir(parents=True, exist_ok=True)
        found = runs_of(self.store.folder)
        own = {cell.key for cells in self.contenders.values() for cell in cells.values()}
        write_report(study(replace(found, runs=tuple(run for run in found.runs if run.folder.name in own))), page)
        return page

    def __repr__(self) -> str:
        """Return a short text with the subject and the table."""
        return self._facts().text()

    def _repr_html_(self) -> str:
        return self._facts().html()

    def _named(self, frame: pd.DataFrame) -> pd.Series[str]:
        """Return the name of each row's contender."""
        several = self.table["predictor"].nunique() > 1
        return frame["dispatcher"] + ", " + frame["predictor"] if several else frame["dispatcher"]

    def _facts(self) -> Facts:
        failed = f", {len(self.failures)} failed: {self.failures[0].error}" if self.failures else ""
        seeds = f", seeds 0 to {self.seeds - 1}" if self.seeds > 1 else ""
        title = f"Comparison on {self.workload}: {self.planned:,} runs{seeds}{failed}"
        shows: dict[str, Callable[[float], str]] = {
            "wait_mean": time_text,
            "bounded_slowdown_mean": "{:,.4g}".format,
            "wait_max": time_text,
            "utilization": "{:.1%}".format,
        }
        columns = [
            [
                f"{show(value)} [{show(low)}, {show(high)}]" if low < high else show(value)
                for value, low, high in self.table[[name, f"{name}_low", f"{name}_high"]].itertuples(index=False)
            ]
            for name, show in shows.items()
        ]
        rows = list(zip(self._named(self.table), *columns, strict=True))
        return Facts(title, rows, ["dispatcher", *(WORDS[name] for name in shows)])

    @property
    def interrupted(self) -> bool:
        """Whether some runs never finished."""
        return len(self.runs) + len(self.failures) < self.planned


@dataclass(frozen=True, slots=True)
class _Results:
    """The results of one contender, loaded one after another."""

    store: Store
    cells: tuple[Cell, ...]

    def __iter__(self) -> Iterator[Result]:
        return map(self.store.result, self.cells)


class ComparisonInterrupted(KeyboardInterrupt):
    """Ctrl-C during a comparison; `comparison` has the finished runs."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(f"interrupted: {len(comparison.runs)} of {comparison.planned} runs finished")
        self.comparison = comparison


def compare(
    workload: WorkloadLike | Sampler,
    dispatchers: str | Dispatcher | Iterable[str | Dispatcher],
    predictors: str | Predictor | Iterable[str | Predictor] = "walltime",
    *,
    seeds: int = 1,
    jitter: int | None = None,
    overrun: str | Overrun = "run",
    same_instant: SameInstant = "batch",
    check_invariants: bool = False,
    out: str | PathLike[str] | None = None,
    workers: int = 1,
    isolate: bool = False,
    progress: Callable[[CampaignProgress], None] | None = None,
) -> Comparison:
    """Simulate every pair of dispatcher and predictor on the samples of the seeds 0 to `seeds` - 1.

    Parameters
    ----------
    workload
        A workload, jittered for each seed. Or a function from seed to workload, such as :class:`Generated`. Or the path
        of a trace, the name of a published one, or ``NAME:key=value,...`` of a generator. A generator gives another
        workload per seed, unless its text has a seed or `jitter` is given.
    dispatchers, predictors
        One or several names with options, or objects. Objects of one class are named by their options, as in
        ``Area:power=2``. Each run works on its own copy. With several workers, objects and the function must be
        picklable.
    seeds
        Number of samples, at least 1. The seed also goes to the dispatcher.
    jitter
        Largest shift of a submission, seconds. ``None``: 60, but 0 for a workload compared on one seed.
    overrun, same_instant
        As in :func:`~hpcdispatch.simulation.simulate`.
    check_invariants
        Check each schedule; a violation makes the run a failure.
    out
        The store of the results, in the form of a campaign's. Results in it are not simulated again, except those of
        objects, which replace results of the same name. Without it no results are kept.
    workers
        Number of processes; 1 runs in this one. They are spawned, so a script needs its main guard.
    isolate
        Run plug-ins in another process even with one worker.
    progress
        Called from time to time.

    Returns
    -------
    Comparison
        Every run's summary and the table. A run that raises an exception is a failure in it. The others continue.

    Raises
    ------
    InputError
        For an unknown name or option, a name given twice, or a number out of range. It comes before any run.
    ComparisonInterrupted
        On Ctrl-C, with the finished runs; the workers are stopped.
    WorkerError
        If no worker can be started, as from a script without its main guard.
    """
    if not callable(workload) and not isinstance(workload, Workload):
        source = source_of(workload)
        workload = Generated(str(source.spec)) if source.sampled and jitter is None else workload_of(workload)
    dispatchers = _several(dispatchers)
    predictors = _several(predictors)
    labels = list(product(_labels(dispatchers, "dispatcher"), _labels(predictors, "predictor")))
    shift = _jitter(workload, seeds, jitter)
    samples = Samples(workload, seeds, shift, str(Overrun.parse(overrun)), same_instant, check_invariants)
    loaders: Loaders = {}
    cells = samples.cells(list(product(dispatchers, predictors)), loaders)
    runs = [(*pair, seed, each[seed]) for seed in range(seeds) for pair, each in zip(labels, cells, strict=True)]
    plan = Plan.of("", [cell for *_, cell in runs], loaders)
    store = Store(make_temporary() if out is None else out)
    if out is None:
        weakref.finalize(store, shutil.rmtree, store.folder, ignore_errors=True)
    store.open()
    try:
        outcome = run_campaign(plan, store, workers=workers, retry=True, isolate=isolate, progress=progress)
    except CampaignInterrupted as error:
        raise ComparisonInterrupted(_found(samples, runs, store, error.outcome)) from None
    return _found(samples, runs, store, outcome)


def _jitter(workload: Workload | Sampler, seeds: int, jitter: int | None) -> int | None:
    """Return the largest shift of a submission."""
    try:
        check_whole("compare: seeds", seeds, 1)
        check_whole("compare: jitter, seconds,", jitter or 0, 0)
    except ValueError as error:
        raise InputError(str(error)) from None
    if isinstance(workload, Workload):
        return DEFAULT_JITTER if jitter is None and seeds > 1 else jitter
    if jitter is not None:
        raise InputError("compare: jitter is for a workload; a function draws another one for each seed")
    return None


def _several(parts: Any) -> list[Any]:
    return list(parts) if isinstance(parts, Iterable) and not isinstance(parts, str) else [parts]


def _labels(parts: Sequence[Any], kind: str) -> list[str]:
    """Return the names of the dispatchers or predictors. Each is built once as a check."""
    labels = distinct_labels(parts)
    if not labels:
        raise InputError(f"compare: expected at least one dispatcher and one predictor, got no {kind}")
    for part, label in zip(parts, labels, strict=True):
        create_dispatcher(part) if kind == "dispatcher" else create_predictor(part)
        if labels.count(label) > 1:
            raise InputError(f"compare: {kind} {label!r} is given twice")
    return labels


def _found(
    samples: Samples[Any], asked: Sequence[tuple[str, str, int, Cell]], store: Store, outcome: Outcome
) -> Comparison:
    """Return the comparison of the finished runs."""
    finished = {cell.key for cell in (*outcome.done, *outcome.reused)}
    failed = {cell.key: error for cell, error in outcome.failed}
    rows = [
        {"dispatcher": dispatcher, "predictor": predictor, "seed": seed, **store.result(cell).summary()}
        for dispatcher, predictor, seed, cell in asked
        if cell.key in finished
    ]
    runs = pd.DataFrame(rows) if rows else pd.DataFrame(columns=["dispatcher", "predictor", "seed", *METRICS])
    failures = tuple(
        Failure(dispatcher, predictor, seed, str(error), error.traceback)
        for dispatcher, predictor, seed, cell in asked
        if (error := failed.get(cell.key)) is not None
    )
    several = len({predictor for _, predictor, *_ in asked}) > 1
    contenders = dict[str, dict[int, Cell]]()
    for dispatcher, predictor, seed, cell in asked:
        if cell.key in finished:
            name = f"{dispatcher}, {predictor}" if several else dispatcher
            contenders.setdefault(name, {})[seed] = cell
    options = asked[0][-1].workload, len(asked), samples.seeds, samples.jitter, samples.overrun
    return Comparison(runs, _aggregate(runs), failures, *options, store, contenders)


def _aggregate(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per pair, in the order of the input."""
    columns = ["dispatcher", "predictor", "runs"]
    columns += [name + suffix for name in METRICS for suffix in ("", "_low", "_high")]
    rows: list[dict[str, Any]] = []
    for (dispatcher, predictor), group in runs.groupby(["dispatcher", "predictor"], sort=False):
        row: dict[str, Any] = {"dispatcher": dispatcher, "predictor": predictor, "runs": len(group)}
        for name in METRICS:
            values = group[name].to_numpy(dtype=float)
            row[name] = float(values.mean())
            row[f"{name}_low"], row[f"{name}_high"] = mean_interval(values)
        rows.append(row)
    return pd.DataFrame(rows, columns=columns)
