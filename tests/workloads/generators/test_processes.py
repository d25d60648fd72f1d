"""A seed gives the same workload in any process, whatever the hashes of texts are."""

import os
import subprocess
import sys

import pytest

from hpcdispatch.workloads import generate

SPECS = (
    "lublin:jobs=300",
    "theta:days=2",
    "stochastic:large=20",
    "stochastic:small_share=0.4,work_rate=0.1,window=2,large=40,processors=beta",
)


@pytest.mark.nightly
def test_workloads_are_the_same_in_a_process_of_other_hashes():
    program = "import sys, hpcdispatch as hd\nfor spec in sys.argv[1:]: print(hd.generate(spec, seed=3).digest())"
    ran = subprocess.run(
        [sys.executable, "-c", program, *SPECS],
        env={**os.environ, "PYTHONHASHSEED": "77"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == [generate(spec, seed=3).digest() for spec in SPECS]
    for spec in SPECS:
        assert generate(spec, seed=3).digest() != generate(spec, seed=4).digest()
