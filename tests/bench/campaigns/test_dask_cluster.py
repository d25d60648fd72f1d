"""Campaigns on Dask. A lost worker or client changes nothing in the store."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme
from kept_cells import deterministic
from patience import PATIENCE

from hpcdispatch.base import InputError
from hpcdispatch.bench.campaigns import dask_cluster as cluster
from hpcdispatch.bench.campaigns.execution import Store, plan_campaign, run_campaign

with_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="needs dask; install hpcdispatch[cluster]"
)
with_queues = pytest.mark.skipif(
    importlib.util.find_spec("dask_jobqueue") is None, reason="needs dask-jobqueue; install hpcdispatch[cluster]"
)
JOBS = 400
#: Run so many workers with imported modules. They use TLS if its files are given. They end with the input.
CLUSTER = """
import sys
from pathlib import Path
from distributed import Client, LocalCluster
from hpcdispatch.bench.campaigns.dask_cluster import TLS

def warm():
    import os
    import hpcdispatch.bench.campaigns.cells
    return os.getpid()

if __name__ == "__main__":
    tls = TLS(*map(Path, sys.argv[2:]))
    options = dict(n_workers=int(sys.argv[1]), threads_per_worker=1, processes=True, host="127.0.0.1",
        dashboard_address=None, protocol="tls://" if tls else "tcp://", security=tls.security())
    with LocalCluster(**options) as cluster, Client(cluster, security=tls.security()) as client:
        print(cluster.scheduler_address, *client.run(warm).values(), flush=True)
        sys.stdin.read()
"""


@contextmanager
def cluster_of(folder, *arguments):
    """Run a cluster in its own processes. Yield its address and the ids of its workers."""
    script = folder / "cluster.py"
    script.write_text(CLUSTER)
    command = [sys.executable, script, *map(str, arguments)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        address, *workers = process.stdout.readline().split()
        yield address, [int(worker) for worker in workers]
    finally:
        process.communicate(timeout=PATIENCE)


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Return the address of a cluster of two processes, and their ids."""
    with cluster_of(tmp_path_factory.mktemp("cluster"), 2) as found:
        yield found


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """Return the TLS files of two authorities that know nothing of each other."""
    folder = tmp_path_factory.mktemp("certified")
    found = []
    for name in ("ours", "theirs"):
        authority = trustme.CA()
        certificate = authority.issue_cert("127.0.0.1")
        blobs = authority.cert_pem, certificate.cert_chain_pems[0], certificate.private_key_pem
        paths = [folder / f"{name}-{kind}.pem" for kind in ("ca", "cert", "key")]
        for blob, path in zip(blobs, paths, strict=True):
            blob.write_to_path(path)
        found.append(paths)
    return found


