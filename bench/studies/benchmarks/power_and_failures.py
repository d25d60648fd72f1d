"""What a power cap costs, what waiting for a better hour saves, and what failures of nodes lose.

``python -m hpcdispatch.bench.studies.benchmarks.power_and_failures kth-sp2`` prints three tables:

* ``caps``: mean waits under caps by the hour, as shares of the power of the full machine from 8 to 20 o'clock.
* ``signal``: emissions and added waits, if jobs may wait up to so many hours. The signal is 100 g/kWh at midnight,
  400 g at noon, and a sine in between.
* ``failures``: lost core hours over seeds beside the formula. A job of n nodes and work w meets failures with the mean
  time m/n between them. It loses n ((e^(wn/m) - 1) m/n - w) node-seconds, if it begins anew each time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import click
import numpy as np

from ....simulation import simulate
from ....workloads import Power, Signal, Workload, wait_for_better_hours
from ...reports.tables import Table
from ..intervals import mean_interval
from ..one_line_errors import in_one_line
from ..printed_tables import show
from .traces import named_trace

HOUR, DAY = 3600, 86400
DISPATCHERS = ("easy", "conservative", "lxf")
#: Caps as shares of the power of the full machine, and the longest delays, hours.
CAPS = (1.0, 0.8, 0.6, 0.5)
DELAYS = (0, 2, 6, 12, 24)
#: Watts of a busy and of an idle unit.
BUSY, IDLE = 100, 50
PARTS = ("caps", "signal", "failures")


def powered(workload: Workload, share: float | None = None) -> Workload:
    """Return the workload on a machine with power, and a cap from 8 to 20 o'clock."""
    machine = workload.machine
    units = int(machine.capacity[:, machine.primary].sum())
    idle, whole = IDLE * units, (IDLE + BUSY) * units
    cap = None if share is None else ((0, whole), (8 * HOUR, max(share * whole, idle + BUSY)), (20 * HOUR, whole))
    watts = {machine.resources[machine.primary]: BUSY}
    power = Power(watts, idle, cap, None if cap is None else DAY)
    return replace(workload, machine=replace(machine, power=power))


def caps(workload: Workload) -> Iterator[list[str]]:
    """Yield a row for each cap: mean waits, and the highest power from 8 to 20 o'clock."""
    for share in CAPS:
        capped = powered(workload, share)
        row = [f"{share:.0%}"]
        for name in DISPATCHERS:
            summary = simulate(capped, name, overrun="kill").summary()
            row.append(f"{summary['wait_mean']:,.0f}")
        yield row


def by_the_sun(workload: Workload) -> Signal:
    """Return a signal from the first submission to long after the last."""
    first = int(workload.columns.submit[0]) // DAY * DAY
    last = int(workload.columns.submit[-1]) + 400 * DAY
    times = np.arange(first, last, HOUR)
    return Signal(times, 250 - 150 * np.cos(2 * np.pi * times / DAY), name="100 to 400 g")


def delays(workload: Workload) -> Iterator[list[str]]:
    """Yield a row for each longest delay: emissions of the jobs, and the mean time from submission to start."""
    with_power = powered(workload)
    signal = by_the_sun(workload)
    first: list[float] = []
    for hours in DELAYS:
        result = simulate(wait_for_better_hours(with_power, signal, hours * HOUR), "easy").with_signal(signal)
        emitted = float(result.attempts["emissions_kg"].sum())
        to_start = float((result.jobs["start"] - result.jobs["submit"]).mean())
        first = first or [emitted, to_start]
        saved = f"{1 - emitted / first[0]:.1%}"
        yield [f"{hours}", f"{emitted:,.0f}", saved, f"{to_start:,.0f}", f"{to_start - first[1]:,.0f}"]


def expected_loss(workload: Workload, mtbf: float) -> float:
    """Return the core hours that the jobs lose on average."""
    jobs, machine = workload.columns, workload.machine
    units = jobs.nodes * jobs.per_node.numbers(lambda amounts: amounts.get(machine.resources[machine.primary], 0))
    between = mtbf / np.maximum(units, 1)
    return float((units * (np.expm1(jobs.runtime / between) * between - jobs.runtime)).sum()) / HOUR


def failures(workload: Workload, years: Sequence[float], seeds: int) -> Iterator[list[str]]:
    """Yield a row for each mean time between failures of a node, in years."""
    for each in years:
        lost, count = [], []
        for seed in range(seeds):
            summary = simulate(workload, "fcfs:blocked=skip", failures=f"mtbf={each}y,repair=4h", seed=seed).summary()
            lost.append(summary["lost_core_hours"])
            count.append(summary["node_failures"])
        low, high = mean_interval(np.array(lost))
        formula = expected_loss(workload, each * 365 * DAY)
        inside = "-" if math.isnan(low) else "yes" if low <= formula <= high else "**no**"
        spread = f"{np.mean(lost):,.0f} [{low:,.0f}, {high:,.0f}]"
        yield [f"{each:g}", f"{np.mean(count):,.1f}", spread, f"{formula:,.0f}", inside]


@click.command(help=__doc__)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS), default=PARTS, show_default=True)
@click.option("--jobs", type=click.IntRange(1), help="The first so many only.")
@click.option("--years", default="0.2,1", show_default=True, help="Mean times between failures of a node.")
@click.option("--seeds", type=click.IntRange(1), default=10, show_default=True, help="Draws of failures.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(
    traces: tuple[str, ...], parts: tuple[str, ...], jobs: int | None, years: str, seeds: int, as_markdown: bool
) -> None:
    """Print the tables of each trace."""
    for trace in traces:
        workload = named_trace(trace)
        part = workload if jobs is None else workload.head(jobs)
        told = f"{trace}, {len(part):,} jobs"
        for name in parts:
            show([_table(name, part, told, [float(each) for each in years.split(",")], seeds)], as_markdown)


def _table(name: str, workload: Workload, told: str, years: Sequence[float], seeds: int) -> Table:
    if name == "caps":
        title = f"Mean wait under a cap from 8 to 20 o'clock, s: {told}"
        return Table(title, ["cap", *DISPATCHERS], [*caps(workload)])
    if name == "signal":
        heads = ["hours at most", "kg CO2 of the jobs", "saved", "submission to start, s", "added, s"]
        return Table(f"Waiting for a better hour under easy: {told}", heads, [*delays(workload)])
    heads = ["MTBF of a node, years", "failures that met jobs", "lost", "formula", "in the interval"]
    return Table(f"Core hours lost to failures: {told}, {seeds} seeds", heads, [*failures(workload, years, seeds)])


if __name__ == "__main__":
    main()
