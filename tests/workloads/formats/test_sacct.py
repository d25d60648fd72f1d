from __future__ import annotations

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import Machine, TraceWarning, read, write

HEAD = "JobID|Submit|Start|End|Timelimit|NNodes|NCPUS|User|Group|Account|JobName|Partition|ReqMem|AllocTRES|State"
DAY = "2024-01-01T"
LINES = [
    f"10|{DAY}00:00:10|{DAY}00:01:00|{DAY}01:01:00|02:00:00|2|8|ann|g|acc|sim|batch|4Gc|cpu=8,mem=32G,gres/gpu=4,gres/gpu:a=4|COMPLETED",
    f"10.batch|{DAY}00:00:10|{DAY}00:01:00|{DAY}01:01:00||2|8||||batch|||cpu=8|COMPLETED",
    f"11_1|{DAY}00:00:00|{DAY}00:02:00|{DAY}00:03:00|1-00:00:00|1|4|bob|g|acc|x y|batch|4G|cpu=4,mem=4G|FAILED",
    f"12|{DAY}00:00:20|Unknown|Unknown|1-00:00:00|1|4|bob|g|acc|x|long|4000Mn||CANCELLED by 12",
    f"13|{DAY}00:00:30|{DAY}00:01:00|Unknown|1-00:00:00|1|4|bob|g|acc|x|long|4000Mn||RUNNING",
]


@pytest.fixture
def sacct(tmp_path):
    def make(*lines, head=HEAD, name="a.sacct"):
        path = tmp_path / name
        path.write_text("\n".join([head, *lines]) + "\n")
        return path

    return make


@pytest.mark.parametrize("name", ["a.sacct", "a.txt", "a.csv"])
def test_jobs_sorted_steps_skipped(sacct, name):
    workload = read(sacct(*LINES, name=name))
    assert [(job.id, job.submit, job.runtime, job.walltime) for job in workload.jobs] == [
        ("11_1", 0, 60, 86400),
        ("10", 10, 3600, 7200),
    ]
    assert workload.jobs[1].user == "ann"
    assert workload.jobs[0].name == "x y"
    assert [(job.nodes, dict(job.per_node)) for job in workload.jobs] == [
        (1, {"core": 4}),
        (1, {"core": 8, "gpu": 4}),
    ]
    assert workload.machine == Machine.homogeneous(1, core=12, gpu=4)
    assert workload.provenance.counts == {"job steps skipped": 1, "not started": 1, "not finished": 1}
    assert workload.records["wait"].tolist() == [120, 50]
    assert workload.records["status"].tolist() == [0, 1]
    assert workload.records["requested_memory"].tolist() == [1024**2, 4 * 1024**2]
    assert workload.records["gpus"].tolist() == [0, 4]


def test_on_a_machine_nodes_memory_and_gpus_count(sacct):
    workload = read(sacct(*LINES), Machine.homogeneous(3, core=16, mem=64 * 1024**2, gpu=4))
    assert workload.jobs[1].nodes == 2
    assert dict(workload.jobs[1].per_node) == {"core": 4, "mem": 16 * 1024**2, "gpu": 2}


def test_written_as_swf(sacct, tmp_path):
    write(read(sacct(*LINES)), tmp_path / "b.swf")
    again = read(tmp_path / "b.swf")
    assert [(job.submit, job.runtime, job.walltime) for job in again.jobs] == [(0, 60, 86400), (10, 3600, 7200)]
    assert "; UnixStartTime: 1704067200" in again.provenance.header


@pytest.mark.parametrize(
    ("limit", "partitions", "walltime"),
    [
        ("UNLIMITED", {}, 365 * 86400),
        ("UNLIMITED", {"batch": 9000}, 9000),
        ("UNLIMITED", {"batch": None}, 365 * 86400),
        ("UNLIMITED", {"batch": 30}, 60),  # it ran longer
        ("Partition_Limit", {"batch": 9000}, 9000),
        ("Partition_Limit", {"batch": None}, 365 * 86400),
    ],
)
def test_no_limit_is_no_missing_one(sacct, limit, partitions, walltime):
    """Guards against the queue's longest limit for a job without a walltime. And against one below its run time."""
    path = sacct(LINES[0], LINES[2].replace("1-00:00:00", limit))
    assert read(path, partition_limits=partitions).jobs[0].walltime == walltime


