"""Nodes of a real Slurm, freed by a deadline: free in time or not, and predicted and real loss."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np

from .....base import InputError
from ....reports.number_formats import ratio
from ....reports.tables import Table
from .live_commands import ask, node_names, owners, submit, until_empty

_SAID = re.compile(r"(\d[\d,]*) jobs? to give way, (\S+) node-hours lost")
#: Sampled deadlines, and walltimes of jobs, minutes.
_DEADLINES = (1, 2, 3, 5)
_LIMITS = (1, 2, 3, 4, 6, 10, 20)


class Trial(NamedTuple):
    """How an eviction went.

    Attributes
    ----------
    nodes, deadline
        How many were asked for, and by when, seconds.
    free
        How many of the reserved ones were free at the deadline.
    gave_way
        Jobs that were requeued.
    said, lost
        Node-hours.
    """

    nodes: int
    deadline: int
    free: int
    gave_way: int
    said: float
    lost: float


def evictions(trials: int, seed: int) -> Table:
    """Free nodes this many times. Return a row for each trial, and how many were in time."""
    rng = np.random.default_rng(seed)
    outcomes = [tried(rng) for _ in range(trials)]
    rows = [
        [
            str(number),
            str(trial.nodes),
            str(trial.deadline),
            str(trial.free),
            str(trial.gave_way),
            ratio(trial.said),
            ratio(trial.lost),
        ]
        for number, trial in enumerate(outcomes, 1)
    ]
    met = sum(trial.free >= trial.nodes for trial in outcomes)
    off = max((abs(trial.said - trial.lost) for trial in outcomes), default=0.0)
    note = f"Free by the deadline in {met} of {trials} trials; the loss is off by at most {ratio(off)} node-hours."
    columns = ("trial", "nodes", "deadline (s)", "free then", "gave way", "loss said (node-h)", "real (node-h)")
    return Table("evictions", columns, rows, note=note)


def tried(rng: np.random.Generator) -> Trial:
    """Fill the nodes with jobs of several ages, with more in the queue. Free some of them, and clear up.

    Raises
    ------
    InputError
        If the cluster is not empty, or the eviction fails.
    """
    names, begun = node_names(), time.time()
    if ask("squeue", "-h").strip():
        raise InputError("squeue: expected an empty cluster, got jobs")
    _fill(rng, len(names))
    nodes = int(rng.integers(1, len(names) * 3 // 4 + 1))
    minutes = int(rng.choice(_DEADLINES))
    said = _evict(nodes, minutes)
    (reserved,) = re.findall(r"\bStartTime=(\d+)", ask("scontrol", "show", "reservation", "-o"))
    time.sleep(max(int(reserved) + 60 * minutes - time.time(), 0))
    free = _free_of_reserved()
    gave_way, lost = _lost(int(begun))
    _clear()
    return Trial(nodes, 60 * minutes, free, gave_way, said, lost)


def _fill(rng: np.random.Generator, nodes: int) -> None:
    """Submit jobs of whole nodes, a little apart, until they exceed the nodes."""
    known, asked = owners(), 0
    while asked < nodes * 1.5:
        wide = int(rng.integers(1, max(nodes // 4, 1) + 1))
        owner = known[rng.integers(len(known))]
        run = int(rng.integers(30, 1200))
        submit(owner, int(rng.choice(_LIMITS)), f"sleep {run}", (f"--nodes={wide}", "--exclusive"))
        asked += wide
        time.sleep(float(rng.exponential(15)))
    time.sleep(15)


def _evict(nodes: int, minutes: int) -> float:
    """Free nodes; return the node-hours that were said to be lost."""
    command = [sys.executable, "-m", "hpcdispatch.cli", "slurm", "evict", f"--nodes={nodes}", f"--deadline={minutes}m"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = _SAID.search(done.stderr)
    if done.returncode or said is None:
        raise InputError(f"slurm evict: ended with code {done.returncode} and said: {done.stderr.strip()}")
    for line in done.stdout.splitlines():
        ask(*shlex.split(line))
    return float(said[2].replace(",", ""))


def _free_of_reserved() -> int:
    """Return the number of reserved nodes without a job."""
    lists = re.findall(r"\bNodes=(\S+)", ask("scontrol", "show", "reservation", "-o"))
    reserved = ask("scontrol", "show", "hostnames", ",".join(lists)).split()
    busy = ask("squeue", "-h", "-t", "running,completing,suspended", "-o", "%N").split()
    taken = ask("scontrol", "show", "hostnames", ",".join(busy)).split() if busy else []
    return len(set(reserved) - set(taken))


def _lost(begun: int) -> tuple[int, float]:
    """Return the number of jobs requeued since a time, and the node-hours that they had run."""
    since = f"now-{int(time.time()) - begun}seconds"
    lines = ask("sacct", "-a", "-D", "-X", "-n", "-P", "-S", since, "-o", "State,ElapsedRaw,NNodes").splitlines()
    runs = [line.split("|") for line in lines if line.startswith("REQUEUED")]
    return len(runs), sum(int(elapsed) * int(nodes) for _, elapsed, nodes in runs) / 3600


def _clear() -> None:
    """Remove the reservations, and cancel all jobs."""
    for name in re.findall(r"ReservationName=(\S+)", ask("scontrol", "show", "reservation", "-o")):
        ask("scontrol", "delete", f"ReservationName={name}")
    if waiting := ask("squeue", "-h", "-o", "%A").split():
        ask("scancel", *waiting)
    until_empty()
