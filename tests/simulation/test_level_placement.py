"""Levels of a machine: jobs within their groups, compact placement, metrics, and the validator's rules."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.simulation import InvariantError, check, simulate, violations
from hpcdispatch.workloads import Job, Machine, Workload

LEVELS = {"rack": ["0-3", "4-7"], "switch": 2}


def machine(nodes=8, cores=1, levels=LEVELS):
    return Machine(("core",), [[cores]] * nodes, levels=levels)


def job(id_, submit, runtime, nodes, **fields):
    return Job(id_, submit, runtime, runtime, nodes, {"core": 1}, **fields)


def drawn(seed, unequal=0.0):
    """Return a loaded machine of 12 nodes, half of its jobs within a level. Every second seed has unlike nodes."""
    rng = np.random.default_rng(seed)
    capacity = np.full((12, 1), 4)
    if seed % 2:
        capacity[::3] = 2
    jobs, now = [], 0
    for number in range(50):
        now += int(rng.integers(0, 12))
        walltime = int(rng.integers(1, 200))
        fields = {}
        if rng.random() < 0.5:
            fields["within"] = str(rng.choice(["rack", "row"]))
            if rng.random() < 0.4:
                fields["within_wait"] = int(rng.choice([0, 50, 300]))
            if rng.random() < 0.3:
                fields["within_groups"] = 2
        if rng.random() < unequal:
            fields["slots"] = ({"core": 2}, {"core": 1})
        else:
            fields |= {"nodes": int(rng.choice([1, 2, 3, 4, 6])), "per_node": {"core": int(rng.integers(1, 3))}}
        jobs.append(Job(str(number), now, int(rng.integers(1, walltime + 1)), walltime, **fields))
    return Workload(jobs, Machine(("core",), capacity, levels={"rack": 3, "row": 6}))


def placed(workload, dispatcher="easy"):
    result = simulate(workload, dispatcher)
    check(workload, result)
    return {row.id: (int(row.start), [int(node) for node in row.placement]) for row in result.jobs.itertuples()}


def on(result, id_, nodes):
    """Return the result with a job on other nodes."""
    found = {}
    for table in ("jobs", "attempts"):
        frame = getattr(result, table).copy()
        nodes_of = [nodes if i == id_ else p for i, p in zip(frame["id"], frame["placement"], strict=True)]
        frame["placement"] = pd.Series([np.array(each) for each in nodes_of], dtype=object)
        found[table] = frame
    return replace(result, **found)


@pytest.mark.parametrize("unequal", [0.0, 0.3])
@pytest.mark.parametrize(
    "dispatcher",
    [
        "easy",
        "easy:placement=compact",
        "fcfs:placement=compact",
        "lxf:placement=best-fit",
        "conservative:placement=compact",
        "cp",
        "sejf",
    ],
)
def test_jobs_lie_within_their_groups(dispatcher, unequal):
    for seed in range(3):
        workload = drawn(seed, unequal)
        check(workload, simulate(workload, dispatcher))


def test_a_job_waits_for_one_group():
    jobs = [job("a", 0, 10, 3), job("b", 0, 20, 3, within="rack"), job("c", 1, 5, 3, within="rack")]
    # Nodes 3 and 7 are free at 1, in two racks: c waits for the end of a.
    assert placed(Workload(jobs, machine())) == {"a": (0, [0, 1, 2]), "b": (0, [4, 5, 6]), "c": (10, [0, 1, 2])}


def test_a_job_that_only_prefers_groups_starts_across_them():
    jobs = [job("a", 0, 10, 3), job("b", 0, 20, 3, within="rack"), job("c", 1, 5, 2, within="rack", within_wait=0)]
    assert placed(Workload(jobs, machine()))["c"] == (1, [3, 7])


def test_a_job_waits_for_groups_only_as_long_as_it_says():
    jobs = [job("a", 0, 50, 3), job("b", 0, 50, 3, within="rack"), job("c", 1, 5, 2, within="rack", within_wait=7)]
    for dispatcher in ("easy", "fcfs", "conservative", "cp"):
        assert placed(Workload(jobs, machine()), dispatcher)["c"] == (8, [3, 7])


def test_jobs_may_ask_for_several_groups():
    jobs = [job("a", 0, 10, 3, within="switch", within_groups=2)]
    assert placed(Workload(jobs, machine()))["a"][0] == 0
    result = simulate(Workload(jobs, machine()), "easy")
    assert result.jobs["groups"].tolist() == [2]


def test_compact_fills_the_smallest_group_that_suffices():
    jobs = [job("a", 0, 100, 1), job("b", 1, 100, 2), job("c", 2, 100, 1), job("d", 3, 100, 4)]
    assert placed(Workload(jobs, machine()), "easy:placement=compact") == {
        "a": (0, [0]),
        "b": (1, [2, 3]),
        "c": (2, [1]),
        "d": (3, [4, 5, 6, 7]),
    }
    assert placed(Workload(jobs, machine()))["b"] == (1, [1, 2])


def test_compact_takes_no_more_groups_than_first_fit_on_the_whole():
    means = [[], []]
    for seed in range(4):
        for found, dispatcher in zip(means, ("easy", "easy:placement=compact"), strict=True):
            found.append(simulate(drawn(seed), dispatcher).summary()["groups_mean"])
    assert np.mean(means[1]) < np.mean(means[0])


def test_groups_are_counted_from_the_placements():
    workload = drawn(2)
    result = simulate(workload, "easy")
    started = [each for each in result.jobs["placement"] if len(each)]
    for level, name in (("rack", "groups_mean"), ("row", "groups_mean_row")):
        groups = [
            sum(any(node in group for node in nodes.tolist()) for group in workload.machine.levels[level])
            for nodes in map(np.asarray, started)
        ]
        assert result.summary()[name] == pytest.approx(np.mean(groups))


def test_a_job_crosses_only_if_one_group_had_room():
    jobs = [job("a", 0, 100, 1), job("b", 1, 100, 2)]  # b is on nodes 1 and 2, and 2 and 3 were free.
    summary = simulate(Workload(jobs, machine()), "easy").summary()
    assert (summary["crossed"], summary["crossed_share"]) == (1, 0.5)
    assert simulate(Workload(jobs, machine()), "easy:placement=compact").summary()["crossed"] == 0


def test_a_machine_without_levels_has_no_group_metrics():
    result = simulate(Workload([job("a", 0, 10, 3)], machine(levels={})), "easy")
    assert "groups" not in result.jobs
    assert "groups_mean" not in result.summary()


def test_the_validator_finds_a_job_outside_of_its_group():
    workload = Workload([job("a", 0, 10, 3, within="rack")], machine())
    result = simulate(workload, "easy")
    check(workload, result)
    with pytest.raises(InvariantError, match=r"job a: runs on .* 2 groups of level rack, may use 1"):
        check(workload, on(result, "a", [2, 3, 4]))


def test_the_validator_counts_several_groups():
    workload = Workload([job("a", 0, 10, 3, within="switch", within_groups=2)], machine())
    result = simulate(workload, "easy")
    assert not list(violations(workload, on(result, "a", [0, 1, 6])))
    assert any("3 groups of level switch" in line for line in violations(workload, on(result, "a", [0, 2, 4])))


def test_the_validator_knows_when_a_job_only_prefers_groups():
    jobs = [job("a", 0, 10, 2, within="rack", within_wait=0), job("b", 0, 10, 2, within="rack", within_wait=1)]
    workload = Workload(jobs, machine())
    result = simulate(workload, "easy")
    assert not list(violations(workload, on(result, "a", [0, 7])))
    assert list(violations(workload, on(result, "b", [3, 7])))


def test_the_validator_finds_unequal_slots_without_room():
    workload = Workload([Job("a", 0, 9, 9, slots=({"core": 8}, {"core": 4}))], machine(2, 8, {}))
    result = simulate(workload, "easy")
    check(workload, result)
    assert any("core" in line for line in violations(workload, on(result, "a", [0, 0])))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"nodes": 5, "within": "rack"}, "in one group of level rack; none has so much room"),
        ({"nodes": 5, "within": "switch", "within_groups": 2}, "in 2 groups of level switch"),
        ({"slots": ({"core": 2},)}, "no node has core 2"),
    ],
)
def test_a_job_that_no_group_could_hold_is_rejected(fields, reason):
    workload = Workload([Job("a", 0, 9, 9, **{"per_node": {"core": 1}, **fields}), job("b", 0, 9, 1)], machine())
    result = simulate(workload, "easy")
    check(workload, result)
    assert result.jobs["status"].tolist() == ["rejected", "completed"]
    assert reason in result.jobs["reason"].iloc[0]


def test_a_job_within_an_unknown_level_is_refused():
    with pytest.raises(InputError, match="job a: within: unknown level 'block'; the machine has: rack, switch"):
        simulate(Workload([job("a", 0, 1, 1, within="block")], machine()), "easy")


def test_compact_without_levels_is_told():
    with pytest.warns(UserWarning, match="placement=compact fills nodes in their order: the machine has no levels"):
        simulate(Workload([job("a", 0, 10, 3)], machine(levels={})), "easy:placement=compact")
