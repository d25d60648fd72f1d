"""Compiled queue, with EASY backfilling and list scheduling on it."""
