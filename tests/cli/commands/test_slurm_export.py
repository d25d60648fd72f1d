"""``slurm export``, ``--site DIR``, the self-check, and a line for each waiting job."""

import gzip
import json
import shutil

import pytest

META = {"Slurm": {"version": {"major": 22, "minor": 5}}}
CONF = "ClusterName=c\nNodeName=n[1-3] CPUs=4\nKillWait=30\nPartitionName=all Nodes=ALL\n"
HEADER = (
    "JobID|User|Account|Partition|Submit|Eligible|Start|End|TimelimitRaw|NNodes|NCPUS|State|NodeList|QOS|SubmitLine"
)
ASSOC = "Cluster|Account|User|ParentName|Share\nc|root|||1\nc|a||root|1\nc|a|ann||1\nc|b||root|1\nc|b|bob||1\n"
QOS = "Name|Priority|MaxTRESPU\nnormal|0|\nsmall|0|cpu=2\n"
MAINTENANCE = "ReservationName=m StartTime=900 EndTime=1060 Nodes=n3 CoreCnt=4 Flags=MAINT,SPEC_NODES Users=root\n"


def script(folder, name, text):
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def waiting(id_, cpus, nodes, **more):
    return {
        "job_id": id_,
        "job_state": "PENDING",
        "partition": "all",
        "user_name": "ann",
        "account": "a",
        "cpus": cpus,
        "node_count": nodes,
        "tasks": nodes,
        "submit_time": 950,
        "start_time": 0,
        "time_limit": 60,
        "priority": 10,
        **more,
    }


@pytest.fixture
def site(tmp_path):
    """Return an export folder: job 1 has two nodes, and a maintenance has the third for another minute."""
    folder = tmp_path / "site"
    folder.mkdir()
    ended = [
        f"{900 + n}|{'ann' if n % 2 else 'bob'}|{'a' if n % 2 else 'b'}|all|{40 * n}|{40 * n}|{40 * n + n}|"
        f"{40 * n + n + 35}|1|3|12|COMPLETED|n[1-3]|normal|sbatch -N 3 --ntasks-per-node=4 x.sh"
        for n in range(1, 13)
    ]
    (folder / "jobs.sacct").write_text("\n".join([HEADER, *ended, ""]))
    (folder / "site.txt").write_text(CONF)
    (folder / "assoc.txt").write_text(ASSOC)
    (folder / "qos.txt").write_text(QOS)
    (folder / "reservations.txt").write_text(MAINTENANCE)
    (folder / "now").write_text("1000\n")
    runs = waiting(1, 8, 2) | {"job_state": "RUNNING", "nodes": "n[1-2]", "submit_time": 1, "start_time": 900}
    jobs = [
        runs,
        waiting(2, 12, 3),
        waiting(3, 4, 1, state_reason="JobHeldUser"),
        waiting(4, 4, 1, qos="small"),
        waiting(5, 4, 1, het_job_id=5, het_job_offset=0, priority=9),
        waiting(6, 4, 1, het_job_id=5, het_job_offset=1, priority=9),
    ]
    nodes = [{"name": f"n{place}", "cpus": 4, "state": "idle"} for place in (1, 2, 3)]
    nodes[2]["state_flags"] = ["MAINTENANCE", "RESERVED"]
    (folder / "squeue.json").write_text(json.dumps({"meta": META, "jobs": jobs}))
    (folder / "sinfo.json").write_text(json.dumps({"meta": META, "nodes": nodes}))
    return folder


def test_the_commands_are_printed_and_only_read(invoke, tmp_path):
    found = invoke("slurm", "export", tmp_path / "new", "--days", 7)
    assert found.exit_code == 0, found.stderr
    lines = found.stdout.splitlines()
    assert f"date +%s > {tmp_path}/new/now" in lines
    (sacct,) = (line for line in lines if line.startswith("sacct -a"))
    first, second = sacct.split(" || ")
    assert first == second.replace("Constraints >", "Constraints,SubmitLine >")
    assert all("sacct -a -D -X -P -S now-7days" in part and part.endswith("/jobs.sacct") for part in (first, second))
    assert any("ParentName" in line and line.endswith("/assoc.txt") for line in lines)
    assert not (tmp_path / "new").exists()
    called = {line.lstrip("(").split()[0] for line in lines[2:-1]}
    assert called == {"date", "squeue", "sinfo", "scontrol", "sacctmgr", "sacct"}


