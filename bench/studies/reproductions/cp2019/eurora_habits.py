"""Users of Eurora, their applications, and the batches that they submit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .....base import FloatArray, IntArray

MINUTE = 60
HOUR = 3600
DAY = 86400
#: Kinds of runs: stop at once, minutes, 1 to 5 h, longer.
KINDS = ("seconds", "minutes", "hours", "day")
SECONDS, MINUTES, HOURS, LONG = range(4)
#: Name, expected wait and walltimes, in seconds. The queue's default walltime comes first.
QUEUES: tuple[tuple[str, int, tuple[int, ...]], ...] = (
    ("debug", HOUR // 2, (30 * MINUTE, 10 * MINUTE, 15 * MINUTE, 20 * MINUTE)),
    ("parallel", 6 * HOUR, (6 * HOUR, HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR, 5 * HOUR)),
    ("longpar", DAY, (DAY, 8 * HOUR, 12 * HOUR, 20 * HOUR)),
    ("reservation", HOUR // 2, (12 * HOUR, 2 * HOUR, 8 * HOUR)),
)
#: Least walltime of applications with runs above 5 h. If there is none, the last application gets this queue.
LEAST_FOR_LONG, QUEUE_FOR_LONG = 8 * HOUR, 2
#: Stems of names.
STEMS = (
    "align",
    "bench",
    "cfd",
    "dock",
    "eos",
    "fit",
    "grid",
    "heat",
    "ising",
    "md",
    "neb",
    "opt",
    "pic",
    "qmc",
    "run",
    "scf",
    "train",
    "wave",
)
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#: Ways to name an application's jobs. All the same, by number in the batch, or by the batch's number.
PLAIN, BY_JOB, BY_BATCH = range(3)
NAMINGS = (0.45, 0.35, 0.2)
#: Deviations of the logarithm of applications' typical run times, by kind. Then the share of `Habits.spread` by kind.
TYPICAL_SPREAD = (0.6, 0.8, 0.25, 0.3)
INPUT_SPREAD = (0.5, 1.0, 0.35, 0.35)
#: Most batches per campaign, as a multiple of the mean.
LONGEST = 10
#: Accelerators of an application; cores and GB per node slot.
CPU, GPU, MIC = range(3)
REQUESTS = ((1, 1), (2, 2), (4, 4), (8, 7), (8, 14), (16, 14))


@dataclass(frozen=True, slots=True)
class Habits:
    """Parameters of the workload, each with its fitted target.

    Attributes
    ----------
    shares
        Of all jobs, by kind. Target: duration classes.
    batch
        Mean jobs of a batch, by kind. Target: exact predictions of the heuristic, its overestimates against its
        underestimates.
    campaign
        Mean number of batches per campaign, and the deviation of its logarithm. Target: waiting jobs.
    gap
        Mean seconds between two batches of a campaign.
    pace
        Jobs per second of a submission loop. Target: calls of the dispatcher.
    median
        Of the applications' typical run times, by kind, seconds.
    fewer
        How much smaller batches of longer runs are. A power of run time over typical run time. Target: underestimates
        of the heuristic.
    renames
        Probability that a campaign begins a project. Its letters then precede the names of the jobs. Target: error of
        the heuristic.
    same_kind
        Probability that a batch repeats the previous batch's kind, per campaign.
    change, spread
        Probability that a batch has a new input size. The second is the resulting deviation of the run time's
        logarithm. Target: predictions within a quarter.
    noise
        Largest deviation of the run times' logarithm in a batch. Each application has its own below it.
    fails
        Probability that a run ends within its first minute.
    overruns
        Probability that a batch with walltime below an hour reaches it. Target: overruns.
    queues
        Share of the jobs, by queue.
    typed
        Share of the jobs with another walltime than their queue's default. Target: error of the walltimes.
    flavours
        Share of the jobs with no accelerator, GPUs, MICs.
    both
        Share of jobs with both accelerators of a node, among those with any. Target: running jobs.
    wide
        Share of jobs from applications with several node slots. Target: resource units of a job.
    requests
        Shares of `REQUESTS`.
    """

    shares: tuple[float, ...] = (0.30, 0.612, 0.0785, 0.0095)
    batch: tuple[float, ...] = (90.0, 15.0, 3.5, 2.0)
    campaign: tuple[float, float] = (18.0, 0.8)
    gap: float = 120.0
    pace: float = 2.3
    median: tuple[float, ...] = (4.0, 420.0, 6500.0, 30000.0)
    fewer: float = 1.5
    renames: float = 0.07
    same_kind: float = 0.85
    change: float = 0.05
    spread: float = 0.6
    noise: float = 0.07
    fails: float = 0.005
    overruns: float = 0.142
    queues: tuple[float, ...] = (0.3, 0.62, 0.045, 0.035)
    typed: float = 0.55
    flavours: tuple[float, ...] = (0.25, 0.5, 0.25)
    both: float = 0.6
    wide: float = 0.24
    requests: tuple[float, ...] = (0.15, 0.1, 0.15, 0.25, 0.2, 0.15)


@dataclass(frozen=True, slots=True)
class Applications:
    """Typical values of each application. Arrays of shape (applications,); by kind (applications, kinds).

    Attributes
    ----------
    user, weight
        User of the application, and its share of all jobs, not normalised.
    stem, naming
        Place in `STEMS`, and the naming of the jobs.
    queue, walltime
        Place of the queue in `QUEUES`, and walltime in seconds.
    flavour, accelerators, request, slots
        Kind and number of accelerators, place of the other amounts in `REQUESTS`, and number of node slots.
    typical, noise
        Logarithm of run times in seconds, by kind. Then the deviation in a batch.
    mixture
        Share of each kind of its jobs.
    """

    user: IntArray
    weight: FloatArray
    stem: IntArray
    naming: IntArray
    queue: IntArray
    walltime: IntArray
    flavour: IntArray
    accelerators: IntArray
    request: IntArray
    slots: IntArray
    typical: FloatArray
    noise: FloatArray
    mixture: FloatArray


def applications(rng: np.random.Generator, users: int, habits: Habits) -> Applications:
    """Sample the applications of `users` users: few heavy and many light ones."""
    user = np.repeat(np.arange(users), np.minimum(rng.geometric(0.35, users), 6))
    count = len(user)
    weight = rng.gamma(4, 0.25, count) / (2.0 + user)
    asked = [(queue, seconds) for queue, (_, _, requests) in enumerate(QUEUES) for seconds in requests]
    requests = stratified(rng, weight, _request_shares(habits))
    if not any(asked[place][1] >= LEAST_FOR_LONG for place in requests.tolist()):
        requests[-1] = asked.index((QUEUE_FOR_LONG, DAY))
    queue, walltime = np.array(asked)[requests].T
    flavour = stratified(rng, weight, habits.flavours)
    accelerators = 1 + stratified(rng, weight, (1 - habits.both, habits.both))
    typical = np.log(habits.median) + rng.normal(0, 1, (count, len(KINDS))) * TYPICAL_SPREAD
    typical[:, MINUTES] = np.minimum(typical[:, MINUTES], np.log(walltime / 2))
    mixture = rng.gamma(0.7, 1, (count, len(KINDS))) + 0.02
    mixture[walltime < 2 * HOUR, HOURS] = 0
    mixture[walltime < LEAST_FOR_LONG, LONG] = 0
    slots = 2 ** rng.integers(1, 3, count)
    return Applications(
        user=user,
        weight=weight,
        stem=rng.integers(0, len(STEMS), count),
        naming=rng.choice(3, count, p=NAMINGS),
        queue=queue,
        walltime=walltime,
        flavour=flavour,
        accelerators=np.where(flavour == CPU, 0, accelerators),
        request=stratified(rng, weight, habits.requests),
        slots=np.where(stratified(rng, weight, (1 - habits.wide, habits.wide)) == 1, slots, 1),
        typical=typical,
        noise=habits.noise * rng.random(count) ** 2,
        mixture=_fitted(mixture, weight, habits),
    )


def _request_shares(habits: Habits) -> tuple[float, ...]:
    """Return the share of each walltime, per queue. The default has its own share, the others have equal ones."""
    shares: list[float] = []
    for share, (_, _, requests) in zip(habits.queues, QUEUES, strict=True):
        others = len(requests) - 1
        shares += [share * (1 - habits.typed), *[share * habits.typed / others] * others]
    return tuple(shares)


def stratified(rng: np.random.Generator, weight: FloatArray, shares: tuple[float, ...]) -> IntArray:
    """Assign classes, the heaviest item first. A class's probability is its remaining room, if large enough."""
    room = np.array(shares) / np.sum(shares) * weight.sum()
    classes = np.empty(len(weight), dtype=np.int64)
    for place in np.argsort(-weight, kind="stable").tolist():
        chances = np.cumsum(np.where(room >= weight[place] / 2, room, 0.0))
        drawn = rng.random() * chances[-1]
        classes[place] = np.searchsorted(chances, drawn, side="right") if chances[-1] > 0 else np.argmax(room)
        room[classes[place]] -= weight[place]
    return classes


