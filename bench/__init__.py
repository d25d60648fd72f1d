"""Comparisons, campaigns and reports, and, in a checkout, studies: what is run, seldom imported."""

__all__: list[str] = []
