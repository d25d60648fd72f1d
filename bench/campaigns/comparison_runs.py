"""The runs of a comparison: what each is, how one is done, and what they report."""

from __future__ import annotations

import copy
import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...dispatchers import Dispatcher
from ...predictors import Predictor
from ...simulation import Overrun, SameInstant, check, simulate
from ...workloads import Workload, generate
from ...workloads import jitter as shift

Samples = Callable[[int], Workload]


@dataclass(frozen=True, slots=True)
class Generated:
    """The samples of a generator: seed k draws the k-th.

    Attributes
    ----------
    spec
        ``NAME`` or ``NAME:key=value,...`` of a registered generator.
    head
        Keep only that many jobs of each sample; ``None`` keeps all.
    """

    spec: str
    head: int | None = None

    def __call__(self, seed: int) -> Workload:
        """Return the sample of a seed."""
        drawn = generate(self.spec, seed=seed)
        return drawn if self.head is None else drawn.head(self.head)


@dataclass(frozen=True, slots=True)
class Jittered:
    """The samples of a trace: seed k shifts each submission by whole seconds, uniform in [0, `seconds`].

    Attributes
    ----------
    workload
        The trace.
    seconds
        The largest shift; ``None`` leaves the trace as it stands, whatever the seed.
    """

    workload: Workload
    seconds: int | None = None

    def __call__(self, seed: int) -> Workload:
        """Return the sample of a seed."""
        if self.seconds is None:
            return self.workload
        return shift(self.workload, self.seconds, np.random.default_rng(seed))


class Progress(NamedTuple):
    """How far a comparison is: runs finished and planned, jobs finished and (about) to come."""

    runs: int
    planned: int
    jobs: int
    expected: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that ended in an exception: which one, ``Type: message``, and the traceback as text."""

    dispatcher: str
    predictor: str
    seed: int
    error: str
    traceback: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What all runs share; sent once to each worker."""

    samples: Samples
    overrun: Overrun
    same_instant: SameInstant
    jitter: int | None
    check: bool
    out: Path | None


class Task(NamedTuple):
    """One run: a dispatcher and a predictor on the sample of a seed."""

    number: int
    seed: int
    dispatcher_name: str
    dispatcher: str | Dispatcher
    predictor_name: str
    predictor: str | Predictor


@dataclass(slots=True)
class Latest:
    """Keeps the last sample: the runs of a seed follow each other."""

    samples: Samples
    seed: int | None = None
    workload: Workload | None = None

    def __call__(self, seed: int) -> Workload:
        """Return the sample of a seed."""
        if self.workload is None or self.seed != seed:
            self.workload, self.seed = self.samples(seed), seed
        return self.workload


def run(task: Task, plan: Plan, samples: Samples, report: Callable[[int], None]) -> dict[str, float] | Failure:
    """Return the summary of a run, or what went wrong in it."""
    try:
        workload = samples(task.seed)
        result = simulate(
            workload,
            copy.deepcopy(task.dispatcher),
            copy.deepcopy(task.predictor),
            overrun=plan.overrun,
            same_instant=plan.same_instant,
            seed=task.seed,
            progress=report,
        )
        if plan.check:
            check(workload, result)
        if plan.out is not None:
            result.save(plan.out / _folder(task))
        return result.summary()
    except Exception as error:  # noqa: BLE001 - a plugged-in part may raise anything; the other runs go on
        return failure(task, f"{type(error).__name__}: {error}", traceback.format_exc())


def failure(task: Task, error: str, trace: str = "") -> Failure:
    """Return what went wrong in a run."""
    return Failure(task.dispatcher_name, task.predictor_name, task.seed, error, trace)


def _folder(task: Task) -> str:
    parts = (task.dispatcher_name, task.predictor_name, f"seed{task.seed}")
    return "_".join(re.sub(r"[^\w.=+-]", "-", part) for part in parts)


@dataclass(slots=True)
class Board:
    """Collects what the runs report."""

    plan: Plan
    tasks: list[Task]
    size: int
    seeds: int
    progress: Callable[[Progress], None] | None
    finished: dict[int, dict[str, float]] = field(default_factory=dict)
    failures: dict[int, Failure] = field(default_factory=dict)
    underway: dict[int, int] = field(default_factory=dict)

    def advance(self, task: Task, jobs: int) -> None:
        """Take note that a run has finished so many jobs."""
        self.underway[task.number] = jobs
        self._tell()

    def finish(self, task: Task, outcome: dict[str, float] | Failure) -> None:
        """Take the outcome of a run."""
        self.underway.pop(task.number, None)
        if isinstance(outcome, Failure):
            self.failures[task.number] = outcome
        else:
            self.finished[task.number] = outcome
        self._tell()

    def _tell(self) -> None:
        if self.progress is not None:
            runs = len(self.finished) + len(self.failures)
            jobs = runs * self.size + sum(self.underway.values())
            self.progress(Progress(runs, len(self.tasks), jobs, len(self.tasks) * self.size))
