"""Growth of a decision's cost with the queue, the nodes of the machine, and the jobs.

``python -m hpcdispatch.bench.studies.benchmarks.scaling`` measures every registered dispatcher in one process. Stock
AccaSim and a bare loop are measured where they run at all. It prints a table per part with the exponent of a fitted
power law. ``--plot FILE`` draws them; ``--small`` is a smoke test in seconds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from time import process_time_ns

import click
import numpy as np
import pandas as pd
from oracles.stock_accasim import on_one_core_nodes, run_stock

from ....dispatchers import Action, State, registry
from ....simulation import SimulationError, simulate
from ....simulation.plots.style import canvas, image
from ....workloads import Job, Machine, Workload, generate
from ...reports.tables import Table
from ..one_line_errors import in_one_line
from ..printed_tables import show
from ..reproductions.line_figures import draw_lines
from ..reproductions.outcome import Drawing
from .decision_clock import Clocked
from .engine.bare_easy import bare_jobs, easy_starts
from .measurements import measured, power_of

CORES = 1000
WAITING = 100
LOAD = 0.9
CORES_A_NODE = 16
#: Part: what grows, and its values.
PARTS: dict[str, tuple[str, Sequence[int]]] = {
    "queue": ("jobs submitted at once, 1,000 cores", (100, 1_000, 5_000, 20_000, 50_000, 100_000)),
    "nodes": ("nodes of 16 cores, 100 jobs submitted at once", (1, 10, 100, 1_000, 10_000)),
    "jobs": ("jobs, 256 cores, load 0.9", (10_000, 100_000, 1_000_000)),
}
_SMALL: dict[str, Sequence[int]] = {"queue": (20, 40), "nodes": (1, 4), "jobs": (50, 100)}
#: Rows that are no dispatchers, with what they run.
STOCK = "stock AccaSim, FIFO"
BARE = "bare EASY loop"
#: At least one of each family, few enough to be distinct in a picture.
DRAWN = (
    "fcfs",
    "easy",
    "easy-sjbf",
    "lxf",
    "conservative",
    "hcp3",
    "pcp3",
    "lookahead",
    "toptimal",
    "rounds",
    "rbs",
    "hybrid",
    "evict",
    BARE,
    STOCK,
)
#: Fewer decisions than this are no mean.
_LEAST = 5
_WARM = 400


@dataclass(frozen=True, slots=True)
class DecisionCost:
    """What decisions cost on average, CPU microseconds.

    Attributes
    ----------
    part, subject, size
        Which part; name of the dispatcher or the peer; what grows.
    decision
        A call of the dispatcher; NaN for a peer.
    step
        The same with the engine around it: events, checks, records; for a peer, its whole run over its jobs.
    decisions
        How many the mean is of.
    """

    part: str
    subject: str
    size: int
    decision: float
    step: float
    decisions: int


class _Enough(Exception):  # noqa: N818 - no error
    """The budget is used up."""


class _Budgeted(Clocked):
    """A dispatcher measured from its second decision on, until a budget is used or the queue is half.

    Parameters
    ----------
    spec
        Name of the dispatcher.
    seconds
        Of CPU time.
    """

    def __init__(self, spec: str, seconds: float) -> None:
        super().__init__(spec)
        self._budget = int(seconds * 1e9)
        self._half = 0
        self._began = 0
        self.steps = 0
        self.elapsed = 0

    def dispatch(self, state: State) -> Sequence[Action]:
        """Let the other one decide.

        Raises
        ------
        _Enough
            Instead, when enough was measured.
        """
        now = process_time_ns()
        if not self._began:
            actions = super().dispatch(state)
            self._half = len(state.queue) // 2
            self._began = process_time_ns()
            return actions
        self.elapsed = now - self._began
        if self.steps >= _LEAST and (self.elapsed > self._budget or len(state.queue) < self._half):
            raise _Enough
        self.steps += 1
        return super().dispatch(state)

    def point(self, part: str, size: int) -> DecisionCost:
        """Return what was measured; NaN where there was one decision only."""
        taken = self.ms()[1:]
        decision = 1000 * float(taken.mean()) if len(taken) else np.nan
        step = self.elapsed / 1000 / self.steps if self.steps else np.nan
        return DecisionCost(part, self.name, size, decision, step, len(taken))


def measure_point(part: str, spec: str, size: int, seconds: float) -> DecisionCost:
    """Return what decisions of a dispatcher cost."""
    workload = drawn(part, size)
    clock = _Budgeted(spec, seconds)
    _simulate_until_enough(workload, clock)
    return clock.point(part, size)


def warm_up(part: str, spec: str, size: int) -> None:
    """Let a dispatcher decide a few times with some hundred waiting jobs. This compiles what it needs."""
    workload = drawn(part, size)
    _simulate_until_enough(workload.head(min(_WARM, len(workload))), _Budgeted(spec, 0))


def _simulate_until_enough(workload: Workload, clock: _Budgeted) -> None:
    try:
        simulate(workload, clock)
    except SimulationError as error:
        if not isinstance(error.__cause__, _Enough):
            raise


def queued(size: int) -> Workload:
    """Return that many jobs of the Lublin-Feitelson model, submitted at once to a pool of 1,000 cores."""
    return _at_once(generate("lublin", jobs=size, processors=CORES, seed=1))


def on_nodes(size: int) -> Workload:
    """Return 100 jobs, submitted at once. They request up to half the nodes and any part of a node."""
    rng = np.random.default_rng(1)
    slots = np.maximum(1, (size * rng.uniform(0.02, 0.5, WAITING)).astype(int))
    cores = rng.integers(1, CORES_A_NODE + 1, WAITING)
    runs = rng.integers(600, 36_000, WAITING)
    jobs = (
        Job(str(place), 0, int(run), int(run) * 2, int(nodes), {"core": int(each)})
        for place, (nodes, each, run) in enumerate(zip(slots, cores, runs, strict=True))
    )
    return Workload(tuple(jobs), Machine.homogeneous(size, core=CORES_A_NODE))


def streamed(size: int) -> Workload:
    """Return that many jobs of the Lublin-Feitelson model at load 0.9 on 256 cores."""
    return generate("lublin", jobs=size, processors=256, load=LOAD, seed=1)


WORKLOADS: dict[str, Callable[[int], Workload]] = {"queue": queued, "nodes": on_nodes, "jobs": streamed}


@cache
def drawn(part: str, size: int) -> Workload:
    """Return the workload of a point. It is sampled once."""
    return WORKLOADS[part](size)


def _at_once(workload: Workload) -> Workload:
    return replace(workload, jobs=tuple(replace(job, submit=0) for job in workload.jobs), records=None)


def measure_peer(part: str, peer: str, size: int) -> DecisionCost | None:
    """Return a peer's cost per job in a whole run. ``None`` if it does not run on such a workload."""
    if part == "nodes":
        return None
    workload = on_one_core_nodes(drawn(part, size))
    if peer == STOCK:
        cpu = run_stock(workload, "fifo").cpu
    else:
        cpu = measured(lambda: easy_starts(bare_jobs(workload), workload.machine.nodes))[1].cpu
    return DecisionCost(part, peer, size, np.nan, 1e6 * cpu / len(workload), len(workload))


