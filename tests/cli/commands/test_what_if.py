"""`hpcdispatch what-if` and `workload from-slurm`."""

import json

import pandas as pd
import pytest
from click.testing import CliRunner

from hpcdispatch.cli.app import cli
from hpcdispatch.workloads import read

CONF = """SchedulerParameters=bf_interval=5,bf_resolution=1
NodeName=n[1-2] CPUs=4
PartitionName=all Nodes=ALL
"""
HEADER = "JobID|User|Account|Partition|Submit|Start|End|TimelimitRaw|ReqNodes|NNodes|NCPUS"
JOBS = ["1|a|x|all|1000|1000|1300|5|1|1|4", "2|a|x|all|1001|1300|1330|5|2|2|8", "3|a|x|all|1002|1005|1035|1|1|1|4"]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "jobs.sacct").write_text("\n".join([HEADER, *JOBS, ""]))
    return ["--config", str(tmp_path / "slurm.conf"), "--sacct", str(tmp_path / "jobs.sacct")]


def run(*args):
    return CliRunner().invoke(cli, args)


def test_what_happened_comes_first_then_the_site_then_the_others(files):
    done = run(
        "what-if", *files, "--dispatchers", "slurm,fcfs", "--scenario", "bf_interval=30", "--begin", "0", "--json"
    )
    assert done.exit_code == 0, done.output
    found = {row["name"]: row for row in json.loads(done.stdout)["schedulers"]}
    assert list(found) == ["recorded", "slurm", "fcfs", "bf_interval=30"]
    assert found["recorded"]["deviation"] == 0
    assert found["slurm"]["deviation"] == 0
    assert found["slurm"]["near"] == {"10": 1.0, "60": 1.0, "600": 1.0}
    # The third job is backfilled after 30 s, not after 5.
    assert found["bf_interval=30"]["deviation"] == pytest.approx(25 / 3)
    assert found["fcfs"]["wait"] > found["slurm"]["wait"]


def test_the_table_says_how_well_the_model_meets_the_record(files):
    done = run("what-if", *files, "--dispatchers", "slurm")
    assert done.exit_code == 0, done.output
    assert "slurm meets the recorded starts: 100.0% within 10s" in done.stdout


def test_it_begins_with_what_ran_when_the_first_job_ended(files):
    # The third job ends at 1035. The first runs, the second waits.
    done = run("what-if", *files, "--dispatchers", "fcfs", "--json")
    assert done.exit_code == 0, done.output
    found = {row["name"]: row["wait"] for row in json.loads(done.stdout)["schedulers"]}
    assert found == {"recorded": 299, "slurm": 299, "fcfs": 299}
    told = run("what-if", *files, "--dispatchers", "fcfs").stdout
    assert "1 job on 2 nodes" in told
    assert "from 35s on, when 1 job ran; 1 job before that" in " ".join(told.split())


