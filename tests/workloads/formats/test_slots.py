"""Unequal slots and partitions of jobs in tables, in Philly's log and in Slurm's accounting."""

import json

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Workload, read, write
from hpcdispatch.workloads.formats.slots import read_slots

MAP = """about = "ours"
[columns]
id = "job"
submit = "at"
elapsed = "ran"
walltime = "limit"
slots = "gpus"
"""
GPUS = {"resources": ("core", "gpu"), "capacity": [[32, 8]] * 4, "equivalence": {"gpu": 1}}


def table(folder, rows, columns=MAP, header="job,at,ran,limit,gpus"):
    (folder / "ours.toml").write_text(columns)
    (folder / "jobs.csv").write_text("\n".join([header, *rows, ""]))
    return {"source": folder / "jobs.csv", "format": str(folder / "ours.toml")}


def read_table(folder, rows, machine=None, **options):
    asked = table(folder, rows, **options)
    return read(asked["source"], format=asked["format"], machine=machine)


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("8+4", [8, 4]),
        ("8; 4 ,2", [8, 4, 2]),
        ("3", [3]),
        ("[8, 4]", [8, 4]),
        ('[{"gpu": 8}, {"gpu": 4}]', [{"gpu": 8}, {"gpu": 4}]),
        ("8+0", []),
        ("8+", []),
        ("[]", []),
        ("[{}]", []),
        ('[{"gpu": -1}]', []),
        ("[[1]]", []),
        ("eight", []),
    ],
)
def test_texts_of_slots(text, slots):
    assert read_slots(text) == slots


def test_a_column_has_the_slots(tmp_path):
    rows = [
        "a,0,9,10,8+4",
        "b,1,9,10,4+4",
        "c,2,9,10,2",
        'd,3,9,10,"[{""gpu"": 2, ""core"": 8}, {""gpu"": 1, ""core"": 4}]"',
    ]
    workload = read_table(tmp_path, rows, Machine(**GPUS))
    first, second, third, last = workload.jobs
    assert (first.nodes, first.slots) == (2, ({"gpu": 8}, {"gpu": 4}))
    assert (second.nodes, second.per_node, second.slots) == (2, {"gpu": 4}, None)
    assert (third.nodes, third.per_node, third.slots) == (1, {"gpu": 2}, None)
    assert last.slots == ({"gpu": 2, "core": 8}, {"gpu": 1, "core": 4})
    result = simulate(workload, "easy")
    check(workload, result)
    assert len(set(result.jobs["placement"].iloc[0].tolist())) == 2


def test_a_pool_has_no_slots(tmp_path):
    workload = read_table(tmp_path, ["a,0,9,10,8+4"])
    assert [(job.nodes, job.per_node["core"], job.slots) for job in workload.jobs] == [(1, 12, None)]


def test_slots_that_fit_no_node_are_said(tmp_path):
    rows = ["a,0,9,10,9+3", "b,0,9,10,2+1"]
    workload = read_table(tmp_path, rows, Machine(**GPUS))
    assert [job.slots for job in workload.jobs] == [None, ({"gpu": 2}, {"gpu": 1})]
    assert any("1 job with unequal slots read with equal ones" in note for note in workload.provenance.notes)


def test_what_is_no_list_of_slots_is_one_line(tmp_path):
    with pytest.raises(InputError, match=r"line 3.*|jobs.csv:3: field 'gpus': expected cores of each slot") as error:
        read_table(tmp_path, ["a,0,9,10,8+4", "b,0,9,10,8+x"])
    assert "\n" not in str(error.value)


def philly(folder):
    def job(name, vc, at, start, *hosts):
        detail = [{"ip": f"m{n}", "gpus": [f"gpu{g}" for g in range(count)]} for n, count in enumerate(hosts)]
        times = {"start_time": f"2017-10-03 00:{start:02}:00", "end_time": f"2017-10-03 00:{start + 9:02}:00"}
        attempt = times | {"detail": detail}
        submitted = f"2017-10-03 00:{at:02}:00"
        return {
            "jobid": name,
            "vc": vc,
            "user": "u",
            "status": "Pass",
            "submitted_time": submitted,
            "attempts": [attempt],
        }

    jobs = [job("a", "red", 0, 1, 8, 4), job("b", "blue", 2, 3, 2), job("c", "red", 4, 20, 8, 8)]
    (folder / "cluster_job_log.json").write_text(json.dumps(jobs))
    return folder / "cluster_job_log.json"