@dataclass(frozen=True, slots=True)
class Batches:
    """Jobs submitted together: arrays of shape (batches,).

    Attributes
    ----------
    campaign
        Rising numbers.
    application, project, kind, size
        Application, project letters (-1: none), kind of run, and number of jobs.
    log_runtime
        Logarithm of the typical run time, seconds.
    cut
        Whether its jobs reach their walltime.
    """

    campaign: IntArray
    application: IntArray
    project: IntArray
    kind: IntArray
    size: IntArray
    log_runtime: FloatArray
    cut: NDArray[np.bool_]


def batches(rng: np.random.Generator, made: Applications, jobs: int, habits: Habits) -> Batches:
    """Sample campaigns until there are enough jobs. The last batch is shortened."""
    per_job = made.mixture / np.array(habits.batch)  # batches of each kind per job
    batches_per_job = float(made.weight @ per_job.sum(axis=1) / made.weight.sum())
    campaigns = int(jobs * batches_per_job / habits.campaign[0]) + 5
    size = np.zeros(0, dtype=np.int64)
    while size.sum() < jobs:
        campaign, of = _campaigns(rng, made.weight * per_job.sum(axis=1), campaigns, habits)
        kind = _kinds(rng, campaign, np.cumsum(per_job / per_job.sum(axis=1, keepdims=True), axis=1)[of], habits)
        off = _deviations(rng, of * len(KINDS) + kind, kind, habits)
        size = rng.geometric(1 / np.maximum(np.array(habits.batch)[kind] * np.exp(-habits.fewer * off), 1))
        campaigns = campaigns * 5 // 4 + 1
    last = int(np.searchsorted(np.cumsum(size), jobs)) + 1
    campaign = campaign[:last]
    of = of[:last]
    kind = kind[:last]
    size = size[:last]
    off = off[:last]
    size[-1] -= size.sum() - jobs
    cut = (made.walltime[of] < HOUR) & (kind == MINUTES) & (rng.random(last) < habits.overruns)
    project = _projects(rng, campaign, of, habits)
    return Batches(campaign, of, project, kind, size, made.typical[of, kind] + off, cut)


