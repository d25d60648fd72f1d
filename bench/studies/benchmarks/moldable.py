"""Query time of the availability list, and errors of choices from a user's own runs.

``python -m hpcdispatch.bench.studies.benchmarks.moldable`` prints all. The list is filled with reservations and gives
the earliest start of random requests. A walk over its steps in plain Python must give the same. Users are sampled from
Downey's model with a few runs, with 10% noise in each. Sizes that they did not measure are predicted. The fit's choice
of size is compared with the choice under the known curve. Jobs of unknown run times choose size and first walltime
together, one of them alone, or neither. The optional part ``dispatchers`` simulates stretches of logs and generated
workloads. Their jobs choose their sizes in several ways. With one dispatcher, it chooses for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import Literal, get_args

import click
import numpy as np

from ....base import FloatArray, IntArray
from ....models import AvailabilityProfile
from ....models.moldable import DowneyLaw, Request, choose, fit
from ...reports.number_formats import percent, ratio
from ...reports.tables import Table
from ..printed_tables import show
from .joint_choices import joint
from .molded_traces import compared, samplers

Part = Literal["list", "fits", "joint", "dispatchers"]
#: Of the machine.
PROCESSORS = 1024
#: Sizes that users measure or request.
SIZES = 2 ** np.arange(11)
NOISE = 0.1
SEQUENTIAL = 100_000.0


@dataclass(frozen=True, slots=True)
class MoldableSetting:
    """What is measured.

    Attributes
    ----------
    reservations
        In the list.
    queries
        How many are timed.
    users
        How many are drawn.
    lotteries
        Jobs of unknown run times, of each spread.
    jobs, samples
        Of each workload.
    """

    reservations: tuple[int, ...] = (100, 1000, 10_000)
    queries: int = 2000
    users: int = 1000
    lotteries: int = 200
    jobs: int = 300
    samples: int = 5


SMALL = MoldableSetting((20, 60), 30, 12, 3, 25, 2)


def filled(reservations: int, rng: np.random.Generator) -> AvailabilityProfile:
    """Return a list with this many reservations, each at its earliest start."""
    profile = AvailabilityProfile(PROCESSORS)
    for size, seconds in _requests(reservations, rng).tolist():
        start = profile.earliest_start(size, seconds)
        assert start is not None
        profile.reserve(size, seconds, start)
    return profile


def walked(steps: Sequence[tuple[int, int | None, int]], processors: int, duration: int) -> int:
    """Return the earliest start, by a walk over the steps."""
    start = None
    for begin, end, free in steps:
        if free < processors:
            start = None
            continue
        start = begin if start is None else start
        if end is None or end - start >= duration:
            return start
    raise AssertionError("the last step is free")


def queries(setting: MoldableSetting) -> Table:
    """Return the time of a query by the number of reservations.

    Raises
    ------
    RuntimeError
        If the walk finds other starts.
    """
    rows = []
    for reservations in setting.reservations:
        rng = np.random.default_rng(reservations)
        profile = filled(reservations, rng)
        steps = profile.steps()
        asked = _requests(setting.queries, rng).tolist()
        ours, starts = _timed(profile.earliest_start, asked)
        theirs, others = _timed(partial(walked, steps), asked)
        if starts != others:
            raise RuntimeError(f"{reservations} reservations: the starts differ")
        cells = (f"{reservations:,}", f"{len(steps):,}", ratio(ours), ratio(theirs), f"{theirs / ours:.1f}x")
        rows.append(cells)
    note = (
        f"CPU time, microseconds a query, mean over {setting.queries:,} random requests on {PROCESSORS:,} processors."
    )
    columns = ("reservations", "steps", "list", "walk in Python", "gain")
    return Table("The availability list", columns, rows, note=note)


def fits(setting: MoldableSetting) -> Table:
    """Return the prediction quality of sizes that were not measured, and the cost of the fit's choice."""
    rng = np.random.default_rng(0)
    users = [_user(rng) for _ in range(setting.users)]
    errors, inside, known, costs = (np.concatenate(column) for column in zip(*users, strict=True))
    rows = [
        ("median error of the time (%)", percent(float(np.median(errors)))),
        ("90% intervals that hold a run to come (%)", percent(float(inside.mean()))),
        ("the same, with the noise known to be 10% (%)", percent(float(known.mean()))),
        ("turnaround over that of who knows the curve, geometric mean", f"{np.exp(np.log(costs).mean()):.3f}"),
        ("the same, 90th percentile", f"{np.percentile(costs, 90):.3f}"),
        ("users whose turnaround is the same (%)", percent(float((costs == 1).mean()))),
    ]
    note = (
        f"{setting.users:,} users of Downey's model, A uniform in 2 to 200 and sigma in 0 to 2, with 3 to 6 runs of "
        "10% noise; sizes up to twice the largest measured."
    )
    return Table("Own runs", ("", "found"), rows, note=note)


