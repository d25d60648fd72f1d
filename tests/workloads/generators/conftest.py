"""What generated workloads are in other processes."""

import os
import subprocess
import sys

import pytest


@pytest.fixture
def digests_elsewhere():
    """Give the digests of an expression's value in two processes with different hashes."""

    def digests(expression):
        program = f"from hpcdispatch.workloads import generate; print({expression}.digest())"
        return {
            subprocess.run(
                [sys.executable, "-c", program],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            for seed in ("1", "77")
        }

    return digests
