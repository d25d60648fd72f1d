"""Compare dispatchers and predictors: every pair of them, on the same samples of a workload.

A sample is what one seed makes of the workload: a jittered copy of a trace, or another draw of a generator. All pairs
see the same samples, and the records of a run depend on nothing but its own arguments, so that the number of workers
changes the measured times and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from ...base import InputError
from ...dispatchers import Dispatcher, create_dispatcher
from ...predictors import Predictor
from ...predictors import create as create_predictor
from ...simulation import Overrun, SameInstant, mean_interval
from ...workloads import Workload
from .comparison_processes import run_here, run_pooled
from .comparison_runs import Board, Failure, Generated, Jittered, Plan, Progress, Samples, Task

__all__ = ["METRICS", "Comparison", "ComparisonInterrupted", "Failure", "Generated", "Jittered", "Progress", "compare"]

#: What the aggregated table holds: the mean over the seeds of these entries of ``Result.summary()``.
METRICS = ("wait_mean", "bounded_slowdown_mean", "slowdown_mean", "wait_max", "utilization", "decision_ms_mean")
#: Largest shift of a submission where several seeds are asked for and no jitter is given, seconds.
DEFAULT_JITTER = 60


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
    workload: Workload | Samples,
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
    progress: Callable[[Progress], None] | None = None,
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
        Where to save each result, in a folder of its own; the folders are named by dispatcher, predictor and seed.
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
    """
    samples, jitter = _samples(workload, seeds, jitter)
    folder = None if out is None else Path(out)
    plan = Plan(samples, Overrun.parse(overrun), same_instant, jitter, check_invariants, folder)
    _validate(dispatchers, predictors, workers)
    pairs = product(range(seeds), _labelled(dispatchers, "dispatcher"), _labelled(predictors, "predictor"))
    tasks = [Task(index, seed, *one, *other) for index, (seed, one, other) in enumerate(pairs)]
    size = len(workload if isinstance(workload, Workload) else workload(0))
    board = Board(plan, tasks, size, seeds, progress)
    try:
        if min(workers, len(tasks)) == 1:
            run_here(tasks, plan, board)
        else:
            run_pooled(tasks, plan, board, min(workers, len(tasks)))
    except KeyboardInterrupt:
        raise ComparisonInterrupted(_outcome(board)) from None
    return _outcome(board)


def _samples(workload: Workload | Samples, seeds: int, jitter: int | None) -> tuple[Samples, int | None]:
    """Return what makes the sample of a seed, and the jitter it makes it with."""
    if seeds < 1:
        raise InputError(f"compare: seeds must be >= 1, got {seeds}")
    if jitter is not None and jitter < 0:
        raise InputError(f"compare: jitter must be >= 0 seconds, got {jitter}")
    if isinstance(workload, Workload):
        jitter = DEFAULT_JITTER if jitter is None and seeds > 1 else jitter
        return Jittered(workload, jitter), jitter
    if jitter is not None:
        raise InputError("compare: jitter is for a workload; a function draws another one for each seed")
    return workload, None


def _validate(dispatchers: Sequence[Any], predictors: Sequence[Any], workers: int) -> None:
    if workers < 1:
        raise InputError(f"compare: workers must be >= 1, got {workers}")
    if not dispatchers or not predictors:
        raise InputError("compare: expected at least one dispatcher and one predictor")
    for dispatcher in dispatchers:
        create_dispatcher(dispatcher)
    for predictor in predictors:
        create_predictor(predictor)


def _labelled(parts: Sequence[Any], kind: str) -> list[tuple[str, Any]]:
    labels = [part if isinstance(part, str) else getattr(part, "name", None) or type(part).__name__ for part in parts]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(f"compare: {kind} {label!r} is given twice")
    return list(zip(labels, parts, strict=True))


def _outcome(board: Board) -> Comparison:
    """Return what the finished runs say."""
    rows = [
        {"dispatcher": task.dispatcher_name, "predictor": task.predictor_name, "seed": task.seed, **summary}
        for task in board.tasks
        if (summary := board.finished.get(task.number)) is not None
    ]
    runs = pd.DataFrame(rows) if rows else pd.DataFrame(columns=["dispatcher", "predictor", "seed", *METRICS])
    failures = tuple(board.failures[index] for index in sorted(board.failures))
    overrun = str(board.plan.overrun)
    return Comparison(runs, _aggregate(runs), failures, len(board.tasks), board.seeds, board.plan.jitter, overrun)


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
