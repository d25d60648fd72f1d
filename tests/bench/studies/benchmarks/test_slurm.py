"""Decisions of a real Slurm, made again on a short part of the record."""

import gzip
from pathlib import Path

import pytest
from click.testing import CliRunner

from hpcdispatch.base import InputError
from hpcdispatch.bench.studies.benchmarks.slurm import classes, decisions, main, recorded, replay_decisions, scale


@pytest.fixture(scope="module")
def record():
    try:
        return recorded()
    except InputError:
        pytest.skip("needs the recorded replay of Slurm beside HPCDISPATCH_DATA")


@pytest.mark.traces
def test_the_first_recorded_decisions_are_made_alike(record):
    rows = {row[0]: (row[1], row[2]) for row in decisions(record, 600).rows}
    assert all(alike == count for alike, count in rows.values())
    assert min(int(count) for _, count in rows.values()) >= 14


def test_a_part_of_a_year_is_timed_and_checked():
    (row,) = scale(40).rows
    assert row[0] == "40"


def test_without_a_record_the_command_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("HPCDISPATCH_DATA", str(tmp_path / "data"))
    done = CliRunner().invoke(main, ["--part", "decisions"])
    assert done.exit_code == 1
    assert done.output.startswith("Error: ")
    assert "no recorded replay of Slurm" in done.output


@pytest.fixture
def replay(tmp_path):
    """Return the folder of a kept replay: two jobs on one node, of which the second waits for the first."""
    (tmp_path / "site.txt").write_text("NodeName=n1 CPUs=4\nPartitionName=all Nodes=ALL\n")
    header = "JobID|User|Account|Partition|Submit|Start|End|TimelimitRaw|NNodes|NCPUS"
    rows = [
        f"{number}|ann|a|all|{1000 + number}|{start}|{start + 60}|1|1|4" for number, start in ((1, 1001), (2, 1061))
    ]
    (tmp_path / "jobs.sacct").write_text("\n".join([header, *rows, ""]))
    (tmp_path / "moments.txt").write_text("# 1010.5\n1|R|90|None|1001|0:09\n2|PD|100|Resources|1061|0:00\n")
    return tmp_path


def forecast(folder, *more):
    given = ["--part", "forecast", "--replay", folder, "--every", 1, "--small", *more]
    return CliRunner().invoke(main, list(map(str, given)))


def test_forecasts_of_a_kept_replay_are_judged(replay):
    done = forecast(replay, "--markdown")
    assert done.exit_code == 0, done.output
    assert "| squeue --start" in done.output


def test_decisions_of_a_kept_replay_are_made_again(replay):
    log = ["[2026-11-22T00:47:30.000] slurmctld began", LOG.format(5, 1, "n1").strip(), ""]
    (replay / "slurmctld.log").write_text("\n".join(log))
    done = CliRunner().invoke(main, ["--part", "decisions", "--replay", str(replay), "--markdown"])
    assert done.exit_code == 0, done.output
    assert "| planned starts within 2 s | 0 | 0 |" in done.output
    (replay / "slurmctld.log").unlink()
    done = CliRunner().invoke(main, ["--part", "decisions", "--replay", str(replay)])
    assert done.exit_code == 1
    assert "slurmctld.log: no such file" in done.output
    done = CliRunner().invoke(main, ["--part", "scale", "--replay", str(replay)])
    assert done.exit_code == 1
    assert "expected the part decisions, forecast, classes or scenes, got scale" in done.output


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("moments.txt", None, "moments.txt: no such file"),
        ("moments.txt", b"", "moments.txt: expected a trace, got an empty file"),
        ("moments.txt", b"# 1010\n2|PD|100|Res", "moments.txt:2: expected # SECONDS or a line of squeue"),
        ("moments.txt", b"2|PD|100|Resources|1061|0:00\n", "moments.txt:1: expected # SECONDS or a line of squeue"),
        ("moments.txt", b"# 1010\n2|PD|high|None|1061|0:00\n", "moments.txt:2: expected a priority, got 'high'"),
        ("moments.txt", b"# 1010\n2|PD|100|None|soon|0:00\n", "moments.txt:2: expected a time such as"),
        ("moments.txt", b"# 1010\n2|PD|100|None|N/A|0:00\n", "expected 1 moments or more"),
        (
            "moments.txt",
            b"# 1010\n9|PD|100|None|1061|0:00\n",
            "expected jobs of the accounting among those that waited, got none",
        ),
        ("moments.txt", b"\xff\xff\x00", "moments.txt: expected text, got binary data"),
        ("moments.txt", b"\x1f\x8b\x08", "moments.txt: expected a whole gzip file, got a truncated one"),
        ("jobs.sacct", None, "jobs.sacct: no such file"),
        ("jobs.sacct", b"JobID|User\n1", "expected a column"),
        ("site.txt", None, "site.txt: no such configuration of Slurm"),
        ("site.txt", b"\xff", "site.txt: expected text in UTF-8"),
    ],
)
def test_a_replay_with_a_broken_file_is_one_line(replay, name, data, message):
    path = replay / name
    path.unlink() if data is None else path.write_bytes(data)
    done = forecast(replay)
    assert done.exit_code == 1
    assert done.output.startswith("Error: ")
    assert len(done.output.splitlines()) == 1
    assert message in done.output


