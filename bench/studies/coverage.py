"""How often intervals of the ratio to EASY cover the true one, by the kind of the samples.

Run it by ``python -m hpcdispatch.bench.studies.coverage``. Workloads come from the Lublin model. The true ratio is that
of the mean waits over samples of their own. A trial takes ten independent samples, one sample in blocks, ten or forty
resamples of one, or ten shifted copies of one. The last is the control: it must fail.

With ``--halves TRACE ...`` the intervals from the first half of each trace are held against the ratio on the second.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import click
import numpy as np

from ...analysis.conclusions import LEAST_FOR_QUANTILES, Daily, Estimate, of_days, of_samples
from ...base import FloatArray
from ...simulation import simulate
from ...workloads import Workload, generate, jitter, read, resample
from ..reports.tables import Table
from ..reports.verdict import change, span_text

RIVALS = ("easy-sjbf", "lxf", "sjf")
BASE = "easy"
#: Share of the trials below which an interval must not be called one of 95%.
LEAST = 0.88
#: Samples in a trial, and the largest shift of the control, seconds.
SAMPLES, SHIFT = 10, 60
#: One in so many of the resampled samples has forty resamples.
FEWER = 4
#: First seed of the samples that the true ratio is taken from.
_TRUTH = 1_000_000


@dataclass(frozen=True, slots=True)
class SampleWaits:
    """Waits of one sample: the mean and the days of each dispatcher."""

    means: dict[str, float]
    days: dict[str, Daily]


def lublin(load: float, jobs: int, seed: int) -> Workload:
    """Return one sample."""
    return generate(f"lublin:jobs={jobs},load={load}", seed=seed)


def waits(workload: Workload) -> SampleWaits:
    """Return the waits under all dispatchers."""
    means, days = {}, {}
    for name in (BASE, *RIVALS):
        found = simulate(workload, name).jobs
        wait = found["wait"].to_numpy(dtype=float)
        means[name] = float(wait.mean())
        days[name] = Daily.of(found["submit"].to_numpy(), wait)
    return SampleWaits(means, days)


def means(workloads: Iterator[Workload]) -> dict[str, FloatArray]:
    """Return the mean waits of several workloads, by dispatcher."""
    found = [waits(each).means for each in workloads]
    return {name: np.array([each[name] for each in found]) for name in (BASE, *RIVALS)}


def resamples(workload: Workload, count: int) -> dict[str, FloatArray]:
    """Return the mean waits of resamples, by dispatcher."""
    return means(resample(workload, seed) for seed in range(count))


def of_resamples(found: dict[str, FloatArray], name: str, count: int) -> Estimate:
    """Return the estimate from the first resamples."""
    return of_samples(found[name][:count], found[BASE][:count], "resamples")


def coverage(load: float, jobs: int, samples: int, trials: int, controls: int, traces: int) -> list[list[str]]:
    """Return a row for each rival: how often each kind of interval covers the true ratio.

    Parameters
    ----------
    load, jobs
        Of each workload.
    samples
        Samples that the trials take, and as many others for the true ratio.
    trials
        Trials of ten samples.
    controls, traces
        Samples that are shifted, and samples that are resampled.
    """
    drawn = [waits(lublin(load, jobs, seed)) for seed in range(samples)]
    truth = means(lublin(load, jobs, _TRUTH + seed) for seed in range(samples))
    many = -(-traces // FEWER)
    again = [
        resamples(lublin(load, jobs, seed), LEAST_FOR_QUANTILES if seed < many else SAMPLES) for seed in range(traces)
    ]
    shifts = [
        means(jitter(lublin(load, jobs, seed), SHIFT, np.random.default_rng(copy)) for copy in range(SAMPLES))
        for seed in range(controls)
    ]
    rng = np.random.default_rng(0)
    base = np.array([each.means[BASE] for each in drawn])
    rows = []
    for name in RIVALS:
        mine = np.array([each.means[name] for each in drawn])
        true = float(truth[name].mean() / truth[BASE].mean())
        chosen = [rng.choice(samples, SAMPLES, replace=False) for _ in range(trials)]
        of_one = [of_days(each.days[name], each.days[BASE]) for each in drawn]
        known = [each for each in of_one if not each.reason]
        kinds: list[list[Estimate]] = [
            [of_samples(mine[rows_], base[rows_]) for rows_ in chosen],
            known,
            [of_resamples(each, name, SAMPLES) for each in again],
            [of_resamples(each, name, LEAST_FOR_QUANTILES) for each in again[:many]],
        ]
        ends = [[(each.low, each.high) for each in kind] for kind in kinds]
        ends.append([of_samples(each[name], each[BASE], "shifts").span for each in shifts])
        covers = [np.mean([low <= true <= high for low, high in each]) if each else np.nan for each in ends]
        texts = ["-" if np.isnan(each) else f"{each:.0%}" for each in covers]
        rows.append([f"{load:g}", name, f"{true:.3f}", *texts, f"{len(of_one) - len(known)} of {samples}"])
    return rows


def halves(trace: Workload) -> tuple[Workload, Workload]:
    """Return the jobs of the first and of the second half of the time of a trace."""
    submit = trace.columns.submit
    middle = int(np.searchsorted(submit, (submit[0] + submit[-1]) / 2))
    return trace.slice(0, middle), trace.slice(middle, len(trace))


def of_halves(name: str, trace: Workload, count: int) -> Iterator[tuple[list[str], list[bool | None]]]:
    """Yield the row of each rival, and which intervals of the first half cover the ratio of the second."""
    first, second = halves(trace)
    here, there = waits(first), waits(second)
    again = resamples(first, count)
    for rival in RIVALS:
        true = there.means[rival] / there.means[BASE]
        kinds = [of_days(here.days[rival], here.days[BASE])]
        kinds += [of_resamples(again, rival, each) for each in (SAMPLES, count)]
        covers = [None if np.isnan(each.low) else each.low <= true <= each.high for each in kinds]
        texts = [each.reason if np.isnan(each.low) else span_text(each.low, each.high) for each in kinds]
        marks = [{None: "", True: " yes", False: " **no**"}[each] for each in covers]
        told = [text + mark for text, mark in zip(texts, marks, strict=True)]
        yield [name, rival, change(kinds[0].ratio), change(true), *told], covers


def _print_halves(paths: Sequence[Path], count: int) -> None:
    found = list(chain.from_iterable(of_halves(path.name.partition(".")[0], read(path), count) for path in paths))
    heads = ("trace", "dispatcher", "first half", "second half", "blocks", "10 resamples", f"{count} resamples")
    each = zip(*(covers for _, covers in found), strict=True)
    told = [f"{sum(filter(None, kind))} of {sum(one is not None for one in kind)}" for kind in each]
    note = (
        f"Mean wait against {BASE}. Whether the interval of the first half covers the ratio on the second: blocks "
        f"{told[0]}, 10 resamples {told[1]}, {count} resamples {told[2]}."
    )
    print(Table("First half against second half", heads, [row for row, _ in found], 2, note).markdown())


@click.command()
@click.option("--loads", default="0.6,0.75,0.9", show_default=True, help="Offered loads.")
@click.option("--jobs", type=click.IntRange(100), default=10_000, show_default=True, help="Jobs in each workload.")
@click.option("--samples", type=click.IntRange(20), default=60, show_default=True, help="Samples of each load.")
@click.option("--trials", type=click.IntRange(10), default=200, show_default=True, help="Trials of ten samples.")
@click.option("--controls", type=click.IntRange(0), default=10, show_default=True, help="Samples that are shifted.")
@click.option("--traces", type=click.IntRange(0), default=10, show_default=True, help="Samples that are resampled.")
@click.option("--resamples", "count", type=click.IntRange(10), default=40, show_default=True, help="For --halves.")
@click.option("--halves", "paths", is_flag=True, help="Hold the first half of each TRACE against its second.")
@click.argument("trace", nargs=-1, type=click.Path(exists=True, path_type=Path))
def main(
    loads: str,
    jobs: int,
    samples: int,
    trials: int,
    controls: int,
    traces: int,
    count: int,
    paths: bool,
    trace: tuple[Path, ...],
) -> None:
    """Print how often the intervals cover the true ratio. In full: --samples 1000 --controls 200 --traces 200."""
    if paths:
        if not trace:
            raise click.UsageError("--halves: expected traces with it")
        _print_halves(trace, count)
        return
    rows = [row for load in loads.split(",") for row in coverage(float(load), jobs, samples, trials, controls, traces)]
    heads = (
        *("load", "dispatcher", "true ratio", "10 samples", "one trace, blocks", "10 resamples", "40 resamples"),
        *("range over shifts", "no interval"),
    )
    note = (
        f"Share of the trials whose interval covers the ratio of the mean waits over {samples} other samples of "
        f"{jobs:,} jobs. 10 samples: {trials} trials out of {samples}. Blocks: each of these once. Resamples: of "
        f"{traces} of them, of {-(-traces // FEWER)} for 40. The range over 10 shifts of each of {controls} is the "
        f"control. Below {LEAST:.0%} an interval must not be called one of 95%."
    )
    print(Table("Coverage of the intervals", heads, rows, 2, note).markdown())


if __name__ == "__main__":
    main()