def test_it_begins_when_it_is_told(files):
    done = run("what-if", *files, "--dispatchers", "slurm", "--begin", "100")
    assert "1 job before that" in " ".join(done.stdout.split())
    late = run("what-if", *files, "--begin", "1h")
    assert late.exit_code == 2
    assert "expected jobs that end at 3600 s or later, got none" in late.stderr


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--set", "bf_interval=3"], "--set has become --scenario: give --scenario 'bf_interval=3'"),
        (["--scenario", "bf_intervall=3"], "unknown option 'bf_intervall'"),
        (["--scenario", "bf_interval=0"], "bf_interval must be a whole number >= 1"),
        (["--scenario", ""], "expected NAME=VALUE, got nothing"),
        (["--scenario", "load"], "expected NAME=VALUE"),
        (["--scenario", "load=fast"], "expected a factor from 0.01 to 100, got 'fast'; as in load=1.2"),
        (["--scenario", "add-nodes=2"], "expected a number of nodes and the node they are like, got '2'"),
        (["--scenario", "nodes=2"], "nodes=2: expected +N like NODE, got '2'; as in nodes=+8 like c1"),
        (["--scenario", "nodes=+2 load=2"], "nodes=+2: expected +N like NODE"),
        (["--scenario", "nodes=+2 like x1"], "expected nodes of"),
        (["--scenario", "add-nodes=0:like=n1"], "expected a number of nodes"),
        (["--scenario", "nodes=+0 like n1"], "--scenario: nodes=+0 like n1: expected a number of nodes"),
        (["--scenario", "nodes=+1 like n[1-"], "expected names such as n[1-4,7]"),
        (["--scenario", "nodes-down=n9@+1m..+1m"], "got 'n9'"),
        (["--scenario", "nodes-down=n1@+1m"], "expected NODES@FROM..TO"),
        (["--scenario", "nodes-down=n1@1990-01-01..+1h"], "within the record, 1970-01-01T00:17:15 to"),
        (["--scenario", "maintenance=ALL@+1m..tomorrow"], "tomorrow"),
        (["--scenario", "partition=none:MaxTime=1"], "expected a partition among all, got 'none'"),
        (["--scenario", "partition=all:MaxTime=soon"], "expected a time such as 30"),
        (["--scenario", "qos=high"], "expected a name, a limit and its value"),
        (["--scenario", "split=all:new=n1"], "and its MaxTime"),
        (["--scenario", "split=all:new=n[1-2]:MaxTime=1"], "expected some nodes of partition all, not all"),
        (["--scenario", "default-time=0"], "expected a time above 0"),
        (["--scenario", "weights=Age=1"], "expected PriorityWeight...=N"),
        (["--scenario", "config=none.conf"], "none.conf: no such configuration of Slurm"),
        (["--shares", "a"], "shares must be parts NAME=N"),
        (["--dispatchers", "nobody"], "unknown dispatcher 'nobody'"),
    ],
)
def test_what_cannot_be_is_one_line(files, more, message):
    done = run("what-if", *files, *more)
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("--limits", "", "given.txt: expected what sacctmgr -P show assoc or qos prints"),
        ("--limits", "Name|GrpJobs\nfew|2|3\n", "given.txt:2: expected 2 fields"),
        ("--reservations", "\n", "given.txt: expected what scontrol show reservation -o prints"),
        ("--reservations", "hello\n", "given.txt:1: expected a line of scontrol show reservation -o"),
    ],
)
def test_a_file_that_is_none_is_named_alone(files, tmp_path, option, text, message):
    (tmp_path / "given.txt").write_text(text)
    done = run("what-if", *files, option, str(tmp_path / "given.txt"))
    assert done.exit_code == 2
    assert f"hpcdispatch: error: {tmp_path / 'given.txt'}:" in done.stderr
    assert message in done.stderr


def test_a_site_is_written_with_its_machine(files, tmp_path):
    out = tmp_path / "site.jsonl"
    done = run("workload", "from-slurm", *files, str(out))
    assert done.exit_code == 0, done.output
    assert read(out).machine.resources == ("core", "node", "partition/all")
    refused = run("workload", "from-slurm", *files, str(tmp_path / "site.swf"))
    assert refused.exit_code == 2
    assert "expected .jsonl or .jsonl.gz" in refused.stderr


def test_the_page_says_first_how_well_the_record_is_met(files, tmp_path):
    out = tmp_path / "site.html"
    done = run(
        "what-if", *files, "--dispatchers", "fcfs", "--scenario", "bf_interval=30", "--begin", "0", "--out", str(out)
    )
    assert done.exit_code == 0, done.output
    page = out.read_text(encoding="utf-8")
    places = [page.index(text) for text in ("How well slurm meets the recorded starts", "What others would have done")]
    assert places == sorted(places)
    assert "slurm meets the recorded starts: 100.0% within 10s" in page
    folder = tmp_path / "site_files"
    rows = pd.read_csv(folder / "schedulers.csv").set_index("scheduler")
    assert list(rows.index) == ["recorded", "slurm", "fcfs", "bf_interval=30"]
    assert rows.loc["slurm", "to the record (%)"] == 0
    assert rows.loc["fcfs", "to slurm (%)"] > 0
    queue = pd.read_csv(folder / "queue.csv").groupby("contender")["waiting_jobs"]
    assert set(queue.max()) == {2}
    assert set(queue.last()) == {0}


