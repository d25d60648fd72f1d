"""Decisions per second of ``PickJob-v0``, and of a plain Python loop with the same rules.

Run it by ``python -m hpcdispatch.bench.studies.training.speed``. The shortest visible job is chosen. Both must have the
same starts. Seconds are those of this process on its core.
"""

from __future__ import annotations

import heapq
from time import process_time
from typing import Any

import click
import gymnasium
import numpy as np

from ....base import InputError
from ....learn import DispatchEnv, DispatchVectorEnv
from ....learn.columns import DEFAULT, NAMES, NUMBERED
from ....workloads import Workload, generate, read
from ....workloads.fetching import at_hand
from ....workloads.sources import resolve
from ...reports.tables import Table
from ..one_line_errors import in_one_line
from ..printed_tables import show

WORKLOAD = "lublin:jobs=10000,processors=256,load=1.0,seed=1"
VISIBLE, JOBS = 128, 256


def plain(workload: Workload, visible: int) -> tuple[list[int], int]:
    """Choose the shortest of the first waiting jobs, with EASY backfill. Return the starts and the number of choices.

    A choice fills an observation of the environment's shape, as published loops do.
    """
    jobs = list(workload.jobs)
    capacity = int(workload.machine.capacity[0, 0])
    starts = [-1] * len(jobs)
    waiting = list[int]()
    running = list[tuple[int, int]]()
    free = capacity
    at = 0
    steps = 0
    core = {place: job.nodes * job.per_node.get("core", 0) for place, job in enumerate(jobs)}

    def start(place: int, now: int) -> int:
        starts[place] = now
        waiting.remove(place)
        heapq.heappush(running, (now + jobs[place].runtime, place))
        return core[place]

    while at < len(jobs) or running:
        now = min([*(job.submit for job in jobs[at : at + 1]), *(end for end, _ in running[:1])])
        while running and running[0][0] <= now:
            free += core[heapq.heappop(running)[1]]
        while at < len(jobs) and jobs[at].submit <= now:
            waiting.append(at)
            at += 1
        while waiting and min(core[place] for place in waiting) <= free:
            shown = waiting[:visible]
            observation = np.zeros((visible, 8), dtype=np.float32)
            for row, place in enumerate(shown):
                wait = now - jobs[place].submit
                predicted = jobs[place].walltime
                observation[row] = (
                    1,
                    wait / (wait + 3600),
                    min(1, np.log1p(predicted) / 18.42),
                    core[place] / capacity,
                    core[place] <= free,
                    wait / (wait + predicted),
                    free / capacity,
                    len(waiting) / (len(waiting) + 128),
                )
            chosen = min(shown, key=lambda place: jobs[place].walltime)
            steps += 1
            if core[chosen] <= free:
                free -= start(chosen, now)
                continue
            ends = sorted((max(starts[place] + jobs[place].walltime, now + 1), core[place]) for _, place in running)
            shadow, spare = now, free - core[chosen]
            for end, units in ends:
                if spare >= 0 and end > shadow:
                    break
                shadow, spare = end, spare + units
            for place in list(waiting):
                if core[place] > free or place == chosen:
                    continue
                if now + jobs[place].walltime > shadow:
                    if core[place] > spare:
                        continue
                    spare -= core[place]
                free -= start(place, now)
            break
    return starts, steps


