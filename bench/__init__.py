"""Comparisons, campaigns and the benchmarks: what is run, seldom imported."""

__all__: list[str] = []
