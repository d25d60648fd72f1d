"""A dispatcher that chooses among others by replays of the recent past."""

from ...models.portfolio.goals import Goal, Means, Outcome
from .compiled_replays import CompiledReplays
from .portfolio import Portfolio
from .portfolio_options import PortfolioOptions, portfolio_goals
from .recorded_past import Past, Replay, ReplayResult

__all__ = [
    "CompiledReplays",
    "Goal",
    "Means",
    "Outcome",
    "Past",
    "Portfolio",
    "PortfolioOptions",
    "Replay",
    "ReplayResult",
    "portfolio_goals",
]