def measured(workload: Workload, steps: int, seed: int) -> list[list[str]]:
    """Return a row per form: its name, decisions, decisions per second, and speedup.

    Raises
    ------
    InputError
        If the starts of an episode differ.
    """
    env = gymnasium.make("hpcdispatch/PickJob-v0", workload=workload, jobs=JOBS, visible=VISIBLE).unwrapped
    several = gymnasium.make_vec(
        "hpcdispatch/PickJob-v0",
        16,
        vectorization_mode="vector_entry_point",
        workload=workload,
        jobs=JOBS,
        visible=VISIBLE,
    ).unwrapped
    assert isinstance(env, DispatchEnv)
    assert isinstance(several, DispatchVectorEnv)
    rng = np.random.default_rng(seed)
    count = 0
    spent = 0.0
    while count == 0 or count < steps // 20:
        first = int(rng.integers(len(env.workload) - JOBS + 1))
        part = env.workload.slice(first, first + JOBS)
        begin = process_time()
        starts, taken = plain(part, VISIBLE)
        spent = spent + process_time() - begin
        count = count + taken
        over = False
        observation, _ = env.reset(options={"start": first})
        while not over:
            masks = env.action_masks()
            observation, _, over, _, info = env.step(np.where(masks, observation[:, 2], 9).argmin())
        if info["summary"].result.jobs["start"].tolist() != starts:
            raise InputError(f"start {first}: expected the starts of the plain loop, got others")
    rates = {"plain Python loop": (count, count / spent)}
    observation, _ = env.reset(seed=seed)
    begin = process_time()
    for _ in range(steps):
        observation, _, over, _, _ = env.step(np.where(env.action_masks(), observation[:, 2], 9).argmin())
        if over:
            observation, _ = env.reset()
    rates["PickJob-v0"] = steps, steps / (process_time() - begin)
    observations, _ = several.reset(seed=seed)
    begin = process_time()
    for _ in range(steps // 16):
        actions = np.where(several.action_masks(), observations[:, :, 2], 9).argmin(axis=1)
        observations, *_ = several.step(actions)
    rates["PickJob-v0, 16 side by side"] = steps // 16 * 16, steps // 16 * 16 / (process_time() - begin)
    least = rates["plain Python loop"][1]
    return [[name, f"{taken:,}", f"{rate:,.0f}", f"{rate / least:.1f}"] for name, (taken, rate) in rates.items()]


#: What a table of costs compares with the default: options by the name of a row.
EXTRAS: dict[str, dict[str, Any]] = {
    **{
        f"observe {name}": {"observe": [*DEFAULT, name]}
        for name in (f"{each}:8" if each in NUMBERED else each for each in NAMES if each not in DEFAULT)
    },
    "order sjf": {"order": "sjf"},
    "order f1": {"order": "f1"},
    "warm_up easy": {"warm_up": "easy"},
    "engine: order fairshare": {"order": "fairshare"},
    "engine: predictor last2": {"predictor": "last2"},
}


def costs(workload: Workload, steps: int, seed: int) -> list[list[str]]:
    """Return a row per column and option: its name, decisions per second, and microseconds per decision more.

    The first visible job is chosen, in 16 environments side by side. Those in the engine take a hundredth of the steps.
    """
    rows = []
    plain = 0.0
    cases: dict[str, dict[str, Any]] = {"default": {}, **EXTRAS}
    for name, options in cases.items():
        env = gymnasium.make_vec(
            "hpcdispatch/PickJob-v0",
            16,
            vectorization_mode="vector_entry_point",
            workload=workload,
            jobs=JOBS,
            visible=VISIBLE,
            **options,
        ).unwrapped
        env.reset(seed=seed)
        nothing = np.zeros(16, dtype=np.int64)
        env.step(nothing)
        count = max(1, steps // 16 // (100 if name.startswith("engine") else 1))
        spent = np.inf
        for _ in range(3):
            begin = process_time()
            for _ in range(count):
                env.step(nothing)
            spent = min(spent, (process_time() - begin) / count / 16)
        plain = plain or spent
        rows.append([name, f"{1 / spent:,.0f}", "" if spent == plain else f"{(spent - plain) * 1e6:.2f}"])
    return rows


@click.command()
@click.option("--workload", default=WORKLOAD, show_default=True, help="A generator, or a trace such as lublin-256.")
@click.option("--steps", type=click.IntRange(min=16), default=200_000, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--columns", is_flag=True, help="What each column and option costs instead.")
@click.option("--markdown", is_flag=True)
@in_one_line()
def main(workload: str, steps: int, seed: int, columns: bool, markdown: bool) -> None:
    """Print decisions per second."""
    heads = ["form", "decisions", "per second", "times the loop"]
    title = f"{VISIBLE} visible jobs, 8 features, episodes of {JOBS} jobs, resets included"
    source = resolve(str(at_hand(workload) or workload))
    trace = generate(workload) if source.spec else read(source.file(), default_walltime="runtime")
    if columns:
        heads = ["beside the default columns", "decisions per second", "microseconds more"]
        title = f"PickJob-v0, 16 side by side, {VISIBLE} visible jobs"
        show([Table(title, heads, costs(trace, steps, seed))], markdown)
        return
    show([Table(title, heads, measured(trace, steps, seed))], markdown)


if __name__ == "__main__":
    main()