def _campaigns(
    rng: np.random.Generator, often: FloatArray, campaigns: int, habits: Habits
) -> tuple[IntArray, IntArray]:
    """Sample campaigns of applications by their frequency. Return the number and the application of each batch."""
    mean, deviation = habits.campaign
    length = np.exp(rng.normal(np.log(mean) - deviation**2 / 2, deviation, campaigns))
    length = np.clip(np.rint(length), 1, LONGEST * mean)
    application = stratified(rng, length, tuple(often.tolist()))
    campaign = np.repeat(np.arange(campaigns), length.astype(np.int64))
    return campaign, application[campaign]


def _projects(rng: np.random.Generator, campaign: IntArray, application: IntArray, habits: Habits) -> IntArray:
    """Return the project of each batch. It is the application's latest one, and -1 before the first."""
    order = np.argsort(application, kind="stable")
    begins = (np.diff(campaign, prepend=-1) != 0) & (rng.random(len(campaign)) < habits.renames)
    first = np.diff(application[order], prepend=-1) != 0
    drawn = np.where(begins, rng.integers(0, len(LETTERS) ** 2, len(campaign)), -1)[order]
    last = np.maximum.accumulate(np.where(begins[order] | first, np.arange(len(order)), 0))
    project = np.empty(len(order), dtype=np.int64)
    project[order] = drawn[last]
    return project


def _fitted(mixture: FloatArray, weight: FloatArray, habits: Habits) -> FloatArray:
    """Fit the shares of the kinds for each application. The shares over all jobs then match."""
    for _ in range(100):
        mixture = mixture / mixture.sum(axis=1, keepdims=True)
        mixture = mixture * (np.array(habits.shares) / (weight @ mixture / weight.sum()))
    return np.asarray(mixture / mixture.sum(axis=1, keepdims=True))


def _kinds(rng: np.random.Generator, campaign: IntArray, cumulative: FloatArray, habits: Habits) -> IntArray:
    """Sample the kind of each batch. It comes from the application's mixture or the campaign's previous batch."""
    drawn = (rng.random(len(campaign))[:, None] > cumulative[:, :-1]).sum(axis=1)
    fresh = rng.random(len(campaign)) >= habits.same_kind
    fresh[np.flatnonzero(np.diff(campaign, prepend=-1))] = True
    return np.asarray(drawn[np.maximum.accumulate(np.where(fresh, np.arange(len(campaign)), 0))])


def _deviations(rng: np.random.Generator, key: IntArray, kind: IntArray, habits: Habits) -> FloatArray:
    """Return each batch's deviation of the run time's logarithm from the typical one. Each `key` drifts alone."""
    order = np.argsort(key, kind="stable")
    changes = rng.random(len(key)) < habits.change
    changes[np.diff(key[order], prepend=-1) != 0] = True
    drawn = rng.normal(0, habits.spread, len(key)) * np.array(INPUT_SPREAD)[kind[order]]
    deviation = np.empty(len(key))
    deviation[order] = drawn[np.maximum.accumulate(np.where(changes, np.arange(len(key)), 0))]
    return deviation
