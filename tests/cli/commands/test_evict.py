"""``hpcdispatch evict``."""

import json
import re
from pathlib import Path

import pytest

from hpcdispatch.analysis import read_scenario, scenario_of, write_scenario
from hpcdispatch.models.eviction import Storage, plan, running_job
from hpcdispatch.workloads import generate

EXAMPLE = Path(__file__).parents[3] / "examples" / "scenario.json"


def rows(text):
    """Return the cells of table lines. Two blanks separate cells."""
    return [re.split(r"  +", line.strip()) for line in text.splitlines() if "  " in line]


def test_shows_the_tradeoff_and_the_actions(invoke):
    found = invoke("evict", EXAMPLE, "--nodes", 512, "--deadline", "15m")
    assert (found.exit_code, found.stderr) == (0, "")
    assert "512 nodes within 15m" in found.stdout
    assert "5 jobs on 992 nodes, 32 idle; 480 to be freed" in found.stdout
    tradeoff = [row for row in rows(found.stdout) if len(row) == 6][1:]
    losses = [float(row[1]) for row in tradeoff]
    assert tradeoff[0][0] == "0s"
    assert losses == sorted(losses, reverse=True)
    expected = plan(read_scenario(EXAMPLE).running(), 480, 900)[900]
    does = {row[0]: row[1].split()[0] for row in rows(found.stdout) if len(row) == 5 and row[0] != "job"}
    assert does == expected.actions
    assert losses[-1] == pytest.approx(expected.loss, abs=0.05)


def test_a_deadline_without_a_unit_is_refused(invoke):
    found = invoke("evict", EXAMPLE, "--nodes", 512, "--deadline", 15)
    assert found.exit_code == 2
    assert "expected a unit, got '15': write 15m for minutes, 15s for seconds" in found.stderr


def test_json_has_the_same(invoke):
    shown = json.loads(invoke("evict", EXAMPLE, "--nodes", 512, "--deadline", "300s", "--json").stdout)
    made = plan(read_scenario(EXAMPLE).running(), 480, 300)
    assert (shown["idle"], shown["freed_at_least"], shown["deadline_s"]) == (32, 480, 300)
    assert shown["decision"]["actions"] == made[300].actions
    for one in shown["by_deadline"]:
        assert one["loss"] == made[one["deadline"]].loss
        assert one["freed"] >= 480
        if one["deadline"]:
            before = made[one["deadline"] - 1]
            assert (before.loss, before.checkpoint_time) != (one["loss"], one["checkpoint_time"])


def test_a_coarser_step_is_never_better(invoke):
    def losses(*options):
        shown = json.loads(invoke("evict", EXAMPLE, "--nodes", 800, "--deadline", "10m30s", "--json", *options).stdout)
        return shown["decision"]["loss"]

    assert losses("--sharing") <= losses() <= losses("--step", "1m")


def test_draws_and_saves_a_scenario(invoke, tmp_path):
    saved = tmp_path / "scenario.json"
    picture = tmp_path / "loss.svg"
    spec = "theta-scenario:jobs=16,seed=3"
    found = invoke("evict", spec, "--nodes", 1024, "--deadline", "10m", "--save", saved, "--plot", picture)
    assert found.exit_code == 0
    assert found.stderr == (f"hpcdispatch: note: 16 jobs written to {saved}\nhpcdispatch: note: drawn in {picture}\n")
    assert picture.read_text(encoding="utf-8").startswith("<?xml")
    again = invoke("evict", saved, "--nodes", 1024, "--deadline", "10m")
    assert again.stdout == found.stdout
    assert read_scenario(saved) == scenario_of(generate(spec))


