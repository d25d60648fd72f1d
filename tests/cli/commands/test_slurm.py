"""``hpcdispatch slurm``."""

import json

import pytest

from hpcdispatch.cli.slurm_answers import configuration
from hpcdispatch.workloads.slurm_conf import read_slurm_conf

SQUEUE = {
    "meta": {"Slurm": {"version": {"major": 22, "minor": 5}}},
    "jobs": [
        {
            "job_id": 1,
            "job_state": "RUNNING",
            "nodes": "n[1-2]",
            "cpus": 8,
            "submit_time": 1,
            "start_time": 900,
            "time_limit": 60,
        },
    ],
}
SINFO = {"meta": SQUEUE["meta"], "nodes": [{"name": f"n{place}", "cpus": 4, "state": "idle"} for place in (1, 2, 3)]}


@pytest.fixture
def printed(tmp_path):
    (tmp_path / "q.json").write_text(json.dumps(SQUEUE))
    (tmp_path / "i.json").write_text(json.dumps(SINFO))
    return ["--squeue", tmp_path / "q.json", "--sinfo", tmp_path / "i.json", "--now", 1000]


def script(folder, name, text):
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def test_the_state_is_what_evict_reads(invoke, printed, tmp_path):
    found = invoke("slurm", "state", tmp_path / "state.json", *printed)
    assert found.exit_code == 0, found.stderr
    assert "1 running job on 2 of 3 nodes, 0 waiting" in found.stdout
    assert invoke("evict", tmp_path / "state.json", "--nodes", 3, "--deadline", "10m").exit_code == 0


def test_slurm_is_asked_where_nothing_is_given(invoke, printed, tmp_path, monkeypatch):
    script(tmp_path, "squeue", f"cat {printed[1]}")
    script(tmp_path, "sinfo", f"cat {printed[3]}")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert invoke("slurm", "state", tmp_path / "state.json").exit_code == 0
    assert json.loads((tmp_path / "state.json").read_text())["machine"] == {"nodes": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "echo 'slurm_load_jobs error: Unable to contact' >&2; exit 1",
            "squeue: ended with code 1 and said: slurm_load",
        ),
        ("exec sleep 60", "squeue: no answer within 0.2 s"),
    ],
)
def test_a_controller_that_does_not_answer_is_told_in_one_line(invoke, tmp_path, monkeypatch, text, message):
    monkeypatch.setattr("hpcdispatch.cli.slurm_answers.PATIENCE", 0.2)
    script(tmp_path, "squeue", text)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = invoke("slurm", "state", tmp_path / "state.json")
    assert found.exit_code == 2
    assert message in found.stderr
    assert not (tmp_path / "state.json").exists()


