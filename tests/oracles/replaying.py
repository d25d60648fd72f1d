"""A second check of a schedule. Its stays are replayed on a machine with single units.

It shares nothing with :mod:`hpcdispatch.simulation.invariants`: no arrays and no shares of work. It has books of every
node in plain Python. It also checks lengths that the overrun policy determines.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from math import floor

#: The factor that enlarges a too short walltime at a resubmission.
FACTOR = 1.5
#: How a stay ends that a dispatcher ended.
GIVEN_WAY = ("killed", "checkpointed")


def complaints(workload, result, overrun, *, strict):
    """Yield a line for everything that is wrong with a schedule.

    Parameters
    ----------
    workload, result, overrun
        What was simulated, its records, and ``run``, ``kill`` or ``resubmit``.
    strict
        The dispatcher neither stops jobs nor limits them by itself. The number and lengths of a job's stays then follow
        from its run time and its walltime.
    """
    stays = defaultdict(list)
    for row in result.attempts.to_dict("records"):
        stays[row["id"]].append(row)
    yield from _nodes(workload, result)
    yield from _counts(result, stays)
    for job, row in zip(workload.jobs, result.jobs.to_dict("records"), strict=True):
        yield from (f"job {job.id}: {text}" for text in _times(job, row, stays[job.id]))
        if row["status"] != "rejected" and not (job.checkpoint and job.checkpoint.interval):
            yield from (f"job {job.id}: {text}" for text in _lengths(job, row, stays[job.id], overrun, strict))


def _nodes(workload, result):
    """Take and return units of nodes, ends before starts. Missing units are reported."""
    names, jobs = workload.machine.resources, {job.id: job for job in workload.jobs}
    free = [dict(zip(names, map(int, row), strict=True)) for row in workload.machine.capacity]
    events = []
    for number, row in enumerate(result.attempts.to_dict("records")):
        if row["start"] < row["end"]:
            events += [(row["start"], 1, number, row), (row["end"], 0, number, row)]
    for time, starts, _, row in sorted(events, key=lambda event: event[:3]):
        job = jobs[row["id"]]
        shape = job.shapes[row["shape"]] if row["shape"] >= 0 else job
        for node in map(int, row["placement"]):
            for name, amount in (shape.per_node or job.per_node).items():
                free[node][name] += -amount if starts else amount
                if free[node][name] < 0:
                    yield f"job {row['id']} takes {name} that node {node} does not have at {time}"
    if free != [dict(zip(names, map(int, row), strict=True)) for row in workload.machine.capacity]:
        yield "the machine is not empty in the end"


def _counts(result, stays):
    """Compare the record of each decision with the stays."""
    started, rows = defaultdict(int), [row for found in stays.values() for row in found]
    seen = set()
    for decision in result.decisions[["time", "running", "started"]].to_dict("records"):
        time = decision["time"]
        if time not in seen:
            seen.add(time)
            running = sum(row["start"] < time < row["end"] for row in rows)
            given_way = sum(row["end"] == time and row["outcome"] in GIVEN_WAY for row in rows)
            if not running <= decision["running"] <= running + given_way:
                yield f"{decision['running']} jobs said to run at {time}, {running} do, {given_way} give way"
        started[time] += decision["started"]
    begun = defaultdict(int)
    for row in rows:
        begun[row["start"]] += 1
    wrong = [time for time in {*started, *begun} if started[time] != begun[time]]
    if wrong:
        yield f"decisions say {started[wrong[0]]} starts at {wrong[0]}, there are {begun[wrong[0]]}"


def _times(job, row, stays):
    """Work out start, end and wait from the stays of a job."""
    if any(later["start"] < sooner["end"] for sooner, later in pairwise(stays)):
        yield "two stays at once"
    if stays and stays[0]["start"] < job.submit:
        yield f"starts at {stays[0]['start']}, submitted at {job.submit}"
    if stays:
        begin, end = stays[0]["start"], stays[-1]["end"]
        left = row["end"] if row["status"] == "rejected" else end
        wait = left - job.submit - sum(stay["end"] - stay["start"] for stay in stays)
        said = row["start"], row["end"], row["wait"], row["attempts"]
        if said != (begin, left, wait, len(stays)):
            yield f"start, end, wait, attempts {(begin, left, wait, len(stays))}, on record {said}"
    elif row["status"] != "rejected":
        yield f"{row['status']} without a stay"


def _lengths(job, row, stays, overrun, strict):
    """Compare a job's time on the machine with its run time and its walltime."""
    found = [stay["end"] - stay["start"] for stay in stays]
    shape = job.shapes[stays[-1]["shape"]] if stays[-1]["shape"] >= 0 else job
    whole = all(stay["outcome"] != "checkpointed" for stay in stays)
    if row["status"] == "completed" and whole and found[-1] != shape.runtime:
        yield f"completed in {found[-1]} s, takes {shape.runtime}"
    if strict and found != expected_lengths(shape.runtime, shape.walltime, overrun):
        yield f"on the machine for {found} s, expected {expected_lengths(shape.runtime, shape.walltime, overrun)}"
    if strict and (row["status"] == "killed") != (overrun == "kill" and shape.runtime > shape.walltime):
        yield f"{row['status']}, though it takes {shape.runtime} s of {shape.walltime}"


def expected_lengths(runtime, request, overrun):
    """Return the length of each stay of a job without an eviction."""
    if overrun == "run" or runtime <= request:
        return [runtime]
    if overrun == "kill":
        return [request]
    return [request, *expected_lengths(runtime, max(request + 1, floor(request * FACTOR)), overrun)]
