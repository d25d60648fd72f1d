"""The data of a decision goes through the CP dispatchers. It seldom returns to a module that it left."""

import pytest
import returns

#: Constraints are called while candidates are chosen, planned and started.
MOST = {spec: 12 if "constraints" in spec or "molds" in spec else 8 for spec in returns.CP}


@pytest.mark.parametrize("spec", returns.CP)
def test_few_returns(spec):
    way = returns.longest_way(spec)
    assert returns.returns(way) <= MOST[spec], way


def test_a_way_to_and_fro_counts():
    assert returns.returns(["a", "b", "a", "c", "b"]) == 2
