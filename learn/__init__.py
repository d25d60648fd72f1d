"""Gymnasium environments for learned dispatchers, and their policies as dispatchers."""

__all__: list[str] = []
