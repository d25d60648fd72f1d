"""Compare dispatchers and predictors: every pair of them, on the same samples of a workload.

A sample is what one seed makes of the workload: a resample of a trace, or another sample of a generator. All pairs get
the same samples. The records of a run depend only on its own arguments. Therefore the number of workers changes
only the measured times.
"""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any, get_args, overload

import pandas as pd

from ...analysis.conclusions import Basis, Daily, conclusions, spread
from ...base import InputError, check_choice, check_whole, distinct_labels, part_label, shown, time_text
from ...base.checks import MOST_STEPS
from ...base.facts import Facts
from ...base.printed import plain
from ...base.time_texts import seconds_of
from ...base.unfinished_files import make_temporary
from ...dispatchers import Dispatcher, create_dispatcher
from ...predictors import Predictor
from ...predictors import create as create_predictor
from ...simulation import Overrun, Result, SameInstant
from ...simulation.metrics import cut_summary, without_ends
from ...simulation.trimming import NOTHING, Cut, cut_of
from ...workloads import OperatingConditions, Signal, Workload
from ...workloads.sources import WorkloadLike, source_of, workload_of
from .board import CampaignOutcome, CampaignProgress
from .cells import Cell
from .compared_metrics import CONDITIONAL, METRICS, WORDS
from .comparison_plots import ComparisonPlots, ComparisonsPlots
from .execution import CampaignInterrupted, run_campaign
from .metrics_table import days_of
from .plan import CampaignPlan
from .samples import Generated, Jittered, Loaders, Resampled, Sampler, Samples, Users, seed_range
from .store import Store

__all__ = [
    "METRICS",
    "Comparison",
    "ComparisonInterrupted",
    "Comparisons",
    "Failure",
    "Generated",
    "Jittered",
    "Resampled",
    "compare",
]


