"""Compare the next starts of another dispatcher with the plan of Slurm. Judge such advice later."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base import check_whole
from ..base.command_arguments import job_argument
from ..dispatchers import Dispatcher
from ..simulation import simulate
from ..simulation.result import Result
from ..workloads import MachineState, Workload

#: The largest value of Nice in Slurm.
MOST_NICE = 2**31 - 3


@dataclass(frozen=True, slots=True)
class Advice:
    """When a dispatcher would start a job, and when Slurm will; times in seconds since 1970.

    Attributes
    ----------
    made, job, dispatcher, predictor
        Time of the advice, its job, the dispatcher and its predictor.
    start
        The start under the dispatcher, if run times are as predicted.
    model, slurm
        The start in the model of Slurm's rules, and the start that Slurm expects. ``None`` if not given.
    reason
        Reason for that start.
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
    """All changes that were begun and not undone."""

    changes: tuple[NiceChange, ...] = ()


def advised_starts(
    workload: Workload,
    ruled: Workload,
    state: MachineState,
    slurm: Dispatcher,
    dispatcher: str,
    predictors: tuple[Any, Any],
) -> dict[str, tuple[float, float, str]]:
    """Return two starts of each waiting job, under a dispatcher and under Slurm, and the reason of the first.

    Parameters
    ----------
    workload, ruled
        The running and waiting jobs. The second has the rules of the machine and is for the dispatcher.
    state
        The running jobs, and those that have ended before.
    slurm, dispatcher
        The two schedulers.
    predictors
        Two untrained copies of a predictor. The first gives the run times of jobs, the second serves the dispatcher.
        Slurm plans with walltimes.
    """
    runtimes = _predicted(workload, state, predictors[0])
    found = []
    for jobs, rule, predictor in ((workload, slurm, "walltime"), (ruled, dispatcher, predictors[1])):
        timed = tuple(
            replace(job, runtime=runtimes[job.id], walltime=max(job.walltime, runtimes[job.id]), soft_walltime=None)
            for job in jobs.jobs
        )
        found.append(simulate(replace(jobs, jobs=timed), rule, predictor, state=state))
    model, advised = (dict(zip(each.jobs["id"], each.jobs["start"].astype(float), strict=True)) for each in found)
    running = {since.id for since in state.running}
    ids = sorted((id_ for id_, at in advised.items() if id_ not in running and at >= 0), key=lambda id_: advised[id_])
    reasons = _reasons(found[1], state, ids)
    return {id_: (advised[id_], model[id_] if model[id_] >= 0 else np.nan, reasons[id_]) for id_ in ids}


def _predicted(workload: Workload, state: MachineState, predictor: Any) -> dict[str, int]:
    """Return the predicted run time of each job, in all, above the time it has already run."""
    for ended in sorted(state.ended, key=lambda each: each.end):
        predictor.observe(ended.job)
    began = {since.id: since.start for since in state.running}
    found = {}
    for job in workload.jobs:
        elapsed = max(state.at - began.get(job.id, state.at), 0)
        hidden = replace(job, runtime=0)
        expected = float(predictor.predict(hidden, state.at))
        if expected <= elapsed and hasattr(predictor, "correct"):
            expected = float(predictor.correct(hidden, elapsed, 0))
        found[job.id] = max(min(math.ceil(expected), job.walltime), elapsed + 1)
    return found


def _reasons(result: Result, state: MachineState, ids: Sequence[str]) -> dict[str, str]:
    """Return the reason for the start of each job. It is a job that ends on its nodes, or free nodes."""
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
) -> list[NiceChange]:
    """Return the jobs that need a larger ``Nice`` to bring the first jobs of an order to the front.

    Parameters
    ----------
    order
        Ids of waiting jobs, in the advised order.
    priorities, nice
        Current values by id. Jobs without a priority are left unchanged.
    bound
        The most that a priority may fall.
    first
        Number of jobs at the front.
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