def test_an_export_is_a_site(invoke, site, tmp_path, monkeypatch):
    commands = tmp_path / "bin"
    commands.mkdir()
    script(commands, "squeue", f"cat {site}/squeue.json")
    script(commands, "sinfo", f"cat {site}/sinfo.json")
    script(
        commands, "scontrol", f"[ $2 = config ] && cat {site}/site.txt; [ $2 = reservation ] && cat {site}/res*; true"
    )
    script(commands, "sacctmgr", "echo 'Access/permission denied' >&2; exit 1")
    script(commands, "sacct", f"cat {site}/jobs.sacct")
    monkeypatch.setenv("PATH", str(commands), prepend=":")
    found = invoke("slurm", "export", tmp_path / "new", "--run")
    assert found.exit_code == 0, found.stderr
    assert (
        "Access/permission denied; assoc.txt is left out: all accounts are taken to lie below the root" in found.stderr
    )
    assert {path.name for path in (tmp_path / "new").iterdir()} == {
        "now",
        "squeue.json",
        "sinfo.json",
        "site.txt",
        "reservations.txt",
        "jobs.sacct",
    }
    found = invoke("what-if", "--site", tmp_path / "new", "--dispatchers", "slurm", "--repeats", 0)
    assert found.exit_code == 0, found.stderr
    assert "has no assoc.txt: all accounts are taken to lie below the root" in found.stderr


@pytest.mark.parametrize("lacks", [("SubmitLine",), ("SubmitLine", "Constraints"), ("Reservation",)])
def test_an_older_sacct_gives_fewer_columns(invoke, site, tmp_path, monkeypatch, lacks):
    commands = tmp_path / "bin"
    commands.mkdir()
    refused = "; ".join(
        f"case ,$last, in *,{name},*) echo 'sacct: fatal: Invalid field requested: \"{name}\"' >&2; exit 1;; esac"
        for name in lacks
    )
    # Each call leaves the columns that it was asked for.
    script(
        commands, "sacct", f'for last; do :; done; echo "$last" > {tmp_path}/asked; {refused}; cat {site}/jobs.sacct'
    )
    script(commands, "scontrol", f"[ $2 = config ] && cat {site}/site.txt; true")
    script(commands, "sacctmgr", f"[ $3 = qos ] && cat {site}/qos.txt || cat {site}/assoc.txt")
    for name in ("squeue", "sinfo"):
        script(commands, name, "echo \"unrecognized option '--json'\" >&2; exit 1")
    monkeypatch.setenv("PATH", str(commands), prepend=":")
    found = invoke("slurm", "export", tmp_path / "new", "--run")
    assert found.exit_code == 0, found.stderr
    asked = (tmp_path / "asked").read_text().strip().split(",")
    assert not set(asked) & set(lacks)
    assert {"JobID", "QOS"} <= set(asked)
    for name in lacks:
        assert f"sacct here has no column {name}:" in found.stderr
    assert "squeue.json is left out: forecast, why and evict need it; what-if does not" in found.stderr
    found = invoke("what-if", "--site", tmp_path / "new", "--dispatchers", "slurm", "--repeats", 0)
    assert found.exit_code == 0, found.stderr


def test_another_failure_of_sacct_is_said(invoke, site, tmp_path, monkeypatch):
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, text in {"sacct": "echo 'Connection refused' >&2; exit 1", "scontrol": f"cat {site}/site.txt"}.items():
        script(commands, name, text)
    for name in ("squeue", "sinfo", "sacctmgr"):
        script(commands, name, "exit 1")
    monkeypatch.setenv("PATH", str(commands), prepend=":")
    found = invoke("slurm", "export", tmp_path / "new", "--run")
    assert found.exit_code == 2
    assert "sacct: ended with code 1 and said: Connection refused" in found.stderr


