"""Campaigns on Dask: a lost worker or a lost client changes nothing in the store."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.bench import cluster
from hpcdispatch.bench.campaign import Store, plan_campaign, run_campaign
from hpcdispatch.bench.campaign_speed import deterministic

with_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="needs dask; install hpcdispatch[cluster]"
)
with_queues = pytest.mark.skipif(
    importlib.util.find_spec("dask_jobqueue") is None, reason="needs dask-jobqueue; install hpcdispatch[cluster]"
)
TEXT = """
dispatchers = ["fcfs", "easy", "easy-sjbf", "lxf"]
predictors = ["walltime", "last2"]
jitter = 30
seeds = 3

[[workload]]
source = "lublin:jobs=400,processors=64,load=0.9"
"""
#: Workers that are ready, their modules imported; ends with its input.
CLUSTER = """
import sys
from distributed import Client, LocalCluster

def warm():
    import os
    import hpcdispatch.bench.cells
    return os.getpid()

if __name__ == "__main__":
    options = dict(n_workers=4, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None)
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        print(cluster.scheduler_address, *client.run(warm).values(), flush=True)
        sys.stdin.read()
"""


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """Return the file of a campaign and what the store of an undisturbed run in one process holds."""
    folder = tmp_path_factory.mktemp("campaign")
    file = folder / "campaign.toml"
    file.write_text(TEXT)
    store = Store(folder / "store")
    run_campaign(plan_campaign(file), store)
    return file, deterministic(store)


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Return the address of a cluster of four processes, and their ids."""
    script = tmp_path_factory.mktemp("cluster") / "cluster.py"
    script.write_text(CLUSTER)
    process = subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    address, *workers = process.stdout.readline().split()
    yield address, [int(worker) for worker in workers]
    process.communicate(timeout=60)


def started(file, store, address):
    command = [sys.executable, "-m", "hpcdispatch.cli", "campaign", file, "--out", store.folder, "--cluster", address]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def half_way(process, store):
    while process.poll() is None and len(list(store.finished())) < 10:
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()


@with_dask
def test_a_client_is_killed_half_way_and_started_again(campaign, running, tmp_path):
    file, expected = campaign
    store = Store(tmp_path / "store")
    first = started(file, store, running[0])
    half_way(first, store)
    first.kill()
    first.communicate()
    kept = len(list(store.finished()))
    assert kept < 24
    again = started(file, store, running[0])
    out, err = again.communicate(timeout=120)
    assert again.returncode == 0, err
    assert f"24 cells, {24 - kept} done, {kept} reused, 0 failed" in out
    assert deterministic(store) == expected


@with_dask
def test_a_worker_is_killed_half_way(campaign, running, tmp_path):
    file, expected = campaign
    store = Store(tmp_path / "store")
    process = started(file, store, running[0])
    half_way(process, store)
    os.kill(running[1][0], signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "24 cells, 24 done, 0 reused, 0 failed" in out
    assert deterministic(store) == expected


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"needs distributed; python -m pip install 'hpcdispatch\[cluster\]'"):
        cluster.connect("tcp://127.0.0.1:1").__enter__()


def pem(folder):
    for name in ("ca.pem", "cert.pem", "key.pem"):
        (folder / name).write_text("")
    return cluster.TLS(folder / "ca.pem", folder / "cert.pem", folder / "key.pem")


def test_tls_files_come_together_and_exist(tmp_path):
    made = pem(tmp_path)
    assert made
    assert not cluster.TLS()
    with pytest.raises(InputError, match="expected all of --tls-ca-file, --tls-cert and --tls-key or none"):
        cluster.TLS(ca_file=made.ca_file)
    with pytest.raises(InputError, match="nofile: expected a file in PEM format, got none"):
        cluster.TLS(made.ca_file, made.cert, Path("nofile"))


@with_dask
@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nowhere", "expected tcp://HOST:PORT, tls://HOST:PORT or slurm, got 'nowhere'"),
        ("tls://127.0.0.1:1", "expected tls:// with --tls-... files and tcp:// without"),
    ],
)
def test_an_address_that_is_none(address, message):
    with pytest.raises(InputError, match=message):
        cluster.connect(address).__enter__()


@with_dask
def test_tls_files_are_passed_on(tmp_path):
    security = pem(tmp_path).security()
    assert security.require_encryption
    assert security.tls_ca_file == str(tmp_path / "ca.pem")
    for role in ("client", "scheduler", "worker"):
        assert getattr(security, f"tls_{role}_cert") == str(tmp_path / "cert.pem")
        assert getattr(security, f"tls_{role}_key") == str(tmp_path / "key.pem")


@with_queues
def test_a_queue_is_asked_for_workers_without_dashboards(tmp_path):
    script = (
        "import dask, psutil\nfrom hpcdispatch.bench.cluster import TLS, queue_cluster\n"
        "dask.config.set({'jobqueue.slurm.cores': 1, 'jobqueue.slurm.memory': '2GB'})\n"
        "with queue_cluster('slurm', TLS()) as made:\n"
        "    port = int(made.scheduler_address.rpartition(':')[2])\n"
        "    open_ = [one.laddr for one in psutil.Process().net_connections() if one.status == 'LISTEN']\n"
        "    print(made.job_script(), *{one.ip for one in open_ if one.port != port})\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert "--no-dashboard" in done.stdout
    assert done.stdout.split()[-1] == "127.0.0.1"
