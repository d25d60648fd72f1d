"""Accounting and configuration of a Slurm site as one workload."""

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import read, write
from hpcdispatch.workloads.slurm_cluster import ClusterJob, Snapshot
from hpcdispatch.workloads.slurm_conf import read_slurm_conf
from hpcdispatch.workloads.slurm_workload import slurm_workload, standing_jobs, started_at

CONF = "NodeName=n[1-4] CPUs=4\nPartitionName=short Nodes=ALL MaxTime=2\nPartitionName=long Nodes=n[1-2]\n"
COLUMNS = "JobID|User|Group|Account|Partition|Submit|Start|End|TimelimitRaw|ReqNodes|NNodes|NCPUS|State|SubmitLine"
JOBS = (
    "1|ann|g|phys|long|1000|1000|1060|2|2|2|4|COMPLETED|sbatch -N 2 --ntasks-per-node=2 a",
    "2|ben|g|chem|nowhere,short|1010|1012|1062|1|1|2|6|COMPLETED|sbatch -n 6 b",
    "3|ben|g|chem|short|1020|1062|1070|1|1|1|1|COMPLETED|",
)


@pytest.fixture
def site(tmp_path):
    (tmp_path / "slurm.conf").write_text(CONF)

    def files(lines=JOBS, columns=COLUMNS):
        (tmp_path / "jobs.sacct").write_text("\n".join([columns, *lines, ""]))
        return tmp_path / "jobs.sacct", tmp_path / "slurm.conf"

    return files


def test_jobs_ask_for_what_they_asked_slurm_for(site):
    workload = slurm_workload(*site())
    asked = [(job.nodes, dict(job.per_node), job.group, job.queue, job.walltime) for job in workload.jobs]
    assert asked == [
        (2, {"core": 2, "partition/long": 1, "node": 1}, "phys", "long", 120),
        (6, {"core": 1, "partition/short": 1}, "chem", "short", 60),
        (1, {"core": 1, "partition/short": 1, "node": 1}, "chem", "short", 60),
    ]
    assert started_at(workload) == 1000
    assert not any("no machine" in note for note in workload.provenance.notes)


def test_without_submit_lines_the_counts_of_nodes_say_it(site):
    lines = [line.rpartition("|")[0] for line in JOBS]
    workload = slurm_workload(*site(lines, COLUMNS.removesuffix("|SubmitLine")))
    assert [job.nodes for job in workload.jobs] == [2, 6, 1]
    uneven = ["1|1000|1000|1060|1|3|10|short", "2|1000|1000|1060|1|2|4|short"]
    workload = slurm_workload(*site(uneven, "JobID|Submit|Start|End|TimelimitRaw|NNodes|NCPUS|Partition"))
    assert [(job.nodes, job.per_node["core"]) for job in workload.jobs] == [(10, 1), (2, 2)]


SHARED = """NodeName=n[1-4] CPUs=4 RealMemory=4000 Gres=gpu:2
SelectTypeParameters=CR_Core_Memory
PartitionName=p Nodes=ALL
"""


@pytest.mark.parametrize(
    ("record", "slots", "takes"),
    [
        # Memory by node is in whole megabytes. It is all of it if tasks run on one node.
        ("3|mem=3500M|-N 1 --ntasks-per-node=3 --mem=3500", 1, {"core": 3, "mem": 3500, "node": 1}),
        ("3|mem=500M|-n 3 --mem=500", 1, {"core": 3, "mem": 500, "node": 1}),
        # By core, said or by default. Only memory by core limits the cores that can be had of a node.
        (
            "2|mem=2000M|-N 1 --ntasks-per-node=2 --mem-per-cpu=1000",
            1,
            {"core": 2, "mem": 2000, "mem_per_cpu": 1, "node": 1},
        ),
        ("3|mem=3000M|-n 3 --mem-per-cpu 1000", 3, {"core": 1, "mem": 1000, "mem_per_cpu": 1}),
        # GPUs count per node, not per task or core.
        ("4|mem=2000M,gres/gpu=1|-n 1 -c 4 --gres=gpu:1 --mem=2000", 1, {"core": 4, "mem": 2000, "gpu": 1, "node": 1}),
        ("4|mem=2000M,gres/gpu=1|--ntasks=4 --gpus-per-node=1", 1, {"core": 4, "mem": 2000, "gpu": 1, "node": 1}),
        # A task's cores lie on one node.
        ("4||-n 2 --cpus-per-task=2", 2, {"core": 2}),
    ],
)
def test_memory_and_gpus_are_asked_for_as_they_were(site, record, slots, takes):
    cores, amounts, options = record.split("|")
    line = f"1|ann|g|phys|p|1000|1000|1060|2|1|1|{cores}|cpu={cores},{amounts}|COMPLETED|sbatch {options} a"
    sacct, conf = site([line], COLUMNS.replace("NCPUS", "NCPUS|AllocTRES"))
    conf.write_text(SHARED)
    (job,) = slurm_workload(sacct, conf).jobs
    asked = dict(job.per_node)
    assert asked.pop("partition/p") == 1
    asked["mem"] = asked.get("mem", 0) / 1024
    assert (job.nodes, asked) == (slots, {"mem": 0} | takes)


