"""Age-weighted look-ahead with guaranteed starts, and a guard that bounds waits under any dispatcher."""

from .guard import Guard
from .guarded import Guarded, GuardedOptions
from .lookahead import Lookahead, LookaheadOptions

__all__ = ["Guard", "Guarded", "GuardedOptions", "Lookahead", "LookaheadOptions"]
