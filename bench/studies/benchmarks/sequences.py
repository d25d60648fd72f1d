"""Time of optimal reservation sequences and its growth, against the textbook computations.

``python -m hpcdispatch.bench.studies.benchmarks.sequences`` prints tables. One has the sequences of the paper's Table 1
and the published ones. Two show the growth. Without backfilling, the baseline is the vectorised recursion over all
pairs of values. At backfill rates, it is equation 6 of the paper as written. One has the paper's four laws. The
baselines must have the same makespan. ``--part scheduleflow`` compares the scheduling of whole sets of jobs with the
authors' public simulator. ``--part checkpoints`` shows the savings of checkpoints at the end of reservations. ``--part
traces`` compares plans, requests and checkpoints from learned laws on traces of the archive.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import Any, Literal, get_args

import click
from oracles.sequences import LAWS, PUBLISHED, all_pairs, as_written, normal

from ....models.reservations import (
    Checkpointing,
    discretize,
    longest_worthwhile,
    optimal_checkpointed_sequence,
    optimal_sequence,
)
from ...reports.tables import Table
from ..printed_tables import show
from .reservation_rounds import RoundsSetting, tables
from .reservation_traces import TRACES, traces

Part = Literal["speed", "scheduleflow", "checkpoints", "traces"]
RATES = (0.1, 0.5, 0.9)
#: Cost of a checkpoint and of a restart, each as a share of the mean run time.
CHECKPOINTS = (0.01, 0.05, 0.1, 0.2, 0.5)
DIFFERENCE = "relative difference of the makespans"
TIMED = "CPU time of a call in ms, the least of {repeat}, the discretization not counted."


@dataclass(frozen=True, slots=True)
class SequenceSetting:
    """What is measured.

    Attributes
    ----------
    sizes, backfilled
        Values of the law, without backfilling and at the rates.
    written
        Most values for the recursion as it is written.
    each
        Values of the law for the paper's four.
    repeat
        How often each call is timed.
    """

    sizes: tuple[int, ...] = (100, 200, 500, 1000, 2000, 5000, 10_000)
    backfilled: tuple[int, ...] = (12, 25, 50, 100, 200, 500, 1000)
    written: int = 50
    each: int = 200
    repeat: int = 5


SMALL = SequenceSetting((10, 20), (6, 12), 6, 12, 1)


def table_1() -> Table:
    """Compare the sequences with those published, which are truncated to their digits."""
    rows = []
    for rate, n, published in PUBLISHED:
        sequence = optimal_sequence(normal(n), rate)
        texts = published.split()
        digits = max(len(text.partition(".")[2]) for text in texts)
        scale = 10**digits
        ours = " ".join(f"{math.floor(value * scale + 1e-9) / scale:g}" for value in sequence.values)
        verdict = "equal" if ours == published else "DIFFERENT"
        rows.append([f"{rate:g}", str(n), ours, published, verdict, f"{sequence.expected_makespan:.4f}"])
    columns = ("rate", "n", "sequence, h", "published", "", "expected makespan, h")
    return Table("Table 1: Normal(8, 2), 0 to 20 h", columns, rows, labels=0)


def without_backfilling(setting: SequenceSetting) -> Table:
    """Measure the growth at rate 0."""
    rows = []
    for n in setting.sizes:
        esdd = normal(n)
        sequence, ms = _timed(partial(optimal_sequence, esdd), setting.repeat)
        other, other_ms = _timed(partial(all_pairs, esdd), setting.repeat)
        row = [f"{n:,}", f"{ms:.2f}", f"{other_ms:.2f}", f"{other_ms / ms:.1f} x"]
        rows.append([*row, agreement(sequence.expected_makespan, other)])
    columns = ("n", "ours", "all pairs", "ratio", DIFFERENCE)
    return Table("Rate 0, Normal(8, 2), 0 to 20", columns, rows, note=TIMED.format(repeat=setting.repeat))


def with_backfilling(setting: SequenceSetting, name: str) -> Table:
    """Measure the growth at rates above 0, of one of the paper's laws."""
    rows = []
    for rate in RATES:
        for n in setting.backfilled:
            esdd = discretize(*LAWS[name], n)
            sequence, ms = _timed(partial(optimal_sequence, esdd, rate), setting.repeat)
            row = [f"{rate:g}", f"{n:,}", f"{ms:.1f}"]
            if n <= setting.written:
                other, other_ms = _timed(partial(as_written, esdd, rate), 1)
                row += [f"{other_ms:,.1f}", f"{other_ms / ms:,.1f} x", agreement(sequence.expected_makespan, other)]
            rows.append(row + ["-"] * (6 - len(row)))
    columns = ("rate", "n", "ours", "equation 6 as written", "ratio", DIFFERENCE)
    note = f"{TIMED.format(repeat=setting.repeat)} Equation 6 up to n = {setting.written}, once."
    return Table(f"With backfilling, {name}", columns, rows, labels=2, note=note)


