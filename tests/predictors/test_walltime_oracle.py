from hpcdispatch.predictors import Oracle, Walltime
from hpcdispatch.workloads import Job


def test_walltime_is_what_was_asked_for():
    assert Walltime().predict(Job("1", 0, runtime=5, walltime=60), now=0) == 60.0


def test_oracle_is_the_truth_even_beyond_the_request():
    assert Oracle().predict(Job("1", 0, runtime=5, walltime=60), now=0) == 5.0
    assert Oracle().predict(Job("1", 0, runtime=90, walltime=60), now=0) == 90.0


def test_both_learn_nothing():
    job = Job("2", 0, runtime=7, walltime=70)
    for predictor in (Walltime(), Oracle()):
        before = predictor.predict(job, 0)
        predictor.observe(Job("1", 0, runtime=5, walltime=60))
        assert predictor.predict(job, 0) == before
