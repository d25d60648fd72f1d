"""``hpcdispatch compare``."""

import json

import pytest
from combinations import some

from hpcdispatch.base import InputError
from hpcdispatch.bench.reports.saved_results import runs_of
from hpcdispatch.cli.shared_options import split_specs
from hpcdispatch.simulation import simulate

SPEC = "lublin:jobs=80,processors=32,load=0.9"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("a,b",), ["a", "b"]),
        (("a, b:x=1 , y=2,c",), ["a", "b:x=1 , y=2", "c"]),
        (
            ("conservative:compress=once,placement=best-fit,easy",),
            ["conservative:compress=once,placement=best-fit", "easy"],
        ),
        (("a:x=1,b:y=2",), ["a:x=1", "b:y=2"]),
        (("a", "b:x=1,z=2"), ["a", "b:x=1,z=2"]),
    ],
)
def test_lists_keep_options_together(given, expected):
    assert split_specs(given, "dispatcher") == expected


@pytest.mark.parametrize(("given", "message"), [(("a,,b",), "an empty one"), (("a", "a"), "'a' is given twice")])
def test_bad_lists(given, message):
    with pytest.raises(InputError, match=message):
        split_specs(given, "dispatcher")


def test_table_marks_the_best(invoke):
    found = invoke("compare", SPEC, "--dispatchers", "fcfs,easy", "--predictors", "oracle,walltime", "--workers", 1)
    assert found.exit_code == 0, found.stderr
    assert "2 dispatchers with 2 predictors" in found.stdout
    assert "80 jobs, 1 sample, seed 0; overrun run" in found.stdout
    rows = [line.split() for line in found.stdout.splitlines() if line.startswith(("fcfs ", "easy "))]
    assert [row[:2] for row in rows] == [
        ["fcfs", "oracle"],
        ["fcfs", "walltime"],
        ["easy", "oracle"],
        ["easy", "walltime"],
    ]
    waits = [row[2] for row in rows]
    assert not any(wait.startswith("*") for wait in waits[:2])
    assert any(wait.startswith("*") for wait in waits[2:])
    assert "* best of its column" in found.stdout


@pytest.mark.parametrize("columns", some([60, 140, 80], 2))
def test_every_width_shows_every_column_once(invoke, columns):
    args = ("--dispatchers", "fcfs,conservative:compress=once,placement=best-fit", "--seeds", 3, "--workers", 1)
    found = invoke("compare", SPEC, *args, columns=columns)
    assert found.exit_code == 0
    lines = found.stdout.splitlines()
    assert all(len(line) <= columns for line in lines[:-1])
    for word in ("bounded", "max", "zation", "decision\n"):
        assert found.stdout.count(word) >= 1
    assert sum(line.split().count("slowdown") for line in lines) == 2
    assert "3 samples, seeds 0 to 2" in found.stdout
    assert "below them their intervals, of 95% for waits" in " ".join(found.stdout.split())
    assert "not decided" in found.stdout
    assert "…" not in found.stdout


def test_json_of_a_jittered_trace(invoke, trace, tmp_path):
    out = tmp_path / "out"
    args = ("--dispatchers", "easy,lxf:blocked=skip", "--seeds", 2, "--json", "--out", out, "--check", "--workers", 1)
    args += ("--jitter", "1m")
    found = invoke("compare", trace, *args)
    assert found.exit_code == 0, found.stderr
    shown = json.loads(found.stdout)
    assert (shown["seeds"], shown["jitter_s"], shown["interrupted"]) == (2, 60, False)
    assert (shown["samples"], shown["seed_numbers"]) == ("shifts", [0, 1])
    (row,) = shown["conclusions"]
    assert row["ratio_low"] is None
    assert row["range_low"] <= row["ratio"] <= row["range_high"]
    assert [(run["seed"], run["dispatcher"]) for run in shown["runs"]] == [
        (0, "easy"),
        (0, "lxf:blocked=skip"),
        (1, "easy"),
        (1, "lxf:blocked=skip"),
    ]
    assert shown["table"][0]["wait_mean_low"] <= shown["table"][0]["wait_mean"] <= shown["table"][0]["wait_mean_high"]
    saved = runs_of(out).runs
    assert sorted((run.dispatcher, run.seed) for run in saved) == [
        ("easy", 0),
        ("easy", 1),
        ("lxf", 0),
        ("lxf", 1),
    ]
    assert {run.load().manifest["seed"] for run in saved} == {0, 1}
    again = invoke("compare", trace, *args)
    assert json.loads(again.stdout) == shown


