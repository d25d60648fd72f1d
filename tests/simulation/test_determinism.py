"""The same from run to run, and nothing else touched."""

import inspect
import logging
import os
import random
import subprocess
import sys

import numpy as np

from hpcdispatch.dispatchers import FCFS, registry
from hpcdispatch.simulation import simulate
from hpcdispatch.testing import assert_same_records, cluster, overrunning

IMPORTS = """
import sys
from hpcdispatch.simulation import simulate
from hpcdispatch.testing import cluster, overrunning
"""


def save(folder):
    """Save results of three dispatchers on two workloads."""
    for name in ("easy", "easy-sjbf:placement=best-fit", "conservative"):
        for workload in (cluster(40), overrunning(30)):
            result = simulate(workload, name, "last2" if name == "easy" else "heuristic", overrun="resubmit", seed=3)
            result.save(f"{folder}/{name.partition(':')[0]}{len(workload)}")


def test_the_same_bytes_in_processes_of_different_hash_seeds(tmp_path):
    program = f"{IMPORTS}\n{inspect.getsource(save)}\nsave(sys.argv[1])"
    other_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": other_seed}
    subprocess.run([sys.executable, "-c", program, tmp_path / "other"], check=True, env=environment)
    save(tmp_path / "own")
    written = []
    for folder in (tmp_path / "own", tmp_path / "other"):
        files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("timings."))
        written.append({str(path.relative_to(folder)): path.read_bytes() for path in files})
    assert len(written[0]) == 3 * 2 * 5  # but for the measured times: three tables, the manifest, their checksums
    assert written[0] == written[1]


def test_two_simulations_at_once():
    # One runs from within the decisions of the other.
    inner_results = []

    class Nested(FCFS):
        def dispatch(self, state):
            if state.now % 3 == 0 and len(inner_results) < 5:
                inner_results.append(simulate(overrunning(), "easy", "last2", overrun="resubmit"))
            return super().dispatch(state)

    outer = simulate(cluster(), Nested(), "heuristic")
    assert_same_records(outer, simulate(cluster(), "fcfs", "heuristic"))
    alone = simulate(overrunning(), "easy", "last2", overrun="resubmit")
    assert len(inner_results) == 5
    for inner in inner_results:
        assert_same_records(inner, alone)


def test_one_object_serves_again(registered):
    dispatcher = registry.create(registered)
    first = simulate(cluster(20), dispatcher)
    simulate(overrunning(20), dispatcher)
    assert_same_records(first, simulate(cluster(20), dispatcher))


def test_nothing_is_touched(registered, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    loggers = ["", "accasim", "hpcdispatch", "hpcdispatch.simulation"]

    def state():
        handlers = [(list(logging.getLogger(name).handlers), logging.getLogger(name).level) for name in loggers]
        drawn = np.random.get_state()[1].tolist()  # noqa: NPY002
        return random.getstate(), drawn, handlers, hasattr(logging.Logger, "trace"), sorted(os.environ)

    before = state()
    simulate(cluster(30), registered, "last2", overrun="resubmit")
    assert state() == before
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_importing_is_quiet(tmp_path):
    program = "import logging, hpcdispatch.simulation; assert not logging.getLogger().handlers"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []
