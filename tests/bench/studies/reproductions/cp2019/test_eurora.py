from __future__ import annotations

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.bench.studies.reproductions.cp2019.eurora import eurora
from hpcdispatch.bench.studies.reproductions.cp2019.eurora_habits import stratified
from hpcdispatch.dispatchers import HCP1
from hpcdispatch.predictors import Heuristic
from hpcdispatch.workloads import Workload

DAY = 86400


@pytest.fixture(scope="module")
def workloads():
    return [eurora(jobs=20_000, seed=seed) for seed in range(4)]


def mean(workloads, figure):
    return np.mean([figure(workload.columns.runtime, workload.columns.walltime) for workload in workloads])


def test_the_machine_has_two_types_of_nodes():
    machine = eurora(jobs=1000).machine
    assert machine.resources == ("core", "mem", "gpu", "mic")
    assert machine.nodes == 64
    assert machine.capacity.sum(axis=0).tolist() == [1024, 1024, 64, 64]
    assert machine.capacity.sum() == 2176


def test_every_job_finds_room_on_the_empty_machine(workloads):
    for workload in workloads:
        columns = workload.columns
        slots = columns.per_node.numbers(workload.machine.slots)
        assert (columns.nodes <= slots).all()
        assert len(workload) == 20_000
        assert (np.diff(columns.submit) >= 0).all()
        assert columns.runtime.min() >= 1


def test_classes_of_duration(workloads):
    assert mean(workloads, lambda run, _: (run < 3600).mean()) == pytest.approx(0.9314, abs=0.02)
    assert mean(workloads, lambda run, _: ((run >= 3600) & (run < 18000)).mean()) == pytest.approx(0.061, abs=0.02)
    assert mean(workloads, lambda run, _: (run >= 18000).mean()) == pytest.approx(0.0075, abs=0.005)


def test_requests_are_bad_estimates(workloads):
    assert mean(workloads, lambda run, asked: np.abs(asked - run).mean()) / 60 == pytest.approx(225, rel=0.2)
    assert mean(workloads, lambda run, asked: (run > asked).mean()) == pytest.approx(0.036, abs=0.02)
    assert mean(workloads, lambda run, asked: (np.abs(run / asked - 1) <= 0.25).mean()) < 0.1


def test_requests_are_those_of_four_queues():
    workload = eurora(jobs=100_000)
    longest = {}
    for job in workload.jobs:
        longest[job.queue] = max(longest.get(job.queue, 0), job.walltime)
    assert longest == {"debug": 1800, "parallel": 21600, "longpar": 86400, "reservation": 43200}
    waits = HCP1(ewt=workload.provenance.options["ewt"]).waits
    expected = {"debug": 1800, "parallel": 21600, "longpar": 86400, "reservation": 1800}
    assert {queue: waits.of(queue) for queue in longest} == expected


def predicted(workload):
    """Predict each job from those that would have ended by its submission if no job waited."""
    heuristic = Heuristic()
    jobs = list(workload.jobs)
    ends = sorted(jobs, key=lambda job: job.submit + job.runtime)
    ended, found = 0, []
    for job in jobs:
        while ends[ended].submit + ends[ended].runtime <= job.submit:
            heuristic.observe(ends[ended])
            ended += 1
        found.append(heuristic.predict(job, job.submit))
    return np.array(found)


@pytest.mark.nightly
def test_the_heuristic_learns_from_the_habits(workloads):
    found = [predicted(workload) for workload in workloads[:2]]
    ratio = np.concatenate([w.columns.runtime / p for w, p in zip(workloads, found, strict=False)])
    error = np.mean([np.abs(w.columns.runtime - p).mean() for w, p in zip(workloads, found, strict=False)])
    requests = mean(workloads[:2], lambda run, asked: np.abs(asked - run).mean())
    assert error < 0.35 * requests
    assert 0.4 < (np.abs(ratio - 1) <= 0.25).mean() < 0.8  # nobody waits, so that more is known than in a simulation
    assert (ratio > 1).mean() < (ratio < 1).mean()


@pytest.mark.nightly
def test_without_its_users_nothing_can_be_learned(workloads):
    """The accuracy is in the order and the names of the jobs: shuffled run times are predicted badly."""
    columns = workloads[0].columns
    shuffled = np.random.default_rng(0).permutation(columns.runtime)
    near = []
    for runtime in (columns.runtime, shuffled):
        workload = Workload(columns.take(slice(None), runtime=runtime), workloads[0].machine)
        near.append((np.abs(runtime / predicted(workload) - 1) <= 0.25).mean())
    assert near[1] < 0.5 * near[0]


def test_few_users_are_heavy_and_many_light():
    users = np.sort(np.bincount(eurora(jobs=400_000).columns.user.codes))[::-1]
    assert len(users) > 100
    assert users[:10].sum() > 0.35 * users.sum()
    assert (users < users.mean()).mean() > 0.6


def test_names_carry_numbers():
    names = {job.name for job in eurora(jobs=5000).jobs}
    assert any(name.isalpha() for name in names)
    assert any("_" in name and name.rpartition("_")[2].isdecimal() for name in names)


def test_days_and_weeks_have_their_cycles():
    submit = eurora(jobs=100_000).columns.submit
    hours = np.bincount(submit // 3600 % 24, minlength=24)
    days = np.bincount(submit // DAY % 7, minlength=7)
    assert hours[9:19].sum() > 2 * hours[[*range(8), 22, 23]].sum()
    assert days[2:].mean() > 1.5 * days[:2].mean()


def test_fewer_jobs_take_fewer_days():
    for jobs in (20_000, 100_000):
        submit = eurora(jobs=jobs).columns.submit
        assert submit[-1] / DAY == pytest.approx(518 * jobs / 400_000, rel=0.05)


def test_jobs_are_submitted_in_batches(workloads):
    instants = len(np.unique(workloads[0].columns.submit))
    assert instants < 0.75 * len(workloads[0])


def test_the_same_in_any_process():
    digest = "feeea2e487b5865a28260d8bea797bbfb9011e82ee7e53997dd2fb8222dfce92"
    assert eurora(jobs=1500, seed=3).digest() == digest
    assert eurora(jobs=1500, seed=4).digest() != digest


def test_classes_have_their_shares_of_the_weight():
    rng = np.random.default_rng(0)
    weight = rng.random(500)
    classes = stratified(rng, weight, (0.5, 0.3, 0.2))
    shares = np.bincount(classes, weight) / weight.sum()
    np.testing.assert_allclose(shares, (0.5, 0.3, 0.2), atol=0.01)


@pytest.mark.parametrize("seed", range(6))
def test_the_least_number_of_jobs(seed):
    assert len(eurora(jobs=1000, seed=seed)) == 1000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": 0}, "workload eurora: jobs must be a whole number >= 1 and <= 10000000, got 0"),
        ({"jobs": 100}, "workload eurora: jobs must be >= 1000 for the share of 0.75% above 5 h, got 100"),
        ({"jobs": 1000, "days": 0}, "days must be a number > 0 and <= 36525 or none, got 0"),
        ({"jobs": 5000, "days": 0.01}, r"days must be >= \d+\.\d for 5000 jobs to find a free \w+, got 0.01"),
        ({"jobs": 1000, "seed": -1}, "seed must be a whole number >= 0, got -1"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        eurora(**options)
