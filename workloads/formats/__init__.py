"""Traces and histories in files: the Standard Workload Format, Slurm's accounting, tables of run times."""
