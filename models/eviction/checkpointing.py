"""Loss of a killed job, and duration of its checkpoints.

Sources: section III.B of the eviction paper (Maurya et al., DS-RT 2020), and J. T. Daly: "A higher order estimate of
the optimum checkpoint interval for restart dumps", Future Generation Computer Systems 22(3), 2006.
"""

import math
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ...base import check_number
from ...base.argument_types import names_wrong_types
from .evictable import RunningJob, Storage, Write, WritingJob, number

HOUR = 3600


class Sizes(Protocol):
    """How a job saves its state, such as :class:`hpcdispatch.workloads.Checkpoint`.

    Attributes
    ----------
    system_size, application_size
        GB per node of each kind of checkpoint, or ``None``. A system checkpoint of size 0 does not exist.
    interval
        Seconds between application checkpoints, or ``None``.
    write
        Seconds from the due time until an application checkpoint is written.
    restart
        Seconds that a job needs to restart after eviction.
    """

    @property
    def system_size(self) -> float | None: ...  # noqa: D102

    @property
    def application_size(self) -> float | None: ...  # noqa: D102

    @property
    def interval(self) -> int | None: ...  # noqa: D102

    @property
    def write(self) -> int: ...  # noqa: D102

    @property
    def restart(self) -> int: ...  # noqa: D102


@names_wrong_types
def checkpoint_time(sizes: ArrayLike, storage: Storage) -> float:
    """Return the seconds to write one job's checkpoint alone (equation 1).

    max(sum of sizes / aggregate bandwidth, largest size / bandwidth of a node). Sizes are in GB, one per node, shape
    (nodes,).

    Raises
    ------
    ValueError
        If there is no node, or a size is not finite or below 0.
    """
    each = np.asarray(sizes, dtype=np.float64)
    if each.ndim != 1 or not len(each) or not np.isfinite(each).all() or (each < 0).any():
        raise ValueError(f"checkpoint: sizes must be finite numbers >= 0, one for each node, got {sizes!r}")
    return Write(float(each.sum()), float(each.max()) / storage.node).alone(storage)


@names_wrong_types
def since_last(elapsed: float, interval: float | None, kept: float = 0, write: float = 0) -> float:
    """Return the seconds of work that a kill loses: those since the last application checkpoint.

    Parameters
    ----------
    elapsed
        Seconds of work since the start or restart of the job.
    interval
        Seconds of work between application checkpoints, or ``None``.
    kept
        Seconds of work saved before the restart.
    write
        Seconds from the due time until a checkpoint is written. Until then it does not count.
    """
    done = kept + elapsed
    return elapsed if interval is None or done < interval + write else min(elapsed, (done - write) % interval)


@names_wrong_types
def until_next(elapsed: float, interval: float, kept: float = 0) -> float:
    """Return the seconds of work until the next application checkpoint: above 0, at most `interval`."""
    return interval - (kept + elapsed) % interval


@names_wrong_types
def writing_job(
    id: str,
    nodes: int,
    elapsed: float,
    sizes: Sizes | None,
    storage: Storage,
    *,
    kept: float = 0,
    weight: int = 1,
    ends: float | None = None,
    unsure: float = 0,
) -> WritingJob:
    """Return a running job with its loss if killed and its possible checkpoints. Times are in seconds.

    Parameters
    ----------
    id, nodes
        Its name, and its number of nodes.
    elapsed
        Its work, as for :func:`since_last`.
    sizes
        Its checkpoint sizes, equal on each node. ``None`` if it has no checkpoints.
    storage
        Storage of the checkpoints.
    kept
        Its work that a checkpoint holds, as for :func:`since_last`.
    weight
        Loss per node-hour.
    ends
        Seconds until its predicted end. ``None`` to ignore it.
    unsure
        Probability that it does not end then, 0 to 1. In that case it is killed, at its loss by then.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    """
    elapsed = number(f"running job {id}", "elapsed", elapsed)
    interval = None if sizes is None else sizes.interval
    check_number(f"running job {id}: unsure", unsure, least=0, most=1)
    again = 0 if sizes is None else sizes.restart

    def lost(seconds: float) -> Fraction:
        """Return the loss of a kill after `seconds` of work."""
        written = 0 if sizes is None else sizes.write
        return weight * node_hours(nodes, since_last(seconds, interval, kept, written))

    restart = weight * node_hours(nodes, again)
    risk = Fraction(unsure) * (lost(elapsed + ends) + restart) if ends is not None else Fraction(0)
    system = application = None
    if sizes is not None and sizes.system_size:
        system = Write.even(nodes, sizes.system_size, storage)
    if sizes is not None and interval is not None and sizes.application_size is not None:
        application = Write.even(nodes, sizes.application_size, storage, until_next(elapsed, interval, kept))
    return WritingJob(id, nodes, lost(elapsed), system, application, restart, ends, risk)


@names_wrong_types
def running_job(
    id: str, nodes: int, elapsed: float, sizes: Sizes | None, storage: Storage, *, kept: float = 0
) -> RunningJob:
    """Return :func:`writing_job` for checkpoints written one after another. The loss is in node-hours."""
    return writing_job(id, nodes, elapsed, sizes, storage, kept=kept).alone(storage)


@names_wrong_types
def node_hours(nodes: int, seconds: float) -> Fraction:
    """Return the exact node-hours of some nodes over some seconds."""
    return nodes * Fraction(seconds) / HOUR


@names_wrong_types
def daly_interval(write: float, mtbf: float) -> float:
    """Return the work between two checkpoints that loses least to failures, in seconds (Daly's equation 37).

    d is the write time and M the mean time between failures, both above 0. The interval is
    sqrt(2 d M) (1 + sqrt(d / 2M) / 3 + (d / 2M) / 9) - d where d < 2M, and else M.

    Raises
    ------
    ValueError
        If an argument is not finite or not above 0.
    """
    for name, value in (("write", write), ("mtbf", mtbf)):
        number("checkpoint", name, value, above=True)
    if write >= 2 * mtbf:
        return mtbf
    part = write / (2 * mtbf)
    return math.sqrt(2 * write * mtbf) * (1 + math.sqrt(part) / 3 + part / 9) - write