def measure(parts: Sequence[str], names: Sequence[str], seconds: float, small: bool) -> Iterator[DecisionCost]:
    """Yield point after point. A row ends after ten times the budget, or if a peer's next point would exceed that."""
    for part in parts:
        sizes = _SMALL[part] if small else PARTS[part][1]
        for name in (*names, BARE, STOCK):
            yield from _row(part, name, sizes, seconds)


def _row(part: str, name: str, sizes: Sequence[int], seconds: float) -> Iterator[DecisionCost]:
    peer = name in (BARE, STOCK)
    for size, following in zip(sizes, (*sizes[1:], 0), strict=True):
        if not peer:
            warm_up(part, name, size)
        run: Callable[[], DecisionCost | None] = (
            partial(measure_peer, part, name, size) if peer else partial(measure_point, part, name, size, seconds)
        )
        made, took = measured(run)
        if made is None:
            return
        yield made
        if took.cpu * ((following / size) ** 2 if peer else 1) > 10 * seconds:
            return


def exponent(points: Sequence[DecisionCost]) -> float:
    """Return b of cost = a * size**b, fitted by least squares of the logarithms. NaN with fewer than three points.

    The cost is that of the decision. For a peer it is that of its run.
    """
    cost = np.array([point.step if np.isnan(point.decision) else point.decision for point in points])
    if len(points) < 3 or not (cost > 0).all():
        return np.nan
    return power_of([point.size for point in points], cost.tolist())


