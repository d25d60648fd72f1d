"""What a script or a notebook calls: workloads by name, simulations and comparisons with progress.

:mod:`hpcdispatch` shows these names.
"""

from .runs import compare, simulate
from .workload_names import fetch, workload_of

__all__ = ["compare", "fetch", "simulate", "workload_of"]
