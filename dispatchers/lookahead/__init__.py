"""Age-weighted look-ahead with promises that bound the longest wait."""

from __future__ import annotations

from .lookahead import Lookahead, LookaheadOptions

__all__ = ["Lookahead", "LookaheadOptions"]
