"""Strategies and jobs of the ICPP 2019 paper, and their measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from .....simulation import Result
from ....campaigns.samples import Generated, Samples
from ..claims import Floats, less, more, row
from ..outcome import Claim, ComparedFigure, Drawing, Parameter, Scale, StudySettings
from ..simulations import simulate_all

HOUR = 3600
#: Metrics. Equation 2 is about large jobs.
USE = "utilization, %"
RESPONSE = "response time, h"
ALL_RESPONSE = "response time of all jobs, h"
METRICS = (USE, RESPONSE)
#: Queue of the small predictable jobs. Equation 2 covers all others.
_STREAM = "stream"
#: Metric to a value of each seed.
Measured = dict[str, list[float]]
#: Two contenders, each with its name and values.
Pair = tuple[tuple[str, list[float]], tuple[str, list[float]]]
#: Setting to contender to measurements.
Values = Mapping[str, Mapping[str, Measured]]

HPC = "HPC"
NEURO = "Neuroscience"
TOPT = "TOptimal"
ATOPT = "ATOptimal"
NOTES = (
    "Jobs are drawn anew for each run, from the laws of the paper; brackets: intervals of the mean over "
    "the runs. The scheduler is the paper's, as in the authors' public simulator. It has batches of 100 jobs with "
    "fixed reservations, the largest area first, and gaps for jobs without a reservation. Each application has its own "
    "past. Utilization is that of eq. 1. Response time ends with the job, as in that simulator; equation 2 as printed "
    "ends with the reservation.",
)
_NAMES = {HPC: "classic-hpc", NEURO: "neuroscience", TOPT: "toptimal", ATOPT: "atoptimal"}

Scheduler = Literal["batches", "rounds", "easy", "fcfs"]
#: Jobs of a batch in the paper's scheduler.
BATCH = 100
#: Three kinds of reservations: fixed as in the paper, moving into gaps, and moving up when jobs end early.
SCHEDULERS: Mapping[Scheduler, str] = {
    "batches": f"rounds:batch={BATCH}/move=never",
    "rounds": "rounds",
    "easy": "easy",
    "fcfs": "fcfs",
}


#: The paper's, and EASY.
MOVING: tuple[Scheduler, ...] = ("batches", "easy")
_LABELS: Mapping[Scheduler, Sequence[str]] = {
    "batches": (),
    "rounds": ("moving",),
    "easy": ("EASY",),
    "fcfs": ("FCFS",),
}


@dataclass(frozen=True, slots=True)
class Contender:
    """A strategy in its scheduler.

    Attributes
    ----------
    strategy
        One of the four.
    over
        The scheduler underneath, of :data:`SCHEDULERS`.
    speculative
        Whether to try jobs in gaps too short for their requests.
    options
        Further ones of the dispatcher, such as ``rate=0.1``.
    """

    strategy: str
    over: Scheduler = "batches"
    speculative: bool = False
    options: str = ""

    @property
    def label(self) -> str:
        """What it is called in tables."""
        parts = [self.strategy, *["speculative"] * self.speculative, *_LABELS[self.over]]
        return " ".join(parts)

    @property
    def dispatcher(self) -> str:
        """Its dispatcher with options."""
        backfill = ",backfill=speculative" if self.speculative else ""
        options = f",{self.options}" if self.options else ""
        return f"{_NAMES[self.strategy]}:over={SCHEDULERS[self.over]}{backfill}{options}"


#: Plain schedulers that every figure shows, with classical requests.
PLAIN = [Contender(HPC, "fcfs"), Contender(HPC, "easy")]
#: Simulations by figure and scale: seeds, and stochastic jobs for each. Figure 8 has the paper's jobs, at the smallest
#: scale the first few. Scripts are the authors', beside figure 6.
_SIZES: Mapping[str, Mapping[Scale, tuple[int, int]]] = {
    "fig2": {"smoke": (1, 10), "brief": (5, 100), "small": (10, 100), "full": (50, 100)},
    "fig3": {"smoke": (1, 10), "brief": (5, 100), "small": (10, 100), "full": (50, 100)},
    "fig4": {"smoke": (1, 10), "brief": (10, 100), "small": (10, 100), "full": (50, 100)},
    "fig5": {"smoke": (1, 110), "brief": (5, 200), "small": (10, 200), "full": (50, 200)},
    "fig6": {"smoke": (1, 2), "brief": (5, 100), "small": (10, 100), "full": (10, 100)},
    "scripts": {"smoke": (1, 2), "brief": (5, 100), "small": (10, 100), "full": (10, 100)},
    "fig8": {"smoke": (1, 40), "brief": (3, 400), "small": (10, 400), "full": (50, 400)},
}


def sizes(figure: str, means: StudySettings) -> tuple[int, int]:
    """Return a figure's number of samples, and the stochastic jobs of each."""
    table = _SIZES[figure]
    return len(means.draws({scale: seeds for scale, (seeds, _) in table.items()})), table[means.scale][1]


