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
    done = run("what-if", *files, "--dispatchers", "slurm,fcfs", "--set", "bf_interval=30", "--begin", "0", "--json")
    assert done.exit_code == 0, done.output
    found = {row["name"]: row for row in json.loads(done.stdout)["schedulers"]}
    assert list(found) == ["recorded", "slurm", "fcfs", "slurm:bf_interval=30"]
    assert found["recorded"]["deviation"] == 0
    assert found["slurm"]["deviation"] == 0
    assert found["slurm"]["near"] == {"10": 1.0, "60": 1.0, "600": 1.0}
    # The third job is backfilled after 30 s, not after 5.
    assert found["slurm:bf_interval=30"]["deviation"] == pytest.approx(25 / 3)
    assert found["fcfs"]["wait"] > found["slurm"]["wait"]


def test_the_table_says_how_well_the_model_meets_the_record(files):
    done = run("what-if", *files, "--dispatchers", "slurm")
    assert done.exit_code == 0, done.output
    assert "slurm meets the recorded starts: 100.0% within 10s" in done.stdout


def test_it_begins_with_what_ran_when_the_first_job_ended(files):
    # The third job ends at 1035; the first runs, the second waits.
    done = run("what-if", *files, "--dispatchers", "fcfs", "--json")
    assert done.exit_code == 0, done.output
    found = {row["name"]: row["wait"] for row in json.loads(done.stdout)["schedulers"]}
    assert found == {"recorded": 299, "slurm": 299, "fcfs": 299}
    told = run("what-if", *files, "--dispatchers", "fcfs").stdout
    assert "1 job on 2 nodes" in told
    assert "from 35s on, when 2 jobs ran" in " ".join(told.split())


def test_it_begins_when_it_is_told(files):
    done = run("what-if", *files, "--dispatchers", "slurm", "--begin", "100")
    assert "1 job before that" in " ".join(done.stdout.split())
    late = run("what-if", *files, "--begin", "1h")
    assert late.exit_code == 2
    assert "expected jobs that end at 3600 s or later, got none" in late.stderr


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--set", "bf_intervall=3"], "unknown option 'bf_intervall'"),
        (["--set", "bf_interval=0"], "bf_interval must be a whole number >= 1"),
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
    assert read(out).machine.resources == ("core", "node", "all")
    refused = run("workload", "from-slurm", *files, str(tmp_path / "site.swf"))
    assert refused.exit_code == 2
    assert "expected .jsonl or .jsonl.gz" in refused.stderr


def test_the_page_says_first_how_well_the_record_is_met(files, tmp_path):
    out = tmp_path / "site.html"
    done = run("what-if", *files, "--dispatchers", "fcfs", "--set", "bf_interval=30", "--begin", "0", "--out", str(out))
    assert done.exit_code == 0, done.output
    page = out.read_text(encoding="utf-8")
    places = [page.index(text) for text in ("How well slurm meets the recorded starts", "What others would have done")]
    assert places == sorted(places)
    assert "slurm meets the recorded starts: 100.0% within 10s" in page
    folder = tmp_path / "site_files"
    rows = pd.read_csv(folder / "schedulers.csv").set_index("scheduler")
    assert list(rows.index) == ["recorded", "slurm", "fcfs", "slurm:bf_interval=30"]
    assert rows.loc["slurm", "to the record (%)"] == 0
    assert rows.loc["fcfs", "to slurm (%)"] > 0
    queue = pd.read_csv(folder / "queue.csv").groupby("contender")["waiting_jobs"]
    assert set(queue.max()) == {2}
    assert set(queue.last()) == {0}


def test_a_page_is_html(files, tmp_path):
    done = run("what-if", *files, "--out", str(tmp_path / "site.pdf"))
    assert "expected a name that ends in .html" in done.output
