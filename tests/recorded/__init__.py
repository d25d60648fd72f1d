"""Digests of recorded schedules: `python -m recorded`, with `tests` in the path."""