def waits(*args):
    done = run("what-if", *args, "--repeats", "0", "--begin", "0", "--json")
    assert done.exit_code == 0, done.output
    return {row["name"]: row["wait"] for row in json.loads(done.stdout)["schedulers"]}


@pytest.mark.parametrize(
    ("scenario", "starts"),
    [  # The second job requests both nodes for 30 s. The third requests one node. The first has one until 300 s.
        ("add-nodes=1:like=n1", (0, 3, 33)),
        ("add-nodes=1:like=n1 bf_interval=30", (0, 3, 33)),
        ("nodes=+1 like n1", (0, 3, 33)),
        ("nodes=+1  like  n[1-2]", (0, 3, 33)),
        ("nodes=+3 like n[1-2]", (0, 3, 5)),
        ("bf_interval=30 nodes=+1 like=n1", (0, 3, 33)),
        ("partition=all:MaxCPUsPerNode=3", (None, None, None)),
        ("partition=all:MaxCPUsPerNode=4", (0, 300, 5)),
        ("weights=PriorityWeightAge=1000 nodes=+1 like n2", (0, 3, 33)),
        ("nodes-down=n[1-2]@+100s..+500s", (600, 900, 5)),
        ("maintenance=ALL@+310s..+10m", (0, 910, 5)),
        ("maintenance=n2@1970-01-01T00:21:50+00:00..+10m", (0, 910, 5)),
        ("partition=all:Nodes=n1", (0, None, 300)),
        ("split=all:few=n2:MaxTime=1", (0, None, 2)),
        ("default-time=1m", (0, 300, 5)),
    ],
)
def test_a_scenario_changes_the_site(files, scenario, starts):
    done = run(
        "what-if", *files, "--dispatchers", "slurm", "--scenario", scenario, "--repeats", "0", "--begin", "0", "--json"
    )
    assert done.exit_code == 0, done.output
    found = {row["name"]: row for row in json.loads(done.stdout)["schedulers"]}
    assert found["slurm"]["wait"] == found["recorded"]["wait"]
    started = [start - submit for start, submit in zip(starts, (0, 1, 2), strict=True) if start is not None]
    if started:
        assert found[" ".join(scenario.split())]["wait"] == pytest.approx(sum(started) / len(started), abs=2)
    assert found[" ".join(scenario.split())]["unstarted"] == 3 - len(started)


def test_running_jobs_keep_nodes_beyond_a_new_limit(files, tmp_path):
    # Job 1 has all cores of n1 when the simulation begins, twice what the partition then allows on a node.
    for line in ("4|a|x|all|1003|1330|1360|1|1|1|2", "5|a|x|all|1004|1330|1360|1|1|1|2"):
        with (tmp_path / "jobs.sacct").open("a") as file:
            file.write(f"{line}\n")
    done = run("what-if", *files, "--dispatchers", "slurm", "--scenario", "partition=all:MaxCPUsPerNode=2", "--json")
    assert done.exit_code == 0, done.output
    found = {row["name"]: row for row in json.loads(done.stdout)["schedulers"]}
    assert found["partition=all:MaxCPUsPerNode=2"]["unstarted"] == 1
    assert found["slurm"]["unstarted"] == 0


def test_a_running_job_beyond_a_new_limit_stays(files, tmp_path):
    # The limit is of a later day. Job 1 runs with 4 cores when the simulation begins, and job 2 requests 8.
    (tmp_path / "limits.txt").write_text("Account|User|MaxTRES\nx||\nx|a|cpu=3\n")
    given = ("--limits", str(tmp_path / "limits.txt"), "--dispatchers", "fcfs", "--repeats", "0", "--json")
    done = run("what-if", *files, *given)
    assert done.exit_code == 0, done.output
    found = {row["name"]: row for row in json.loads(done.stdout)["schedulers"]}
    assert found["fcfs"]["unstarted"] == 1


