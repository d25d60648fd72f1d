"""Replays of the recent past, from which a portfolio learns which dispatcher to choose."""

from .replaying import Replayer, let_learn

__all__ = ["Replayer", "let_learn"]
