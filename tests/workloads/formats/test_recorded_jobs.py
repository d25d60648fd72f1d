"""The records of one job in Slurm's accounting, and the values read from them. Also in a real output."""

from functools import partial

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import Machine, read

HEAD = "JobID|User|Account|Partition|Submit|Eligible|Start|End|Timelimit|NNodes|NCPUS|ReqMem|AllocTRES|State|JobName"
DAY = "2024-01-01T00:"


@pytest.fixture
def recorded(material):
    """Give paths of a real Slurm's output, beside the folder of the traces."""
    return partial(material, "slurm", "recorded")


@pytest.fixture
def sacct(tmp_path):
    def make(*rows, head=HEAD, **common):
        fields = {
            "JobID": "1",
            "User": "ann",
            "Account": "phys",
            "Partition": "long",
            "Submit": f"{DAY}00:00",
            "Eligible": f"{DAY}00:00",
            "Start": f"{DAY}10:00",
            "End": f"{DAY}20:00",
            "Timelimit": "00:30:00",
            "NNodes": "1",
            "NCPUS": "4",
            "ReqMem": "4000M",
            "AllocTRES": "cpu=4,node=1",
            "State": "COMPLETED",
            "JobName": "sim",
        }
        lines = ["|".join(({**fields, **common, **row})[name] for name in head.split("|")) for row in rows]
        path = tmp_path / "a.sacct"
        path.write_text("\n".join([head, *lines]) + "\n")
        return path

    return make


NODE = Machine.homogeneous(4, core=16, mem=64 * 1024**2)


@pytest.mark.parametrize(
    ("fields", "asked"),
    [
        ({"AllocTRES": "cpu=4,node=1"}, None),
        ({"AllocTRES": "cpu=4,mem=8G,node=1"}, 8 * 1024**2),
        ({"AllocTRES": ""}, 4000 * 1024),
        ({"AllocTRES": "", "ReqMem": "1Gc"}, 4 * 1024**2),
    ],
)
def test_the_memory_of_a_job_is_what_its_resources_name(sacct, fields, asked):
    """Guards against ReqMem. It is the node's memory if a job requested none."""
    job = read(sacct(fields), NODE).jobs[0]
    assert job.per_node.get("mem") == asked


@pytest.mark.parametrize("head", [HEAD, HEAD.replace("|JobName", "").replace("User", "User|JobName")])
def test_a_name_with_bars_is_put_together_again(sacct, head):
    jobs = read(sacct({"JobName": "a|pipe|"}, {"JobID": "2"}, head=head)).jobs
    assert [(job.name, job.user, job.queue) for job in jobs] == [("a|pipe|", "ann", "long"), ("sim", "ann", "long")]


def test_bars_that_may_be_of_two_columns_are_of_the_first(sacct):
    path = sacct({"JobName": "a|pipe", "Comment": "b"}, head=f"{HEAD}|Comment")
    assert read(path).jobs[0].name == "a|pipe"


def test_of_a_requeued_job_the_last_attempt_is_read(sacct):
    attempts = [
        {"State": "NODE_FAIL", "End": f"{DAY}11:00"},
        {
            "State": "PREEMPTED",
            "Submit": f"{DAY}11:00",
            "Eligible": f"{DAY}11:00",
            "Start": f"{DAY}12:00",
            "End": f"{DAY}13:00",
        },
        {"Submit": f"{DAY}13:00", "Eligible": f"{DAY}13:00", "Start": f"{DAY}15:00", "End": f"{DAY}16:00"},
    ]
    workload = read(sacct(*attempts))
    assert [(job.id, job.runtime) for job in workload.jobs] == [("1", 60)]
    assert workload.records["wait"].tolist() == [240]  # since it first came after the failure
    assert workload.provenance.counts == {"earlier attempts": 2}
    assert "2 earlier attempts of requeued jobs left out: 1 NODE_FAIL, 1 PREEMPTED" in workload.provenance.notes


def test_the_same_record_twice_is_one(sacct):
    workload = read(sacct({}, {}))
    assert len(workload) == 1
    assert workload.provenance.counts == {"repeated records": 1}
    assert workload.provenance.examples == {"repeated records": "line 2"}


def test_the_parts_of_a_heterogeneous_job_are_one(sacct):
    parts = [
        {"JobID": "9+0", "NCPUS": "4", "AllocTRES": "cpu=4,mem=4G,gres/gpu=1"},
        {"JobID": "9+1", "NCPUS": "12", "NNodes": "2", "AllocTRES": "cpu=12,mem=12G,gres/gpu=2"},
        {"JobID": "10"},
    ]
    workload = read(sacct(*parts))
    assert [(job.id, dict(job.per_node)) for job in workload.jobs] == [
        ("9", {"core": 16, "gpu": 3}),
        ("10", {"core": 4}),
    ]
    assert workload.records[["nodes", "requested_memory"]].values.tolist() == [[3, 1024**2], [1, -1]]
    assert workload.machine == Machine.homogeneous(1, core=20, gpu=3)
    assert "2 parts of heterogeneous jobs read as 1 job" in workload.provenance.notes


def test_an_array_that_waits_is_as_many_jobs_as_it_has_tasks(sacct):
    waiting = {"JobID": "5_[1,3-9:2%4]", "Start": "Unknown", "End": "Unknown", "State": "PENDING"}
    workload = read(sacct({}, waiting))
    assert workload.provenance.counts == {"not started": 5}


