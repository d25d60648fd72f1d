"""Logs of workflows like those at Vanderbilt: sizes of inputs and run times.

Gainaru, Sun, Aupy, Huo, Landman, Raghavan: "On-the-fly scheduling vs. reservation-based scheduling for unpredictable
workflows", IJHPCA 2019, Table 1. The logs are not public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .....base import InputError

#: Times begin this many standard deviations of noise above zero.
_FLOOR = 6


@dataclass(frozen=True, slots=True)
class WorkflowModel:
    """A workflow with the run time ``c0 + c1 * n**power * log(1 + n)**logarithm`` plus normal noise.

    Attributes
    ----------
    name, description
        As in Table 1.
    correlation
        Correlation of time with the growth term, in [0, 1). It sets c1. A constant time has none.
    mse
        Variance of the noise, > 0, in squared units of time.
    power, logarithm
        Exponents of the complexity class. The class is constant if both are 0.
    printed
        Whether the paper prints the class. If not, it is ours.
    runs
        How many, at least 1.
    sizes
        Least and most of the inputs, MB. Their logarithms are uniform in between.
    """

    name: str
    description: str
    correlation: float
    mse: float
    power: int
    logarithm: int
    printed: bool
    runs: int = 500
    sizes: tuple[float, float] = (10.0, 1000.0)

    def __post_init__(self) -> None:
        low, high = self.sizes
        for name, good, expected in (
            ("correlation", 0 <= self.correlation < 1, "a number in [0, 1)"),
            ("mse", 0 < self.mse < np.inf, "a number > 0"),
            ("power", self.power >= 0, "a whole number >= 0"),
            ("logarithm", self.logarithm >= 0, "a whole number >= 0"),
            ("runs", self.runs >= 1, "a whole number >= 1"),
            ("sizes", 0 < low < high < np.inf, "0 < least < most"),
        ):
            if not good:
                raise InputError(f"workflow {self.name}: {name}: expected {expected}, got {getattr(self, name)!r}")

    def log(self, seed: int = 0) -> pd.DataFrame:
        """Generate runs. Columns ``workflow``, ``size`` (MB) and ``time`` (square root of the unit of `mse`).

        Raises
        ------
        InputError
            If the seed is negative.
        """
        if seed < 0:
            raise InputError(f"seed: expected a whole number >= 0, got {seed!r}")
        rng = np.random.default_rng((seed, *self.name.encode()))
        low, high = np.log(self.sizes)
        size = np.exp(rng.uniform(low, high, self.runs))
        g = size**self.power * np.log1p(size) ** self.logarithm
        noise = np.sqrt(self.mse)
        spread = g.std()
        share = self.correlation / np.sqrt(1 - self.correlation**2)
        grown = noise * share * (g - g.min()) / spread if spread > 0 else 0 * g
        time = np.maximum(_FLOOR * noise + grown + noise * rng.standard_normal(self.runs), 0.0)
        return pd.DataFrame({"workflow": self.name, "size": size.round(6), "time": time.round(6)})


#: Correlations and mean squared errors come from Table 1. Section 3.2 names three classes. Figure 1 has 500 runs of
#: Multi-Atlas and dtiQA_v2. They write some tens of MB within 10%, and a few MB to GBs (section 3.1). The other
#: classes, counts, sizes and the level of all times are not printed. They are ours.
TABLE1 = (
    WorkflowModel("fMRIQA_v2", "Functional QA and pre-processing", 0.82, 3.95, 1, 1, True),
    WorkflowModel("MAGM_Normalize_v1", "Fusion of structure and diffusion", 0.06, 5.81, 0, 0, False),
    WorkflowModel("Bedpost_v1", "Probabilistic diffusion tractography", 0.89, 1861.0, 1, 0, False),
    WorkflowModel("pasmri_v1", "Diffusion model fitting", 0.88, 13264.0, 2, 0, False),
    WorkflowModel("dtiQA_v2", "Diffusion QA and pre-processing", 0.64, 1049.76, 2, 1, True, sizes=(5.0, 5000.0)),
    WorkflowModel("Multi-Atlas", "Whole brain segmentation", 0.04, 3795.97, 0, 0, True, sizes=(28.0, 32.0)),
)


def workflow_logs(models: Sequence[WorkflowModel] = TABLE1, seed: int = 0) -> pd.DataFrame:
    """Generate the runs of workflows.

    Parameters
    ----------
    models
        The workflows, by default those of Table 1.
    seed
        Seed. Each workflow has its own random numbers, independent of the others.

    Returns
    -------
    pandas.DataFrame
        Columns ``workflow``, ``size`` (MB) and ``time``, one row per run.

    Raises
    ------
    InputError
        If there is no workflow, or the seed is negative.
    """
    if not models:
        raise InputError("models: expected at least one workflow, got none")
    return pd.concat([model.log(seed) for model in models], ignore_index=True)
