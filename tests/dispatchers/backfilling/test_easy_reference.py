"""EASY against an independent implementation, and its two paths against each other."""

from dataclasses import replace

from drawn import number_of_inputs
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_workloads import workloads

from hpcdispatch.simulation import simulate
from hpcdispatch.testing import pool
from hpcdispatch.workloads import Job, Machine, Workload


def brute_force(workload, shortest_first):
    """Schedule a pool second by second, at arrivals and ends. Return the starts by id.

    Each backfill is tried: the predicted future is simulated with and without it. It may not delay the head.
    """
    waiting = []
    running = []
    starts = {}
    jobs = list(workload.jobs)
    now = 0
    while jobs or waiting or running:
        gone = [entry for entry in running if entry[1] <= now]
        running = [entry for entry in running if entry[1] > now]
        come = [job for job in jobs if job.submit == now]
        waiting = waiting + come
        jobs = jobs[len(come) :]
        if not (come or gone):
            now += 1
            continue
        again = True
        while again:
            again = False
            head = starting(workload, waiting, running, now)
            if head is not None:
                again = True
                start(head, waiting, running, starts, now)
        if waiting:
            rest = waiting[1:]
            for job in sorted(rest, key=lambda job: job.walltime) if shortest_first else rest:
                if job.nodes <= free(workload, running, now) and not delays(workload, job, waiting[0], running, now):
                    start(job, waiting, running, starts, now)
        if any(end == now for _, end, _ in running):
            continue  # a job of 0 s: its cores are free at once
        now += 1
    return starts


def free(workload, running, _now):
    return int(workload.machine.capacity[0, 0]) - sum(job.nodes for job, _, _ in running)


def starting(workload, waiting, running, now):
    return waiting[0] if waiting and waiting[0].nodes <= free(workload, running, now) else None


def start(job, waiting, running, starts, now):
    waiting.remove(job)
    running.append((job, now + job.runtime, max(now + job.walltime, now + 1)))
    starts[job.id] = now


def reserved(workload, head, running, now):
    """Return when the head could start if all jobs ran as predicted. Late jobs end in the next second."""
    ends = [(max(predicted, now + 1), job.nodes) for job, _, predicted in running]
    capacity = int(workload.machine.capacity[0, 0])
    for time in sorted({now, *(end for end, _ in ends)}):
        if capacity - sum(nodes for end, nodes in ends if end > time) >= head.nodes:
            return time
    raise AssertionError("the head does not fit on the machine")


def delays(workload, job, head, running, now):
    without = reserved(workload, head, running, now)
    trial = [*running, (job, None, now + job.walltime)]
    return reserved(workload, head, trial, now) > without


pools = workloads(st.integers(1, 8).map(Machine.pool), max_jobs=14, max_time=15)


def one_slot_cores(workload):
    """Return the workload with one slot of one core per requested core."""
    jobs = [replace(job, nodes=job.nodes * job.per_node["core"], per_node={"core": 1}) for job in workload.jobs]
    return workload.with_jobs(jobs)


def of_cores(machine, *given):
    jobs = [Job(f"{number}", 0, runtime, walltime, nodes) for number, (runtime, walltime, nodes) in enumerate(given)]
    return Workload(tuple(jobs), machine)


#: Nothing happens when the first job overruns its walltime. No job starts before the second.
OUTRUN = of_cores(Machine.pool(6), (2, 1, 1), (2, 2, 3), (0, 1, 3), (0, 2, 1))


@given(pools, st.booleans())
@example(OUTRUN, False)
@settings(max_examples=number_of_inputs(120))
def test_easy_is_textbook(workload, shortest_first):
    workload = one_slot_cores(workload)
    jobs = simulate(workload, "easy-sjbf" if shortest_first else "easy").jobs
    assert dict(zip(jobs["id"], jobs["start"], strict=True)) == brute_force(workload, shortest_first)


@given(pools, st.sampled_from(["walltime", "oracle", "last2"]))
@settings(max_examples=number_of_inputs(25))
def test_one_core_nodes_are_a_pool(workload, predictor):
    # Not under conservative: a reservation takes nodes that are free for all of its time.
    workload = one_slot_cores(workload)
    nodes = replace(workload, machine=Machine.homogeneous(int(workload.machine.capacity[0, 0]), core=1))
    for dispatcher in ("fcfs", "lxf", "easy", "easy-sjbf"):
        starts = [simulate(each, dispatcher, predictor).jobs["start"].tolist() for each in (workload, nodes)]
        assert starts[0] == starts[1], dispatcher


def test_one_core_nodes_are_a_pool_on_a_longer_workload():
    workload = one_slot_cores(pool(300, cores=16))
    nodes = replace(workload, machine=Machine.homogeneous(16, core=1))
    for dispatcher in ("easy", "easy-sjbf"):
        starts = [simulate(each, dispatcher, "last2").jobs["start"].tolist() for each in (workload, nodes)]
        assert starts[0] == starts[1], dispatcher