def test_without_slurm_that_is_said(invoke, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = invoke("slurm", "state", tmp_path / "state.json")
    assert found.exit_code == 2
    assert "squeue: there is no such command here" in found.stderr


def test_files_come_together(invoke, printed, tmp_path):
    found = invoke("slurm", "state", tmp_path / "state.json", *printed[:2])
    assert found.exit_code == 2
    assert "expected all of them or none" in found.stderr


@pytest.fixture
def site(tmp_path):
    (tmp_path / "slurm.conf").write_text("NodeName=n[1-3] CPUs=4\nPartitionName=all Nodes=ALL\n")
    header = "JobID|User|Account|Partition|Submit|Start|End|TimelimitRaw|NNodes|NCPUS"
    ended = [f"{900 + number}|ann|a|all|{number}|{number}|{number + 60}|60|1|4" for number in range(1, 12)]
    (tmp_path / "jobs.sacct").write_text("\n".join([header, *ended, "2|ann|a|all|950|1300|1360|60|3|12", ""]))
    waits = {
        "job_id": 2,
        "job_state": "PENDING",
        "cpus": 12,
        "node_count": 3,
        "tasks": 3,
        "submit_time": 950,
        "start_time": 4500,
        "time_limit": 60,
    }
    jobs = [{**job, "partition": "all", "user_name": "ann", "account": "a"} for job in (SQUEUE["jobs"][0], waits)]
    (tmp_path / "q.json").write_text(json.dumps({**SQUEUE, "jobs": jobs}))
    return ["--config", tmp_path / "slurm.conf", "--sacct", tmp_path / "jobs.sacct"]


def test_a_forecast_is_kept_and_judged(invoke, printed, site, tmp_path):
    options = [*printed, *site, "--kept", tmp_path / "kept.jsonl"]
    found = invoke("slurm", "forecast", *options, "--json")
    assert found.exit_code == 0, found.stderr
    (made,) = json.loads(found.stdout)["forecasts"]
    assert (made["job"], made["made"], made["slurm"]) == ("2", 1000, 4500)
    # The job before it has run 100 s, longer than any past job. It may end anywhere within its hour.
    assert 1000 <= made["low"] <= made["high"] <= 4600
    assert invoke("slurm", "forecast", "2", *options).exit_code == 0
    judged = invoke("slurm", "forecast", "--judge", *site, "--kept", tmp_path / "kept.jsonl", "--json")
    assert json.loads(judged.stdout)["known"] == 2
    told = invoke("slurm", "forecast", "--judge", *site, "--kept", tmp_path / "kept.jsonl")
    assert "2 forecasts of jobs that have started, 0 of others" in told.stdout


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["77"], "job 77: expected one that waits"),
        (["--shares", "a"], "shares must be parts NAME=N"),
        (["--predictor", "nobody"], "unknown predictor 'nobody'"),
    ],
)
def test_a_forecast_that_cannot_be_is_one_line(invoke, printed, site, tmp_path, more, message):
    found = invoke("slurm", "forecast", *more, *printed, *site, "--kept", tmp_path / "kept.jsonl")
    assert found.exit_code == 2
    assert message in found.stderr
    assert not (tmp_path / "kept.jsonl").exists()


@pytest.fixture
def busy(tmp_path, monkeypatch):
    """There are three nodes with two jobs. The longer job has run for less time. Every command is recorded."""
    jobs = [
        {**SQUEUE["jobs"][0], "job_id": 1, "nodes": "n1", "cpus": 4, "user_name": "ann", "start_time": 100},
        {**SQUEUE["jobs"][0], "job_id": 2, "nodes": "n[2-3]", "user_name": "$(reboot)", "start_time": 990},
    ]
    (tmp_path / "q.json").write_text(json.dumps({**SQUEUE, "jobs": jobs}))
    (tmp_path / "i.json").write_text(json.dumps(SINFO))
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin", "scontrol", f'for word; do echo "<$word>"; done >> {tmp_path}/called')
    script(tmp_path / "bin", "sacctmgr", f"cat {tmp_path}/level")
    (tmp_path / "level").write_text("Operator\n")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("getpass.getuser", lambda: "ann")
    return ["--squeue", tmp_path / "q.json", "--sinfo", tmp_path / "i.json", "--now", 1000]


def test_least_loss_gives_way(invoke, busy, tmp_path):
    found = invoke("slurm", "evict", "--nodes", 2, "--deadline", "10m", *busy)
    assert found.exit_code == 0, found.stderr
    reserve = "scontrol create reservation Users=ann StartTime=now Duration=25 Nodes=n2,n3 Flags=IGNORE_JOBS"
    assert found.stdout.splitlines() == [reserve, "scontrol requeue 2"]
    assert "1 job to give way, 0.0056 node-hours lost" in found.stderr
    assert not (tmp_path / "called").exists()


@pytest.mark.parametrize(("name", "instead"), [("advise", "what-if --dispatchers"), ("submit", "hpcdispatch sequence")])
def test_removed_commands_name_a_replacement(invoke, name, instead):
    refused = invoke("slurm", name, "segment.sh")
    assert refused.exit_code == 2
    assert instead in refused.stderr


@pytest.mark.parametrize("name", ["--all", "n2 Flags=MAINT", "ALL\n"])
def test_a_name_that_is_no_node_stops_before_a_command(invoke, busy, tmp_path, name):
    for file, was in (("q.json", "n[2-3]"), ("i.json", "n2")):
        text = (tmp_path / file).read_text()
        assert f'"{was}"' in text
        (tmp_path / file).write_text(text.replace(f'"{was}"', json.dumps(name)))
    refused = invoke("slurm", "evict", "--nodes", 2, "--deadline", "10m", *busy)
    assert refused.exit_code == 2
    assert not (tmp_path / "called").exists()


