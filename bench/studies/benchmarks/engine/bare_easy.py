"""The floor: textbook EASY backfilling on a pool of processors, in bare Python.

It has nothing of AccaSim, of the State-and-actions protocol, of predictors or records. It has integers in tuples, lists
and two heaps. How much slower the engine is says what its generality costs.
"""

from __future__ import annotations

from bisect import insort
from heapq import heappop, heappush

from .....workloads import Workload

#: Submission, run time, walltime, processors.
BareJob = tuple[int, int, int, int]


def bare_jobs(workload: Workload) -> list[BareJob]:
    """Return the jobs of a workload on a machine with one pool of cores."""
    return [(job.submit, job.runtime, job.walltime, job.nodes * job.per_node["core"]) for job in workload.jobs]


def easy_starts(jobs: list[BareJob], processors: int) -> list[int]:
    """Return the start of every job under EASY, each running its real time.

    Completions come before arrivals, arrivals before the one decision of an instant. An overrun job is expected to end
    in the next second.

    Parameters
    ----------
    jobs
        In order of submission, run times above 0, none larger than the machine.
    processors
        Size of the machine.
    """
    starts = [-1] * len(jobs)
    queue: list[int] = []
    ends: list[tuple[int, int]] = []  # heap of (end, job)
    expected: list[tuple[int, int]] = []  # sorted (expected end, job) of the running jobs
    free = processors
    arriving = 0
    count = len(jobs)
    while arriving < count or ends:
        now = jobs[arriving][0] if arriving < count else ends[0][0]
        if ends and ends[0][0] < now:
            now = ends[0][0]
        while ends and ends[0][0] == now:
            job = heappop(ends)[1]
            free += jobs[job][3]
            expected.remove((starts[job] + jobs[job][2], job))
        while arriving < count and jobs[arriving][0] == now:
            queue.append(arriving)
            arriving += 1
        if not queue or free == 0:
            continue
        for job in _decide(now, queue, jobs, free, expected):
            starts[job] = now
            free -= jobs[job][3]
            heappush(ends, (now + jobs[job][1], job))
    return starts


def _decide(now: int, queue: list[int], jobs: list[BareJob], free: int, expected: list[tuple[int, int]]) -> list[int]:
    """Take the jobs to start now out of `queue`. Put them among the `expected` ends, and return them."""
    ahead = 0
    while ahead < len(queue) and jobs[queue[ahead]][3] <= free:
        free -= jobs[queue[ahead]][3]
        insort(expected, (now + jobs[queue[ahead]][2], queue[ahead]))
        ahead += 1
    started = queue[:ahead]
    del queue[:ahead]
    if len(queue) < 2 or free == 0:
        return started
    shadow, spare = _reservation(now, jobs[queue[0]][3], free, jobs, expected)
    kept = [queue[0]]
    for position, job in enumerate(queue[1:], 1):
        _, _, walltime, size = jobs[job]
        if size <= free and (now + walltime <= shadow or size <= spare):
            free -= size
            if now + walltime > shadow:
                spare -= size
            insort(expected, (now + walltime, job))
            started.append(job)
            if free == 0:
                kept += queue[position + 1 :]
                break
        else:
            kept.append(job)
    queue[:] = kept
    return started


def _reservation(
    now: int, size: int, free: int, jobs: list[BareJob], expected: list[tuple[int, int]]
) -> tuple[int, int]:
    """Return when `size` processors are expected to be free, and the extra processors then."""
    shadow = now
    for end, job in expected:
        at = end if end > now else now + 1
        if free >= size and at > shadow:
            break
        free += jobs[job][3]
        shadow = at
    return shadow, free - size
