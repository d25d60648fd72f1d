"""Age-weighted look-ahead with promises that bound the longest wait, and a guard that bounds it for any dispatcher."""

from __future__ import annotations

from .guard import Guard
from .guarded import Guarded, GuardedOptions
from .lookahead import Lookahead, LookaheadOptions

__all__ = ["Guard", "Guarded", "GuardedOptions", "Lookahead", "LookaheadOptions"]
