"""Generate jobs like the neuroscience workflows on ACCRE, Vanderbilt's cluster.

A. Gainaru, H. Sun, G. Aupy, Y. Huo, B. A. Landman, P. Raghavan: "On-the-fly scheduling vs. reservation-based scheduling
for unpredictable workflows", International Journal of High Performance Computing Applications, 2019, sections 4.1 and
5.2.
"""

from typing import Literal

import numpy as np

from ...base import FloatArray, IntArray, check_choice, check_number, check_whole
from ...base.checks import IN_MEMORY, MOST_JOBS, MOST_NODES
from ..job_columns import Coded, JobColumns
from ..machine import Machine
from ..workload import Workload
from .generator import generator, provenance_of

#: Run times: (a) normal, (b) half small and half large, (c) 80% large, (d) 80% small; (mix) like (a) with wide jobs.
Pattern = Literal["a", "b", "c", "d", "mix"]
#: Share of small jobs by pattern.
SMALL_SHARE = {"b": 0.5, "c": 0.2, "d": 0.8}
MINUTE, HOUR = 60, 3600
#: Shortest and longest run times, seconds: of all jobs, of small and of large ones.
ALL = (5 * MINUTE, 15 * HOUR)
SMALL = (5 * MINUTE, HOUR)
LARGE = (3 * HOUR, 15 * HOUR)
#: Mean and standard deviation of pattern (a).
NORMAL = (8 * HOUR, 2.5 * HOUR)
#: Standard deviation of the estimation ratio, and its least value.
SPREAD, LEAST_RATIO = 0.2, 0.1
#: Standard deviation of the ranks that link run times to workflows, as a share of all.
OVERLAP = 0.25


#: Most seconds between submissions, on average: over a week.
MOST_GAP = 1_000_000


