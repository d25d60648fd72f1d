"""The time of checkpoints and the losses without them. Writes one after another and side by side."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from hpcdispatch.models.eviction import (
    Storage,
    Write,
    WritingJob,
    checkpoint_time,
    daly_interval,
    finish,
    node_hours,
    plan_sharing,
    running_job,
    since_last,
    until_next,
    writing_job,
)
from hpcdispatch.workloads import Checkpoint

THETA = Storage()


def test_equation_1_is_bounded_by_the_file_system_or_by_the_slowest_node():
    assert checkpoint_time([100.0] * 1000, THETA) == 400
    assert checkpoint_time([70.0, 7.0], THETA) == pytest.approx(100)


@pytest.mark.parametrize("sizes", [[], [-1.0], [np.nan], [[1.0]]])
def test_bad_sizes_are_refused(sizes):
    with pytest.raises(ValueError, match="checkpoint: sizes must be finite numbers >= 0, one for each node"):
        checkpoint_time(sizes, THETA)


@pytest.mark.parametrize("fields", [{"aggregate": 0}, {"node": -1}, {"node": float("nan")}])
def test_storage_without_bandwidth_is_refused(fields):
    with pytest.raises(ValueError, match=f"storage: {next(iter(fields))} must be a finite number > 0"):
        Storage(**fields)


def test_a_kill_loses_the_work_since_the_last_checkpoint():
    assert since_last(5000, 3600) == 1400
    assert since_last(5000, None) == 5000
    assert since_last(100, 3600, kept=3550) == 50
    assert since_last(100, 3600, kept=3450) == 100
    assert [until_next(elapsed, 3600) for elapsed in (0, 1, 3599, 3600)] == [3600, 3599, 1, 3600]
    assert until_next(100, 3600, kept=3400) == 100
    assert node_hours(128, 100) == Fraction(128 * 100, 3600)


def test_a_running_job_has_its_times_and_its_loss():
    job = running_job("a", 512, 5000, Checkpoint(100, 35, 3600), THETA)
    assert job.loss == Fraction(512 * 1400, 3600)
    assert job.system_checkpoint == 512 * 100 / 250
    assert job.application_checkpoint == 2200 + 512 * 35 / 250
    bare = running_job("b", 2, 7200, None, THETA)
    assert (bare.loss, bare.system_checkpoint, bare.application_checkpoint) == (4, None, None)
    assert running_job("c", 2, 10, Checkpoint(), THETA).system_checkpoint is None


@pytest.mark.parametrize(("hours", "minutes"), [(24, 117), (6, 57), (0.25, 9.1)])
def test_daly_s_interval_is_what_his_figures_3_to_5_say(hours, minutes):
    assert daly_interval(300, hours * 3600) / 60 == pytest.approx(minutes, rel=0.006)


def test_where_failures_come_faster_than_checkpoints_daly_s_interval_is_that_of_the_failures():
    assert daly_interval(300, 100) == 100
    with pytest.raises(ValueError, match="checkpoint: mtbf must be a finite number > 0, got 0"):
        daly_interval(300, 0)


# Side by side.


def program(writes, aggregate):
    """Return the end of all writes, by a linear program of the data between two releases."""
    moments = sorted({0.0, *(write.delay for write in writes)})
    spans, jobs = len(moments), len(writes)
    count = jobs * spans + 1  # the last is the length of the last span
    below = []
    limit = []
    equal = np.zeros((jobs, count))
    for span, begin in enumerate(moments):
        last = span == spans - 1
        length = 0 if last else moments[span + 1] - begin
        total = np.zeros(count)
        total[span : jobs * spans : spans] = 1
        total[-1] = -aggregate * last
        below.append(total)
        limit.append(aggregate * length)
        for place, write in enumerate(writes):
            row = np.zeros(count)
            row[place * spans + span] = 1
            rate = write.volume / write.least if begin >= write.delay else 0
            row[-1] = -rate * last
            below.append(row)
            limit.append(rate * length)
            equal[place, place * spans + span] = 1
    cost = np.zeros(count)
    cost[-1] = 1
    found = linprog(cost, below, limit, equal, [write.volume for write in writes])
    return moments[-1] + found.fun


def test_the_end_of_shared_writes_is_that_of_a_linear_program():
    rng = np.random.default_rng(2)
    for _ in range(150):
        writes = [
            Write(float(rng.integers(1, 40)), float(rng.uniform(0.5, 8)), float(rng.choice([0, rng.uniform(0, 10)])))
            for _ in range(rng.integers(1, 6))
        ]
        storage = Storage(float(rng.uniform(2, 12)), 1)
        assert finish(writes, storage) == pytest.approx(program(writes, storage.aggregate))


def test_shared_writes_are_the_larger_of_the_two_limits():
    assert finish([], THETA) == 0
    assert finish([Write(2500, 3), Write(2500, 4)], THETA) == 20
    assert finish([Write(250, 30), Write(2500, 4)], THETA) == 30
    assert finish([Write(250, 30, 100), Write(0, 0, 200)], THETA) == 200


def enumerated(jobs, needed, deadline, storage):
    best = None
    kinds = ("system", "application")
    for chosen in itertools.product((None, "kill", *kinds), repeat=len(jobs)):
        pairs = list(zip(jobs, chosen, strict=True))
        writes = [getattr(job, action) for job, action in pairs if action in kinds]
        if None in writes or sum(job.nodes for job, action in pairs if action) < needed:
            continue
        cost = (sum(job.loss for job, action in pairs if action == "kill"), finish(writes, storage))
        if cost[1] <= deadline:
            best = min(best or cost, cost)
    return best


def test_shared_plans_are_the_best_of_all_combinations():
    rng = np.random.default_rng(4)
    storage = Storage(8, 1)

    def write(delay):
        return (
            Write(float(rng.integers(1, 40)), float(rng.integers(1, 8)), float(delay)) if rng.random() < 0.8 else None
        )

    for _ in range(25):
        jobs = [
            WritingJob(
                str(place), int(rng.integers(1, 6)), int(rng.integers(0, 9)), write(0), write(rng.integers(0, 9))
            )
            for place in range(4)
        ]
        needed = int(rng.integers(1, sum(job.nodes for job in jobs) + 1))
        deadlines = [12, 3, 7]
        for deadline, found in zip(deadlines, plan_sharing(jobs, needed, deadlines, storage), strict=True):
            loss, end = enumerated(jobs, needed, deadline, storage)
            assert found.deadline == deadline
            assert found.loss == loss
            assert found.checkpoint_time == pytest.approx(end, abs=0.01)
            assert found.checkpoint_time <= deadline
            assert found.freed >= needed


def test_small_jobs_are_saved_side_by_side():
    checkpoint = Checkpoint(system_size=70, application_size=7, interval=3600)
    jobs = [writing_job(str(place), 128, 1800, checkpoint, THETA) for place in range(4)]
    alone = running_job("0", 128, 1800, checkpoint, THETA)
    assert alone.system_checkpoint == pytest.approx(100)
    assert (jobs[0].loss, jobs[0].application.delay) == (alone.loss, 1800)
    found = plan_sharing(jobs, 512, [144], THETA)[0]
    assert found.loss == 0
    assert found.checkpoint_time == pytest.approx(4 * 128 * 70 / 250)  # and not 400 s


def test_shared_plans_say_what_cannot_be():
    job = WritingJob("a", 3, 5)
    assert plan_sharing([job], 4, [9], THETA)[0].reason == "4 nodes are needed, and the running jobs have 3"
    assert plan_sharing([job], 3, [9], THETA)[0].actions == {"a": "kill"}
    with pytest.raises(ValueError, match="write: least must be a finite number >= 0, got -1"):
        Write(1, -1)
    with pytest.raises(ValueError, match="running job a: id must be unique"):
        plan_sharing([job, job], 1, [9], THETA)
