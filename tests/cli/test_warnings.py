"""Warnings of the library on the command line."""

import pytest

import hpcdispatch as hd
from hpcdispatch.base.installed import parts_of_script


class Twice:
    def predict(self, job, now):
        return 2.0 * job.walltime

    def observe(self, job):
        pass


@pytest.fixture
def twice():
    """Register a predictor by the name of twice."""
    hd.register("predictor", "twice", Twice)
    yield
    parts_of_script("hpcdispatch.predictors").pop("twice")


@pytest.mark.filterwarnings("default")
def test_the_program_prints_one_line(invoke, twice):
    found = invoke("run", "lublin:jobs=20,processors=16", "--predictor", "twice", "--overrun", "kill")
    assert found.exit_code == 0, found.stderr
    told = [line for line in found.stderr.splitlines() if "above the walltime" in line]
    assert told == [
        "hpcdispatch: warning: Twice: 20 predictions above the walltime count as the walltime, because overrun=kill "
        "ends jobs there; the predictor scaled:factor=2 keeps longer ones"
    ]
    assert ".py" not in found.stderr
