"""A dispatcher that chooses among others by replays of the recent past."""

from ...base.old_names import with_old_names
from ...models.portfolio.goals import Means, PortfolioGoal, ReplayMetrics
from .compiled_replays import CompiledReplays
from .portfolio import Portfolio
from .portfolio_options import PortfolioOptions, portfolio_goals
from .recorded_past import Past, Replay, ReplayResult

__all__ = [
    "CompiledReplays",
    "Means",
    "Past",
    "Portfolio",
    "PortfolioGoal",
    "PortfolioOptions",
    "Replay",
    "ReplayMetrics",
    "ReplayResult",
    "portfolio_goals",
]

__getattr__ = with_old_names(__name__, {"Goal": "PortfolioGoal", "Outcome": "ReplayMetrics"})
