"""How long checkpoints take, and what is lost without one.

Section III.B of the eviction paper (Maurya et al., DS-RT 2020), and J. T. Daly: "A higher order estimate of the optimum
checkpoint interval for restart dumps", Future Generation Computer Systems 22(3), 2006.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from .running_jobs import RunningJob, number, whole

HOUR = 3600


@dataclass(frozen=True, slots=True)
class Storage:
    """What checkpoints are written to. The defaults are Theta's.

    Attributes
    ----------
    aggregate
        Bandwidth of the file system, GB/s, above 0.
    node
        The most that one node writes, GB/s, above 0.

    Raises
    ------
    ValueError
        If one of them is no finite number above 0.
    """

    aggregate: float = 250.0
    node: float = 0.7

    def __post_init__(self) -> None:
        for name in ("aggregate", "node"):
            if not number("storage", name, getattr(self, name), "a finite number > 0"):
                raise ValueError(f"storage: {name} must be a finite number > 0, got 0")


class Sizes(Protocol):
    """How a job saves its state, such as :class:`hpcdispatch.workloads.Checkpoint`.

    Attributes
    ----------
    system_size, application_size
        Of a checkpoint of each kind, GB a node. A system checkpoint of size 0 is one that there is not.
    interval
        Seconds between application checkpoints; ``None`` if there are none.
    """

    @property
    def system_size(self) -> float: ...  # noqa: D102

    @property
    def application_size(self) -> float: ...  # noqa: D102

    @property
    def interval(self) -> int | None: ...  # noqa: D102


def checkpoint_time(sizes: ArrayLike, storage: Storage) -> float:
    """Return the seconds that a checkpoint of a job takes that writes alone: equation 1.

    max(sum of sizes / aggregate bandwidth, largest size / bandwidth of a node), with sizes in GB, one for each node,
    shape (nodes,).

    Raises
    ------
    ValueError
        If there is no node or a size is no finite number of at least 0.
    """
    each = np.asarray(sizes, dtype=np.float64)
    if each.ndim != 1 or not len(each) or not np.isfinite(each).all() or (each < 0).any():
        raise ValueError(f"checkpoint: sizes must be finite numbers >= 0, one for each node, got {sizes!r}")
    return max(float(each.sum()) / storage.aggregate, float(each.max()) / storage.node)


def even_checkpoint_time(nodes: int, size: float, storage: Storage) -> float:
    """Return :func:`checkpoint_time` of `nodes` nodes with `size` GB each."""
    nodes, size = whole("checkpoint", "nodes", nodes, 1), number("checkpoint", "size", size)
    return max(nodes * size / storage.aggregate, size / storage.node)


def since_last(elapsed: float, interval: float | None, kept: float = 0) -> float:
    """Return the seconds of work that a kill loses: those since the last application checkpoint.

    Parameters
    ----------
    elapsed
        Seconds of work since the job started or went on from a checkpoint.
    interval
        Seconds of work between application checkpoints; ``None`` if there are none.
    kept
        Seconds of work that it had done before, and goes on from.
    """
    return elapsed if interval is None else min(elapsed, (kept + elapsed) % interval)


def until_next(elapsed: float, interval: float, kept: float = 0) -> float:
    """Return the seconds of work until the next application checkpoint begins, above 0 and at most `interval`."""
    return interval - (kept + elapsed) % interval


def running_job(
    id: str, nodes: int, elapsed: float, sizes: Sizes | None, storage: Storage, *, kept: float = 0
) -> RunningJob:
    """Return a running job as it stands in the eviction problem; times in seconds, the loss in node-hours.

    Parameters
    ----------
    id, nodes
        Its name, and the nodes it runs on.
    elapsed, kept
        Its work, as for :func:`since_last`.
    sizes
        How it saves its state, the same on each node; ``None`` if it cannot.
    storage
        What it writes to.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    """
    elapsed = number(f"running job {id}", "elapsed", elapsed)
    system = application = None
    if sizes is not None and sizes.system_size:
        system = even_checkpoint_time(nodes, sizes.system_size, storage)
    if sizes is not None and sizes.interval is not None:
        write = even_checkpoint_time(nodes, sizes.application_size, storage)
        application = until_next(elapsed, sizes.interval, kept) + write
    since = since_last(elapsed, None if sizes is None else sizes.interval, kept)
    return RunningJob(id, nodes, node_hours(nodes, since), system, application)


def node_hours(nodes: int, seconds: float) -> Fraction:
    """Return the work of some nodes in some seconds, exactly."""
    return nodes * Fraction(seconds) / HOUR


def daly_interval(write: float, mtbf: float) -> float:
    """Return the seconds of work between two checkpoints that lose the least to failures; Daly's equation 37.

    With the time d of writing one and the mean time M between failures, both above 0, it is
    sqrt(2 d M) (1 + sqrt(d / 2M) / 3 + (d / 2M) / 9) - d where d < 2M, and else M.

    Raises
    ------
    ValueError
        If an argument is no finite number above 0.
    """
    for name, value in (("write", write), ("mtbf", mtbf)):
        if not number("checkpoint", name, value, "a finite number > 0"):
            raise ValueError(f"checkpoint: {name} must be a finite number > 0, got 0")
    if write >= 2 * mtbf:
        return mtbf
    part = write / (2 * mtbf)
    return math.sqrt(2 * write * mtbf) * (1 + math.sqrt(part) / 3 + part / 9) - write