#: A workload to compare on, and several of them.
OneWorkload = WorkloadLike | Sampler
SeveralWorkloads = list[Any] | tuple[OneWorkload, ...] | Mapping[str, OneWorkload]


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
        of ``runs``. Each of :data:`METRICS` has its mean over the seeds, under its name. Its interval over the samples
        is in ``..._low`` and ``..._high``: of independent samples, of resamples, or the range over shifts (NaN for one
        seed). So has each of ``energy_kwh, power_peak_kw, emissions_kg, energy_cost, put_off_mean, lost_core_hours``
        that the runs have.
    failures
        The runs that ended with an exception.
    workload
        Source of its jobs.
    planned
        Number of planned runs. After an interrupt it exceeds the finished and failed ones.
    seeds, jitter, overrun
        As compared, the number of seeds; `jitter` is ``None`` without shifts.
    numbers
        The seeds.
    basis
        The kind of the samples: ``independent``, ``resamples``, ``shifts`` or ``trace``.
    warm_up, cool_down
        The jobs at both ends that all metrics leave out.
    store
        Store of the results. Without `out` it is a temporary folder that lasts as long as this object.
    contenders
        The dispatchers, with their predictors if there are several, and the finished cells of each by their seeds.
    users
        ``replay`` or ``react``.
    replay
        Where users react: the same comparison with the recorded submissions. Else ``None``.
    conditions
        Failures, cap and signal, in a few words; empty without any.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> comparison = hd.compare("lublin:jobs=200,processors=64,load=0.9", ["fcfs", "easy"], seeds=3)
    >>> comparison.table[["dispatcher", "predictor", "runs"]]
      dispatcher predictor  runs
    0       fcfs  walltime     3
    1       easy  walltime     3
    >>> comparison.best("wait_mean")
    'easy'
    >>> comparison.conclusions("wait_mean", "easy").loc[0, ["contender", "verdict"]].tolist()
    ['fcfs', 'worse']
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
    numbers: Sequence[int]
    basis: Basis
    warm_up: Cut
    cool_down: Cut
    days: Mapping[tuple[str, str, int], Mapping[str, Daily]] = field(repr=False)
    users: Users = "replay"
    replay: Comparison | None = None
    conditions: str = ""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of the table."""
        return tuple(name for name in (*METRICS, *CONDITIONAL) if name in self.table)

    def conclusions(self, metric: str = "wait_mean", baseline: str | None = None) -> pd.DataFrame:
        """Return how each contender compares with a baseline: the ratio, its interval, and a verdict.

        Parameters
        ----------
        metric
            A metric of the table.
        baseline
            A contender; by default ``easy``, else ``fcfs``, else the first by name.

        Returns
        -------
        DataFrame
            One row per other contender, see :func:`hpcdispatch.analysis.conclusions`. ``wait_max`` and
            ``baseline_wait_max`` are the means of the longest waits, seconds.

        Raises
        ------
        InputError
            For an unknown metric or baseline, or if no run has finished.
        """
        from ..reports.verdict import choose_baseline  # noqa: PLC0415 - the report imports this module

        if metric not in self.metrics:
            raise InputError(f"conclusions: expected a metric of {', '.join(self.metrics)}; got {shown(metric)}")
        if self.runs.empty:
            raise InputError("conclusions: no run has finished")
        runs = self.labelled_runs()
        base = choose_baseline(runs["contender"]) if baseline is None else baseline
        table = conclusions(runs, base, metric, self.days).drop(columns="workload")
        longest = runs.groupby("contender")["wait_max"].mean()
        return table.assign(wait_max=table["contender"].map(longest), baseline_wait_max=float(longest[base]))

    def labelled_runs(self) -> pd.DataFrame:
        """Return the runs with the columns ``workload, contender, sample, basis``, as conclusions need them."""
        named = self._named(self.runs)
        return self.runs.assign(workload="", contender=named, sample=self.runs["seed"], basis=self.basis)

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
        if metric not in self.metrics:
            raise InputError(f"best: expected a metric of {', '.join(self.metrics)}; got {shown(metric)}")
        if self.table.empty:
            reason = f"; the first error: {self.failures[0].error}" if self.failures else ""
            raise InputError(f"best: no run has finished{reason}")
        values = self.table[metric].to_numpy() * (-1 if metric == "utilization" else 1)
        return str(self._named(self.table).iloc[int(values.argmin())])

    def result(self, contender: str, seed: int | None = None) -> Result:
        """Return the result of one run.

        Parameters
        ----------
        contender
            The dispatcher, with its predictor if there are several: ``"easy"`` or ``"easy, last2"``.
        seed
            Of the sample; by default the first.

        Raises
        ------
        InputError
            If there is no such run, or it has not finished.
        """
        seed = self.numbers[0] if seed is None else seed
        cell = self.contenders.get(contender, {}).get(seed)
        if cell is None:
            expected = f"expected a finished run of {'; '.join(self.contenders)}, seeds {seeds_text(self.numbers)}"
            raise InputError(f"result: {expected}; got {shown(contender)}, seed {seed}")
        return self.store.result(cell)

    @property
    def plot(self) -> ComparisonPlots:
        """Plots: ``ratios()``, ``waits()``, ``slowdown_by_size()``, ``utilization()``, ``queue()``, ``gantt()``."""
        results = {name: _Results(self.store, tuple(cells.values())) for name, cells in self.contenders.items()}
        return ComparisonPlots(results, self.labelled_runs(), self.best, self.days)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write the report, one offline page with a folder of its figures beside it. Return its path.

        Raises
        ------
        InputError
            If the path is a folder, or no run has finished.
        OSError
            If it cannot be written.
        """
        return write_report_of({"": self}, path)

    def __repr__(self) -> str:
        """Return a short text with the subject and the table."""
        return self.facts().text()

    def _repr_html_(self) -> str:
        return self.facts().html()

    def _named(self, frame: pd.DataFrame) -> pd.Series[str]:
        """Return the name of each row's contender."""
        several = self.table["predictor"].nunique() > 1
        return frame["dispatcher"] + ", " + frame["predictor"] if several else frame["dispatcher"]

    def facts(self) -> Facts:
        """Return the subject and the table for prompts and notebooks."""
        failed = f", {len(self.failures)} failed: {self.failures[0].error}" if self.failures else ""
        seeds = f", seeds {seeds_text(self.numbers)}" if self.seeds > 1 else ""
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


