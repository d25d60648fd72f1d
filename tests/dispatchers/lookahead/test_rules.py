"""Look-ahead and its guard under rules of the machine."""

from dataclasses import replace

import numpy as np
import pytest
from combinations import each_value
from ruled_workloads import ruled

from hpcdispatch.dispatchers import State, Waiting
from hpcdispatch.dispatchers.protocol import JobView, Running
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Limit, Machine, Power


@pytest.mark.parametrize(("dispatcher", "seed"), each_value(["lookahead", "guarded"], range(2000, 2006)))
def test_no_start_is_left_out(dispatcher, seed):
    workload = ruled(seed)
    result = simulate(workload, dispatcher, overrun="kill")
    check(workload, result)
    assert not result.manifest.get("refused", 0)


def standing(*jobs, running):
    """Return a state of a pool of 16 cores, of which a user may use 8."""
    machine = replace(Machine.pool(16), limits=(Limit(8, of="core", by="user"),))
    runs = []
    for id_, user, cores, end in running:
        job = JobView(Job(id_, 0, end, end, nodes=cores, user=user), machine)
        runs.append(Running(job, 0, np.zeros(cores, int), (1,), len(runs)))
        runs[-1].predicted_end = end
    waiting = []
    for id_, user, cores, walltime in jobs:
        job = JobView(Job(id_, 0, walltime, walltime, nodes=cores, user=user), machine)
        waiting.append(Waiting(job, walltime, 0, 0, len(runs) + len(waiting), (1,)))
    busy = sum(cores for _, _, cores, _ in running)
    return State(0, waiting, runs, np.array([[16 - busy]]), machine)


def test_the_first_job_that_lacks_an_amount_keeps_it():
    """A user has 2 cores left until 100. Behind a job of 7, only jobs that end by then or leave 7 may start."""
    state = standing(
        *(("other", "a", 4, 500), ("first", "b", 7, 50), ("long", "b", 2, 500), ("more", "b", 1, 500)),
        *(("short", "b", 2, 100), ("large", "b", 4, 50)),
        running=[("runs", "b", 6, 100)],
    )
    held, keepers = state.profile().held_back(state.queue)
    assert [job.id for job, back in zip(state.queue, held, strict=True) if back] == ["first", "long", "large"]
    assert [job.id for job in keepers] == ["first"]


@pytest.mark.parametrize(("high", "held"), [(160.0, ["large"]), (80.0, ["large", "long"])])
def test_a_job_that_waits_for_a_higher_cap_holds_back_only_jobs_that_would_delay_it(high, held):
    """There is power for 4 cores until 100, then for 16 or for the 8 that the large job needs."""
    cap = Power({"core": 10.0}, idle=0.0, cap=((0, 40.0), (100, high)), every=1000)
    machine = replace(Machine.pool(16), power=cap)
    waiting = []
    for id_, cores, walltime in (("large", 8, 50), ("long", 4, 500), ("short", 4, 100)):
        job = JobView(Job(id_, 0, walltime, walltime, nodes=cores), machine)
        waiting.append(Waiting(job, walltime, 0, 0, len(waiting), (1,)))
    state = State(0, waiting, [], machine.capacity, machine)
    back, keepers = state.profile().held_back(waiting)
    assert [job.id for job, is_held in zip(waiting, back, strict=True) if is_held] == held
    assert [job.id for job in keepers] == ["large"]
