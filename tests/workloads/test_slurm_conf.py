"""slurm.conf and what scontrol prints, as a site."""

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads.slurm_conf import expand_names, meets, read_slurm_conf, slurm_seconds

CONF = """
# A cluster
ClusterName=c   # of four
SchedulerParameters=bf_interval=5,bf_resolution=1
SelectTypeParameters=CR_Core_Memory
NodeName=DEFAULT RealMemory=2
NodeName=n[1-3] CPUs=4
NodeName=g01 Sockets=2 CoresPerSocket=4 Gres=gpu:a100:2,gpu:1 \\
  RealMemory=8
PartitionName=DEFAULT MaxTime=1-0
PartitionName=all Nodes=ALL PriorityTier=3 PriorityJobFactor=10
PartitionName=few Nodes=n[1-2] MaxTime=UNLIMITED
"""


def conf(tmp_path, text=CONF):
    path = tmp_path / "slurm.conf"
    path.write_text(text)
    return path


def test_a_configuration_is_a_machine_with_a_resource_for_each_partition(tmp_path):
    site = read_slurm_conf(conf(tmp_path))
    machine = site.machine()
    assert machine.resources == (
        "core",
        "mem",
        "mem_per_cpu",
        "gpu",
        "gpu/a100",
        "node",
        "partition/all",
        "partition/few",
    )
    few = [4, 2048, 4, 0, 0, 4, 4, 4]
    other = [4, 2048, 4, 0, 0, 4, 4, 0]
    assert machine.capacity.tolist() == [few, few, other, [8, 8192, 8, 3, 2, 8, 8, 0]]
    assert site.nodes == ("n1", "n2", "n3", "g01")
    everything, few = site.partitions
    assert (everything.max_time, everything.tier, everything.factor) == (86400, 3, 10)
    assert (few.nodes, few.max_time, few.tier) == ((0, 1), None, 1)
    assert site.settings["schedulerparameters"] == "bf_interval=5,bf_resolution=1"


def test_what_scontrol_prints_says_the_same(tmp_path):
    shown = """Configuration data as of 2026-11-22T01:15:43
KillWait                = 2 sec
SlurmctldHost[0]        = host(127.0.0.1)

Slurmctld(primary) at host is UP
PartitionName=p AllowGroups=ALL MaxTime=00:02:00 Nodes=n[1-2] PriorityJobFactor=100 PriorityTier=1 TRES=cpu=8,mem=8G
NodeName=n1 Arch=x86_64 CPUAlloc=2 CPUTot=4 Gres=(null) OS=Linux 6.1 #1 SMP RealMemory=4000 Weight=30
NodeName=n2 CPUTot=4 RealMemory=4000 # Weight=7
"""
    site = read_slurm_conf(conf(tmp_path, shown))
    assert np.array_equal(site.capacity, [[4, 4096000, 0]] * 2)
    assert site.weights == (30, 1)
    assert [(each.name, each.nodes, each.max_time) for each in site.partitions] == [("p", (0, 1), 120)]
    assert site.settings["killwait"] == "2 sec"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 1800), ("1:30", 90), ("1:00:00", 3600), ("2-12", 216000), ("1-0:10", 87000), ("INFINITE", None)],
)
def test_times_are_read_as_slurm_writes_them(text, seconds):
    assert slurm_seconds(text, "here") == seconds


def test_names_are_expanded():
    assert expand_names("n[08-10,12],x,r[1-2]a", "here") == ["n08", "n09", "n10", "n12", "x", "r1a", "r2a"]
    assert expand_names("n[1-2]x[1-2],", "here") == ["n1x1", "n1x2", "n2x1", "n2x2"]
    for text in ("9" * 20_000 + "[1", "n[1]" * 500 + "]", "]"):  # each part is tried in one way alone
        with pytest.raises(InputError, match="here: expected names such as"):
            expand_names(text, "here")


