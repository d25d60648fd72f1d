"""The mathematics of a portfolio: what a replay is worth, who stays in the running, and when to change."""

from .goals import Bound, Goal, Means, Outcome
from .pool_replay import (
    EASY_FIRST_COME,
    EASY_SHORTEST_FIRST,
    LOOKAHEAD,
    Decider,
    PoolPast,
    PoolReplay,
    pool_replay,
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
    "PoolReplay",
    "Rung",
    "admitted",
    "best_of",
    "gains",
    "pool_replay",
    "rungs",
    "survivors",
]