def test_a_missing_limit_is_filled_in(sacct):
    path = sacct(LINES[0], LINES[2].replace("1-00:00:00", "Partition_Limit"))
    with pytest.warns(TraceWarning, match="1 of 2 jobs"):
        assert read(path).jobs[0].walltime == 7200
    with pytest.raises(InputError, match="give default_walltime"):
        read(sacct(LINES[2].replace("1-00:00:00", "")))


def test_raw_columns(sacct):
    head = "JobIDRaw|Submit|Start|ElapsedRaw|TimelimitRaw|AllocCPUS"
    job = read(sacct(f"5|{DAY}00:00:00|{DAY}00:00:00|90|2|3", head=head)).jobs[0]
    assert (job.id, job.runtime, job.walltime, job.per_node["core"]) == ("5", 90, 120, 3)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("14|x|y", r"a\.sacct:3: expected 15 fields, got 3; --lenient"),
        (LINES[0].replace(f"{DAY}00:00:10", "soon"), r":3: field 'Submit': expected a time .* got 'soon'; --lenient"),
        (LINES[0].replace("|2|8|", "|2|many|"), r":3: field 'NCPUS': expected a number, got 'many'; --lenient"),
        (LINES[0].replace(f"{DAY}01:01:00", "later"), r":3: field 'End': expected a time .* got 'later'; --lenient"),
    ],
)
def test_malformed(sacct, line, message):
    path = sacct(LINES[2], line)
    with pytest.raises(InputError, match=message):
        read(path)
    assert [job.id for job in read(path, lenient=True).jobs] == ["11_1"]


def test_strict_refuses_what_never_started(sacct):
    with pytest.raises(InputError, match=r"a\.sacct:5: expected a job that started and ended, got one not started"):
        read(sacct(*LINES), strict=True)


def test_other_headers(sacct):
    with pytest.raises(
        InputError,
        match=r"expected a column End or ElapsedRaw or Elapsed; a column AllocCPUS .*: JobID, Submit, Start; print ",
    ):
        read(sacct("1|2|3", head="JobID|Submit|Start"))
    with pytest.raises(InputError, match="expected the header line of sacct -P"):
        read(sacct("1,2", head="a,b"))
    with pytest.raises(InputError, match="expected records of jobs, got none"):
        read(sacct(LINES[1]))


RAW = {
    "JobID": "1",
    "Submit": f"{DAY}00:00:00",
    "Start": f"{DAY}00:00:00",
    "End": f"{DAY}01:00:00",
    "ElapsedRaw": "3600",
    "TimelimitRaw": "60",
    "Timelimit": "01:00:00",
    "NCPUS": "4",
    "ReqMem": "4G",
    "AllocTRES": "cpu=4,gres/gpu=1",
}


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("ElapsedRaw", "1e19", "seconds up to 10000000000"),
        ("TimelimitRaw", "1e300", "seconds up to 10000000000"),
        ("Timelimit", "99999999999999999-00:00:00", "seconds up to 10000000000"),
        ("NCPUS", "1e300", "a whole number up to 1000000000"),
        ("NCPUS", "1.5", "a whole number up to 1000000000"),
        ("NCPUS", "9" * 5000, "a number"),
        ("ReqMem", "9" * 20 + "P", "kilobytes from 0"),
        ("AllocTRES", "gres/gpu=" + "9" * 400, "a number of GPUs from 0"),
        ("Submit", "0001-01-01T00:00:00", "a time after 1970"),
        ("End", "9999-01-01T00:00:00", "a time after 1970"),
    ],
)
def test_numbers_out_of_range_are_malformed(sacct, field, value, expected):
    good = "|".join({**RAW, "JobID": "2"}.values())
    path = sacct("|".join({**RAW, field: value}.values()), good, head="|".join(RAW))
    with pytest.raises(InputError, match=rf"a\.sacct:2: field '{field}': expected {expected}") as caught:
        read(path)
    assert len(str(caught.value)) < len(str(path)) + 200
    workload = read(path, lenient=True)
    assert [job.id for job in workload.jobs] == ["2"]
    assert sum(workload.provenance.counts.values()) == 1


def test_a_name_may_have_any_end_of_a_line_but_the_file_s(sacct):
    name = "a\u2028b\x0bc\x1cd\x85e"
    path = sacct("|".join([*RAW.values(), name]), head="\ufeff" + "|".join([*RAW, "JobName"]))
    assert [job.name for job in read(path).jobs] == [name]
