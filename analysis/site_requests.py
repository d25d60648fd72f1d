"""Measure whether a sequence of requests pays at a site. Its trace is replayed under EASY with these runs added."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy

from ..base import FloatArray, InputError
from ..dispatchers import ReservationSequences
from ..dispatchers.reservations.request_strategies import Application, SequenceStep, UpperBound
from ..models.reservations import Cost, optimal_checkpointed_sequence, optimal_sequence
from ..models.reservations import Sequence as Reservations
from ..simulation import Result, simulate
from ..workloads import Checkpoint, Job, Workload
from .conclusions import of_samples
from .requests import LEAST_TO_HALVE, Planning, law_of, optimum

#: The way of requesting that others are compared with.
BASELINE = "maximum"
#: Only jobs of a similar width, up to this factor, tell how waits depend on requests.
ALIKE = 2.0
#: With fewer such jobs, those of all widths are taken.
LEAST_ALIKE = 50
#: Most runs that are added to the trace.
MOST_RUNS = 200
#: User of the runs.
_OWN = "hpcdispatch-sequence"


@dataclass(frozen=True, slots=True)
class WaitModel:
    """Waits at the site: wait = alpha x request + gamma.

    Attributes
    ----------
    alpha
        Seconds of wait per second of request, at least 0.
    gamma
        Seconds that every request waits, at least 0.
    jobs
        Number of jobs in the fit.
    alike
        Whether these are only jobs of about the same width. Otherwise there were too few.
    recorded
        Whether the waits are those of the site's accounting. Otherwise it has none, and they are those of a replay
        under EASY.
    error
        Mean distance of the waits from the fit, seconds.
    """

    alpha: float
    gamma: float
    jobs: int
    alike: bool
    recorded: bool = False
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class RequestOutcome:
    """Result of the runs under one way of requesting.

    Attributes
    ----------
    name
        Of the way.
    first
        The first request, seconds.
    response
        Mean time from submission to success, seconds.
    requests, lost
        Mean requests per run, and lost core-hours.
    ratio, low, high
        Ratio of the mean response to that of the maximum. The interval is over the runs. NaN for the maximum.
    """

    name: str
    first: float
    response: float
    requests: float
    lost: float
    ratio: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Whether it is better than the baseline, by the interval."""
        if math.isnan(self.ratio):
            return ""
        return "better" if self.high < 1 else "worse" if self.low > 1 else "not decided"


@dataclass(frozen=True, slots=True)
class SiteAdvice:
    """Measured advice.

    Attributes
    ----------
    waits
        How waits depend on requests.
    rows
        Ways of requesting, :data:`BASELINE` first.
    runs
        Number of runs added to the trace.
    unseen
        Whether the requests were made from other runs.
    sequences
        The requests of each way, made from all runs.
    """

    waits: WaitModel
    rows: tuple[RequestOutcome, ...]
    runs: int
    unseen: bool
    sequences: Mapping[str, Reservations] = field(default_factory=dict, repr=False, compare=False)

    @property
    def best(self) -> RequestOutcome:
        """The way with the least mean response."""
        return min(self.rows, key=lambda row: row.response)


class FixedRequests(UpperBound):
    """The same reservations for every job with a law of its run time."""

    def __init__(self, sequence: Reservations, write: int) -> None:
        self._steps: list[SequenceStep] = []
        kept = 0
        for value, keeps in zip(np.ceil(sequence.reached).astype(int).tolist(), sequence.keeps.tolist(), strict=True):
            self._steps.append(SequenceStep(value, kept, write if keeps else 0))
            kept = value if keeps else kept

    def requests(self, law: Any, walltime: int, application: Application = ("", "")) -> Sequence[int]:
        """Return the run time that each reservation reaches."""
        return [step.reached for step in self._steps]

    def reservations(self, law: Any, walltime: int, restart: int, above: int, kept: int) -> Sequence[SequenceStep]:
        """Return the reservations."""
        return self._steps


def measure(site: Workload, run_times: FloatArray, planning: Planning | None = None, cores: int = 1) -> SiteAdvice:
    """Replay a site's trace with added runs, under each way of requesting.

    Parameters
    ----------
    site
        The trace. Its jobs keep their walltimes; EASY dispatches.
    run_times
        Of the job, seconds, in their order. From 20 on, the first half makes the requests. The second half is added to
        the trace at even times. Below 20, all serve both.
    planning
        How requests are chosen.
    cores
        Of the job, or its amount of the machine's primary resource.

    Raises
    ------
    InputError
        If the machine is too small for the job.
    """
    planning = planning or Planning()
    half = len(run_times) // 2 if len(run_times) >= LEAST_TO_HALVE else 0
    known, tried = (run_times[:half], run_times[half:]) if half else (run_times, run_times)
    tried = tried[:MOST_RUNS]
    limit = max(float(run_times.max()), planning.limit or 0.0)
    planning = replace(planning, limit=limit)
    strangers = replace(site, jobs=tuple(replace(job, law=None) for job in site.jobs), records=None)
    mixed = _with_runs(strangers, tried, planning, cores)
    waits = fitted_waits(site, cores)
    costs = planning.checkpointing
    write = int(np.ceil(costs.write)) if costs is not None else 0
    sequences = _sequences(known, planning, waits)
    responses = {name: _responses(mixed, FixedRequests(sequence, write)) for name, sequence in sequences.items()}
    base = responses[BASELINE][0]
    rows = tuple(_row(name, sequence, *responses[name], base) for name, sequence in sequences.items())
    return SiteAdvice(waits, rows, len(tried), bool(half), _sequences(run_times, planning, waits))