def test_a_folder_in_place_of_a_file_and_wrong_shares_are_one_line(replay):
    assert "shares must be parts NAME=N" in forecast(replay, "--shares", "a").output
    (replay / "moments.txt").unlink()
    (replay / "moments.txt").mkdir()
    done = forecast(replay)
    assert done.exit_code == 1
    assert "moments.txt: expected a file, got a directory" in done.output


LOG = "[2026-11-22T00:47:3{}.000] sched: Allocate JobId={} NodeList={} #CPUs=4 Partition=all\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("replay-a.slurmctld.log.gz", "not gzip", "expected gzip data"),
        ("replay-a.sacct", "JobID|User\n1|ann\n", "expected output of sacct -P with Partition"),
        ("replay-a.sacct", '"', "expected output of sacct -P, got something else"),
        ("replay-a-more.sacct", "JobID|TimelimitRaw|SubmitLine\n2|1|sbatch -n 4\n", "got no job 1"),
        ("replay-a-more.sacct", "JobID|TimelimitRaw|SubmitLine\n1|x|sbatch -n 4\n", "expected whole minutes, got 'x'"),
        ("replay-a-more.sacct", "JobID|TimelimitRaw|SubmitLine\n1|1|-n 4\n1|1|-n 4\n", "expected each JobID once"),
        ("log", LOG.format(6, 7, "n1"), "expected a job of the accounting"),
        ("log", LOG.format(6, 1, "n9"), "on nodes and in a partition of the configuration"),
        ("log", "hello world, this is no log of a controller\n", "log.gz:1: expected a time"),
    ],
)
def test_a_broken_record_is_one_line(monkeypatch, tmp_path, name, text, message):
    folder = tmp_path / "slurm" / "recorded"
    folder.mkdir(parents=True)
    files = {
        "slurm.conf": "NodeName=n1 CPUs=4\nPartitionName=all Nodes=ALL\n",
        "replay-a.sacct": "JobID|User|Account|Partition|Submit|Start|End\n1|ann|a|all|1000|1001|1061\n",
        "replay-a-more.sacct": "JobID|TimelimitRaw|SubmitLine\n1|1|sbatch -n 4\n",
    }
    for known, written in (files | {name: text}).items():
        (folder / known).write_text(written)
    if name == "log":
        (folder / "replay-a.slurmctld.log.gz").write_bytes(gzip.compress(text.encode()))
    monkeypatch.setenv("HPCDISPATCH_DATA", str(tmp_path / "data"))
    done = CliRunner().invoke(main, ["--part", "decisions"])
    assert done.exit_code == 1
    assert len(done.output.splitlines()) == 1
    assert message in done.output


@pytest.mark.traces
def test_classes_of_a_site_are_within_the_noise_of_a_second_run(record):
    folder = record.folder.parent / "site-a"
    again = Path(__file__).parent / "recorded" / "site-a-again.sacct.gz"
    table = classes(folder, "phys=10;chem=20;bio=30", again)
    rows = {row[0]: row for row in table.rows}
    assert rows["all"][1] == "227"
    assert float(rows["all"][5]) <= 1.5 * float(rows["all"][6])
    met = {name for name, row in rows.items() if row[-1] == "yes"}
    assert {"all", "qos high", "qos capped", "qos normal", "partition batch"} <= met
    assert len(met) >= 0.8 * len(rows)


@pytest.mark.traces
def test_decisions_about_qos_features_gpu_types_and_arrays_are_made_alike(record):
    rows = {
        row[0]: (int(row[1].replace(",", "")), int(row[2].replace(",", "")))
        for row in replay_decisions(record.folder.parent / "site-a", "phys=10;chem=20;bio=30").rows
    }
    wanted = {
        "planned starts within 2 s": 0.98,
        "planned on the same nodes": 0.96,
        "starts by backfill": 0.99,
        "priorities within 5 points": 0.98,
    }
    assert rows["planned starts within 2 s"][1] > 1500
    assert {
        name: alike / of for name, (alike, of) in rows.items() if name in wanted and alike < wanted[name] * of
    } == {}


@pytest.mark.nightly
def test_a_site_with_preemption_by_qos_licences_and_expressions_is_met():
    # Recorded once the rules were written. None was chosen on it.
    folder = Path(__file__).parent / "recorded" / "site-c"
    shares = "phys=10;chem=20;bio=30"
    rows = {row[0]: row for row in classes(folder, shares, None).rows}
    assert rows["all"][1] == "168"
    divided = [name for name in rows if name.split()[0] in ("all", "partition", "qos", "account")]
    assert [name for name in divided if rows[name][-1] != "yes"] == []
    decided = {row[0]: row[3] for row in replay_decisions(folder, shares).rows}
    assert float(decided["planned starts within 2 s"]) >= 98
    assert float(decided["starts by backfill"]) == 100
    assert float(decided["priorities within 5 points"]) >= 95
