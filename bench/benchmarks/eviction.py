"""Eviction plans: the time they take, beside greedy and backtracking.

``python -m hpcdispatch.bench.benchmarks.eviction`` has two parts. ``scenarios``: 12, 16 and 24 jobs on 4,352 nodes of a
Theta-like machine, as in the figures of Maurya et al., DS-RT 2020, for every deadline of 0 to 15 minutes. ``scale``: up
to 1,000 jobs on 100,000 nodes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import click
import numpy as np

from ...analysis import scenario_of
from ...models.eviction import Eviction, EvictionPlan, RunningJob, greedy, plan, search
from ...workloads import generate
from ..reports.tables import Table, show
from .measurements import measured, peak_memory, run_module

JOBS, NODES = (12, 16, 24), (512, 1024, 2048)
#: The paper's deadlines, seconds: 0 to 15 minutes.
HORIZON, MINUTE = 15 * 60, 60
DEADLINES = tuple(range(0, HORIZON + 1, MINUTE))
#: Jobs, nodes, steps; how many seconds and megabytes are allowed.
SIZES = ((200, 9_408, 30, 1.0, None), (1000, 100_000, 60, 60.0, 4000.0))
SMALL_SIZES = ((20, 2_000, 10, 1.0, 4000.0),)
#: Partial decisions that a backtracking looks at, at most.
LIMIT = 10**9
_REPEATS = 5

T = TypeVar("T")


@dataclass(frozen=True)
class Response:
    """What the approaches take for one scenario.

    Attributes
    ----------
    whole_ms
        Of the plan for all deadlines, made and read.
    plan_ms
        Of the same with the decision for one deadline read, by deadline.
    greedy_ms, backtracking_ms
        Of each deadline alone.
    visited
        Partial decisions that backtracking looked at, by deadline.
    complete
        Whether that were all.
    best, greedy
        The losses, node-hours, by deadline.
    agree
        Whether backtracking, where complete, found what the plan has.
    """

    whole_ms: float
    plan_ms: list[float]
    greedy_ms: list[float]
    backtracking_ms: list[float]
    visited: list[int]
    complete: bool
    best: list[float]
    greedy: list[float]
    agree: bool


def scenario(jobs: int, seed: int, grain: int = 128) -> list[RunningJob]:
    """Return the running jobs of a Theta-like scenario, times in seconds."""
    return scenario_of(generate("theta-scenario", jobs=jobs, grain=grain, seed=seed)).running()


def respond(jobs: Sequence[RunningJob], nodes: int, *, limit: int = LIMIT, by_nodes: bool = False) -> Response:
    """Measure the approaches on one scenario; times are the least of a few calls, of backtracking those of one.

    Parameters
    ----------
    jobs, nodes
        What runs, and how many nodes are to be freed.
    limit
        Partial decisions that backtracking looks at, at most.
    by_nodes
        Whether it abandons also what can no longer free the nodes, which the paper's does not.
    """
    _warm_up()
    made, whole = least(lambda: _read(plan(jobs, nodes, HORIZON, MINUTE)))
    plans = [least(partial(_answer, jobs, nodes, end)) for end in DEADLINES]
    quick = [least(partial(greedy, jobs, nodes, end, MINUTE)) for end in DEADLINES]
    found = [measured(partial(search, jobs, nodes, end, MINUTE, by_nodes=by_nodes, limit=limit)) for end in DEADLINES]
    return Response(
        whole,
        [ms for _, ms in plans],
        [ms for _, ms in quick],
        [1000 * time.wall for _, time in found],
        [answer.visited for answer, _ in found],
        all(answer.complete for answer, _ in found),
        [made[end].loss for end in DEADLINES],
        [answer.loss for answer, _ in quick],
        all(
            (answer.eviction.loss, answer.eviction.checkpoint_time) == (made[end].loss, made[end].checkpoint_time)
            for end, (answer, _) in zip(DEADLINES, found, strict=True)
            if answer.complete
        ),
    )


def least(run: Callable[[], T], repeats: int = _REPEATS) -> tuple[T, float]:
    """Return what `run` returns, and the milliseconds of the fastest of some calls."""
    found = [measured(run) for _ in range(repeats)]
    return found[0][0], 1000 * min(time.wall for _, time in found)


def _answer(jobs: Sequence[RunningJob], nodes: int, deadline: int) -> Eviction:
    """Return the decision for one deadline of the plan for all."""
    return plan(jobs, nodes, HORIZON, MINUTE)[deadline]


def _read(made: EvictionPlan) -> EvictionPlan:
    """Have every decision made."""
    list(made)
    return made


def _warm_up() -> None:
    """Have everything compiled."""
    jobs = [RunningJob("a", 1, 1, 1, 1)]
    _read(plan(jobs, 1, 1))
    search(jobs, 1, 1)


def on_scenarios(jobs: Sequence[int], nodes: Sequence[int], seeds: int, grain: int, limit: int) -> Table:
    """Return the table of the scenarios."""
    rows = []
    for count in jobs:
        for needed in nodes:
            found = [respond(scenario(count, seed, grain), needed, limit=limit) for seed in range(seeds)]
            rows.append(_row(count, needed, found))
    columns = (
        "jobs", "nodes", "plan, ms", "under 10 ms", "one deadline, max / min", "greedy, ms", "backtracking, ms",
        "/ plan", "partial decisions", "greedy's extra loss, node-hours", "backtracking agrees",
    )  # fmt: skip
    note = (
        "Times are of the wall clock, of all deadlines together: the plan of one call, the others one after another; "
        "means over the scenarios, of backtracking the largest. One deadline: the plan with one decision read, by "
        "deadline. >: the search was ended. The extra loss is the mean over deadlines and scenarios."
    )
    return Table(f"Scenarios of {seeds} seeds, sizes in grains of {grain}", columns, rows, labels=1, note=note)


def _row(count: int, needed: int, found: Sequence[Response]) -> list[str]:
    whole = [response.whole_ms for response in found]
    backtracking = [sum(response.backtracking_ms) for response in found]
    ended = "" if all(response.complete for response in found) else ">"
    extra = np.mean([np.subtract(response.greedy, response.best) for response in found])
    return [
        str(count),
        f"{needed:,}",
        f"{np.mean(whole):.2f}",
        f"{sum(one < 10 for one in whole)} of {len(found)}",
        f"{np.mean([max(one.plan_ms) / min(one.plan_ms) for one in found]):.2f}",
        f"{np.mean([sum(one.greedy_ms) for one in found]):.2f}",
        f"{ended}{max(backtracking):,.0f}",
        f"{ended}{max(slow / fast for slow, fast in zip(backtracking, whole, strict=True)):,.0f}",
        f"{ended}{max(sum(one.visited) for one in found):,}",
        f"{extra:,.1f}",
        f"{sum(one.agree for one in found)} of {len(found)}",
    ]


def random_jobs(jobs: int, nodes: int, steps: int, seed: int = 0) -> list[RunningJob]:
    """Draw jobs of any sizes that sum to `nodes`, with losses of any digits; most can be saved within `steps`."""
    rng = np.random.default_rng(seed)
    sizes = 1 + rng.multinomial(nodes - jobs, rng.dirichlet(np.ones(jobs)))
    columns = (sizes, rng.uniform(0, sizes), *rng.integers(1, steps + steps // 4, (2, jobs)))
    return [RunningJob(str(place), *row) for place, row in enumerate(zip(*(c.tolist() for c in columns), strict=True))]


def on_scale(sizes: Sequence[tuple[int, int, int, float, float | None]]) -> Table:
    """Return the table of the large ones, each measured in a process of its own."""
    rows = []
    for jobs, nodes, steps, seconds, megabytes in sizes:
        found = run_module("eviction", "--child", str(jobs), str(nodes), str(steps))
        memory = "" if megabytes is None else f"{megabytes:,.0f}"
        rows.append([
            f"{jobs:,}", f"{nodes:,}", str(steps), f"{found['half_s']:.2f}", f"{found['spectrum_s']:.2f}",
            f"{seconds:g}", f"{found['mb']:,.0f}", memory,
        ])  # fmt: skip
    columns = (
        "jobs", "nodes", "steps", "half the nodes, s", "all numbers of nodes, s", "allowed, s", "peak, MB",
        "allowed, MB",
    )  # fmt: skip
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
@click.option(
    "--grain", type=click.IntRange(min=1), default=128, show_default=True, help="Of which sizes are multiples."
)
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