def test_load_brings_jobs_sooner(files):
    found = waits(*files, "--dispatchers", "slurm", "--scenario", "load=0.5")
    assert found["load=0.5"] == pytest.approx((0 + 298 + 1) / 3)


def test_another_configuration_is_another_machine(files, tmp_path):
    wider = tmp_path / "wider.conf"
    wider.write_text(CONF.replace("n[1-2]", "n[1-3]"))
    by_option = waits(*files, "--dispatchers", f"slurm:config={wider}")
    by_scenario = waits(*files, "--dispatchers", "slurm", "--scenario", f"config={wider}")
    as_the_site = waits("--config", str(wider), *files[2:], "--dispatchers", "slurm")
    assert by_option[f"slurm:config={wider}"] == by_scenario[f"config={wider}"] == as_the_site["slurm"]
    assert by_option["slurm"] > as_the_site["slurm"]


LIMITS = "Account|User|ParentName|GrpJobs|GrpTRES|MaxJobs\nroot|||||\nx||root|1||\nx|a||||\n"
MAINTENANCE = "ReservationName=m StartTime=1001 EndTime=1600 Nodes=n2 Flags=MAINT\n"


@pytest.mark.parametrize("rival", ["easy", "conservative", "lookahead", "portfolio", "hcp3:budget=0.01"])
@pytest.mark.parametrize(
    ("option", "text", "started"),
    [("--limits", LIMITS, (0, 300, 330)), ("--reservations", MAINTENANCE, (0, 600, 300))],
    ids=["limits", "reservations"],
)
def test_rivals_keep_the_rules_of_the_site(files, tmp_path, rival, option, text, started):
    (tmp_path / "given.txt").write_text(text)
    found = waits(*files, option, str(tmp_path / "given.txt"), "--dispatchers", rival)
    assert found[rival] == pytest.approx((sum(started) - 3) / 3, abs=2)


def test_what_a_rival_does_not_have_is_named(files, tmp_path):
    (tmp_path / "slurm.conf").write_text(CONF + "PreemptType=preempt/qos\nPriorityWeightFairshare=5\n")
    done = run("what-if", *files, "--dispatchers", "easy", "--repeats", "0")
    assert "easy: it has no preemption, fair share" in done.stderr


def test_classes_tell_which_jobs_win(tmp_path, files):
    rows = [line.replace("|x|all|", "|y|all|") if line.startswith("3") else line for line in JOBS]
    (tmp_path / "jobs.sacct").write_text("\n".join([HEADER, *rows, ""]))
    done = run("what-if", *files, "--dispatchers", "fcfs", "--repeats", "2", "--begin", "0", "--json")
    found = [row for row in json.loads(done.stdout)["classes"] if row["kind"] == "account"]
    by = {(row["jobs_of"], row["scheduler"]): row for row in found}
    assert by["y", "slurm"]["wait"] == by["y", "recorded"]["wait"] == 3
    assert by["y", "fcfs"]["wait"] > 300
    assert by["y", "fcfs"]["least"] > 1
    assert by["x", "slurm"]["jobs"] == 2
    sizes = [row["jobs_of"] for row in json.loads(done.stdout)["classes"] if row["kind"] == "size"]
    assert list(dict.fromkeys(sizes)) == ["2-4 cores", "5-16 cores"]


def test_long_names_leave_room_for_the_figures(files):
    name = "add-nodes=1:like=n1 bf_interval=30 weights=PriorityWeightAge=1000,PriorityWeightFairshare=2"
    done = CliRunner().invoke(cli, ["what-if", *files, "--scenario", name, "--repeats", "1"], env={"COLUMNS": "80"})
    lines = done.stdout.splitlines()
    row = next(line for line in lines if line.startswith("(1) "))
    assert len(row.split()) >= 6
    assert f"(1): {name}" in " ".join(done.stdout.split())
    assert max(map(len, lines[:-1])) <= 80


def test_a_page_is_html(files, tmp_path):
    done = run("what-if", *files, "--out", str(tmp_path / "site.pdf"))
    assert "expected a name that ends in .html" in done.output