def started(file, store, address):
    command = [
        sys.executable,
        "-m",
        "hpcdispatch.cli",
        "campaign",
        file,
        "--out",
        store.folder,
        "--cluster",
        address,
        "--insecure",
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_until(process, store, cells):
    """Wait until a store has so many cells. The process must still run."""
    while process.poll() is None and len(list(store.finished())) < cells:
        time.sleep(0.02)
    assert process.poll() is None, process.communicate()


@with_dask
@pytest.mark.nightly
def test_a_client_is_killed_half_way_and_a_worker_of_the_next_one(campaign, running, tmp_path):
    file, expected = campaign
    store = Store(tmp_path / "store")
    first = started(file, store, running[0])
    wait_until(first, store, 5)
    first.kill()
    first.communicate()
    kept = len(list(store.finished()))
    assert kept < 20
    again = started(file, store, running[0])
    wait_until(again, store, kept + 1)
    os.kill(running[1][0], signal.SIGKILL)
    out, err = again.communicate(timeout=PATIENCE)
    assert again.returncode == 0, err
    assert f"24 cells, {24 - kept} done, {kept} reused, 0 failed" in out
    assert deterministic(store) == expected


#: Registers a predictor in the script itself, which no worker can import.
OWN = """
import warnings
import hpcdispatch as hd
from hpcdispatch.cli import main

class Twice:
    def predict(self, job, now):
        return 2.0 * job.walltime
    def observe(self, job):
        pass

if __name__ == "__main__":
    hd.register("predictor", "twice", Twice)
    main()
"""
OWN_CAMPAIGN = """
dispatchers = ["easy"]
predictors = ["twice"]
overrun = "kill"
[[workload]]
name = "a"
source = "lublin:jobs=40,processors=16"
"""


@with_dask
@pytest.mark.nightly
def test_parts_of_a_script_and_their_warnings_reach_and_leave_the_workers(running, tmp_path):
    script, file = tmp_path / "own.py", tmp_path / "own.toml"
    script.write_text(OWN)
    file.write_text(OWN_CAMPAIGN)
    command = [sys.executable, script, "campaign", file, "--out", tmp_path / "store", "--cluster", running[0]]
    done = subprocess.run([*command, "--insecure"], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 cell, 1 done" in done.stdout
    assert "warning: Twice: 40 predictions above the walltime count as the walltime" in done.stderr


@pytest.mark.nightly
@with_dask
def test_an_encrypted_cluster_takes_those_with_the_files_of_its_authority(campaign, certified, tmp_path):
    file, expected = campaign
    (ca, cert, key), theirs = certified
    store = Store(tmp_path / "store")
    with cluster_of(tmp_path, 1, ca, cert, key) as (address, _):
        assert address.startswith("tls://127.0.0.1:")
        with cluster.connect(address, cluster.TLS(ca, cert, key)) as client:
            outcome = run_campaign(plan_campaign(file), store, cluster=client)
        for files in (theirs, (ca, *theirs[1:]), (theirs[0], cert, key), (ca, cert, theirs[2])):
            with pytest.raises(InputError, match=f"--cluster {address}: no scheduler answers there ") as caught:
                cluster.connect(address, cluster.TLS(*files)).__enter__()
            assert "\n" not in str(caught.value)
        with pytest.raises(InputError, match=r"--cluster tcp:.*: no scheduler answers there "):
            cluster.connect(address.replace("tls", "tcp"), insecure=True).__enter__()
    assert len(outcome.done) == 24
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
        (
            "tcp://127.0.0.1:1",
            "over plain TCP every process that reaches the scheduler runs commands as you; .*--insecure",
        ),
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


#: The first lines of every script for a queue.
PREPARED = """
import dask, psutil, signal, sys
from pathlib import Path
from hpcdispatch.bench.campaigns.dask_cluster import TLS, connect, queue_cluster
dask.config.set({'jobqueue.slurm.cores': 1, 'jobqueue.slurm.memory': '2GB'})
"""


def asked(tmp_path, code, sbatch=""):
    """Run code that uses a queue with the given sbatch script."""
    (tmp_path / "bin").mkdir()
    for name, text in (("sbatch", sbatch), ("scancel", "")):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-c", PREPARED + code]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)


@pytest.mark.nightly
@with_queues
def test_a_queue_is_asked_for_workers_without_dashboards(tmp_path):
    done = asked(
        tmp_path,
        "before = signal.getsignal(signal.SIGINT)\n"
        "with queue_cluster('slurm', TLS(), 'lo') as made:\n"
        "    open_ = [one.laddr for one in psutil.Process().net_connections() if one.status == 'LISTEN']\n"
        "    print(made.job_script(), *{one.ip for one in open_})\n"
        "sys.exit(signal.getsignal(signal.SIGINT) is not before)  # which importing dask_jobqueue changes\n",
    )
    assert done.returncode == 0, done.stderr
    assert "--no-dashboard" in done.stdout
    assert done.stdout.split()[-1] == "127.0.0.1"


@pytest.mark.nightly
@with_queues
def test_a_queue_that_takes_no_job_is_named_with_its_answer(tmp_path):
    code = (
        "try:\n    connect('slurm', workers=2).__enter__()\n"
        "except ValueError as error:\n    print(type(error).__name__, error)\n"
    )
    done = asked(tmp_path, code, "echo 'sbatch: error: invalid partition' >&2; exit 1")
    expected = "InputError --cluster slurm: the queue takes no job (sbatch: error: invalid partition)\n"
    assert (done.returncode, done.stdout) == (0, expected), done.stderr


#: A cluster of a queue that starts no worker. Prints its address and files. Ends with its input.
ASKED = """
import json
with connect('slurm', interface=sys.argv[1], insecure=sys.argv[2] == 'insecure') as client:
    files = {str(path): oct(path.stat().st_mode & 0o777) for path in Path().glob('.unfinished-*/*')}
    files |= {str(path): oct(path.stat().st_mode & 0o777) for path in Path().glob('.unfinished-*')}
    listening = {one.laddr.ip for one in psutil.Process().net_connections() if one.status == 'LISTEN'}
    print(json.dumps([client.scheduler.address, files, sorted(listening)]), flush=True)
    sys.stdin.read()
"""

#: Clients that let the scheduler run a command. They use no TLS, files of another authority, or its own files.
OUTSIDE = """
import sys
from pathlib import Path
from distributed import Client
from distributed.security import Security
from hpcdispatch.bench.campaigns.dask_cluster import TLS
address, *files = sys.argv[1:]
for address, security, patience in (
    (address.replace("tls://", "tcp://"), None, 1),
    (address.replace("tcp://", "tls://"), Security.temporary(), 1),
    (address, TLS(*map(Path, files)).security(), 5),
):
    try:
        with Client(address, security=security, timeout=patience) as client:
            print("ran" if client.run_on_scheduler(lambda: 6 * 7) == 42 else "wrong")
    except (OSError, ValueError, TypeError):
        print("refused")
"""


@contextmanager
def queue_asked(tmp_path, interface, how="tls"):
    """Run a cluster that requests workers from a queue. Yield its address, its files and its endpoint."""
    (tmp_path / "bin").mkdir(exist_ok=True)
    for name, text in (("sbatch", "echo Submitted batch job 7"), ("scancel", "")):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-c", f"{PREPARED}{ASKED}", interface, how]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=environment
    )
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.communicate(timeout=PATIENCE)


def outside(address, files, before=()):
    """Return what the clients of another process get."""
    command = [*before, sys.executable, "-c", OUTSIDE, address, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    return done.stdout.split() or done.stderr


@pytest.mark.nightly
@with_queues
def test_a_queue_takes_none_but_those_with_the_files_of_the_campaign(tmp_path):
    with queue_asked(tmp_path, "lo") as (address, files, listening):
        assert address.startswith("tls://127.0.0.1:")
        assert listening == ["127.0.0.1"]
        names = sorted(files)
        assert [files[name] for name in names] == ["0o700", "0o600", "0o600", "0o600"]
        assert outside(address, [tmp_path / name for name in names[1:]]) == ["refused", "refused", "ran"]
    assert not list(tmp_path.glob(".unfinished-*"))


NAMESPACE = "hpcdispatch-test"


@pytest.fixture
def network():
    """Make a network namespace with one interface to this machine. Yield the namespace and the address."""
    made = [
        ("ip", "netns", "add", NAMESPACE),
        ("ip", "link", "add", "hdtest0", "type", "veth", "peer", "name", "hdtest1", "netns", NAMESPACE),
        ("ip", "address", "add", "198.51.100.1/30", "dev", "hdtest0"),
        ("ip", "link", "set", "hdtest0", "up"),
        ("ip", "-n", NAMESPACE, "address", "add", "198.51.100.2/30", "dev", "hdtest1"),
        ("ip", "-n", NAMESPACE, "link", "set", "hdtest1", "up"),
    ]
    try:
        for command in made:
            if not shutil.which("ip") or subprocess.run(command, capture_output=True, check=False).returncode:
                pytest.skip("needs the right to make a network namespace")
        yield "hdtest0", "198.51.100.1"
    finally:
        if shutil.which("ip"):
            subprocess.run(("ip", "netns", "delete", NAMESPACE), capture_output=True, check=False)


@with_queues
@pytest.mark.nightly
def test_a_client_in_another_network_runs_nothing_without_the_files(tmp_path, network):
    interface, ip = network
    inside = ("ip", "netns", "exec", NAMESPACE)
    with queue_asked(tmp_path, interface, "insecure") as (address, files, _):  # the control: it would be seen
        assert (files, address.startswith(f"tcp://{ip}:")) == ({}, True)
        assert outside(address, [], inside) == ["ran", "refused", "ran"]
    with queue_asked(tmp_path, interface) as (address, files, listening):
        assert set(listening) <= {"127.0.0.1", ip}
        assert address.startswith(f"tls://{ip}:")
        names = [tmp_path / name for name in sorted(files)[1:]]
        assert outside(address, names, inside) == ["refused", "refused", "ran"]
    with queue_asked(tmp_path, "lo") as (address, files, _):  # not even reached
        names = [tmp_path / name for name in sorted(files)[1:]]
        assert outside(f"tls://{ip}:{address.rpartition(':')[2]}", names, inside) == ["refused"] * 3


@pytest.mark.nightly
@with_queues
def test_another_worker_is_asked_for_where_a_job_ends(tmp_path):
    """Guards against campaigns that wait for ever after the time limit of their jobs."""
    code = (
        "import os, time\n"
        "def jobs():\n    return [int(group) for group in open('jobs').read().split()]\n"
        "with connect('slurm') as client:\n"
        "    client.wait_for_workers(1, timeout=300)\n"
        "    os.killpg(jobs()[0], signal.SIGKILL)\n"
        "    deadline = time.monotonic() + 300\n"
        "    while len(jobs()) < 2 and time.monotonic() < deadline:\n        time.sleep(0.1)\n"
        "    print(len(jobs()))\n"
        "os.killpg(jobs()[-1], signal.SIGKILL)\n"
    )
    job = "setsid sh -c 'echo $$ >> jobs; sh ./job' > log 2>&1 < /dev/null &"
    done = asked(tmp_path, code, f'tail -1 "$1" > job\n{job}\necho Submitted batch job 7')
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
