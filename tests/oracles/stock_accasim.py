"""AccaSim as released: a workload through its own simulator, readers, dispatchers and writers.

As a script, ``stock_accasim.py ANSWER SCHEDULER SWF SYSTEM RESULTS``, it is the child process that :func:`run_stock`
starts. A run leaves process-wide constants, log handlers and threads behind.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
from calendar import timegm
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, process_time, strptime

from hpcdispatch.workloads import Machine, Workload
from hpcdispatch.workloads.job import ONE_CORE, Job

SCHEDULERS = ("fifo", "easy")
#: Shift of all times. No time is then 0, and AccaSim takes 0 for "not set".
EPOCH = 1_000_000_000

#: Job id to start, end and node indices, in ascending order.
Schedule = dict[str, tuple[int, int, tuple[int, ...]]]


@dataclass(frozen=True, slots=True)
class StockRun:
    """What a run of AccaSim took and decided.

    Attributes
    ----------
    wall, cpu
        Seconds from the simulator's construction to the close of its writers. They include reading and writing.
    schedule
        Start and end of every job on the clock of the workload, and its nodes.
    """

    wall: float
    cpu: float
    schedule: Schedule


def run_stock(workload: Workload, scheduler: str) -> StockRun:
    """Simulate a workload with stock AccaSim in a process of its own.

    Parameters
    ----------
    workload
        Of the form that :func:`write_inputs` can write.
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
        given = [str(path) for path in (folder / "answer.json", scheduler, swf, system, folder / "results")]
        command = [sys.executable, __file__, *given]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TZ": "UTC"}, check=False)
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            raise RuntimeError(f"AccaSim: exit code {done.returncode}: {said[-1]}")
        answer = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
        schedule = _parse(Path(answer["schedule"]))
    if len(schedule) != len(workload):
        raise RuntimeError(f"AccaSim: expected {len(workload)} jobs in its schedule, got {len(schedule)}")
    return StockRun(answer["wall"], answer["cpu"], schedule)


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


def main(answer: str, scheduler: str, swf: str, system: str, results: str) -> None:
    """Run AccaSim with its default outputs, in this process. Write its times and the place of its schedule."""
    from hpcdispatch.simulation.accasim_compat import (  # noqa: PLC0415
        EASYBackfilling,
        FirstFit,
        FirstInFirstOut,
        Simulator,
    )

    with contextlib.suppress(ValueError):  # AccaSim's writers rely on fork. Elsewhere take what there is.
        multiprocessing.set_start_method("fork")
    wall, cpu = perf_counter(), _cpu_time()
    dispatcher = FirstInFirstOut(FirstFit()) if scheduler == "fifo" else EASYBackfilling(FirstFit())
    files = Simulator(swf, system, dispatcher, RESULTS_FOLDER_PATH=results).start_simulation()
    took = {"wall": perf_counter() - wall, "cpu": _cpu_time() - cpu, "schedule": files["sched-"]}
    Path(answer).write_text(json.dumps(took), encoding="utf-8")


def _cpu_time() -> float:
    """Return the CPU time of this process and of its ended children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def on_one_core_nodes(workload: Workload) -> Workload:
    """Return the jobs of a pool of cores on nodes of one core, without 0-second jobs."""
    cores = int(workload.machine.capacity[:, workload.machine.primary].sum())
    jobs = [
        replace(job, nodes=job.nodes * job.per_node["core"], per_node=ONE_CORE) for job in workload.jobs if job.runtime
    ]
    return replace(workload, jobs=tuple(jobs), machine=Machine.homogeneous(cores, core=1), records=None)


def write_inputs(workload: Workload, folder: Path) -> tuple[Path, Path]:
    """Write the jobs as SWF and the machine as an AccaSim system file. Return the two paths.

    AccaSim takes each processor of an SWF job for a node slot. The system file gives its cores. So every slot of the
    workload must request the same number of cores and nothing else. The nodes must be alike.

    Raises
    ------
    ValueError
        If the workload is not of this form. Also if AccaSim cannot simulate it: jobs of 0 seconds, or ids that are no
        numbers.
    """
    machine = workload.machine
    if machine.resources != ("core",) or (machine.capacity != machine.capacity[0]).any():
        raise ValueError(f"machine: expected equal nodes of cores, got {machine.describe()}")
    cores = workload.jobs[0].per_node.get("core", 0) if workload.jobs else 1
    for job in workload.jobs:
        if not job.runtime:
            raise ValueError(f"job {job.id}: AccaSim needs a run time > 0 s, got {job.runtime} s")
        if not job.id.isdecimal():
            raise ValueError(f"job {job.id}: AccaSim needs a number as id, got {job.id!r}")
        if dict(job.per_node) != {"core": cores}:
            asked = dict(job.per_node)
            raise ValueError(f"job {job.id}: every slot must ask for {cores} cores and nothing else, got {asked}")
    swf, system = folder / "jobs.swf", folder / "system.json"
    lines = [f"; MaxJobs: {len(workload)}", f"; MaxProcs: {machine.nodes}", *map(_line, workload.jobs)]
    swf.write_text("\n".join(lines) + "\n", encoding="ascii")  # AccaSim loses a last line without its end.
    description = {
        "groups": {"node": {"core": int(machine.capacity[0, 0])}},
        "resources": {"node": machine.nodes},
        "equivalence": {"processor": {"core": cores}},
        "start_time": EPOCH,
    }
    system.write_text(json.dumps(description), encoding="ascii")
    return swf, system


def _line(job: Job) -> str:
    fields = [job.id, job.submit, -1, job.runtime, job.nodes, -1, -1, job.nodes, job.walltime, -1, 1]
    return " ".join(map(str, [*fields, *[-1] * 7]))


if __name__ == "__main__":
    main(*sys.argv[1:])
