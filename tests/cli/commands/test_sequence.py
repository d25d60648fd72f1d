"""``hpcdispatch sequence``."""

import json
import re

import numpy as np
import pytest

from hpcdispatch.analysis import Planning, advise
from hpcdispatch.cli.commands.sequence import sbatch_lines
from hpcdispatch.cli.output import exact
from hpcdispatch.models.reservations import Checkpointing

RUNS = np.ceil(np.random.default_rng(5).lognormal(9, 0.9, 40))


@pytest.fixture
def runs(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("Elapsed\n" + "".join(f"{value:.0f}\n" for value in RUNS))
    return path


def test_prints_the_requests_and_what_they_are_compared_with(invoke, runs):
    found = invoke("sequence", runs, columns=80)
    assert found.exit_code == 0, found.stderr
    advice = advise(RUNS)
    sequence = advice.advised
    rows = [line.split() for line in found.stdout.splitlines() if re.match(r"\d+ +\d", line)]
    assert [row[1] for row in rows] == [exact(value) for value in sequence.values]
    assert [float(row[2]) for row in rows] == pytest.approx(100 * sequence.needed, abs=0.05)
    assert f"{exact(advice.sequence.expected_makespan)} per run expected" in found.stdout
    assert f"requests: {advice.rows[advice.recommended].strategy.name}" in found.stdout
    for name in ("optimal sequence", "maximum", "mean", "last 10"):
        assert len(re.findall(rf"^{name} +[\d-]", found.stdout, re.MULTILINE)) == 2
    assert "on the last 20, made from the first 20" in found.stdout
    assert all(len(line) <= 80 for line in found.stdout.splitlines()[:-1])
    assert "…" not in found.stdout


def test_says_when_there_are_too_few_runs(invoke, tmp_path):
    (tmp_path / "few.csv").write_text("10\n20\n30\n")
    found = invoke("sequence", tmp_path / "few.csv")
    assert "3 runs: 10s to 30s, mean 20s" in found.stdout
    assert "3 runs tell little of the next one; expected at least 5" in found.stderr
    (tmp_path / "more.csv").write_text("10\n20\n30\n40\n50\n")
    assert "tell little" not in invoke("sequence", tmp_path / "more.csv").stderr
    assert "on unseen runs: not known from fewer than 20" in found.stdout
    assert re.search(r"^last 10 +30s +- +- +-$", found.stdout, re.MULTILINE)


def test_sbatch_prints_times_that_cover_the_requests_and_nothing_else(invoke, runs):
    found = invoke("sequence", runs, "--sbatch", "--max", "3-00:00:00", "--backfill-rate", 0.2)
    lines = found.stdout.splitlines()
    assert all(re.fullmatch(r"--time=\d+-\d\d:\d\d:00", line) for line in lines)
    assert found.stderr == ""
    expected = advise(RUNS, Planning(backfill_rate=0.2, limit=3 * 86400)).advised.values
    for line, value in zip(lines, expected, strict=True):
        days, hours, minutes = map(int, re.findall(r"\d+", line)[:3])
        assert 0 <= days * 86400 + hours * 3600 + minutes * 60 - value < 60
    assert lines[-1] == "--time=3-00:00:00"


def test_requests_that_slurm_cannot_tell_apart_are_one():
    assert sbatch_lines([10.0, 59.0, 60.0, 60.5, 86400.0]) == [
        "--time=0-00:01:00",
        "--time=0-00:02:00",
        "--time=1-00:00:00",
    ]


def test_json(invoke, runs):
    found = invoke("sequence", runs, "--json", "--unit", "min", "--fit")
    shown = json.loads(found.stdout)
    advice = advise(RUNS * 60, Planning(fitted=True))
    assert [one["time"] for one in shown["requests"]] == advice.advised.values.tolist()
    assert shown["expected_time"] == advice.advised.expected_makespan
    assert shown["strategies"]["last 10"]["unseen"]["time"] == advice.rows[3].unseen.time
    assert shown["families"][0]["name"] == advice.fits[0].name
    assert shown["runs"] == 40


@pytest.mark.parametrize(("name", "begins"), [("p.png", b"\x89PNG"), ("p.SVG", b"<?xml")])
def test_plot(invoke, runs, tmp_path, name, begins):
    found = invoke("sequence", runs, "--plot", tmp_path / name, "--sbatch")
    assert found.exit_code == 0, found.stderr
    data = (tmp_path / name).read_bytes()
    assert data.startswith(begins)
    assert found.stderr == f"hpcdispatch: note: drawn in {tmp_path / name}\n"
    invoke("sequence", runs, "--plot", tmp_path / name)
    assert (tmp_path / name).read_bytes() == data


@pytest.mark.parametrize("content", ["7\n", "7\n7\n", "1\n1000000\n"])
def test_plot_of_few_runs(invoke, tmp_path, content):
    (tmp_path / "few.csv").write_text(content)
    assert invoke("sequence", tmp_path / "few.csv", "--plot", tmp_path / "p.svg").exit_code == 0


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (None, (), "runs.csv: no such file"),
        ("", (), "runs.csv: expected run times, got an empty file"),
        ("5\n-6\n", (), "runs.csv:2: column 1: expected a time above 0, such as 90 or 1:30:00, got '-6'"),
        ("a,b\n5,x\n", ("--column", "b"), "runs.csv:2: column b: expected a time above 0"),
        ("a,b\n5,6\n", ("--column", "c"), "runs.csv: column c: no such column; the first line has: a, b"),
        ("a,b\n5,6\n", (), "runs.csv: expected the name of a column, as there are 2: 'a, b'"),
        ("5\n", ("--bins", 0), "0 is not in the range 1<=x<=100000"),
        ("5\n", ("--backfill-rate", 1), "1.0 is not in the range 0<=x<1"),
        ("5\n", ("--backfill-rate", "nan"), "'--backfill-rate': expected a finite number, got 'nan'"),
        (
            "5\n",
            ("--max", "soon"),
            "'--max': expected a time such as 90s, 15m, 2h, 1d12h or 2-00:00:00, got 'soon'",
        ),
        ("5\n9\n", ("--max", 6), "--max: expected at least the longest run time, 9s (run 2), got 6s"),
        ("5\n", ("--plot", "p.pdf"), "p.pdf: expected a file name ending in .png or .svg, got suffix '.pdf'"),
        ("5\n", ("--plot", "nodir/p.png"), "--plot nodir/p.png: no such directory to write to: nodir"),
        ("5\n", ("--sbatch", "--json"), "--sbatch and --json: expected one of them, got both"),
        (
            "5\n",
            ("--checkpoint", "-5"),
            "'--checkpoint': expected a time such as 90s, 15m, 2h, ",
        ),
        ("5\n", ("--restart", "5"), "--restart: expected --checkpoint with it"),
        ("5\n", ("--checkpoint", "6s"), "checkpoint: must be at most the law's bound, 5, got 6"),
        ("5\n", ("--checkpoint", "1", "--restart", "6s"), "restart: must be at most the law's bound, 5, got 6"),
        ("5\n", ("--checkpoint", 1, "--backfill-rate", 0.1), "checkpoint: holds at a backfill_rate of 0 only, got 0.1"),
        (
            "5\n",
            ("--site", "lublin:jobs=20,processors=16", "--cores", 17),
            "cores: expected at most 16, what the machine of the site has, got 17",
        ),
        ("5\n", ("--site", "nowhere.swf"), "nowhere.swf"),
        ("5\n", ("--unit", "d"), "'d' is not one of 's', 'min', 'h'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(invoke, tmp_path, monkeypatch, content, arguments, message):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "runs.csv").write_text(content)
    found = invoke("sequence", "runs.csv", *arguments)
    assert found.exit_code == 2
    assert message in found.stderr
    assert found.stderr.startswith("hpcdispatch: error: ")
    assert found.stderr.count("\n") == 1
    assert found.stdout == ""


def test_says_where_to_write_checkpoints_and_what_they_save(invoke, runs):
    found = invoke("sequence", runs, "--checkpoint", "5m", "--restart", "2m", columns=100)
    planning = Planning(checkpointing=Checkpointing(300, 120))
    advice = advise(RUNS, planning)
    rows = [line.split() for line in found.stdout.splitlines() if re.match(r"\d+ +\d", line)]
    assert [row[4] for row in rows] == ["yes" if keeps else "no" for keeps in advice.sequence.keeps]
    assert [row[5] for row in rows] == [exact(value) for value in advice.sequence.reached]
    saved = advice.without.expected_makespan - advice.sequence.expected_makespan
    assert f"checkpoints save {exact(saved)} per run" in found.stdout
    assert f"where writing takes up to {exact(advice.worthwhile)}" in found.stdout
    assert found.stdout.count("without checkpoints") == 3
    assert advice.rows[0].seen.time == pytest.approx(advice.sequence.expected_makespan, rel=0.02)
    shown = json.loads(invoke("sequence", runs, "--checkpoint", "5m", "--restart", "2m", "--json").stdout)
    assert [one["checkpoint"] for one in shown["requests"]] == advice.sequence.keeps.tolist()
    assert shown["checkpoints_pay_up_to"] == advice.worthwhile


def test_says_when_checkpoints_do_not_pay(invoke, tmp_path):
    (tmp_path / "even.csv").write_text("100\n101\n102\n103\n104\n")
    found = invoke("sequence", tmp_path / "even.csv", "--checkpoint", "100")
    assert "checkpoints do not pay" in found.stdout


def test_sbatch_asks_for_a_signal_where_a_checkpoint_is_due(invoke, runs):
    lines = invoke("sequence", runs, "--checkpoint", "5m", "--sbatch").stdout.splitlines()
    keeps = advise(RUNS, Planning(checkpointing=Checkpointing(300))).sequence.keeps
    assert [line.endswith(" --signal=USR1@300") for line in lines] == keeps.tolist()


def test_says_what_a_site_makes_of_them(invoke, runs):
    found = invoke("sequence", runs, "--site", "lublin:jobs=200,processors=16,seed=1", "--cores", 4, columns=80)
    assert found.exit_code == 0, found.stderr
    part = found.stdout.split("measured on lublin")[1]
    for name in ("maximum", "optimal sequence", "for these waits"):
        assert re.search(rf"^{name} +\d", part, re.MULTILINE)
    assert "20 runs at even times" in part
    assert "x the request" in part
    assert all(len(line) <= 80 for line in found.stdout.splitlines()[:-1])
    assert "…" not in found.stdout
    assert "--site TRACE measures it" not in found.stdout


def test_a_site_is_read_as_other_traces_are(invoke, runs, tmp_path):
    """Its jobs have no walltimes. The error must advise an option of this command."""
    header = "; MaxProcs: 16\n"
    log = "".join(f"{n} {60 * n} 0 {600 + n} 4 -1 -1 4 -1 -1 1 {n % 3} 1 1 1 1 -1 -1\n" for n in range(1, 60))
    (tmp_path / "site.swf").write_text(header + log)
    called = "sequence", runs, "--site", tmp_path / "site.swf"
    assert "give --default-walltime" in invoke(*called).stderr
    assert invoke(*called, "--default-walltime", "runtime").exit_code == 0
    assert invoke(*called, "--default-walltime", 3600, "--head", 30).exit_code == 0
    assert "expected --site with them" in invoke("sequence", runs, "--default-walltime", 60).stderr


def test_says_what_it_assumes_without_a_site(invoke, runs):
    assert "a request starts as soon as it is made; --site TRACE measures it" in invoke("sequence", runs).stdout


def test_json_of_a_site(invoke, runs):
    spec = "lublin:jobs=200,processors=16,seed=1"
    shown = json.loads(invoke("sequence", runs, "--site", spec, "--site-jobs", 100, "--json").stdout)["site"]
    assert shown["rows"]["maximum"]["ratio"] is None
    assert shown["rows"]["optimal sequence"]["verdict"] in ("better", "worse", "not decided")
    assert shown["waits"]["gamma"] >= 0
    assert json.loads(invoke("sequence", runs, "--json").stdout)["site"] is None


STATES = "Elapsed|State\n" + "".join(f"{time:.0f}|COMPLETED\n" for time in RUNS) + "7200|TIMEOUT\n5|FAILED\n"


def test_states_are_counted(invoke, tmp_path):
    (tmp_path / "runs.csv").write_text(STATES)
    found = invoke("sequence", tmp_path / "runs.csv", "--json")
    shown = json.loads(found.stdout)
    assert (shown["runs"], shown["timeouts"], shown["left_out"]) == (41, 1, {"FAILED": 1})
    assert "left out, as they do not tell what a run takes: 1 FAILED" in found.stderr
    assert "1 TIMEOUT run of 41 count as longer than their time" in found.stderr


def test_runs_that_seem_killed_are_said(invoke, tmp_path):
    (tmp_path / "runs.csv").write_text("100\n1801\n1828\n1200\n")
    found = invoke("sequence", tmp_path / "runs.csv")
    assert "3 runs: " not in found.stderr
    assert "2 of 4 runs end within a minute after the same limit, as if killed there" in found.stderr


def test_a_bad_fit_is_said_with_what_it_costs(invoke, tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("".join(f"{time}\n" for time in [*range(590, 680), *range(36000, 36010)]))
    found = invoke("sequence", path, "--fit")
    assert re.search(r"fits badly \(KS 0\.\d+\): its requests cost \d+\.\d% more time on the runs", found.stderr)
    assert "fits badly" not in invoke("sequence", path).stderr


def test_what_loses_on_unseen_runs_is_not_recommended(invoke, tmp_path):
    """Run times fall. The longest recent run time is then a better request than an old one."""
    path = tmp_path / "runs.csv"
    path.write_text("".join(f"{4000 - 50 * place}\n" for place in range(60)))
    found = invoke("sequence", path)
    answer = found.stdout.splitlines()[-1]
    assert re.search(r"as by last 10: .*less reserved time than the optimal sequence", answer)
    assert "more reserved time" not in answer
    assert json.loads(invoke("sequence", path, "--json").stdout)["recommended"] == "last 10"


@pytest.mark.parametrize("cost", ["reserved", "turnaround", "1,0,0", "0.5,1,60", "0,1,0"])
def test_costs_by_name(invoke, runs, cost):
    """The requests are those of least cost among the ways, and the sentence says what is counted."""
    site = ("--site", "lublin:jobs=200,processors=16,seed=1") if cost == "turnaround" else ()
    found = invoke("sequence", runs, "--cost", cost, *site)
    assert found.exit_code == 0, found.stderr
    answer = found.stdout.splitlines()[-1]
    noun = {"reserved": "less reserved time", "turnaround": "time from submission to success"}
    assert noun.get(cost, f"cost ({cost})") in answer or cost == "0,1,0"
    assert ("as if it were paid" in answer) == (cost == "reserved")
    assert "nan" not in answer
    shown = json.loads(invoke("sequence", runs, "--cost", cost, *site, "--json").stdout)
    assert shown["cost"] == cost
    unseen = {name: row["unseen"]["time"] for name, row in shown["strategies"].items()}
    if cost == "turnaround":
        responses = {name: row["response"] for name, row in shown["site"]["rows"].items()}
        assert shown["recommended"] == min(responses, key=responses.get)
        assert shown["site"]["waits"]["error"] > 0
    else:
        assert unseen[shown["recommended"]] == min(unseen.values())
    if cost == "0,1,0":  # What is left unused is free.
        assert len(shown["requests"]) == 1


@pytest.mark.parametrize("cost", ["much", "1,2", "0,0,0", "1,-1,0", "nan,0,0"])
def test_no_such_cost(invoke, runs, cost):
    found = invoke("sequence", runs, "--cost", cost)
    assert found.exit_code == 2
    assert "expected reserved, turnaround, or three numbers A,B,C >= 0" in found.stderr
    assert "expected --site with it" in invoke("sequence", runs, "--cost", "turnaround").stderr
    assert "expected no --backfill-rate" in invoke("sequence", runs, "--cost", "1,1,1", "--backfill-rate", 0.1).stderr


def test_recorded_waits_of_the_site(invoke, runs, tmp_path):
    """Waits that grow with the request are found in the accounting of the site."""
    lines = [f"{n} {600 * n} {300 + n} 500 4 -1 -1 4 {600 * (1 + n % 9)} -1 1 1 1 1 1 1 -1 -1" for n in range(1, 120)]
    (tmp_path / "site.swf").write_text("; MaxProcs: 64\n" + "\n".join(lines) + "\n")
    found = invoke("sequence", runs, "--site", tmp_path / "site.swf", "--cores", 4)
    assert "Waits by its accounting: " in found.stdout.splitlines()[-1]


def test_requests_smooth_and_bins(invoke, runs):
    two = json.loads(invoke("sequence", runs, "--requests", 2, "--json").stdout)
    assert len(two["requests"]) == 2
    smooth = invoke("sequence", runs, "--smooth")
    assert "law: the runs, smoothed" in smooth.stdout
    assert "on the runs as they are" in smooth.stdout
    assert "law: the runs, in 5 values" in invoke("sequence", runs, "--bins", 5).stdout
    (runs.parent / "few.csv").write_text("10\n30\n20\n")
    few = invoke("sequence", runs.parent / "few.csv")
    assert "from 3 runs alone: first request 10s to 30s" in few.stdout
