"""What squeue and sinfo print of a cluster, release by release."""

import gzip
import json
import os
from pathlib import Path

import pytest

from hpcdispatch.analysis.cluster_state import cluster_state
from hpcdispatch.base import InputError
from hpcdispatch.workloads.slurm_cluster import ClusterNode, read_cluster

NOW = 10_000
#: Releases that print plain numbers.
PLAIN = ("21.08", "22.05")


def wrapped(value):
    """Return a number as Slurm writes it since 23.02, ``None`` as unlimited."""
    return {"set": True, "infinite": value is None, "number": value or 0}


def meta(release):
    major, minor = release.split(".")
    if release == "24.05":
        return {"slurm": {"version": {"major": major, "minor": minor, "micro": "1"}}}
    return {"Slurm": {"version": {"major": int(major), "minor": int(minor), "micro": 8}}}


def job(release, id_, state, nodes="", limit=5, cpus=4, **more):
    number = (lambda value: value) if release in PLAIN else wrapped
    return {
        "job_id": id_,
        "job_state": [state] if release == "24.05" else state,
        "user_name": "ann",
        "account": "phys",
        "partition": "long",
        "submit_time": number(9_000),
        "start_time": number(9_900 if nodes else 0),
        "time_limit": number(limit),
        "nodes": nodes,
        "cpus": number(cpus),
        "array_job_id": number(0),
        "array_task_id": None,
        "array_task_string": "",
        **more,
    }


@pytest.fixture
def files(tmp_path):
    def write(release, jobs, nodes):
        listed = [{"name": name, "cpus": 4, **states} for name, states in nodes.items()]
        (tmp_path / "squeue.json").write_text(json.dumps({"meta": meta(release), "jobs": jobs}))
        (tmp_path / "sinfo.json").write_text(json.dumps({"meta": meta(release), "nodes": listed}))
        return tmp_path / "squeue.json", tmp_path / "sinfo.json"

    return write


def nodes(release):
    away = {"state": "idle", "state_flags": ["DRAIN"]} if release in PLAIN else {"state": ["IDLE", "DRAIN"]}
    plain = {"state": "mixed", "state_flags": []} if release in PLAIN else {"state": ["MIXED"]}
    return {"n1": plain, "n2": plain, "n3": away, "n4": plain}


@pytest.mark.parametrize("release", ["21.08", "22.05", "23.02", "24.05"])
def test_every_release_says_the_same(files, release):
    jobs = [
        job(release, 1, "RUNNING", "n[1-2]", cpus=8),
        job(release, 2, "RUNNING", "n4", limit=None),
        job(release, 3, "PENDING"),
        job(release, 4, "PENDING", array_job_id=4, array_task_string="9-39%10", array_max_tasks=10),
        job(release, 5, "COMPLETED", "n1"),
    ]
    found = read_cluster(*files(release, jobs, nodes(release)), NOW)
    assert found.nodes == tuple(ClusterNode(f"n{place}", 4, place != 3) for place in range(1, 5))
    first, second = found.running
    assert (first.id, first.user, first.account, first.partition) == ("1", "ann", "phys", "long")
    assert (first.submit, first.start, first.limit, first.nodes, first.cores) == (9_000, 9_900, 300, ("n1", "n2"), 8)
    assert second.limit is None
    assert [(waiting.id, waiting.start, waiting.nodes, waiting.tasks, waiting.array) for waiting in found.waiting] == [
        ("3", None, (), 1, ""),
        ("4", None, (), 31, "4%10"),
    ]
    state = cluster_state(found)
    assert (state.machine.nodes, state.idle) == (3, 0)
    assert [(part.id, part.nodes, part.elapsed, part.ends) for part in state.jobs] == [
        ("1", 2, 100, 200),
        ("2", 1, 100, None),
    ]


@pytest.mark.parametrize(
    ("release", "tres", "gpus"),
    [
        ("22.05", "gres:gpu:2", 2),
        ("22.05", "gres:gpu", 1),
        ("23.02", "gres:gpu:a100:3,gres:nic", 3),
        ("24.05", "gres/gpu:4", 4),
        ("24.05", "gres/gpu:h100=2,gres/gpu:l4=1", 3),
        ("24.05", "gres/gpus:9", 0),
    ],
)
def test_memory_and_gpus_are_read(files, release, tres, gpus):
    number = (lambda value: value) if release in PLAIN else wrapped
    jobs = [
        job(release, 1, "RUNNING", "n1", tres_per_node=tres, memory_per_node=number(1500), node_count=number(1)),
        job(release, 2, "PENDING", memory_per_cpu=number(700), memory_per_node=None),
    ]
    found = read_cluster(*files(release, jobs, nodes(release)), NOW)
    assert [(each.memory_a_core, each.memory_a_node) for each in (*found.running, *found.waiting)] == [
        (0, 1500),
        (700, 0),
    ]
    assert (found.running[0].gpus_a_node, found.running[0].had, found.waiting[0].gpus_a_node) == (gpus, 1, 0)


def test_a_task_of_an_array_has_both_its_numbers(files):
    jobs = [job("22.05", 7, "RUNNING", "n1", array_job_id=4, array_task_id=3)]
    assert read_cluster(*files("22.05", jobs, nodes("22.05")), NOW).running[0].id == "4_3"


def test_jobs_that_share_a_node_are_counted_by_cores(files):
    jobs = [job("22.05", 1, "RUNNING", "n1", cpus=1), job("22.05", 2, "RUNNING", "n[1-2]", cpus=6)]
    found = read_cluster(*files("22.05", jobs, nodes("22.05")), NOW)
    with pytest.raises(InputError, match=r"jobs 1 and 2 share node n1; count cores \(--unit core\)"):
        cluster_state(found)
    state = cluster_state(found, "core")
    assert (state.machine.nodes, [part.nodes for part in state.jobs], state.idle) == (12, [1, 6], 5)