def each_law(setting: SequenceSetting) -> Table:
    """Measure the paper's laws at every rate."""
    rates = (0.0, *RATES)
    rows = []
    for name, law in LAWS.items():
        timed = [
            _timed(partial(optimal_sequence, discretize(*law, setting.each), rate), setting.repeat) for rate in rates
        ]
        rows.append([name, *(f"{ms:.2f} ({len(sequence.values)})" for sequence, ms in timed)])
    columns = ("law", *(f"rate {rate:g}" for rate in rates))
    note = f"{TIMED.format(repeat=setting.repeat)} In brackets how many reservations."
    return Table(f"The laws of the paper, n = {setting.each}", columns, rows, note=note)


def checkpoints(n: int) -> Table:
    """Return the savings of checkpoints in the expected makespan, by law and by their cost."""
    rows = []
    for name, law in LAWS.items():
        esdd = discretize(*law, n)
        plain = optimal_sequence(esdd).expected_makespan
        cells = []
        for share in CHECKPOINTS:
            sequence = optimal_checkpointed_sequence(esdd, Checkpointing(share * esdd.mean, share * esdd.mean))
            saved = 100 * (1 - sequence.expected_makespan / plain)
            cells.append(f"{saved:.1f}% ({int(sequence.keeps.sum())} of {len(sequence.keeps)})")
        rows.append([name, *cells, f"{longest_worthwhile(esdd) / esdd.mean:.2f}"])
    columns = ("law", *(f"C = R = {share:g} of the mean" for share in CHECKPOINTS), "last C, of the mean, at R = 0")
    note = f"Saved of the expected makespan without checkpoints, n = {n}; in brackets how many requests end with one."
    return Table("Checkpoints at the end of reservations", columns, rows, note=note)


def _timed(call: Callable[[], Any], repeat: int) -> tuple[Any, float]:
    """Return what a call returns, and its least CPU time, ms."""
    least, result = math.inf, None
    for _ in range(repeat):
        begin = process_time()
        result = call()
        least = min(least, process_time() - begin)
    return result, 1e3 * least


def agreement(makespan: float, other: float) -> str:
    """Return the difference of two makespans. Refuse one that rounding does not explain."""
    difference = abs(makespan / other - 1)
    if difference > 1e-12:
        raise RuntimeError(f"the expected makespans differ: {makespan!r} and {other!r}")
    return f"{difference:.0e}"


@click.command(help=__doc__)
@click.option("--part", type=click.Choice(get_args(Part)), default="speed", show_default=True, help="What is compared.")
@click.option("--seeds", type=click.IntRange(min=1), default=10, show_default=True, help="Draws, of scheduleflow.")
@click.option("--trace", "names", multiple=True, default=TRACES, show_default=True, help="For traces.")
@click.option("--jobs", type=click.IntRange(min=0), default=10_000, show_default=True, help="Of a trace; 0 for all.")
@click.option("--small", is_flag=True, help="Smoke test: few values, each call timed once; few jobs.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
def main(part: Part, seeds: int, names: tuple[str, ...], jobs: int, small: bool, as_markdown: bool) -> None:
    """Print the tables."""
    if part == "scheduleflow":
        show(tables(RoundsSetting(2, 10, 5) if small else RoundsSetting(seeds)), as_markdown)
        return
    if part == "traces":
        for table in traces(names, 300 if small else jobs or None):
            show([table], as_markdown)
        return
    if part == "checkpoints":
        show([checkpoints(20 if small else 200)], as_markdown)
        return
    setting = SMALL if small else SequenceSetting()
    growth = [with_backfilling(setting, name) for name in ("Exponential(1), 0 to 16", "Pareto(2.1), 1 to 20")]
    show([table_1(), without_backfilling(setting), *growth, each_law(setting)], as_markdown)


if __name__ == "__main__":
    main()