def write_report_of(comparisons: Mapping[str, Comparison], path: str | PathLike[str]) -> Path:
    """Write one report of the comparisons of workloads by name, in the same store. See :meth:`Comparison.report`.

    Under an empty name a workload is called as it calls itself.
    """
    from ..reports.page import write_report  # noqa: PLC0415 - a comparison alone does without
    from ..reports.saved_results import runs_of  # noqa: PLC0415
    from ..reports.study import study  # noqa: PLC0415

    page = Path(path)
    if page.is_dir():
        raise InputError(f"report: expected a file such as {page / 'report.html'}, got a folder")
    page.parent.mkdir(parents=True, exist_ok=True)
    first = next(iter(comparisons.values()))
    results = runs_of(first.store.folder)
    runs = []
    for name, each in comparisons.items():
        own = {cell.key for cells in each.contenders.values() for cell in cells.values()}
        kept = [run for run in results.runs if run.folder.name in own]
        runs += [replace(run, workload=plain(name)) for run in kept] if name else kept
    chosen = replace(results, runs=tuple(runs))
    write_report(study(chosen, warm_up=first.warm_up, cool_down=first.cool_down), page)
    return page


class UnknownWorkloadError(InputError, KeyError):
    """A workload that was not compared."""

    def __str__(self) -> str:
        """Return the message; that of a :class:`KeyError` has quotes."""
        return str(self.args[0])


