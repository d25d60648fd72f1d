"""Published results on the traces of the Parallel Workloads Archive."""

import warnings

import pytest

from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import TraceWarning, read

KTH = "KTH-SP2-1996-2.swf.gz"


@pytest.fixture(scope="module")
def kth(trace):
    return read(trace(KTH))


@pytest.mark.traces
def test_kth_easy_as_in_the_sc15_study(kth):
    result = simulate(kth, "easy", predictor="walltime", overrun="kill")
    check(kth, result)
    summary = result.summary()
    assert summary["jobs"] == 28_481
    assert summary["bounded_slowdown_mean"] == pytest.approx(92.57, rel=0.005)


@pytest.mark.traces
@pytest.mark.parametrize(
    ("dispatcher", "tolerance", "expected"),
    [
        ("easy", 0.005, {"wait_mean": 6844.4, "bounded_slowdown_mean": 91.29, "wait_max": 262_194}),
        ("easy-sjbf", 0.02, {"wait_mean": 6012.8, "bounded_slowdown_mean": 72.52}),
        ("conservative", 0.005, {"wait_mean": 7506.4, "bounded_slowdown_mean": 92.46}),
        ("fcfs", 0.005, {"wait_mean": 389_669.9, "bounded_slowdown_mean": 7507.1}),
    ],
)
def test_kth_with_the_real_run_times(kth, dispatcher, tolerance, expected):
    result = simulate(kth, dispatcher)
    check(kth, result)
    summary = result.summary()
    for name, value in expected.items():
        assert summary[name] == pytest.approx(value, rel=tolerance), name


@pytest.mark.traces
@pytest.mark.parametrize(
    ("name", "jobs", "tolerance", "mean", "largest"),
    [
        (KTH, 28_481, 0.005, 92.58, 14805.2),
        pytest.param("CTC-SP2-1996-3.1-cln.swf.gz", 77_199, 0.01, 49.57, 12715.4, marks=pytest.mark.nightly),
        pytest.param("SDSC-SP2-1998-4.2-cln.swf.gz", 53_999, 0.01, 87.87, 10953.0, marks=pytest.mark.nightly),
    ],
)
def test_easy_dispatched_after_each_event_as_in_the_sc15_study(trace, name, jobs, tolerance, mean, largest):
    # With one call per instant CTC is 48.84. A standalone loop gives the same two numbers.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TraceWarning)
        workload = read(trace(name))
    # The study leaves out jobs without a walltime.
    requested = workload.records["requested_time"] > 0
    workload = workload.with_jobs(job for job, keep in zip(workload.jobs, requested, strict=True) if keep)
    assert len(workload) == jobs
    summary = simulate(workload, "easy", overrun="kill", same_instant="sequence").summary()
    assert summary["bounded_slowdown_mean"] == pytest.approx(mean, rel=tolerance)
    assert summary["bounded_slowdown_max"] == pytest.approx(largest, abs=0.05)
