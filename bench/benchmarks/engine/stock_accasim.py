"""AccaSim as released: a workload through its own simulator, readers, dispatchers and writers.

``python -m hpcdispatch.bench.benchmarks.engine.stock_accasim ANSWER SCHEDULER SWF SYSTEM RESULTS`` is the child process
that :func:`run_stock` starts, since a run leaves process-wide constants, log handlers and threads behind.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import sys
import tempfile
from calendar import timegm
from dataclasses import dataclass
from pathlib import Path
from time import strptime

from ....workloads import Workload
from ..measurements import Seconds, measured, run_module
from ..traces import EPOCH, write_inputs

SCHEDULERS = ("fifo", "easy")

#: Job id to start, end and the indices of its nodes, in ascending order.
Schedule = dict[str, tuple[int, int, tuple[int, ...]]]


@dataclass(frozen=True, slots=True)
class StockRun:
    """What a run of AccaSim took and decided.

    Attributes
    ----------
    seconds
        From the making of the simulator to the closing of its writers: reading, simulating, writing.
    schedule
        Start and end of every job on the clock of the workload, and its nodes.
    """

    seconds: Seconds
    schedule: Schedule


def run_stock(workload: Workload, scheduler: str) -> StockRun:
    """Simulate a workload with stock AccaSim in a process of its own.

    Parameters
    ----------
    workload
        Of the form that :func:`~hpcdispatch.bench.benchmarks.traces.write_inputs` can write.
    scheduler
        ``"fifo"``: ``FirstInFirstOut`` with ``FirstFit``; ``"easy"``: ``EASYBackfilling`` with ``FirstFit``.

    Raises
    ------
    ValueError
        If the scheduler or the form of the workload is not known.
    RuntimeError
        If AccaSim fails, or loses a job.
    """
    if scheduler not in SCHEDULERS:
        raise ValueError(f"scheduler must be one of {', '.join(SCHEDULERS)}, got {scheduler!r}")
    with tempfile.TemporaryDirectory(prefix="hpcdispatch-stock-") as name:
        folder = Path(name)
        swf, system = write_inputs(workload, folder)
        answer = run_module("engine.stock_accasim", scheduler, str(swf), str(system), str(folder / "results"))
        schedule = _parse(Path(answer["schedule"]))
    if len(schedule) != len(workload):
        raise RuntimeError(f"AccaSim: expected {len(workload)} jobs in its schedule, got {len(schedule)}")
    return StockRun(Seconds(answer["wall"], answer["cpu"]), schedule)


def _parse(path: Path) -> Schedule:
    """Read AccaSim's schedule: ``id;user;queued__node;cores#...#__start;end;...`` in UTC, nodes counted from 1."""
    schedule: Schedule = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            head, nodes, tail = line.split("__")
            start, end, _ = tail.split(";", 2)
            indices = sorted(int(slot.partition(";")[0]) - 1 for slot in nodes.split("#") if slot)
            schedule[head.partition(";")[0]] = (_seconds(start), _seconds(end), tuple(indices))
    return schedule


def _seconds(text: str) -> int:
    return timegm(strptime(text, "%Y-%m-%d %H:%M:%S")) - EPOCH


def _simulate(scheduler: str, swf: str, system: str, results: str) -> tuple[str, Seconds]:
    """Run AccaSim with its default outputs; return the path of the schedule it writes and what it took."""
    from ....simulation.accasim_compat import EASYBackfilling, FirstFit, FirstInFirstOut, Simulator  # noqa: PLC0415

    def run() -> dict[str, str]:
        dispatcher = FirstInFirstOut(FirstFit()) if scheduler == "fifo" else EASYBackfilling(FirstFit())
        simulator = Simulator(swf, system, dispatcher, RESULTS_FOLDER_PATH=results)
        files: dict[str, str] = simulator.start_simulation()
        return files

    files, seconds = measured(run)
    return files["sched-"], seconds


def main(arguments: list[str]) -> None:
    """Run the child process: simulate, write the answer."""
    answer, scheduler, swf, system, results = arguments
    with contextlib.suppress(ValueError):  # AccaSim's writers rely on fork; elsewhere take what there is.
        multiprocessing.set_start_method("fork")
    schedule, seconds = _simulate(scheduler, swf, system, results)
    text = json.dumps({"wall": seconds.wall, "cpu": seconds.cpu, "schedule": schedule})
    Path(answer).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