@pytest.mark.parametrize("text", ["n[0-65535]", "n[1-256]x[1-256]", "a,n[1-65535]"])
def test_as_many_names_are_expanded_as_a_list_may_have(text):
    assert len(expand_names(text, "here")) == 2**16
    with pytest.raises(InputError, match="expected at most 65,536 names"):
        expand_names(f"{text},z", "here")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing here", r"slurm.conf:1: expected KEY=VALUE, got 'nothing here'"),
        ("KillWait=2", r"slurm.conf: expected lines with NodeName=, got none"),
        ("NodeName=n1 CPUs=x", r"slurm.conf:1: field 'CPUs': expected a whole number up to 1000000000, got 'x'"),
        ("NodeName=n[1-x] CPUs=2", r"slurm.conf:1: expected numbers such as 1-4,7, got '1-x'"),
        ("NodeName=n[1-9999999]", r"slurm.conf:1: expected at most 65,536 names, got '1-9999999'"),
        ("NodeName=n[1-60000],m[1-60000]", r"slurm.conf:1: expected at most 65,536 names, got 'n"),
        (
            "NodeName=n1 CPUs=" + "9" * 5000,
            r"slurm.conf:1: field 'CPUs': expected a whole number up to 1000000000, got",
        ),
        ("NodeName=n1 Sockets=0", r"slurm.conf:1: expected a node with cores and memory for jobs, got 0 cores"),
        ("NodeName=n1 Sockets=99999 CoresPerSocket=99999", r"slurm.conf:1: expected at most 1000000000 cores, got 999"),
        ("NodeName=n1 Gres=gpu:" + "9" * 400, r"slurm.conf:1: field 'Gres': expected a whole number up to 1000000000"),
        ("a" * 60_000, r"slurm.conf:1: expected KEY=VALUE, got 'aaa"),  # took a minute, as the square of its letters
        ("NodeName=n1 CPUs=2\nPartitionName=p Nodes=n2", r"slurm.conf:2: partition 'p': .* a NodeName, got 'n2'"),
        ("NodeName=n1 CPUs=2\nPartitionName=p Nodes=n1 MaxTime=soon", r"slurm.conf:2: expected a time .* got 'soon'"),
        ("NodeName=n1]", r"slurm.conf:1: expected names such as n\[1-4,7\], got 'n1\]'"),
    ],
)
def test_what_is_no_configuration_is_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_slurm_conf(conf(tmp_path, text))


def test_a_configuration_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none.conf: no such configuration of Slurm"):
        read_slurm_conf(tmp_path / "none.conf")


def test_includes_sets_of_nodes_and_several_ranges(tmp_path):
    (tmp_path / "nodes.conf").write_text(
        "NodeName=r[0-1]n[1-2] CPUs=4 Feature=a,big\nNodeName=c1,c[3-4] Procs=8\nNodeName=x1 CPUs=4 State=FUTURE\n"
    )
    text = (
        "Include /etc/slurm/nodes.conf\nNodeSet=bigs Feature=BIG\nNodeSet=rest Nodes=c[1,3]\nDownNodes=c4 State=DOWN\n"
        "PartitionName=p Nodes=bigs,c4\nPartitionName=q Nodes=rest,r0n1\n"
    )
    site = read_slurm_conf(conf(tmp_path, text))
    assert site.nodes == ("r0n1", "r0n2", "r1n1", "r1n2", "c1", "c3", "c4")
    assert site.capacity[:, 0].tolist() == [4, 4, 4, 4, 8, 8, 8]
    assert [partition.nodes for partition in site.partitions] == [(0, 1, 2, 3, 6), (0, 4, 5)]
    assert site.away == ("c4",)


def test_files_that_include_each_other_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"slurm\.conf: expected at most 50 included files, got more"):
        read_slurm_conf(conf(tmp_path, "Include slurm.conf\n"))
    with pytest.raises(InputError, match=r"slurm\.conf:1: Include: expected the file 'more\.conf', or beside"):
        read_slurm_conf(conf(tmp_path, "Include more.conf\n"))


@pytest.mark.parametrize(
    ("node", "cores"),
    [
        ("SocketsPerBoard=2 CoresPerSocket=4", 8),
        ("Boards=2 SocketsPerBoard=2 CoresPerSocket=4 ThreadsPerCore=2", 32),
        ("Sockets=2 CoresPerSocket=4", 8),
        ("Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 CPUs=8", 8),
        ("CPUs=8 CoreSpecCount=2", 6),
        ("Sockets=1 CoresPerSocket=8 ThreadsPerCore=2 CPUs=16 CoreSpecCount=1", 14),
        ("CPUs=8 CpuSpecList=0-1,7", 5),
        ("CPUTot=8 CPUEfctv=6 CoreSpecCount=1", 6),
    ],
)
def test_cores_are_those_that_jobs_may_have(tmp_path, node, cores):
    site = read_slurm_conf(conf(tmp_path, f"NodeName=n1 {node} RealMemory=10 MemSpecLimit=4\n"))
    assert site.capacity.tolist() == [[cores, 6 * 1024, 0]]


