import pytest

from hpcdispatch.base import InputError
from hpcdispatch.predictors import Empirical, RunTimes, create
from hpcdispatch.testing import check_predictor
from hpcdispatch.workloads import Job


def job(runtime: int = 1, walltime: int = 1000, user: str = "ada", name: str = "sort") -> Job:
    return Job("1", 0, runtime=runtime, walltime=walltime, user=user, name=name)


def taught(*runtimes: int, **options) -> Empirical:
    predictor = Empirical(**{"least": 2, "by": "user-name", **options})
    for runtime in runtimes:
        predictor.observe(job(runtime))
    return predictor


def test_too_few_run_times_tell_nothing():
    predictor = taught(10)
    assert predictor.distribution(job()) is None
    assert predictor.predict(job(), 0) == 1000


def test_the_law_is_the_share_of_the_run_times():
    law = taught(30, 10, 20, 20).distribution(job())
    assert law.samples == (30, 10, 20, 20)
    assert law.cdf([9, 10, 19, 20, 30, 999, 1000]).tolist() == [0, 0.2, 0.2, 0.6, 0.8, 0.8, 1]
    assert law.support() == (10, 1000)
    assert law.mean() == (30 + 10 + 20 + 20 + 1000) / 5


def test_without_a_bound_the_law_ends_with_the_longest_run_time():
    law = RunTimes((30, 10, 20, 20))
    assert law.cdf([9, 10, 20, 30]).tolist() == [0, 0.25, 0.75, 1]
    assert law.support() == (10, 30)


def test_a_bound_below_a_run_time_is_that():
    assert RunTimes((30, 10), 20).support() == (10, 30)
    assert RunTimes((30, 10), 20).cdf([29, 30]).tolist() == pytest.approx([1 / 3, 1])


def test_jobs_that_request_another_time_have_another_law():
    predictor = taught(10, 20)
    assert predictor.distribution(job(walltime=50)).support() == (10, 50)
    assert predictor.distribution(job(walltime=60)).support() == (10, 60)


def test_only_the_last_count():
    assert taught(1, 2, 3, 4, last=2).distribution(job()).samples == (3, 4)


@pytest.mark.parametrize(
    ("by", "same"),
    [
        ("user", (True, False, True)),
        ("name", (False, True, True)),
        ("user-name", (False, False, True)),
        ("walltime", (False, False, False)),
    ],
)
def test_whose_past_counts(by, same):
    predictor = taught(10, 20, by=by)
    others = job(name="align"), job(user="bob"), job(walltime=999)
    assert tuple(predictor.distribution(other) is not None for other in others) == same
    assert predictor.distribution(job()) is not None


def test_the_same_law_until_another_job_ends():
    predictor = taught(10, 20)
    law = predictor.distribution(job())
    assert predictor.distribution(job()) is law
    predictor.observe(job(30))
    assert predictor.distribution(job()).samples == (10, 20, 30)


def test_predicts_the_mean_up_to_the_request():
    assert taught(10, 20).predict(job(), 0) == 15
    assert taught(10, 20).predict(job(walltime=12), 0) == 12


def test_correction_goes_by_those_that_ran_longer():
    predictor = taught(10, 20, 40)
    assert predictor.correct(job(), 10, 0) == 30
    assert predictor.correct(job(), 40, 1) == 1000
    assert predictor.correct(job(walltime=25), 10, 0) == 25


def test_forgets():
    predictor = taught(10, 20)
    predictor.reset()
    assert predictor.distribution(job()) is None


@pytest.mark.nightly
def test_keeps_the_rules():
    check_predictor(lambda: Empirical(by="user", least=2))


@pytest.mark.parametrize(
    "spec", ["empirical:last=0", "empirical:least=0", "empirical:least=9,last=8", "empirical:by=me"]
)
def test_refuses(spec):
    with pytest.raises(InputError, match="empirical"):
        create(spec)


def test_run_times_may_all_be_the_same():
    assert RunTimes([5, 5]).cdf([4, 5]).tolist() == [0, 1]


def test_a_quantile_in_place_of_the_mean():
    predictor = Empirical(least=4, quantile=0.75)
    for number, runtime in enumerate((10, 20, 30, 400)):
        predictor.observe(Job(str(number), submit=0, runtime=runtime, walltime=500))
    asks = Job("9", submit=0, runtime=0, walltime=500)
    assert predictor.predict(asks, 0) == 400
    assert Empirical(least=4, quantile=0.5).quantile == 0.5
    assert predictor.correct(asks, 15, 0) == 400
    assert predictor.correct(asks, 450, 1) == 500
    with pytest.raises(ValueError, match="quantile must be a number > 0 and <= 1 or none, got 0"):
        Empirical(quantile=0)