def test_a_trace_is_resampled_and_only_jitter_shifts_it(invoke):
    def jobs_hash(*args):
        shown = json.loads(
            invoke("compare", *args, "--dispatchers", "easy", "--seeds", 2, "--json", "--workers", 1).stdout
        )
        return shown["samples"], shown["jitter_s"], [run["wait_mean"] for run in shown["runs"]]

    *drawn, waits = jobs_hash(SPEC)
    assert drawn == ["independent", None]
    assert waits[0] != waits[1]
    assert jobs_hash(SPEC + ",seed=0")[:2] == ("resamples", None)
    assert jobs_hash(SPEC + ",seed=0", "--jitter", 5)[:2] == ("shifts", 5)
    assert jobs_hash(SPEC, "--jitter", 5)[:2] == ("independent", 5)


def test_seeds_may_be_a_range_and_ends_left_out(invoke):
    args = ("--dispatchers", "easy,fcfs", "--seeds", "20-22", "--warm-up", "10%", "--cool-down", "2h", "--workers", 1)
    found = invoke("compare", SPEC, *args)
    assert found.exit_code == 0, found.stderr
    assert "3 samples, seeds 20 to 22" in found.stdout
    assert found.stdout.endswith(" Left out: warm-up 10%, cool-down 2h.\n")


def test_a_trace_that_is_too_short_to_resample_says_so(invoke):
    found = invoke("compare", SPEC + ",seed=0", "--dispatchers", "easy,fcfs", "--seeds", 2, "--workers", 1)
    assert "shorter than two days: all its samples are the trace as it stands" in found.stderr
    assert "not decided (the 2 samples do not differ)" in found.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--seeds", "9-3"), "the last not before the first, got '9-3'"),
        (("--seeds", "many"), "a range such as 20-29, got 'many'"),
        (("--warm-up", "soon"), "expected a share of the jobs such as 5%"),
        (("--warm-up", "100%"), "is left between"),
    ],
)
def test_bad_samples_are_refused(invoke, args, message):
    found = invoke("compare", SPEC, "--dispatchers", "easy", "--workers", 1, *args)
    assert found.exit_code == 2
    assert message in found.stderr


def test_a_failing_dispatcher_does_not_take_the_others_along(invoke, plugin):
    found = invoke("compare", SPEC, "--dispatchers", "boom,easy", "--workers", 1)
    assert found.exit_code == 1
    assert "easy" in found.stdout
    assert "boom" not in found.stdout
    where = "dispatcher boom, predictor walltime, seed 0: SimulationError: Boom at t="
    assert found.stderr.startswith(f"hpcdispatch: error: {where}")
    assert found.stderr.endswith(": dispatch raised KeyError: 'boom' (--debug shows the traceback)\n")


@pytest.mark.nightly
def test_default_without_a_trace(invoke):
    found = invoke("compare", "--head", 30, "--workers", 1)
    assert found.exit_code == 0
    assert "5 dispatchers with walltime predictions" in found.stdout
    assert "30 jobs, 10 samples, seeds 0 to 9" in found.stdout


@pytest.mark.nightly
def test_users_react_beside_the_replay(invoke, tmp_path):
    """Both comparisons are printed, and the answer says where the verdicts differ."""
    path = tmp_path / "t.swf"
    simulate("lublin:jobs=600,processors=32,load=0.9,users=20,seed=3", "fcfs").to_swf(path)
    args = ("--dispatchers", "fcfs,easy,easy-sjbf", "--users", "react", "--workers", 1, "--check")
    found = invoke("compare", path, *args)
    assert found.exit_code == 0, found.stderr
    assert "with the recorded submissions" in found.stdout
    assert "users react; overrun run" in found.stdout
    assert found.stdout.splitlines()[-1].startswith("As users react: ")
    shown = json.loads(invoke("compare", path, *args, "--seeds", 2, "--jitter", "1m", "--json").stdout)
    assert [shown["submissions"], shown["replay"]["submissions"], shown["replay"]["replay"]] == [
        "react",
        "replay",
        None,
    ]
    assert len(shown["runs"]) == len(shown["replay"]["runs"]) == 6


def test_failures_are_in_the_table_and_the_json(invoke):
    args = ("compare", SPEC, "--dispatchers", "fcfs,easy", "--failures", "mtbf=5d,repair=1h", "--workers", 1)
    found = invoke(*args)
    assert found.exit_code == 0, found.stderr
    assert "failures mtbf=5d,repair=1h" in found.stdout
    assert "lost to" in found.stdout
    told = json.loads(invoke(*args, "--json").stdout)
    assert told["conditions"] == "failures mtbf=5d,repair=1h"
    assert all(row["lost_core_hours"] > 0 for row in told["table"])


def test_conditions_that_do_not_fit_are_one_line(invoke):
    found = invoke("compare", SPEC, "--dispatchers", "easy", "--may-wait", "2h")
    assert (found.exit_code, found.stderr.count("\n")) == (2, 1)
    assert "--may-wait: expected --signal FILE beside it" in found.stderr
