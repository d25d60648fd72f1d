"""Heterogeneous nodes with a full queue: quality of one decision, and validity of the whole schedule."""

from dataclasses import dataclass

import numpy as np

from .....models import choose, count_slots, shift
from .....simulation import simulate, violations
from .....workloads import Job, Machine, Provenance, Workload
from .....workloads.job import ResourceMap
from ..decision_clock import Clocked
from .on_traces import WITHOUT_SOLVER

RESOURCES = ("core", "mem", "gpu", "mic")
#: Nodes of Eurora.
EURORA = 64
CORES = 16
MEMORY = 16
ACCELERATORS = 2
#: Jobs arrive at this instant, seconds; those before them run already.
INSTANT = 3600
_SIZES = (1, 2, 4, 8)
_SIZE_SHARES = (0.6, 0.2, 0.12, 0.08)
_CORE_CHOICES = (1, 2, 4, 8, 16)
_CORE_SHARES = (0.15, 0.15, 0.2, 0.25, 0.25)
_SHORTEST, _LONGEST = 300, 6 * 3600


def machine(nodes: int = EURORA) -> Machine:
    """Return nodes of 16 cores and 16 GB. The first half has 2 GPUs each, the others 2 MICs."""
    rows = [[CORES, MEMORY, ACCELERATORS, 0]] * (nodes // 2) + [[CORES, MEMORY, 0, ACCELERATORS]] * (nodes - nodes // 2)
    return Machine(RESOURCES, np.array(rows, dtype=np.int64), f"{nodes} nodes with GPUs or MICs")


def eurora_like(queued: int, seed: int = 0, busy: float = 0.9) -> Workload:
    """Sample a queue that fills in one instant while most of the machine is in use.

    It has the size and the node types of Eurora. It has nothing of its trace: no users, arrival pattern or
    distributions. Jobs that find room under best fit arrive first, one per second. They use about `busy` of the machine
    past the instant 3,600 s. At that instant, the queue arrives. Six jobs of ten request one node slot, the others 2 to
    8. A quarter requests one or two GPUs or MICs in each slot. Walltimes are log-uniform from 5 minutes to 6 hours,
    from the instant on. Run times are between a tenth and all of them.

    Parameters
    ----------
    queued
        How many jobs arrive at the instant.
    seed
        Of the random numbers.
    busy
        Share of the cores or of the memory that is held at the instant, whichever is reached first.
    """
    rng = np.random.default_rng(seed)
    made = machine()
    jobs = []
    for submit, (slots, amounts) in enumerate(_held(rng, busy, made)):
        asked, took = _duration(rng)
        past = INSTANT - submit
        jobs.append(Job(f"held{submit}", submit, past + took, past + asked, slots, amounts))
    for number in range(queued):
        slots, amounts = _request(rng)
        asked, took = _duration(rng)
        jobs.append(Job(f"queued{number}", INSTANT, took, asked, slots, amounts))
    return Workload(tuple(jobs), made, Provenance(f"eurora_like(queued={queued}, seed={seed}, busy={busy})"))


def crowded(jobs: int = 300) -> Workload:
    """Return this many GPU jobs, one per second, and behind them as many that request cores alone.

    A dispatcher may take the first few of the queue before it checks which jobs fit. Then the second half waits for the
    first. All have the same run time. With shorter jobs behind, their slowdowns would soon be larger. They would then
    be the first few themselves.
    """
    of_gpus = [Job(f"gpu{i}", i, 1800, 1800, 1, ResourceMap({"core": 1, "mem": 1, "gpu": 2})) for i in range(jobs)]
    of_cores = [Job(f"cpu{i}", jobs + i, 1800, 1800, 1, ResourceMap({"core": 8, "mem": 8})) for i in range(jobs)]
    return Workload((*of_gpus, *of_cores), machine(), Provenance(f"crowded(jobs={jobs})"))


def eurora_stream(jobs: int, seed: int = 0, load: float = 0.9, nodes: int = EURORA) -> Workload:
    """Sample jobs like those of :func:`eurora_like` that arrive one by one, a Poisson process.

    Parameters
    ----------
    jobs
        How many.
    seed
        Of the random numbers.
    load
        Part of the cores or of the memory that they ask for on average while they run, whichever is more.
    nodes
        Of the machine.
    """
    rng = np.random.default_rng(seed)
    made = machine(nodes)
    drawn = [(_request(rng), _duration(rng)) for _ in range(jobs)]
    work = sum(slots * took * np.array(made.demand(amounts)) for (slots, amounts), (_, took) in drawn)
    length = float((work / made.capacity.sum(axis=0))[:2].max()) / load
    submits = np.sort(rng.integers(0, max(1, round(length)), size=jobs)).tolist()
    rows = [
        Job(f"job{number}", submit, took, asked, slots, amounts)
        for number, (submit, ((slots, amounts), (asked, took))) in enumerate(zip(submits, drawn, strict=True))
    ]
    return Workload(
        tuple(rows), made, Provenance(f"eurora_stream(jobs={jobs}, seed={seed}, load={load}, nodes={nodes})")
    )


def _held(rng: np.random.Generator, busy: float, made: Machine) -> list[tuple[int, ResourceMap]]:
    """Sample requests until this much is in use. Those without a place are left out."""
    free = made.capacity.copy()
    requests = []
    while (free[:, :2].sum(axis=0) > (1 - busy) * made.capacity[:, :2].sum(axis=0)).all():
        slots, amounts = _request(rng)
        demand = made.demand(amounts)
        counts = count_slots(free, demand)
        if counts.sum() >= slots:
            shift(free, choose(free, made.capacity, counts, slots, "best-fit"), demand, -1)
            requests.append((slots, amounts))
    return requests


def _request(rng: np.random.Generator) -> tuple[int, ResourceMap]:
    slots = int(rng.choice(_SIZES, p=_SIZE_SHARES))
    cores = int(rng.choice(_CORE_CHOICES, p=_CORE_SHARES))
    amounts = {"core": cores, "mem": int(np.clip(round(cores * rng.uniform(0.25, 1.5)), 1, MEMORY))}
    if rng.random() < 0.25:
        amounts[str(rng.choice(("gpu", "mic")))] = int(rng.integers(1, ACCELERATORS, endpoint=True))
    return slots, ResourceMap(amounts)


def _duration(rng: np.random.Generator) -> tuple[int, int]:
    """Return requested and real seconds."""
    asked = int(np.exp(rng.uniform(np.log(_SHORTEST), np.log(_LONGEST))))
    return asked, max(1, int(asked * rng.uniform(0.1, 1.0)))


@dataclass(frozen=True, slots=True)
class Taken:
    """One decision with a full queue, and what became of the schedule.

    Attributes
    ----------
    dispatcher, queued, seed
        What was run.
    waiting, candidates, started, postponed
        Jobs in the queue, those that fit by themselves, those that started, those that found no place.
    ms
        CPU time of the decision, milliseconds.
    status, used
        As the dispatcher reports them.
    gap
        As a share of what a schedule can change of the objective; NaN where there is no bound.
    proved
        Whether no schedule in which other jobs start now costs less.
    violations
        Of the whole schedule, as the validator finds them.
    """

    dispatcher: str
    queued: int
    seed: int
    waiting: int
    candidates: int
    started: int
    postponed: int
    ms: float
    status: str
    used: str
    gap: float
    proved: bool
    violations: int

    @property
    def solved(self) -> bool:
        """Whether the solver was called."""
        return self.status not in WITHOUT_SOLVER


def take(dispatcher: str, queued: int, seed: int) -> Taken:
    """Simulate a workload to its end. Return the decision at the instant when the queue fills."""
    workload = eurora_like(queued, seed)
    clocked = Clocked(dispatcher)
    result = simulate(workload, clocked, seed=seed)
    decisions = result.decisions
    [row] = np.flatnonzero(decisions["time"] == INSTANT)
    taken = decisions.iloc[row]
    gap = np.nan if taken["gap"] is None else float(taken["gap"])
    return Taken(
        dispatcher,
        queued,
        seed,
        int(taken["queued"]),
        int(taken["candidates"]),
        int(taken["started"]),
        int(taken["postponed"]),
        clocked.ms()[row],
        str(taken["status"]),
        str(taken["used"]),
        gap,
        bool(taken["proved"]),
        len(list(violations(workload, result))),
    )