@pytest.mark.parametrize(
    ("options", "gpus"),
    [
        ("--gres=gpu:2", 4),
        ("--gres gpu:a100:3,license:7", 6),
        ("--gres=gpu", 2),
        ("--gpus-per-node=2", 4),
        ("--gpus-per-node a100:1", 2),
        ("-G 3", 3),
        ("--gpus=v100:5", 5),
        ("--gres=gpux:2", 0),
        ("--mem=2", 0),
    ],
)
def test_gpus_that_are_not_accounted_for_are_read_from_the_command_line(site, options, gpus):
    columns = COLUMNS.replace("NCPUS", "NCPUS|AllocTRES")
    line = f"1|ann|g|phys|p|1000|1000|1060|2|2|2|2|cpu=2,mem=500M|COMPLETED|sbatch -N 2 {options} a"
    other = "2|ann|g|phys|p|1000|1000|1060|2|1|1|1|cpu=1,mem=500M|COMPLETED|sbatch -N 1 --gres=gpu:1 a"
    sacct, conf = site([line, other], columns)
    conf.write_text(SHARED.replace("gpu:2", "gpu:4"))
    assert slurm_workload(sacct, conf).records["gpus"].tolist() == [gpus, 1]
    accounted = line.replace("mem=500M", "mem=500M,gres/gpu=7")
    assert slurm_workload(site([accounted, other], columns)[0], conf).records["gpus"].tolist() == [7, 0]


@pytest.mark.parametrize(
    ("setting", "by_core"), [("DefMemPerCPU=500", True), ("DefMemPerNode=900", False), ("", False)]
)
def test_memory_without_a_request_is_by_core_where_the_default_is(site, setting, by_core):
    line = "1|ann|g|phys|p|1000|1000|1060|2|1|1|1|cpu=1,mem=500M|COMPLETED|sbatch -N 1 a"
    sacct, conf = site([line], COLUMNS.replace("NCPUS", "NCPUS|AllocTRES"))
    conf.write_text(f"{SHARED}{setting}\n")
    (job,) = slurm_workload(sacct, conf).jobs
    assert ("mem_per_cpu" in job.per_node) is by_core


def test_every_dispatcher_keeps_a_partition_to_its_nodes(site, tmp_path):
    lines = [f"{job}|ann|g|phys|long|1000|1000|1060|2|1|1|4|COMPLETED|sbatch -N 1" for job in range(1, 5)]
    workload = slurm_workload(*site(lines))
    result = simulate(workload, "easy")
    check(workload, result)
    assert {node for placement in result.attempts["placement"] for node in placement} == {0, 1}
    write(workload, tmp_path / "site.jsonl")
    assert read(tmp_path / "site.jsonl").machine == workload.machine


def test_a_partition_that_is_not_configured_is_refused(site):
    expected = r"job 1: field 'Partition': expected one of long, short, got 'gpu'"
    with pytest.raises(InputError, match=expected):
        slurm_workload(*site([JOBS[0].replace("long", "gpu")]))


def test_another_trace_is_refused(site, tmp_path):
    write(slurm_workload(*site()), tmp_path / "jobs.swf")
    with pytest.raises(InputError, match="expected output of sacct -P, got another trace"):
        slurm_workload(tmp_path / "jobs.swf", tmp_path / "slurm.conf")


def test_what_slurm_does_not_do_is_noted(site):
    sacct, conf = site()
    conf.write_text(CONF + "CompleteWait=9\nPriorityFlags=MAX_TRES\n")
    notes = [note for note in slurm_workload(sacct, conf).provenance.notes if "not modelled" in note]
    assert notes == [
        f"{conf}: not modelled: PriorityFlags=MAX_TRES (the order; large effect; 3 jobs)",
        f"{conf}: not modelled: Partition=nowhere,short (which jobs start, only in the first one; large effect; 1 job, "
        "such as 2)",
        f"{conf}: not modelled: CompleteWait=9 (when nodes are free; medium effect; 3 jobs)",
    ]


