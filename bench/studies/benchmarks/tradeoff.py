"""The look-ahead dispatcher's trade of long waits against means, and dispatchers that do not plan.

``python -m hpcdispatch.bench.studies.benchmarks.tradeoff TRACE...`` prints a table per trace. It has mean wait, mean
bounded slowdown and the longest wait. These are means over jittered samples with intervals, for each value of
``patience`` and for each baseline. What is in brackets is the ratio to the best baseline.

A TRACE is a file or the name of a trace of the archive. ``:START:STOP`` behind it selects jobs of it. It may also be
the spec of a generator, as ``lublin:processors=64,load=0.7``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click
import pandas as pd

from ....workloads import GENERATORS
from ...campaigns.comparison import Comparison, Generated, Jittered, compare
from ..one_line_errors import in_one_line
from .traces import named_trace

BASELINES = ("lxf", "easy", "easy-sjbf", "conservative")
PATIENCE = (0.6, 0.9, 1.2, 1.8, float("inf"))
#: Column of the comparison, its heading, and the unit it is shown in.
METRICS = (
    ("wait_mean", "mean wait, s", 1.0),
    ("bounded_slowdown_mean", "mean bounded slowdown", 1.0),
    ("wait_max", "longest wait, h", 3600.0),
)


@dataclass(frozen=True, slots=True)
class Curve:
    """Results on one trace.

    Attributes
    ----------
    trace
        As given.
    table
        One row a dispatcher, as in :class:`~hpcdispatch.bench.campaigns.comparison.Comparison`.
    baselines
        The dispatchers to compare with.
    """

    trace: str
    table: pd.DataFrame
    baselines: tuple[str, ...]

    def best(self, column: str) -> float:
        """Return the least value of a column among the baselines."""
        return float(self.table.loc[self.table["dispatcher"].isin(self.baselines), column].min())

    def beaten(self, dispatcher: str) -> int:
        """Return the number of pairs of baseline and metric where a dispatcher is better."""
        values = {column: self.table.set_index("dispatcher")[column].to_dict() for column, _, _ in METRICS}
        return sum(means[dispatcher] < means[baseline] for means in values.values() for baseline in self.baselines)


def samples(trace: str, jitter: int | None) -> Jittered | Generated:
    """Return the samples of a trace, named as on the command line."""
    if trace.partition(":")[0] in GENERATORS.names():
        return Generated(trace)
    return Jittered(named_trace(trace), jitter)


def curve(
    trace: str,
    patience: Sequence[float] = PATIENCE,
    baselines: Sequence[str] = BASELINES,
    *,
    seeds: int = 5,
    jitter: int | None = 60,
    workers: int = 1,
) -> Curve:
    """Simulate the baselines and the look-ahead dispatcher at each patience.

    Parameters
    ----------
    trace
        What to simulate, as on the command line.
    patience, baselines
        Values of the parameter, and names of dispatchers.
    seeds, jitter
        How many samples, and the largest shift of a submission, seconds; ``None`` leaves a trace as it stands.
    workers
        Processes to run in.

    Raises
    ------
    RuntimeError
        If a run fails.
    """
    dispatchers = [*baselines, *(f"lookahead:patience={value:g}" for value in patience)]
    outcome = compare(samples(trace, jitter), dispatchers, seeds=seeds, workers=workers)
    _refuse_failures(outcome)
    return Curve(trace, outcome.table, tuple(baselines))


def markdown(tradeoff: Curve) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    headings = ["dispatcher", *(heading for _, heading, _ in METRICS), "beaten"]
    yield f"| {' | '.join(headings)} |"
    yield f"| --- |{' ---: |' * (len(headings) - 1)}"
    for row in tradeoff.table.to_dict("records"):
        cells = [str(row["dispatcher"])]
        for column, _, unit in METRICS:
            low = row[f"{column}_low"]
            high = row[f"{column}_high"]
            spread = "" if row["runs"] == 1 else f" [{low / unit:,.1f}, {high / unit:,.1f}]"
            cells.append(f"{row[column] / unit:,.1f}{spread} ({row[column] / tradeoff.best(column):.2f})")
        is_baseline = row["dispatcher"] in tradeoff.baselines
        cells.append(
            "" if is_baseline else f"{tradeoff.beaten(row['dispatcher'])}/{len(tradeoff.baselines) * len(METRICS)}"
        )
        yield f"| {' | '.join(cells)} |"


def _refuse_failures(outcome: Comparison) -> None:
    if outcome.failures:
        first = outcome.failures[0]
        raise RuntimeError(f"{first.dispatcher}, seed {first.seed}: {first.error}")


@click.command(help=__doc__)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option("--patience", multiple=True, type=float, default=PATIENCE, show_default=True)
@click.option("--baseline", "baselines", multiple=True, default=BASELINES, show_default=True)
@click.option("--seeds", type=click.IntRange(1), default=5, show_default=True)
@click.option("--jitter", type=click.IntRange(0), default=60, show_default=True, help="Seconds; 0: as it stands.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True)
@in_one_line(RuntimeError)
def main(
    traces: tuple[str, ...],
    patience: tuple[float, ...],
    baselines: tuple[str, ...],
    seeds: int,
    jitter: int,
    workers: int,
) -> None:
    """Print a table a trace."""
    for trace in traces:
        tradeoff = curve(trace, patience, baselines, seeds=seeds, jitter=jitter or None, workers=workers)
        print(f"\n{trace}, {seeds} samples\n")
        print("\n".join(markdown(tradeoff)))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