def test_a_release_that_is_not_known_is_named(files):
    squeue, sinfo = files("25.11", [], {})
    with pytest.raises(
        InputError,
        match=r"sinfo.json: expected JSON of Slurm 21.08, 22.05, 23.02, 23.11, 24.05, 24.11, 25.05, got '25.11'",
    ):
        read_cluster(squeue, sinfo, NOW)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cpus": "many"}, "job 1: field 'cpus': expected a whole number, got 'many'"),
        ({"time_limit": -5}, "job 1: field 'time_limit': expected a whole number, got -5"),
        ({"nodes": "n[1-"}, "job 1: expected names such as n"),
        ({"job_id": None}, "squeue.json: entry 1: field 'job_id': expected a whole number, got None"),
        ({"job_id": "x"}, "squeue.json: entry 1: field 'job_id': expected a whole number, got 'x'"),
        ({"nodes": "n9"}, "job 1: expected nodes that .*sinfo.json has, got 'n9'"),
    ],
)
def test_a_value_that_is_none_is_told_with_its_job(files, change, message):
    with pytest.raises(InputError, match=message):
        read_cluster(*files("22.05", [job("22.05", 1, "RUNNING", "n1") | change], nodes("22.05")), NOW)


def test_other_output_is_refused(tmp_path):
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(InputError, match="expected what Slurm prints with --json"):
        read_cluster(tmp_path / "x.json", tmp_path / "x.json", NOW)


def test_nothing_runs(files):
    with pytest.raises(InputError, match="expected running jobs, got none"):
        cluster_state(read_cluster(*files("22.05", [], nodes("22.05")), NOW))


@pytest.mark.traces
def test_the_recorded_cluster_is_read(tmp_path):
    live = Path(os.environ.get("HPCDISPATCH_DATA", "")).parent / "slurm" / "recorded" / "live"
    if not (live / "squeue.json.gz").is_file():
        pytest.skip("needs ../shared/slurm/recorded/live beside the data")
    for name in ("squeue", "sinfo"):
        (tmp_path / f"{name}.json").write_bytes(gzip.decompress((live / f"{name}.json.gz").read_bytes()))
    now = int(float((live / "now").read_text()))
    found = read_cluster(tmp_path / "squeue.json", tmp_path / "sinfo.json", now)
    assert [line.partition("|")[0] for line in (live / "squeue.txt").read_text().splitlines() if "|PD|" in line]
    assert sum(node.cores for node in found.nodes) == 64
    assert sum(run.cores for run in found.running) <= 64
    assert all(run.start <= now for run in found.running)


@pytest.mark.parametrize("release", ["23.11", "24.11", "25.05"])
def test_nodes_in_groups_are_read(files, release):
    # Since 23.02 sinfo lists equal nodes together. It repeats a node for each of its partitions.
    squeue, sinfo = files(release, [job("24.05", 1, "RUNNING", "n1")], {})
    groups = [
        {"node": {"state": state}, "nodes": {"nodes": names, "total": len(names)}, "cpus": {"maximum": 4, "total": 8}}
        for state, names in ((["MIXED"], ["n1", "n2"]), (["IDLE", "DRAIN"], ["n3"]), (["MIXED"], ["n1"]))
    ]
    sinfo.write_text(json.dumps({"meta": meta("24.05"), "sinfo": groups}))
    found = read_cluster(squeue, sinfo, NOW).nodes
    assert found == (ClusterNode("n1", 4, True), ClusterNode("n2", 4, True), ClusterNode("n3", 4, False))


def test_a_task_that_runs_is_none_of_those_of_its_array_that_wait(files):
    jobs = [
        job("22.05", 6, "RUNNING", "n1", array_job_id=5, array_task_id=0),
        job("22.05", 5, "PENDING", array_job_id=5, array_task_string="0-4:2%1", array_max_tasks=1),
        job("22.05", 5, "PENDING", array_job_id=5, array_task_string="4,7,..."),
    ]
    found = read_cluster(*files("22.05", jobs, nodes("22.05")), NOW)
    assert [each.ids for each in (*found.running, *found.waiting)] == [("5_0",), ("5_2", "5_4"), ("5_7",)]


@pytest.mark.parametrize("release", ["22.05", "24.11"])
def test_what_a_job_asks_for_is_read(files, release):
    number = (lambda value: value) if release in PLAIN else wrapped
    more = {
        "qos": "high",
        "features": "fat&ib",
        "shared": "none" if release in PLAIN else ["none"],
        "cpus": number(8),
        "tres_req_str": "cpu=2,mem=4G,node=1,billing=2,gres/gpu=2,gres/gpu:a100=2,license/matlab=1",
        "dependency": "afterok:28(unfulfilled),after:30+5(unfulfilled),afterany:7(fulfilled),singleton(unfulfilled)",
        "eligible_time": number(12_000),
        "state_reason": "Dependency",
        "node_count": number(1),
    }
    held = job(release if release in PLAIN else "24.05", 2, "PENDING", state_reason="JobHeldUser")
    jobs = [job(release if release in PLAIN else "24.05", 1, "PENDING") | more, held]
    one, other = read_cluster(*files(release, jobs, nodes(release)), NOW).waiting
    assert (one.qos, one.constraint, one.exclusive, one.cores) == ("high", "fat&ib", True, 2)
    assert (one.gpus, one.gpu_types, one.licences, one.begin) == (2, "a100=2", "matlab=1", 12_000)
    assert one.depends == (("28", "afterok"), ("30", "after", 300))
    assert (one.starts, other.starts) == (True, False)
