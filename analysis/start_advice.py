"""Which waiting jobs another dispatcher would start next, beside the plan of Slurm, and what came of such advice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base.checks import check_whole
from ..base.command_arguments import job_argument
from ..dispatchers import Dispatcher
from ..simulation import simulate
from ..simulation.result import Result
from ..workloads import MachineState, Workload

#: The largest value of Nice that Slurm takes.
MOST_NICE = 2**31 - 3


@dataclass(frozen=True, slots=True)
class Advice:
    """When a dispatcher would start a job, and when Slurm will; times in seconds since 1970.

    Attributes
    ----------
    made, job, dispatcher, predictor
        When, of which job, and by which dispatcher with which predictor.
    start
        When the dispatcher would start it, if jobs run for as long as predicted.
    model, slurm
        When the model of Slurm's rules starts it then, and when Slurm expects to; ``None``: it does not say.
    reason
        Why then.
    """

    made: int
    job: str
    dispatcher: str
    predictor: str
    start: float
    model: float | None
    slurm: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class NiceChange:
    """A job whose ``Nice`` is to change, and its value before."""

    job: str
    before: int
    nice: int

    def __post_init__(self) -> None:
        job_argument(self.job, "field 'job'")
        for name in ("before", "nice"):
            check_whole(name, getattr(self, name), -MOST_NICE, MOST_NICE)


@dataclass(frozen=True, slots=True)
class NiceJournal:
    """All changes that were begun and not taken back."""

    changes: tuple[NiceChange, ...] = ()


def advised_starts(
    workload: Workload, ruled: Workload, state: MachineState, slurm: Dispatcher, dispatcher: str,
    predictors: tuple[Any, Any],
) -> dict[str, tuple[float, float, str]]:  # fmt: skip
    """Return when a dispatcher starts each waiting job, when Slurm does, and why the former, by id, the first first.

    Parameters
    ----------
    workload, ruled
        The jobs that run or wait, for Slurm, and under the rules of the machine, for the dispatcher.
    state
        What runs, and what has ended before.
    slurm, dispatcher
        Whose starts they are.
    predictors
        What learns run times, twice, having learned nothing: jobs run for as long as it predicts, and the dispatcher
        plans with it. Slurm plans with walltimes.
    """
    runtimes = _predicted(workload, state, predictors[0])
    found = []
    for jobs, rule, predictor in ((workload, slurm, "walltime"), (ruled, dispatcher, predictors[1])):
        timed = tuple(replace(job, runtime=runtimes[job.id], walltime=max(job.walltime, runtimes[job.id]),
                              soft_walltime=None) for job in jobs.jobs)  # fmt: skip
        found.append(simulate(replace(jobs, jobs=timed), rule, predictor, state=state))
    model, advised = (dict(zip(each.jobs["id"], each.jobs["start"].astype(float), strict=True)) for each in found)
    running = {since.id for since in state.running}
    ids = sorted((id_ for id_, at in advised.items() if id_ not in running and at >= 0), key=lambda id_: advised[id_])
    reasons = _reasons(found[1], state, ids)
    return {id_: (advised[id_], model[id_] if model[id_] >= 0 else np.nan, reasons[id_]) for id_ in ids}


def _predicted(workload: Workload, state: MachineState, predictor: Any) -> dict[str, int]:
    """Return how long each job is expected to run, in all, above what it has run already."""
    for ended in sorted(state.ended, key=lambda each: each.end):
        predictor.observe(ended.job)
    began, found = {since.id: since.start for since in state.running}, {}
    for job in workload.jobs:
        elapsed = max(state.at - began.get(job.id, state.at), 0)
        hidden = replace(job, runtime=0)
        expected = float(predictor.predict(hidden, state.at))
        if expected <= elapsed and hasattr(predictor, "correct"):
            expected = float(predictor.correct(hidden, elapsed, 0))
        found[job.id] = max(min(math.ceil(expected), job.walltime), elapsed + 1)
    return found


def _reasons(result: Result, state: MachineState, ids: Sequence[str]) -> dict[str, str]:
    """Return for each job what its start waits for: a job that ends on its nodes, or nothing."""
    names = result.jobs["id"].tolist()
    starts, ends = (dict(zip(names, map(int, result.jobs[name]), strict=True)) for name in ("start", "end"))
    where = {id_: set(np.atleast_1d(on).tolist()) for id_, on in zip(names, result.jobs["placement"], strict=True)}
    ended = dict[int, list[str]]()
    for id_, at in ends.items():
        ended.setdefault(at, []).append(id_)
    told = {}
    for id_ in ids:
        start = starts[id_]
        before = [other for other in ended.get(start, ()) if where[other] & where[id_]]
        fits = "there is room for it" if start > state.at else "it fits on free nodes now"
        told[id_] = f"job {before[0]} ends on its nodes" if before and start > state.at else fits
    return told


def nice_changes(
    order: Sequence[str], priorities: Mapping[str, int], nice: Mapping[str, int], bound: int, first: int
) -> list[NiceChange]:  # fmt: skip
    """Return which jobs get a larger ``Nice``, so that the first ones of an order come before them.

    Parameters
    ----------
    order
        Ids of waiting jobs, as they are to start.
    priorities, nice
        Of the jobs now, by id; jobs without a priority are left alone.
    bound
        How much a priority may fall.
    first
        How many of the order come first.
    """
    found, least = [], math.inf
    for place, id_ in enumerate(order):
        own = priorities.get(id_, 0)
        if own and own > least:
            more = min(int(own - least) + 1, bound)
            before = nice.get(id_, 0)
            found.append(NiceChange(id_, before, min(before + more, MOST_NICE)))
        if own and place < first:
            least = min(least, own)
    return found