def test_the_front_has_the_loss_of_every_number_of_nodes_and_deadline(invoke, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    asked = ("evict", "theta-scenario:jobs=16,seed=1", "--nodes", 2048, "--deadline", "15m", "--front")
    found = invoke(*asked, "--plot", tmp_path / "front.png")
    assert (found.exit_code, found.stderr) == (0, f"hpcdispatch: note: drawn in {tmp_path / 'front.png'}\n")
    heads, *losses = rows(found.stdout)
    assert heads[-1] == "15m"  # whole, at the width of a terminal
    assert [row[0] for row in losses] == [f"{256 * eighth:,}" for eighth in range(1, 9)]
    assert (tmp_path / "front.png").read_bytes().startswith(b"\x89PNG")
    front = json.loads(invoke(*asked, "--json").stdout)["front"]
    made = plan(scenario_of(generate(asked[1])).running(), 2008, 900)
    assert front[-1]["loss"] == made[900].loss
    assert [float(cell) for cell in losses[-1][1:]] == [
        pytest.approx(cell["loss"], abs=0.05) for cell in front if cell["nodes"] == 2048
    ]


RECORDS = """; MaxNodes: 100
; MaxProcs: 100
1 0 10 100 {size} -1 -1 {size} 200 -1 1 1 1 -1 1 -1 -1 -1
2 5000 {wait} 100 8 -1 -1 8 200 -1 1 1 1 -1 1 -1 -1 -1
"""


def test_takes_what_ran_at_a_time_of_a_trace(invoke, tmp_path):
    trace = tmp_path / "trace.swf"
    trace.write_text(RECORDS.format(size=40, wait=10))
    found = invoke("evict", trace, "--at", "99s", "--nodes", 80, "--deadline", "15m", "--json")
    shown = json.loads(found.stdout)
    assert (found.exit_code, shown["machine_nodes"], shown["idle"], shown["freed_at_least"]) == (0, 100, 60, 20)
    assert set(shown["decision"]["actions"]) == {"1"}


@pytest.mark.parametrize(
    ("size", "wait", "at", "message"),
    [
        (40, 10, "100s", "trace.swf: expected a moment at which jobs ran, got none at 110 s"),
        (40, -1, "10s", "trace.swf: expected recorded waits of all jobs, got none"),
        (-1, 10, "110s", "trace.swf: expected a moment at which jobs ran, got none at 5120 s"),
    ],
)
def test_a_moment_that_is_none_is_named(invoke, tmp_path, size, wait, at, message):
    trace = tmp_path / "trace.swf"
    trace.write_text(RECORDS.format(size=size, wait=wait))
    found = invoke("evict", trace, "--at", at, "--nodes", 80, "--deadline", "15m")
    assert (found.exit_code, found.stdout) == (2, "")
    assert message in found.stderr
    assert ("1 of 2 records left out as unusable: 1 no processor count" in found.stderr) == (size < 0)


def test_a_trace_without_sizes_is_refused(invoke, tmp_path):
    trace = tmp_path / "trace.swf"
    trace.write_text(RECORDS.format(size=-1, wait=10).replace(" 8 ", " -1 "))
    found = invoke("evict", trace, "--at", "1s", "--nodes", 80, "--deadline", "15m")
    assert found.exit_code == 2
    assert "trace.swf: expected usable records, got none among 2 (2 no processor count)" in found.stderr


def test_idle_nodes_go_first(invoke):
    found = invoke("evict", EXAMPLE, "--nodes", 32, "--deadline", 0)
    assert found.exit_code == 0
    assert "32 nodes are free within 0s without a loss: no job has to give way." in found.stdout


def test_more_nodes_than_the_machine_has_is_infeasible(invoke, tmp_path):
    found = invoke("evict", EXAMPLE, "--nodes", 1025, "--deadline", "15m")
    assert (found.exit_code, found.stdout) == (1, "")
    assert found.stderr == "hpcdispatch: infeasible: 1,025 nodes are needed, and the machine has 1,024\n"
    shown = json.loads(invoke("evict", EXAMPLE, "--nodes", 1025, "--deadline", "15m", "--json", "--sharing").stdout)
    assert shown["decision"]["feasible"] is False
    assert "993 nodes are needed" in shown["decision"]["reason"]


JOB = {"id": "a", "nodes": 4, "elapsed": 100}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": 1}, "colour: unknown field; known: machine, storage, jobs"),
        ({"machine": {"nodes": 8, "cores": 64}}, "machine.cores: unknown field; known: nodes, name"),
        ({"storage": {"speed": 1}}, "storage.speed: unknown field; known: aggregate, node"),
        ({"jobs": [{**JOB, "memory": 3}]}, "jobs[0].memory: unknown field; known: id, nodes, loss"),
        ({"jobs": [JOB, {**JOB, "nodes": 0}]}, "jobs[1].nodes: expected greater than or equal to 1, got 0"),
        ({"jobs": [{**JOB, "elapsed": -5}]}, "jobs[0].elapsed: expected greater than or equal to 0, got -5"),
        (
            {"jobs": [{**JOB, "system_checkpoint": -1}]},
            "jobs[0].system_checkpoint: expected greater than or equal to 0",
        ),
        ({"jobs": [{**JOB, "nodes": "many"}]}, "jobs[0].nodes: expected a valid integer, got 'many'"),
        ({"jobs": [{"id": "a", "nodes": 4}]}, "jobs[0]: expected loss or elapsed, got neither"),
        ({"jobs": [{**JOB, "loss": 3}]}, "jobs[0]: expected loss or elapsed, got both"),
        ({"jobs": [{**JOB, "application_size": 3}]}, "jobs[0]: application_size wants interval beside it, got none"),
        ({"jobs": [JOB, JOB]}, "jobs: id 'a' must be unique, got it twice"),
        ({"jobs": [{**JOB, "nodes": 9}]}, "jobs: expected at most the 8 nodes of the machine, got 9"),
        ({"jobs": []}, "jobs: expected at least one job, got list"),
        ({"jobs": {}}, "jobs: expected a list, got dict"),
        ({"machine": 8}, "machine: expected an object, got 8"),
        ({"jobs": [{**JOB, "elapsed": "4"}]}, "jobs[0].elapsed: expected a valid number, got '4'"),
        ({"jobs": [{"id": "a", "nodes": 4, "loss": None}]}, "jobs[0]: expected loss or elapsed, got neither"),
        ({"jobs": [{**JOB, "elapsed": None}]}, "jobs[0]: expected loss or elapsed, got neither"),
        (
            {"jobs": [{**JOB, "elapsed": 1e300}]},
            "jobs[0].elapsed: expected less than or equal to 10000000000, got 1e+300",
        ),
        ({"storage": {"node": 0}}, "storage.node: expected greater than or equal to 0.000000001, got 0"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(invoke, tmp_path, change, message):
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps({"machine": {"nodes": 8}, "jobs": [JOB], **change}))
    found = invoke("evict", path, "--nodes", 4, "--deadline", "1m")
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.startswith(f"hpcdispatch: error: {path}: {message}")
    assert found.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [("{\n  nodes", ":2: expected JSON, got "), ("[]", "expected an object, got list"), ("", ":1: expected JSON")],
)
def test_what_is_no_scenario_is_refused(invoke, tmp_path, text, message):
    path = tmp_path / "wrong.json"
    path.write_text(text)
    found = invoke("evict", path, "--nodes", 4, "--deadline", "1m")
    assert found.exit_code == 2
    assert message in found.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nope.json", "--nodes", 4, "--deadline", "1m"), "nope.json: no such file, and no generator of scenarios"),
        (
            ("theta-scenario:jobs=99", "--nodes", 4, "--deadline", "1m"),
            "nodes: expected at least 128 for each of 99 jobs",
        ),
        (("lublin:jobs=9", "--nodes", 4, "--deadline", "1m"), "expected a scenario, got a workload without an instant"),
        ((EXAMPLE, "--nodes", 0, "--deadline", "1m"), "0 is not in the range x>=1"),
        (
            (EXAMPLE, "--nodes", 4, "--deadline", "soon"),
            "1d12h or 2-00:00:00, got 'soon'",
        ),
        ((EXAMPLE, "--nodes", 4, "--deadline", ""), "expected a time such as"),
        ((EXAMPLE, "--nodes", 4, "--deadline", "1m", "--step", "0"), "expected at least 1 s, got '0'"),
        (
            (EXAMPLE, "--nodes", 4, "--deadline", "1d"),
            "--step: expected at most 10,000 steps up to the deadline, got 86,400",
        ),
        (
            (EXAMPLE, "--nodes", 4, "--deadline", "1m", "--plot", "x.gif"),
            "expected a file name ending in .png or .svg",
        ),
        ((EXAMPLE.parent, "--nodes", 4, "--deadline", "1m"), "expected a scenario file, got a directory"),
    ],
)
def test_bad_arguments(invoke, arguments, message):
    found = invoke("evict", *arguments)
    assert (found.exit_code, found.stdout) == (2, "")
    assert message in re.sub(r"\s+", " ", found.stderr)


def test_sizes_become_times(tmp_path):
    workload = generate("theta-scenario", jobs=12, seed=5)
    scenario = scenario_of(workload)
    path = tmp_path / "one.json"
    write_scenario(scenario, path)
    instant = workload.provenance.options["instant"]
    expected = [
        running_job(job.id, job.nodes, instant - job.submit, job.checkpoint, Storage()) for job in workload.jobs
    ]
    assert read_scenario(path).running() == expected
    for running, writing in zip(expected, scenario.writing(), strict=True):
        assert writing.loss == running.loss
        alone = max(writing.system.volume / 250, writing.system.least)
        assert alone == pytest.approx(running.system_checkpoint)
