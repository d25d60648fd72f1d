"""Generate a workload like that of Eurora. It was CINECA's machine of 64 nodes with GPUs or MICs.

C. Galleguillos, Z. Kiziltan, A. Sirbu, O. Babaoglu: "Constraint programming-based job dispatching for modern HPC
applications", CP 2019, section 5. The trace is not public. The users' habits are fitted to the figures that the paper
prints.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .....base import FloatArray, InputError, IntArray
from .....base.checks import IN_MEMORY, MOST_JOBS, check_number, check_whole
from .....workloads.generators.generator import generator, provenance_of
from .....workloads.job import ResourceMap
from .....workloads.job_columns import Coded, JobColumns
from .....workloads.machine import Machine
from .....workloads.workload import Workload
from .eurora_habits import (
    BY_JOB,
    CPU,
    DAY,
    GPU,
    HOUR,
    LETTERS,
    MINUTE,
    PLAIN,
    QUEUES,
    REQUESTS,
    SECONDS,
    STEMS,
    Applications,
    Batches,
    Habits,
    applications,
    batches,
)

#: The paper's trace: jobs, and days (March 2014 to July 2015). The first day is a Saturday.
JOBS, DAYS = 400_000, 518
#: Fewer jobs cannot have 0.75% above 5 h. Such jobs come in batches.
LEAST = 1000
#: Submissions by hour of day, and by day of week.
BY_HOUR = (2, 1.5, 1, 1, 1, 1, 1.5, 2.5, 5, 8, 9, 9, 7, 7.5, 9, 9, 9, 8, 6, 4, 3.5, 3, 3, 2.5)
BY_DAY = (0.4, 0.4, 1.2, 1.25, 1.25, 1.25, 1.15)
RESOURCES = ("core", "mem", "gpu", "mic")
#: Shortest and longest run times by kind, seconds.
SHORTEST = (1, 30, HOUR, 5 * HOUR)
LONGEST = (MINUTE - 1, HOUR - 1, 5 * HOUR - 1, DAY)
#: One hundred years.
MOST_DAYS = 36_525
#: Extra seconds for which a killed job keeps its nodes.
CLEARING = (2, 45)
#: Expected wait of each queue, in the dispatchers' ``ewt`` format.
EXPECTED_WAITS = ";".join(f"{name}:{wait}" for name, wait, _ in QUEUES)


@generator("eurora")
def eurora(*, jobs: int = JOBS, days: float | None = None, seed: int = 0) -> Workload:
    """Generate jobs of users with habits on Eurora's 64 nodes. Half have 2 GPUs each, half 2 MICs.

    Each node has 16 cores and 16 GB.

    A few users submit much, and many submit little. Each has a few applications. Queue, walltime, request and naming
    are fixed per application. Applications run in campaigns: one batch of similar jobs after another. Batches come
    faster than the machine can run them. The jobs of a batch stop at once, take minutes, or take hours or longer. Their
    run time drifts between batches as the input changes. Some jobs fail in their first minute. Some batches reach their
    walltime. Bursts and contention for accelerators therefore cause queues. Most of the machine is idle meanwhile.

    The accuracy of predictions is not an input. It follows from the habits.

    Queues, default walltimes and expected waits come from the authors' first CP dispatcher. The defaults: 30 min for
    debug, 6 h for parallel, 24 h for longpar. The expected waits are equal to them. Reservation has the expected wait
    of debug. Its default of 12 h is ours.

    Parameters
    ----------
    jobs
        Number of jobs, at least 1,000.
    days
        From the first to about the last submission. By default 400,000 jobs take 17 months.
    seed
        Of the random numbers.
    """
    check_whole("jobs", jobs, 1, MOST_JOBS, IN_MEMORY)
    check_number("days", days, above=0, most=MOST_DAYS, none=True)
    check_whole("seed", seed, 0)
    if jobs < LEAST:
        raise InputError(f"jobs must be >= {LEAST} for the share of 0.75% above 5 h, got {jobs}")
    span = DAYS * jobs / JOBS if days is None else float(days)
    machine = eurora_machine()
    drawn = eurora_jobs(jobs, seed, span=span)
    for name, capacity in zip(machine.resources, machine.capacity.sum(axis=0).tolist(), strict=True):
        needed = float((drawn.amounts(name) * drawn.runtime).sum()) / (capacity * DAY)
        if needed > span:
            raise InputError(f"days must be >= {needed:.1f} for {len(drawn)} jobs to find a free {name}, got {span:g}")
    options = {"jobs": jobs, "days": days, "seed": seed}
    return Workload(drawn, machine, provenance_of("eurora", options, ewt=EXPECTED_WAITS))


@dataclass(frozen=True, slots=True)
class Draws:
    """The samples of :func:`eurora`. Seed k gives the k-th.

    Attributes
    ----------
    jobs
        Number of samples.
    head
        Keep only that many jobs of each; ``None`` keeps all.
    """

    jobs: int
    head: int | None = None

    def __call__(self, seed: int) -> Workload:
        """Return the sample of a seed."""
        drawn = eurora(jobs=self.jobs, seed=seed)
        return drawn if self.head is None else drawn.head(self.head)


def eurora_machine() -> Machine:
    """Return 64 nodes of 16 cores and 16 GB. The first half has 2 GPUs each, the others 2 MICs."""
    rows = [[16, 16, 2, 0]] * 32 + [[16, 16, 0, 2]] * 32
    return Machine(RESOURCES, np.array(rows, dtype=np.int64), "Eurora, in the image of")


def eurora_jobs(jobs: int, seed: int, habits: Habits | None = None, span: float | None = None) -> JobColumns:
    """Generate only the jobs, over `span` days, with optional other habits."""
    habits = habits or Habits()
    rng = np.random.default_rng(seed)
    users = int(np.clip(round(8 * (jobs / 1000) ** 0.5), 3, 200))
    typical = applications(rng, users, habits)
    drawn = batches(rng, typical, jobs, habits)
    batch = np.repeat(np.arange(len(drawn.size)), drawn.size)
    place = np.arange(jobs) - (np.cumsum(drawn.size) - drawn.size)[batch]
    runtime = _runtimes(rng, typical, drawn, batch, habits)
    days = DAYS * jobs / JOBS if span is None else span
    submit = _submissions(rng, drawn, days, habits)[batch] + (place / habits.pace).astype(np.int64)
    order = np.argsort(submit, kind="stable")
    return _build(typical, drawn, batch[order], place[order], submit[order], runtime[order])


def _runtimes(
    rng: np.random.Generator, typical: Applications, drawn: Batches, batch: IntArray, habits: Habits
) -> IntArray:
    """Sample the run time of each job. It is its batch's with noise, a failure, or its walltime."""
    application = drawn.application[batch]
    kind = drawn.kind[batch]
    walltime = typical.walltime[application]
    runtime = np.exp(drawn.log_runtime[batch] + typical.noise[application] * rng.standard_normal(len(batch)))
    runtime = np.clip(np.rint(runtime), np.array(SHORTEST)[kind], np.array(LONGEST)[kind])
    runtime = np.where(drawn.cut[batch], walltime, runtime)
    fails = rng.random(len(batch)) < habits.fails
    runtime = np.where(fails, rng.integers(1, MINUTE, len(batch)), runtime)
    killed = walltime + rng.integers(*CLEARING, len(batch))
    return np.where(runtime >= walltime, killed, runtime).astype(np.int64)


