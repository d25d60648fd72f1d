import math
import pickle

import numpy as np
import pytest
from scipy import stats

from hpcdispatch.base import InputError
from hpcdispatch.workloads import GENERATORS, generate, read, stochastic, write

SPECS = ("stochastic:small_share=0.4,work_rate=0.1,window=2,large=40,processors=beta", "intrepid-neuroscience")
LAWS = {
    "truncnorm": (6, 16, stats.truncnorm(-1, 4, loc=8, scale=2)),
    "beta": (5 / 3600, 1, stats.beta(2, 2, loc=5 / 3600, scale=1 - 5 / 3600)),
    "exponential": (5 / 3600, 16, stats.expon()),
    "pareto": (1, 20, stats.pareto(2.1)),
}


def queue(workload, name):
    return [job for job in workload.jobs if job.queue == name]


def hours(jobs):
    return np.array([job.runtime for job in jobs]) / 3600


@pytest.mark.parametrize("walltime", LAWS)
def test_run_times_follow_the_law_of_the_paper(walltime):
    low, high, law = LAWS[walltime]
    jobs = generate("stochastic", walltime=walltime, large=4000).jobs
    conditional = lambda x: (law.cdf(x) - law.cdf(low)) / (law.cdf(high) - law.cdf(low))  # noqa: E731
    # The distance of whole seconds from the continuous law is far below 1.63 / sqrt(4000), which 1 in 100 exceed.
    assert stats.ks_1samp(hours(jobs), conditional).statistic < 1.63 / math.sqrt(4000)
    assert {job.walltime for job in jobs} == {high * 3600}
    assert all(max(math.floor(low * 3600), 1) <= job.runtime <= job.walltime for job in jobs)


@pytest.mark.parametrize("walltime", LAWS)
def test_applications_share_one_law(walltime):
    low, high, _ = LAWS[walltime]
    jobs = generate("stochastic", walltime=walltime, large=30).jobs
    assert len({id(job.law) for job in jobs}) == 1
    assert jobs[0].law.support() == pytest.approx((low * 3600, high * 3600), abs=1e-6)
    assert {(job.user, job.queue, job.submit) for job in jobs} == {(walltime, "large", 0)}
    assert len({job.name for job in jobs}) == 30
    copy = pickle.loads(pickle.dumps(jobs))
    assert copy[0].law is copy[-1].law
    assert copy[0].law.ppf(0.3) == jobs[0].law.ppf(0.3)


@pytest.mark.parametrize(
    ("walltime", "options", "support", "mean"),
    [
        ("truncnorm", {"low": 0, "high": 20}, (0, 20), 8.0),  # table 1
        ("truncnorm", {"low": 1, "high": 20, "mean": 10, "deviation": 0.5}, (1, 20), 10.0),
        ("beta", {"low": 2, "high": 6}, (2, 6), 4.0),
        ("exponential", {"low": 0, "high": 1000, "mean": 3}, (0, 1000), 3.0),
        ("pareto", {"low": 2, "high": 1e6}, (2, 1e6), 2 * 2.1 / 1.1),
    ],
)
def test_bounds_and_parameters_of_the_law(walltime, options, support, mean):
    law = generate("stochastic", walltime=walltime, large=1, **options).jobs[0].law
    assert np.array(law.support()) / 3600 == pytest.approx(support, abs=1e-9)
    assert law.mean() / 3600 == pytest.approx(mean, rel=1e-3)


@pytest.mark.parametrize(("high", "seconds"), [(1.1, 3960), (16, 57600), (0.5001, 1801)])
def test_the_bound_is_requested_in_whole_seconds(high, seconds):
    [job] = generate("stochastic", walltime="beta", high=high, large=1).jobs
    assert job.walltime == seconds


@pytest.mark.parametrize(("law", "mean", "spread"), [("truncnorm", 50.2, 23.6), ("beta", 50.5, 22.1)])
def test_processors_follow_their_law(law, mean, spread):
    size = np.array([job.nodes for job in generate("stochastic", processors=law, large=4000).jobs])
    assert size.mean() == pytest.approx(mean, abs=4 * spread / math.sqrt(4000))
    assert size.std() == pytest.approx(spread, rel=0.05)
    assert size.min() >= 1
    assert size.max() <= 100
    assert len(np.unique(size)) > 80