def test_a_site_begins_with_the_self_check(invoke, site):
    found = invoke("what-if", "--site", site, "--dispatchers", "slurm", "--repeats", 0)
    assert found.exit_code == 0, found.stderr
    lines = found.stdout.splitlines()
    assert lines[0] == "Self-check: the model on the record"
    assert any(line.startswith("account a") and line.rstrip().endswith("yes") for line in lines)
    told = json.loads(invoke("what-if", "--site", site, "--dispatchers", "slurm", "--repeats", 0, "--json").stdout)
    assert {each["kind"] for each in told["self_check"]} == {"partition", "account", "qos", "size"}


def test_groups_that_the_model_misses_get_no_advice(invoke, site):
    # Half an hour of waits on idle nodes: the model cannot know why.
    text = (site / "jobs.sacct").read_text()
    late = [
        f"{800 + n}|bob|b|all|{600 + n}|{600 + n}|{2400 + 50 * n}|{2440 + 50 * n}|1|1|4|COMPLETED|n1|normal|sbatch -N 1"
        for n in range(6)
    ]
    (site / "jobs.sacct").write_text(text + "\n".join([*late, ""]))
    given = ("what-if", "--site", site, "--dispatchers", "slurm", "--scenario", "bf_interval=60", "--repeats", 0)
    found = invoke(*given, "--json")
    assert found.exit_code == 0, found.stderr
    told = json.loads(found.stdout)
    trusted = {(each["kind"], each["jobs_of"]): each["trusted"] for each in told["self_check"]}
    assert trusted["account", "a"]
    assert not trusted["account", "b"]
    waits = {
        (each["jobs_of"], each["scheduler"]): each["wait"] for each in told["classes"] if each["kind"] == "account"
    }
    assert waits["a", "bf_interval=60"] is not None
    assert waits["b", "bf_interval=60"] is None
    assert "No advice for" in invoke(*given).stdout


@pytest.mark.nightly
def test_a_running_maintenance_ends(invoke, site, tmp_path):
    kept = ("--kept", tmp_path / "kept.jsonl", "--draws", 4)
    found = invoke("slurm", "forecast", "--site", site, *kept, "--json")
    assert found.exit_code == 0, found.stderr
    told = json.loads(found.stdout)
    starts = {each["job"]: each["median"] for each in told["forecasts"]}
    assert 1060 <= starts["2"] < 4700
    assert starts["5+0"] == starts["5+1"]
    # Each waiting job has a line.
    assert {*starts, *(job for job, _ in told["without"])} == {"2", "3", "4", "5+0", "5+1"}
    why = dict(told["without"])
    assert "JobHeldUser" in why["3"]
    assert "limit of cpu" in why["4"]
    lines = invoke("slurm", "forecast", "--site", site, *kept).stdout
    assert "3: no forecast: it waits for JobHeldUser" in lines
    assert "Job 4 has no forecast" in invoke("slurm", "forecast", "4", "--site", site, *kept).stdout


def test_without_the_reservation_that_is_said(invoke, site, tmp_path):
    (site / "reservations.txt").unlink()
    found = invoke("slurm", "why", "2", "--site", site)
    assert found.exit_code == 0, found.stderr
    assert "n3: a reservation closes them for ever here" in found.stderr


def test_cores_can_be_freed(invoke, site, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    found = invoke("slurm", "evict", "--nodes", 8, "--unit", "core", "--deadline", "5m", "--site", site)
    assert found.exit_code == 0, found.stderr
    assert "CoreCnt=8" in found.stdout
    assert "scontrol requeue 1" in found.stdout


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("jobs.sacct", None, "expected a file jobs.sacct or sacct.txt, got none; 'hpcdispatch slurm export"),
        ("site.txt", None, "expected a file site.txt or slurm.conf or config.txt, got none"),
        ("assoc.txt", ASSOC.replace("c|", "other|"), "expected associations of cluster 'c', got those of other"),
        ("site.txt", CONF[:40], "site.txt"),
    ],
)
def test_an_incomplete_folder_is_one_line(invoke, site, name, text, message):
    if text is None:
        (site / name).unlink()
    else:
        (site / name).write_text(text)
    found = invoke("what-if", "--site", site, "--dispatchers", "slurm")
    assert found.exit_code in (1, 2)
    assert message in found.stderr
    shutil.rmtree(site)
    assert invoke("what-if", "--site", site).exit_code == 2
    assert "--config" in invoke("what-if").stderr


