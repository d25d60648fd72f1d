"""Orders of the queue and of the backfill candidates. The number of reservations. By definition."""

import math
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from drawn import number_of_inputs
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_workloads import workloads

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import EASY, SJF, create_dispatcher, orders
from hpcdispatch.dispatchers.backfilling.orders import F1
from hpcdispatch.simulation import check, simulate
from hpcdispatch.testing import assert_same_records
from hpcdispatch.workloads import Job, Machine, Workload


def log_submit(job):
    return math.log10(max(job.submit, 1))


#: The key of each order, least first, from a job and the time. From the papers.
KEYS = {
    "submission": lambda job, now: 0,
    "priority": lambda job, now: -job.priority,
    "sjf": lambda job, now: job.walltime,
    "ljf": lambda job, now: -job.walltime,
    "lxf": lambda job, now: -(now - job.submit) / job.walltime,
    "f1": lambda job, now: math.log10(job.walltime) * job.nodes + 8.70e2 * log_submit(job),
    "f2": lambda job, now: math.sqrt(job.walltime) * job.nodes + 2.56e4 * log_submit(job),
    "f3": lambda job, now: job.walltime * job.nodes + 6.86e6 * log_submit(job),
    "f4": lambda job, now: job.walltime * math.sqrt(job.nodes) + 5.30e5 * log_submit(job),
    "wfp3": lambda job, now: -(((now - job.submit) / job.walltime) ** 3) * job.nodes,
    "unicep": lambda job, now: -(now - job.submit) / (math.log2(max(job.nodes, 2)) * job.walltime),
}


def by_the_book(workload, order, backfill, depth, strict=True):
    """Return the starts on a pool of jobs with one core per slot. Free cores are counted in each second."""
    capacity = int(workload.machine.capacity[0, 0])
    horizon = 1 + sum(job.walltime for job in workload.jobs)
    jobs = list(workload.jobs)
    waiting = []
    running = []
    starts = {}
    now = 0
    while jobs or waiting or running:
        gone = [entry for entry in running if entry[1] <= now]
        running = [entry for entry in running if entry[1] > now]
        come = [job for job in jobs if job.submit == now]
        waiting = waiting + come
        jobs = jobs[len(come) :]
        if come or gone:
            waiting.sort(key=lambda job: (job.submit, -job.priority))
            used = np.zeros(2 * horizon, dtype=int)
            for job, _, predicted in running:
                used[: max(predicted - now, 1)] += job.nodes
            tried = sorted(waiting, key=lambda job: KEYS[order](job, now))
            reserved = 0
            while tried:
                job = tried.pop(0)
                wide = (used + job.nodes > capacity).astype(int)
                fitting = (t for t in range(horizon) if not wide[t : t + job.walltime].any())
                at = wide[0] if depth == 0 else next(fitting)
                if at and depth == 0 and strict:
                    break
                if at and reserved == depth:
                    continue
                used[at : at + job.walltime] += job.nodes
                if at == 0:
                    waiting.remove(job)
                    running.append((job, now + job.runtime, now + job.walltime))
                    starts[job.id] = now
                    continue
                reserved += 1
                if reserved == depth and backfill != "order":
                    tried.sort(key=lambda job: (KEYS[backfill](job, now), waiting.index(job)))
        if not any(end == now for _, end, _ in running):
            now += 1
    return starts


@st.composite
def crowds(draw):
    cores = draw(st.integers(1, 8))
    jobs = draw(workloads(st.just(Machine.pool(cores)), max_jobs=14, max_time=15)).jobs
    jobs = [replace(job, nodes=job.nodes * job.per_node["core"], per_node={"core": 1}) for job in jobs]
    jobs = [replace(job, priority=draw(st.sampled_from([0, 0, 2, -1]))) for job in jobs]
    return Workload(jobs, Machine.pool(cores))


#: The head overruns its walltime, and three more jobs wait.
LATE = Workload(
    [
        Job(str(place), submit, runtime, walltime, nodes)
        for place, (submit, runtime, walltime, nodes) in enumerate(
            [(0, 9, 3, 2), (0, 5, 5, 3), (1, 2, 2, 2), (1, 4, 4, 1), (2, 8, 8, 1)]
        )
    ],
    Machine.pool(3),
)


