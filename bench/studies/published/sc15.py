"""The values of Gaussier et al. (SC 2015) under their own rules: mean bounded slowdown, threshold 10 s.

Jobs without a walltime are dropped, and jobs are killed at their request. Within a second arrivals come before ends, as
in pyss. EASY of pyss decides at an arrival only if the new job fits. That matters where predictions are corrected, so
that the rows of EASY with AVG2 are made with :class:`PyssEASY`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from oracles.paper_rules import sc15_starts

from ....base.corrections import Correction, walltime_correction
from ....dispatchers import EASY, Action, Dispatcher, State
from ....predictors import LastTwo
from ....simulation import Result, conventions, simulate
from ....workloads import Job, Machine, Workload, read
from .rules import check_pool, cores
from .values import Value, equal_starts

RULES = conventions("sc15")
#: Files of traces that :func:`~hpcdispatch.workloads.fetching.fetch` does not know, in the folder of traces.
FILES = {"sdsc-blue": "SDSC-BLUE-2000-4.1-cln.swf.gz", "curie": "CEA-Curie-2011-2.1-cln.swf.gz"}
#: Trace to the published mean bounded slowdowns of each dispatcher and predictor.
TABLE: dict[str, dict[tuple[str, str], float]] = {
    "kth-sp2": {
        ("easy", "walltime"): 92.58,
        ("easy", "oracle"): 71.72,
        ("easy-sjbf", "walltime"): 69.41,
        ("easy-sjbf", "oracle"): 49.85,
        ("easy-sjbf", "2x request"): 58.91,
        ("easy-sjbf", "AVG2, reqtime"): 62.86,
        ("easy-sjbf", "AVG2, doubling"): 64.53,
        ("easy-sjbf", "AVG2, tsafrir"): 63.50,
        ("pyss-easy", "AVG2, reqtime"): 65.72,
        ("pyss-easy", "AVG2, tsafrir"): 85.44,
    },
    "ctc-sp2": {
        ("easy", "walltime"): 49.57,
        ("easy", "oracle"): 37.17,
        ("easy-sjbf", "walltime"): 30.04,
        ("easy-sjbf", "oracle"): 17.57,
        ("easy-sjbf", "2x request"): 30.40,
        ("easy-sjbf", "AVG2, reqtime"): 26.53,
        ("easy-sjbf", "AVG2, doubling"): 55.64,
        ("easy-sjbf", "AVG2, tsafrir"): 85.77,
        ("pyss-easy", "AVG2, reqtime"): 35.32,
        ("pyss-easy", "AVG2, tsafrir"): 64.65,
    },
    "sdsc-sp2": {
        ("easy", "walltime"): 87.87,
        ("easy", "oracle"): 70.48,
        ("easy-sjbf", "walltime"): 84.89,
        ("easy-sjbf", "oracle"): 56.84,
        ("easy-sjbf", "2x request"): 77.90,
        ("easy-sjbf", "AVG2, reqtime"): 65.06,
        ("easy-sjbf", "AVG2, doubling"): 98.00,
        ("easy-sjbf", "AVG2, tsafrir"): 79.40,
        ("pyss-easy", "AVG2, reqtime"): 79.21,
        ("pyss-easy", "AVG2, tsafrir"): 100.02,
    },
    "sdsc-blue": {
        ("easy", "walltime"): 36.52,
        ("easy", "oracle"): 30.62,
        ("easy-sjbf", "walltime"): 19.83,
        ("easy-sjbf", "oracle"): 13.18,
        ("easy-sjbf", "2x request"): 18.28,
        ("easy-sjbf", "AVG2, reqtime"): 16.83,
        ("easy-sjbf", "AVG2, doubling"): 22.34,
        ("easy-sjbf", "AVG2, tsafrir"): 20.99,
        ("pyss-easy", "AVG2, reqtime"): 26.58,
        ("pyss-easy", "AVG2, tsafrir"): 33.55,
    },
    "curie": {
        ("easy", "walltime"): 202.13,
        ("easy", "oracle"): 69.93,
        ("easy-sjbf", "oracle"): 12.08,
        ("easy-sjbf", "AVG2, reqtime"): 21.33,
        ("pyss-easy", "AVG2, reqtime"): 51.95,
    },
}


class PyssEASY:
    """EASY of pyss: at an arrival it decides only if the new job fits. It needs ``same_instant="arrivals-first"``.

    A correction of a prediction can make room for waiting jobs. EASY finds it at the next arrival or end. EASY of pyss
    may find it only at the next end.
    """

    def __init__(self) -> None:
        self._easy = EASY()
        self._newest = -1

    def reset(self, machine: Machine, rng: np.random.Generator) -> None:
        """Begin anew. The machine is a pool of cores."""
        check_pool(machine)
        self._newest = -1

    def dispatch(self, state: State) -> Sequence[Action]:
        """Decide as EASY, unless a new job has arrived that does not fit."""
        newest = int(state.queue.order[-1])
        arrival, self._newest = newest > self._newest, max(newest, self._newest)
        return () if arrival and cores(state.queue[-1]) > state.free.sum() else self._easy.dispatch(state)


class AVG2(LastTwo):
    """The mean of the last two run times, rounded down, with another correction than Tsafrir's steps."""

    def __init__(self, correction: Correction, above_walltime: bool = False) -> None:
        super().__init__(correction="sc15")
        self._other = correction
        self.above_walltime = above_walltime

    def correct(self, job: Job, elapsed: int, misses: int) -> float:
        """Return the corrected run time, seconds."""
        return self._other(job, elapsed, misses)


