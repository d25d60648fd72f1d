"""Records do not depend on whether the compiled code was there already."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import hashlib, sys
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import generate
jobs = generate("lublin", jobs=1500, processors=32, load=8.0, seed=5)
records = [simulate(jobs, name).jobs.to_csv() for name in ("easy", "easy-sjbf", "lxf")]
print(max(simulate(jobs, "easy").decisions["queued"]) >= 256, hashlib.sha256("".join(records).encode()).hexdigest())
"""


def records(folder):
    """Return the output of a new process. It keeps compiled code in a folder."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, check=True).stdout


@pytest.mark.nightly
def test_a_cold_and_a_warm_cache_give_the_same_records(tmp_path):
    cold = records(tmp_path)
    assert list(tmp_path.rglob("*.nbi"))
    assert cold.startswith(b"True")
    assert records(tmp_path) == cold
