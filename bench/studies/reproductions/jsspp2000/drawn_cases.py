"""Jobs of a log that become moldable, and their possible walltimes and sizes (sections 3.2, 3.3 and 4.4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .....base import FloatArray
from .....models.moldable import Request, amdahl, downey, n_limit
from .....workloads import Workload

#: How the range of sizes is sampled. Either as printed, or with a range of 7 for one-processor jobs and at least 7 for
#: others, or the sizes of the NAS benchmarks.
Kind = Literal["literal", "least-7-for-serial", "nas"]
USER, BEST = "user", "best"
CHOICES = {"SA-3": 3, "SA-5": 5, "SA-7": 7}
NAS = "SA"
#: The least size of a sampled range.
_LEAST = 7
#: The longest walltime, seconds.
_LONGEST = 10**9
#: Operations of class B in 10^9 (NAS-95-010), and the serial share. The share stands for the speedup, which is not
#: available.
OPERATIONS = {"MG": 18.81, "LU": 319.6, "SP": 447.1, "BT": 721.5, "EP": 100.9}
SERIAL = {"MG": 0.005, "LU": 0.002, "SP": 0.002, "BT": 0.001, "EP": 0.0}
#: Operations per second and processor.
RATE = 50e6
_TWOS = (8, 16, 32, 64, 128, 256)
_SQUARES = (9, 16, 25, 36, 64, 121, 256)
_SIZES: Mapping[str, tuple[int, ...]] = {"MG": _TWOS, "LU": _TWOS, "SP": _SQUARES, "BT": _SQUARES}
#: Sizes of EP that are simulated to find the best.
_SIMULATED = 16


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """A size and walltime that a job might request, and its run time (s) with them."""

    request: Request
    runtime: int


@dataclass(frozen=True, slots=True)
class MoldableCase:
    """A job of a log, changed to a moldable one.

    Attributes
    ----------
    place
        Of the job, in the log.
    user
        Its size with its run time, and another walltime.
    lists
        What each strategy chooses from.
    tried
        The best of these is taken.
    facts
        The source of the case.
    """

    place: int
    user: CandidateRequest
    lists: Mapping[str, tuple[CandidateRequest, ...]]
    tried: tuple[CandidateRequest, ...]
    facts: Mapping[str, Any]


def drawn(workload: Workload, kind: Kind, count: int, seed: int, begin: int = 0) -> list[MoldableCase]:
    """Return this many cases of a log, in its order. Each has its own random values.

    Parameters
    ----------
    workload
        On a pool.
    kind
        How sizes are sampled. For ``"nas"`` the benchmarks come in turn.
    count, seed, begin
        How many cases, the seed, and the number of the first. A case's random values do not depend on earlier cases.
    """
    each = [np.random.default_rng((seed, number)) for number in range(begin, begin + count)]
    cases = [
        _nas(workload, tuple(OPERATIONS)[number % len(OPERATIONS)], rng)
        if kind == "nas"
        else _moldable(workload, kind, rng)
        for number, rng in enumerate(each, begin)
    ]
    return sorted(cases, key=lambda case: case.place)


def _moldable(workload: Workload, kind: Kind, rng: np.random.Generator) -> MoldableCase:
    """Return a job of Downey's speedup."""
    place, own, room = _job(workload, rng)
    most = float(rng.uniform(2, 200))
    spread = float(rng.uniform(0, 2))
    accuracy = 1.0 - float(rng.random())
    limit = n_limit(most, spread, room)
    low = int(rng.integers(1, own, endpoint=True))
    high = int(rng.integers(own, max(own, limit), endpoint=True))
    if kind == "least-7-for-serial":
        low, high = _widened(low, high, own, room)

    def speedup(size: int) -> float:
        return float(downey(size, most, spread))

    runtime = int(workload.columns.runtime[place])
    sequential = runtime * speedup(own)
    lists = {
        name: _candidates(spaced(low, high, choices), sequential, speedup, accuracy)
        for name, choices in CHOICES.items()
    }
    facts = {"A": most, "sigma": spread, "a": accuracy, "L": sequential, "range": high - low, "n_u": own}
    return MoldableCase(place, _candidate(own, runtime, accuracy), lists, lists["SA-7"], facts)


def _widened(low: int, high: int, own: int, room: int) -> tuple[int, int]:
    """Return a range of 7 for a one-processor job. Others have at least 7."""
    if own == 1:
        return 1, 1 + _LEAST
    high = min(room, max(high, low + _LEAST))
    return max(1, min(low, high - _LEAST)), high


def _nas(workload: Workload, benchmark: str, rng: np.random.Generator) -> MoldableCase:
    """Return a NAS benchmark in place of a job. The user requests that job's size for it."""
    place, own, room = _job(workload, rng)
    accuracy = 1.0 - float(rng.random())
    sequential = OPERATIONS[benchmark] * 1e9 / RATE

    def speedup(size: int) -> float:
        return float(amdahl(size, SERIAL[benchmark]))

    sizes = [size for size in _SIZES.get(benchmark, range(1, room + 1)) if size <= room]
    offered = _candidates(sizes, sequential, speedup, accuracy)
    grid = set(spaced(1, room, _SIMULATED))
    tried = offered if benchmark in _SIZES else tuple(each for each in offered if each.request.processors in grid)
    facts = {"benchmark": benchmark, "a": accuracy, "L": sequential, "range": sizes[-1] - sizes[0], "n_u": own}
    [user] = _candidates([own], sequential, speedup, accuracy)
    return MoldableCase(place, user, {NAS: offered}, tried, facts)


def _job(workload: Workload, rng: np.random.Generator) -> tuple[int, int, int]:
    """Return the place and processors of a random job. The machine's processors come last."""
    place = int(rng.integers(len(workload)))
    resource = workload.machine.resources[0]
    return place, int(workload.columns.amounts(resource)[place]), int(workload.machine.capacity[0, 0])


def spaced(low: int, high: int, choices: int) -> list[int]:
    """Return equally spaced sizes, rounded, none of them twice."""
    sizes: FloatArray = np.unique(np.rint(np.linspace(low, high, choices)))
    return [int(size) for size in sizes]


def _candidates(
    sizes: Sequence[int], sequential: float, speedup: Callable[[int], float], accuracy: float
) -> tuple[CandidateRequest, ...]:
    return tuple(_candidate(size, math.ceil(sequential / speedup(size)), accuracy) for size in sizes)


def _candidate(size: int, runtime: int, accuracy: float) -> CandidateRequest:
    seconds = max(1, runtime)
    return CandidateRequest(Request(size, min(max(seconds, math.ceil(seconds / accuracy)), _LONGEST)), seconds)
