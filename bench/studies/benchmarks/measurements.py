"""Clocks, memory and child processes of the benchmarks."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple, TypeVar

import numpy as np

T = TypeVar("T")


class Seconds(NamedTuple):
    """Elapsed time: on the wall clock, and on the processors with ended child processes."""

    wall: float
    cpu: float


def measured(run: Callable[[], T]) -> tuple[T, Seconds]:
    """Call `run`. Return its result and its time."""
    wall = perf_counter()
    cpu = process_time() + _children()
    outcome = run()
    return outcome, Seconds(perf_counter() - wall, process_time() + _children() - cpu)


def power_of(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return b of cost = a * size**b, fitted by least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def peak_memory() -> float:
    """Return the largest resident memory of this process so far, megabytes of 10^6 bytes.

    On Linux a new process inherits the ``ru_maxrss`` of its parent. So the kernel's own high-water mark of the address
    space is read first.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def run_module(module: str, *arguments: str) -> dict[str, Any]:
    """Run a module of this package in its own process. Return the JSON object it leaves.

    The module's first argument is the path of the file to write. Then come `arguments`.

    Raises
    ------
    RuntimeError
        If it fails; the message ends with the last line of what it said.
    """
    with tempfile.TemporaryDirectory(prefix="hpcdispatch-bench-") as folder:
        answer = Path(folder) / "answer.json"
        command = [sys.executable, "-m", f"{__package__}.{module}", str(answer), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TZ": "UTC"}, check=False)
        if done.returncode or not answer.is_file():
            said = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            raise RuntimeError(f"{module} {' '.join(arguments)}: exit code {done.returncode}: {said[-1]}")
        answered: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return answered


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
