"""``hpcdispatch slurm``."""

import json

import pytest

from hpcdispatch.cli.slurm_answers import configuration
from hpcdispatch.workloads.slurm_conf import read_slurm_conf

SQUEUE = {
    "meta": {"Slurm": {"version": {"major": 22, "minor": 5}}},
    "jobs": [
        {"job_id": 1, "job_state": "RUNNING", "nodes": "n[1-2]", "cpus": 8, "submit_time": 1, "start_time": 900,
         "time_limit": 60},
    ],
}  # fmt: skip
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
    waits = {"job_id": 2, "job_state": "PENDING", "cpus": 12, "node_count": 3, "tasks": 3, "submit_time": 950,
             "start_time": 4500, "time_limit": 60}  # fmt: skip
    jobs = [{**job, "partition": "all", "user_name": "ann", "account": "a"} for job in (SQUEUE["jobs"][0], waits)]
    (tmp_path / "q.json").write_text(json.dumps({**SQUEUE, "jobs": jobs}))
    return ["--config", tmp_path / "slurm.conf", "--sacct", tmp_path / "jobs.sacct"]


def test_a_forecast_is_kept_and_judged(invoke, printed, site, tmp_path):
    options = [*printed, *site, "--kept", tmp_path / "kept.jsonl"]
    found = invoke("slurm", "forecast", *options, "--json")
    assert found.exit_code == 0, found.stderr
    (made,) = json.loads(found.stdout)["forecasts"]
    assert (made["job"], made["made"], made["slurm"]) == ("2", 1000, 4500)
    # The job before it has run 100 s, longer than anything of the past, so that it may end anywhere within its hour.
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
    """Three nodes with two jobs, of which the longer one has run for less; every command is written down."""
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


def test_the_least_loss_gives_way_and_only_if_it_is_told(invoke, busy, tmp_path):
    found = invoke("slurm", "evict", "--nodes", 2, "--deadline", "10m", *busy)
    assert found.exit_code == 0, found.stderr
    reserve = "scontrol create reservation Users=ann StartTime=now Duration=25 Nodes=n2,n3 Flags=IGNORE_JOBS"
    assert found.stdout.splitlines() == [reserve, "scontrol requeue 2"]
    assert "1 job to give way, 0.0056 node-hours lost" in found.stderr
    assert not (tmp_path / "called").exists()
    assert invoke("slurm", "evict", "--nodes", 2, "--deadline", "10m", *busy, "--yes").exit_code == 0
    assert "".join((tmp_path / "called").read_text().split()).endswith("<requeue><2>")


@pytest.mark.parametrize("name", ["--all", "n2 Flags=MAINT", "ALL\n"])
def test_a_name_that_is_no_node_stops_before_a_command(invoke, busy, tmp_path, name):
    for file, was in (("q.json", "n[2-3]"), ("i.json", "n2")):
        text = (tmp_path / file).read_text()
        assert f'"{was}"' in text
        (tmp_path / file).write_text(text.replace(f'"{was}"', json.dumps(name)))
    refused = invoke("slurm", "evict", "--nodes", 2, "--deadline", "10m", *busy, "--yes")
    assert refused.exit_code == 2
    assert not (tmp_path / "called").exists()


def test_what_ends_in_time_is_waited_for(invoke, busy):
    found = invoke("slurm", "evict", "--nodes", 1, "--deadline", "1h", *busy)
    assert found.stdout.splitlines() == [
        "scontrol create reservation Users=ann StartTime=now Duration=75 Nodes=n1 Flags=IGNORE_JOBS"
    ]


def test_who_started_before_the_nodes_were_reserved_gives_way(invoke, busy, tmp_path):
    """Of the job on the third node the first answer knows nothing."""
    first = json.loads((tmp_path / "q.json").read_text())
    there, gone = first["jobs"]
    script(tmp_path / "bin", "squeue", f"cat {tmp_path}/q.json; cp {tmp_path}/later.json {tmp_path}/q.json")
    script(tmp_path / "bin", "sinfo", f"cat {tmp_path}/i.json")
    (tmp_path / "q.json").write_text(json.dumps({**first, "jobs": [there]}))
    (tmp_path / "later.json").write_text(json.dumps({**first, "jobs": [there, gone]}))
    found = invoke("slurm", "evict", "--nodes", 2, "--deadline", "10m", "--yes")
    assert found.exit_code == 0, found.stderr
    assert found.stdout.splitlines()[-1] == "scontrol requeue 2"
    assert len(found.stdout.splitlines()) == 2


def test_a_limit_ends_a_job_a_minute_late(invoke, busy):
    """KillWait, and the controller's half a minute between two looks: the job of 100 to 3700 may be there at 3750."""
    late = invoke("slurm", "evict", "--nodes", 1, "--deadline", "2750s", *busy)
    assert late.stdout.splitlines()[-1].startswith("scontrol requeue")
    assert "requeue" not in invoke("slurm", "evict", "--nodes", 1, "--deadline", "2760s", *busy).stdout


def test_the_jobs_of_others_are_left_alone(invoke, busy, tmp_path):
    (tmp_path / "level").write_text("None\n")
    refused = invoke("slurm", "evict", "--nodes", 2, "--deadline", "10m", *busy, "--yes")
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
    """Partitions are on many lines, of which only the first has the name, unless -o is given."""
    (tmp_path / "bin").mkdir()
    shown = ["config) echo Configuration data", "partition) printf 'PartitionName=all\\n   Nodes=n1\\n'"]
    shown += ["partition-o) echo PartitionName=all Nodes=n1", "node-o) echo NodeName=n1 CPUTot=4"]
    script(tmp_path / "bin", "scontrol", f'case "$2$3" in {";; ".join(shown)};; esac')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    (partition,) = read_slurm_conf(configuration(tmp_path)).partitions
    assert partition.nodes == (0,)
