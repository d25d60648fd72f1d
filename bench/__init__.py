"""Comparisons, campaigns and reports; in a checkout also studies. Programs run them and seldom import them."""

__all__: list[str] = []
