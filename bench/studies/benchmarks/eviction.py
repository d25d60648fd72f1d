"""Eviction plans: their time, against greedy and backtracking.

``python -m hpcdispatch.bench.studies.benchmarks.eviction`` has two parts. ``scenarios``: 12, 16 and 24 jobs on 4,352
nodes of a Theta-like machine. Deadlines are 0 to 15 minutes. These are the figures of Maurya et al., DS-RT 2020.
``scale``: up to 1,000 jobs on 100,000 nodes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import click
import numpy as np
from numpy.typing import NDArray
from oracles.eviction_search import CHOICES, SearchCore, search

from ....analysis import scenario_of
from ....models.eviction import (
    Clock,
    EvictionPlan,
    GreedyCore,
    PlanCore,
    RunningJob,
    cost,
    greedy,
    greedy_by_deadline,
    plan,
)
from ....workloads import generate
from ...reports.tables import Table
from ..printed_tables import show
from .measurements import measured, peak_memory, run_module

JOBS, NODES = (12, 16, 24), (512, 1024, 2048)
#: The paper's deadlines, seconds: 0 to 15 minutes.
HORIZON, MINUTE = 15 * 60, 60
DEADLINES = tuple(range(0, HORIZON + 1, MINUTE))
#: Jobs, nodes, steps, and the limits in seconds and megabytes.
SIZES = ((200, 9_408, 30, 1.0, None), (1000, 100_000, 60, 60.0, 4000.0))
SMALL_SIZES = ((20, 2_000, 10, 1.0, 4000.0),)
#: Most partial decisions of a backtracking.
LIMIT = 10**9
_REPEATS = 5
#: Calls that are measured together where one is too short.
_CALLS = 50

T = TypeVar("T")
ByteArray = NDArray[np.uint8]


@dataclass(frozen=True)
class Response:
    """What the approaches take for one scenario, of milliseconds and of operations.

    All three are compiled, and timed on arrays that are made before. `calls_ms` has the whole calls.

    Attributes
    ----------
    plan_ms
        Of the plan for all deadlines.
    greedy_ms
        Of all deadlines up to each.
    backtracking_ms
        Of each deadline alone.
    calls_ms
        Of the plan for all deadlines, and of greedy for all, from the jobs to decisions.
    cells
        Cells of the table of the plan.
    looked
        Jobs that greedy looked at, for all deadlines up to each.
    visited
        Partial decisions that backtracking looked at, by deadline.
    complete
        Whether that were all.
    best, greedy
        The losses, node-hours, by deadline.
    agree
        Whether backtracking, where complete, found what the plan has.
    """

    plan_ms: float
    greedy_ms: list[float]
    backtracking_ms: list[float]
    calls_ms: tuple[float, float]
    cells: int
    looked: list[int]
    visited: list[int]
    complete: bool
    best: list[float]
    greedy: list[float]
    agree: bool


def scenario(jobs: int, seed: int, grain: int = 1) -> list[RunningJob]:
    """Return the running jobs of a Theta-like scenario, times in seconds."""
    return scenario_of(generate("theta-scenario", jobs=jobs, grain=grain, seed=seed)).running()


def respond(jobs: Sequence[RunningJob], nodes: int, *, limit: int = LIMIT) -> Response:
    """Measure the approaches on one scenario.

    Times are CPU times, the least of a few calls. Backtracking has one call.

    Parameters
    ----------
    jobs, nodes
        What runs, and how many nodes are to be freed.
    limit
        Partial decisions that backtracking looks at, at most; it abandons by loss alone, as the paper's does.
    """
    _warm_up()
    clock = Clock(MINUTE)
    (_, cells), plan_ms = least(PlanCore.of(jobs, nodes, HORIZON, clock).run)
    made, plan_call = least(lambda: list(plan(jobs, nodes, HORIZON, MINUTE)))
    quick, greedy_call = least(lambda: greedy_by_deadline(jobs, nodes, DEADLINES, MINUTE))
    ends = range(1, len(DEADLINES) + 1)
    looked = [least(GreedyCore.of(jobs, nodes, DEADLINES[:end], clock).run, calls=_CALLS) for end in ends]
    searches = [SearchCore.of(jobs, nodes, end, clock, by_nodes=False, limit=limit) for end in DEADLINES]
    measurements = [measured(core.run) for core in searches]
    costs = [
        search_costs(jobs, core, best) if complete else (made[place].loss, made[place].checkpoint_time)
        for place, (core, ((best, _, complete), _)) in enumerate(zip(searches, measurements, strict=True))
    ]
    return Response(
        plan_ms,
        [ms for _, ms in looked],
        [1000 * time.cpu for _, time in measurements],
        (plan_call, greedy_call),
        cells,
        [count for (_, count), _ in looked],
        [visited for (_, visited, _), _ in measurements],
        all(complete for (_, _, complete), _ in measurements),
        [eviction.loss for eviction in made],
        [eviction.loss for eviction in quick],
        costs == [(eviction.loss, eviction.checkpoint_time) for eviction in made],
    )


def search_costs(jobs: Sequence[RunningJob], core: SearchCore, best: ByteArray) -> tuple[float, float]:
    """Return loss and time of what a search found."""
    chosen = np.arange(len(jobs)), best
    loss = sum((exact_cost(job, choice) for job, choice in zip(jobs, best.tolist(), strict=True)), Fraction(0))
    return float(loss), float(core.time[chosen].sum()) * MINUTE


def exact_cost(job: RunningJob, choice: int) -> Fraction:
    """Return what a choice of a search loses."""
    action = CHOICES[choice]
    return Fraction(0) if action is None else cost(job, action)


def least(run: Callable[[], T], repeats: int = _REPEATS, calls: int = 1) -> tuple[T, float]:
    """Return the result of `run`, and milliseconds per call in the fastest of several turns of calls."""
    measurements = [measured(lambda: [run() for _ in range(calls)]) for _ in range(repeats)]
    return measurements[0][0][0], 1000 * min(time.cpu for _, time in measurements) / calls


def _read(made: EvictionPlan) -> EvictionPlan:
    """Have every decision made."""
    list(made)
    return made


def _warm_up() -> None:
    """Have everything compiled."""
    jobs = [RunningJob("a", 1, 1, 1, 1)]
    _read(plan(jobs, 1, 1))
    search(jobs, 1, 1)
    PlanCore.of(jobs, 1, 1, Clock(1)).run()
    greedy(jobs, 1, 1)


def on_scenarios(jobs: Sequence[int], nodes: Sequence[int], seeds: int, grain: int, limit: int) -> Table:
    """Return the table of the scenarios."""
    rows = []
    for count in jobs:
        for needed in nodes:
            responses = [respond(scenario(count, seed, grain), needed, limit=limit) for seed in range(seeds)]
            rows.append(_row(count, needed, responses))
    columns = (
        "jobs",
        "nodes",
        "plan, ms",
        "greedy, ms",
        "backtracking, ms",
        "plan, cells",
        "greedy, jobs looked at",
        "backtracking, partial decisions",
        "whole calls: plan, ms",
        "greedy, ms",
        "greedy's extra loss, node-hours",
        "backtracking agrees",
    )
    note = (
        "Times are of the CPU, all three compiled, of all deadlines together: the plan of one call, the others one "
        "after another; means over the scenarios, of backtracking the largest. Whole calls are with what is done in "
        "Python before and after. >: the search was ended. The extra loss is the mean over deadlines and scenarios."
    )
    return Table(f"Scenarios of {seeds} seeds, sizes in grains of {grain}", columns, rows, labels=1, note=note)


def _row(count: int, needed: int, responses: Sequence[Response]) -> list[str]:
    ended = "" if all(response.complete for response in responses) else ">"
    extra = np.mean([np.subtract(response.greedy, response.best) for response in responses])
    return [
        str(count),
        f"{needed:,}",
        f"{np.mean([one.plan_ms for one in responses]):.3f}",
        f"{np.mean([one.greedy_ms[-1] for one in responses]):.4f}",
        f"{ended}{max(sum(one.backtracking_ms) for one in responses):,.2f}",
        f"{np.mean([one.cells for one in responses]):,.0f}",
        f"{np.mean([one.looked[-1] for one in responses]):,.0f}",
        f"{ended}{max(sum(one.visited) for one in responses):,}",
        f"{np.mean([one.calls_ms[0] for one in responses]):.2f}",
        f"{np.mean([one.calls_ms[1] for one in responses]):.2f}",
        f"{extra:,.1f}",
        f"{sum(one.agree for one in responses)} of {len(responses)}",
    ]


def random_jobs(jobs: int, nodes: int, steps: int) -> list[RunningJob]:
    """Sample jobs of any sizes that sum to `nodes`, with losses of any digits. Most can be saved within `steps`."""
    rng = np.random.default_rng(0)
    sizes = 1 + rng.multinomial(nodes - jobs, rng.dirichlet(np.ones(jobs)))
    columns = (sizes, rng.uniform(0, sizes), *rng.integers(1, steps + steps // 4, (2, jobs)))
    return [RunningJob(str(place), *row) for place, row in enumerate(zip(*(c.tolist() for c in columns), strict=True))]


def on_scale(sizes: Sequence[tuple[int, int, int, float, float | None]]) -> Table:
    """Return the table of the large ones. Each is measured in a process of its own."""
    rows = []
    for jobs, nodes, steps, seconds, megabytes in sizes:
        figures = run_module("eviction", "--child", str(jobs), str(nodes), str(steps))
        memory = "" if megabytes is None else f"{megabytes:,.0f}"
        rows.append(
            [
                f"{jobs:,}",
                f"{nodes:,}",
                str(steps),
                f"{figures['half_s']:.2f}",
                f"{figures['spectrum_s']:.2f}",
                f"{seconds:g}",
                f"{figures['mb']:,.0f}",
                memory,
            ]
        )
    columns = (
        "jobs",
        "nodes",
        "steps",
        "half the nodes, s",
        "all numbers of nodes, s",
        "allowed, s",
        "peak, MB",
        "allowed, MB",
    )
    note = (
        "Sizes without a common divisor, losses as random floats. Half the nodes: the plan that frees them, with every "
        "deadline read. All: the plan for every number of nodes, every deadline read for a hundred of them."
    )
    return Table("Large machines", columns, rows, labels=0, note=note)


def child(jobs: int, nodes: int, steps: int) -> dict[str, float]:
    """Measure one size in this process."""
    _warm_up()
    given = random_jobs(jobs, nodes, steps)
    _, half = measured(lambda: _read(plan(given, nodes // 2, steps)))
    made, first = measured(lambda: _read(plan(given, nodes, steps)))
    _, rest = measured(lambda: [_read(made.for_nodes(k)) for k in np.linspace(0, nodes, 100).astype(int).tolist()])
    return {"half_s": half.wall, "spectrum_s": first.wall + rest.wall, "mb": peak_memory()}


@click.command(help=__doc__)
@click.option("--seeds", type=click.IntRange(min=1), default=5, show_default=True, help="Scenarios of each kind.")
@click.option("--grain", type=click.IntRange(min=1), default=1, show_default=True, help="Of which sizes are multiples.")
@click.option("--small", is_flag=True, help="Smoke test: one scenario of each kind, short searches, a small machine.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
def main(seeds: int, grain: int, small: bool, as_markdown: bool) -> None:
    """Print both tables."""
    jobs, nodes, limit = (JOBS[:2], NODES[:2], 10**5) if small else (JOBS, NODES, LIMIT)
    show([on_scenarios(jobs, nodes, 1 if small else seeds, grain, limit)], as_markdown)
    show([on_scale(SMALL_SIZES if small else SIZES)], as_markdown)


if __name__ == "__main__":
    if sys.argv[2:3] == ["--child"]:
        Path(sys.argv[1]).write_text(json.dumps(child(*map(int, sys.argv[3:]))), encoding="utf-8")
    else:
        main()
