"""Job priorities: ``priority/multifactor`` of Slurm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import FloatArray, IntArray


class Weights(NamedTuple):
    """The weights of the factors, ``PriorityWeight...``, and ``PriorityMaxAge`` in seconds."""

    age: float
    fair_share: float
    job_size: float
    partition: float
    max_age: float


class Factors(NamedTuple):
    """What the priority of a job is made of: arrays of shape (jobs,).

    Attributes
    ----------
    age
        Seconds since the job could have started.
    fair_share, job_size, partition
        From 0 to 1.
    """

    age: FloatArray
    fair_share: FloatArray
    job_size: FloatArray
    partition: FloatArray


def priorities(weights: Weights, factors: Factors) -> IntArray:
    """Return the priorities, whole numbers of at least 1."""
    total = (
        weights.age * np.minimum(factors.age / weights.max_age, 1.0)
        + weights.fair_share * factors.fair_share
        + weights.job_size * factors.job_size
        + weights.partition * factors.partition
    )
    return np.maximum(total, 1.0).astype(np.int64)


def job_size(nodes: float, cpus: float, *, small: bool = False) -> float:
    """Return the size factor of a job that asks for these parts of the nodes and of the CPUs of the cluster.

    Parameters
    ----------
    nodes, cpus
        From 0 to 1.
    small
        ``PriorityFavorSmall``.
    """
    size = (nodes + cpus) / 2
    return min(max(1.0 - size if small else size, 0.0), 1.0)


def decay_over(half_life: float, seconds: float) -> float:
    """Return what is left of usage after so many seconds; all of it without a half-life.

    Slurm takes ln 2 for 0.693 and the exponential for its first two terms.
    """
    return (1.0 - 0.693 / half_life) ** seconds if half_life > 0 else 1.0