def _submissions(rng: np.random.Generator, drawn: Batches, days: float, habits: Habits) -> IntArray:
    """Return the submission of each batch, seconds. Campaigns begin by the daily and weekly cycles."""
    whole = int(days) + 1
    rate = np.repeat(np.array(BY_DAY)[np.arange(whole) % len(BY_DAY)], 24) * np.tile(BY_HOUR, whole)
    spent = np.concatenate([[0.0], np.cumsum(rate)])
    edges = np.arange(len(spent)) * float(HOUR)
    campaigns = int(drawn.campaign[-1]) + 1
    points = (np.arange(campaigns) + rng.random(campaigns)) / campaigns * np.interp(days * DAY, edges, spent)
    begins: FloatArray = np.interp(points, spent, edges)
    since = np.cumsum(rng.exponential(habits.gap, len(drawn.campaign)))
    since -= since[np.searchsorted(drawn.campaign, np.arange(campaigns))][drawn.campaign]
    return np.rint(begins[drawn.campaign] + since).astype(np.int64)


def _build(
    typical: Applications, drawn: Batches, batch: IntArray, place: IntArray, submit: IntArray, runtime: IntArray
) -> JobColumns:
    application = drawn.application[batch]
    flavour = typical.flavour[application]
    accelerators = typical.accelerators[application]
    asked = np.ravel_multi_index((typical.request[application], flavour, accelerators), (len(REQUESTS), 3, 3))
    return JobColumns.made(
        np.arange(1, len(submit) + 1),
        submit=submit,
        runtime=runtime,
        walltime=typical.walltime[application],
        nodes=np.where(drawn.kind[batch] == SECONDS, 1, typical.slots[application]),
        per_node=Coded.of(asked, _amounts),
        user=Coded.of(typical.user[application], lambda user: f"u{user + 1:03d}"),
        name=Coded.gathered(_names(typical, drawn, batch, place)),
        queue=Coded.of(typical.queue[application], lambda queue: QUEUES[queue][0]),
    )


def _amounts(asked: int) -> ResourceMap:
    """Return the amounts per node slot, by place in `REQUESTS`."""
    request, rest = divmod(asked, 9)
    flavour, accelerators = divmod(rest, 3)
    cores, memory = REQUESTS[request]
    if flavour == CPU:
        return ResourceMap(core=cores, mem=memory)
    return ResourceMap(core=cores, mem=memory, **{"gpu" if flavour == GPU else "mic": accelerators})


def _names(typical: Applications, drawn: Batches, batch: IntArray, place: IntArray) -> list[str]:
    """Return job names, one per job.

    They are ``md``, ``md_7`` with the place in the batch, or ``md042`` with the batch. A project may come first.
    """
    stems = [
        _project(project) + STEMS[stem]
        for project, stem in zip(drawn.project.tolist(), typical.stem[drawn.application].tolist(), strict=True)
    ]
    naming = typical.naming[drawn.application[batch]]
    numbers = np.where(naming == BY_JOB, place + 1, batch % 1000)
    return [
        stems[of] if style == PLAIN else f"{stems[of]}_{number}" if style == BY_JOB else f"{stems[of]}{number:03d}"
        for of, style, number in zip(batch.tolist(), naming.tolist(), numbers.tolist(), strict=True)
    ]


def _project(number: int) -> str:
    """Return the letters of a project, empty for none."""
    if number < 0:
        return ""
    first, second = divmod(number, len(LETTERS))
    return f"{LETTERS[first]}{LETTERS[second]}-"
