"""Run an entry on a suite: the campaign code simulates, the conclusions of the product compare with the baseline."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from ...analysis.conclusions import Daily, conclusions
from ...base.contracts import PredictorContract
from ...predictors import create as create_predictor
from ..campaigns.board import CampaignProgress
from ..campaigns.comparison import Comparison, compare
from ..campaigns.versions import canonical_dispatcher, canonical_predictor, made_by
from .scorecards import FORMAT, Card, scores_hash
from .suites import BASELINE, METRICS, ORACLE, OVERRUN, OWN, SAME_INSTANT, TRACKS, Suite, Task

#: Digits that are kept of a score. The last ones of a mean may depend on the version of a library.
DIGITS = 6
#: Columns of a conclusion that a card keeps.
_NUMBERS = ("mean", "baseline_mean", "ratio", "ratio_low", "ratio_high")
_TEXTS = ("basis", "verdict", "reason")


@dataclass(frozen=True, slots=True)
class LeaderboardEntry:
    """What is evaluated.

    Attributes
    ----------
    name
        Its name in tables.
    dispatcher, predictor
        Names with options.
    source
        The file of the dispatcher or predictor and its hash, for parts of one's own.
    command
        The command that repeats it.
    """

    name: str
    dispatcher: str
    predictor: str = "walltime"
    source: Mapping[str, str] = field(default_factory=dict)
    command: str = ""

    @property
    def track(self) -> str:
        """What it knows of run times."""
        if PredictorContract(create_predictor(self.predictor)).reads_runtimes:
            return ORACLE
        return TRACKS.get(canonical_predictor(self.predictor), OWN)


class Evaluation:
    """Runs entries on a suite. The baseline is run once.

    Parameters
    ----------
    suite
        Its jobs are those that were frozen, see :func:`~hpcdispatch.bench.frozen.suites.check_jobs`.
    folder
        The store of the simulations. What is in it is not simulated again.
    workers
        Number of processes.
    """

    def __init__(self, suite: Suite, folder: str, workers: int = 1) -> None:
        self.suite = suite
        self._folder = folder
        self._workers = workers
        self._bases: dict[str, Comparison] = {}

    def card(self, entry: LeaderboardEntry, progress: Callable[[CampaignProgress], None] | None = None) -> Card:
        """Run an entry on all tasks, and return its scorecard. A plug-in runs in processes of its own.

        Parameters
        ----------
        entry
            What is evaluated.
        progress
            Called from time to time.

        Raises
        ------
        InputError
            For an unknown name or option.
        ComparisonInterrupted
            On Ctrl-C.
        """
        suite = self.suite
        scored, times = [], {}
        for task in suite.tasks:
            base = self._bases.get(task.name)
            if base is None:
                base = self._bases[task.name] = self._compared(task, *BASELINE, progress)
            pair = entry.dispatcher, entry.predictor
            own = base if pair == BASELINE else self._compared(task, *pair, progress)
            scored.append({"name": task.name, "samples": len(task.samples("test")), **_scored(base, own)})
            times[task.name] = _decision_times(own)
        card: Card = {
            "format": FORMAT,
            "suite": suite.name,
            "suite_version": suite.version,
            "suite_hash": suite.digest,
            "name": entry.name,
            "dispatcher": canonical_dispatcher(entry.dispatcher),
            "predictor": canonical_predictor(entry.predictor),
            "track": entry.track,
            "source": dict(entry.source),
            "tasks": scored,
            "scores": {metric: _overall(scored, metric) for metric in METRICS},
        }
        apart = {"decision_times": times, "versions": made_by(entry.dispatcher, entry.predictor)}
        return {**card, "scores_hash": scores_hash(card), "command": entry.command, **apart}

    def _compared(
        self, task: Task, dispatcher: str, predictor: str, progress: Callable[[CampaignProgress], None] | None
    ) -> Comparison:
        """Return the runs of a dispatcher on the test jobs of a task."""
        return compare(
            task.sampler(),
            dispatcher,
            predictor,
            seeds=task.samples("test") if task.seeds else 1,
            warm_up=task.warm_up,
            cool_down=task.cool_down,
            overrun=OVERRUN,
            same_instant=SAME_INSTANT,
            out=self._folder,
            workers=self._workers,
            isolate=True,
            progress=progress,
        )


def _scored(base: Comparison, own: Comparison) -> dict[str, Any]:
    """Return the metrics of a task beside the baseline's, or why there are none."""
    failed = [*base.failures, *own.failures]
    if failed:
        return {"error": f"{len(failed)} of {own.planned} samples failed, seed {failed[0].seed}: {failed[0].error}"}
    ended = [int(each.runs["completed"].sum()) for each in (base, own)]
    if ended[1] < ended[0]:
        return {"error": f"{ended[0] - ended[1]} jobs that {BASELINE[0]} completes are rejected or killed"}
    pair = {"baseline": base, "entry": own}
    runs = pd.concat([each.labelled_runs().assign(contender=label) for label, each in pair.items()], ignore_index=True)
    days: dict[tuple[str, str, int], Mapping[str, Daily]] = {
        ("", label, seed): daily for label, each in pair.items() for (_, _, seed), daily in each.days.items()
    }
    metrics = {}
    for metric in METRICS:
        row = conclusions(runs, "baseline", metric, days).iloc[0]
        metrics[metric] = {name: _kept(row[name]) for name in _NUMBERS} | {name: str(row[name]) for name in _TEXTS}
    return {"jobs": int(own.runs["jobs"].sum()), "metrics": metrics}


def _overall(tasks: list[dict[str, Any]], metric: str) -> float | None:
    """Return the geometric mean of the ratios of all tasks, ``None`` if one has none."""
    by_task = [task["metrics"][metric]["ratio"] if "metrics" in task else None for task in tasks]
    ratios = [float(ratio) for ratio in by_task if ratio is not None and ratio > 0]
    if len(ratios) < len(by_task):
        return None
    return _kept(math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios)))


def _decision_times(comparison: Comparison) -> dict[str, float | None]:
    """Return the mean and the longest time of a decision, milliseconds."""
    if comparison.runs.empty:
        return {"ms_mean": None, "ms_max": None}
    runs = comparison.runs
    return {"ms_mean": _kept(runs["decision_ms_mean"].mean()), "ms_max": _kept(runs["decision_ms_max"].max())}


def _kept(value: float) -> float | None:
    """Return a number with the digits that are kept, ``None`` for NaN."""
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
