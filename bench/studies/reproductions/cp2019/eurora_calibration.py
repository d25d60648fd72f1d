"""Fit the users' habits of the generator ``eurora`` to the paper's figures.

Run ``python -m hpcdispatch.bench.studies.reproductions.cp2019.eurora_calibration``. It simulates workloads under a
cheap dispatcher, with the heuristic predicting online. It prints a table of targets and reached values, for several
sizes and seeds. ``--fit ROUNDS`` starts from the current habits. Each round moves every fitted habit by how far its
target is missed. It then prints the resulting habits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click
import numpy as np

from .....base import FloatArray, IntArray
from .....dispatchers import registry
from .....simulation import Result, simulate
from .....workloads import Provenance, Workload
from ....reports.tables import Table
from ...one_line_errors import in_one_line
from ...printed_tables import show
from .conditions import accuracy
from .eurora import JOBS, eurora_jobs, eurora_machine
from .eurora_habits import HOUR, Habits

#: Figure: the paper's value, and what it is. Percents are of all jobs. The last five are means over dispatcher calls.
TARGETS: dict[str, tuple[float, str]] = {
    "short": (93.14, "jobs under 1 h, %"),
    "medium": (6.10, "jobs of 1 to 5 h, %"),
    "long": (0.75, "jobs above 5 h, %"),
    "request_error": (225, "requests: mean absolute error, min"),
    "request_under": (3.6, "requests: underestimates (overruns), %"),
    "request_over": (96.3, "requests: overestimates, %"),
    "request_near": (10, "requests: within 0.75-1.25, %, below"),
    "heuristic_error": (40, "heuristic: mean absolute error, min"),
    "heuristic_under": (25.8, "heuristic: underestimates, %"),
    "heuristic_over": (53.7, "heuristic: overestimates, %"),
    "heuristic_near": (50, "heuristic: within 0.75-1.25, %"),
    "units": (21, "resource units of a job"),
    "calls": (362.5, "dispatcher calls for 400,000 jobs, thousands"),
    "running": (39, "jobs running at a call"),
    "queued": (340, "jobs queued at a call"),
    "used": (32, "resource units used at a call, %"),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """A habit and its target.

    Attributes
    ----------
    habit, place
        The field of :class:`Habits`, and the place in a tuple field.
    target
        A key of `TARGETS`.
    power
        A round multiplies the habit by (target / reached value) to this power.
    bounds
        Least and most.
    """

    habit: str
    place: int | None
    target: str
    power: float
    bounds: tuple[float, float]


PAIRS = (
    Pair("shares", 2, "medium", 1.0, (0.01, 0.2)),
    Pair("shares", 3, "long", 1.0, (0.001, 0.03)),
    Pair("typed", None, "request_error", -1.0, (0.05, 0.95)),
    Pair("overruns", None, "request_under", 1.0, (0.01, 0.5)),
    Pair("renames", None, "heuristic_error", 2.0, (0.01, 0.9)),
    Pair("fewer", None, "heuristic_under", -1.0, (0.0, 2.0)),
    Pair("change", None, "heuristic_near", -2.0, (0.005, 0.5)),
    Pair("wide", None, "units", 1.5, (0.01, 0.4)),
    Pair("pace", None, "calls", -1.5, (0.5, 20.0)),
    Pair("both", None, "running", -1.5, (0.05, 0.95)),
    Pair("campaign", 0, "queued", 0.5, (5.0, 200.0)),
)


def reached(jobs: int, seed: int, habits: Habits, dispatcher: str = "easy") -> dict[str, float]:
    """Return the figures of a workload, by the keys of `TARGETS`. Predictions are made as jobs arrive."""
    source = f"eurora_jobs(jobs={jobs}, seed={seed})"
    workload = Workload(eurora_jobs(jobs, seed, habits), eurora_machine(), Provenance(source))
    result = simulate(workload, dispatcher, predictor="heuristic")
    runtime = workload.columns.runtime
    walltime = workload.columns.walltime
    shares = np.histogram(runtime, [0, HOUR, 5 * HOUR, np.inf])[0] / jobs * 100
    return {
        **dict(zip(("short", "medium", "long"), shares.tolist(), strict=True)),
        **_accuracy("request", runtime, walltime),
        **_accuracy("heuristic", result.jobs["runtime"].to_numpy(), result.jobs["predicted"].to_numpy()),
        **_at_calls(workload, result),
    }


def _accuracy(name: str, runtime: IntArray, predicted: IntArray) -> dict[str, float]:
    shares = accuracy(runtime.astype(np.float64), predicted.astype(np.float64)).values()
    return dict(zip((f"{name}_{what}" for what in ("error", "under", "over", "near")), shares, strict=True))


def _at_calls(workload: Workload, result: Result) -> dict[str, float]:
    """Return means over the calls of the dispatcher. Running jobs are counted after the call."""
    jobs, calls = result.jobs, result.decisions
    units = sum(workload.columns.amounts(name) for name in workload.machine.resources)
    by_id = dict(zip(workload.columns.texts(), np.asarray(units).tolist(), strict=True))
    held = jobs["id"].map(by_id).to_numpy()
    time = np.concatenate([jobs["start"], jobs["end"]])
    order = np.argsort(time, kind="stable")
    used = np.concatenate([[0], np.cumsum(np.concatenate([held, -held])[order])])
    at_calls = used[np.searchsorted(time[order], calls["time"], side="right")]
    return {
        "units": float(np.mean(units)),
        "calls": len(calls) * JOBS / len(workload) / 1000,
        "running": float(calls["running"].mean()),
        "queued": float(calls["queued"].mean()),
        "used": float(at_calls.mean() / workload.machine.capacity.sum() * 100),
    }


def moved(habits: Habits, means: dict[str, float]) -> Habits:
    """Return the habits after a round of the fit."""
    for pair in PAIRS:
        value = getattr(habits, pair.habit)
        old = value if pair.place is None else value[pair.place]
        factor = float(np.clip((TARGETS[pair.target][0] / max(means[pair.target], 1e-9)) ** pair.power, 0.5, 2.0))
        new = float(f"{np.clip(max(old, pair.bounds[0]) * factor, *pair.bounds):.3g}")
        whole = new if pair.place is None else (*value[: pair.place], new, *value[pair.place + 1 :])
        changes: dict[str, Any] = {pair.habit: whole}
        habits = replace(habits, **changes)
    return habits


def fit(
    habits: Habits, jobs: int, seeds: Sequence[int], dispatcher: str, rounds: int, tell: Callable[[str], None]
) -> Habits:
    """Move the habits `rounds` times and return those with the least miss.

    The miss sums squared logarithms of target over reached value.
    """
    best, least = habits, np.inf
    for _ in range(rounds):
        samples = [reached(jobs, seed, habits, dispatcher) for seed in seeds]
        means = {key: float(np.mean([figures[key] for figures in samples])) for key in TARGETS}
        missed = sum(np.log(TARGETS[pair.target][0] / max(means[pair.target], 1e-9)) ** 2 for pair in PAIRS)
        tell(f"missed by {missed:.4f}: " + ", ".join(f"{pair.target} {means[pair.target]:.4g}" for pair in PAIRS))
        if missed < least:
            best, least = habits, missed
        habits = moved(habits, means)
    return best


def table(habits: Habits, sizes: Sequence[int], seeds: Sequence[int], dispatcher: str) -> Table:
    """Return targets and figures, one column per size and seed."""
    columns: list[FloatArray] = []
    for jobs in sizes:
        for seed in seeds:
            figures = reached(jobs, seed, habits, dispatcher)
            columns.append(np.array([figures[key] for key in TARGETS]))
    rows = [
        [meaning, f"{value:g}", *[f"{column[row]:.2f}" for column in columns]]
        for row, (value, meaning) in enumerate(TARGETS.values())
    ]
    heads = [f"{jobs:,}, seed {seed}" for jobs in sizes for seed in seeds]
    fitted = "; ".join(f"{pair.habit} to {pair.target}" for pair in PAIRS)
    return Table(
        f"Targets and figures of the workload eurora, by jobs and seed, simulated under {dispatcher}",
        ("figure", "target", *heads),
        rows,
        note=f"Fitted: {fitted}.",
    )


@click.command(help=__doc__)
@click.option(
    "--jobs", "sizes", multiple=True, type=click.IntRange(min=1000), default=(20_000, JOBS), show_default=True
)
@click.option("--seeds", type=click.IntRange(min=1), default=3, show_default=True, help="How many, from 0 on.")
@click.option("--dispatcher", default="easy", show_default=True, help="Name with options.")
@click.option("--fit", "rounds", type=click.IntRange(min=0), default=0, help="Rounds of the fit, at the last size.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(sizes: tuple[int, ...], seeds: int, dispatcher: str, rounds: int, as_markdown: bool) -> None:
    """Fit if the option is set, and print the table."""
    habits = Habits()
    registry.create(dispatcher)
    if rounds:
        # Seeds other than the shown ones, so that shown values were not fitted.
        apart = range(1000, 1000 + seeds)
        habits = fit(habits, sizes[-1], apart, dispatcher, rounds, lambda line: click.echo(line, err=True))
        click.echo(f"{habits}\n")
    shown = table(habits, sizes, range(seeds), dispatcher)
    show([shown], as_markdown)


if __name__ == "__main__":
    main()
