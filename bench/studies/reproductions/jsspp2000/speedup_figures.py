"""Downey's speedup function: figures 1 and 2."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .....models.moldable import downey
from ..claims import by_construction
from ..outcome import Claim, Drawing, StudyOutcome, StudySettings

_SIZES = np.arange(1, 201)
_NOTES = ("The curves follow from the printed function. Its last branch is A, by a misprint An/A.",)


def fig1(means: StudySettings) -> StudyOutcome:
    """Return the speedup for several A, sigma being 1."""
    del means
    curves = {f"A = {most}": downey(_SIZES, most, 1.0) for most in (20, 60, 100, 150)}
    rising = all((more >= less).all() for less, more in pairwise(curves.values()))
    claim = Claim("The larger A, the more processors the job can use", rising, "the curves do not cross; the paper: so")
    return StudyOutcome(_NOTES, (), (by_construction(claim),), _drawing(curves))


def fig2(means: StudySettings) -> StudyOutcome:
    """Return the speedup for several sigma, A being 60."""
    del means
    curves = {f"sigma = {spread:g}": downey(_SIZES, 60.0, spread) for spread in (0.0, 0.5, 1.0, 1.5, 2.0)}
    falling = all((more >= less).all() for more, less in pairwise(curves.values()))
    claim = Claim("The smaller sigma, the closer to linear", falling, "the curves do not cross; the paper: so")
    return StudyOutcome(_NOTES, (), (by_construction(claim),), _drawing(curves))


def _drawing(curves: dict[str, Any]) -> Drawing:
    data: dict[str, list[Any]] = {"subject": [], "x": [], "y": []}
    for name, speedup in curves.items():
        data["subject"] += [name] * len(_SIZES)
        data["x"] += _SIZES.tolist()
        data["y"] += speedup.tolist()
    return Drawing("steps", data, "processors", "speedup")
