"""Fair tree: users ranked by how little their branch of the accounts has used of its share.

Ryan Cox and Levi Morrison, "Fair Tree: fairshare algorithm for Slurm", Slurm User Group 2014; ties as in Slurm 22.05,
``src/plugins/priority/multifactor/fair_tree.c``: accounts on one level that tie are not merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf


@dataclass(slots=True)
class Association:
    """An account, or a user in one.

    Attributes
    ----------
    shares
        What it may use, beside those of the same parent; at least 0.
    user
        Whether it is a user, who has no children.
    children
        Accounts and users in an account.
    usage
        Decayed CPU-seconds, those of an account with those of its children.
    factor
        Of a user, the fair-share factor: its rank over the number of users, 1 the best.
    """

    shares: int = 1
    user: bool = False
    children: list[Association] = field(default_factory=list)
    usage: float = 0.0
    factor: float = 1.0


def rank_users(root: Association, users: int) -> None:
    """Set the factor of every user.

    Parameters
    ----------
    root
        The root of the accounts.
    users
        How many users there are.
    """
    _rank(root, [users, users], users, tied=False)


def _rank(parent: Association, ranks: list[int], users: int, *, tied: bool) -> None:
    """Rank the children of an account; `ranks` has the next rank among those that tie and the next without ties."""
    levels = _level_shares(parent)
    order = sorted(range(len(levels)), key=lambda child: (-levels[child], not parent.children[child].user))
    before = None
    for place, child in enumerate(order):
        association, level = parent.children[child], levels[child]
        same = tied if place == 0 and tied else level == before
        if association.user:
            if not same:
                ranks[0] = ranks[1]
            association.factor = ranks[0] / users
            ranks[1] -= 1
        else:
            _rank(association, ranks, users, tied=same)
        before = level


def _level_shares(parent: Association) -> Sequence[float]:
    """Return of each child its part of the shares over its part of the usage; above 1 it is owed something."""
    shares = sum(child.shares for child in parent.children)
    return [
        0.0 if not child.shares else (child.shares / shares) / (child.usage / parent.usage) if child.usage else inf
        for child in parent.children
    ]
