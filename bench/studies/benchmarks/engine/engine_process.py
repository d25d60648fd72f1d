"""Our side of the engine's benchmark, in a process of its own.

``python -m hpcdispatch.bench.studies.benchmarks.engine.engine_process ANSWER TASK REPEAT ARGUMENT...`` is the child
process. Each task runs a slice of its workload first. So imports and caches are not counted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd

from .....dispatchers import EASY
from .....simulation import Result, simulate
from .....workloads import Machine, Workload, read
from ..measurements import measured, peak_memory
from ..traces import MACHINES
from .bare_easy import bare_jobs, easy_starts
from .engine_parts import shares

_WARM = 200
#: Jobs from which on all compiled code of a simulation is loaded.
_LOADING = 2_500


class _PlugIn:
    """EASY, as the engine sees a dispatcher that it does not know."""

    name = "EASY as a plug-in"

    def __init__(self) -> None:
        self.dispatch = EASY().dispatch


def nodes(repeat: int, dispatcher: str, swf: str, system: str) -> dict[str, Any]:
    """Read AccaSim's files and simulate them on the nodes of the system file. Median CPU seconds."""

    def run() -> Result:
        return simulate(read(swf, system), dispatcher)

    simulate(read(swf, system).head(_WARM), dispatcher)
    return {"jobs": len(run().jobs), "cpu": _median(run, repeat)}


def pool(repeat: int, swf: str) -> dict[str, Any]:
    """Simulate EASY on a pool, itself and as a plug-in. Run the bare loop on the same jobs, in turns.

    Median CPU seconds, and the share of each part in the plug-in's simulation.
    """
    workload = read(swf)
    cores = int(workload.machine.capacity.sum())
    warm = workload.head(_WARM)
    simulate(workload, "easy")  # Whole, since the compiled code of long traces is to be loaded.
    easy_starts(bare_jobs(warm), cores)
    ours: list[float] = []
    plugged: list[float] = []
    floor: list[float] = []
    for _ in range(max(repeat, 3)):
        result, seconds = measured(lambda: simulate(workload, "easy"))
        ours.append(seconds.cpu)
        _, seconds = measured(lambda: simulate(workload, _PlugIn()))
        plugged.append(seconds.cpu)
        starts, seconds = measured(lambda: easy_starts(bare_jobs(workload), cores))
        floor.append(seconds.cpu)
    equal = sum(map(int.__eq__, result.jobs["start"].tolist(), starts))
    return {
        "jobs": len(workload),
        "cpu": median(ours),
        "plugged": median(plugged),
        "floor": median(floor),
        "equal": equal,
        "parts": shares(lambda: simulate(workload, _PlugIn()), repeat),
    }


def whole(_: int, dispatcher: str, trace: str, jobs: str) -> dict[str, Any]:
    """Read a trace, simulate it on its pool and sum up. CPU seconds and peak resident memory, megabytes."""

    def run() -> Result:
        result = simulate(_first(trace, jobs), dispatcher)
        result.summary()
        return result

    result, seconds = measured(run)
    return {"jobs": len(result.jobs), "cpu": seconds.cpu, "megabytes": peak_memory()}


def warm(_: int, dispatcher: str, trace: str, jobs: str) -> dict[str, Any]:
    """Simulate a trace on its pool. A part of it runs before to load compiled code. CPU seconds."""
    workload = _first(trace, jobs)
    simulate(workload.head(_LOADING), dispatcher)
    result, seconds = measured(lambda: simulate(workload, dispatcher))
    return {"jobs": len(result.jobs), "cpu": seconds.cpu}


def sequence(_: int, dispatcher: str, trace: str, jobs: str) -> dict[str, Any]:
    """Simulate a trace on its pool with a decision after each event, after a first run. CPU seconds."""
    workload = _first(trace, jobs)
    simulate(workload, dispatcher, same_instant="sequence")
    result, seconds = measured(lambda: simulate(workload, dispatcher, same_instant="sequence"))
    return {"jobs": len(result.jobs), "cpu": seconds.cpu}


def small(repeat: int, swf: str) -> dict[str, Any]:
    """Read a file, and let pandas read it, in turns. Simulate it, also with as many jobs that are rejected.

    Median CPU seconds; of a rejected job, those that it adds.
    """
    path = Path(swf)
    workload = read(path)
    cores = int(workload.machine.capacity.sum())
    jobs = list(workload.jobs)
    large = [replace(job, id=f"{job.id}-large", nodes=cores + 1) for job in jobs]
    crowded = replace(workload, jobs=[job for pair in zip(jobs, large, strict=True) for job in pair], records=None)
    runs: dict[str, Callable[[], Any]] = {
        "read": lambda: read(path),
        "pandas": lambda: pd.read_csv(path, sep=r"\s+", header=None, comment=";", names=range(18)),
        "fcfs": lambda: simulate(workload, "fcfs"),
        "easy": lambda: simulate(workload, "easy"),
        "crowded": lambda: simulate(crowded, "fcfs"),
    }
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(repeat + 2):
        for name, run in runs.items():
            _, seconds = measured(run)
            if turn > 1:  # Compiled code and caches are warm from the third turn on.
                times[name].append(seconds.cpu)
    took = {name: median(each) for name, each in times.items()}
    return {"jobs": len(workload), **took, "rejected": (took["crowded"] - took["fcfs"]) / len(workload)}


def _first(trace: str, jobs: str) -> Workload:
    cores = MACHINES.get(Path(trace).name)
    return read(trace, None if cores is None else Machine.pool(cores), head=int(jobs) if jobs else None)


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "nodes": nodes,
    "pool": pool,
    "whole": whole,
    "warm": warm,
    "sequence": sequence,
    "small": small,
}


def _median(run: Callable[[], Any], repeat: int) -> float:
    return median(measured(run)[1].cpu for _ in range(repeat))


def main(arguments: list[str]) -> None:
    """Run a task and write its answer."""
    answer, task, repeat, *rest = arguments
    Path(answer).write_text(json.dumps(TASKS[task](int(repeat), *rest)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