@given(crowds(), st.sampled_from(sorted(KEYS)), st.sampled_from(["order", "sjf", "ljf", "f1"]), st.integers(0, 4))
@example(LATE, "submission", "order", 2)
@example(LATE, "sjf", "ljf", 3)
@settings(max_examples=number_of_inputs(120))
def test_easy_is_by_the_book(workload, order, backfill, depth):
    spec = f"easy:order={order},backfill={backfill},depth={depth}"
    expected = by_the_book(workload, order, backfill, depth)
    for machine in (workload.machine, Machine.homogeneous(int(workload.machine.capacity[0, 0]), core=1)):
        # A reservation takes nodes that are free all the time. Deep ones therefore differ on nodes.
        if machine.nodes > 1 and depth > 1:
            continue
        here = replace(workload, machine=machine)
        result = simulate(here, spec)
        check(here, result)
        assert dict(zip(result.jobs["id"], result.jobs["start"], strict=True)) == expected


def dense(seed):
    """Draw jobs that arrive faster than a pool of 8 cores can run them."""
    random = Random(seed)
    jobs, submit = [], 1
    for place in range(30):
        submit += random.choice([0, 0, 1, 3])
        walltime = random.randint(1, 40)
        runtime = random.choice([walltime, walltime // 2, walltime + 3])
        nodes = random.choice([1, 1, 2, 3, 5, 8])
        jobs.append(Job(str(place), submit, runtime, walltime, nodes, priority=random.randint(0, 3)))
    return Workload(jobs, Machine.pool(8))


#: Beside the orders alone: those of candidates, and depths.
COMBINED = [("submission", backfill, depth) for backfill in ("ljf", "shortest", "wfp3") for depth in (1, 2, 3)]
COMBINED += [("sjf", "ljf", 2), ("lxf", "f2", 3), ("priority", "order", 4), ("submission", "order", 2)]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("order", "backfill", "depth"), [*((order, "order", 1) for order in KEYS if order != "submission"), *COMBINED]
)
def test_orders_tell_in_long_queues(order, backfill, depth):
    differ = 0
    for seed in range(3):
        workload = dense(seed)
        jobs = simulate(workload, f"easy:order={order},backfill={backfill},depth={depth}").jobs
        starts = dict(zip(jobs["id"], jobs["start"], strict=True))
        assert starts == by_the_book(workload, order, "sjf" if backfill == "shortest" else backfill, depth)
        differ += (simulate(workload, "easy").jobs["start"] != jobs["start"]).any()
    assert differ > 0


@given(crowds(), st.sampled_from(sorted(KEYS)))
@settings(max_examples=number_of_inputs(100))
def test_lists_are_easy_without_reservations(workload, order):
    for strict, blocked in ((True, "wait"), (False, "skip")):
        expected = by_the_book(workload, order, "order", 0, strict=strict)
        plain = simulate(workload, f"fcfs:order={order},blocked={blocked}")
        assert dict(zip(plain.jobs["id"], plain.jobs["start"], strict=True)) == expected
        same = simulate(workload, "easy:depth=0,order=" + order if strict else f"easy:strict=no,order={order}")
        assert_same_records(plain, same)


@given(crowds())
@settings(max_examples=number_of_inputs(50))
def test_all_is_as_deep_as_the_queue(workload):
    assert_same_records(simulate(workload, "easy:depth=all"), simulate(workload, "easy:depth=14"))


@given(workloads(), st.sampled_from(["run", "kill", "resubmit"]), st.sampled_from(["walltimes", "predictions"]))
@settings(max_examples=number_of_inputs(60))
def test_one_reservation_in_the_profile_is_easys(workload, overrun, reserve_by):
    class InProfile(EASY):
        """EASY with its one reservation made like several."""

        def backfill_on(self, room, state, queue):
            started = room.start_now(queue, skip=False)
            if room.behind:
                head, *others = room.behind
                found = room.earliest(head)
                if found is not None:
                    room.take(head, *found)
                started += room.start_now(others)
            return started

    if workload.machine.nodes == 1:  # On nodes a reservation names its nodes, and EASY's does not.
        given = {"predictor": "last2", "overrun": overrun}
        profile = simulate(workload, InProfile(reserve_by=reserve_by), **given)
        assert_same_records(profile, simulate(workload, EASY(reserve_by=reserve_by), **given))


def test_every_built_in_order_is_in_the_table():
    assert set(orders.names()) == {*KEYS, "fairshare"}


def test_users_who_have_used_little_go_first():
    def job(id_, submit, runtime, user):
        return Job(id_, submit, runtime, runtime, 2, user=user)

    # ann has used 100 s, ben 60 s, cat nothing. Each start changes the shares.
    jobs = [
        job("a1", 0, 100, "ann"),
        job("b1", 1, 60, "ben"),
        job("a2", 2, 10, "ann"),
        job("b2", 3, 10, "ben"),
        job("c1", 161, 10, "cat"),
    ]
    workload = Workload([replace(each, submit=each.submit) for each in jobs], Machine.pool(2))
    starts = simulate(workload, "easy:order=fairshare").jobs.set_index("id")["start"]
    assert starts.to_dict() == {"a1": 0, "b1": 100, "b2": 160, "a2": 180, "c1": 170}
    # Old usage decays. Then ben's 60 s count more than ann's earlier 100 s.
    starts = simulate(workload, "easy:order=fairshare:half_life=20").jobs.set_index("id")["start"]
    assert starts.to_dict() == {"a1": 0, "b1": 100, "a2": 160, "c1": 170, "b2": 180}


def test_an_order_forgets_the_last_simulation():
    dispatcher = create_dispatcher("easy:order=fairshare")
    jobs = [Job(str(place), 0, 50, 50, 2, user="ab"[place % 2]) for place in range(6)]
    workload = Workload(jobs, Machine.pool(2))
    assert_same_records(simulate(workload, dispatcher), simulate(workload, dispatcher))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("easy:order=nothing", "unknown order 'nothing'; known: f1, f2"),
        ("easy:order=f1:weight=3", "order f1: unknown option 'weight'"),
        ("easy:order=fairshare:half_life=0", "order fairshare: half_life must be"),
        ("fcfs:order=sfj", r"unknown order 'sfj' \(did you mean sjf\?\)"),
        ("easy:backfill=longest-job", "unknown order 'longest-job'"),
        ("easy:depth=-1", r"depth \(or 'all'\) must be a whole number >= 0, got -1"),
        ("easy:depth=some", "'depth': expected a whole number or one of all, got 'some'"),
        ("pbs:queues=a;b;a", "queues must name each queue once, got 'a' 2 times"),
        ("sjf:order=ljf", "unknown option 'order'"),
        ("easy-sjbf:backfill=order", "unknown option 'backfill'"),
    ],
)
def test_what_is_no_order_is_refused(spec, message):
    with pytest.raises(InputError, match=message):
        create_dispatcher(spec)


