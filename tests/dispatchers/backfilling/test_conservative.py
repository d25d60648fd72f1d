"""Conservative backfilling: a job keeps its place in the queue. Earlier jobs do not change it."""

import copy
from dataclasses import replace

import pytest
from recorded.cases import burst

from hpcdispatch.dispatchers.backfilling.reservations import Reservations
from hpcdispatch.simulation import check, simulate
from hpcdispatch.testing import assert_same_records
from hpcdispatch.workloads import Job, Machine, Workload, generate

TWO = [Machine.pool(2), Machine.homogeneous(2, core=1)]


def starts(jobs, machine, dispatcher="conservative"):
    workload = Workload(jobs, machine)
    result = simulate(workload, dispatcher, overrun="run")
    check(workload, result)
    return dict(zip(result.jobs["id"], result.jobs["start"], strict=True))


@pytest.mark.parametrize("machine", TWO, ids=["pool", "nodes"])
@pytest.mark.parametrize("compress", ["until-stable", "once", "never"])
def test_a_job_whose_reservation_passed_starts_before_those_behind_it(machine, compress):
    # 'late' runs past the end of the reservation of 'wide'.
    jobs = [Job("late", 0, 20, 6), Job("wide", 1, 10, 10, nodes=2), Job("thin", 2, 5, 5)]
    assert starts(jobs, machine, f"conservative:compress={compress}") == {"late": 0, "wide": 20, "thin": 30}


@pytest.mark.parametrize("machine", TWO, ids=["pool", "nodes"])
def test_a_stream_of_jobs_that_overrun_does_not_pass_a_wide_one(machine):
    stream = [Job(f"t{index}", 10 * index, 40, 20) for index in range(40)]
    jobs = sorted([*stream, Job("wide", 35, 10, 10, nodes=2)], key=lambda job: job.submit)
    found = starts(jobs, machine)
    assert found["wide"] <= starts(jobs, machine, "easy")["wide"]
    behind = [job.id for job in jobs if job.submit > 35]
    assert all(found[id_] >= found["wide"] for id_ in behind)


@pytest.mark.parametrize("compress", ["until-stable", "once", "never"])
@pytest.mark.parametrize("seed", [2, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(2))])
def test_a_pool_decides_as_nodes_of_one_core_when_jobs_overrun(compress, seed):
    drawn = generate("lublin", jobs=80, processors=8, load=1.0, seed=seed)
    jobs = [replace(job, walltime=max(1, job.runtime // (1 + place % 3))) for place, job in enumerate(drawn.jobs)]
    found = [
        simulate(Workload(jobs, machine), f"conservative:compress={compress}").jobs["start"].tolist()
        for machine in (Machine.pool(8), Machine(("core", "disk"), [[8, 1]]))
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("overrun", ["run", "kill", "resubmit"])
@pytest.mark.parametrize("seed", range(4))
def test_no_job_starts_after_one_that_cannot_have_been_backfilled_before_it(overrun, seed):
    """Of jobs that each take the whole machine, none passes another."""
    drawn = generate("lublin", jobs=40, processors=4, load=1.2, seed=seed)
    jobs = [
        replace(job, nodes=1, per_node={"core": 4}, walltime=max(1, job.runtime // (1 + place % 2)))
        for place, job in enumerate(drawn.jobs)
    ]
    result = simulate(Workload(jobs, Machine.pool(4)), "conservative", overrun=overrun)
    check(Workload(jobs, Machine.pool(4)), result)
    first = result.jobs["start"].tolist()
    assert first == sorted(first)
    assert_same_records(result, simulate(Workload(jobs, Machine.pool(4)), "conservative", overrun=overrun))


def moved_from_the_head(book, now):
    """Return a copy of reservations on nodes. The first that fits earlier has moved, until none did."""
    moved = copy.copy(book)
    moved.profile, moved.reserved = copy.deepcopy((book.profile, book.reserved))
    moved.freed = []
    while any(
        booking.start > now and not booking.away and moved._move(booking, now, booking.start)
        for booking in moved.reserved.values()
    ):
        pass
    return moved


@pytest.mark.parametrize(("nodes", "jobs", "seed"), [(12, 60, 11), (24, 80, 2), (48, 100, 7)])
def test_reservations_on_nodes_move_as_from_the_head_again_and_again(nodes, jobs, seed, monkeypatch):
    """Half of a job may fit into freed nodes, and the other half onto its own ones."""
    compress, compared = Reservations.compress, []

    def compare(book, how, now):
        expected = moved_from_the_head(book, now) if book.freed else None
        compress(book, how, now)
        if expected is not None:
            pair = (
                {id_: (each.start, each.placement.tolist()) for id_, each in one.reserved.items()}
                for one in (book, expected)
            )
            compared.append(next(pair) == next(pair))

    monkeypatch.setattr(Reservations, "compress", compare)
    simulate(burst(nodes, 1, jobs, seed), "conservative", overrun="run")
    assert compared
    assert all(compared)
