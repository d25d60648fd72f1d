"""What a dispatcher shows to another one of the jobs."""

import numpy as np
import pytest

from hpcdispatch.dispatchers import JobView, Running, Waiting
from hpcdispatch.workloads import Job, Machine

JOB = JobView(Job("a", 1, 5, 9), Machine.pool(4))
CHANGED = {"waiting": ("predicted", 77), "running": ("predicted_end", 77)}


def waiting():
    """Return a waiting job. None of its fields has the default value."""
    return Waiting(
        JobView(Job("a", 1, 5, 9), Machine.pool(4)), 3, 2, attempt=4, order=6, demand=(1,), law=object(), done=8
    )


def running():
    """Return a running job like that."""
    run = Running(JOB, 2, np.array([1, 0]), (1,), 6)
    run.predicted_end = 5
    run.kill_at = 11
    run.stopping = True
    run.done = 3
    run.restart = 7
    return run


@pytest.mark.parametrize("make", [waiting, running])
def test_another_is_shown_everything_but_what_is_changed(make):
    job = make()
    changed, value = CHANGED[make.__name__]
    shown = job.shown_as(**{changed: value})
    assert getattr(shown, changed) == value != getattr(job, changed)
    for name in set(job.__slots__) - {changed}:
        assert getattr(shown, name) is getattr(job, name), name
