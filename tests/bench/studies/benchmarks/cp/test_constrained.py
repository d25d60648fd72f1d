"""Random simulations under a power cap and a maintenance window: neither is broken, and it is seen if one is."""

from collections import Counter

import pytest
from click.testing import CliRunner

from hpcdispatch.bench.studies.benchmarks.cp import constrained
from hpcdispatch.bench.studies.benchmarks.cp.constrained import DISPATCHERS, broken, drawn, simulated
from hpcdispatch.dispatchers.site.machine_rules import ClosedNodes
from hpcdispatch.simulation import check, violations


@pytest.mark.parametrize("name", DISPATCHERS)
def test_neither_is_broken(name):
    for seed in range(5000, 5003):
        case = drawn(seed)
        result = simulated(case, name, constrained=True)
        assert broken(case, result) == set()
        check(case.ruled, result)


def test_the_count_sees_what_the_validator_sees():
    seen = Counter()
    for seed in range(5):
        case = drawn(seed)
        result = simulated(case, "hcp3", constrained=False)
        lines = list(violations(case.ruled, result))
        found = broken(case, result)
        told = {"maintenance": "closed in", "power": "of watts taken"}
        assert {name for name, words in told.items() if any(words in line for line in lines)} == found
        seen.update(found)
    assert min(seen["power"], seen["maintenance"]) > 0


def test_prints_a_row_for_each_dispatcher():
    done = CliRunner().invoke(constrained.main, ["--simulations", "2", "--markdown"])
    assert done.exit_code == 0
    assert [line.split("|")[1].strip() for line in done.output.splitlines() if line.startswith("| ")][2:] == [
        "hcp3",
        "pcp-fast",
    ]


def test_fails_if_one_is_broken(monkeypatch):
    monkeypatch.setattr(ClosedNodes, "closed", lambda self, begin, end: ())
    done = CliRunner().invoke(constrained.main, ["--simulations", "2"])
    assert done.exit_code == 1
    assert "simulations break a constraint" in done.output
