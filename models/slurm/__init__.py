"""Algorithms of Slurm's scheduler: priorities, node choice, the main scheduler and backfill."""
