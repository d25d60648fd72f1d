"""Runs whose summaries are kept in a folder, so that an interrupted campaign goes on where it was."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...base import InputError
from ...base.atomic_files import write_whole
from ...simulation import Overrun
from ...workloads import Workload
from .comparison_processes import run_here, run_pooled
from .comparison_runs import Board, Failure, Jittered, Plan, Progress, Task

PREDICTOR, OVERRUN = "walltime", "run"
#: A summary with what it is a summary of.
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """What the dispatchers are run on: a trace as it stands, or jittered copies of a slice of it.

    Attributes
    ----------
    trace
        Name of the trace.
    workload
        Its jobs.
    span
        The first job of the slice and the one after its last, by their place in the trace; ``None`` for all jobs.
    jitter
        Largest shift of a submission, seconds; ``None`` for none.
    seeds
        How many samples.
    """

    trace: str
    workload: Workload
    span: tuple[int, int] | None = None
    jitter: int | None = None
    seeds: int = 1

    @classmethod
    def slice_of(cls, trace: str, workload: Workload, span: tuple[int, int], jitter: int, seeds: int) -> Part:
        """Return a slice.

        Raises
        ------
        InputError
            If the trace has not that many jobs.
        """
        first, last = span
        if not 0 <= first < last <= len(workload):
            raise InputError(f"{trace}: expected a slice within its {len(workload)} jobs, got {first}:{last}")
        return cls(trace, workload.slice(first, last), span, jitter, seeds)

    def key(self, dispatcher: str, seed: int) -> Record:
        """Return what a run depends on, but for the code."""
        return {
            "trace": self.trace,
            "jobs": None if self.span is None else list(self.span),
            "jitter": self.jitter,
            "dispatcher": dispatcher,
            "predictor": PREDICTOR,
            "overrun": OVERRUN,
            "seed": seed,
            "workload": self.workload.digest(),
        }


@dataclass(frozen=True, slots=True)
class Kept:
    """A folder with a JSON file a run."""

    folder: Path

    def find(self, part: Part, dispatcher: str, seed: int) -> Record | None:
        """Return the record of a run, if it was finished on this very workload.

        Raises
        ------
        InputError
            If its file is no record.
        """
        path = self._path(part, dispatcher, seed)
        if not path.is_file():
            return None
        try:
            record: Record = json.loads(path.read_text(encoding="utf-8"))
            key = {name: record[name] for name in part.key(dispatcher, seed)}
            summary = {name: math.nan if value is None else value for name, value in record["summary"].items()}
        except (AttributeError, KeyError, TypeError, ValueError):
            raise InputError(f"{path}: expected the record of a run; remove the file to run it again") from None
        return {**record, "summary": summary} if key == part.key(dispatcher, seed) else None

    def put(self, part: Part, dispatcher: str, seed: int, summary: dict[str, float]) -> None:
        """Write the record of a run, all of it or nothing."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(part, dispatcher, seed)
        finite = {name: value if math.isfinite(value) else None for name, value in summary.items()}
        text = json.dumps({**part.key(dispatcher, seed), "summary": finite}, indent=2) + "\n"
        write_whole(path, text)

    def forget(self, part: Part, dispatcher: str, seed: int) -> None:
        """Remove the record of a run, if there is one."""
        self._path(part, dispatcher, seed).unlink(missing_ok=True)

    def _path(self, part: Part, dispatcher: str, seed: int) -> Path:
        jobs = "whole" if part.span is None else "{}-{}".format(*part.span)
        shifted = "" if part.jitter is None else f"_{part.jitter}s"
        name = f"{part.trace}_{jobs}{shifted}_{dispatcher}_seed{seed}"
        return self.folder / (re.sub(r"[^\w.=+-]", "-", name) + ".json")


@dataclass
class KeepingBoard(Board):
    """A board that keeps every summary as soon as it is there."""

    keep: Callable[[Task, dict[str, float] | Failure], None] = field(default=lambda task, outcome: None)

    def finish(self, task: Task, outcome: dict[str, float] | Failure) -> None:
        """Keep the outcome of a run, then take it."""
        self.keep(task, outcome)
        super().finish(task, outcome)


def run_missing(
    part: Part,
    dispatchers: Sequence[str],
    kept: Kept,
    *,
    workers: int = 1,
    progress: Callable[[Progress], None] | None = None,
    said: Callable[[Task, dict[str, float] | Failure], None] | None = None,
) -> list[Failure]:
    """Do the runs of a part that are not kept yet; return those that failed, which are not kept either.

    Parameters
    ----------
    part
        What is run on.
    dispatchers
        Names with options.
    kept
        Where the summaries are and go.
    workers
        Processes to run in; 1 runs in this one.
    progress
        Called now and then.
    said
        Called with every run that has ended, and its summary.
    """
    wanted = [(seed, name) for seed in range(part.seeds) for name in dispatchers]
    missing = [(seed, name) for seed, name in wanted if kept.find(part, name, seed) is None]
    tasks = [Task(index, seed, name, name, PREDICTOR, PREDICTOR) for index, (seed, name) in enumerate(missing)]
    if not tasks:
        return []

    def keep(task: Task, outcome: dict[str, float] | Failure) -> None:
        if not isinstance(outcome, Failure):
            kept.put(part, task.dispatcher_name, task.seed, outcome)
        if said is not None:
            said(task, outcome)

    plan = Plan(Jittered(part.workload, part.jitter), Overrun.parse(OVERRUN), "batch", part.jitter, False, None)
    board = KeepingBoard(plan, tasks, len(part.workload), part.seeds, progress, keep=keep)
    workers = min(workers, len(tasks))
    if workers == 1:
        run_here(tasks, plan, board)
    else:
        run_pooled(tasks, plan, board, workers)
    return list(board.failures.values())