@generator("accre")
def accre(
    *,
    pattern: Pattern = "a",
    jobs: int | None = None,
    wide: int | None = None,
    nodes: int = 40,
    mean_er: float = 1.2,
    interarrival: float = 480.0,
    deviation: float = NORMAL[1],
    phases: int = 0,
    workflows: int = 0,
    seed: int = 0,
) -> Workload:
    """Draw one-node jobs, and wide ones on half the machine. Their walltimes are estimates and may be too short.

    The walltime is the run time times an estimation ratio. The ratio is normal with the mean `mean_er` and the
    deviation 0.2, and at least 0.1. Jobs arrive in a Poisson process. The same seed gives the same arrivals, run times
    and deviations for every `mean_er`.

    The paper gives run times only in words and drawings. Pattern (a) is taken as normal between 5 min and 15 h. Its
    mean is 8 h, its deviation 2.5 h. Small jobs are uniform between 5 min and 1 h. Large jobs are uniform between 3 and
    15 h.

    The paper gives neither the number of nodes nor an arrival rate. One job per 8 minutes is its observation on ACCRE.
    Its experiment has 800 jobs in 24 to 48 h. It has no details of wide jobs. Here they are large ones, spread evenly
    among the others, or in every other of some phases.

    Parameters
    ----------
    pattern
        Of the run times of one-node jobs, as in figure 6: ``a``, ``b``, ``c`` or ``d``. ``mix`` is the workload of
        section 5.2: pattern (a) with other numbers of jobs.
    jobs
        Number of one-node jobs; 800, or 300 with ``mix``.
    wide
        Number of jobs on half the nodes (rounded down, at least one); 0, or 30 with ``mix``.
    nodes
        Of the machine; a job has whole nodes.
    mean_er
        Mean estimation ratio, above 0.
    interarrival
        Mean seconds from one submission to the next, above 0.
    deviation
        Of the normal law of pattern (a), seconds, above 0.
    phases
        Number of phases of equal job counts. Every other phase has all wide jobs. With 0 they are spread evenly.
    workflows
        Number of workflows, as names of the jobs; none with 0. Not in the paper: the workflow follows the rank of the
        run time. The deviation is a quarter of all ranks. Thus workflows differ in their laws and overlap.
    seed
        Of the random numbers.

    Examples
    --------
    >>> from hpcdispatch.workloads import accre
    >>> len(accre(jobs=50, wide=5, seed=1).jobs)
    55
    """
    check_choice("pattern", pattern, Pattern)
    jobs = (300 if pattern == "mix" else 800) if jobs is None else jobs
    wide = (30 if pattern == "mix" else 0) if wide is None else wide
    for name, whole in (("jobs", jobs), ("wide", wide), ("phases", phases), ("workflows", workflows)):
        check_whole(name, whole, 0, MOST_JOBS, IN_MEMORY)
    check_whole("nodes", nodes, 1, MOST_NODES)
    check_whole("seed", seed, 0)
    check_number("mean_er", mean_er, above=0, most=1000)
    check_number("interarrival", interarrival, above=0, most=MOST_GAP)
    check_number("deviation", deviation, above=0, most=ALL[1])
    check_whole("jobs and wide together", jobs + wide, 1)
    # One random stream each, so that an option changes nothing else.
    arrivals, lengths, ratios, places = (np.random.default_rng([seed, stream]) for stream in range(4))
    count = jobs + wide
    submit = np.rint(np.cumsum(arrivals.exponential(interarrival, count))).astype(np.int64)
    runtime = np.rint(_runtimes(lengths, pattern, jobs, deviation)).astype(np.int64)
    is_wide = np.zeros(count, dtype=bool)
    where = places.permutation(count)
    if phases:  # jobs of every other phase come first
        where = where[np.argsort(where * phases // count % 2 == 0, kind="stable")]
    is_wide[where[:wide]] = True
    runtimes = np.empty(count, dtype=np.int64)
    runtimes[~is_wide] = runtime
    runtimes[is_wide] = np.rint(lengths.uniform(*LARGE, wide)).astype(np.int64)
    ratio = np.maximum(LEAST_RATIO, mean_er + SPREAD * ratios.standard_normal(count))
    walltime = np.maximum(1, np.rint(runtimes * ratio)).astype(np.int64)
    slots = np.where(is_wide, max(1, nodes // 2), 1)
    options = {"pattern": pattern, "jobs": jobs, "wide": wide, "nodes": nodes, "mean_er": mean_er}
    usual = {"deviation": (deviation, NORMAL[1]), "phases": (phases, 0), "workflows": (workflows, 0)}
    more = {name: value for name, (value, default) in usual.items() if value != default}
    options |= {"interarrival": interarrival, **more, "seed": seed}
    drawn = JobColumns.made(
        np.arange(1, count + 1),
        submit=submit,
        runtime=runtimes,
        walltime=walltime,
        nodes=slots,
        name=Coded.gathered(_names(np.random.default_rng([seed, 4]), runtimes, workflows)),
    )
    machine = Machine.homogeneous(nodes, name="ACCRE, in the image of", core=1)
    return Workload(drawn, machine, provenance_of("accre", options))


def _runtimes(rng: np.random.Generator, pattern: Pattern, count: int, deviation: float) -> FloatArray:
    """Draw the run times of one-node jobs, seconds."""
    if pattern in ("a", "mix"):
        drawn = rng.normal(NORMAL[0], deviation, count)
        while (outside := np.flatnonzero((drawn < ALL[0]) | (drawn > ALL[1]))).size:
            drawn[outside] = rng.normal(NORMAL[0], deviation, outside.size)
        return drawn
    small = rng.random(count) < SMALL_SHARE[pattern]
    return np.where(small, rng.uniform(*SMALL, count), rng.uniform(*LARGE, count))


def _names(rng: np.random.Generator, runtimes: IntArray, workflows: int) -> list[str]:
    """Return the workflow of each job. Jobs with similar run times share it more often."""
    if not workflows:
        return [""] * len(runtimes)
    ranks = np.argsort(np.argsort(runtimes, kind="stable"), kind="stable") / len(runtimes)
    told = ranks + OVERLAP * rng.standard_normal(len(runtimes))
    places = np.argsort(np.argsort(told, kind="stable"), kind="stable") * workflows // len(runtimes)
    return [f"workflow-{place + 1}" for place in places.tolist()]
