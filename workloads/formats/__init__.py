"""Traces and histories in files: the Standard Workload Format, Slurm's accounting records, tables of run times."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
