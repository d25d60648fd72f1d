"""Where the CPU time of a simulation goes: the part of the engine that it is in, asked at every tick of a clock."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any

from .....base import InputError

#: Seconds of CPU time between two looks; the time of a look is small beside it.
TICK = 0.001
#: Looks without which nothing is told: systems look every few milliseconds only.
LEAST = 20
#: Module or folder, the most exact first: the part that it is; what is called from elsewhere is of its caller's part.
PARTS = {
    "accasim.": "AccaSim's loop",
    "hpcdispatch.simulation.engine": "AccaSim's loop",
    "hpcdispatch.simulation.action_checks": "checks of actions",
    "hpcdispatch.simulation.overrun": "checks of actions",
    "hpcdispatch.simulation.recorder": "records",
    "hpcdispatch.simulation.result": "records",
    "hpcdispatch.simulation.forecasts": "predictions",
    "hpcdispatch.predictors": "predictions",
    "hpcdispatch.simulation.node_matrix": "what is free",
    "hpcdispatch.simulation.placements": "what is free",
    "hpcdispatch.simulation.life_cycle": "life cycle of jobs",
    "hpcdispatch.simulation.simulated_job": "life cycle of jobs",
    "hpcdispatch.simulation": "events",
    "hpcdispatch.dispatchers.columns": "queue and running jobs",
    "hpcdispatch.dispatchers.protocol": "queue and running jobs",
    "hpcdispatch.dispatchers.ordered_jobs": "queue and running jobs",
    "hpcdispatch.dispatchers": "decisions",
    "hpcdispatch.models": "decisions",
    "hpcdispatch.workloads": "jobs of the trace",
}


def part_of(frame: FrameType | None) -> str:
    """Return the part that the innermost function of a stack belongs to which belongs to any."""
    while frame is not None:
        part = _part(str(frame.f_globals.get("__name__", "")))
        if part is not None:
            return part
        frame = frame.f_back
    return "elsewhere"


@cache
def _part(module: str) -> str | None:
    """Return the part that a module belongs to, if it belongs to any; a look is to cost little."""
    return next((part for prefix, part in PARTS.items() if module.startswith(prefix)), None)


@contextmanager
def sampled() -> Iterator[Counter[str]]:
    """Count, while the block runs in the main thread, the ticks of CPU time in each part.

    Raises
    ------
    InputError
        Where the system has no clock of CPU time that interrupts.
    """
    if not hasattr(signal, "setitimer"):
        raise InputError("this system has no signal.setitimer, by which a running simulation is looked at")
    ticks: Counter[str] = Counter()

    def look(_: int, frame: FrameType | None) -> None:
        ticks[part_of(frame)] += 1

    before = signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, TICK, TICK)
    try:
        yield ticks
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def shares(run: Callable[[], Any], times: int) -> dict[str, float]:
    """Call `run` so often, and on until it was looked at often enough; return each part's share of its CPU time.

    The largest first.
    """
    called = 0
    with sampled() as ticks:
        while called < times or ticks.total() < LEAST:
            run()
            called += 1
    return {part: count / ticks.total() for part, count in ticks.most_common()}