def tables(points: Sequence[DecisionCost]) -> list[Table]:
    """Return a table per part. It has a row per subject and a column per size."""
    made = []
    for part in dict.fromkeys(point.part for point in points):
        of_part = [point for point in points if point.part == part]
        sizes = sorted({point.size for point in of_part})
        rows = []
        for subject in dict.fromkeys(point.subject for point in of_part):
            row = {point.size: point for point in of_part if point.subject == subject}
            fitted = exponent(list(row.values()))
            cells = [_cell(row[size]) if size in row else "-" for size in sizes]
            rows.append([subject, *cells, "-" if np.isnan(fitted) else f"{fitted:.2f}"])
        title = f"Microseconds a decision (and with the engine around it) against {PARTS[part][0]}"
        made.append(Table(title, ["", *(f"{size:,}" for size in sizes), "exponent"], rows))
    return made


def picture(points: Sequence[DecisionCost], kind: str) -> bytes:
    """Return a picture of the cost over the size for :data:`DRAWN`, a panel per part."""
    data = pd.DataFrame([asdict(point) for point in points]).rename(columns={"size": "x"})
    data["value"] = data["decision"].fillna(data["step"])
    data["low"], data["high"] = data["value"], data["value"]
    data["panel"] = data["part"].map(lambda part: f"against {part}")
    data = data[data["subject"].isin(DRAWN)]
    drawing = Drawing("lines", {}, "", "microseconds a decision", log_x=True, log_y=True)
    with canvas() as drawn:
        draw_lines(
            drawn, "CPU time of a decision against what grows; of a job for the bare loop and AccaSim", drawing, data
        )
        return image(drawn, kind)


def _cell(point: DecisionCost) -> str:
    step = f"{point.step:,.0f}"
    return step if np.isnan(point.decision) else f"{point.decision:,.0f} ({step})"


@click.command(help=__doc__)
@click.option("--part", "parts", multiple=True, type=click.Choice(list(PARTS)), help="Only this one.")
@click.option("--dispatcher", "names", multiple=True, help="Only this one, with options.  [default: all registered]")
@click.option("--seconds", type=click.FloatRange(0.01), default=2.0, show_default=True, help="CPU time for a point.")
@click.option("--small", is_flag=True, help="Smoke test: short queues, few nodes, few jobs.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw it there: PNG, SVG or PDF.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@click.option("--json", "as_json", is_flag=True, help="Print the points as JSON, a line each.")
@in_one_line()
def main(
    parts: tuple[str, ...],
    names: tuple[str, ...],
    seconds: float,
    small: bool,
    plot: Path | None,
    as_markdown: bool,
    as_json: bool,
) -> None:
    """Measure, and print the tables."""
    points = []
    for point in measure(parts or list(PARTS), names or registry.names(), seconds, small):
        points.append(point)
        if as_json:
            click.echo(json.dumps(asdict(point)))
    if plot:
        plot.write_bytes(picture(points, plot.suffix[1:]))
    if not as_json:
        show(tables(points), as_markdown)


if __name__ == "__main__":
    main()
