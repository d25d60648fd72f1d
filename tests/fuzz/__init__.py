"""Inputs drawn from seeds: `python -m fuzz --count N`, with `tests` in the path."""
