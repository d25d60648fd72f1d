"""A script that starts processes and has no main guard."""

import subprocess
import sys

import pytest
from patience import PATIENCE

SCRIPT = """
from hpcdispatch.bench.campaigns.comparison import compare
from hpcdispatch.workloads import generate

print(compare(generate("lublin", jobs=5, processors=16), ["fcfs", "easy"], workers=2).table)
"""


@pytest.mark.nightly  # It starts processes that end at once; each takes seconds.
def test_no_table_but_one_line_that_names_the_guard(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, tmp_path / "script.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("Traceback") == 1
    assert "needs the guard if __name__ == '__main__'" in done.stderr.splitlines()[-1]
