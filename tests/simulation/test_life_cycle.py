"""A job goes from the queue to the machine, and back or out."""

import numpy as np
import pytest

from hpcdispatch.dispatchers import NODE_ZERO
from hpcdispatch.predictors import create
from hpcdispatch.simulation import ActionError, Overrun
from hpcdispatch.simulation.events.event_calendar import EventCalendar
from hpcdispatch.simulation.forecasts import Forecasts
from hpcdispatch.simulation.life_cycle import LifeCycle
from hpcdispatch.simulation.recorder import COMPLETED, LIMIT, Recorder
from hpcdispatch.simulation.simulated_job import SimulatedJob
from hpcdispatch.workloads import Job, Machine, Workload

JOBS = (Job("a", 0, 100, 150, per_node={"core": 3}), Job("b", 0, 50, 60, per_node={"core": 2}))


class Machinery:
    """A life cycle with all that it stands on."""

    def __init__(self, overrun="run", machine=None):
        machine = Machine.pool(4) if machine is None else machine
        self.recorder = Recorder(Workload(JOBS, machine))
        self.calendar = EventCalendar()
        policy = Overrun.parse(overrun)
        forecasts = Forecasts(create("walltime"), self.recorder, policy.mode != "run")
        self.cycle = LifeCycle(machine, self.calendar, forecasts, policy, self.recorder)
        self.jobs = [SimulatedJob(job, order, (job.per_node["core"],)) for order, job in enumerate(JOBS)]
        for job in self.jobs:
            self.cycle.jobs[job.id] = job
            self.cycle.arrive(job, 0)

    def start(self, job, now=0, limit=None):
        return self.cycle.start(job, job.own, NODE_ZERO, limit, now)

    def free(self):
        return self.cycle.nodes.shown.tolist()

    def due(self, now):
        return [(job.id, job.outcome) for _, _, _, job in self.calendar.due(now)]

    def frame(self):
        return self.recorder.jobs_frame().set_index("id")


@pytest.fixture
def made():
    return Machinery()


def test_a_job_waits_runs_and_is_done(made):
    job = made.jobs[0]
    assert [waiting.id for waiting in made.cycle.queue.entries] == ["a", "b"]
    assert made.start(job, now=5)
    assert (made.free(), job.waiting, job.running.predicted_end) == ([[1]], None, 155)
    assert made.due(105) == [("a", COMPLETED)]
    made.cycle.end(job, COMPLETED, 105)
    assert (made.free(), job.running, list(made.cycle.jobs)) == ([[4]], None, ["b"])
    assert made.frame().loc["a", ["start", "end", "wait", "run", "attempts", "status"]].tolist() == [
        5,
        105,
        5,
        100,
        1,
        "completed",
    ]


@pytest.mark.parametrize("machine", [Machine.pool(4), Machine.homogeneous(2, core=4)], ids=["pool", "nodes"])
def test_nothing_is_taken_for_a_job_without_room(machine):
    made = Machinery(machine=machine)
    assert made.start(made.jobs[0])
    before = made.free()
    with pytest.raises(ActionError, match=r"job b: no room for 1 x \(2,\) at \[0\]"):
        made.start(made.jobs[1])
    assert made.free() == before
    assert made.jobs[1].waiting is not None


def test_one_that_is_killed_returns_to_its_place_and_never_ends_there(made):
    job = made.jobs[0]
    made.start(job)
    made.cycle.kill(job, 30)
    assert [waiting.id for waiting in made.cycle.queue.entries] == ["a", "b"]
    assert (job.waiting.attempt, job.waiting.since, job.remaining) == (1, 0, 100)
    assert not made.start(job, now=40)
    assert made.due(100) == []
    assert made.due(140) == [("a", COMPLETED)]


def test_one_that_is_checkpointed_holds_its_nodes_for_the_delay(made):
    job = made.jobs[0]
    made.start(job)
    made.cycle.checkpoint(job, 10, 30)
    assert (made.free(), job.running.stopping, job.running.predicted_end) == ([[1]], True, 40)
    ((_, outcome),) = made.due(40)
    made.cycle.end(job, outcome, 40)
    assert (made.free(), job.remaining, job.waiting.predicted) == ([[4]], 70, 120)


@pytest.mark.parametrize(
    ("overrun", "status"), [("kill", "killed"), ("resubmit:factor=2", None), ("resubmit:cap=60", "rejected")]
)
def test_what_becomes_of_one_at_its_limit(overrun, status):
    made = Machinery(overrun)
    job = made.jobs[1]
    job.remaining = 70
    made.start(job, limit=60)
    assert made.due(60) == [("b", LIMIT)]
    made.cycle.end(job, LIMIT, 60)
    if status is None:
        assert (job.own.walltime, job.waiting.since) == (120, 60)
    else:
        row = made.frame().loc["b"]
        assert (row["status"], row["end"], row["lost"]) == (status, 60, 120)
        assert "60 s" in row["reason"]


def test_one_that_is_rejected_has_waited_until_then(made):
    made.cycle.reject(made.jobs[1], "too late", 25)
    row = made.frame().loc["b"]
    assert (row["status"], row["reason"], row["wait"], row["start"], row["end"]) == ("rejected", "too late", 25, -1, 25)
    assert [waiting.id for waiting in made.cycle.queue.entries] == ["a"]
    assert np.isnan(made.frame().loc["a", "status"])