def measure(result: Result) -> dict[str, float]:
    """Return utilization (eq. 1, %) and mean response times (eq. 2), hours.

    The response times are of large jobs and of all.

    Equation 1 counts work that succeeds. It ends when, after the last large job, no small job waits.
    """
    jobs, attempts = result.jobs, result.attempts
    small = (jobs["queue"] == _STREAM).to_numpy()
    response = (jobs["end"] - jobs["submit"]).to_numpy(dtype=float) / HOUR
    end = _drained(jobs[small], int(jobs["end"].to_numpy()[~small].max(initial=0)))
    machine = result.manifest["machine"]
    capacity = machine["total"][machine["resources"].index(machine["primary"])]
    useful = np.minimum(attempts["useful"], (end - attempts["start"]).clip(lower=0)) * attempts["units"]
    return {
        USE: 100 * float(useful.sum()) / (capacity * (end - int(jobs["submit"].min()))),
        RESPONSE: float(response[~small].mean()) if not small.all() else float("nan"),
        ALL_RESPONSE: float(response.mean()),
    }


def _drained(small: pd.DataFrame, after: int) -> int:
    """Return the first instant from `after` on without waiting small jobs."""
    submitted, started = (np.sort(small[column].to_numpy()) for column in ("submit", "start"))
    instants = np.concatenate(([after], started[started > after]))
    waiting = np.searchsorted(submitted, instants, "right") - np.searchsorted(started, instants, "right")
    return int(instants[np.argmin(waiting > 0)])


#: What the paper does not print, in every figure.
GROWTH = Parameter(
    "growth of a request of Neuroscience after a failure",
    "1.5",
    "the factor in the authors' public scripts",
    "not measured; with ten past runs the next is longer than all of them in one of eleven",
)
PROCESSORS = Parameter(
    "law of the processors",
    "Beta(2, 2)",
    "one of the four printed laws",
    "figure 3 has all four, at another number of jobs",
)


def simulate(
    settings: Mapping[str, tuple[Generated, Sequence[Contender]]], seeds: int, means: StudySettings
) -> dict[str, dict[str, Measured]]:
    """Return setting to contender to metric to value per seed."""
    places = [(name, jobs, contender) for name, (jobs, several) in settings.items() for contender in several]
    drawn = {jobs: Samples(jobs, seeds, overrun="kill", label=jobs.spec) for _, jobs, _ in places}
    asked = [(drawn[jobs], contender.dispatcher, "walltime") for _, jobs, contender in places]
    measures = simulate_all(asked, means, measure, ("jobs", "attempts"))
    values: dict[str, dict[str, Measured]] = {name: {} for name in settings}
    for (name, _, contender), each in zip(places, measures, strict=True):
        values[name][contender.label] = {metric: [metrics[metric] for metrics in each] for metric in each[0]}
    return values


def jobs(large: int, **options: object) -> Generated:
    """Return the generator of scenarios 1 to 3."""
    return Generated("stochastic:" + ",".join(f"{key}={value}" for key, value in {"large": large, **options}.items()))


def better(
    text: str,
    metric: str,
    named: tuple[str, Sequence[float]],
    other: tuple[str, Sequence[float]],
    said: str,
    *,
    factor: float = 1.0,
) -> Claim:
    """Return the claim that one value beats `factor` times another.

    Higher is better for utilization, lower for response time.
    """
    if metric == USE:
        return more(f"{text}: {metric}", named, other, said, factor=factor, strictly=True)
    return less(f"{text}: {metric}", named, other, said, factor=factor)


def pair_over(settings: Sequence[Mapping[str, Measured]], metric: str, named: str, other: str) -> Pair:
    """Return two contenders, each with its mean over several settings per seed."""
    pairs = [(name, average([each[name] for each in settings], metric)) for name in (named, other)]
    return pairs[0], pairs[1]


def average(measured: Sequence[Measured], metric: str) -> list[float]:
    """Return the mean over several settings, one for each seed."""
    means: list[float] = np.mean([metrics[metric] for metrics in measured], axis=0).tolist()
    return means


def rows(values: Mapping[str, Mapping[str, Measured]], metrics: Sequence[str]) -> tuple[ComparedFigure, ...]:
    """Return one row per setting, contender and metric."""
    return tuple(
        row(f"{setting}, {label}", metric, measured[metric], digits=1)
        for setting, contenders in values.items()
        for label, measured in contenders.items()
        for metric in metrics
    )


def curves(
    values: Mapping[float, Mapping[str, Measured]], metrics: Sequence[str], x_label: str, *, log_x: bool = False
) -> Drawing:
    """Draw lines of contenders over x, one panel per metric."""
    data: dict[str, list[float | str]] = {}
    for metric in metrics:
        for x, contenders in values.items():
            for label, measured in contenders.items():
                _add(data, metric, label, measured[metric], x)
    return Drawing("lines", data, x_label, log_x=log_x)


def bars(panels: Mapping[str, Mapping[str, Floats | Sequence[float]]]) -> Drawing:
    """Draw bars in panels from one value per seed."""
    data: dict[str, list[float | str]] = {}
    for panel, subjects in panels.items():
        for subject, values in subjects.items():
            _add(data, panel, subject, values)
    return Drawing("bars", data)


def _add(
    data: dict[str, list[float | str]],
    panel: str,
    subject: str,
    values: Floats | Sequence[float],
    x: float | None = None,
) -> None:
    figure = row(subject, panel, list(values))
    numbers = {"value": figure.measured, "low": figure.low, "high": figure.high}
    place: dict[str, float | str] = {"panel": panel, "subject": subject} | ({} if x is None else {"x": x})
    for name, known in place.items():
        data.setdefault(name, []).append(known)
    for name, number in numbers.items():
        data.setdefault(name, []).append(float("nan") if number is None else number)
