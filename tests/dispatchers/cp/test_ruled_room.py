"""CP plans under rules of the machine: their room comes from the profile of the state."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from ruled_workloads import ruled

from hpcdispatch.dispatchers import JobView, Running, State, Waiting
from hpcdispatch.simulation import simulate, violations
from hpcdispatch.workloads import Job, Machine, Power, Reservation, Workload

POOL = Machine.pool(8)


def waiting(machine, number, walltime, nodes, predicted=None, **fields):
    job = Job(str(number), 0, 1, walltime, nodes, {"core": 1}, **fields)
    return Waiting(JobView(job, machine), predicted or walltime, 0, 0, number, machine.demand(job.per_node))


@pytest.mark.parametrize(
    "dispatcher", ["hcp3", "pcp-fast", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("pcp3", "pcp21"))]
)
def test_no_start_is_against_a_rule(dispatcher):
    for seed in range(1000, 1006):
        workload = ruled(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = simulate(workload, dispatcher, ("walltime", "oracle")[seed % 2], overrun="kill")
        assert list(violations(workload, result)) == [], seed
        assert "refused" not in result.manifest
        assert (result.jobs["status"] != "waiting").all()


@pytest.mark.parametrize("dispatcher", ["hcp3", "pcp3"])
def test_a_plan_knows_that_a_cap_falls(dispatcher):
    # The wide job would run into the lower cap. The narrow one may.
    machine = replace(POOL, power=Power({"core": 10}, idle=0, cap=((0, 80), (50, 40), (100, 80))))
    jobs = [Job("1", 0, 60, 60, 6), Job("2", 0, 60, 60, 4), Job("3", 0, 20, 20, 4)]
    result = simulate(Workload(jobs, machine), dispatcher, overrun="kill")
    assert "refused" not in result.manifest
    assert result.jobs["start"].tolist() == [100, 0, 0]


def test_quotas_hold_running_jobs_and_lower_limits():
    machine = replace(POOL, power=Power({"core": 1}, idle=0, cap=((0, 8), (50, 4), (100, 8))))
    run = Running(JobView(Job("0", 0, 1, 90, 2, {"core": 1}), machine), 0, np.zeros(2, dtype=int), (1,), 0)
    run.predicted_end = 30
    queue = [waiting(machine, number, 60, 4) for number in (1, 2)]
    state = State(10, queue, [run], machine.capacity - 2, machine)
    quotas = state.profile().quotas(queue, 200)
    # The running job counts by its walltime, because that reaches the lower limit.
    assert quotas.times.tolist() == [0, 40, 80, 90]
    assert quotas.left.tolist() == [[6000], [2000], [4000], [8000]]
    assert quotas.need.tolist() == [[4000], [4000]]


def test_the_next_fall_is_a_closure_or_a_lower_limit():
    cap = Power({"core": 1}, idle=0, cap=((0, 8), (50, 4), (100, 8)))
    machine = replace(POOL, power=cap, reservations=[Reservation(70, 80), Reservation(5, 20, amounts={"core": 1})])
    profile = State(10, [waiting(machine, 1, 60, 8)], [], machine.capacity, machine).profile()
    assert profile.next_fall(200) == 50
    assert profile.next_fall(50) is None
    assert sorted(closure.begin for closure in profile.closures(200)) == [5, 70]
    assert sorted(closure.begin for closure in profile.closures(60)) == [5]