def doubled(job: Job, elapsed: int, misses: int) -> float:
    """Return twice the prediction, which may exceed the request."""
    return 2.0 * elapsed


#: The predictors of the study that have no name here.
PREDICTORS: dict[str, Callable[[], Any]] = {
    "2x request": lambda: "scaled:factor=2",
    "AVG2, reqtime": lambda: AVG2(walltime_correction),
    "AVG2, doubling": lambda: AVG2(doubled, above_walltime=True),
    "AVG2, tsafrir": lambda: LastTwo(correction="sc15"),
}


#: The dispatchers of the study that have no name here.
DISPATCHERS: dict[str, Callable[[], Dispatcher]] = {"pyss-easy": PyssEASY}


def predictor_of(name: str) -> Any:
    """Return a predictor of the study by its name there."""
    return PREDICTORS[name]() if name in PREDICTORS else name


def simulated(workload: Workload, dispatcher: str, predictor: str, **changed: Any) -> Result:
    """Simulate under the rules of the study, some of them changed."""
    made = DISPATCHERS[dispatcher]() if dispatcher in DISPATCHERS else dispatcher
    return simulate(workload, made, predictor_of(predictor), **{**RULES.simulate, **changed})


def slowdown(workload: Workload, dispatcher: str, predictor: str, **changed: Any) -> float:
    """Return the mean bounded slowdown under the rules of the study, some of them changed."""
    return float(simulated(workload, dispatcher, predictor, **changed).summary()["bounded_slowdown_mean"])


def independent_starts(workload: Workload, dispatcher: str, predictor: str) -> Mapping[str, int]:
    """Return the starts of an independent simulator with the rules of the study."""
    size = int(workload.machine.capacity.sum())
    return sc15_starts(workload.jobs, size, predictor, dispatcher == "easy-sjbf", dispatcher == "pyss-easy")


def values(trace: str, path: Path, most: int | None = None) -> Iterator[Value]:
    """Yield the values of a trace, the first of them or all."""
    workload = read(path, **RULES.reading(trace))
    for (dispatcher, predictor), theirs in [*TABLE[trace].items()][:most]:
        result = simulated(workload, dispatcher, predictor)
        ours = float(result.summary()["bounded_slowdown_mean"])
        equal = equal_starts(result, independent_starts(workload, dispatcher, predictor))
        yield Value(trace, f"{dispatcher}, {predictor}", len(workload), theirs, ours, equal)