class Comparisons(Mapping[str, Comparison]):
    """The outcome of :func:`compare` on several workloads: the comparison of each by its name, in their order.

    Parameters
    ----------
    comparisons
        The comparison of each workload, at least one. All have their results in one store.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> workloads = {f"load {load}": f"lublin:jobs=200,processors=64,load={load}" for load in (0.5, 0.9)}
    >>> comparisons = hd.compare(workloads, ["fcfs", "easy"], seeds=3)
    >>> comparisons.best()
    {'load 0.5': 'easy', 'load 0.9': 'easy'}
    >>> comparisons.table[["workload", "dispatcher", "runs"]]
       workload dispatcher  runs
    0  load 0.5       fcfs     3
    1  load 0.5       easy     3
    2  load 0.9       fcfs     3
    3  load 0.9       easy     3
    >>> comparisons.conclusions("wait_mean", "easy")[["workload", "contender", "verdict"]]
       workload contender verdict
    0  load 0.5      fcfs   worse
    1  load 0.9      fcfs   worse
    >>> len(comparisons["load 0.9"].runs)
    6
    """

    def __init__(self, comparisons: Mapping[str, Comparison]) -> None:
        self._comparisons = dict(comparisons)

    def __getitem__(self, workload: str) -> Comparison:
        """Return the comparison of a workload.

        Raises
        ------
        InputError
            For an unknown name. It is a :class:`KeyError`, too.
        """
        if workload not in self._comparisons:
            raise UnknownWorkloadError(f"expected a workload of {'; '.join(self)}, got {shown(workload)}")
        return self._comparisons[workload]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the workloads."""
        return iter(self._comparisons)

    def __len__(self) -> int:
        """Return the number of workloads."""
        return len(self._comparisons)

    @property
    def table(self) -> pd.DataFrame:
        """The tables of all comparisons below each other. The first column is the ``workload``."""
        return self._below({name: each.table for name, each in self.items()})

    @property
    def runs(self) -> pd.DataFrame:
        """The finished runs of all comparisons. The first column is the ``workload``."""
        return self._below({name: each.runs for name, each in self.items()})

    @property
    def failures(self) -> dict[str, tuple[Failure, ...]]:
        """The runs that ended with an exception, by workload. Workloads without any are left out."""
        return {name: each.failures for name, each in self.items() if each.failures}

    @property
    def interrupted(self) -> bool:
        """Whether some runs never finished."""
        return any(each.interrupted for each in self.values())

    def best(self, metric: str = "wait_mean") -> dict[str, str]:
        """Return the contender with the best mean over the seeds on each workload, see :meth:`.Comparison.best`."""
        return {name: each.best(metric) for name, each in self.items()}

    def conclusions(self, metric: str = "wait_mean", baseline: str | None = None) -> pd.DataFrame:
        """Return how each contender compares with a baseline on each workload, see :meth:`.Comparison.conclusions`.

        The first column is the ``workload``. Each workload is judged by itself: intervals are widened for the number of
        contenders, not for that of workloads.
        """
        return self._below({name: each.conclusions(metric, baseline) for name, each in self.items()})

    @property
    def plot(self) -> ComparisonsPlots:
        """The plot ``ratios()`` of all workloads. The plots of one workload are those of its comparison."""
        return ComparisonsPlots({name: list(each.contenders) for name, each in self.items()}, self.conclusions)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write one report of all workloads, as :meth:`.Comparison.report` does. Return its path."""
        return write_report_of(self, path)

    def __repr__(self) -> str:
        """Return a short text with a row for each workload and contender."""
        return self._facts().text()

    def _repr_html_(self) -> str:
        return self._facts().html()

    def _facts(self) -> Facts:
        parts = {name: each.facts() for name, each in self.items()}
        failed = sum(map(len, self.failures.values()))
        title = f"Comparisons on {len(self)} workloads: {sum(each.planned for each in self.values()):,} runs"
        rows = [(name, *row) for name, facts in parts.items() for row in facts.rows]
        header = next(iter(parts.values())).header
        return Facts(title + (f", {failed} failed" if failed else ""), rows, ["workload", *header])

    @staticmethod
    def _below(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
        named = [frame.assign(workload=name) for name, frame in frames.items()]
        together = pd.concat([frame for frame in named if len(frame)] or named[:1], ignore_index=True)
        return together[["workload", *(name for name in together if name != "workload")]]


@dataclass(frozen=True, slots=True)
class _Results:
    """The results of one contender, loaded one after another."""

    store: Store
    cells: tuple[Cell, ...]

    def __iter__(self) -> Iterator[Result]:
        return map(self.store.result, self.cells)


class ComparisonInterrupted(KeyboardInterrupt):
    """Ctrl-C during a comparison; `comparison` has the finished runs. `comparisons` has those of several workloads.

    Attributes
    ----------
    comparison
        That of the first workload.
    comparisons
        Those of all workloads by name; empty if one was given.
    """

    def __init__(self, comparison: Comparison, comparisons: Mapping[str, Comparison] | None = None) -> None:
        self.comparison = comparison
        self.comparisons = {} if comparisons is None else comparisons
        every = list(self.comparisons.values()) or [comparison]
        done, planned = sum(len(each.runs) for each in every), sum(each.planned for each in every)
        super().__init__(f"interrupted: {done} of {planned} runs finished")


@overload
def compare(
    workload: OneWorkload,
    dispatchers: str | Dispatcher | Iterable[str | Dispatcher],
    predictors: str | Predictor | Iterable[str | Predictor] = "walltime",
    *,
    seeds: int | str | Iterable[int] = 1,
    jitter: int | str | None = None,
    warm_up: str | Cut = NOTHING,
    cool_down: str | Cut = NOTHING,
    overrun: str | Overrun = "run",
    same_instant: SameInstant = "batch",
    users: Users = "replay",
    failures: str | PathLike[str] | None = None,
    signal: Signal | str | PathLike[str] | None = None,
    may_wait: float | str | None = None,
    power_cap: str | PathLike[str] | None = None,
    check_invariants: bool = False,
    out: str | PathLike[str] | None = None,
    workers: int = 1,
    isolate: bool = False,
    progress: Callable[[CampaignProgress], None] | None = None,
) -> Comparison: ...


@overload
def compare(
    workload: SeveralWorkloads,
    dispatchers: str | Dispatcher | Iterable[str | Dispatcher],
    predictors: str | Predictor | Iterable[str | Predictor] = "walltime",
    *,
    seeds: int | str | Iterable[int] = 1,
    jitter: int | str | None = None,
    warm_up: str | Cut = NOTHING,
    cool_down: str | Cut = NOTHING,
    overrun: str | Overrun = "run",
    same_instant: SameInstant = "batch",
    users: Users = "replay",
    failures: str | PathLike[str] | None = None,
    signal: Signal | str | PathLike[str] | None = None,
    may_wait: float | str | None = None,
    power_cap: str | PathLike[str] | None = None,
    check_invariants: bool = False,
    out: str | PathLike[str] | None = None,
    workers: int = 1,
    isolate: bool = False,
    progress: Callable[[CampaignProgress], None] | None = None,
) -> Comparisons: ...


def compare(
    workload: OneWorkload | SeveralWorkloads,
    dispatchers: str | Dispatcher | Iterable[str | Dispatcher],
    predictors: str | Predictor | Iterable[str | Predictor] = "walltime",
    *,
    seeds: int | str | Iterable[int] = 1,
    jitter: int | str | None = None,
    warm_up: str | Cut = NOTHING,
    cool_down: str | Cut = NOTHING,
    overrun: str | Overrun = "run",
    same_instant: SameInstant = "batch",
    users: Users = "replay",
    failures: str | PathLike[str] | None = None,
    signal: Signal | str | PathLike[str] | None = None,
    may_wait: float | str | None = None,
    power_cap: str | PathLike[str] | None = None,
    check_invariants: bool = False,
    out: str | PathLike[str] | None = None,
    workers: int = 1,
    isolate: bool = False,
    progress: Callable[[CampaignProgress], None] | None = None,
) -> Comparison | Comparisons:
    """Simulate every pair of dispatcher and predictor on the samples of the seeds.

    Parameters
    ----------
    workload
        A workload, resampled for each of several seeds. Or a function from seed to workload, such as
        :class:`Generated`. Or the path of a trace, the name of a published one, or ``NAME:key=value,...`` of a
        generator. A generator gives another workload per seed, unless its text has a seed. Or several of these: a list,
        or a mapping from names to them. The result is then :class:`.Comparisons`.
    dispatchers, predictors
        One or several names with options, or objects. Objects of one class are named by their options, as in
        ``Area:power=2``. Each run works on its own copy. With several workers, objects and the function must be
        picklable.
    seeds
        Number of samples, at least 1: the seeds from 0 on. Or the seeds themselves, as ``range(20, 30)`` or
        ``"20-29"``. A workload is compared as it stands on one seed, and on :func:`~hpcdispatch.workloads.resample` of
        it for several or for named seeds. The seed also goes to the dispatcher.
    jitter
        Largest shift of a submission: seconds, or text such as ``"1m"``. The seeds of a workload are then shifted
        copies of it, which show only how chaotic a schedule is. The samples of a generator or a function are shifted
        in addition.
    warm_up, cool_down
        Jobs at both ends by submission that all metrics leave out, such as ``"5%"``, ``"200 jobs"`` or ``"2d"``.
    overrun, same_instant
        As in :func:`~hpcdispatch.simulation.simulate`.
    users
        ``"replay"``: jobs are submitted at their recorded times. ``"react"``: within a session they follow the ends of
        others, see :func:`~hpcdispatch.workloads.closed_loop`. The comparison with the recorded times is then made as
        well, in ``Comparison.replay``.
    failures, signal, may_wait, power_cap
        As in :func:`~hpcdispatch.simulation.simulate`, the same for every contender. Failures are drawn by the seed of
        the sample.
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
    Comparison or Comparisons
        Every run's summary and the table. A run that raises an exception is a failure in it. The others continue. For
        several workloads, the comparison of each by its name, also for a list of one.

    Raises
    ------
    InputError
        For an unknown name or option, a name given twice, or a number out of range. It comes before any run.
    ComparisonInterrupted
        On Ctrl-C, with the finished runs; the workers are stopped.
    WorkerError
        If no worker can be started, as from a script without its main guard.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> comparison = hd.compare("lublin:jobs=200,processors=64,load=0.9", ["fcfs", "easy"], seeds=3)
    >>> comparison.best()
    'easy'
    >>> comparison.table[["dispatcher", "wait_mean"]].round()
      dispatcher  wait_mean
    0       fcfs    39473.0
    1       easy     4511.0
    """
    dispatchers = _several(dispatchers)
    predictors = _several(predictors)
    labels = list(product(_labels(dispatchers, "dispatcher"), _labels(predictors, "predictor")))
    numbers, counted = seeds_of(seeds)
    shift = _seconds_of_jitter(jitter)
    _check_users(users)
    named = _names(workload)
    loaders: Loaders = {}
    asked: dict[str, list[_Asked]] = {}
    for name, each in named.items():
        drawn = _drawn(each, resampled=shift is None and not (counted and len(numbers) == 1))
        samples: Samples[Any] = Samples(
            drawn,
            numbers,
            shift,
            str(Overrun.parse(overrun)),
            same_instant,
            check_invariants,
            label=name,
            warm_up=cut_of("warm_up", warm_up),
            cool_down=cut_of("cool_down", cool_down),
            conditions=OperatingConditions(failures, signal, may_wait, power_cap),
        )
        both = [samples] if users == "replay" else [replace(samples, users="react"), samples]
        asked[name] = [_Asked.of(one, labels, list(product(dispatchers, predictors)), loaders) for one in both]
    cells = [cell for several in asked.values() for one in several for *_, cell in one.runs]
    plan = CampaignPlan.of("", cells, loaders)
    store = Store(make_temporary() if out is None else out)
    if out is None:
        weakref.finalize(store, shutil.rmtree, store.folder, ignore_errors=True)
    store.open()

    def outcomes(outcome: CampaignOutcome) -> dict[str, Comparison]:
        return {name: _both(several, store, outcome) for name, several in asked.items()}

    one = "" in named
    try:
        compared = outcomes(run_campaign(plan, store, workers=workers, retry=True, isolate=isolate, progress=progress))
    except CampaignInterrupted as error:
        partial = outcomes(error.outcome)
        raise ComparisonInterrupted(next(iter(partial.values())), None if one else partial) from None
    if one:
        return compared[""]
    return Comparisons(compared)


def _names(workload: OneWorkload | SeveralWorkloads) -> dict[str, OneWorkload]:
    """Return workloads by name. A single one has the empty name, and is called as it calls itself."""
    if isinstance(workload, Mapping):
        for name in workload:
            if not isinstance(name, str) or not name.strip():
                raise InputError(f"compare: names of workloads must be texts, got {shown(name)}")
        named = dict(workload)
    elif isinstance(workload, list | tuple):
        named = {}
        for place, each in enumerate(workload):
            name = _name_of(each, place)
            if name in named:
                raise InputError(f"compare: workload {shown(name)} is given twice; name each, as in {{'first': ..., }}")
            named[name] = each
    else:
        return {"": workload}
    if not named:
        raise InputError("compare: expected at least one workload, got none")
    return named


def _name_of(workload: OneWorkload, place: int) -> str:
    """Return how a workload of a list is called: its text, or its source."""
    if isinstance(workload, Workload):
        return workload.provenance.source or f"workload {place + 1}"
    return part_label(workload) if callable(workload) else str(workload)


def _drawn(workload: OneWorkload, resampled: bool) -> Workload | Sampler:
    """Return the jobs of all seeds, or a function from a seed to its jobs."""
    if not callable(workload) and not isinstance(workload, Workload):
        source = source_of(workload)
        workload = Generated(str(source.spec)) if source.sampled else workload_of(workload)
    return Resampled(workload) if isinstance(workload, Workload) and resampled else workload


@dataclass(frozen=True, slots=True)
class _Asked:
    """The samples of a workload, and the cell of each contender and seed."""

    samples: Samples[Any]
    runs: list[tuple[str, str, int, Cell]]

    @classmethod
    def of(
        cls,
        samples: Samples[Any],
        labels: Sequence[tuple[str, str]],
        pairs: Sequence[tuple[str | Dispatcher, str | Predictor]],
        loaders: Loaders,
    ) -> _Asked:
        """Return the runs of pairs with labels on the samples."""
        cells = samples.cells(pairs, loaders)
        runs = [
            (*label, seed, own[place])
            for place, seed in enumerate(samples.numbers)
            for label, own in zip(labels, cells, strict=True)
        ]
        return cls(samples, runs)


def seeds_of(seeds: int | str | Iterable[int]) -> tuple[Sequence[int], bool]:
    """Return seeds, and whether only their number was given.

    Raises
    ------
    InputError
        If it is neither a number, nor a text such as ``20-29``, nor distinct seeds.
    """
    expected = "compare: seeds must be a whole number >= 1, a range such as '20-29', or a sequence of seeds"
    if isinstance(seeds, str):
        text = seeds.strip()
        interval = seed_range(text)
        if interval is None and not (text.isascii() and text.isdecimal() and len(text) < 16):
            raise InputError(f"{expected}, got {shown(seeds)}")
        if interval is not None and not len(interval):
            raise InputError(f"{expected}, got {shown(seeds)}, whose last seed is before its first")
        seeds = int(text) if interval is None else interval
    try:
        if isinstance(seeds, Iterable):
            numbers = seeds if isinstance(seeds, range) else list(seeds)
            for seed in numbers[:MOST_STEPS]:
                check_whole("compare: each of the seeds", seed, 0)
            if not 1 <= len(numbers) <= MOST_STEPS or len(set(numbers)) < len(numbers):
                raise InputError(f"compare: expected 1 to {MOST_STEPS} distinct seeds, got {shown(seeds)}")
            return numbers, False
        check_whole("compare: seeds", seeds, 1)
        if seeds > MOST_STEPS:
            raise InputError(f"compare: expected 1 to {MOST_STEPS} seeds, got {seeds}")
    except ValueError as error:
        raise InputError(str(error)) from None
    return range(seeds), True


def seeds_text(seeds: Sequence[int]) -> str:
    """Return seeds as text: ``0 to 9`` or ``3, 5, 8``."""
    if len(seeds) > 1 and list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]} to {seeds[-1]}"
    listed = ", ".join(map(str, seeds[:10]))
    return listed if len(seeds) <= 10 else f"{listed}, ... ({len(seeds)})"


