"""Inputs drawn from seeds: `python -m fuzz --long SECONDS`, with `tests` in the path, for hours."""
