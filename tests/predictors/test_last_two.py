import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcdispatch.predictors import LastTwo
from hpcdispatch.workloads import Job


def job(runtime: int = 1, walltime: int = 1000, user: str = "ada") -> Job:
    return Job("1", 0, runtime=runtime, walltime=walltime, user=user)


def taught(*runtimes: int, **options) -> LastTwo:
    predictor = LastTwo(**options)
    for runtime in runtimes:
        predictor.observe(job(runtime))
    return predictor


@pytest.mark.parametrize(
    ("runtimes", "expected"),
    [((), 1000.0), ((10,), 1000.0), ((10, 21), 15.5), ((500, 10, 20), 15.0), ((5000, 5000), 1000.0)],
    ids=["no job", "one job", "two jobs", "the last two", "capped"],
)
def test_mean_of_the_last_two(runtimes, expected):
    assert taught(*runtimes).predict(job(), 0) == expected


def test_users_are_kept_apart():
    assert taught(10, 20).predict(job(user="bob"), 0) == 1000.0


def test_jobs_without_a_user_count_as_one_users():
    predictor = LastTwo()
    predictor.observe(job(10, user=""))
    predictor.observe(job(20, user=""))
    assert predictor.predict(job(user=""), 0) == 15.0


@pytest.mark.parametrize(("count", "expected"), [(1, 30.0), (3, 20.0), (4, 1000.0)])
def test_count(count, expected):
    assert taught(10, 20, 30, count=count).predict(job(), 0) == expected


def test_reset_forgets():
    predictor = taught(10, 20)
    predictor.reset()
    assert predictor.predict(job(), 0) == 1000.0


def test_corrections():
    assert [LastTwo().correct(job(walltime=10**6), 100, misses) for misses in range(3)] == [160, 400, 1000]
    sc15 = LastTwo(correction="sc15")
    assert [sc15.correct(job(walltime=10**6), 100, misses) for misses in range(3)] == [160, 340, 700]
    assert LastTwo().correct(job(walltime=110), 100, 0) == 110


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, r"^count must be a whole number >= 1 and <= 100000, got 0$"),
        ({"count": 1.5}, r"^count must be a whole number >= 1 and <= 100000, got 1\.5$"),
        ({"correction": "none"}, r"^correction must be one of tsafrir, sc15, got 'none'$"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        LastTwo(**options)


@given(st.lists(st.integers(0, 10**6)), st.integers(1, 10**6), st.integers(1, 5))
def test_never_below_zero_nor_above_the_walltime(runtimes, walltime, count):
    assert 0 <= taught(*runtimes, count=count).predict(job(walltime=walltime), 0) <= walltime
