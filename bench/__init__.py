"""Comparisons, campaigns, reports, benchmarks and reproductions: what is run, seldom imported."""

__all__: list[str] = []
