"""Public run times and memory of the authors' applications. They stand for logs that are not public."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from .....base import FloatArray
from .....workloads import fetch
from ..claims import LEAST
from ..outcome import Claim, ComparedFigure, Drawing, StudyOutcome

#: Applications by names of their run-time files (seconds).
APPLICATIONS = {"SLANT brain segmentation": "slant-walltime", "CT eye segmentation": "ct-eye-segmentation"}
_HOUR, _GB = 3600.0, 1024.0
#: Ranges that run times are sorted into.
_RANGES = (2, 3, 4, 5, 8, 10, 15, 20)
#: Runs that are known before the first one is predicted.
_KNOWN = 20
NOTE = (
    "Public instead, by the same group, are data of iSBatch (BSD 3-Clause; `hpcdispatch.fetch`, checked by SHA-256). "
    "They are the run times of 88 runs of SLANT and of 300 runs of a CT eye segmentation, and the memory of a run of "
    "SLANT over time. They are other applications than the paper's."
)


@cache
def run_times() -> Mapping[str, FloatArray]:
    """Return the run times of each application, in hours and file order."""
    return {name: np.loadtxt(fetch(file), ndmin=1) / _HOUR for name, file in APPLICATIONS.items()}


@cache
def memory() -> FloatArray:
    """Return the memory of a run of SLANT. Hours since its start and GB, shape (samples, 2)."""
    samples: FloatArray = np.loadtxt(fetch("slant-memory"), delimiter=",", ndmin=2) / (_HOUR, _GB)
    return samples


def run_by_run(reason: str, claims: tuple[Claim, ...]) -> StudyOutcome:
    """Return the run times by run. Figure 1 has those of two workflows."""
    data: dict[str, list[Any]] = {"subject": [], "x": [], "y": []}
    for name, hours in run_times().items():
        data["subject"] += [name] * len(hours)
        data["x"] += list(range(1, len(hours) + 1))
        data["y"] += hours.tolist()
    return StudyOutcome(
        (reason, NOTE), tuple(_ranges(run_times())), claims, Drawing("points", data, "run", "run time, h")
    )


def ranges(reason: str, claims: tuple[Claim, ...]) -> StudyOutcome:
    """Return the ranges of run time, as in figure 2 for 31 workflows. Also check that they are as wide."""
    data: dict[str, list[Any]] = {name: [] for name in ("panel", "subject", "x", "value", "low", "high")}
    for place, (name, hours) in enumerate(run_times().items()):
        low, middle, high = np.quantile(hours, (0.1, 0.5, 0.9)).tolist()
        for column, value in zip(data.values(), ("run time, h", name, place, middle, low, high), strict=True):
            column.append(value)
    spans = {name: float(hours.max() / hours.min()) for name, hours in run_times().items()}
    evidence = ", ".join(f"{name} {span:.1f} times" for name, span in spans.items())
    wide = Claim(
        "Ours: the run times of most of the public applications vary by more than an order of magnitude",
        sum(span > 10 for span in spans.values()) > len(spans) / 2,
        f"{evidence}, longest over shortest",
    )
    drawing = Drawing("lines", data, x_ticks=tuple(APPLICATIONS))
    note = "Points of the figure: medians; intervals: the 10th to 90th percentiles."
    return StudyOutcome((reason, NOTE, note), tuple(_ranges(run_times())), (*claims, wide), drawing)


def over_time(reason: str, claims: tuple[Claim, ...]) -> StudyOutcome:
    """Return the memory of a run of SLANT over time. It is nearest to the phases of figure 10."""
    hours, used = memory().T
    data = {"subject": ["SLANT"] * len(hours), "x": hours.tolist(), "y": used.tolist()}
    rows = (
        ComparedFigure("a run of SLANT", "run time, h", float(hours[-1]), digits=2),
        ComparedFigure("a run of SLANT", "most memory, GB", float(used.max()), digits=1),
        ComparedFigure("a run of SLANT", "median memory, GB", float(np.median(used)), digits=1),
    )
    return StudyOutcome((reason, NOTE), rows, claims, Drawing("steps", data, "hours since the start", "memory, GB"))


def accuracy(reason: str, claims: tuple[Claim, ...]) -> StudyOutcome:
    """Return how often the next run time falls into the most frequent range so far. By number of ranges."""
    data: dict[str, list[Any]] = {name: [] for name in ("panel", "subject", "x", "value", "low", "high")}
    by_workflow: dict[str, list[float]] = {}
    for name, hours in run_times().items():
        by_workflow[name] = [predicted_share(hours, number) for number in _RANGES]
        for number, share in zip(_RANGES, by_workflow[name], strict=True):
            point = ("right range, %", name, number, 100 * share, 100 * share, 100 * share)
            for column, value in zip(data.values(), point, strict=True):
                column.append(value)
    rows = [
        ComparedFigure(name, f"right range of {number}, %", 100 * share, digits=1)
        for name, shares in by_workflow.items()
        for number, share in zip(_RANGES, shares, strict=True)
    ]
    falls = Claim(
        "Ours: on the public run times the fewer ranges, the more often the right one is predicted",
        all(fewer >= more for shares in by_workflow.values() for fewer, more in pairwise(shares)),
        "; ".join(
            f"{name} {100 * shares[0]:.0f}% of 2, {100 * shares[-1]:.0f}% of {_RANGES[-1]}"
            for name, shares in by_workflow.items()
        ),
    )
    note = f"Ranges are equally wide; predicted is the one that most of the runs before were in, from run {_KNOWN} on."
    return StudyOutcome((reason, NOTE, note), tuple(rows), (*claims, falls), Drawing("lines", data, "ranges", "%"))


def predicted_share(hours: FloatArray, number: int) -> float:
    """Return the share of runs in the range that was most frequent before.

    Parameters
    ----------
    hours
        Run times in order of the runs, shape (runs,).
    number
        Of ranges of equal width, at least 1.
    """
    edges = np.linspace(hours.min(), hours.max(), number + 1)[1:-1]
    places = np.searchsorted(edges, hours, side="right")
    right = [np.bincount(places[:run], minlength=number).argmax() == places[run] for run in range(_KNOWN, len(places))]
    return float(np.mean(right)) if len(right) >= LEAST else float("nan")


def _ranges(values: Mapping[str, FloatArray]) -> Sequence[ComparedFigure]:
    quantiles = {"least": 0.0, "10th percentile": 0.1, "median": 0.5, "90th percentile": 0.9, "most": 1.0}
    rows = [
        ComparedFigure(name, f"run time, h: {word}", float(np.quantile(each, share)), digits=2)
        for name, each in values.items()
        for word, share in quantiles.items()
    ]
    return [*rows, *(ComparedFigure(name, "runs", float(len(each))) for name, each in values.items())]
