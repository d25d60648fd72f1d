"""When reservations are over, on jobs whose requests are known."""

import dataclasses

import pytest
from scipy import stats

from hpcdispatch.bench.studies.benchmarks.reservation_rounds import reserved_response
from hpcdispatch.dispatchers import ReservationSequences
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import Job, Machine, Workload


class Asked:
    """The same requests for every job, as a dispatcher with them."""

    def reset(self, machine, rng):
        """Do nothing."""

    def observe(self, state):
        """Do nothing."""

    def requests(self, law, walltime, application):
        return 10, 25, 100


@pytest.fixture
def result():
    law = stats.uniform(0, 100)
    jobs = (Job("early", 0, 4, 100, law=law), Job("twice", 0, 20, 100, law=law), Job("last", 7, 60, 100, law=law))
    return simulate(Workload(jobs, Machine.pool(4)), ReservationSequences(Asked()), overrun="kill")


def test_records_hold_what_was_requested(result):
    attempts = result.attempts.sort_values(["id", "start"])
    assert attempts.groupby("id")["walltime"].agg(list).to_dict() == {
        "early": [10],
        "last": [10, 25, 100],
        "twice": [10, 25],
    }


def test_response_ends_with_the_reservation(result):
    assert (result.jobs["end"] - result.jobs["submit"]).tolist() == [4, 30, 95]
    assert reserved_response(result).tolist() == [10, 35, 135]


def test_without_a_limit_a_job_has_what_it_asked_for():
    jobs = (Job("1", 0, 5, 20), Job("2", 0, 30, 20))
    result = simulate(Workload(jobs, Machine.pool(2)), "easy")
    assert reserved_response(result).tolist() == [20, 30]


def test_refuses_records_without_requests(result):
    older = dataclasses.replace(result, attempts=result.attempts.drop(columns="walltime"))
    with pytest.raises(ValueError, match="attempts must have a column 'walltime'"):
        reserved_response(older)
