"""The mathematics of a portfolio: what a replay is worth, who stays in the running, and when to change."""

from .goals import Bound, Goal, Means, Outcome
from .pool_replay import (
    EASY_FIRST_COME,
    EASY_SHORTEST_FIRST,
    LOOKAHEAD,
    Decider,
    PoolPast,
    go_on_replaying,
    pool_replay,
    waits_until,
)
from .screening import Rung, admitted, best_of, gains, rungs, survivors

__all__ = [
    "EASY_FIRST_COME",
    "EASY_SHORTEST_FIRST",
    "LOOKAHEAD",
    "Bound",
    "Decider",
    "Goal",
    "Means",
    "Outcome",
    "PoolPast",
    "Rung",
    "admitted",
    "best_of",
    "gains",
    "go_on_replaying",
    "pool_replay",
    "rungs",
    "survivors",
    "waits_until",
]
