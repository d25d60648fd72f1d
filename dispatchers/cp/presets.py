"""The columns of Table 1 of the paper on PCP and HCP (Galleguillos et al., CP 2019), as dispatchers by themselves."""

from __future__ import annotations

from ..options import Preset
from .constraint_programming import ConstraintProgramming
from .cp_options import ConstraintProgrammingOptions, Formulation

_FIXED = frozenset(("formulation", "version", "reduced", "underestimates", "durations"))


def _column(formulation: Formulation, version: int, summary: str) -> Preset[ConstraintProgramming]:
    # Without the reduction there is no choice of candidates; who must have nodes is asked with PCP only.
    fixed = _FIXED | ({"filter"} if formulation == "pcp" else {"horizon"})
    if version or formulation == "pcp":
        fixed |= {"rest"}
    if not version:
        fixed |= {"horizon", "filter", "blocked", "iterations", "solver"}
    return Preset(ConstraintProgramming, ConstraintProgrammingOptions(formulation, version), summary, fixed)


HCP = _column(
    "hcp",
    0,
    "HCP of Borghesi et al. (CP 2015): all jobs in the model, those past the first m at the end of the horizon.",
)
HCP1 = _column("hcp", 1, "HCP with a reduced model and search control.")
HCP2 = _column("hcp", 2, "HCP1 that copes with underestimated durations.")
HCP3 = _column("hcp", 3, "HCP2 that minimises the sum of slowdowns.")
PCP = _column("pcp", 0, "PCP of Bartolini et al. (CP 2014): all jobs and all nodes in the model.")
PCP1 = _column("pcp", 1, "PCP with a reduced model and search control.")
PCP2 = _column("pcp", 2, "PCP1 that copes with underestimated durations.")
PCP3 = _column("pcp", 3, "PCP2 that minimises the sum of slowdowns, searched from the priority order.")