def fitted_waits(site: Workload, cores: int) -> WaitModel:
    """Return how waits depend on requests, from the waits in the site's accounting, else from a replay under EASY."""
    recorded = site.recorded_waits
    if recorded is not None and not np.isnan(recorded).all():
        jobs = pd.DataFrame({"walltime": site.columns.walltime, "wait": recorded})
        return replace(_wait_model(site, jobs, cores), recorded=True)
    strangers = replace(site, jobs=tuple(replace(job, law=None) for job in site.jobs), records=None)
    return wait_model(strangers, simulate(strangers, "easy", overrun="kill"), cores)


def wait_model(site: Workload, result: Result, cores: int) -> WaitModel:
    """Return how waits depend on requests in a simulation, by least squares with no coefficient below 0.

    Only jobs of similar width count if there are enough.
    """
    return _wait_model(site, result.jobs, cores)


def _wait_model(site: Workload, jobs: pd.DataFrame, cores: int) -> WaitModel:
    """Return the fit to the walltimes and waits of the jobs of a site; NaN for unknown waits."""
    primary = site.machine.resources[site.machine.primary]
    width = np.array([job.nodes * job.per_node.get(primary, 0) for job in site.jobs])
    known = jobs["wait"].notna().to_numpy()
    alike = jobs[known & (width <= ALIKE * cores) & (width >= cores / ALIKE)]
    enough = len(alike) >= LEAST_ALIKE
    chosen = alike if enough else jobs[known]
    asked, wait = (chosen[name].to_numpy(dtype=float) for name in ("walltime", "wait"))
    slope = float(np.polyfit(asked, wait, 1)[0]) if asked.min() < asked.max() else 0.0
    alpha = max(0.0, slope)
    if wait.mean() < alpha * asked.mean():
        alpha = float((asked * wait).sum() / (asked**2).sum())
    gamma = max(0.0, float(wait.mean() - alpha * asked.mean()))
    error = float(np.abs(wait - alpha * asked - gamma).mean())
    return WaitModel(alpha, gamma, len(chosen), enough, error=error)


def _sequences(known: FloatArray, planning: Planning, waits: WaitModel) -> Mapping[str, Reservations]:
    """Return the ways of requesting: the maximum, the least time without waits, and the least with them."""
    plain = replace(planning, checkpointing=None, backfill_rate=0.0, cost=None)
    planning = replace(planning, cost=None)
    law = law_of(known, plain)
    cost = Cost(waits.alpha, 1, waits.gamma)
    sequences = {
        BASELINE: optimal_sequence(law, cost=Cost(0, 0, 1)),
        "optimal sequence": optimum(known, plain),
        "for these waits": optimal_sequence(law, cost=cost, requests=planning.requests),
    }
    if planning.checkpointing is not None:
        sequences["checkpoints"] = optimum(known, planning)
        sequences["both"] = optimal_checkpointed_sequence(law, planning.checkpointing, cost=cost)
    return sequences


def _with_runs(site: Workload, run_times: FloatArray, planning: Planning, cores: int) -> Workload:
    """Return the jobs of the site with the runs added at even times."""
    if len(site.jobs) < 2:
        raise InputError(f"site: expected a trace of at least 2 jobs, got {len(site.jobs)}")
    primary = site.machine.resources[site.machine.primary]
    room = int(site.machine.capacity[:, site.machine.primary].sum())
    if cores > room:
        raise InputError(f"cores: expected at most {room:,}, what the machine of the site has, got {cores:,}")
    begin, end = (site.jobs[place].submit for place in (0, -1))
    runs = np.ceil(run_times).astype(int).tolist()
    bound = max(1, math.ceil(planning.limit or max(runs)))
    law = scipy.stats.uniform(0, bound)  # Any law: the requests are fixed.
    saves = None if planning.checkpointing is None else Checkpoint(restart=int(np.ceil(planning.checkpointing.restart)))
    own = [
        Job(
            f"{_OWN}-{number}",
            begin + int((number + 0.5) * (end - begin) / len(runs)),
            max(1, run),
            bound,
            cores,
            {primary: 1},
            user=_OWN,
            checkpoint=saves,
            law=law,
        )
        for number, run in enumerate(runs)
    ]
    return site.with_jobs(sorted([*site.jobs, *own], key=lambda job: job.submit))


def _responses(mixed: Workload, requests: FixedRequests) -> tuple[FloatArray, float, float]:
    """Return the response of each run, requests per run, and core-hours that the runs lost."""
    jobs = simulate(mixed, ReservationSequences(requests, over="easy"), overrun="kill").jobs
    own = jobs[jobs["user"] == _OWN]
    response = (own["end"] - own["submit"]).to_numpy(dtype=float)
    return response, float(own["attempts"].mean()), float(own["lost"].sum()) / 3600


def _row(
    name: str, sequence: Reservations, response: FloatArray, requests: float, lost: float, base: FloatArray
) -> RequestOutcome:
    first = float(sequence.values[0])
    if response is base:
        return RequestOutcome(name, first, float(response.mean()), requests, lost, *(float("nan"),) * 3)
    estimate = of_samples(response, base)
    numbers = estimate.ratio, estimate.low, estimate.high
    return RequestOutcome(name, first, float(response.mean()), requests, lost, *numbers)
