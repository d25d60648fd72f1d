"""``hpcdispatch partition``."""

import json

import pytest

from hpcdispatch.workloads import generate, write

STATE = {
    "machine": {"nodes": 128},
    "jobs": [{"id": "a", "nodes": 100, "loss": 1, "ends": 600}, {"id": "b", "nodes": 20, "loss": 1, "ends": 7200}],
}
REQUESTS = "processors,walltime\n8,14400\n16,8000\n100,1500\n120,1300\n400,500\n"
RUNS = "processors,time\n1,36000\n4,10100\n16,3300\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("state.json", json.dumps(STATE)), ("requests.csv", REQUESTS), ("runs.csv", RUNS)):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_least_predicted_turnaround_is_chosen(invoke, files):
    found = invoke("partition", "--state", "state.json", "--requests", "requests.csv", "--plot", "choice.png")
    assert (found.exit_code, found.stderr) == (0, "hpcdispatch: note: drawn in choice.png\n")
    rows = [row for line in found.stdout.splitlines() if (row := line.split())[:1] and row[0].isdecimal()]
    assert [row[:4] for row in rows] == [
        ["8", "4h", "0s", "4h"],
        ["16", "2h13m20s", "10m", "2h23m20s"],
        ["100", "25m", "10m", "35m"],
        ["120", "21m40s", "2h", "2h21m40s"],
        ["400", "8m20s", "-", "-"],
    ]
    assert [row[0] for row in rows if row[-1] == "chosen"] == ["100"]
    assert rows[-1][-2:] == ["never", "fits"]
    assert found.stdout.splitlines()[-1] == (
        "Request 100 processors for 25m: the job ends in 35m, 85% sooner than with 8 processors, where it starts first."
    )
    assert (files / "choice.png").read_bytes().startswith(b"\x89PNG")


def test_json_has_the_same_and_a_weight_counts(invoke, files):
    shown = json.loads(invoke("partition", "--state", "state.json", "--requests", "requests.csv", "--json").stdout)
    assert shown["options"][2] == {
        "processors": 100,
        "walltime_s": 1500,
        "starts_in_s": 600,
        "turnaround_s": 2100,
        "processor_hours": pytest.approx(100 * 1500 / 3600),
        "chosen": True,
    }
    assert shown["turnaround_over_predicted"] is None
    args = ("partition", "--state", "state.json", "--requests", "requests.csv", "--json", "--weight", 2000)
    assert [row["processors"] for row in json.loads(invoke(*args).stdout)["options"] if row["chosen"]] == [8]


def test_own_runs_become_requests(invoke, files):
    found = invoke("partition", "--state", "state.json", "--runs", "runs.csv", "--json", "--sizes", "4,32")
    options = json.loads(found.stdout)["options"]
    assert [option["processors"] for option in options] == [4, 32]
    assert options[0]["walltime_s"] > 10100 > options[1]["walltime_s"]
    assert "3 runs: best is" in found.stderr


def test_size_and_first_requested_time_are_chosen_together(invoke, files):
    args = "partition", "--state", "state.json", "--runs", "runs.csv", "--json", "--sizes", "4,16,32"
    alone, joint = (json.loads(invoke(*args, *more).stdout)["options"] for more in ((), ("--joint",)))
    assert [option["processors"] for option in joint] == [4, 16, 32]
    assert [option["chosen"] for option in joint].count(True) == 1
    # Eight are free for a while. Only a walltime that ends in time starts at once. The job may overrun it.
    assert all(now["turnaround_s"] < then["turnaround_s"] for now, then in zip(joint, alone, strict=True))


def test_joint_needs_runs(invoke, files):
    for extra in (("--requests", "requests.csv"), ("--runs", "runs.csv", "--weight", "5")):
        found = invoke("partition", "--state", "state.json", "--joint", *extra)
        assert found.exit_code == 2
        assert "--joint: expected --runs and no --weight, got" in found.stderr


