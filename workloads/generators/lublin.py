"""Generate workloads by the model of Lublin and Feitelson. Walltimes and users are added.

U. Lublin, D. G. Feitelson: "The workload on parallel supercomputers: modeling the characteristics of rigid jobs",
Journal of Parallel and Distributed Computing 63(11), 2003. Parameters of the whole sample, batch and interactive jobs
together. The model gives sizes, run times and arrivals. Users and walltimes are ours.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from ...base import FloatArray, IntArray, check_number, check_whole
from ...base.checks import IN_MEMORY, MOST_JOBS, MOST_PROCESSORS
from ..job import ResourceMap
from ..job_columns import Coded, JobColumns
from ..machine import Machine
from ..workload import Workload
from .generator import generator, provenance_of

# Sizes
SERIAL, POWER_OF_TWO = 0.244, 0.576  # both of all jobs, as in the 10,000 jobs that the authors published
LOW = 0.8
BELOW_HIGH = 2.5
FIRST_STAGE = 0.86
# Run times: (shape, scale) of the natural logarithm of seconds
SHORT, LONG = (4.2, 0.94), (312.0, 0.03)
SLOPE = -0.0054
INTERCEPT = 0.78
LOG_RUNTIME_MAX = 12.0
# Arrivals
GAP = (10.2303 * 1.0225, 0.4871)
LOG_GAP_MAX = 13.0
CYCLE = (8.1737, 3.9631)
BUCKETS = 48
DAY_BEGINS = 11
BUCKET, DAY = 1800, 86400

#: Walltimes that users type, seconds.
ROUND_TIMES: IntArray = np.array(
    [60 * minutes for minutes in (1, 2, 5, 10, 15, 20, 30, 45, 60, 90)]
    + [3600 * hours for hours in (2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 24, 36, 48, 72, 96)],
    dtype=np.int64,
)
KILLED = 0.1
HABIT = 0.75
NEIGHBOURS = 6
QUEUES = (3600, 5 * 3600)
#: Mean think time of a chain, seconds, and the number of its random stream.
THINK, CHAINS = 600, 1


@generator("lublin")
def lublin(
    *,
    jobs: int = 1000,
    processors: int = 128,
    load: float | None = 0.7,
    users: int = 0,
    chains: float = 0.0,
    seed: int = 0,
) -> Workload:
    """Draw the rigid jobs of Lublin and Feitelson (2003) on one pool of cores.

    Sizes, run times and arrivals with their daily cycle are the model's. These parts are ours:

    * Users submit unequally (Zipf), and each has a few applications. An application gets jobs of similar size and run
      time. Thus a user's past says something about the next job.
    * Walltimes are round values. The ratio of run time to walltime is about flat on (0, 1]. An application mostly
      repeats its walltime. One job in ten (of a minute or more) is stopped at its walltime. Its run time is moved to
      the nearest round value, which it requested.
    * Queue 1 takes walltimes up to 1 h, queue 2 up to 5 h, queue 3 the rest. Users, groups, applications and queues are
      numbers, as in SWF.

    The day begins at midnight with second 0.

    Parameters
    ----------
    jobs
        Number of jobs, at least 1.
    processors
        Cores of the machine, at least 1.
    load
        Offered load: processor-seconds of all jobs over `processors` times the span from first to last submission. One
        factor stretches the gaps between arrivals to reach it. 0.8 is 80%; at most 10. ``None`` keeps the model's own
        gaps.
    users
        Number of users. 0 takes one per 40 jobs, at least 3 and at most 300.
    chains
        Share of the jobs that wait for their user's previous job. A think time follows its end. The think time is
        exponential, 10 minutes on average. This is ours, too. The option changes nothing else.
    seed
        Of the random numbers.

    Examples
    --------
    >>> from hpcdispatch.workloads import describe, lublin
    >>> workload = lublin(jobs=500, processors=64, load=0.8, seed=1)
    >>> round(describe(workload).load, 2)
    0.8
    """
    check_whole("jobs", jobs, 1, MOST_JOBS, IN_MEMORY)
    check_whole("processors", processors, 1, MOST_PROCESSORS)
    check_whole("users", users, 0, MOST_JOBS, IN_MEMORY)
    check_whole("seed", seed, 0)
    check_number("load", load, above=1e-6, most=10, none=True)
    check_number("chains", chains, least=0, most=1)
    rng = np.random.default_rng(seed)
    size = _sizes(rng, jobs, processors)
    # Hyper-gamma of the natural logarithm. The share of short jobs falls with the size.
    short = rng.random(jobs) < np.clip(SLOPE * size + INTERCEPT, 0, 1)
    shape = np.where(short, SHORT[0], LONG[0])
    scale = np.where(short, SHORT[1], LONG[1])
    logarithm = _gamma_below(rng, shape, scale, LOG_RUNTIME_MAX, jobs)
    runtime = np.maximum(np.rint(np.exp(logarithm)), 1).astype(np.int64)
    points = np.cumsum(np.exp(_gamma_below(rng, *GAP, LOG_GAP_MAX, jobs)))
    people = _people(rng, size, runtime, users or min(max(jobs // 40, 3), 300))
    runtime, requested = _requests(rng, runtime, people)
    submit = _arrivals(points, None if load is None else float((size * runtime).sum()) / (processors * load))
    options = {"jobs": jobs, "processors": processors, "load": load, "users": users, "seed": seed}
    made = JobColumns.made(
        np.arange(1, jobs + 1),
        submit=submit,
        runtime=runtime,
        walltime=requested,
        per_node=Coded.of(size, lambda cores: ResourceMap(core=cores)),
        user=Coded.of(people.user[people.application] + 1),
        group=Coded.of(people.group[people.application] + 1),
        name=Coded.of(people.application + 1),
        queue=Coded.of(np.searchsorted(QUEUES, requested) + 1),
    )
    if chains:
        options["chains"] = chains
        made = _chained(np.random.default_rng((seed, CHAINS)), made, chains)
    machine = Machine.pool(processors, name="Lublin-Feitelson 2003 model")
    return Workload(made, machine, provenance_of("lublin", options))


def _chained(rng: np.random.Generator, jobs: JobColumns, share: float) -> JobColumns:
    """Let a share of the jobs depend on the previous job of the same user, with a think time."""
    waits = rng.random(len(jobs)) < share
    think = np.rint(rng.exponential(THINK, len(jobs))).astype(np.int64)
    before = pd.Series(jobs.ids).groupby(jobs.user.codes).shift(1, fill_value=0).tolist()
    depends = [
        ((str(other), "afterany", seconds),) if chosen and other else ()
        for other, seconds, chosen in zip(before, think.tolist(), waits.tolist(), strict=True)
    ]
    return jobs.take(slice(None), depends=Coded.gathered(depends))


def _gamma_below(rng: np.random.Generator, shape: Any, scale: Any, limit: float, count: int) -> FloatArray:
    """Draw from Gamma(shape, scale); redraw values above `limit`. Shape and scale may be arrays."""
    shape = np.broadcast_to(shape, count)
    scale = np.broadcast_to(scale, count)
    drawn = rng.gamma(shape, scale)
    while (above := np.flatnonzero(drawn > limit)).size:
        drawn[above] = rng.gamma(shape[above], scale[above])
    return np.asarray(drawn, dtype=np.float64)


def _sizes(rng: np.random.Generator, jobs: int, processors: int) -> IntArray:
    """Draw sizes: serial, or two-stage uniform on log2 of the size. Powers of two have extra weight."""
    high = max(np.log2(processors), LOW)
    middle = max(high - BELOW_HIGH, LOW)
    exponent = np.where(rng.random(jobs) < FIRST_STAGE, rng.uniform(LOW, middle, jobs), rng.uniform(middle, high, jobs))
    exponent = np.where(rng.random(jobs) < POWER_OF_TWO / (1 - SERIAL), np.rint(exponent), exponent)
    size = np.clip(np.rint(2.0**exponent), 1, processors).astype(np.int64)
    size[rng.random(jobs) < SERIAL] = 1
    return size


def _cycle() -> FloatArray:
    """Return the arrival rate of the 48 half hours of a day from midnight, 1 on average.

    The Gamma covers the buckets 11 to 58. Buckets count from 1, so the day begins at 5 in the morning.
    """
    bucket = np.arange(DAY_BEGINS, DAY_BEGINS + BUCKETS)
    shape, scale = CYCLE
    mass = scipy.special.gammainc(shape, (bucket + 0.5) / scale) - scipy.special.gammainc(shape, (bucket - 0.5) / scale)
    weights = np.empty(BUCKETS)
    weights[(bucket - 1) % BUCKETS] = mass
    return np.asarray(weights / weights.mean(), dtype=np.float64)


def _arrivals(points: FloatArray, span: float | None) -> IntArray:
    """Convert cumulative points, worth seconds at the mean rate, to seconds of the daily cycle.

    To reach a span from first to last, the gaps after the first arrival are stretched before the conversion. Thus a day
    keeps its 24 hours.
    """
    edges = np.arange(BUCKETS + 1) * float(BUCKET)
    spent = np.concatenate([[0.0], np.cumsum(_cycle() * BUCKET)])
    spent[-1] = DAY  # the weights are 1 on average

    def clock(worth: Any) -> Any:
        days = np.floor_divide(worth, DAY)
        return days * DAY + np.interp(worth - days * DAY, spent, edges)

    def worth(time: float) -> float:
        days = time // DAY
        return float(days * DAY + np.interp(time - days * DAY, edges, spent))

    if span is not None and len(points) > 1:
        last = worth(float(clock(points[0])) + span)
        points = points[0] + (points - points[0]) * ((last - points[0]) / (points[-1] - points[0]))
    return np.asarray(np.rint(clock(points)), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _People:
    """The application of each job, and the user and group of each application."""

    application: IntArray
    user: IntArray
    group: IntArray


def _people(rng: np.random.Generator, size: IntArray, runtime: IntArray, users: int) -> _People:
    """Assign every job to an application of similar size and run time, by the weight of its user."""
    owned = np.minimum(rng.geometric(0.4, users), 6)
    user = np.repeat(np.arange(users), owned)
    weight = 1.0 / (1.0 + user)
    place = np.column_stack([np.log2(size), np.log(runtime)])
    centre = place[rng.integers(0, len(size), len(user))]
    near = min(NEIGHBOURS, len(user))
    distance, candidate = scipy.spatial.cKDTree(centre).query(place, k=near)
    distance = np.reshape(distance, (-1, near))
    candidate = np.reshape(candidate, (-1, near))
    cumulative = np.cumsum(weight[candidate] * np.exp(-0.5 * distance**2) + 1e-12, axis=1)
    pick = (cumulative < rng.random(len(size))[:, None] * cumulative[:, -1:]).sum(axis=1)
    application = candidate[np.arange(len(size)), np.minimum(pick, near - 1)]
    groups = max(users // 5, 1)
    return _People(application.astype(np.int64), user.astype(np.int64), rng.integers(0, groups, users)[user])


def _requests(rng: np.random.Generator, runtime: IntArray, people: _People) -> tuple[IntArray, IntArray]:
    """Return run times, some of them moved to a walltime, and walltimes, never below them."""
    jobs = len(runtime)
    applications = len(people.user)
    killed = (rng.random(jobs) < KILLED) & (runtime >= ROUND_TIMES[0])
    runtime = np.where(killed, _rounded(runtime), runtime)
    typical = np.ones(applications)
    shuffled = rng.permutation(jobs)
    typical[people.application[shuffled]] = runtime[shuffled]  # the run time of any of its jobs
    habit = _rounded(typical / (1.0 - rng.random(applications)))[people.application]
    fresh = _rounded(runtime / (1.0 - rng.random(jobs)))
    fresh = np.where(fresh >= runtime, fresh, ROUND_TIMES[np.searchsorted(ROUND_TIMES, runtime)])
    keeps = (rng.random(jobs) < HABIT) & (habit >= runtime)
    return runtime, np.where(killed, runtime, np.where(keeps, habit, fresh))


def _rounded(seconds: FloatArray | IntArray) -> IntArray:
    """Return the nearest of the round times, by ratio."""
    logarithm = np.log(ROUND_TIMES)
    return ROUND_TIMES[np.searchsorted((logarithm[1:] + logarithm[:-1]) / 2, np.log(seconds))]
