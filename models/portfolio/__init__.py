"""Algorithms of a portfolio: the cost of a replay, the selection of candidates, and when to change."""

from .goals import Bound, Goal, Means, Outcome
from .pool_replay import PoolPast, PoolReplay, Run
from .screening import Rung, admitted, best_of, gains, rungs, survivors

__all__ = [
    "Bound",
    "Goal",
    "Means",
    "Outcome",
    "PoolPast",
    "PoolReplay",
    "Run",
    "Rung",
    "admitted",
    "best_of",
    "gains",
    "rungs",
    "survivors",
]
