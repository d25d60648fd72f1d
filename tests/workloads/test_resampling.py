"""Resamples of a trace: users in whole weeks, or days where a trace is short."""

from dataclasses import replace

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import Job, Machine, Workload, resample, write
from hpcdispatch.workloads.resampling import DAY, WEEK, way_of


def trace(weeks=8, users=12, per_day=6, machine=64, seed=1):
    """Return a trace of regular users: jobs in working hours from Monday to Friday, more of some users."""
    rng = np.random.default_rng(seed)
    jobs = []
    for user in range(users):
        for day in range(7 * weeks):
            if day % 7 < 5:
                for _ in range(rng.poisson(per_day / (1 + user))):
                    submit = day * DAY + int(rng.integers(9 * 3600, 17 * 3600))
                    nodes, runtime = 1 + user, int(rng.integers(60, 7200))
                    jobs.append(Job("x", submit, runtime, 7200, nodes, user=f"u{user}"))
    jobs.append(Job("x", 0, 60, 60, 1, user="u0"))
    jobs.append(Job("x", weeks * WEEK - 60, 60, 60, 1, user="u0"))
    ordered = sorted(jobs, key=lambda job: job.submit)
    numbered = tuple(replace(job, id=str(number)) for number, job in enumerate(ordered))
    return Workload(numbered, Machine.pool(machine))


def work(workload):
    jobs = workload.columns
    return float((jobs.amounts("core") * jobs.runtime).sum())


def test_a_seed_is_one_sample():
    workload = trace()
    assert resample(workload, 3).digest() == resample(workload, 3).digest()
    assert resample(workload, 3).digest() != resample(workload, 4).digest()
    assert len(workload) == len(trace())


def test_cycles_of_day_and_week_stay():
    submit = resample(trace(), 5).columns.submit
    weekend = (submit // DAY) % 7 >= 5
    hours = submit % DAY / 3600
    assert weekend.mean() < 0.02
    assert ((hours >= 9) & (hours <= 17)).mean() > 0.98


def test_the_load_is_kept_or_set():
    workload = trace()
    for seed in range(5):
        assert work(resample(workload, seed)) == pytest.approx(work(workload), rel=0.01)
    lighter = resample(workload, 1, load=0.1)
    assert work(lighter) / (64 * 8 * WEEK) == pytest.approx(0.1, rel=0.02)


def test_a_user_keeps_its_jobs_in_order():
    workload = trace()
    drawn = resample(workload, 2).columns
    names = np.array(list(drawn.user.each()))
    assert any("~" in name for name in names)
    # A user whose weeks are all there has its original sequence of run times, rotated by whole weeks.
    own = {}
    for name, runtime in zip(workload.columns.user.each(), workload.columns.runtime.tolist(), strict=True):
        own.setdefault(name, []).append(runtime)
    whole = 0
    for name in set(names):
        mine = drawn.runtime[names == name].tolist()
        first = own[name.partition("~")[0]]
        if len(mine) == len(first):
            whole += 1
            assert any(first[place:] + first[:place] == mine for place in range(len(first)))
    assert whole > 3


def test_sizes_keep_their_shares():
    workload = trace(weeks=20, users=30)
    sizes = np.bincount(workload.columns.nodes, minlength=31) / len(workload)
    drawn = np.mean([np.bincount(resample(workload, seed).columns.nodes, minlength=31) for seed in range(40)], axis=0)
    assert np.abs(drawn / drawn.sum() - sizes).max() < 0.06


@pytest.mark.parametrize(
    ("workload", "unit", "reason"),
    [
        (trace(weeks=2), DAY, "shorter than three weeks"),
        (trace(users=1), DAY, "of 1 known user"),
        (Workload(tuple(replace(job, user="") for job in trace().jobs), Machine.pool(64)), DAY, "without known users"),
        (Workload((Job("1", 5, 60, 60),), Machine.pool(4)), 0, "shorter than two days"),
        (Workload(tuple(Job(str(n), 0, 60, 60) for n in range(9)), Machine.pool(4)), 0, "shorter than two days"),
        (Workload((), Machine.pool(4)), 0, "shorter than two days"),
    ],
)
def test_what_users_cannot_tell_is_said(workload, unit, reason):
    assert (way_of(workload).unit, way_of(workload).reason) == (unit, reason)
    drawn = resample(workload, 1)
    assert reason in drawn.provenance.notes[-1]
    if unit:
        assert np.isin(drawn.columns.submit % DAY, workload.columns.submit % DAY).all()
    else:
        assert drawn.digest() == workload.digest()
    with pytest.raises(InputError, match="load: it can be set only where users are drawn"):
        resample(workload, 1, load=0.5)


def test_dependencies_stay_within_a_copy():
    jobs = []
    for number, job in enumerate(trace().jobs):
        depends = ((str(number - 1), "afterok", 30),) if number and jobs[-1].user == job.user else ()
        jobs.append(replace(job, depends=depends, array=f"a{number // 10}%2", begin=job.submit + 5))
    drawn = resample(Workload(tuple(jobs), Machine.pool(64)), 1)
    assert drawn.links
    listed = list(drawn.jobs)
    assert all(listed[link.parent].user == listed[child].user for child, links in drawn.links.items() for link in links)
    assert all(job.begin in (job.submit + 5, 0) for job in listed)
    assert {job.array.partition("%")[2] for job in listed} == {"2"}


def test_it_can_be_written(tmp_path):
    drawn = resample(trace(), 1)
    write(drawn, tmp_path / "drawn.swf")
    assert (tmp_path / "drawn.swf").stat().st_size > 1000


@pytest.mark.parametrize(
    ("seed", "load", "message"),
    [(-1, None, "seed must be a whole number >= 0"), (0, 0, "load must be a number > 0"), (0, 11, "<= 10, got 11")],
)
def test_bad_numbers(seed, load, message):
    with pytest.raises(InputError, match=message):
        resample(trace(), seed, load=load)


def renamed(workload, name):
    """Return a trace with other users."""
    return Workload(tuple(replace(job, user=name(job.user)) for job in workload.jobs), workload.machine)


@pytest.mark.parametrize("name", [lambda user: "-1", lambda user: user if user in ("u0", "u1") else ""])
def test_unknown_users_stay_one_user(name):
    made = resample(renamed(trace(weeks=8), name), 4)
    users = made.columns.user
    assert len(set(users.values)) == len(users.values)
    assert len(made.frame_columns()["user"].categories) == len(set(users.values))


def test_a_copy_has_a_name_that_the_trace_does_not_have():
    twins = {"u1": "u0~2", "u2": "u0~3"}
    workload = renamed(trace(weeks=4, per_day=2), lambda user: twins.get(user, user))
    for seed in range(8):
        users = resample(workload, seed).columns.user.values
        assert len(set(users)) == len(users)
