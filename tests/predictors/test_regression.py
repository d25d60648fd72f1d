"""The online regression."""

import math

import numpy as np
import pytest
import scipy.stats

from hpcdispatch.predictors import LogNormal, Regression
from hpcdispatch.workloads import Job


def job(number, runtime=0, walltime=3600, user="a", name=""):
    return Job(str(number), submit=7919 * number, runtime=runtime, walltime=walltime, nodes=1, user=user, name=name)


def taught(count=300, **given):
    """Return a predictor of two users. One runs a tenth of the walltime, the other half of it."""
    predictor = Regression(**given)
    rng = np.random.default_rng(1)
    for number in range(count):
        walltime = int(rng.choice([600, 3600, 36000]))
        user, share = [("a", 0.1), ("b", 0.5)][number % 2]
        predictor.observe(job(number, round(walltime * share * math.exp(rng.normal(0, 0.1))), walltime, user))
    return predictor


def test_it_learns_what_users_make_of_their_requests():
    predictor = taught()
    for walltime in (600, 3600, 36000):
        assert predictor.predict(job(999, walltime=walltime), 0) == pytest.approx(0.1 * walltime, rel=0.15)
        assert predictor.predict(job(999, walltime=walltime, user="b"), 0) == pytest.approx(0.5 * walltime, rel=0.15)


def test_its_law_is_calibrated():
    predictor = taught(600, quantile=0.8)
    rng = np.random.default_rng(2)
    below = []
    for number in range(400):
        runtime = round(3600 * 0.1 * math.exp(rng.normal(0, 0.1)))
        below.append(runtime <= predictor.predict(job(number), 0))
        predictor.observe(job(number, runtime))
    assert np.mean(below) == pytest.approx(0.8, abs=0.08)


def test_it_forgets():
    predictor = taught(memory=50)
    for number in range(200):
        predictor.observe(job(number, 3000))
    assert predictor.predict(job(999), 0) == pytest.approx(3000, rel=0.1)


@pytest.mark.parametrize("before", [300, 3000])
def test_it_forgets_as_fast_after_many_jobs_of_which_some_features_never_change(before):
    """Guards against a bound on the unknown part that undoes all other forgetting."""
    predictor = Regression(memory=100)
    rng = np.random.default_rng(3)
    errors = []
    for number in range(before + 500):
        walltime = int(rng.choice([3600, 36000]))
        share = 0.5 if (walltime == 3600) == (number < before) else 0.1
        asked = job(number, round(walltime * share * math.exp(rng.normal(0, 0.1))), walltime, f"u{number % 20}")
        errors.append(abs(math.log(predictor.predict(asked, 0) / asked.runtime)))
        predictor.observe(asked)
    assert np.mean(errors[before : before + 50]) > 0.5
    assert np.mean(errors[-100:]) < 0.15


@pytest.mark.parametrize("asked", [lambda cores: (cores, {"core": 1}), lambda cores: (1, {"core": cores})])
def test_size_is_cores(asked):
    predictor = Regression()
    for number in range(400):
        nodes, per_node = asked(1 + number % 40)
        predictor.observe(Job(str(number), 6007 * number, 10 * (1 + number % 40), 3600, nodes=nodes, per_node=per_node))
    nodes, per_node = asked(25)
    assert predictor.predict(Job("new", 0, 1, 3600, nodes=nodes, per_node=per_node), 0) == pytest.approx(250, rel=0.05)


@pytest.mark.parametrize("quantile", [0.5, 0.0001])
def test_a_job_is_corrected_hundreds_of_times_at_most(quantile):
    predictor = taught(quantile=quantile)
    elapsed = 100
    misses = 0
    while elapsed < 36000:
        longer = predictor.correct(job(1, walltime=36000), elapsed, misses)
        assert elapsed < longer <= 36000
        elapsed = math.ceil(longer)
        misses = misses + 1
    assert misses < 600


def test_a_user_who_never_changes_anything_does_not_blow_it_up():
    predictor = Regression(memory=10)
    for _ in range(3000):
        predictor.observe(job(0, 100))
    assert predictor.predict(job(0), 0) == pytest.approx(100, rel=0.1)
    predictor.observe(job(1, 5, 7200, "new"))
    assert 1 <= predictor.predict(job(2, walltime=7200, user="new"), 0) <= 7200


def test_before_enough_jobs_have_ended_it_is_the_request():
    predictor = taught(19)
    assert predictor.predict(job(1), 0) == 3600
    assert predictor.distribution(job(1)) is None
    assert predictor.correct(job(1), 10, 0) == 3600


def test_a_miss_is_corrected_by_the_same_law():
    predictor = taught()
    first = predictor.predict(job(1), 0)
    second = predictor.correct(job(1), math.ceil(first), 0)
    assert first < second < 3600
    law = predictor.distribution(job(1))
    chance = law.cdf([math.ceil(first), second])
    assert (chance[1] - chance[0]) / (1 - chance[0]) == pytest.approx(0.5, abs=0.05)
    assert predictor.correct(job(1), 3600, 3) == 3600
    assert predictor.correct(job(1), 5000, 3) == 5000


def test_the_law_has_the_rest_at_its_bound():
    law = LogNormal(math.log(100), 0.5, 150)
    whole = scipy.stats.lognorm(0.5, scale=100)
    times = np.array([-1, 0, 50, 100, 149])
    assert law.cdf(times) == pytest.approx(whole.cdf(times))
    assert law.cdf([150, 200]).tolist() == [1, 1]
    assert law.support() == (0, 150)
    assert law.quantile(0.3) == pytest.approx(whole.ppf(0.3))
    assert law.quantile(0.99) == 150
    assert law.quantile(0.5, above=1e6) == 150


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"quantile": 0}, "quantile must be a number > 0 and < 1, got 0"),
        ({"quantile": 1}, "quantile must be a number > 0 and < 1, got 1"),
        ({"memory": 9}, "memory must be a whole number >= 10, got 9"),
        ({"least": 0}, "least must be a whole number >= 1, got 0"),
    ],
)
def test_bad_input_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Regression(**given)
