"""How often intervals of the ratio to EASY cover the true one, by the kind of the samples.

Run it by ``python -m hpcdispatch.bench.studies.coverage``. Workloads come from the Lublin model. The true ratio is that
of the means of a metric over samples of their own. A trial takes three, five or ten independent samples, one sample in
blocks, ten or forty resamples of one, or ten shifted copies of one. The last is the control: it must fail. A second
table judges the intervals of single means, which stand below the means of a comparison.

With ``--halves TRACE ...`` the intervals from the first half of each trace are held against the ratio on the second.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import click
import numpy as np

from ...analysis.conclusions import LEAST_FOR_QUANTILES, Daily, Estimate, of_days, of_samples, spread
from ...base import FloatArray, IntArray
from ...simulation import job_metrics, simulate
from ...simulation.events import compiled_events
from ...simulation.metrics import utilization
from ...workloads import Workload, generate, jitter, read, resample
from ..campaigns.metrics_table import days_of
from ..reports.tables import Table
from ..reports.verdict import change, span_text

#: Metrics whose intervals are judged. Those of one trace need a mean over jobs.
METRICS = ("wait_mean", "bounded_slowdown_mean", "wait_p95", "utilization")
#: Metrics whose single means are judged: the columns of a comparison.
MEANS = ("wait_mean", "bounded_slowdown_mean", "slowdown_mean", "wait_max", "utilization")
ALL = tuple(dict.fromkeys((*METRICS, *MEANS)))
#: Numbers of several samples, by metric and dispatcher, shape (samples,).
MetricValues = dict[str, dict[str, FloatArray]]
RIVALS = ("easy-sjbf", "lxf", "sjf")
BASE = "easy"
#: Share of the trials below which an interval must not be called one of 95%.
LEAST = 0.88
#: Numbers of independent samples in a trial.
COUNTS = (3, 5, 10)
#: Resamples and shifted copies in a trial, and the largest shift of the control, seconds.
SAMPLES, SHIFT = COUNTS[-1], 60
#: One in so many of the resampled samples has forty resamples.
FEWER = 4
#: First seed of the samples that the true ratio is taken from.
_TRUTH = 1_000_000


@dataclass(frozen=True, slots=True)
class SampleMetrics:
    """One sample: each metric, and where a metric is a mean over jobs its days, by dispatcher."""

    values: dict[str, dict[str, float]]
    days: dict[str, dict[str, Daily]]


def lublin(load: float, jobs: int, seed: int) -> Workload:
    """Return one sample."""
    return generate(f"lublin:jobs={jobs},load={load}", seed=seed)


def measured(workload: Workload) -> SampleMetrics:
    """Return the metrics under all dispatchers."""
    values: dict[str, dict[str, float]] = {name: {} for name in ALL}
    days: dict[str, dict[str, Daily]] = {name: {} for name in METRICS}
    for dispatcher in (BASE, *RIVALS):
        result = simulate(workload, dispatcher)
        of_jobs = job_metrics(result.jobs)
        wait = of_jobs["wait"].to_numpy()
        metrics = {"wait_mean": wait.mean(), "bounded_slowdown_mean": of_jobs["bounded_slowdown"].mean()}
        metrics |= {"wait_p95": np.percentile(wait, 95), "utilization": utilization(result, result.jobs)}
        metrics |= {"slowdown_mean": of_jobs["slowdown"].mean(), "wait_max": wait.max()}
        for name, value in metrics.items():
            values[name][dispatcher] = float(value)
        for name, by_day in days_of(result, result.jobs).items():
            if name in METRICS:
                days[name][dispatcher] = by_day
    return SampleMetrics(values, days)


def of_each(workloads: Iterator[Workload]) -> MetricValues:
    """Return the metrics of several workloads, by metric and dispatcher."""
    samples = [measured(each).values for each in workloads]
    return {
        metric: {name: np.array([each[metric][name] for each in samples]) for name in (BASE, *RIVALS)} for metric in ALL
    }


def resamples(workload: Workload, count: int) -> MetricValues:
    """Return the metrics of resamples, by metric and dispatcher."""
    return of_each(resample(workload, seed) for seed in range(count))


def of_resamples(values: dict[str, FloatArray], name: str, count: int) -> Estimate:
    """Return the estimate from the first resamples."""
    return of_samples(values[name][:count], values[BASE][:count], "resamples")


@dataclass(frozen=True, slots=True)
class LoadSamples:
    """All samples of one load.

    Attributes
    ----------
    samples
        Of the trials.
    truth
        Metrics of the samples that the true ratio is taken from.
    again, shifts
        Metrics of the resamples, and of the shifted copies, of some samples.
    """

    samples: list[SampleMetrics]
    truth: MetricValues
    again: list[MetricValues]
    shifts: list[MetricValues]


def draw(load: float, jobs: int, samples: int, controls: int, traces: int) -> LoadSamples:
    """Simulate the samples of one load.

    Parameters
    ----------
    load, jobs
        Of each workload.
    samples
        Samples that the trials take, and as many others for the true ratio.
    controls, traces
        Samples that are shifted, and samples that are resampled.
    """
    many = -(-traces // FEWER)
    return LoadSamples(
        [measured(lublin(load, jobs, seed)) for seed in range(samples)],
        of_each(lublin(load, jobs, _TRUTH + seed) for seed in range(samples)),
        [
            resamples(lublin(load, jobs, seed), LEAST_FOR_QUANTILES if seed < many else SAMPLES)
            for seed in range(traces)
        ],
        [
            of_each(jitter(lublin(load, jobs, seed), SHIFT, np.random.default_rng(copy)) for copy in range(SAMPLES))
            for seed in range(controls)
        ],
    )


def choices(samples: int, trials: int) -> list[IntArray]:
    """Return the samples of each trial. The first ones are a trial of fewer samples."""
    rng = np.random.default_rng(0)
    return [rng.choice(samples, SAMPLES, replace=False) for _ in range(trials)]


def of_means(drawn: LoadSamples, metric: str, trials: int) -> list[list[str]]:
    """Return a row for each dispatcher: how often the interval of a mean of independent samples covers the true one."""
    chosen = choices(len(drawn.samples), trials)
    rows = []
    for name in (BASE, *RIVALS):
        values = np.array([each.values[metric][name] for each in drawn.samples])
        true = float(drawn.truth[metric][name].mean())
        ends = [[spread(values[each[:count]]) for each in chosen] for count in COUNTS]
        covers = [np.mean([low <= true <= high for low, high in each]) for each in ends]
        rows.append([name, f"{true:,.4g}", *(f"{each:.0%}" for each in covers)])
    return rows


def coverage(drawn: LoadSamples, metric: str, trials: int) -> list[list[str]]:
    """Return a row for each rival: how often each kind of interval covers the true ratio of a metric.

    Parameters
    ----------
    drawn
        The samples.
    metric
        One of :data:`METRICS`.
    trials
        Trials of independent samples.
    """
    chosen = choices(len(drawn.samples), trials)
    base = np.array([each.values[metric][BASE] for each in drawn.samples])
    rows = []
    for name in RIVALS:
        mine = np.array([each.values[metric][name] for each in drawn.samples])
        true = float(drawn.truth[metric][name].mean() / drawn.truth[metric][BASE].mean())
        days = [each.days[metric] for each in drawn.samples if each.days[metric]]
        of_one = [of_days(each[name], each[BASE]) for each in days]
        known = [each for each in of_one if not each.reason]
        again = [each[metric] for each in drawn.again]
        kinds: list[list[Estimate]] = [
            *([of_samples(mine[each[:count]], base[each[:count]]) for each in chosen] for count in COUNTS),
            known,
            [of_resamples(each, name, SAMPLES) for each in again],
            [of_resamples(each, name, LEAST_FOR_QUANTILES) for each in again[: -(-len(again) // FEWER)]],
        ]
        ends = [[(each.low, each.high) for each in kind] for kind in kinds]
        shifts = [each[metric] for each in drawn.shifts]
        ends.append([of_samples(each[name], each[BASE], "shifts").span for each in shifts])
        covers = [np.mean([low <= true <= high for low, high in each]) if each else np.nan for each in ends]
        texts = ["-" if np.isnan(each) else f"{each:.0%}" for each in covers]
        rows.append([name, f"{true:.3f}", *texts, f"{len(of_one) - len(known)} of {len(of_one)}"])
    return rows


def halves(trace: Workload) -> tuple[Workload, Workload]:
    """Return the jobs of the first and of the second half of the time of a trace."""
    submit = trace.columns.submit
    middle = int(np.searchsorted(submit, (submit[0] + submit[-1]) / 2))
    return trace.slice(0, middle), trace.slice(middle, len(trace))


def of_halves(name: str, trace: Workload, count: int) -> Iterator[tuple[list[str], list[bool | None]]]:
    """Yield the row of each rival, and which intervals of the first half cover the ratio of the second."""
    first, second = halves(trace)
    here, there = measured(first), measured(second).values["wait_mean"]
    again = resamples(first, count)["wait_mean"]
    days = here.days["wait_mean"]
    for rival in RIVALS:
        true = there[rival] / there[BASE]
        kinds = [of_days(days[rival], days[BASE])]
        kinds += [of_resamples(again, rival, each) for each in (SAMPLES, count)]
        covers = [None if np.isnan(each.low) else each.low <= true <= each.high for each in kinds]
        texts = [each.reason if np.isnan(each.low) else span_text(each.low, each.high) for each in kinds]
        marks = [{None: "", True: " yes", False: " **no**"}[each] for each in covers]
        told = [text + mark for text, mark in zip(texts, marks, strict=True)]
        yield [name, rival, change(kinds[0].ratio), change(true), *told], covers


def _print_halves(paths: Sequence[Path], count: int) -> None:
    outcomes = list(chain.from_iterable(of_halves(path.name.partition(".")[0], read(path), count) for path in paths))
    heads = ("trace", "dispatcher", "first half", "second half", "blocks", "10 resamples", f"{count} resamples")
    each = zip(*(covers for _, covers in outcomes), strict=True)
    told = [f"{sum(filter(None, kind))} of {sum(one is not None for one in kind)}" for kind in each]
    note = (
        f"Mean wait against {BASE}. Whether the interval of the first half covers the ratio on the second: blocks "
        f"{told[0]}, 10 resamples {told[1]}, {count} resamples {told[2]}."
    )
    print(Table("First half against second half", heads, [row for row, _ in outcomes], 2, note).markdown())


@click.command()
@click.option("--loads", default="0.6,0.75,0.9", show_default=True, help="Offered loads.")
@click.option("--jobs", type=click.IntRange(100), default=10_000, show_default=True, help="Jobs in each workload.")
@click.option("--samples", type=click.IntRange(20), default=60, show_default=True, help="Samples of each load.")
@click.option("--trials", type=click.IntRange(10), default=200, show_default=True, help="Trials of samples.")
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
    compiled_events.WORTH = 1  # the compiled loop is loaded once for thousands of workloads, the short ones too
    if paths:
        if not trace:
            raise click.UsageError("--halves: expected traces with it")
        _print_halves(trace, count)
        return
    drawn = {load: draw(float(load), jobs, samples, controls, traces) for load in loads.split(",")}
    independent = [f"{each} samples" for each in COUNTS]
    heads = (
        *("load", "dispatcher", "true ratio", *independent, "one trace, blocks", "10 resamples", "40 resamples"),
        *("range over shifts", "no interval"),
    )
    for metric in METRICS:
        rows = [[load, *row] for load, each in drawn.items() for row in coverage(each, metric, trials)]
        note = (
            f"Share of the trials whose interval covers the ratio of the means of {metric} over {samples} other "
            f"samples of {jobs:,} jobs. Samples: {trials} trials out of {samples}. Blocks: each of these once. "
            f"Resamples: of {traces} of them, of {-(-traces // FEWER)} for 40. The range over 10 shifts of each of "
            f"{controls} is the control. Below {LEAST:.0%} an interval must not be called one of 95%."
        )
        print(Table(f"Coverage of the intervals: {metric}", heads, rows, 2, note).markdown())
    for metric in MEANS:
        rows = [[load, *row] for load, each in drawn.items() for row in of_means(each, metric, trials)]
        note = (
            f"Share of {trials} trials out of {samples} samples whose interval of the mean of {metric} covers the mean "
            f"over {samples} others. Below {LEAST:.0%} an interval must not be called one of 95%."
        )
        heads = ("load", "dispatcher", "true mean", *independent)
        print(Table(f"Coverage of the intervals of single means: {metric}", heads, rows, 2, note).markdown())


if __name__ == "__main__":
    main()