@pytest.mark.parametrize(
    ("listed", "places"),
    [
        ("ALL", [0, 1, 2, 3]),
        ("ALL,-r1n1", [1, 2, 3]),
        ("ALL,-r[1-2]n1", [1, 3]),
        ("r[1-2]n[1-2]", [0, 1, 2, 3]),
        ("fats", [1, 2]),
        ("some,r2n2", [0, 2, 3]),
        ("", []),
        ("(null)", []),
    ],
)
def test_a_partition_has_the_nodes_that_it_lists(tmp_path, listed, places):
    text = (
        "NodeName=r1n1 CPUs=1\nNodeName=r1n2 CPUs=1 Feature=fat,ib\nNodeName=r2n1 CPUs=1 Feature=FAT\n"
        "NodeName=r2n2 CPUs=1\nNodeSet=fats Feature=fat\nNodeSet=some Nodes=r[1-2]n1\n"
    )
    (partition,) = read_slurm_conf(conf(tmp_path, f"{text}PartitionName=p Nodes={listed}\n")).partitions
    assert list(partition.nodes) == places


def test_no_partition_takes_the_name_of_a_resource(tmp_path):
    names = ("core", "mem", "gpu", "node", "mem_per_cpu", "gpu/a100")
    lines = "".join(f"PartitionName={name} Nodes=n1 MaxCPUsPerNode=3\n" for name in names)
    nodes = "SelectTypeParameters=CR_Core_Memory\nNodeName=n[1-2] CPUs=8 Gres=gpu:a100:2 Feature=fat\n"
    machine = read_slurm_conf(conf(tmp_path, nodes + lines)).machine(["fat", "slim"], ["n2"])
    found = dict(zip(machine.resources, machine.capacity.T.tolist(), strict=True))
    assert (found["core"], found["gpu"], found["gpu/a100"]) == ([8, 8], [2, 2], [2, 2])
    assert all(found[f"partition/{name}"] == [3, 0] for name in names)
    assert (found["feature/fat"], found["feature/slim"]) == ([8, 8], [0, 0])


@pytest.mark.parametrize(
    ("expression", "met"),
    [
        ("a", True),
        ("c", False),
        ("a&b", True),
        ("a&c", False),
        ("c|b", True),
        ("(c|a)&b", True),
        ("(c|d)&a", False),
        ("[c|a]", True),
        ("a*2&b*3", True),
        ("c&a|b", True),
        ("A", True),
    ],
)
def test_constraints_are_met_by_features(expression, met):
    assert meets(expression, {"a", "b"}) is met


def test_states_of_nodes_in_which_no_job_starts(tmp_path):
    states = ("UNKNOWN", "DOWN", "DOWN*", "IDLE+DRAIN", "DRAINED", "FAIL", "IDLE+CLOUD+POWERED_DOWN", "IDLE+PLANNED")
    lines = "".join(f"NodeName=n{place} CPUs=1 State={state}\n" for place, state in enumerate(states))
    assert read_slurm_conf(conf(tmp_path, lines)).away == ("n1", "n2", "n3", "n4", "n5")


def test_headers_of_parts_and_files_that_are_not_there_stop_nothing(tmp_path):
    text = "Cgroup Support Configuration:\nAllowedRAMSpace = 100.0%\n\nSlurmctld(primary) at vm is UP\n"
    text += "NodeName=n1 CPUs=1\n"
    site = read_slurm_conf(conf(tmp_path, f"ClusterName=abc\nInclude /etc/slurm/%c.conf\n{text}"))
    assert (site.nodes, site.settings["allowedramspace"]) == (("n1",), "100.0%")
    assert "Include: expected the file '/etc/slurm/abc.conf'" in site.missing[0]
