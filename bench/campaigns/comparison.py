"""Compare dispatchers and predictors: every pair of them, on the same samples of a workload.

A sample is what one seed makes of the workload: a jittered copy of a trace, or another draw of a generator. All pairs
see the same samples, and the records of a run depend on nothing but its own arguments, so that the number of workers
changes the measured times and nothing else.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from os import PathLike
from typing import Any

import pandas as pd

from ...base import InputError
from ...dispatchers import Dispatcher, create_dispatcher
from ...predictors import Predictor
from ...predictors import create as create_predictor
from ...simulation import Overrun, SameInstant, mean_interval
from ...workloads import Workload
from .board import CampaignProgress, Outcome
from .cells import Cell
from .execution import CampaignInterrupted, run_campaign
from .plan import Plan
from .samples import Generated, Jittered, Loaders, Sampler, Samples, name_of
from .store import Store

__all__ = ["METRICS", "Comparison", "ComparisonInterrupted", "Failure", "Generated", "Jittered", "compare"]

#: What the aggregated table holds: the mean over the seeds of these entries of ``Result.summary()``.
METRICS = ("wait_mean", "bounded_slowdown_mean", "slowdown_mean", "wait_max", "utilization", "decision_ms_mean")
#: Largest shift of a submission where several seeds are asked for and no jitter is given, seconds.
DEFAULT_JITTER = 60


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that ended in an exception: which one, ``Type: message``, and the traceback as text."""

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
        One row a finished run, in the order of seed, dispatcher, predictor: ``dispatcher``, ``predictor``, ``seed`` and
        every entry of ``Result.summary()``. Empty if none finished.
    table
        One row a pair of dispatcher and predictor with a finished run: ``dispatcher``, ``predictor``, ``runs`` (how
        many) and for each of :data:`METRICS` its mean over the seeds, under its name, with a 95% bootstrap interval,
        ``..._low`` and ``..._high`` (NaN where there is one seed).
    failures
        The runs that ended in an exception.
    planned
        How many runs were asked for; more than the finished and the failed ones where it was interrupted.
    seeds, jitter, overrun
        As compared; `jitter` is ``None`` where nothing was shifted.
    """

    runs: pd.DataFrame
    table: pd.DataFrame
    failures: tuple[Failure, ...]
    planned: int
    seeds: int
    jitter: int | None
    overrun: str

    @property
    def interrupted(self) -> bool:
        """Whether runs are missing that were never finished."""
        return len(self.runs) + len(self.failures) < self.planned


class ComparisonInterrupted(KeyboardInterrupt):
    """Ctrl-C during a comparison; `comparison` holds what was finished."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(f"interrupted: {len(comparison.runs)} of {comparison.planned} runs finished")
        self.comparison = comparison


def compare(
    workload: Workload | Sampler,
    dispatchers: Sequence[str | Dispatcher],
    predictors: Sequence[str | Predictor] = ("walltime",),
    *,
    seeds: int = 1,
    jitter: int | None = None,
    overrun: str | Overrun = "run",
    same_instant: SameInstant = "batch",
    check_invariants: bool = False,
    out: str | PathLike[str] | None = None,
    workers: int = 1,
    progress: Callable[[CampaignProgress], None] | None = None,
) -> Comparison:
    """Simulate every pair of dispatcher and predictor on the samples of the seeds 0 to `seeds` - 1.

    Parameters
    ----------
    workload
        A workload, jittered for each seed; or a function from seed to workload, such as :class:`Generated`.
    dispatchers, predictors
        Names with options, or objects; each run works on a copy of its own. With several workers, objects and the
        function must be picklable.
    seeds
        How many samples, at least 1. The seed also goes to the dispatcher.
    jitter
        Largest shift of a submission, seconds. ``None``: 60, but a workload compared on one seed stays as it is.
    overrun, same_instant
        As in :func:`~hpcdispatch.simulation.simulate`.
    check_invariants
        Check each schedule; a violation makes the run a failure.
    out
        The store that the results are kept in, as those of a campaign are: what is in it is not simulated again, but
        for runs of objects, which replace those of the same name. Without it nothing is kept.
    workers
        Processes to run in; 1 runs in this one. They are spawned, so that a script needs its main guard.
    progress
        Called now and then.

    Returns
    -------
    Comparison
        Every run's summary and the table. A run that raises is a failure in it and does not stop the others.

    Raises
    ------
    InputError
        For an unknown name or option, a name given twice, or a number out of range; before anything runs.
    ComparisonInterrupted
        On Ctrl-C, with what was finished; the workers are stopped.
    WorkerError
        If no worker can be started, as from a script without its main guard.
    """
    labels = list(product(_labels(dispatchers, "dispatcher"), _labels(predictors, "predictor")))
    shift = _jitter(workload, seeds, jitter)
    samples = Samples(workload, seeds, shift, str(Overrun.parse(overrun)), same_instant, check_invariants)
    loaders: Loaders = {}
    cells = samples.cells(list(product(dispatchers, predictors)), loaders)
    runs = [(*pair, seed, each[seed]) for seed in range(seeds) for pair, each in zip(labels, cells, strict=True)]
    plan = Plan.of("", [cell for *_, cell in runs], loaders)
    with ExitStack() as stack:
        store = Store(stack.enter_context(tempfile.TemporaryDirectory(prefix="hpcdispatch-")) if out is None else out)
        store.open()
        for cell in plan.cells:
            if not cell.lasting:
                store.discard(cell.key)
        try:
            outcome = run_campaign(plan, store, workers=workers, retry=True, progress=progress)
        except CampaignInterrupted as error:
            raise ComparisonInterrupted(_found(samples, runs, store, error.outcome)) from None
        return _found(samples, runs, store, outcome)


def _jitter(workload: Workload | Sampler, seeds: int, jitter: int | None) -> int | None:
    """Return the largest shift of a submission."""
    if seeds < 1:
        raise InputError(f"compare: seeds must be >= 1, got {seeds}")
    if jitter is not None and jitter < 0:
        raise InputError(f"compare: jitter must be >= 0 seconds, got {jitter}")
    if isinstance(workload, Workload):
        return DEFAULT_JITTER if jitter is None and seeds > 1 else jitter
    if jitter is not None:
        raise InputError("compare: jitter is for a workload; a function draws another one for each seed")
    return None


def _labels(parts: Sequence[Any], kind: str) -> list[str]:
    """Return what the dispatchers or predictors are called, each of which is built once to see that it can be."""
    labels = [name_of(part) for part in parts]
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
    """Return what the finished runs say."""
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
    return Comparison(runs, _aggregate(runs), failures, len(asked), samples.seeds, samples.jitter, samples.overrun)


def _aggregate(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row a pair, in the order in which the pairs were asked for."""
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
