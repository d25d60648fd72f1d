"""Cirne and Berman, JSSPP 2000: SA chooses the partition size of a moldable job."""

from __future__ import annotations

from ..outcome import Run
from .bushel_results import BUSHEL
from .downey_results import DOWNEY
from .nas_results import BENCHMARKS
from .recorded_logs import table1
from .several_machines import SEVERAL_MACHINES
from .speedup_figures import fig1, fig2

RUNS: dict[str, Run] = {
    "jsspp2000/table1": table1,
    "jsspp2000/fig1": fig1,
    "jsspp2000/fig2": fig2,
    **DOWNEY,
    **BENCHMARKS,
    **BUSHEL,
    **SEVERAL_MACHINES,
}

__all__ = ["RUNS"]