def test_what_ends_in_time_is_waited_for(invoke, busy):
    found = invoke("slurm", "evict", "--nodes", 1, "--deadline", "1h", *busy)
    assert found.stdout.splitlines() == [
        "scontrol create reservation Users=ann StartTime=now Duration=75 Nodes=n1 Flags=IGNORE_JOBS"
    ]


def test_a_limit_ends_a_job_a_minute_late(invoke, busy):
    """KillWait counts, and the controller looks every half minute. The job of 100 to 3700 may run at 3750."""
    late = invoke("slurm", "evict", "--nodes", 1, "--deadline", "2750s", *busy)
    assert late.stdout.splitlines()[-1].startswith("scontrol requeue")
    assert "requeue" not in invoke("slurm", "evict", "--nodes", 1, "--deadline", "2760s", *busy).stdout


def test_the_jobs_of_others_are_left_alone(invoke, busy, tmp_path):
    (tmp_path / "level").write_text("None\n")
    refused = invoke("slurm", "evict", "--nodes", 2, "--deadline", "10m", *busy)
    assert refused.exit_code == 2
    assert "expected jobs of ann or the rights of an operator, got 2 of $(reboot)" in refused.stderr
    assert not (tmp_path / "called").exists()
    own = invoke("slurm", "evict", "--nodes", 1, "--deadline", "1h", *busy)
    assert own.exit_code == 0
    assert own.stdout == ""
    assert "the nodes are not reserved" in own.stderr


def test_more_nodes_than_there_are_are_infeasible(invoke, busy):
    found = invoke("slurm", "evict", "--nodes", 4, "--deadline", "1h", *busy)
    assert found.exit_code == 1
    assert "4 nodes asked for, and the machine has 3" in found.stderr


def test_a_site_that_is_asked_for_has_its_partitions(tmp_path, monkeypatch):
    """Partitions are on many lines. Only the first has the name, unless -o is given."""
    (tmp_path / "bin").mkdir()
    shown = ["config) echo Configuration data", "partition) printf 'PartitionName=all\\n   Nodes=n1\\n'"]
    shown += ["partition-o) echo PartitionName=all Nodes=n1", "node-o) echo NodeName=n1 CPUTot=4"]
    script(tmp_path / "bin", "scontrol", f'case "$2$3" in {";; ".join(shown)};; esac')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    (partition,) = read_slurm_conf(configuration(tmp_path)).partitions
    assert partition.nodes == (0,)


@pytest.fixture
def waiting(tmp_path):
    """There are three nodes of 4 cores. One job runs on two of them. Four jobs wait for different reasons."""
    base = {"partition": "all", "account": "a", "user_name": "ann", "time_limit": 60, "submit_time": 900}
    jobs = [
        {
            **base,
            "job_id": 1,
            "job_state": "RUNNING",
            "nodes": "n[1-2]",
            "node_count": 2,
            "tasks": 2,
            "cpus": 8,
            "submit_time": 1,
            "start_time": 900,
            "user_name": "carl",
        },
        {**base, "job_id": 2, "job_state": "PENDING", "cpus": 12, "node_count": 3, "tasks": 3, "priority": 90},
        {
            **base,
            "job_id": 3,
            "job_state": "PENDING",
            "cpus": 4,
            "node_count": 1,
            "tasks": 1,
            "priority": 80,
            "time_limit": 120,
        },
        {
            **base,
            "job_id": 4,
            "job_state": "PENDING",
            "cpus": 4,
            "node_count": 1,
            "tasks": 1,
            "priority": 70,
            "user_name": "bob",
            "time_limit": 10,
        },
        {**base, "job_id": 5, "job_state": "PENDING", "cpus": 16, "node_count": 4, "tasks": 4, "priority": 60},
        {
            **base,
            "job_id": 6,
            "job_state": "PENDING",
            "cpus": 4,
            "node_count": 1,
            "tasks": 1,
            "priority": 0,
            "state_reason": "JobHeldUser",
        },
    ]
    (tmp_path / "q.json").write_text(json.dumps({**SQUEUE, "jobs": jobs}))
    (tmp_path / "i.json").write_text(json.dumps(SINFO))
    (tmp_path / "slurm.conf").write_text("NodeName=n[1-3] CPUs=4\nPartitionName=all Nodes=ALL\n")
    header = "JobID|User|Account|Partition|Submit|Start|End|TimelimitRaw|NNodes|NCPUS"
    past = [f"{100 + at}|ann|a|all|{at}|{at}|{at + 300}|60|1|4" for at in range(1, 12)]
    (tmp_path / "jobs.sacct").write_text("\n".join([header, *past, ""]))
    (tmp_path / "limits.txt").write_text("Name|GrpJobs\nnormal|1\n")
    (tmp_path / "reserved.txt").write_text("ReservationName=m StartTime=1900 EndTime=9000 Nodes=n3 Flags=MAINT\n")
    return [
        "--squeue",
        tmp_path / "q.json",
        "--sinfo",
        tmp_path / "i.json",
        "--now",
        1000,
        "--config",
        tmp_path / "slurm.conf",
        "--sacct",
        tmp_path / "jobs.sacct",
    ]