def test_a_moment_of_a_trace(invoke, files):
    write(generate("lublin:jobs=120,processors=32,load=1.1", seed=1), "t.swf")
    (files / "requests.csv").write_text("processors,walltime\n1,5000\n8,900\n32,300\n")
    found = invoke("partition", "--trace", "t.swf@6h", "--requests", "requests.csv")
    assert found.exit_code == 0
    assert "of 120 jobs of the trace 80% took" in " ".join(found.stdout.split())
    shown = json.loads(invoke("partition", "--trace", "t.swf@6h", "--requests", "requests.csv", "--json").stdout)
    off = shown["turnaround_over_predicted"]
    assert 0 < off["p10"] <= off["p90"] <= 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"requests.csv": "processors,walltime\n400,9\n"},
            "requests: expected one that fits the machine, 128 ",
        ),
        ({"requests.csv": "processors,walltime\n4,9\n4,9\n"}, "4 processors for 9 s stand there twice"),
        (
            {"requests.csv": "processors,walltime\n0,9\n"},
            "request 1: processors must be a whole number >= 1, got 0",
        ),
        (
            {"requests.csv": "processors,walltime\n-1,9\n"},
            "requests.csv:2: column 'processors': expected a nu",
        ),
        ({"requests.csv": "processors,walltime\n2.5,9\n"}, "processors must be a whole number >= 1, got 2.5"),
        ({"requests.csv": "processors,walltime\n2,0\n"}, "walltime must be a whole number >= 1, got 0"),
        ({"requests.csv": "size,time\n2,9\n"}, "no column 'processors'; columns: 'size', 'time'"),
        ({"state.json": {**STATE, "machine": {"nodes": 64}}}, "expected at most the 64 nodes of the machine, got 120"),
        ({"state.json": {**STATE, "jobs": [{"id": "a", "nodes": 1, "loss": 1, "ends": -5}]}}, "jobs[0].ends: expected"),
        ({"state.json": {**STATE, "jobs": STATE["jobs"] + STATE["jobs"][:1]}}, "id 'a' must be unique, got it twice"),
        ({"state.json": {**STATE, "jobs": [{"id": "a", "nodes": 128, "loss": 1}]}}, "expected some that end"),
    ],
)
def test_what_makes_no_sense_is_named(invoke, files, change, message):
    for name, text in change.items():
        (files / name).write_text(text if isinstance(text, str) else json.dumps(text))
    found = invoke("partition", "--state", "state.json", "--requests", "requests.csv")
    assert (found.exit_code, found.stdout, found.stderr.count("\n")) == (2, "", 1)
    assert message in found.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--state", "state.json"), "expected --requests or --runs, got neither"),
        (("--requests", "requests.csv"), "expected --state or --trace, got neither"),
        (("--state", "state.json", "--trace", "x@1d", "--runs", "runs.csv"), "expected --state or --trace, got both"),
        (("--trace", "x.swf", "--runs", "runs.csv"), "--trace: expected FILE@TIME, as in trace.swf@30d, got 'x.swf'"),
        (
            ("--trace", "x.swf@soon", "--runs", "runs.csv"),
            "1d12h or 2-00:00:00, got 'soon'",
        ),
        (("--trace", "lublin:jobs=9@900d", "--runs", "runs.csv"), "at: expected at most"),
        (
            ("--state", "state.json", "--runs", "one.csv"),
            "one.csv: runs: expected runs on two sizes or more",
        ),
        (("--state", "state.json", "--runs", "rising.csv"), "rising.csv: runs: the times rise with every size"),
        (
            ("--state", "state.json", "--runs", "runs.csv", "--sizes", "64"),
            "runs.csv: size 64: expected at most 2",
        ),
        (
            ("--state", "state.json", "--runs", "runs.csv", "--sizes", "4,4"),
            "--sizes: expected different whole",
        ),
        (("--state", "state.json", "--runs", "runs.csv", "--plot", "x.pdf"), "--plot x.pdf: expected a file name"),
    ],
)
def test_arguments_that_make_no_sense_are_named(invoke, files, arguments, message):
    (files / "one.csv").write_text("processors,time\n4,9\n4,8\n")
    (files / "rising.csv").write_text("processors,time\n1,100\n2,150\n4,300\n")
    found = invoke("partition", *arguments)
    assert (found.exit_code, found.stdout) == (2, "")
    assert message in found.stderr
