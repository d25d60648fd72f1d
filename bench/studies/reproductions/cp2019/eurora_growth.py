"""Measure what dispatchers cost and reach on the workload ``eurora``. Show how the cost grows with jobs and nodes.

Run ``python -m hpcdispatch.bench.studies.reproductions.cp2019.eurora_growth --run hcp3 heuristic:correction=none``. It
simulates 400,000 jobs in one process and prints CPU time, memory and metrics. ``--nodes 64 --nodes 1173`` simulates on
these node counts. Submissions come proportionally closer together. ``--save FILE`` appends the measurements to a file
of JSON lines. ``--read FILE`` prints such a file. Adding ``--plot FILE`` draws its content into the second file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import process_time

import click
import numpy as np
import pandas as pd

from .....simulation import simulate
from .....simulation.plots.style import canvas, image
from .....workloads import Machine, Workload
from ....reports.tables import Table
from ...benchmarks.decision_clock import Clocked
from ...benchmarks.measurements import peak_memory, power_of
from ...one_line_errors import in_one_line
from ...printed_tables import show
from ..line_figures import draw_lines
from ..outcome import Drawing
from .eurora import eurora

NODES, JOBS = 64, 400_000
#: Report the time when this many jobs have left, if reached.
MARKS = (12_500, 25_000, 50_000, 100_000, 200_000, JOBS)
#: Metric of a summary: what it is called.
METRICS = {
    "wait_mean": "mean wait, s",
    "slowdown_mean": "mean slowdown",
    "bounded_slowdown_mean": "mean bounded slowdown",
    "wait_max": "longest wait, s",
}


@dataclass(frozen=True)
class MeasuredRun:
    """A simulation and its cost.

    Attributes
    ----------
    dispatcher, predictor
        With their options.
    jobs, nodes, seed
        Of the workload and its machine.
    cpu
        Seconds of the process, of the simulation alone.
    decision_ms
        CPU milliseconds of a call of the dispatcher, mean.
    calls, intervals
        Calls, and the mean number of intervals in the model. 0 without a model.
    prediction_ms
        Milliseconds of a job's predictions, by the wall clock.
    memory
        Largest resident memory of the process so far, megabytes.
    marks
        Jobs that have left: CPU seconds until then.
    metrics
        By the keys of :data:`METRICS`.
    """

    dispatcher: str
    predictor: str
    jobs: int
    nodes: int
    seed: int
    cpu: float
    decision_ms: float
    calls: int
    intervals: float
    prediction_ms: float
    memory: float
    marks: dict[str, float] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Dispatcher and predictor."""
        return f"{self.dispatcher}, {self.predictor.partition(':')[0]}"


class _Marks:
    """Note and report when this many jobs have left."""

    def __init__(self) -> None:
        self.began = process_time()
        self.times: dict[str, float] = {}

    def __call__(self, left: int) -> None:
        for mark in MARKS:
            if left >= mark and str(mark) not in self.times:
                self.times[str(mark)] = process_time() - self.began
                click.echo(f"{mark:,} jobs: {self.times[str(mark)]:.0f} s of CPU time", err=True)


