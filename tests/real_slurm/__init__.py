"""A real Slurm on this machine alone: `python -m real_slurm COMMAND`, with `tests` in the path."""
