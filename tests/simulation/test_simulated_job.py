"""Remaining work of a job, its current shape, and the work that a stay keeps."""

import numpy as np
import pytest

from hpcdispatch.dispatchers import JobView, Running
from hpcdispatch.simulation.recorder import CHECKPOINTED, COMPLETED, KILLED, LIMIT
from hpcdispatch.simulation.simulated_job import JobRequest, SimulatedJob
from hpcdispatch.workloads import Checkpoint, Job, Machine, Shape

MACHINE = Machine.homogeneous(8, core=1)
SHAPES = (Shape(2, 190, 300), Shape(8, 60, 90))


def moldable(**fields):
    return Job("a", 5, 100, 150, nodes=4, **fields)


def request(job, shape):
    return JobRequest.of_shape(job, shape, JobView(job, MACHINE).shapes[shape])


def running(job, start, done=0):
    made = Running(JobView(job, MACHINE), start, np.arange(job.nodes), (1,), 0)
    made.done = done
    return made


def test_its_own_request_is_that_of_the_job():
    own = SimulatedJob(moldable(shapes=SHAPES), 0, (1,)).own
    assert own[:5] == (-1, 4, (1,), 100, 150)
    assert own.job.id == "a"


def test_a_shape_is_a_request_alone_for_predictors():
    asked = request(moldable(shapes=SHAPES), 1)
    assert asked[:5] == (1, 8, (1,), 60, 90)
    assert (asked.job.nodes, asked.job.runtime, asked.job.walltime, asked.job.shapes) == (8, 60, 90, ())


@pytest.mark.parametrize(("remaining", "on_shape"), [(100, 190), (50, 95), (1, 2), (99, 189)])
def test_what_is_left_is_the_same_share_of_another_shape_rounded_up(remaining, on_shape):
    job = SimulatedJob(moldable(shapes=SHAPES), 0, (1,))
    job.remaining = remaining
    assert job.remaining_on(job.own) == remaining
    assert job.remaining_on(request(job.job, 0)) == on_shape


def test_a_job_of_no_time_has_the_time_of_its_shape_left():
    job = SimulatedJob(Job("a", 0, 0, 10, nodes=4, shapes=(Shape(2, 3, 10),)), 0, (1,))
    assert job.remaining_on(request(job.job, 0)) == 3


@pytest.mark.parametrize(
    ("outcome", "interval", "done", "saved"),
    [
        (COMPLETED, None, 0, 70),
        (CHECKPOINTED, None, 0, 45),
        (KILLED, None, 0, 0),
        (KILLED, 30, 0, 60),
        (LIMIT, 30, 0, 60),
        (KILLED, 30, 25, 65),
        (KILLED, 80, 0, 0),
    ],
)
def test_what_a_stay_of_70_seconds_saves(outcome, interval, done, saved):
    job = SimulatedJob(moldable(checkpoint=Checkpoint(interval=interval)), 0, (1,))
    job.stopped_at = 1045
    assert job.saved(running(job.job, 1000, done), outcome, 1070) == saved
