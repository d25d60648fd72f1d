"""Doubts about the units of a workload, from its numbers alone."""

from dataclasses import replace

import numpy as np

from ..base import FloatArray, time_text
from .job_columns import JobColumns
from .machine import Machine
from .workload import Workload

#: The name of the number of walltimes that a reading has filled in.
FILLED = "walltime filled in"
#: Fewest jobs that tell anything.
LEAST_JOBS = 10
_MINUTE, _HOUR, _YEAR = 60, 3600, 365 * 86400
#: A run time beyond the span of the other jobs is doubtful from a week on.
_WEEK = 7 * 86400
#: A machine is hardly used below this share, and asked for too much above this load.
_LEAST_USE, _MOST_LOAD = 0.01, 2.0
#: Share of jobs beyond their walltime that tells another unit.
_MOST_OVERRUNS = 0.5


def with_doubts(workload: Workload) -> Workload:
    """Return a workload whose notes say which of its numbers are hardly right, each once."""
    said = workload.provenance
    walltimes = FILLED not in said.counts
    new = [text for text in doubts(workload.columns, workload.machine, walltimes=walltimes) if text not in said.notes]
    return replace(workload, provenance=replace(said, notes=(*said.notes, *new))) if new else workload


def doubts(jobs: JobColumns, machine: Machine, *, walltimes: bool = True) -> list[str]:
    """Return sentences on numbers that are hardly right, each with the likely unit or cause.

    Parameters
    ----------
    jobs
        The jobs, in order of submission.
    machine
        Their machine.
    walltimes
        Whether the walltimes are the jobs' own.
    """
    if len(jobs) < LEAST_JOBS:
        return []
    submit = jobs.submit.astype(np.float64)
    runtime = jobs.runtime.astype(np.float64)
    size = jobs.amounts(machine.resources[machine.primary]).astype(np.float64)
    sentences = [*_long_run(submit, runtime), *_use(submit, runtime, size, machine)]
    return [*sentences, *_limits(runtime, jobs.walltime.astype(np.float64))] if walltimes else sentences


def _long_run(submit: FloatArray, runtime: FloatArray) -> list[str]:
    longest = int(runtime.argmax())
    others = np.arange(len(submit)) != longest
    span = float((submit + runtime)[others].max() - submit[others].min())
    if runtime[longest] <= max(span, _WEEK):
        return []
    many = np.median(runtime) > max(float(submit[-1] - submit[0]), _WEEK)
    cause = "are run times in milliseconds?" if many else "is its start or its end no time?"
    text = (
        f"a job runs {time_text(runtime[longest])}, longer than all others together take ({time_text(span)}); {cause}"
    )
    return [f"doubtful: {text}"]


def _use(submit: FloatArray, runtime: FloatArray, size: FloatArray, machine: Machine) -> list[str]:
    processors = float(machine.capacity[:, machine.primary].sum())
    work = float((size * runtime).sum())
    between = float(submit[-1] - submit[0])
    whole = float((submit + runtime).max() - submit[0])
    if whole > 0 and work / (processors * whole) < _LEAST_USE:
        use = work / (processors * whole)
        return [
            f"doubtful: the jobs use {use:.2%} of the machine from first submission to last end; "
            "are run times in minutes or hours, or is the machine that of several clusters?"
        ]
    span = max(between, float(runtime.max()))
    if span > 0 and work / (processors * span) > _MOST_LOAD:
        return [
            f"doubtful: the jobs need {work / (processors * span):.1f} times what the machine has; "
            "are cores counted as nodes, run times in milliseconds, or is the machine a part of theirs?"
        ]
    return []


def _limits(runtime: FloatArray, walltime: FloatArray) -> list[str]:
    median = float(np.median(walltime))
    overruns = float((runtime > walltime).mean())
    if median < _MINUTE:
        return [f"doubtful: the median walltime is {time_text(median)}; are walltimes in minutes or hours?"]
    if median > _YEAR:
        return [f"doubtful: the median walltime is {time_text(median)}; are walltimes in milliseconds?"]
    sixties = not (walltime % _MINUTE).any()
    if sixties and overruns > _MOST_OVERRUNS:
        unit = "minutes" if (runtime <= walltime * _MINUTE).mean() > _MOST_OVERRUNS else "hours"
        return [
            f"doubtful: {overruns:.0%} of the jobs run longer than their walltimes, which are all multiples of 60; "
            f"are these in {unit}?"
        ]
    hours = not (walltime % _HOUR).any()
    if hours and float((runtime / walltime).max()) <= 1 / _MINUTE:
        return [
            "doubtful: no job uses more than a sixtieth of its walltime, and all walltimes are multiples of an hour; "
            "are these in seconds, and were read as minutes?"
        ]
    return []
