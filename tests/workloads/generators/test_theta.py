import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import GENERATORS, generate

MONTH = generate("theta", seed=1)
BATCH = [job for job in MONTH.jobs if job.kind == "batch"]
URGENT = [job for job in MONTH.jobs if job.kind == "on-demand"]


def work(workload):
    return sum(job.runtime * job.nodes for job in workload.jobs)


def test_the_machine_and_the_jobs_are_like_theta_s():
    assert MONTH.machine.nodes == 4392
    sizes = np.array([job.nodes for job in BATCH])
    assert set(sizes) == {128, 256, 512, 1024, 2048, 4096}
    assert (np.diff(np.unique(sizes, return_counts=True)[1]) < 0).all()
    runtimes = np.array([job.runtime for job in BATCH])
    assert (runtimes < 1800).mean() == pytest.approx(0.61, abs=0.02)
    assert runtimes.min() >= 60
    assert runtimes.max() <= 12 * 3600
    assert all(job.runtime <= job.walltime <= 72 * 3600 for job in MONTH.jobs)
    assert max(job.submit for job in MONTH.jobs) < 30 * 86400


def test_checkpoints_are_hourly_shares_of_the_memory():
    system = np.array([job.checkpoint.system_size for job in BATCH]) / 208
    share = np.array([job.checkpoint.application_size for job in BATCH]) / 208 / system
    assert (system.min(), system.max()) == (pytest.approx(0.4, abs=0.01), pytest.approx(0.9, abs=0.01))
    assert (share.min(), share.max()) == (pytest.approx(0.2, abs=0.01), pytest.approx(0.6, abs=0.01))
    assert {job.checkpoint.interval for job in BATCH} == {3600}
    assert {job.checkpoint for job in generate("theta", days=1, checkpoints=False).jobs} == {None}


def test_on_demand_jobs_are_due_in_minutes():
    assert len(URGENT) == pytest.approx(120, abs=35)
    assert {job.nodes for job in URGENT} == {512, 1024, 2048}
    assert {job.deadline for job in URGENT} == {900}
    assert all(300 <= job.runtime <= job.walltime == 3600 and job.checkpoint is None for job in URGENT)
    assert {job.deadline for job in generate("theta", days=3, deadline=60, seed=1).jobs} == {None, 60}


@pytest.mark.parametrize("load", [0.5, 0.95, 1.2])
@pytest.mark.parametrize("nodes", [1024, 4392])
def test_the_load_is_the_one_asked_for(load, nodes):
    workload = generate("theta", days=20, nodes=nodes, load=load, seed=2)
    assert work(workload) / (nodes * 20 * 86400) == pytest.approx(load, rel=0.05)
    assert max(job.nodes for job in workload.jobs) <= nodes


def test_the_rate_is_the_one_asked_for():
    workload = generate("theta:days=100,load=0.5,rate=7,seed=4")
    assert sum(job.kind == "on-demand" for job in workload.jobs) == pytest.approx(700, rel=0.1)
    assert {job.kind for job in generate("theta", days=1, rate=0.0).jobs} == {"batch"}


def test_a_load_of_on_demand_jobs_alone_leaves_one_batch_job():
    kinds = [job.kind for job in generate("theta", days=1, load=0.001, rate=50.0).jobs]
    assert kinds.count("batch") == 1


def test_it_is_registered():
    assert "theta" in GENERATORS.names()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"days": 0}, "workload theta: days must be a whole number >= 1 and <= 3660, got 0"),
        ({"nodes": 127}, "workload theta: nodes must be a whole number >= 128 and <= 1048576, got 127"),
        ({"load": 0.0}, "workload theta: load must be a number > 0 and <= 100, got 0.0"),
        ({"load": float("nan")}, "workload theta: load must be a number > 0 and <= 100, got nan"),
        ({"rate": -1.0}, "workload theta: rate must be a number >= 0 and <= 8640, got -1.0"),
        ({"deadline": -1}, "workload theta: deadline must be a whole number >= 0 and <= 10000000000, got -1"),
        ({"seed": True}, "workload theta: seed must be a whole number >= 0, got True"),
        ({"jobs": 5}, "workload theta: unknown option 'jobs'"),
    ],
)
def test_options_out_of_their_range(options, message):
    with pytest.raises(InputError, match=message):
        generate("theta", **options)
