"""Reservation sequences of Gainaru, Pallez, Sun and Raghavan, ICPP 2019. The paper schedules stochastic jobs."""

from __future__ import annotations

import math

from .....models.reservations import discretize, evaluate, optimal_sequence
from .....workloads.generators.applications import HOUR, Hours, frozen_law
from ..outcome import Claim, ComparedFigure, Run, StudyOutcome, StudySettings
from .job_sets import fig2, fig3, fig4, fig5
from .job_streams import fig6, fig7
from .two_weeks import fig8

_LAW = Hours(0, 20, mean=8, deviation=2)
#: Label to number of values of the discrete law, the backfill rate, and the published requests, hours.
_TABLE1: dict[str, tuple[int, float, tuple[str, ...]]] = {
    "TOptimal": (200, 0.0, ("10.8", "13.4", "15.4", "17.1", "18.7", "20.0")),
    "ATOptimal, rate 0.1": (46, 0.1, ("10.86", "13.91", "18.69", "20.0")),
    "ATOptimal, rate 0.5": (46, 0.5, ("13.04", "20.0")),
    "ATOptimal, rate 0.9": (46, 0.9, ("17.39", "20.0")),
}


def table1(means: StudySettings) -> StudyOutcome:
    """Return reservation sequences of N(8, 2) truncated to [0, 20] hours. They are the same at every scale."""
    law = frozen_law("truncnorm", _LAW)
    single = evaluate([20.0 * HOUR], discretize(law, 0.0, 20.0 * HOUR, 200))
    rows = _requests("Classical HPC", [20.0], ("20.0",), single.expected_makespan)
    claims = list[Claim]()
    for label, (n, rate, published) in _TABLE1.items():
        discrete = discretize(law, 0.0, 20.0 * HOUR, n)
        used = 0.0 if means.broken("rate") else rate
        plain = [float(law.ppf(0.9)), 20.0 * HOUR]
        sequence = evaluate(plain, discrete, used) if means.broken("search") else optimal_sequence(discrete, used)
        hours = [value / HOUR for value in sequence.values.tolist()]
        rows += _requests(label, hours, published, sequence.expected_makespan)
        same = [_truncated(value, digits) for value, digits in zip(hours, published, strict=False)] == list(published)
        evidence = f"{', '.join(f'{value:.4f}' for value in hours)}; the paper: {', '.join(published)}"
        text = f"{label} requests the published sequence, truncated to its digits"
        claims.append(Claim(text, same and len(hours) == len(published), evidence))
    note = (
        "Exact, with nothing simulated. The law has 200 values for TOptimal and 46 for ATOptimal, at which the "
        "published digits come out. The expected makespan counts the small jobs of the rate, as equation 3 does."
    )
    return StudyOutcome((note,), tuple(rows), tuple(claims))


def _requests(label: str, hours: list[float], published: tuple[str, ...], makespan: float) -> list[ComparedFigure]:
    known = [float(value) for value in published]
    pairs = zip(hours, [*known, *[None] * (len(hours) - len(known))], strict=False)
    figures = [
        ComparedFigure(f"{label}, request {rank}", "hours", value, published, digits=4)
        for rank, (value, published) in enumerate(pairs, 1)
    ]
    return [*figures, ComparedFigure(f"{label}, expected makespan", "hours", makespan / HOUR, digits=4)]


def _truncated(value: float, like: str) -> str:
    """Return a number cut to as many digits as another."""
    digits = len(like.partition(".")[2])
    return f"{math.floor(value * 10**digits + 1e-6) / 10**digits:.{digits}f}"


RUNS: dict[str, Run] = {
    "icpp2019/table1": table1,
    "icpp2019/fig2": fig2,
    "icpp2019/fig3": fig3,
    "icpp2019/fig4": fig4,
    "icpp2019/fig5": fig5,
    "icpp2019/fig6": fig6,
    "icpp2019/fig7": fig7,
    "icpp2019/fig8": fig8,
}
