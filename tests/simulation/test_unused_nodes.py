"""Nodes that no job can use change nothing. Fields without effect are reported once."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from combinations import each_value

from hpcdispatch.learn.policies import PolicyDispatcher
from hpcdispatch.simulation import UnboundedWarning, UnheededWarning, check, simulate
from hpcdispatch.workloads import Job, Limit, Machine, Power, Reservation, Shape, Workload, generate

EACH = ["easy", "conservative", "lookahead", "guarded", "portfolio", "hcp3", "pcp3", "rounds", "sejf", "policy"]


def with_licences(machine, front):
    """Return a machine with a node of only licences, before or behind the others."""
    capacity = np.zeros((machine.nodes + 1, len(machine.resources) + 1), dtype=int)
    capacity[front : machine.nodes + front, :-1] = machine.capacity
    capacity[0 if front else -1, -1] = 7
    return Machine((*machine.resources, "licence"), capacity)


@pytest.mark.parametrize(("dispatcher", "front"), each_value(EACH, [0, 1]))
def test_a_node_that_no_job_can_use_changes_no_start(dispatcher, front):
    workload = generate("lublin", jobs=60, processors=16, load=1.1, seed=4)
    other = Workload(workload.jobs, with_licences(workload.machine, front))
    result = simulate(other, dispatcher, "last2")
    check(other, result)
    assert result.jobs["start"].tolist() == simulate(workload, dispatcher, "last2").jobs["start"].tolist()
    assert {node for placement in result.jobs["placement"] for node in placement.tolist()} == {front}
    assert result.manifest["machine"]["nodes"] == 2


@pytest.mark.parametrize("dispatcher", EACH)
def test_a_resource_of_which_there_is_none_changes_no_start(dispatcher):
    workload = generate("lublin", jobs=40, processors=16, load=1.1, seed=4)
    bad = Job("bad", 0, 60, 60, 1, {"core": 1, "gpu": 1})
    other = Workload((bad, *workload.jobs), Machine(("core", "gpu"), [[16, 0]]))
    result = simulate(other, dispatcher, "last2")
    check(other, result)
    assert result.jobs["start"].tolist()[1:] == simulate(workload, dispatcher, "last2").jobs["start"].tolist()
    assert result.jobs["reason"][0] == "asks for 1 slots of core 1, gpu 1; the machine has room for 0"


def test_a_policy_sees_the_free_share_of_what_there_is():
    # All jobs request GPUs. The node with cores is left out, and no cores remain.
    seen = []
    policy = PolicyDispatcher(lambda shown, mask: seen.append(shown[0].tolist()) or 0, {"id": "PickJob-v0"})
    jobs = [Job("a", 0, 60, 60, 1, {"gpu": 1}), Job("b", 0, 60, 60, 1, {"gpu": 2})]
    for machine in (Machine(("core", "gpu"), [[0, 4], [8, 0]]), Machine(("gpu",), [[4]])):
        simulate(Workload(jobs, machine), policy)
    first = seen[: len(seen) // 2]
    second = seen[len(seen) // 2 :]
    assert first == second
    assert [row[3] for row in first] == [0.25, 0.5]
    assert [row[6] for row in first] == [1, 0.75]


@pytest.mark.parametrize("rules", [{"licences": {"x": 2}}, {"limits": [Limit(9)]}, {"power": Power({"licence": 3})}])
def test_rules_that_name_no_node_change_nothing_of_it(rules):
    workload = generate("lublin", jobs=60, processors=16, load=1.1, seed=4)
    machine = replace(with_licences(workload.machine, 1), **rules)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnboundedWarning)
        result = simulate(Workload(workload.jobs, machine), "guarded", "last2")
    assert result.jobs["start"].tolist() == simulate(workload, "guarded", "last2").jobs["start"].tolist()


def test_exclusive_jobs_on_one_node_in_use_are_said():
    jobs = [Job(str(number), 0, 60, 60, exclusive=True) for number in range(2)]
    workload = Workload(jobs, with_licences(Machine.pool(4), 1))
    with pytest.warns(UnheededWarning, match="exclusive jobs share a machine of one node"):
        assert simulate(workload, "easy").jobs["start"].tolist() == [0, 0]


def test_a_node_that_a_shape_can_use_stays():
    machine = Machine(("core", "gpu"), [[4, 0], [0, 2]])
    jobs = [
        Job("a", 0, 10, 10, 1, {"core": 4}),
        Job("b", 0, 10, 10, 1, {"core": 4}, shapes=(Shape(1, 5, 5, {"gpu": 2}),)),
    ]
    result = simulate(Workload(jobs, machine), "sa:over=easy")
    check(Workload(jobs, machine), result)
    assert result.jobs["start"].tolist() == [0, 0]


@pytest.mark.parametrize("dispatcher", ["lookahead", "guarded", "portfolio"])
@pytest.mark.parametrize("machine", [Machine.homogeneous(4, core=2), Machine(("core", "mem"), [[2, 4]] * 3)])
def test_equal_jobs_start_in_the_order_of_the_trace(dispatcher, machine):
    jobs = [Job(str(number), 0, 60, 60, machine.nodes, {"core": 2}) for number in range(5)]
    assert simulate(Workload(jobs, machine), dispatcher).jobs["start"].tolist() == [0, 60, 120, 180, 240]


def test_reservations_of_jobs_without_effect_are_said_once():
    jobs = [Job(str(number), 0, 60, 60, reservation="maint") for number in range(3)]
    workload = Workload(jobs, Machine.pool(4))
    with pytest.warns(UnheededWarning, match=r"^EASY knows no reservations: 3 jobs name one and may start") as warned:
        result = simulate(workload, "easy")
    assert len(warned) == 1
    assert warned[0].filename == __file__
    assert result.manifest["unheeded"] == ["reservation"]


@pytest.mark.parametrize("dispatcher", ["guarded", "portfolio:guard=1"])
@pytest.mark.parametrize(
    ("machine", "reason"),
    [
        (Machine(("core",), [[2], [3]]), "nodes differ, or jobs share them"),
        (
            Machine(("core",), [[4]], reservations=(Reservation(99, 200, amounts={"core": 1}),)),
            "a part of the machine",
        ),
        (Machine.pool(4), ""),
    ],
)
def test_a_bound_that_does_not_hold_is_said_once(dispatcher, machine, reason):
    jobs = [Job(str(number), 10 * number, 60, 60, 1, {"core": 2}) for number in range(9)]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        result = simulate(Workload(jobs, machine), dispatcher)
    assert [each.category for each in warned] == [UnboundedWarning] * bool(reason)
    assert result.manifest.get("unbounded", "").startswith(reason)
    assert all(each.filename == __file__ and reason in str(each.message) for each in warned)