@pytest.mark.parametrize(
    ("job", "more", "kind", "detail"),
    [
        ("2", [], "resource", "too little core: room for 1 of 3 slots; other jobs run on 2 of its nodes"),
        ("3", [], "priority", "1 of higher priority start before it, first job 2"),
        ("4", [], "nothing", ""),
        ("5", [], "size", "do not have so much"),
        ("3", ["--limits", "limits.txt"], "limit", "QOS normal: at most 1 jobs, 1 in use"),
        ("4", ["--reservations", "reserved.txt"], "nothing", ""),
        ("3", ["--reservations", "reserved.txt"], "reservation", "reservation m of n3"),
    ],
)
def test_why_a_job_waits(invoke, waiting, tmp_path, job, more, kind, detail):
    files = [tmp_path / each if each.endswith(".txt") else each for each in more]
    found = invoke("slurm", "why", job, *waiting, *files, "--json")
    assert found.exit_code == 0, found.stderr
    told = json.loads(found.stdout)
    assert (told["kind"], detail in told["detail"]) == (kind, True), told


def test_what_is_not_modelled_of_a_reservation_is_said(invoke, waiting, tmp_path):
    text = (tmp_path / "reserved.txt").read_text()
    (tmp_path / "reserved.txt").write_text(text.replace("Flags=MAINT", "Flags=TIME_FLOAT"))
    found = invoke("slurm", "why", "3", *waiting, "--reservations", tmp_path / "reserved.txt", "--json")
    assert json.loads(found.stdout)["kind"] == "reservation"
    assert "TIME_FLOAT: its times move with the clock" in found.stderr
    (tmp_path / "reserved.txt").write_text("hello\n")
    assert invoke("slurm", "why", "3", *waiting, "--reservations", tmp_path / "reserved.txt").exit_code == 2


def test_what_would_start_a_job_sooner(invoke, waiting):
    # One node is left, free until 4500. An hour fits there. Two hours would delay job 2.
    told = json.loads(invoke("slurm", "why", "3", *waiting, "--json").stdout)
    sooner = {each["change"]: each["wait"] for each in told["sooner"]}
    assert told["ahead"] == ["2"]
    assert sooner["1/4 of its walltime"] < 120 < sooner.get("1/2 of its walltime", 1e9)
    assert sooner["the highest priority"] < 120
    assert told["wait"] > 3000
    said = invoke("slurm", "why", "3", *waiting).stdout
    assert "it starts in" in said


@pytest.mark.parametrize(
    ("job", "message"),
    [("1", "job 1: expected one that waits, got one that runs"), ("77", "job 77: expected one that waits")],
)
def test_why_needs_a_job_that_waits(invoke, waiting, job, message):
    found = invoke("slurm", "why", job, *waiting)
    assert found.exit_code == 2
    assert message in found.stderr


def test_why_a_job_is_held(invoke, waiting):
    told = json.loads(invoke("slurm", "why", "6", *waiting, "--json").stdout)
    assert (told["kind"], told["slurm"]) == ("held", "JobHeldUser")
    assert "Job 6 never starts as it is" in told["answer"]
