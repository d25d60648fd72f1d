"""Where the CPU time of a simulation goes: the current part of the engine at every clock tick."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any

from .....base import InputError

#: CPU seconds between two samples. The time of a sample is small beside it.
TICK = 0.001
#: Least number of samples for a result. Systems sample every few milliseconds only.
LEAST = 20
#: Module or folder to part, the most exact first. Calls from elsewhere belong to the caller's part.
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
    """Return the part of the innermost function of a stack that belongs to any part."""
    while frame is not None:
        part = _part(str(frame.f_globals.get("__name__", "")))
        if part is not None:
            return part
        frame = frame.f_back
    return "elsewhere"


@cache
def _part(module: str) -> str | None:
    """Return the part that a module belongs to, if any. A sample should cost little."""
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
    """Call `run` this many times, and on until there are enough samples. Return each part's share of CPU time.

    The largest first.
    """
    called = 0
    with sampled() as ticks:
        while called < times or ticks.total() < LEAST:
            run()
            called += 1
    return {part: count / ticks.total() for part, count in ticks.most_common()}