def lotteries(setting: MoldableSetting) -> Table:
    """Return what choosing size and first walltime together gains over each alone."""
    return joint(setting.lotteries, partial(filled, 30))


def _user(rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return errors and whether a run was inside its interval, per size.

    Also return the cost of the choice, shape (1,). The intervals are those of two fits. One is not given the noise, the
    other is.
    """
    curve, _ = DowneyLaw().draw(rng)
    tried = rng.choice(SIZES, size=int(rng.integers(3, 7)), replace=False)
    runs = list(zip(tried.tolist(), (_times(curve, tried) * _noise(len(tried), rng)).tolist(), strict=True))
    speedup_fit = fit(runs)
    within = SIZES[2 * tried.max() >= SIZES]
    others = np.setdiff1d(within, tried)
    true = _times(curve, others)
    predicted = speedup_fit.predict(others)
    coming = true * _noise(len(others), rng)
    inside, known = (
        ((told.low <= coming) & (coming <= told.high)).astype(np.float64)
        for told in (predicted, fit(runs, NOISE).predict(others))
    )
    profile = filled(30, rng)
    took = {
        name: _turnaround(profile, within, seconds, _times(curve, within))
        for name, seconds in (("fit", speedup_fit.predict(within).time), ("curve", _times(curve, within)))
    }
    return np.abs(predicted.time / true - 1), inside, known, np.array([took["fit"] / took["curve"]])


def _turnaround(profile: AvailabilityProfile, sizes: IntArray, believed: FloatArray, true: FloatArray) -> float:
    """Return when a job ends on the size chosen by believed times. All times are requested in whole seconds."""
    requests = [Request(size, int(np.ceil(time))) for size, time in zip(sizes.tolist(), believed.tolist(), strict=True)]
    choice = choose(profile, requests, 0)
    assert choice is not None
    seconds = int(np.ceil(true[int(np.flatnonzero(sizes == choice.request.processors)[0])]))
    start = profile.earliest_start(choice.request.processors, seconds)
    assert start is not None
    return float(start + seconds)


def _times(curve: Callable[[IntArray], FloatArray], sizes: IntArray) -> FloatArray:
    return SEQUENTIAL / curve(sizes)


def _noise(count: int, rng: np.random.Generator) -> FloatArray:
    return np.exp(rng.normal(0, NOISE, count))


def _requests(count: int, rng: np.random.Generator) -> IntArray:
    """Return processors and seconds, shape (count, 2)."""
    return np.column_stack([2 ** rng.integers(0, 9, count), rng.integers(60, 40_000, count)])


def _timed(query: Callable[[int, int], int | None], asked: Sequence[tuple[int, int]]) -> tuple[float, list[int | None]]:
    """Return microseconds per query, and the answers. The first query runs before, since it may compile."""
    query(*asked[0])
    begin = process_time()
    answers = [query(*request) for request in asked]
    return (process_time() - begin) / len(asked) * 1e6, answers


@click.command(help=__doc__)
@click.option("--part", type=click.Choice(get_args(Part)), help="One part alone; the fits take minutes.")
@click.option("--workload", "only", multiple=True, help="Of the part dispatchers: a workload alone; may be repeated.")
@click.option("--dispatcher", "specs", multiple=True, help="Of that part: one alone; may be repeated.")
@click.option("--samples", type=click.IntRange(2), help="Of that part: how many of each workload.")
@click.option("--out", type=click.Path(file_okay=False), help="Of that part: where results are kept.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Of that part: processes.")
@click.option("--small", is_flag=True, help="Smoke test: few reservations and users.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
def main(
    part: Part | None,
    only: Sequence[str],
    specs: Sequence[str],
    samples: int | None,
    out: str | None,
    workers: int,
    small: bool,
    as_markdown: bool,
) -> None:
    """Print the tables."""
    setting = SMALL if small else MoldableSetting()
    for name, table in (("list", queries), ("fits", fits), ("joint", lotteries)):
        if part in (None, name):
            show([table(setting)], as_markdown)
    count = samples or setting.samples
    known = samplers(setting.jobs, count)
    for name in (only or known) if part == "dispatchers" else ():
        if name not in known:
            raise click.BadParameter(f"expected one of {', '.join(known)}, got {name!r}", param_hint="--workload")
        show([compared(name, known[name], count, out, workers, specs)], as_markdown)


if __name__ == "__main__":
    main()
