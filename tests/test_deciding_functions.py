"""Kinds of one policy decide in the same module."""

import pytest
from deciding_functions import MACHINES, deciding_functions

#: Name to the module in which all of a policy's starts are decided.
MODULES = {
    "fcfs": "dispatchers.backfilling.list_scheduling",
    "sjf": "dispatchers.backfilling.list_scheduling",
    "ljf": "dispatchers.backfilling.list_scheduling",
    "lxf": "dispatchers.backfilling.list_scheduling",
    "easy": "dispatchers.profile",
    "easy-sjbf": "dispatchers.profile",
    "pbs": "dispatchers.profile",
    "conservative": "dispatchers.backfilling.conservative",
    "rounds": "dispatchers.backfilling.conservative",
    "lookahead": "dispatchers.lookahead.lookahead",
    "hcp3": "dispatchers.cp.constraint_programming",
    "pcp3": "dispatchers.cp.constraint_programming",
    "slurm": "dispatchers.slurm.slurm",
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", MODULES)
def test_decides_in_its_module(name):
    found = deciding_functions(name)
    assert set(found) == set(MACHINES)
    for places in found.values():
        assert {place[: len(MODULES[name])] for place in places} == {MODULES[name]}