def on_nodes(workload: Workload, nodes: int) -> Workload:
    """Return the jobs on a machine with this many nodes of the same two kinds.

    Jobs are submitted proportionally faster.
    """
    kinds = workload.machine.capacity[[0, -1]]
    machine = Machine(workload.machine.resources, np.repeat(kinds, (nodes - nodes // 2, nodes // 2), axis=0))
    jobs = [replace(job, submit=job.submit * NODES // nodes) for job in workload.jobs]
    return Workload(tuple(jobs), machine, workload.provenance)


def measure(workload: Workload, dispatcher: str, predictor: str, seed: int) -> MeasuredRun:
    """Simulate. Jobs may overrun their walltimes."""
    clocked = Clocked(dispatcher)
    simulate(workload.head(50), Clocked(dispatcher), predictor=predictor)  # What it needs is compiled.
    marks = _Marks()
    result = simulate(workload, clocked, predictor=predictor, progress=marks)
    cpu = process_time() - marks.began
    summary = result.summary()
    intervals = float(result.decisions["intervals"].mean()) if "intervals" in result.decisions else 0.0
    metrics = {key: float(summary[key]) for key in METRICS}
    return MeasuredRun(
        dispatcher,
        predictor,
        len(workload),
        workload.machine.nodes,
        seed,
        cpu,
        float(clocked.ms().mean()),
        len(result.decisions),
        intervals,
        1000 * summary["prediction_s"] / len(workload),
        peak_memory(),
        marks.times,
        metrics,
    )


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> str:
    """Return the exponent of the growth as text."""
    return "-" if len(sizes) < 2 else f"{power_of(sizes, costs):.2f}"


def tables(runs: Sequence[MeasuredRun]) -> list[Table]:
    """Return cost and quality, the growth with jobs, and the growth with nodes."""
    made = [_costs(runs)]
    long = _over_jobs(runs)
    if long:
        rows = [
            [
                run.name,
                *(_mark(run, mark) for mark in MARKS),
                exponent([float(mark) for mark in run.marks], list(run.marks.values())),
            ]
            for run in long
        ]
        made.append(
            Table("CPU seconds until so many jobs had left", ["", *map("{:,}".format, MARKS), "exponent"], rows)
        )
    for name, curve in _over_nodes(runs).items():
        rows = [[f"{run.nodes:,}", f"{run.decision_ms:.2f}", f"{run.cpu:.0f}", f"{run.calls:,}"] for run in curve]
        fitted = exponent([run.nodes for run in curve], [run.decision_ms for run in curve])
        heads = ["nodes", "CPU ms a decision", "CPU seconds", "decisions"]
        made.append(Table(f"{name}, {curve[0].jobs:,} jobs: exponent {fitted}", heads, rows))
    return made


def _costs(runs: Sequence[MeasuredRun]) -> Table:
    heads = [
        "",
        "jobs",
        "nodes",
        "seed",
        "CPU, min",
        "CPU ms a decision",
        "decisions",
        "intervals",
        "prediction, ms a job",
        "memory, MB",
        *METRICS.values(),
    ]
    rows = [
        [
            run.name,
            f"{run.jobs:,}",
            f"{run.nodes:,}",
            str(run.seed),
            f"{run.cpu / 60:.1f}",
            f"{run.decision_ms:.2f}",
            f"{run.calls:,}",
            f"{run.intervals:.0f}",
            f"{run.prediction_ms:.3f}",
            f"{run.memory:,.0f}",
            *(f"{run.metrics[key]:,.1f}" for key in METRICS),
        ]
        for run in runs
    ]
    return Table("Simulations of the workload eurora, one core each", heads, rows)


def _mark(run: MeasuredRun, mark: int) -> str:
    return f"{run.marks[str(mark)]:,.0f}" if str(mark) in run.marks else "-"


def _over_jobs(runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
    """Return each name's run with the most jobs, on the original machine."""
    longest: dict[str, MeasuredRun] = {}
    for run in runs:
        if run.nodes == NODES and len(run.marks) > 1 and (run.name not in longest or run.jobs > longest[run.name].jobs):
            longest[run.name] = run
    return list(longest.values())


def _over_nodes(runs: Sequence[MeasuredRun]) -> dict[str, list[MeasuredRun]]:
    """Return the runs that differ only in nodes, by name and jobs."""
    curves: dict[tuple[str, int, int], list[MeasuredRun]] = {}
    for run in sorted(runs, key=lambda run: run.nodes):
        curves.setdefault((run.name, run.jobs, run.seed), []).append(run)
    return {name: curve for (name, _, _), curve in curves.items() if len({run.nodes for run in curve}) > 1}


def picture(runs: Sequence[MeasuredRun], kind: str) -> bytes:
    """Draw CPU time over jobs, and CPU time per decision over nodes."""
    points = [
        ("CPU seconds against jobs", run.name, float(mark), seconds)
        for run in _over_jobs(runs)
        for mark, seconds in run.marks.items()
    ]
    points += [
        ("CPU ms a decision against nodes", name, float(run.nodes), run.decision_ms)
        for name, curve in _over_nodes(runs).items()
        for run in curve
    ]
    data = pd.DataFrame(points, columns=["panel", "subject", "x", "value"])
    data["low"], data["high"] = data["value"], data["value"]
    drawing = Drawing("lines", {}, "", "", log_x=True, log_y=True)
    with canvas() as drawn:
        draw_lines(drawn, "What a simulation of Eurora costs", drawing, data)
        return image(drawn, kind)


@click.command(help=__doc__)
@click.option("--run", "pairs", nargs=2, multiple=True, metavar="DISPATCHER PREDICTOR", help="With their options.")
@click.option("--jobs", type=click.IntRange(min=1000), default=JOBS, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--nodes", multiple=True, type=click.IntRange(min=NODES), default=(NODES,), show_default=True)
@click.option("--save", type=click.Path(dir_okay=False, path_type=Path), help="Add what is measured to this file.")
@click.option("--read", "file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Show this, too.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw it there: PNG, SVG or PDF.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(
    pairs: tuple[tuple[str, str], ...],
    jobs: int,
    seed: int,
    nodes: tuple[int, ...],
    save: Path | None,
    file: Path | None,
    plot: Path | None,
    as_markdown: bool,
) -> None:
    """Measure, and print the tables."""
    known = file.read_text(encoding="utf-8").splitlines() if file else []
    runs = [MeasuredRun(**json.loads(line)) for line in known]
    workload = eurora(jobs=jobs, seed=seed) if pairs else None
    for dispatcher, predictor in pairs:
        for count in nodes:
            assert workload is not None
            sample = workload if count == NODES else on_nodes(workload, count)
            runs.append(measure(sample, dispatcher, predictor, seed))
            if save:
                with save.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(asdict(runs[-1])) + "\n")
    if not runs:
        raise click.UsageError("nothing to show: expected --run or --read")
    if plot:
        plot.write_bytes(picture(runs, plot.suffix[1:]))
    show(tables(runs), as_markdown)


if __name__ == "__main__":
    main()
