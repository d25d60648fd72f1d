"""Slurm's network of switches and blocks as levels of a machine, and jobs that ask for switches."""

import json

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads.slurm_cluster import read_cluster
from hpcdispatch.workloads.slurm_conf import read_slurm_conf
from hpcdispatch.workloads.slurm_workload import slurm_workload, standing_jobs

CONF = "NodeName=n[1-8] CPUs=4\nPartitionName=all Nodes=ALL\nTopologyPlugin=topology/tree\n"
TREE = """# leaf switches
SwitchName=a Nodes=n[1-3]
SwitchName=b Nodes=n[4-6] LinkSpeed=100
SwitchName=c Nodes=n[7-8]
SwitchName=left Switches=a,b
SwitchName=right Switches=c
SwitchName=top Switches=left,right
"""
LEAVES = ((0, 1, 2), (3, 4, 5), (6, 7))


def site_of(folder, topology=TREE, conf=CONF):
    (folder / "slurm.conf").write_text(conf)
    if topology:
        (folder / "topology.conf").write_text(topology)
    return read_slurm_conf(folder / "slurm.conf")


def test_switches_are_levels(tmp_path):
    site = site_of(tmp_path)
    assert site.levels["switch"] == LEAVES
    assert site.levels["switch2"] == ((0, 1, 2, 3, 4, 5), (6, 7))
    assert site.levels["switch3"] == (tuple(range(8)),)
    machine = site.machine()
    assert dict(machine.levels) == dict(site.levels)
    assert machine.level_names[0] == "switch"
    assert not site.missing


def test_scontrol_prints_the_same(tmp_path):
    shown = """SwitchName=a Level=0 LinkSpeed=1 Nodes=n[1-3]
SwitchName=b Level=0 LinkSpeed=100 Nodes=n[4-6]
SwitchName=c Level=0 LinkSpeed=1 Nodes=n[7-8]
SwitchName=left Level=1 LinkSpeed=1 Nodes=n[1-6] Switches=a,b
SwitchName=right Level=1 LinkSpeed=1 Nodes=n[7-8] Switches=c
SwitchName=top Level=2 LinkSpeed=1 Nodes=n[1-8] Switches=left,right
"""
    site = site_of(tmp_path, "", CONF + shown)
    assert site.levels == site_of(tmp_path).levels


def test_blocks_are_a_level(tmp_path):
    blocks = "BlockName=x Nodes=n[1-4]\nBlockName=y Nodes=n[5-8]\nBlockSizes=4,8\n"
    conf = CONF.replace("/tree", "/block")
    assert site_of(tmp_path, blocks, conf).levels == {"block": ((0, 1, 2, 3), (4, 5, 6, 7))}


def test_a_topology_that_the_plugin_does_not_use_is_left(tmp_path):
    assert not site_of(tmp_path, TREE, CONF.replace("/tree", "/default")).levels


def test_nodes_below_no_switch_are_alone(tmp_path):
    site = site_of(tmp_path, "SwitchName=a Nodes=n[1-6,90]\n")
    assert site.levels == {"switch": ((0, 1, 2, 3, 4, 5), (6,), (7,))}
    assert "2 nodes are below no switch" in site.missing[1]
    assert "n90" in site.missing[0]


@pytest.mark.parametrize(
    ("topology", "message"),
    [
        ("SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=n[4-8]\n", "node n4 is below a and b at level switch"),
        ("SwitchName=a Nodes=n[1-8]\nSwitchName=t Switches=a,z\n", "topology.conf:2: switch 't': .* got 'z'"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "is above itself"),
        ("SwitchName=a Nodes=n[1-\n", "topology.conf:1: expected names"),
        ("Switch a\n", "topology.conf:1: expected SwitchName="),
    ],
)
def test_bad_topologies_are_one_line(tmp_path, topology, message):
    with pytest.raises(InputError, match=message) as error:
        site_of(tmp_path, topology)
    assert "\n" not in str(error.value)


def jobs_of(folder, *options, conf=CONF):
    site_of(folder, conf=conf)
    rows = ["JobID|User|Partition|Submit|Start|End|TimelimitRaw|ReqNodes|NNodes|NCPUS|State|SubmitLine"]
    rows += [
        f"{number}|ann|all|{1000 + number}|1010|1070|2|2|2|8|COMPLETED|sbatch -N 2 {option} a"
        for number, option in enumerate(options, 1)
    ]
    (folder / "jobs.sacct").write_text("\n".join([*rows, ""]))
    return slurm_workload(folder / "jobs.sacct", folder / "slurm.conf")


def test_jobs_wait_for_switches(tmp_path):
    options = ("--switches=1", "--switches=2@10", "--switches 1@0:30", "")
    workload = jobs_of(tmp_path, *options)
    asked = [(job.within, job.within_groups, job.within_wait) for job in workload.jobs]
    assert asked == [("switch", 1, 300), ("switch", 2, 300), ("switch", 1, 30), ("", 1, None)]
    longer = jobs_of(tmp_path, *options, conf=CONF + "SchedulerParameters=max_switch_wait=1200\n")
    assert [job.within_wait for job in longer.jobs] == [1200, 600, 30, None]
    result = simulate(longer, "easy")
    check(longer, result)
    assert not any("--switches" in note for note in longer.provenance.notes)


def test_switches_without_a_topology_are_noted(tmp_path):
    workload = jobs_of(tmp_path, "--switches=1", conf=CONF.replace("tree", "none"))
    assert workload.jobs[0].within == ""
    assert any("--switches" in note for note in workload.provenance.notes)


def test_waiting_jobs_of_a_moment_ask_for_switches(tmp_path):
    site = site_of(tmp_path)
    job = {"job_id": 7, "job_state": ["PENDING"], "partition": "all", "submit_time": 90, "cpus": 8, "node_count": 2}
    job |= {"time_limit": 5, "tasks_per_node": 1, "required_switches": 1, "maximum_switch_wait_time": 120}
    meta = {"meta": {"slurm": {"version": {"major": "24", "minor": "05"}}}}
    (tmp_path / "squeue.json").write_text(json.dumps(meta | {"jobs": [job]}))
    nodes = [{"name": name, "cpus": 4, "state": ["IDLE"]} for name in site.nodes]
    (tmp_path / "sinfo.json").write_text(json.dumps(meta | {"nodes": nodes}))
    workload, _ = standing_jobs(read_cluster(tmp_path / "squeue.json", tmp_path / "sinfo.json", 100), site)
    assert [(each.within, each.within_groups, each.within_wait) for each in workload.jobs] == [("switch", 1, 120)]