NOT_ENDED = (
    *JOBS[:2],
    "3|ben|g|chem|short|1020|1030|Unknown|1|1|1|4|RUNNING|sbatch -n 4 c",
    "4|ann|g|phys|long|1030|Unknown|Unknown|60|2|2|8|PENDING|sbatch -N 2 --ntasks-per-node=4 d",
    "5|ann|g|phys|long|1030|Unknown|1040|60|2|2|8|CANCELLED by 7|sbatch -N 2 --ntasks-per-node=4 d",
)


def test_jobs_that_ran_or_waited_at_the_export_take_part(site):
    workload = slurm_workload(*site(NOT_ENDED))
    assert [job.id for job in workload.jobs] == ["1", "2", "3", "4"]
    runtimes = {job.id: job.runtime for job in workload.jobs}
    assert runtimes["3"] > 32  # It ran until the last time of the export.
    assert runtimes["4"] == 1800  # Half of its walltime, as ann's other job.
    assert workload.records["wait"].tolist() == [0, 2, 10, -1]
    (note,) = [note for note in workload.provenance.notes if "when the records were printed" in note]
    assert note.startswith("1 job ran and 1 waited when the records were printed")
    # Other readers leave them out.
    assert [job.id for job in read(site(NOT_ENDED)[0]).jobs] == ["1", "2"]


def test_a_running_job_lasts_a_second_longer_than_it_has(site):
    running = "3|ben|g|chem|short|1000|1000|Unknown|1|1|1|4|RUNNING|sbatch -n 4 c"
    workload = slurm_workload(*site((*JOBS[:2], running)))
    assert {job.id: job.runtime for job in workload.jobs}["3"] == 1062 - 1000 + 1


def test_nodes_that_do_not_exist_yet_have_no_capacity(site):
    sacct, conf = site()
    conf.write_text(
        CONF.replace("NodeName=n[1-4] CPUs=4", "NodeName=n[1-4] CPUs=4\nNodeName=n[5-9] CPUs=4 State=FUTURE")
    )
    conf.write_text(conf.read_text().replace("Nodes=n[1-2]", "Nodes=n[1-2],n[5-6]"))
    assert slurm_workload(sacct, conf).machine.nodes == 4


NODES = "NodeName=n[1-4] CPUs=4 RealMemory=4000 Gres=gpu:2\nPartitionName=all Nodes=ALL\n"


def standing(tmp_path, conf, *jobs):
    """Return requests and nodes of jobs that run on n1 and n2, or wait."""
    (tmp_path / "slurm.conf").write_text(conf)
    jobs = [
        ClusterJob(str(number), "ann", "phys", "all", 900, 950 if nodes else None, 600, nodes, cores, **more)
        for number, (nodes, cores, more) in enumerate(jobs)
    ]
    running, waiting = ([job for job in jobs if bool(job.nodes) is runs] for runs in (True, False))
    snapshot = Snapshot(1000, (), tuple(running), tuple(waiting))
    workload, state = standing_jobs(snapshot, read_slurm_conf(tmp_path / "slurm.conf"))
    simulate(workload, "fcfs", state=state)  # what runs fits
    return [(job.nodes, dict(job.per_node)) for job in workload.jobs], [each.placement for each in state.running]


def test_what_waits_for_a_time_begins_then(tmp_path):
    (tmp_path / "slurm.conf").write_text("NodeName=n1 CPUs=4\nPartitionName=all Nodes=ALL\n")
    jobs = [
        ClusterJob(name, "ann", "phys", "all", 900, None, 60, (), 1, begin=at) for name, at in (("a", 1500), ("b", 0))
    ]
    workload, state = standing_jobs(Snapshot(1000, (), (), tuple(jobs)), read_slurm_conf(tmp_path / "slurm.conf"))
    result = simulate(workload, "fcfs", state=state)
    since = dict(zip(result.jobs["id"], result.jobs["start"] - state.at, strict=True))
    assert since == {"a": 500, "b": 0}


def test_what_stands_has_its_memory_and_gpus(tmp_path):
    asked, placed = standing(
        tmp_path,
        "SelectTypeParameters=CR_Core_Memory\n" + NODES,
        (("n1", "n2"), 5, {"memory_a_node": 1000, "gpus_a_node": 1, "had": 2}),  # 5 tasks, 3 and 2
        ((), 3, {"memory_a_core": 700}),
        ((), 4, {"apart": 2, "gpus_a_node": 2, "memory_a_core": 500, "had": 2}),
    )
    apart = {"partition/all": 1, "node": 1}
    assert asked == [
        (2, {"core": 2, **apart, "mem": 1000 * 1024, "gpu": 1}),
        (3, {"core": 1, "partition/all": 1, "mem": 700 * 1024, "mem_per_cpu": 1}),
        (2, {"core": 2, **apart, "mem": 2 * 500 * 1024, "mem_per_cpu": 1, "gpu": 2}),
    ]
    assert placed == [(0, 1)]


