"""Levels of machines and the fields of jobs that name them: reading, writing and bad input."""

import json

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import Job, Machine, Workload, read, write


def machine(levels):
    return Machine(("core",), [[2]] * 8, levels=levels)


def test_a_machine_file_has_levels(tmp_path):
    path = tmp_path / "machine.json"
    levels = {"rack": ["0-3;6", "4-5;7"], "switch": 3}
    path.write_text(json.dumps({"groups": {"n": {"core": 2}}, "resources": {"n": 8}, "levels": levels}))
    found = Machine.from_file(path).levels
    assert found == {"rack": ((0, 1, 2, 3, 6), (4, 5, 7)), "switch": ((0, 1, 2), (3, 4, 5), (6, 7))}


def test_a_bad_level_names_the_machine_file(tmp_path):
    path = tmp_path / "machine.json"
    path.write_text(json.dumps({"groups": {"n": {"core": 2}}, "resources": {"n": 8}, "levels": {"rack": ["0-6"]}}))
    with pytest.raises(InputError, match=r"machine\.json: machine: level rack: node 7 in no group"):
        Machine.from_file(path)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ({"rack": ["0-3", "3-7"]}, "level rack: node 3 is in groups 0 and 1; keep it in one"),
        ({"rack": ["0-3", "5-7"]}, "level rack: node 4 in no group; add each to one"),
        ({"rack": []}, "level rack: node 0 and 7 more in no group"),
        ({"rack": ["0-3", "4-9"]}, r"level rack, group 1: nodes must lie in 0\.\.7, got 9"),
        ({"rack": [[0, 0], [1, 2, 3, 4, 5, 6, 7]]}, "level rack: node 0 is twice in group 0"),
        ({"rack": "0-7"}, "level rack must be a list of groups"),
        ({"rack": [5]}, "level rack: group 0 must be nodes"),
        ({"rack": ["x"]}, "level rack, group 0: nodes must be"),
        ({"rack": 0}, "level rack must be a whole number >= 1"),
        ({"": 2}, "levels must have names such as rack"),
        (3, "levels must be groups of nodes by name"),
    ],
)
def test_bad_levels_are_refused_in_one_line(levels, message):
    with pytest.raises(ValueError, match=message) as told:
        machine(levels)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"within": 3}, "job a: within must be a text"),
        ({"within_groups": 2}, "job a: within_groups and within_wait need a level"),
        ({"within": "rack", "within_groups": 0}, "job a: within_groups must be a whole number >= 1"),
        ({"within": "rack", "within_wait": -1}, "job a: within_wait must be a whole number >= 0"),
        ({"slots": ()}, "job a: slots must be a list of amounts"),
        ({"slots": ({"core": 2}, {"gpu": 1})}, "job a: slots must be multiples of one amount"),
        ({"slots": ({"core": 2}, 3)}, "job a: slot 1: must be amounts by resource"),
    ],
)
def test_bad_fields_are_refused_in_one_line(fields, message):
    with pytest.raises(ValueError, match=message) as told:
        Job("a", 0, 1, 1, **fields)
    assert "\n" not in str(told.value)


def test_levels_and_fields_return_from_a_file(tmp_path):
    jobs = [
        Job("a", 0, 9, 9, 2, {"core": 1}, within="rack", within_groups=2, within_wait=60),
        Job("b", 0, 9, 9, slots=({"core": 2}, {"core": 1})),
        Job("c", 0, 9, 9, 1, {"core": 1}),
    ]
    workload = Workload(jobs, machine({"rack": ["0-3;6", "4-5;7"]}))
    path = tmp_path / "jobs.jsonl"
    write(workload, path)
    again = read(path)
    assert again.machine.levels == workload.machine.levels
    assert list(again.jobs) == jobs
    assert again.digest() == workload.digest()


def test_a_digest_tells_levels_apart():
    jobs = [Job("a", 0, 9, 9, 2, {"core": 1})]
    digests = {Workload(jobs, machine(levels)).digest() for levels in ({}, {"rack": 2}, {"rack": 4})}
    assert len(digests) == 3