def test_packed_files_are_a_site_too(invoke, site, tmp_path):
    for name in ("squeue.json", "sinfo.json", "jobs.sacct"):
        (site / f"{name}.gz").write_bytes(gzip.compress((site / name).read_bytes()))
        (site / name).unlink()
    given = ("slurm", "forecast", "--site", site, "--kept", tmp_path / "kept.jsonl", "--draws", 4, "--json")
    found = invoke(*given)
    assert found.exit_code == 0, found.stderr
    assert {each["job"] for each in json.loads(found.stdout)["forecasts"]} == {"2", "5+0", "5+1"}
    packed = (site / "squeue.json.gz").read_bytes()
    for damaged, message in ((packed[:-20], "cut off"), (packed[:20] + b"\0" * 60 + packed[80:], "got damaged data")):
        (site / "squeue.json.gz").write_bytes(damaged)
        found = invoke(*given)
        assert found.exit_code == 2
        assert message in found.stderr


@pytest.mark.parametrize("name", ["jobs.sacct", "site.txt", "assoc.txt", "qos.txt", "reservations.txt"])
def test_a_file_that_ends_within_a_line_is_said(invoke, site, name):
    (site / name).write_bytes((site / name).read_bytes()[:-1])
    found = invoke("what-if", "--site", site, "--dispatchers", "slurm", "--repeats", 0)
    assert found.exit_code == 0, found.stderr
    assert found.stderr.count("ends within a line: is it cut off?") == 1
    assert f"{site / name} ends within a line" in found.stderr


def test_another_cluster_and_missing_jobs_are_said(invoke, site):
    told = json.loads((site / "squeue.json").read_text())
    for each in told["jobs"]:
        each["cluster"] = "Other"
    (site / "squeue.json").write_text(json.dumps(told))
    found = invoke("what-if", "--site", site, "--dispatchers", "slurm", "--repeats", 0)
    assert found.exit_code == 0, found.stderr
    assert "squeue.json is of cluster other" in found.stderr
    # Job 1 runs, and jobs 2, 4, 5+0 and 5+1 could start. Job 3 is held.
    assert "jobs.sacct lacks 5 of the 5 jobs that ran or waited in" in found.stderr


def test_a_long_record_is_answered_from_its_last_jobs(invoke, site, monkeypatch):
    monkeypatch.setattr("hpcdispatch.cli.commands.what_if_command.MANY", 10)
    monkeypatch.setattr("hpcdispatch.cli.commands.what_if_command.LAST", 4)
    found = invoke("what-if", "--site", site, "--json")
    assert found.exit_code == 0, found.stderr
    assert "the last 4 are simulated, and earlier ones count as past usage" in found.stderr
    told = json.loads(found.stdout)
    assert [each["name"] for each in told["schedulers"]] == ["recorded", "slurm", "easy"]
    jobs = [each["jobs"] for each in told["self_check"] if each["kind"] == "partition"]
    assert 4 <= sum(jobs) <= 5
    for more in (("--last", 6), ("--begin", 0)):
        found = invoke("what-if", "--site", site, "--dispatchers", "slurm", "--repeats", 0, *more, "--json")
        assert "quick first answer" not in found.stderr
        jobs = [each["jobs"] for each in json.loads(found.stdout)["self_check"] if each["kind"] == "partition"]
        assert sum(jobs) >= 6
    assert invoke("what-if", "--site", site, "--last", 3, "--begin", "1h").exit_code == 2