def test_what_a_site_does_not_share_out_is_not_asked_for(tmp_path):
    plain = "NodeName=n[1-4] CPUs=4\nPartitionName=all Nodes=ALL\n"
    asked, _ = standing(tmp_path, plain, (("n1", "n2"), 5, {"memory_a_node": 1000, "gpus_a_node": 1, "had": 2}))
    assert asked == [(5, {"core": 1, "partition/all": 1})]


MIXED = """SelectTypeParameters=CR_Core
NodeName=c[1-2] CPUs=4 Feature=thin
NodeName=f1 CPUs=8 Feature=fat,ib
NodeName=g1 CPUs=4 Gres=gpu:a100:2 State=DRAIN
NodeName=g2 CPUs=4 Gres=gpu:v100:2
Licenses=matlab:4
PartitionName=gpu Nodes=ALL
PartitionName=own Nodes=c[1-2] OverSubscribe=EXCLUSIVE
PartitionName=few Nodes=ALL MaxCPUsPerNode=2
"""
ASKED = "JobID|User|Account|Partition|Submit|Start|End|TimelimitRaw|NNodes|NCPUS|ReqTRES|AllocTRES|NodeList|State|"


@pytest.mark.parametrize(
    ("partition", "cpus", "asked", "line", "takes", "more"),
    [
        ("gpu", 4, "cpu=4", "-N 1 -n 4 -C fat", {"core": 4, "feature/fat": 1, "node": 1}, {}),
        ("gpu", 4, "cpu=4", "-n 4 --constraint=fat&ib", {"core": 1, "feature/fat&ib": 1}, {"nodes": 4}),
        ("gpu", 1, "cpu=1,gres/gpu=2", "-n 1 --gres=gpu:a100:2", {"core": 1, "gpu": 2, "gpu/a100": 2, "node": 1}, {}),
        ("gpu", 1, "cpu=1,gres/gpu:a100=1,gres/gpu=1", "x", {"core": 1, "gpu": 1, "gpu/a100": 1, "node": 1}, {}),
        ("gpu", 2, "cpu=2,gres/gpu=2", "-n 2 -G v100:2", {"core": 2, "gpu": 2, "gpu/v100": 2, "node": 1}, {}),
        (
            "gpu",
            1,
            "cpu=1",
            "-n 1 -q high -L matlab:2,gone",
            {"core": 1},
            {"qos": "high", "licences": {"matlab": 2}},
        ),
        # An exclusive job has all cores of its node. It requested one.
        ("gpu", 8, "cpu=1", "-N 1 -n 1 --exclusive", {"core": 1, "node": 1}, {"exclusive": True}),
        ("gpu", 8, "cpu=8", "-N 1 --exclusive=user -n 8", {"core": 8, "node": 1}, {"exclusive": False}),
        ("own", 4, "cpu=1", "-n 1", {"core": 1, "node": 1}, {"exclusive": True}),
        # In a partition with a limit on cores per node, a slot takes as many as cores.
        ("few", 2, "cpu=2", "-N 1 -n 2", {"core": 2, "partition/few": 2, "node": 1}, {}),
    ],
)
def test_what_a_job_asks_for_beside_cores_is_read(tmp_path, partition, cpus, asked, line, takes, more):
    (tmp_path / "slurm.conf").write_text(MIXED)
    record = f"1|ann|phys|{partition}|1000|1000|1060|2|1|{cpus}|{asked}|{asked}|f1|COMPLETED|sbatch {line} --wrap x"
    (tmp_path / "jobs.sacct").write_text(f"{ASKED}SubmitLine\n{record}\n")
    workload = slurm_workload(tmp_path / "jobs.sacct", tmp_path / "slurm.conf")
    (job,) = workload.jobs
    assert dict(job.per_node) == {f"partition/{partition}": 1, **takes}
    assert {name: getattr(job, name) for name in more} == more
    resources = dict(zip(workload.machine.resources, workload.machine.capacity.T.tolist(), strict=True))
    assert resources["partition/gpu"] == [4, 4, 8, 0, 4]  # no job ran on g1, which is drained
    assert any("g1" in note for note in workload.provenance.notes)
    assert workload.machine.licences == {"matlab": 4}


def test_jobs_without_a_command_line_are_said(site):
    notes = slurm_workload(*site([JOBS[0], JOBS[2]])).provenance.notes
    assert any(note.startswith("1 of 2 jobs have no SubmitLine") for note in notes)
