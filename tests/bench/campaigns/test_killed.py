"""A campaign that is killed at random and resumed leaves the store of an undisturbed one."""

import os
import signal
import subprocess
import sys
import time

import pytest
from kept_cells import deterministic

from hpcdispatch.bench.campaigns.execution import Store

JOBS = 150
#: Forks runs and kills each after a random time. Stops when one is complete.
KILLING = """
import os, random, signal, sys, time
from hpcdispatch.bench.campaigns.execution import Store, plan_campaign, run_campaign

plan = plan_campaign(sys.argv[1])
store = Store(sys.argv[2])
run_campaign(plan, Store(sys.argv[3]))  # so that those forked have all they need in memory
rng = random.Random(7)
kills = 0
while True:
    child = os.fork()
    if child == 0:
        run_campaign(plan, store)
        os._exit(0)
    deadline = time.monotonic() + rng.uniform(0.01, 0.5)
    while time.monotonic() < deadline and (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        time.sleep(0.002)
    if ended == (0, 0):
        os.kill(child, signal.SIGKILL)
        ended = os.waitpid(child, 0)
        kills += 1
    for key in store.finished():
        assert store.damage(key) is None, key
    if os.waitstatus_to_exitcode(ended[1]) == 0:
        print(kills)
        break
"""


def unfinished(store):
    return list(store.folder.rglob(".*"))


@pytest.mark.nightly
def test_killed_at_random_instants(campaign, tmp_path):
    file, expected = campaign
    command = [sys.executable, "-c", KILLING, file, tmp_path / "store", tmp_path / "before"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1
    store = Store(tmp_path / "store")
    assert deterministic(store) == expected
    assert not unfinished(store)


@pytest.mark.nightly
def test_the_command_killed_with_two_processes_at_work(campaign, tmp_path):
    file, expected = campaign
    store = Store(tmp_path / "store")
    command = [sys.executable, "-m", "hpcdispatch.cli", "campaign", file, "--out", store.folder, "--workers"]
    first = subprocess.Popen([*command, "2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while first.poll() is None and not list(store.finished()):
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait()
    kept = {key: os.stat(store.path(key)).st_mtime_ns for key in store.finished()}
    assert 0 < len(kept) < 24
    done = subprocess.run([*command, "1"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"24 cells, {24 - len(kept)} done, {len(kept)} reused, 0 failed" in done.stdout
    assert deterministic(store) == expected
    assert {key: os.stat(store.path(key)).st_mtime_ns for key in kept} == kept
    assert not unfinished(store)
