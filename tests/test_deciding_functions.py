"""Each dispatcher decides in few places. Kinds of one policy share them."""

import pytest
from deciding_functions import MACHINES, deciding_functions

from hpcdispatch.dispatchers import registry

#: Name to the module in which all of a policy's starts are decided.
MODULES = {
    "fcfs": "dispatchers.backfilling.list_scheduling",
    "sjf": "dispatchers.backfilling.list_scheduling",
    "ljf": "dispatchers.backfilling.list_scheduling",
    "lxf": "dispatchers.backfilling.list_scheduling",
    "easy": "dispatchers.backfilling.easy",
    "easy-sjbf": "dispatchers.backfilling.easy",
    "pbs": "dispatchers.backfilling.easy",
    "conservative": "dispatchers.backfilling.conservative",
    "rounds": "dispatchers.backfilling.conservative",
    "lookahead": "dispatchers.lookahead.lookahead",
    "hcp3": "dispatchers.cp.constraint_programming",
    "pcp3": "dispatchers.cp.constraint_programming",
    "slurm": "dispatchers.slurm.slurm",
}


@pytest.mark.parametrize("name", [name for name in registry.names() if name != "pcp"])
def test_decides_in_few_places(name):
    found = deciding_functions(name)
    assert set(found) == set(MACHINES)
    for places in found.values():
        assert 1 <= len(places) <= 3
        if name in MODULES:
            assert {place[: len(MODULES[name])] for place in places} == {MODULES[name]}