@pytest.mark.parametrize("ranks", [[1.0], [math.nan] * 2, ["a", "b"], None])
def test_a_plug_in_of_wrong_ranks_is_named(monkeypatch, ranks):
    monkeypatch.setattr(F1, "ranks", lambda self, state: ranks)
    workload = Workload([Job(str(place), 0, 10, 10, 1) for place in range(2)], Machine.pool(1))
    with pytest.raises(InputError, match=r"order 'f1': ranks\(state\): expected 2 numbers, one per waiting job"):
        simulate(workload, "easy:order=f1")


def test_presets_are_their_classes():
    assert type(SJF()) is type(create_dispatcher("fcfs"))
    assert create_dispatcher("easy-sjbf") == EASY(backfill="shortest")
    assert create_dispatcher("pbs:queues=a;b") == EASY(queues="a;b")
    assert create_dispatcher("pbs") is not create_dispatcher("pbs")


class TestCommitted:
    JOBS = (
        Job("a", 0, 100, 100, 3, {"core": 1}),
        Job("long", 1, 50, 50, 3, {"core": 1}),
        Job("short", 2, 10, 10, 2, {"core": 1}),
    )

    @pytest.mark.parametrize(("commit", "starts"), [("true", [0, 100, 150]), ("false", [0, 110, 100])])
    def test_a_chosen_job_is_kept_until_it_starts(self, commit, starts):
        workload = Workload(self.JOBS, Machine.pool(4))
        result = simulate(workload, f"fcfs:order=sjf,commit={commit}")
        check(workload, result)
        assert result.jobs["start"].tolist() == starts

    def test_a_simulation_begins_without_one(self):
        kept = create_dispatcher("fcfs:order=sjf,commit=true")
        jobs = [replace(job, id=str(place)) for place, job in enumerate(self.JOBS)]
        first = [simulate(Workload(each, Machine.pool(4)), kept).jobs["start"].tolist() for each in (jobs, jobs)]
        assert first[0] == first[1]

    def test_nothing_is_kept_where_others_are_tried(self):
        with pytest.raises(InputError, match="commit must be false with blocked=skip"):
            create_dispatcher("lxf:commit=true")
