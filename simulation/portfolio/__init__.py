"""Replays of the recent past, from which a portfolio learns whom to choose."""

from .replaying import Replayer, let_learn

__all__ = ["Replayer", "let_learn"]
