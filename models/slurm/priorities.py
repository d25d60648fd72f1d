"""Job priorities: Slurm's ``priority/multifactor`` with fair tree.

Fair tree ranks users by the use of their branch of the accounts, relative to its share. Source: Ryan Cox and Levi
Morrison, "Fair Tree: fairshare algorithm for Slurm", Slurm User Group 2014. Ties are as in Slurm 22.05,
``src/plugins/priority/multifactor/fair_tree.c``: tied accounts on one level are not merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

import numpy as np

from ...base import FloatArray, IntArray


class Weights(NamedTuple):
    """Weights of the factors, ``PriorityWeight...``. `max_age` is ``PriorityMaxAge`` in seconds."""

    age: float
    fair_share: float
    job_size: float
    partition: float
    max_age: float
    qos: float = 0.0


class Factors(NamedTuple):
    """Factors of job priorities: arrays of shape (jobs,).

    Attributes
    ----------
    age
        Seconds since the job was first eligible to start.
    fair_share, job_size, partition, qos
        From 0 to 1.
    further
        Points beside the weights: those of ``PriorityWeightTRES``, less ``--nice``.
    """

    age: FloatArray
    fair_share: FloatArray
    job_size: FloatArray
    partition: FloatArray
    qos: FloatArray | float = 0.0
    further: FloatArray | float = 0.0


def priorities(weights: Weights, factors: Factors) -> IntArray:
    """Return the priorities, integers of at least 1."""
    total = (
        weights.age * np.minimum(factors.age / weights.max_age, 1.0)
        + weights.fair_share * factors.fair_share
        + weights.job_size * factors.job_size
        + weights.partition * factors.partition
        + weights.qos * factors.qos
        + factors.further
    )
    return np.maximum(total, 1.0).astype(np.int64)


def job_size(nodes: float, cpus: float, *, small: bool = False) -> float:
    """Return the size factor of a job that needs these shares of the cluster's nodes and CPUs.

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
    """Return the share of usage left after some seconds. All of it without a half-life.

    Slurm uses 0.693 for ln 2, and the first two terms of the exponential.
    """
    return (1.0 - 0.693 / half_life) ** seconds if half_life > 0 else 1.0


@dataclass(slots=True)
class Association:
    """An account, or a user in an account.

    Attributes
    ----------
    shares
        Its shares relative to those of the same parent, at least 0.
    inherits
        Whether it has the shares of its parent (``Share=parent``). Then a user has the level of its account, and the
        children of an account are compared with those of its parent.
    user
        Whether it is a user. A user has no children.
    children
        Accounts and users in an account.
    usage
        Decayed CPU-seconds. An account includes its children.
    factor
        Fair-share factor of a user: its rank over the number of users, 1 for the best.
    """

    shares: int = 1
    user: bool = False
    children: list[Association] = field(default_factory=list)
    usage: float = 0.0
    factor: float = 1.0
    inherits: bool = False


def rank_users(root: Association, users: int) -> None:
    """Set the factor of every user.

    Parameters
    ----------
    root
        Root of the accounts.
    users
        Number of users.
    """
    _rank(root, [users, users], users, 1.0, tied=False)


def _rank(parent: Association, ranks: list[int], users: int, level: float, *, tied: bool) -> None:
    """Rank the children of an account of some level. `ranks` holds the next rank among ties, and without ties."""
    children = _children(parent)
    levels = _level_shares(children, parent.usage, level)
    order = sorted(range(len(levels)), key=lambda child: (-levels[child], not children[child].user))
    before = None
    for place, child in enumerate(order):
        association = children[child]
        own = levels[child]
        same = tied if place == 0 and tied else own == before
        if association.user:
            if not same:
                ranks[0] = ranks[1]
            association.factor = ranks[0] / users
            ranks[1] -= 1
        else:
            _rank(association, ranks, users, own, tied=same)
        before = own


def _children(parent: Association) -> Sequence[Association]:
    """Return the children of an account, with those of accounts that have its shares in their place."""
    if not any(child.inherits and not child.user for child in parent.children):
        return parent.children
    return [
        each
        for child in parent.children
        for each in (_children(child) if child.inherits and not child.user else [child])
    ]


def _level_shares(children: Sequence[Association], usage: float, level: float) -> Sequence[float]:
    """Return each child's share of the shares over its share of the usage. Above 1 it used too little.

    A user with the shares of its account has the account's `level`.
    """
    shares = sum(child.shares for child in children if not child.inherits)
    return [
        level
        if child.inherits
        else 0.0
        if not child.shares
        else (child.shares / shares) / (child.usage / usage)
        if child.usage
        else inf
        for child in children
    ]