def test_philly_has_unequal_slots_in_virtual_clusters(tmp_path):
    machine = Machine(**GPUS).partitioned({"red": "0-1", "blue": (2, 3)})
    workload = read(philly(tmp_path), machine=machine, default_walltime="runtime")
    assert [job.slots and len(job.slots) for job in workload.jobs] == [2, None, None]
    assert workload.jobs[0].slots[1] == {"gpu": 4, "partition/red": 4}
    result = simulate(workload, "fcfs")
    check(workload, result)
    nodes = [set(placement.tolist()) for placement in result.jobs["placement"]]
    assert nodes == [{0, 1}, {2}, {0, 1}]
    assert result.jobs["start"].tolist()[2] >= result.jobs["end"].tolist()[0]


def test_partitions_of_a_column_are_isolated_pools(tmp_path):
    columns = MAP.replace('slots = "gpus"', 'cores = "gpus"\npartition = "vc"\nstart = "begun"')
    rows = ["a,0,0,50,60,8,red", "b,1,1,50,60,4,blue", "c,2,50,50,60,8,red", "d,3,51,9,60,4,blue"]
    asked = table(tmp_path, rows, columns, "job,at,begun,ran,limit,gpus,vc")
    workload = read(asked["source"], format=asked["format"])
    assert dict(zip(workload.machine.resources, workload.machine.capacity[0].tolist(), strict=True)) == {
        "core": 12,
        "partition/red": 8,
        "partition/blue": 4,
    }
    assert dict(workload.jobs[0].per_node) == {"core": 8, "partition/red": 8}
    result = simulate(workload, "easy")
    check(workload, result)
    assert result.jobs["start"].tolist() == [0, 1, 50, 51]


def test_jobs_of_an_unknown_partition_are_counted(tmp_path):
    machine = Machine(**GPUS).partitioned({"red": "0-3"})
    workload = read(philly(tmp_path), machine=machine, default_walltime="runtime")
    assert [job.id for job in workload.jobs] == ["a", "c"]
    assert any("1 of a partition that the machine lacks" in note for note in workload.provenance.notes)


@pytest.mark.parametrize(
    ("partitions", "message"),
    [
        ({"red": "0-9"}, r"partition red: nodes must lie in 0\.\.3, got 9"),
        ({"": "0"}, "partitions must have names"),
        ([1], "partitions must be nodes by name"),
        ({"red": "a"}, "partition red"),
    ],
)
def test_bad_partitions_are_one_line(partitions, message):
    with pytest.raises(ValueError, match=message):
        Machine(**GPUS).partitioned(partitions)


def test_a_machine_file_names_partitions(tmp_path):
    file = {"groups": {"g": {"gpu": 8}}, "resources": {"g": 2}, "partitions": {"red": "0", "blue": [1]}}
    (tmp_path / "m.json").write_text(json.dumps(file | {"equivalence": {"processor": {"gpu": 1}}}))
    machine = Machine.from_file(tmp_path / "m.json")
    assert machine.resources == ("gpu", "partition/red", "partition/blue")
    assert machine.capacity.tolist() == [[8, 8, 0], [8, 0, 8]]


def test_parts_of_a_heterogeneous_job_are_slots(tmp_path):
    header = "JobID|Submit|Start|End|TimelimitRaw|NNodes|NCPUS|State"
    rows = [
        "7+0|1000|1000|1060|2|1|8|COMPLETED",
        "7+1|1000|1000|1060|2|2|8|COMPLETED",
        "8|1001|1060|1070|2|1|4|COMPLETED",
    ]
    (tmp_path / "a.sacct").write_text("\n".join([header, *rows, ""]))
    machine = Machine.homogeneous(3, core=8)
    workload = read(tmp_path / "a.sacct", machine=machine)
    assert [job.slots for job in workload.jobs] == [({"core": 8}, {"core": 4}, {"core": 4}), None]
    result = simulate(workload, "easy")
    check(workload, result)
    assert [len(each) for each in result.jobs["placement"]] == [3, 1]


def test_swf_counts_the_processors_of_unequal_slots(tmp_path):
    job = Job("1", 0, 10, 10, slots=({"core": 8}, {"core": 4}))
    write(Workload([job], Machine.homogeneous(2, core=8)), tmp_path / "a.swf")
    fields = (tmp_path / "a.swf").read_text().splitlines()[-1].split()
    assert fields[7] == "12"
