"""``hpcdispatch compile``."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hpcdispatch.cli.commands.compile_ahead import FAMILIES, compile_for, crowd
from hpcdispatch.dispatchers import create_dispatcher
from hpcdispatch.dispatchers.backfilling.counted import LONG
from hpcdispatch.simulation import simulate


def test_says_what_was_compiled_for_each(invoke):
    found = invoke("compile", "sjf", "fcfs", "--workers", "1")
    assert found.exit_code == 0, found.stderr
    assert [line.split()[0] for line in found.stdout.splitlines()[:2]] == ["sjf", "fcfs"]


def test_all_that_is_run_is_compiled():
    first, again = (compile_for(["fcfs"]) for _ in range(2))
    assert [name for name, *_ in first] == ["fcfs"]
    assert again[0][1] == 0


@pytest.mark.parametrize("name", ["easy", "easy-sjbf", "lxf"])
def test_the_crowd_is_long_enough_for_the_compiled_search_of_a_queue(name):
    assert simulate(crowd(), name).decisions["queued"].max() > LONG


@pytest.mark.parametrize("name", [*itertools.chain.from_iterable(FAMILIES)])
def test_what_is_compiled_without_a_name_exists(name):
    create_dispatcher(name)


def test_an_unknown_dispatcher_is_told_in_one_line(invoke):
    found = invoke("compile", "eazy")
    assert found.exit_code == 2
    assert "unknown dispatcher 'eazy' (did you mean easy?)" in found.stderr


#: Prints what every registered dispatcher compiles on small workloads.
_SIMULATE_ALL = """
import json
import sys
import warnings

sys.path.insert(0, sys.argv[1])
warnings.simplefilter("ignore")

from conftest import quick
from numba.core.event import Listener, register

from hpcdispatch import simulate
from hpcdispatch.dispatchers import registry
from hpcdispatch.testing import cluster, moldable, overrunning, pool, stochastic, urgent


class Compiled(Listener):
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("hpcdispatch."):
            found.append((name, workload.provenance.source, function.__qualname__))

    def on_end(self, event):
        pass


found = []
register("numba:compile", Compiled())
for name in registry.names():
    for workload in pool(), cluster(), moldable(), overrunning(), stochastic(), urgent():
        simulate(workload, quick(name)).summary()
print(json.dumps(found))
"""


@pytest.mark.nightly
def test_a_first_simulation_compiles_nothing(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-m", "hpcdispatch", "compile"], check=True, capture_output=True, env=environment)
    tests = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", _SIMULATE_ALL, tests]
    found = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert json.loads(found.stdout) == []
