"""Rules of plans on groups of nodes: jobs in one group, and jobs spread over several."""

import numpy as np
import pandas as pd
import pytest

from hpcdispatch import Job
from hpcdispatch.dispatchers import ConstraintProgramming
from hpcdispatch.dispatchers.site import SameRack, SpreadOver
from hpcdispatch.simulation import InvariantError, check, simulate
from hpcdispatch.workloads import Machine, Workload

MACHINE = Machine.homogeneous(8, core=4, levels={"rack": 4, "switch": 2})
FORMS = {"pcp-fast": {}, "pcp": {"horizon": "all"}, "hcp": {"formulation": "hcp"}, "lists": {"solver": "none"}}


def drawn(count=14, seed=4):
    rng = np.random.default_rng(seed)
    jobs = []
    for number in range(count):
        run = int(rng.integers(5, 80))
        nodes = int(rng.integers(1, 5))
        user = str(rng.choice(["ann", "ben"]))
        jobs.append(Job(str(number), 3 * number, run, run, nodes, {"core": int(rng.choice([2, 4]))}, user=user))
    return Workload(jobs, MACHINE)


def racks(placement):
    return {node // 4 for node in placement.tolist()}


@pytest.mark.parametrize("form", FORMS)
def test_jobs_stay_in_one_rack(form):
    workload = drawn()
    rule = SameRack(who="ann")
    result = simulate(workload, ConstraintProgramming(constraints=[rule], **FORMS[form]))
    check(workload, result, [rule])
    for job, placement in zip(workload.jobs, result.jobs["placement"], strict=True):
        assert job.user != "ann" or len(racks(placement)) == 1
    assert set(result.jobs["status"]) == {"completed"}


@pytest.mark.parametrize("form", FORMS)
def test_jobs_are_spread_over_racks(form):
    workload = drawn()
    rule = SpreadOver(2, who="ben")
    result = simulate(workload, ConstraintProgramming(constraints=[rule], **FORMS[form]))
    check(workload, result, [rule])
    for job, placement, status in zip(workload.jobs, result.jobs["placement"], result.jobs["status"], strict=True):
        assert job.user != "ben" or status != "completed" or len(racks(placement)) == min(2, job.nodes)


@pytest.mark.parametrize(
    ("rule", "placement", "message"),
    [
        (SameRack(), [0, 4], "constraint same-rack: job 0 lies on 2 groups of level rack, may lie on 1"),
        (SpreadOver(2), [0, 1], "constraint spread-over: job 0 lies on 1 groups of level rack, must lie on 2"),
    ],
)
def test_broken_placements_are_caught(rule, placement, message):
    workload = Workload([Job("0", 0, 10, 10, 2, {"core": 4})], MACHINE)
    result = simulate(workload, "fcfs")
    for frame in (result.jobs, result.attempts):
        frame["placement"] = pd.Series([np.array(placement)], index=frame.index, dtype=object)
    check(workload, result)
    with pytest.raises(InvariantError, match=message):
        check(workload, result, [rule])


def test_a_rule_by_name():
    workload = drawn(6)
    result = simulate(workload, "pcp-fast:constraints=same-rack(switch;ann)+spread-over(2;rack;ben)")
    check(workload, result, [SameRack("switch", "ann"), SpreadOver(2, "rack", "ben")])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SpreadOver(0), "groups must be a whole number >= 1, got 0"),
        (lambda: SameRack(by="host"), "by must be"),
        (lambda: SameRack(3), "level must be"),
    ],
)
def test_bad_rules_are_one_line(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_level_that_the_machine_lacks_is_one_line():
    with pytest.raises(
        Exception, match=r"same-rack: expected a level of the machine: switch, rack; got 'row'"
    ) as error:
        simulate(drawn(3), ConstraintProgramming(constraints=[SameRack("row")]))
    assert "\n" not in str(error.value)
