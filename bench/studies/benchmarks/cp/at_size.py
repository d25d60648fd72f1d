"""Growth of the decision time with the machine and the queue, on heterogeneous nodes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .....base import BoolArray, FloatArray
from .....dispatchers import NodeSpace
from .....simulation import simulate
from .....simulation.invariants import violations
from .....workloads import Job, Machine, Provenance, Workload
from .....workloads.job import ResourceMap
from ....reports.tables import Table
from ..decision_clock import Clocked
from .on_nodes import INSTANT, RESOURCES, machine
from .on_traces import TIMED

#: Machines by their nodes. That of 1,173 is like KIT's ForHLR II. It has 1,152 nodes of 20 cores and 64 GB, and 21 of
#: 48 and 1,024 GB.
NODES = (64, 256, 1173, 10_000)
QUEUED = (10, 50, 100, 200)
KIT = 1173
DISPATCHERS = ("easy", "hcp3", "pcp-fast")
#: Jobs that arrive one by one after the queue has filled, and jobs per second before it.
FOLLOWING, A_SECOND = 150, 50
#: Load of the jobs that follow, over the capacity meanwhile. It is more than one, so that the queue lasts.
LOAD = 4.0
#: A seed that no measured workload has. On these machines a dispatcher is compiled and its libraries are loaded.
WARM_UP, WARMING = 1_000_003, (64, KIT)
#: Requirements on the machine of 1,173 nodes, milliseconds, and between the smallest and the largest.
MEAN = 20.0
P99 = 200.0
GROWTH = 3.0
#: Contested decisions below which nothing is judged, and the status of one.
ENOUGH = 20
CONTESTED = ("optimal", "decided", "feasible", "infeasible", "unknown")


def machine_of(nodes: int) -> Machine:
    """Return the machine of this many nodes. Except for KIT's, nodes have 16 cores, 16 GB, and 2 GPUs or 2 MICs."""
    if nodes != KIT:
        return machine(nodes)
    rows = [[20, 64, 0, 0]] * 1152 + [[48, 1024, 0, 0]] * 21
    return Machine(RESOURCES, np.array(rows, dtype=np.int64), f"{nodes:,} nodes of two kinds")


@dataclass(frozen=True, slots=True)
class Filled:
    """A machine with nine tenths in use, a queue that fills in one instant, and jobs that follow.

    If less than two tenths hold the whole queue, more is in use. Then half of the queue finds no room.

    Attributes
    ----------
    nodes, queued
        Of the machine, and jobs that arrive at the instant 3,600 s.
    narrow
        Whether jobs have 1 to 8 slots, on a machine of any size. Otherwise they take up to a quarter of its nodes,
        log-uniform. So about as many run on any.
    """

    nodes: int
    queued: int
    narrow: bool = False

    def workload(self, seed: int) -> Workload:
        """Sample it. Walltimes are log-uniform from 5 minutes to 6 hours. Run times are a tenth to all of them."""
        rng = np.random.default_rng(seed)
        machine = machine_of(self.nodes)
        jobs: list[Job] = []
        space = NodeSpace(machine.capacity, machine, "best-fit")
        left = self._left(seed, machine)
        while min(space.totals[:2] / machine.capacity.sum(axis=0)[:2]) > left:
            slots, amounts = self._request(rng, machine)
            if space.place(slots, machine.demand(amounts)) is not None:
                submit = len(jobs) // A_SECOND
                asked, took = _duration(rng)
                past = INSTANT - submit
                jobs.append(Job(f"held{len(jobs)}", submit, past + took, past + asked, slots, amounts))
        submits = [INSTANT] * self.queued
        waiting = [(self._request(rng, machine), _duration(rng)) for _ in range(self.queued + FOLLOWING)]
        cores = sum(slots * amounts["core"] * took for (slots, amounts), (_, took) in waiting)
        gap = cores / len(waiting) / int(machine.capacity[:, 0].sum()) / LOAD
        submits += (INSTANT + np.cumsum(rng.exponential(gap, FOLLOWING)).astype(np.int64) + 1).tolist()
        for number, (submit, ((slots, amounts), (asked, took))) in enumerate(zip(submits, waiting, strict=True)):
            jobs.append(Job(f"queued{number}", submit, took, asked, slots, amounts))
        return Workload(tuple(jobs), machine, Provenance(f"{self}, seed={seed}"))

    def _left(self, seed: int, machine: Machine) -> float:
        """Return the share of free cores when the queue fills. It is a tenth, or what half of such a queue needs.

        Its requests have their own random numbers. So those of the workload depend on its seed alone.
        """
        rng = np.random.default_rng([seed, 1])
        requests = [self._request(rng, machine) for _ in range(self.queued)]
        cores = sum(slots * amounts["core"] for slots, amounts in requests)
        return min(0.1, cores / 2 / float(machine.capacity[:, 0].sum()))

    def _request(self, rng: np.random.Generator, machine: Machine) -> tuple[int, ResourceMap]:
        cores = int(rng.choice((1, 2, 4, 8, 16), p=(0.1, 0.1, 0.2, 0.25, 0.35)))
        amounts = {"core": cores, "mem": max(1, round(cores * rng.uniform(0.25, 1.0)))}
        if machine.capacity[0, 2] and rng.random() < 0.25:
            amounts[str(rng.choice(("gpu", "mic")))] = int(rng.integers(1, 2, endpoint=True))
        most = 8 if self.narrow else self.nodes // 4
        return int(np.exp(rng.uniform(0, np.log(most + 1)))), ResourceMap(amounts)


