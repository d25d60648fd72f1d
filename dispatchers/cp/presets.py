"""The columns of Table 1 of the paper on PCP and HCP (Galleguillos et al., CP 2019), as dispatchers by themselves."""

from __future__ import annotations

from typing import ClassVar

from .constraint_programming import ConstraintProgramming, Formulation, Horizon, LimitKind


class _Preset(ConstraintProgramming):
    """A column of the paper's Table 1."""

    _formulation: ClassVar[Formulation]
    _version: ClassVar[int]

    def __init__(
        self,
        m: int = 100,
        ewt: str = "measured",
        limit: LimitKind = "deterministic",
        d: float | None = None,
        d_max: float | None = None,
        k: int = 2,
        iterations: int = 0,
    ) -> None:
        super().__init__(
            self._formulation, self._version, m=m, ewt=ewt, limit=limit, d=d, d_max=d_max, k=k, iterations=iterations
        )


class HCP(_Preset):
    """HCP of Borghesi et al. (CP 2015): all jobs in the model, those past the first m at the end of the horizon."""

    _formulation, _version = "hcp", 0


class HCP1(_Preset):
    """HCP with a reduced model and search control."""

    _formulation, _version = "hcp", 1


class HCP2(_Preset):
    """HCP1 that copes with underestimated durations."""

    _formulation, _version = "hcp", 2


class HCP3(_Preset):
    """HCP2 that minimises the sum of slowdowns."""

    _formulation, _version = "hcp", 3


class _PlacedPreset(_Preset):
    """The same with the nodes in the model, by decomposition."""

    def __init__(
        self,
        m: int = 100,
        ewt: str = "measured",
        limit: LimitKind = "deterministic",
        d: float | None = None,
        d_max: float | None = None,
        k: int = 2,
        iterations: int = 0,
        horizon: Horizon = "now",
    ) -> None:
        ConstraintProgramming.__init__(
            self, self._formulation, self._version, horizon=horizon, m=m, ewt=ewt, limit=limit, d=d, d_max=d_max, k=k,
            iterations=iterations,
        )  # fmt: skip


class PCP(_Preset):
    """PCP of Bartolini et al. (CP 2014): all jobs and all nodes in the model."""

    _formulation, _version = "pcp", 0


class PCP1(_PlacedPreset):
    """PCP with a reduced model and search control."""

    _formulation, _version = "pcp", 1


class PCP2(_PlacedPreset):
    """PCP1 that copes with underestimated durations."""

    _formulation, _version = "pcp", 2


class PCP3(_PlacedPreset):
    """PCP2 that minimises the sum of slowdowns, searched from the priority order."""

    _formulation, _version = "pcp", 3
