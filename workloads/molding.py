"""Make rigid jobs moldable: every job gets alternative sizes."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..base import FloatArray, check_whole
from ..base.argument_types import names_wrong_types
from .job import Job, Shape
from .workload import Workload

#: Function from processors, an array of any shape, to speedups.
Speedup = Callable[[NDArray[Any]], FloatArray]


class SpeedupLaw(Protocol):
    """A source of random speedups of jobs, such as ``hpcdispatch.models.moldable.DowneyLaw``.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.models.moldable import DowneyLaw
    >>> from hpcdispatch.workloads import SpeedupLaw
    >>> law: SpeedupLaw = DowneyLaw()
    >>> speedup, most = law.draw(np.random.default_rng(1))
    >>> float(speedup(np.array([1]))[0])
    1.0
    """

    def draw(self, rng: np.random.Generator) -> tuple[Speedup, int]:
        """Return the speedup of a job, and the most processors that it can use."""
        ...


@names_wrong_types
def mold(workload: Workload, speedup: Speedup | SpeedupLaw, choices: int = 5, seed: int = 0) -> Workload:
    """Return the workload with moldable jobs.

    Let a job have n_u processors (slots on a machine of several nodes). It gets shapes on `choices` equally spaced
    sizes from n_min to n_max, rounded. Its own size is left out. The least size, n_min, is uniform in 1 to n_u. The
    largest, n_max, is uniform. It lies between n_u and the most processors that the job can use on the machine. Run
    time and walltime of a shape are the job's times S(n_u) / S(n), rounded up. On a pool, the other amounts of a job
    are scaled with its processors. Jobs with shapes, or without processors, are not changed.

    Parameters
    ----------
    workload
        The workload to mold; it is not changed.
    speedup
        S of every job, or a source of random ones.
    choices
        Number of sizes, at least 2.
    seed
        Of the random numbers.

    Raises
    ------
    ValueError
        If `choices` is below 2.

    References
    ----------
    Cirne and Berman: "Adaptive selection of partition size for supercomputer requests", JSSPP 2000, section 3.3.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.models.moldable import DowneyLaw
    >>> from hpcdispatch.workloads import mold
    >>> molded = mold(hd.generate("lublin", jobs=20, processors=64, seed=1), DowneyLaw(), choices=3)
    >>> sum(len(job.shapes) > 0 for job in molded.jobs)
    19
    """
    check_whole("choices", choices, 2)
    rng = np.random.default_rng(seed)
    jobs = [job if job.shapes else _molded(job, workload, speedup, choices, rng) for job in workload.jobs]
    note = f"jobs got {choices} sizes each (seed {seed})"
    provenance = replace(workload.provenance, notes=(*workload.provenance.notes, note))
    return Workload(jobs, workload.machine, provenance, workload.records)


def _molded(job: Job, workload: Workload, speedup: Speedup | SpeedupLaw, choices: int, rng: np.random.Generator) -> Job:
    machine = workload.machine
    pooled = machine.nodes == 1
    primary = machine.resources[machine.primary]
    own = job.nodes * job.per_node.get(primary, 0) if pooled else job.nodes
    if not own:
        return job
    room = int(machine.capacity[0, machine.primary]) if pooled else machine.slots(job.per_node)
    curve, most = speedup.draw(rng) if hasattr(speedup, "draw") else (speedup, room)
    least = int(rng.integers(1, own, endpoint=True))
    largest = int(rng.integers(own, max(own, min(room, most)), endpoint=True))
    sizes = np.unique(np.rint(np.linspace(least, largest, choices)).astype(np.int64))
    sizes = sizes[sizes != own]
    factors = (float(curve(np.array(own))) / curve(sizes)).tolist() if len(sizes) else []
    shapes = []
    for size, factor in zip(sizes.tolist(), factors, strict=True):
        nodes, per_node = size, job.per_node
        if pooled:  # in one slot, with another number of processors
            nodes = 1
            per_node = {name: math.ceil(amount * job.nodes * size / own) for name, amount in job.per_node.items()}
        if machine.slots(per_node) >= nodes:
            shapes.append(Shape(nodes, math.ceil(job.runtime * factor), math.ceil(job.walltime * factor), per_node))
    return replace(job, shapes=tuple(shapes))
