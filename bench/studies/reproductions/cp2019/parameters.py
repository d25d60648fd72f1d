"""Choices for parameters that the CP 2019 paper does not print."""

from __future__ import annotations

from ..outcome import Parameter, Scale
from . import contenders as runs
from .eurora import EXPECTED_WAITS

#: Options of HCP3 and HCP1 with other values for unprinted parameters. Each names the run it varies.
VARIANTS = {
    "HCP3-D, no local search": ("HCP3-D", "iterations=0"),
    "HCP1-W, all queues alike": ("HCP1-W", "ewt=3600"),
}


def parameters(scale: Scale) -> tuple[Parameter, ...]:
    """Return these parameters. The rows of ``cp2019/fig3`` measure other values."""
    see = "rows of cp2019/fig3 at its end"
    page = "bench/studies/pages/cp.md"
    return (
        Parameter("jobs", f"{runs.JOBS[scale]:,} of a generator", "the paper's figures of its trace", page),
        Parameter("expected waits of the queues", EXPECTED_WAITS, "the queues' default requests", f"{see}: ewt"),
        Parameter("steps of local search", "1,000", "another trace, KTH-SP2", f"{see}: no local search"),
        Parameter(
            "limit of the solver, deterministic seconds",
            "PCP 0.01 to 0.16, HCP 0.0005 to 0.008",
            "d = 1 s, d_max = 16 s on the wall clock",
            "not run",
        ),
        Parameter("jobs after the first m, HCP", "not in the model", "the authors' code", f"{see}: HCP as printed"),
        Parameter("PBS", "queues by priority, EASY within", "the manual of PBS Professional", "EASY-W beside it"),
    )
