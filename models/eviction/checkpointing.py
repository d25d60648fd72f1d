"""What a running job loses if it is killed, and how long its checkpoints take.

Section III.B of the eviction paper (Maurya et al., DS-RT 2020), and J. T. Daly: "A higher order estimate of the optimum
checkpoint interval for restart dumps", Future Generation Computer Systems 22(3), 2006.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ...base.checks import check_number, check_whole
from .evictable import Loss, RunningJob, number

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
            number("storage", name, getattr(self, name), above=True)


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


@dataclass(frozen=True, slots=True)
class Write:
    """A checkpoint that is written.

    Attributes
    ----------
    volume
        Its size on all nodes, GB, at least 0.
    least
        Seconds it takes if the file system is no limit: that of the slowest node; at least 0.
    delay
        Seconds until it can begin, at least 0.

    Raises
    ------
    ValueError
        If a field is out of its range.
    """

    volume: float
    least: float
    delay: float = 0

    def __post_init__(self) -> None:
        for name in ("volume", "least", "delay"):
            object.__setattr__(self, name, number("write", name, getattr(self, name)))

    @classmethod
    def even(cls, nodes: int, size: float, storage: Storage, delay: float = 0) -> Write:
        """Return the checkpoint of `nodes` nodes with `size` GB each."""
        nodes, size = check_whole("checkpoint: nodes", nodes, 1), number("checkpoint", "size", size)
        return cls(nodes * size, size / storage.node, delay)

    def alone(self, storage: Storage) -> float:
        """Return the seconds that it takes, its delay not counted, if nothing else is written: equation 1."""
        return max(self.volume / storage.aggregate, self.least)

    def left(self, at: float) -> float:
        """Return the GB that are left at a time, at least: if it was written as fast as its nodes can."""
        since = at - self.delay
        return (
            self.volume * max(0.0, 1 - since / self.least) if since > 0 and self.least else self.volume * (since <= 0)
        )

    def later(self, seconds: float) -> Write:
        """Return it as it is so many seconds from now."""
        return replace(self, delay=max(0, self.delay - seconds))


@dataclass(frozen=True, slots=True)
class WritingJob:
    """A running job, and the checkpoints it can write.

    Attributes
    ----------
    id, nodes, loss
        As those of :class:`hpcdispatch.models.eviction.RunningJob`.
    system, application
        Its checkpoints; ``None`` where there can be none.
    restart, ends, risk
        As those of a running job.
    """

    id: str
    nodes: int
    loss: Loss
    system: Write | None = None
    application: Write | None = None
    restart: Loss = 0
    ends: float | None = None
    risk: Loss = 0

    def __post_init__(self) -> None:
        where = f"running job {self.id}"
        object.__setattr__(self, "nodes", check_whole(f"{where}: nodes", self.nodes, 1))
        for name in ("loss", "restart", "risk"):
            object.__setattr__(self, name, number(where, name, getattr(self, name)))
        object.__setattr__(self, "ends", number(where, "ends", self.ends, optional=True))

    def alone(self, storage: Storage, rounded: Callable[[float], float] = float) -> RunningJob:
        """Return it for checkpoints that are written one after another, the seconds of each rounded."""
        system, application = (
            None if write is None else write.delay + rounded(write.alone(storage))
            for write in (self.system, self.application)
        )
        return RunningJob(
            self.id, self.nodes, self.loss, system, application, restart=self.restart, ends=self.ends, risk=self.risk
        )


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