@pytest.mark.parametrize(("law", "machine", "expected"), [("full", 100, 100), ("half", 64, 32), ("beta", 1, 1)])
def test_processors_of_a_fixed_number(law, machine, expected):
    workload = generate("stochastic", processors=law, machine=machine, large=5)
    assert {job.nodes for job in workload.jobs} == {expected}
    assert workload.machine.capacity.tolist() == [[machine]]


def test_small_jobs_are_a_share_of_all():
    workload = generate("stochastic", large=4000, small_share=0.25)
    large = queue(workload, "large")
    small = queue(workload, "small")
    assert (len(large), len(small)) == (3000, 1000)
    assert {job.walltime for job in large} == {8 * 3600}
    assert {job.walltime for job in small} == {4 * 3600}
    assert {job.user for job in small} == {"truncnorm-small"}
    for jobs, low, high, mean, deviation in ((large, 1, 8, 4, 2), (small, 5 / 3600, 4, 1, 1)):
        law = stats.truncnorm((low - mean) / deviation, (high - mean) / deviation, loc=mean, scale=deviation)
        assert stats.ks_1samp(hours(jobs), law.cdf).statistic < 1.63 / math.sqrt(len(jobs))
    places = [int(job.id) for job in small]
    assert np.mean(places) == pytest.approx(2000, abs=200)  # they are not in front of or behind the large ones
    assert not queue(generate("stochastic", large=10, small_share=1), "large")


@pytest.mark.parametrize("rate", [0.1, 0.9])
@pytest.mark.parametrize("walltime", LAWS)
def test_the_stream_has_the_work_rate(walltime, rate):
    mean = generate("stochastic", walltime=walltime, large=1).jobs[0].law.mean()
    workload = generate("stochastic", walltime=walltime, work_rate=rate, window=2 * mean / 3600)
    jobs = queue(workload, "stream")
    assert sum(job.runtime for job in jobs) == pytest.approx(rate * 100 * 2 * mean, rel=0.06)
    assert np.mean([job.runtime for job in jobs]) == pytest.approx(mean / 100, rel=0.06)
    assert {(job.nodes, job.law, job.name) for job in jobs} == {(1, None, "stream")}
    assert all(job.walltime == job.runtime >= 1 for job in jobs)
    assert stats.kstest([job.submit / (2 * mean) for job in jobs], "uniform").statistic < 1.63 / math.sqrt(len(jobs))


def test_the_stream_outlasts_the_large_jobs_by_default():
    workload = generate("stochastic", work_rate=0.3, large=20, processors="half", stream_processors=10)
    jobs = queue(workload, "stream")
    window = 1.5 * 20 * 50 * workload.jobs[0].law.mean() / 100
    assert 0.99 * window < jobs[-1].submit < window
    assert sum(10 * job.runtime for job in jobs) == pytest.approx(0.3 * 100 * window, rel=0.05)
    assert {job.nodes for job in jobs} == {10}


def test_intrepid_has_what_the_paper_prints():
    span = 14 * 86400
    work = []
    for seed in range(10):
        workload = generate("intrepid-neuroscience", seed=seed)
        assert workload.machine.capacity.sum() == 40_960
        assert len(workload) == 400
        assert workload.jobs[-1].submit < span
        for name, count, low, high in (
            ("AbOrganSeg", 10, 11, 31),
            ("maCRUISE", 90, 1.5, 3),
            ("FSL", 300, 10 / 60, 35 / 60),
        ):
            jobs = [job for job in workload.jobs if job.name == name]
            assert len(jobs) == count
            assert low - 1e-3 <= hours(jobs).min() <= hours(jobs).max() <= high
        stream = queue(workload, "stream")
        assert {job.name for job in stream} == {"FSL"}
        assert all(job.law is None and job.walltime == job.runtime for job in stream)
        assert {job.walltime for job in queue(workload, "large")} == {31 * 3600, 3 * 3600}
        work.append(sum(job.runtime * job.nodes for job in stream) / (40_960 * span))
    assert np.mean(work) == pytest.approx(0.21, abs=0.004)