@pytest.mark.parametrize("array", ["5_[x]", "5_[]", "5_[1-99999999]"])
def test_what_is_no_array_is_malformed(sacct, array):
    with pytest.raises(InputError, match=r"a\.sacct:2: field 'JobID': expected an array as 278_\[9-39%10\], got "):
        read(sacct({"JobID": array, "Start": "Unknown"}, {}))


def test_tasks_of_an_array_arrive_together(sacct):
    # Slurm counts a task as eligible when its array releases it. This is seconds before its start.
    first = {"JobID": "5_1", "Submit": f"{DAY}01:00", "Eligible": f"{DAY}02:00", "Start": f"{DAY}03:00"}
    later = {"JobID": "5_2", "Submit": f"{DAY}01:00", "Eligible": f"{DAY}07:00", "Start": f"{DAY}09:00"}
    other = {"JobID": "6_2", "Submit": f"{DAY}01:00", "Eligible": f"{DAY}07:00", "Start": f"{DAY}09:00"}
    assert read(sacct(first, later, other)).records["wait"].tolist() == [60, 420, 120]


def test_an_array_is_known_with_its_limit(sacct):
    line = {"SubmitLine": "sbatch --array=1-4%2 run.sh --array=9%9"}
    waiting = {"JobID": "7_[3-4%3]", "Start": "Unknown", "End": "Unknown", "State": "PENDING"}
    rows = [{"JobID": "5_1"} | line, {"JobID": "6_1"}, {"JobID": "7_1"} | line, {"JobID": "8"}, waiting]
    found = read(sacct(*rows, head=f"{HEAD}|SubmitLine", SubmitLine="sbatch a"))
    assert found.records["array"].tolist() == ["5%2", "6", "7%3", ""]


def test_a_reservation_is_on_record_or_in_the_submit_line(sacct):
    rows = {"JobID": "1", "Reservation": "kept"}, {"JobID": "2", "SubmitLine": "sbatch --reservation=other a"}
    found = read(
        sacct(*rows, {"JobID": "3"}, head=f"{HEAD}|Reservation|SubmitLine", Reservation="", SubmitLine="sbatch")
    )
    assert found.records["reservation"].tolist() == ["kept", "other", ""]


def test_a_job_that_was_preempted_came_with_its_first_attempt(sacct):
    again = {"Submit": f"{DAY}11:00", "Eligible": f"{DAY}13:00", "Start": f"{DAY}14:00", "End": f"{DAY}24:00"}
    kept = read(sacct({"State": "PREEMPTED"}, again))
    assert kept.records["wait"].tolist() == [840]
    failed = read(sacct({"State": "NODE_FAIL"}, again))
    assert failed.records["wait"].tolist() == [60]


def test_a_job_arrives_when_it_becomes_eligible(sacct):
    jobs = [
        {"JobID": "1", "Eligible": f"{DAY}05:00"},
        {"JobID": "2_1", "Submit": f"{DAY}01:00", "Eligible": f"{DAY}10:00"},
        {"JobID": "3", "Submit": f"{DAY}02:00", "Eligible": "Unknown"},
    ]
    workload = read(sacct(*jobs))
    assert [(job.id, job.submit) for job in workload.jobs] == [("2_1", 0), ("3", 60), ("1", 240)]
    assert workload.records["wait"].tolist() == [540, 480, 300]
    assert workload.records["submitted"].tolist() == [0, 60, -60]
    assert workload.provenance.counts == {"counted from eligibility": 1}


def test_of_several_partitions_the_first_is_the_queue(sacct):
    workload = read(sacct({"Partition": "short,long"}))
    assert (workload.jobs[0].queue, workload.records["partitions"].tolist()) == ("short", ["short,long"])


AUTUMN = {"Submit": "2024-10-27T01:30:00", "Start": "2024-10-27T02:30:00", "End": "2024-10-27T03:30:00"}


def test_local_times_are_those_of_a_zone(sacct):
    """Clocks in Berlin go from 3:00 back to 2:00 that night."""
    path = sacct({**AUTUMN, "Eligible": "Unknown"})
    assert read(path).jobs[0].runtime == 3600
    workload = read(path, timezone="Europe/Berlin")
    assert workload.jobs[0].runtime == 2 * 3600
    assert workload.records["wait"].tolist() == [3600]
    assert "; UnixStartTime: 1729985400" in workload.provenance.header
    with pytest.raises(
        InputError, match="timezone: expected the name of a time zone, such as Europe/Berlin, got 'Mars'"
    ):
        read(path, timezone="Mars")


@pytest.mark.traces
def test_what_a_real_one_printed(recorded):
    workload = read(recorded("special.sacct"))
    names = {job.id: job.name for job in workload.jobs}
    assert names["279_5"] == "a|pipe"
    assert {"285", "288"} <= set(names)
    assert workload.provenance.counts == {"parts of other jobs": 1, "not started": 3, "not finished": 1}
    assert workload.records["requested_memory"].max() == -1


@pytest.mark.traces
def test_requeued_in_a_real_one(recorded):
    workload = read(recorded("requeued-D.sacct"))
    assert [(job.id, job.runtime) for job in workload.jobs] == [("288", 13)]


@pytest.mark.traces
@pytest.mark.parametrize("zone", ["America/New_York", None])
def test_the_same_jobs_in_another_zone(recorded, zone):
    local = recorded("newyork.sacct")
    numbers = recorded("replay-a.sacct")
    here = read(local, timezone=zone)
    there = read(numbers, timezone=zone and "UTC").head(len(here))
    assert [job.submit for job in here.jobs] == [job.submit for job in there.jobs]
    assert (here.provenance.header[2] == there.provenance.header[2]) == (zone is not None)
