"""Moldable jobs from rigid ones: every job gets other sizes that it could have asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..base import FloatArray
from ..base.checks import check_whole
from .job import Job, Shape
from .workload import Workload

#: From slots, an array of any shape, to speedups.
Speedup = Callable[[NDArray[Any]], FloatArray]


class SpeedupLaw(Protocol):
    """Where the speedups of jobs are drawn from, such as ``hpcdispatch.models.moldable.DowneyLaw``."""

    def draw(self, rng: np.random.Generator) -> tuple[Speedup, int]:
        """Return the speedup of a job, and the most slots that it has a use for."""
        ...


def mold(workload: Workload, speedup: Speedup | SpeedupLaw, choices: int = 5, seed: int = 0) -> Workload:
    """Return the workload with moldable jobs.

    A job of n_u slots gets shapes on `choices` equally spaced sizes from n_min to n_max, rounded, its own left out,
    where n_min is uniform in 1 to n_u and n_max in n_u to the most that the machine holds and the job has a use for.
    Run time and requested time of a shape are the job's, times S(n_u) / S(n), rounded up. Jobs that have shapes keep
    them.

    Parameters
    ----------
    workload
        What to mold; it stays as it is.
    speedup
        S of every job, or what it is drawn from.
    choices
        How many sizes, at least 2.
    seed
        For the draws.

    Raises
    ------
    ValueError
        If `choices` is below 2.

    References
    ----------
    Cirne and Berman: "Adaptive selection of partition size for supercomputer requests", JSSPP 2000, section 3.3.
    """
    check_whole("choices", choices, 2)
    rng = np.random.default_rng(seed)
    jobs = [job if job.shapes else _molded(job, workload, speedup, choices, rng) for job in workload.jobs]
    note = f"jobs got {choices} sizes each (seed {seed})"
    provenance = replace(workload.provenance, notes=(*workload.provenance.notes, note))
    return Workload(jobs, workload.machine, provenance, workload.records)


def _molded(job: Job, workload: Workload, speedup: Speedup | SpeedupLaw, choices: int, rng: np.random.Generator) -> Job:
    room = workload.machine.slots(job.per_node)
    curve, most = speedup.draw(rng) if hasattr(speedup, "draw") else (speedup, room)
    least = int(rng.integers(1, job.nodes, endpoint=True))
    largest = int(rng.integers(job.nodes, max(job.nodes, min(room, most)), endpoint=True))
    sizes = np.unique(np.rint(np.linspace(least, largest, choices)).astype(np.int64))
    sizes = sizes[sizes != job.nodes]
    factors = (float(curve(np.array(job.nodes))) / curve(sizes)).tolist() if len(sizes) else []
    shapes = [
        Shape(size, math.ceil(job.runtime * factor), math.ceil(job.walltime * factor))
        for size, factor in zip(sizes.tolist(), factors, strict=True)
    ]
    return replace(job, shapes=tuple(shapes))