@pytest.mark.parametrize("spec", SPECS)
def test_its_source_draws_it_again(spec):
    workload = generate(spec, seed=5)
    assert generate(workload.provenance.source).digest() == workload.digest()


@pytest.mark.parametrize("spec", SPECS)
def test_global_random_state_is_left_alone(spec):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    generate(spec)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("spec", SPECS)
def test_goes_through_a_trace_but_for_the_laws(spec, tmp_path):
    workload = generate(spec)
    write(workload, tmp_path / "drawn.swf.gz")
    again = read(tmp_path / "drawn.swf.gz")
    assert [(job.submit, job.runtime, job.walltime) for job in again.jobs] == [
        (job.submit, job.runtime, job.walltime) for job in workload.jobs
    ]
    assert [job.nodes * job.per_node["core"] for job in again.jobs] == [job.nodes for job in workload.jobs]


def test_without_the_registry_choices_are_checked_as_well():
    with pytest.raises(InputError, match=r"^workload stochastic: walltime must be one of truncnorm, .*, got 'gamma'"):
        stochastic(walltime="gamma")


def test_are_registered():
    assert {"stochastic", "intrepid-neuroscience"} <= set(GENERATORS.names())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"walltime": "gamma"}, "option 'walltime': expected one of truncnorm, beta, exponential, pareto, got 'gamma'"),
        ({"processors": "all"}, "option 'processors': expected one of full, half, truncnorm, beta, got 'all'"),
        ({"machine": 0}, "machine must be a whole number >= 1 and <= 1000000000, got 0"),
        ({"machine": 1, "processors": "half"}, "machine must be a whole number >= 2 and <= 1000000000, got 1"),
        ({"large": 0}, "large must be a whole number >= 1 and <= 10000000, got 0"),
        ({"large": 2.5}, "large must be a whole number >= 1 and <= 10000000, got 2.5"),
        ({"seed": -1}, "seed must be a whole number >= 0, got -1"),
        ({"low": -1}, "low must be a number >= 0, got -1"),
        ({"low": 16}, "low must be hours below high, which is 16, got 16"),
        ({"high": math.inf}, "high must be a number > 0 and <= 1000000, got inf"),
        ({"mean": math.nan}, "mean must be a number > 0 and <= 1000000, got nan"),
        ({"deviation": 0}, "deviation must be a number > 0 and <= 1000000, got 0"),
        (
            {"walltime": "beta", "mean": 1},
            "mean must be none with walltime beta .*of truncnorm, exponential.*, got 1",
        ),
        ({"walltime": "exponential", "deviation": 1}, "deviation must be none with walltime exponential"),
        ({"walltime": "pareto", "low": 0}, "low must be hours > 0 with walltime pareto, got 0"),
        ({"small_share": 1.1}, "small_share must be a number >= 0 and <= 1, got 1.1"),
        ({"small_share": True}, "small_share must be a number >= 0 and <= 1, got True"),
        ({"small_share": 0.5, "walltime": "beta"}, "small_share must be 0 unless walltime is truncnorm, got 0.5"),
        ({"work_rate": 1}, "work_rate must be a number >= 0 and < 1, got 1"),
        ({"work_rate": -0.1}, "work_rate must be a number >= 0 and < 1, got -0.1"),
        ({"window": 0}, "window must be a number > 0 and <= 1000000, got 0"),
        ({"stream_processors": 101}, "stream_processors must be a whole number >= 1 and <= 100, got 101"),
    ],
)
def test_options_out_of_range(options, message):
    with pytest.raises(InputError, match=f"^workload stochastic: {message}"):
        generate("stochastic", **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"processors": "all"}, "option 'processors': expected one of full, half, truncnorm, beta, got 'all'"),
        ({"seed": -1}, "seed must be a whole number >= 0, got -1"),
        ({"work_rate": 0}, "work_rate must be a number > 0 and <= 0.3"),
        ({"work_rate": 0.4}, "work_rate must be a number > 0 and <= 0.3.*, got 0.4"),
    ],
)
def test_options_of_intrepid_out_of_range(options, message):
    with pytest.raises(InputError, match=f"^workload intrepid-neuroscience: {message}"):
        generate("intrepid-neuroscience", **options)
