"""A predictor's answers in whole seconds."""

import math
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats

from hpcdispatch.dispatchers import JobView, Running
from hpcdispatch.simulation import SimulationError
from hpcdispatch.simulation.forecasts import Forecasts
from hpcdispatch.simulation.recorder import Recorder
from hpcdispatch.simulation.simulated_job import SimulatedJob
from hpcdispatch.workloads import Job, Machine, Workload

MACHINE = Machine.pool(4)


class Says:
    """Predicts and corrects what it was told to."""

    def __init__(self, seconds, corrected=None):
        self.seconds = seconds
        self.corrected = corrected
        self.asked = []
        self.observed = []

    def predict(self, job, now):
        return self.seconds

    def observe(self, job):
        self.observed.append(job)


class Corrects(Says):
    def correct(self, job, elapsed, misses):
        self.asked.append((elapsed, misses))
        return self.corrected


def forecasts(predictor, bounded=False):
    return Forecasts(predictor, Recorder(Workload((), MACHINE)), bounded)


JOB = Job("a", 0, 100, 150)


@pytest.mark.parametrize(
    ("said", "bounded", "seconds"),
    [(0, False, 1), (0.2, False, 1), (20.2, False, 21), (200, False, 200), (200, True, 150), (np.float64(3), True, 3)],
)
def test_whole_seconds_at_least_one_and_no_more_than_a_job_can_run(said, bounded, seconds):
    assert forecasts(Says(said), bounded).of(JOB, 0) == seconds


@pytest.mark.parametrize("said", [-1, float("nan"), float("inf")])
def test_what_is_no_time(said):
    with pytest.raises(SimulationError, match=r"Says at t=7: job a: a prediction must be >= 0 s"):
        forecasts(Says(said)).of(JOB, 7)


@pytest.mark.parametrize("said", [1e30, 10**30, 1e308])
def test_what_is_too_long(said):
    with pytest.raises(SimulationError, match=r"a prediction must be >= 0 s and at most 10000000000, got 1"):
        forecasts(Says(said)).of(JOB, 7)


class Unspeakable:
    """Has no text."""

    def __repr__(self):
        raise RuntimeError("no repr")


@pytest.mark.parametrize("said", [True, None, "5", Decimal(5), np.True_, Unspeakable(), [1.0]])
def test_what_is_no_number_is_none_at_any_time(said):
    with pytest.raises(SimulationError, match="a prediction must be >= 0 s, got"):
        forecasts(Says(said)).of(JOB, 7)
    running = Running(JobView(JOB, MACHINE), 1000, np.zeros(1, dtype=np.int64), (1,), 0)
    with pytest.raises(SimulationError, match="a prediction must be >= 0 s, got"):
        forecasts(Corrects(40, said)).corrected_end(SimulatedJob(JOB, 0, (1,)), running, 1050)


@pytest.mark.parametrize(("said", "left", "ran", "rest"), [(80, 60, 0, 40), (30, 60, 0, 1), (30, 100, 70, 71)])
def test_the_rest_of_a_job_that_comes_back(said, left, ran, rest):
    job = SimulatedJob(JOB, 0, (1,))
    job.remaining = left
    assert forecasts(Says(said)).of_rest(job, 0, ran) == rest


@pytest.mark.parametrize(
    ("corrected", "done", "kill_at", "end"),
    [
        (90, 0, None, 1090),
        (50, 0, None, None),
        (math.inf, 0, None, None),
        (1e308, 0, None, None),
        (90, 20, None, 1070),
        (90, 0, 1060, 1060),
        (50.5, 0, None, 1051),
    ],
)
def test_the_end_of_a_job_that_outlives_its_prediction_by_now(corrected, done, kill_at, end):
    predictor = Corrects(40, corrected)
    job = SimulatedJob(JOB, 0, (1,))
    running = Running(JobView(JOB, MACHINE), 1000, np.zeros(1, dtype=np.int64), (1,), 0)
    running.done, running.kill_at = done, kill_at
    assert forecasts(predictor).corrected_end(job, running, 1050) == end
    assert (predictor.asked, job.misses) == ([(50 + done, 0)], 1)


def test_a_predictor_without_corrections_gets_those_of_tsafrir():
    job = SimulatedJob(Job("a", 0, 10_000, 20_000), 0, (1,))
    running = Running(JobView(job.job, MACHINE), 1000, np.zeros(1, dtype=np.int64), (1,), 0)
    made = forecasts(Says(1))
    assert [made.corrected_end(job, running, now) for now in (1050, 1110, 1410)] == [1110, 1410, 2310]


def test_the_law_is_the_predictors_or_the_jobs_own():
    law = stats.uniform(10, 20)
    own = Job("b", 0, 15, 30, law=law)
    knowing = Says(1)
    assert forecasts(knowing).law(own, 0) is law
    knowing.distribution = lambda job: None
    assert forecasts(knowing).law(own, 0) is None


def test_the_time_that_a_predictor_takes_is_booked():
    recorder = Recorder(Workload((), MACHINE))
    made = Forecasts(Says(1), recorder, bounded=False)
    made.of(JOB, 0)
    after = recorder.prediction_ns
    made.observe(JOB, 100, 115)
    assert 0 < after < recorder.prediction_ns


@pytest.mark.parametrize("ran", [100, 70])
def test_what_is_observed_is_the_time_that_it_ran(ran):
    predictor = Says(1)
    forecasts(predictor).observe(JOB, ran, 115)
    assert [(job.id, job.runtime) for job in predictor.observed] == [("a", ran)]