def _seconds_of_jitter(jitter: int | str | None) -> int | None:
    if jitter is None:
        return None
    try:
        if not isinstance(jitter, str):
            check_whole("jitter, seconds,", jitter, 0)
        return seconds_of(jitter)
    except ValueError as error:
        what = "compare: jitter: " if isinstance(jitter, str) else "compare: "
        raise InputError(f"{what}{error}") from None


def _check_users(users: str) -> None:
    try:
        check_choice("compare: users", users, get_args(Users))
    except ValueError as error:
        raise InputError(str(error)) from None


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


def _both(several: Sequence[_Asked], store: Store, outcome: CampaignOutcome) -> Comparison:
    """Return the first comparison. The second, if any, is that with the recorded submissions."""
    first, *others = (_found(each.samples, each.runs, store, outcome) for each in several)
    return replace(first, replay=others[0]) if others else first


def _found(
    samples: Samples[Any], asked: Sequence[tuple[str, str, int, Cell]], store: Store, outcome: CampaignOutcome
) -> Comparison:
    """Return the comparison of the finished runs."""
    finished = {cell.key for cell in (*outcome.done, *outcome.reused)}
    failed = {cell.key: error for cell, error in outcome.failed}
    several = len({predictor for _, predictor, *_ in asked}) > 1
    contenders = dict[str, dict[int, Cell]]()
    days, rows = dict[tuple[str, str, int], dict[str, Daily]](), []
    for dispatcher, predictor, seed, cell in asked:
        if cell.key in finished:
            name = f"{dispatcher}, {predictor}" if several else dispatcher
            contenders.setdefault(name, {})[seed] = cell
            result = store.result(cell)
            summary = cut_summary(result, cell.warm_up, cell.cool_down)
            rows.append({"dispatcher": dispatcher, "predictor": predictor, "seed": seed, **summary})
            days["", name, seed] = days_of(result, without_ends(result, cell.warm_up, cell.cool_down))
    runs = pd.DataFrame(rows) if rows else pd.DataFrame(columns=["dispatcher", "predictor", "seed", *METRICS])
    failures = tuple(
        Failure(dispatcher, predictor, seed, str(error), error.traceback)
        for dispatcher, predictor, seed, cell in asked
        if (error := failed.get(cell.key)) is not None
    )
    first = asked[0][-1]
    return Comparison(
        runs,
        _aggregate(runs, samples.basis),
        failures,
        first.workload,
        len(asked),
        len(samples.numbers),
        samples.jitter,
        samples.overrun,
        store,
        contenders,
        samples.numbers,
        samples.basis,
        samples.warm_up,
        samples.cool_down,
        days,
        samples.users,
        conditions=samples.conditions.label,
    )


def _aggregate(runs: pd.DataFrame, basis: Basis) -> pd.DataFrame:
    """Return one row per pair, in the order of the input."""
    columns = ["dispatcher", "predictor", "runs"]
    metrics = [*METRICS, *(name for name in CONDITIONAL if name in runs)]
    columns += [name + suffix for name in metrics for suffix in ("", "_low", "_high")]
    rows: list[dict[str, Any]] = []
    for (dispatcher, predictor), group in runs.groupby(["dispatcher", "predictor"], sort=False):
        row: dict[str, Any] = {"dispatcher": dispatcher, "predictor": predictor, "runs": len(group)}
        for name in metrics:
            values = group[name].to_numpy(dtype=float)
            row[name] = float(values.mean())
            row[f"{name}_low"], row[f"{name}_high"] = spread(values, basis)
        rows.append(row)
    return pd.DataFrame(rows, columns=columns)
