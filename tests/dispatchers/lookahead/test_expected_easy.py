"""The longest wait under EASY is known in time."""

from dataclasses import replace

import numpy as np
import pytest

from hpcdispatch.dispatchers import create_dispatcher
from hpcdispatch.dispatchers.lookahead.history import History
from hpcdispatch.dispatchers.protocol import id_of
from hpcdispatch.models.lookahead.shadow import longest_since
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import Job, Machine, Provenance, Workload, generate


class Watched:
    """Dispatches as another does. Records the horizon of expectations and the longest wait of both schedules."""

    def __init__(self, over):
        self.over = create_dispatcher(over)
        self.history = None
        self.noted = []

    def job_ended(self, id_, ran, now):
        self.history.ended(id_, ran)

    def dispatch(self, state):
        if self.history is None:
            self.history = History(state.machine, state.now, by_walltimes=True)
        actions = self.over.dispatch(state)
        self.history.see(state)
        longest = self.history.longest_wait(state.now)
        upto = self.history.jobs.now.clock
        known = longest_since(self.history.jobs, 0)
        if known < longest:
            upto = self.history.expected.jobs.now.clock
        self.noted.append((int(upto[0]), int(known), longest))
        self.history.start(id_of(action.job) for action in actions)
        return actions


def requesting(workload, factor):
    """Return a workload with walltimes that are a multiple of the run times."""
    return workload.with_jobs([replace(job, walltime=factor * job.runtime) for job in workload.jobs])


def longest_under_easy(workload, now):
    jobs = simulate(workload, "easy").jobs
    here = jobs[jobs["submit"] <= now]
    return int((np.minimum(here["start"], now) - here["submit"]).max())


WORKLOAD = generate("lublin:jobs=400,processors=32,load=1.1", seed=3)


@pytest.mark.parametrize(("factor", "predictor", "off"), [(1, "walltime", 0), (10, "oracle", 0), (10, "walltime", 0.2)])
def test_it_is_that_of_easy_though_jobs_wait_that_have_started_there(factor, predictor, off):
    """Guards against due times of hours in a backlog of days. Certain knowledge lags behind."""
    workload = requesting(WORKLOAD, factor)
    watched = Watched("ljf")
    simulate(workload, watched, predictor)
    late = [noted for noted in watched.noted if noted[1] < 0.8 * noted[2]]
    assert len(late) > 20
    for now, _, expected in late[:: len(late) // 10]:
        assert expected == pytest.approx(longest_under_easy(workload, now), rel=off)


def test_a_job_past_its_expected_end_is_not_taken_to_have_ended():
    """Guards against a schedule in which a job of days delays no other job. A minute was expected of it."""
    jobs = (Job("long", 0, 200_000, 300_000, 1, {"core": 4}), Job("next", 1, 60, 60, 1, {"core": 4}))
    more = tuple(Job(str(number), 10_000 * number, 60, 60) for number in range(1, 15))
    watched = Watched("fcfs")
    simulate(Workload((*jobs, *more), Machine.pool(4), Provenance("outlived")), watched, Minute())
    waits = [expected for now, _, expected in watched.noted if 1 < now < 200_000]
    assert waits == [10_000 * number - 1 for number in range(1, 15)]


class Minute:
    """Predicts a minute of every job."""

    def predict(self, job, now):
        return 60

    def observe(self, job):
        pass