def _duration(rng: np.random.Generator) -> tuple[int, int]:
    """Return requested and real seconds."""
    asked = int(np.exp(rng.uniform(np.log(300), np.log(6 * 3600))))
    return asked, max(1, int(asked * rng.uniform(0.1, 1.0)))


def timed(dispatcher: str, filled: Filled, seeds: Iterable[int]) -> tuple[FloatArray, BoolArray, int]:
    """Return milliseconds of contested decisions while half to twice the queue waits, and violations.

    Contested: some candidates start now, and not all can. Violations are of the whole schedules.
    """
    times = []
    contested = []
    broken = 0
    for seed in seeds:
        workload = filled.workload(seed)
        clocked = Clocked(dispatcher)
        result = simulate(workload, clocked, seed=seed)
        waiting = result.decisions["queued"]
        rows = (result.decisions["time"] >= INSTANT) & waiting.between(filled.queued / 2, 2 * filled.queued)
        times.append(clocked.ms()[rows.to_numpy()])
        status = result.decisions.get("status", pd.Series(dtype=object)).reindex(rows.index)[rows]
        contested.append(status.isin(CONTESTED).to_numpy())
        broken += len(list(violations(workload, result)))
    return np.concatenate(times), np.concatenate(contested), broken


def at_size(
    dispatchers: tuple[str, ...], machines: tuple[Filled, ...], seeds: int, say: Callable[[str], None]
) -> Table:
    """Return the table of all dispatchers on all machines."""
    rows = []
    for dispatcher in dispatchers:
        for nodes in {min(nodes, max(filled.nodes for filled in machines)) for nodes in WARMING}:
            timed(dispatcher, Filled(nodes, 100), (WARM_UP,))
        least: dict[tuple[int, bool], tuple[float, float]] = {}
        for filled in machines:
            say(f"{dispatcher}, {filled}")
            ms, contested, broken = timed(dispatcher, filled, range(seeds))
            smallest = least.setdefault((filled.queued, filled.narrow), (ms.mean(), _mean(ms[contested])))
            rows.append(
                [
                    dispatcher,
                    "1-8 slots" if filled.narrow else "to a quarter",
                    f"{filled.nodes:,}",
                    f"{filled.queued}",
                    f"{len(ms):,}",
                    f"{contested.sum():,}",
                    f"{ms.mean():.2f}",
                    f"{np.percentile(ms, 99):.2f}",
                    f"{ms.max():.2f}",
                    f"{ms.mean() / smallest[0]:.1f} x",
                    _times(ms[contested], smallest[1]),
                    f"{broken}",
                    _judged(filled, ms, contested, smallest[0]),
                ]
            )
    columns = (
        "dispatcher",
        "jobs",
        "nodes",
        "queued",
        "decisions",
        "contested",
        "mean, ms",
        "p99, ms",
        "max, ms",
        "mean against first",
        "of contested",
        "violations",
        "required",
    )
    note = (
        f"{TIMED}\nDecisions from the instant at which the queue fills, while half to twice as many wait. Required: on "
        f"1,173 nodes a mean below {MEAN:g} ms and a p99 below {P99:g} ms; on 10,000 nodes a mean "
        f"within {GROWTH:g} times that on the smallest machine; with fewer than {ENOUGH} contested ones nothing is "
        "judged. In some workloads more are contested than in others, so their means stand beside. Contested: "
        "some candidates start now, and not all can. Violations: of the whole schedules, by the independent check."
    )
    return Table(f"Decisions on machines of two kinds of nodes, {seeds} workloads a row", columns, rows, 4, note=note)


def _mean(ms: FloatArray) -> float:
    return float(ms.mean()) if len(ms) else np.nan


def _times(ms: FloatArray, smallest: float) -> str:
    return f"{_mean(ms) / smallest:.1f} x" if len(ms) and smallest > 0 else "-"


def _judged(filled: Filled, ms: FloatArray, contested: BoolArray, smallest: float) -> str:
    if filled.nodes not in {KIT, max(NODES)}:
        return ""
    if contested.sum() < ENOUGH:
        return "too few"
    if filled.nodes == KIT:
        return "pass" if ms.mean() < MEAN and np.percentile(ms, 99) < P99 else "FAIL"
    return "pass" if ms.mean() <= GROWTH * smallest else "FAIL"
