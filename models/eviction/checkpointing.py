"""What a running job loses if it is killed, and how long its checkpoints take.

Section III.B of the eviction paper (Maurya et al., DS-RT 2020), and J. T. Daly: "A higher order estimate of the optimum
checkpoint interval for restart dumps", Future Generation Computer Systems 22(3), 2006.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ...base.checks import check_number
from .evictable import RunningJob, Storage, Write, WritingJob, number

HOUR = 3600


class Sizes(Protocol):
    """How a job saves its state, such as :class:`hpcdispatch.workloads.Checkpoint`.

    Attributes
    ----------
    system_size, application_size
        Of a checkpoint of each kind, GB a node; ``None`` where there is none. A system checkpoint of size 0 is none.
    interval
        Seconds between application checkpoints; ``None`` if there are none.
    write
        Seconds at the end of which one that falls due is written.
    restart
        Seconds before it works on after it gave way.
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
    return Write(float(each.sum()), float(each.max()) / storage.node).alone(storage)


def since_last(elapsed: float, interval: float | None, kept: float = 0, write: float = 0) -> float:
    """Return the seconds of work that a kill loses: those since the last application checkpoint.

    Parameters
    ----------
    elapsed
        Seconds of work since the job started or went on from a checkpoint.
    interval
        Seconds of work between application checkpoints; ``None`` if there are none.
    kept
        Seconds of work that it had done before, and goes on from.
    write
        Seconds at the end of which a checkpoint that falls due is written; until then it does not count.
    """
    done = kept + elapsed
    return elapsed if interval is None or done < interval + write else min(elapsed, (done - write) % interval)


def until_next(elapsed: float, interval: float, kept: float = 0) -> float:
    """Return the seconds of work until the next application checkpoint begins, above 0 and at most `interval`."""
    return interval - (kept + elapsed) % interval


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
    """Return a running job with what a kill loses and the checkpoints it can write; times in seconds.

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
    weight
        What is lost with a node-hour.
    ends
        Seconds until it is predicted to end by itself; ``None`` where that is not relied on.
    unsure
        The probability that it does not, 0 to 1; it is then killed, at the loss that it has by then.

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
        """Return what a kill loses when it has worked so long."""
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


def running_job(
    id: str, nodes: int, elapsed: float, sizes: Sizes | None, storage: Storage, *, kept: float = 0
) -> RunningJob:
    """Return :func:`writing_job` for checkpoints that are written one after another; its loss is in node-hours."""
    return writing_job(id, nodes, elapsed, sizes, storage, kept=kept).alone(storage)


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
        number("checkpoint", name, value, above=True)
    if write >= 2 * mtbf:
        return mtbf
    part = write / (2 * mtbf)
    return math.sqrt(2 * write * mtbf) * (1 + math.sqrt(part) / 3 + part / 9) - write
