"""Jobs that wait while others of their kind end are predicted again."""

import pytest
from internal_options import simulate

from hpcdispatch.dispatchers import Portfolio
from hpcdispatch.dispatchers.portfolio.own_predictions import PredictedAnew
from hpcdispatch.simulation import check
from hpcdispatch.workloads import Job, Machine, Provenance, Workload

MACHINE = Machine.pool(4)


def job(number, submit=0, runtime=100, walltime=36000, user="a", cores=1):
    return Job(str(number), submit, runtime, walltime, 1, {"core": cores}, user, name="n")


def ends_of_kind(anew, count):
    found = []
    for number in range(count):
        anew.end(job(1000 + number))
        found.append(len(list(anew.taken())))
    return found


def test_they_are_due_after_1_2_4_8_more():
    anew = PredictedAnew()
    anew.wait(job(0))
    anew.wait(job(1))
    assert ends_of_kind(anew, 16) == [2, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0]


def test_it_begins_anew_where_none_waits():
    anew = PredictedAnew()
    anew.wait(job(0))
    assert ends_of_kind(anew, 5) == [1, 0, 1, 0, 0]
    anew.leave(job(0))
    assert ends_of_kind(anew, 2) == [0, 0]
    anew.wait(job(1))
    assert ends_of_kind(anew, 3) == [1, 0, 1]


@pytest.mark.parametrize("other", [{"user": "b"}, {"walltime": 1}], ids=["user", "walltime"])
def test_others_do_not_count(other):
    anew = PredictedAnew()
    anew.wait(job(0))
    anew.end(job(1, **other))
    assert list(anew.taken()) == []


def test_a_job_that_leaves_is_not_due():
    anew = PredictedAnew()
    for number in range(2):
        anew.wait(job(number))
    anew.end(job(2))
    anew.leave(job(0))
    assert list(anew.taken()) == ["1"]


def burst():
    """Return one user's short jobs with long walltimes, all at once. Then another user's with a length between."""
    many = [job(number, runtime=60, cores=4) for number in range(8)]
    return Workload((*many, job(8, 1, 600, 600, "b", 4)), MACHINE, Provenance("burst"))


SJF = "portfolio:of=sjf,reference=fcfs,learns=empirical:least=1/quantile=1,every=9d,window=9d,repredict={}"


@pytest.mark.parametrize(("repredict", "start"), [("false", 60), ("true", 480)])
def test_jobs_that_came_together_go_by_the_first_that_end(repredict, start):
    """When they arrive only their walltime is known. The other job would seem shorter."""
    workload = burst()
    result = simulate(workload, SJF.format(repredict))
    check(workload, result)
    assert result.jobs["start"].iloc[8] == start


@pytest.mark.parametrize(("repredict", "predicted"), [(False, 36000), (True, 60)])
def test_replays_go_by_what_was_predicted_last(repredict, predicted):
    """The first of them starts on arrival, by its walltime. The others are then known to be as short."""
    pasts = []

    class Seen(Portfolio):
        def use_replays(self, replay):
            super().use_replays(lambda past, *given: (pasts.append(past), replay(past, *given))[1])

    given = {"of": "sjf", "reference": "fcfs", "learns": "empirical:least=1,quantile=1", "every": "6m", "window": "1h"}
    result = simulate(burst(), Seen(repredict=repredict, **given))
    tuned = result.decisions[result.decisions["tuned"] == 1]
    assert len(tuned)
    assert set(tuned["failure"]) == {""}
    learned = [past.predicted for past in pasts if past.predictor is not None]
    assert learned
    for predictions in learned:
        assert {seconds for id_, seconds in predictions.items() if id_ in "1234567"} == {predicted}
