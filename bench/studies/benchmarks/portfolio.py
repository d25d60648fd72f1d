"""The portfolio, its candidates and other dispatchers, with several predictors, on stretches of traces.

``python -m hpcdispatch.bench.studies.benchmarks.portfolio TRACE...`` prints a table per trace. It has mean wait, mean
bounded slowdown, 99th percentile and longest wait. Each is the mean over disjoint stretches of the trace with an
interval. In brackets is the ratio to the reference. The table also has the number and size of the portfolio's regrets.
A regret is a stretch where a candidate was better and kept the bound. Better means a lower geometric mean of mean wait
and bounded slowdown. ``--against DISPATCHER`` adds the portfolio stretch by stretch against any of them. It prints
geometric means of the ratios with their intervals.

A TRACE is what :mod:`.tradeoff` takes, or ``stream:LOAD``. The latter samples jobs of many kinds on 64 nodes of two
kinds (:func:`.eurora_stream`). The first seed follows if it is not 1 (``stream:0.9:11``). Each stretch begins with an
empty machine. Of each there may be several samples, in which submissions are shifted. With ``--store`` an interrupted
run continues where it was.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
import numpy as np
import pandas as pd

from ....base import FloatArray, InputError
from ....simulation import simulate
from ....workloads import GENERATORS, Workload, generate
from ...campaigns.comparison import compare
from ...reports.number_formats import fixed, interval
from ...reports.tables import Table
from ..ablations import dispatcher_of
from ..intervals import mean_interval
from ..one_line_errors import in_one_line
from ..printed_tables import show
from .cp.on_nodes import eurora_stream
from .traces import named_trace

#: What is compared; the first is the reference, the last the portfolio.
DISPATCHERS = (
    "easy",
    "fcfs",
    "easy-sjbf",
    "conservative",
    "lxf",
    "lookahead",
    "lookahead:blocked=0",
    "lookahead:patience=1.5",
    "portfolio:every=4d,budget=20000",
)
#: Heading and factor of the columns.
METRICS = (("mean wait, s", 1.0), ("mean bounded slowdown", 1.0), ("p99 wait, h", 3600.0), ("longest wait, h", 3600.0))
#: Their names in ``Result.summary()``.
SUMMARY = ("wait_mean", "bounded_slowdown_mean", "wait_p99", "wait_max")
#: A regret counts only candidates with a longest wait of at most that many times the reference's.
SLACK = 1.05


@dataclass(frozen=True, slots=True)
class PortfolioResults:
    """Results on a trace with a predictor.

    Attributes
    ----------
    dispatchers
        Their names, the reference first.
    values
        Shape (dispatchers, stretches and samples, metrics), the metrics as in :data:`METRICS`, seconds; samples of a
        stretch follow each other.
    samples
        Of each stretch.
    """

    dispatchers: tuple[str, ...]
    values: FloatArray
    samples: int = 1

    def rows(self) -> Iterator[list[str]]:
        """Yield the cells of a row per dispatcher."""
        means = self.values.mean(axis=1)
        for place, name in enumerate(self.dispatchers):
            cells = [f"`{name}`"]
            for metric, (_, unit) in enumerate(METRICS):
                spread = interval(*mean_interval(self.values[place, :, metric] / unit), partial(fixed, digits=1))
                ratio = means[place, metric] / max(means[0, metric], 1e-9)
                parts = fixed(means[place, metric] / unit, 1), spread, f"({ratio:.2f})"
                cells.append(" ".join(filter(None, parts)))
            yield cells

    def regrets(self) -> FloatArray:
        """Return per stretch the excess of the last one over the best in hindsight that kept the bound."""
        cost = np.sqrt((self.values[:, :, 0] + 60) * self.values[:, :, 1])
        kept = self.values[:, :, 3] <= SLACK * self.values[:1, :, 3]
        best: FloatArray = np.where(kept[:-1], cost[:-1], np.inf).min(axis=0)
        regrets: FloatArray = np.maximum(cost[-1] / best - 1, 0)
        return regrets

    def ratios(self, name: str, against: str) -> FloatArray:
        """Return one dispatcher's values over another's, means over samples first; shape (stretches, metrics)."""
        means = self.values.reshape(len(self.dispatchers), -1, self.samples, len(METRICS)).mean(axis=2)
        mine, other = (means[self.dispatchers.index(each)] for each in (name, against))
        ratios: FloatArray = np.maximum(mine, 1e-9) / np.maximum(other, 1e-9)
        return ratios

    def paired(self, against: str) -> Iterator[list[str]]:
        """Yield a row per dispatcher but for `against`: geometric means of its ratios with intervals."""
        for name in self.dispatchers:
            if name != against:
                logs = np.log(self.ratios(name, against))
                cells = [f"`{name}`"]
                for metric in range(len(METRICS)):
                    low, high = map(math.exp, mean_interval(logs[:, metric]))
                    spread = interval(low, high, partial(fixed, digits=2))
                    cells.append(f"{np.exp(logs[:, metric].mean()):.2f} {spread}".rstrip())
                yield cells

    def regret(self) -> str:
        """Return the frequency and size of regrets, as a sentence."""
        regrets = self.regrets()
        often = f"{int((regrets > 0).sum())} of {len(regrets)} stretches"
        much = f"{regrets.mean():.0%} in the mean, {regrets.max():.0%} at most"
        return f"Regret of `{self.dispatchers[-1]}`: on {often}, {much}."


def stretches(trace: str, jobs: int, count: int) -> list[Workload]:
    """Return disjoint stretches of this many jobs, evenly over the trace, or samples of a generator or stream.

    Raises
    ------
    InputError
        If there is no such trace, or the load of a stream is no number above 0, or its seed no whole number.
    """
    name, _, drawn = trace.partition(":")
    if name == "stream":
        load, first = stream_of(drawn)
        return [eurora_stream(jobs, seed, load) for seed in range(first, first + count)]
    if name in GENERATORS.names():
        return [generate(trace, seed=seed).head(jobs) for seed in range(1, count + 1)]
    workload = named_trace(trace)
    jobs = min(jobs, len(workload) // count)
    firsts = np.linspace(0, len(workload) - jobs, count).astype(int).tolist()
    return [workload.slice(first, first + jobs) for first in firsts]


def stream_of(text: str) -> tuple[float, int]:
    """Return the load and the first seed of a stream, 1 if there is none.

    Raises
    ------
    InputError
        If the load is no number above 0, or the seed no whole number of at least 0.
    """
    asked, _, first = text.partition(":")
    try:
        load, seed = float(asked), int(first or 1)
    except ValueError:
        load, seed = 0.0, 0
    if not 0 < load < np.inf or seed < 0:
        expected = "the load must be a number above 0 and the seed a whole number, as in stream:0.9 or stream:0.9:11"
        raise InputError(f"stream: {expected}, got {text!r}")
    return load, seed


#: Largest shift of a submission with several samples, seconds.
_SHIFT = 60


@dataclass(frozen=True, slots=True)
class Sampling:
    """How many samples there are of each stretch, and where they are simulated.

    Attributes
    ----------
    store
        Keeps what is finished, and what is in it is not simulated again; ``None`` for nowhere.
    samples
        Of each stretch, at least 1.
    jitter
        Largest shift of a submission in them, seconds; ``None`` for a minute, or none at all if there is one sample.
    workers
        Processes, at least 1.
    """

    store: Path | None = None
    samples: int = 1
    jitter: int | None = None
    workers: int = 1


def compared(
    parts: Sequence[Workload], dispatchers: Sequence[str], predictor: str, sampling: Sampling
) -> PortfolioResults:
    """Return the results of every dispatcher on every stretch.

    Raises
    ------
    InputError
        If a simulation fails.
    """
    values = []
    for part in parts:
        comparison = compare(
            part,
            [*map(dispatcher_of, dispatchers)],
            (predictor,),
            out=sampling.store,
            seeds=sampling.samples,
            jitter=_SHIFT if sampling.jitter is None and sampling.samples > 1 else sampling.jitter,
            workers=sampling.workers,
        )
        if comparison.failures:
            raise InputError(f"{comparison.failures[0].dispatcher}: {comparison.failures[0].error}")
        rows = comparison.runs[list(SUMMARY)].to_numpy(dtype=np.float64)
        values.append(rows.reshape(sampling.samples, len(dispatchers), len(SUMMARY)).swapaxes(0, 1))
    return PortfolioResults(tuple(dispatchers), np.concatenate(values, axis=1), sampling.samples)


def accuracy(parts: Sequence[Workload], predictor: str) -> str:
    """Return the prediction errors under EASY, and the number of jobs within their prediction, as a sentence."""
    jobs = pd.concat([simulate(part, "easy", predictor).jobs for part in parts])
    error = (jobs["predicted"] - jobs["run"]).to_numpy(dtype=np.float64)
    over = np.maximum(error, 0).mean()
    under = np.maximum(-error, 0).mean()
    sides = f"over by {over:,.0f} s and under by {under:,.0f} s"
    return f"Mean absolute error {over + under:,.0f} s, {sides}; {(error >= 0).mean():.0%} of the jobs are within."


@click.command(help=__doc__)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option("--jobs", type=click.IntRange(1), default=1000, show_default=True, help="Of a stretch.")
@click.option("--stretches", "count", type=click.IntRange(1), default=3, show_default=True)
@click.option("--dispatcher", "dispatchers", multiple=True, default=DISPATCHERS, help="The reference first.")
@click.option("--predictor", "predictors", multiple=True, default=("walltime",), show_default=True)
@click.option("--samples", type=click.IntRange(1), default=1, show_default=True, help="Of each stretch.")
@click.option("--jitter", type=click.IntRange(0), help="Largest shift of a submission in them, seconds.  [default: 60]")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
@click.option("--store", type=click.Path(file_okay=False, path_type=Path), help="Keeps what is finished.")
@click.option("--against", help="One of the dispatchers; adds a table of the others stretch by stretch against it.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(
    traces: tuple[str, ...],
    jobs: int,
    count: int,
    dispatchers: tuple[str, ...],
    predictors: tuple[str, ...],
    samples: int,
    jitter: int | None,
    workers: int,
    store: Path | None,
    against: str | None,
    as_markdown: bool,
) -> None:
    """Print a table a trace and predictor, or two."""
    if len(dispatchers) < 2:
        raise click.UsageError(f"--dispatcher: expected the reference and at least another one, got {dispatchers[0]!r}")
    if against is not None and against not in dispatchers:
        raise click.UsageError(f"--against: expected one of {', '.join(dispatchers)}, got {against!r}")
    sampling = Sampling(store, samples, jitter, workers)
    for trace in traces:
        for predictor in predictors:
            parts = stretches(trace, jobs, count)
            results = compared(parts, dispatchers, predictor, sampling)
            drawn = f", {samples} samples each" if samples > 1 else ""
            title = f"{trace}, {count} stretches of {jobs:,} jobs{drawn}, {predictor}"
            note = f"{results.regret()}\n{accuracy(parts, predictor)}"
            columns = "dispatcher", *(heading for heading, _ in METRICS)
            tables = [Table(title, columns, [*results.rows()], note=note)]
            if against is not None:
                stretched = "Geometric means over the stretches, with intervals."
                headings = "dispatcher", *(heading.rpartition(",")[0] or heading for heading, _ in METRICS)
                tables.append(Table(f"Against {against}", headings, [*results.paired(against)], note=stretched))
            show(tables, as_markdown)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
