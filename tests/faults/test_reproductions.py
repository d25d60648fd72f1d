"""A reproduction that is interrupted keeps its finished simulations, and gives the same result in the end."""

from random import Random

import pytest

from faults.reproductions import NAMES, OF_TRACES, failure


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.traces] * (name in OF_TRACES)) for name in NAMES]
)
def test_an_interrupted_reproduction_goes_on(tmp_path, name):
    wrong, ended = failure(name, Random(name), tmp_path)
    assert not wrong
    assert ended
