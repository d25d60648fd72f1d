"""Comparing as a library."""

import importlib
import re
import sys

import numpy as np
import pytest
from combinations import some

from hpcdispatch.base import InputError
from hpcdispatch.bench.campaigns.comparison import METRICS, ComparisonInterrupted, Generated, compare
from hpcdispatch.bench.campaigns.store import Store
from hpcdispatch.dispatchers import FCFS
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import generate, jitter, resample

SPEC = "lublin:jobs=80,processors=32,load=0.9"
MEASURED = ["decision_ms_mean", "decision_ms_p95", "decision_ms_max", "prediction_s", "simulation_s"]


@pytest.fixture(scope="module")
def workload():
    return generate(SPEC)


@pytest.fixture(scope="module")
def days():
    """Return a workload of several days, so that its resamples differ."""
    return generate("lublin:jobs=200,processors=16,load=0.25,users=9")


def test_one_seed_is_the_trace_as_it_stands(workload):
    found = compare(workload, ["easy"], overrun="kill")
    expected = simulate(workload, "easy", overrun="kill").summary()
    assert (found.jitter, found.overrun, found.planned, found.interrupted) == (None, "kill", 1, False)
    [row] = found.runs.to_dict("records")
    assert row["wait_mean"] == expected["wait_mean"]
    assert set(row) == {"dispatcher", "predictor", "seed", *expected}
    assert found.table["wait_mean_low"].isna().all()
    assert found.basis == "trace"


def test_seeds_of_a_trace_are_resamples_shared_by_all(days):
    found = compare(days, ["easy", "fcfs"], seeds=2)
    assert (found.basis, found.jitter) == ("resamples", None)
    for seed in (0, 1):
        expected = simulate(resample(days, seed), "fcfs", seed=seed).summary()["wait_mean"]
        run = found.runs.query("seed == @seed and dispatcher == 'fcfs'")
        assert run["wait_mean"].tolist() == [expected]


@pytest.mark.parametrize("seeds", some([range(20, 23), [20, 21, 22], "20-22"]))
def test_other_seeds_are_other_samples(days, seeds):
    found = compare(days, "easy", seeds=seeds)
    assert found.runs["seed"].tolist() == [20, 21, 22]
    assert (found.basis, found.seeds, list(found.numbers)) == ("resamples", 3, [20, 21, 22])
    assert set(found.runs["wait_mean"]).isdisjoint(compare(days, "easy", seeds=3).runs["wait_mean"])
    assert found.result("easy").manifest["seed"] == 20


def test_resamples_and_the_trace_share_a_store(days, tmp_path):
    for seeds, cells in ((1, 1), (3, 4), (3, 4), (range(2, 5), 6)):
        compare(days, "easy", seeds=seeds, out=tmp_path)
        assert len(list(Store(tmp_path).finished())) == cells


def test_ends_can_be_left_out(workload):
    whole, left = (compare(workload, ["easy", "fcfs"], warm_up=each) for each in ("0", "25%"))
    jobs = simulate(workload, "easy").jobs
    assert left.runs["jobs"].tolist() == [len(workload) - len(workload) // 4] * 2
    assert left.runs["wait_mean"][0] == pytest.approx(jobs["wait"].iloc[len(workload) // 4 :].mean())
    assert whole.runs["wait_mean"][0] == pytest.approx(jobs["wait"].mean())
    assert (str(left.warm_up), str(left.cool_down)) == ("25%", "none")


def test_conclusions_have_a_verdict_and_the_longest_wait(workload):
    found = compare(Generated(SPEC), ["easy", "fcfs", "lxf"], seeds=6)
    rows = found.conclusions().set_index("contender")
    assert list(rows.index) == ["fcfs", "lxf"]
    assert (rows.loc["fcfs", "verdict"], rows.loc["fcfs", "basis"]) == ("worse", "independent")
    assert rows.loc["fcfs", "ratio_low"] > 1
    assert rows["wait_max"].notna().all()
    assert found.conclusions("utilization", "fcfs").set_index("contender").loc["easy", "ratio"] > 0
    with pytest.raises(InputError, match="conclusions: expected a metric of wait_mean"):
        found.conclusions("wait")


def test_one_trace_is_judged_by_its_blocks():
    found = compare(generate("lublin:jobs=1500,processors=64,load=0.8"), ["easy", "fcfs"])
    (row,) = found.conclusions().to_dict("records")
    assert row["blocks"] >= 5
    assert (row["verdict"], row["n"], row["basis"]) == ("worse", 1, "trace")


def test_seeds_are_jittered_copies_shared_by_all(workload):
    found = compare(workload, ["easy", "fcfs"], ["walltime", "oracle"], seeds=2, jitter="5m")
    assert found.jitter == 300
    assert found.runs["seed"].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    for seed in (0, 1):
        sample = jitter(workload, 300, np.random.default_rng(seed))
        expected = simulate(sample, "fcfs", "oracle", seed=seed).summary()["wait_mean"]
        run = found.runs.query("seed == @seed and dispatcher == 'fcfs' and predictor == 'oracle'")
        assert run["wait_mean"].tolist() == [expected]


def test_table_is_the_mean_over_the_seeds(workload):
    found = compare(workload, ["lxf", "easy"], seeds=3)
    assert found.table["dispatcher"].tolist() == ["lxf", "easy"]
    assert found.table["runs"].tolist() == [3, 3]
    for row in found.table.to_dict("records"):
        runs = found.runs[found.runs["dispatcher"] == row["dispatcher"]]
        for name in METRICS:
            assert row[name] == pytest.approx(runs[name].mean())
            assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]


def test_generated_samples_differ():
    found = compare(Generated(SPEC, head=40), ["easy"], seeds=2)
    assert found.runs["jobs"].tolist() == [40, 40]
    expected = [simulate(generate(SPEC, seed=seed).head(40), "easy").summary()["wait_mean"] for seed in (0, 1)]
    assert found.runs["wait_mean"].tolist() == expected


def test_workers_change_nothing_but_the_measured_times(workload, tmp_path):
    seen = []
    here = compare(workload, ["easy", "conservative"], ["last2"], seeds=3, out=tmp_path / "here", check_invariants=True)
    there = compare(
        workload, ["easy", "conservative"], ["last2"], seeds=3, out=tmp_path / "there", workers=2, progress=seen.append
    )
    assert here.runs.drop(columns=MEASURED).equals(there.runs.drop(columns=MEASURED))
    assert here.failures == there.failures == ()
    assert (seen[-1].cells, seen[-1].planned, seen[-1].jobs, seen[-1].expected) == (6, 6, 480, 480)
    stores = Store(tmp_path / "here"), Store(tmp_path / "there")
    assert len(list(stores[0].finished())) == 6
    for name in ("jobs.parquet", "manifest.json"):
        one, other = (sorted((store.path(key) / name).read_bytes() for key in store.finished()) for store in stores)
        assert one == other


class Counting:
    """Fails in the second simulation it is used for."""

    def __init__(self):
        self.used = 0

    def dispatch(self, state):
        if not state.running and state.queue[0].order == 0:
            self.used += 1
        if self.used > 1:
            raise RuntimeError("used twice")
        return FCFS().dispatch(state)


def test_each_run_gets_a_copy_of_an_object(workload):
    found = compare(workload, [Counting()], seeds=3)
    assert found.failures == ()
    assert found.table["dispatcher"].tolist() == ["Counting"]


def test_a_failure_is_kept_and_the_others_go_on(workload):
    class Broken:
        name = "broken"

        def dispatch(self, state):
            raise ZeroDivisionError("no\nway")

    found = compare(workload, [Broken(), "fcfs"], seeds=2)
    assert found.table["dispatcher"].tolist() == ["fcfs"]
    assert [(one.dispatcher, one.seed) for one in found.failures] == [("broken", 0), ("broken", 1)]
    for one in found.failures:
        assert re.fullmatch(r"SimulationError: broken at t=\d+: dispatch raised ZeroDivisionError: no way", one.error)
    assert "Traceback" in found.failures[0].traceback
    assert not found.interrupted


def test_a_worker_that_dies_is_a_failure(workload, tmp_path, monkeypatch):
    (tmp_path / "dying.py").write_text("import os\nclass Dying:\n    def dispatch(self, state):\n        os._exit(7)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    dying = importlib.import_module("dying")
    found = compare(workload, [dying.Dying(), "fcfs", "sjf"], workers=2)
    del sys.modules["dying"]
    assert [one.error for one in found.failures] == ["WorkerDied: its process ended with exit code 7"]
    assert found.table["dispatcher"].tolist() == ["fcfs", "sjf"]


@pytest.mark.parametrize("workers", [1, 2])
def test_interrupt_keeps_what_is_finished(workload, workers):
    def stop(progress):
        if progress.cells == 2:
            raise KeyboardInterrupt

    with pytest.raises(ComparisonInterrupted, match="2 of 6 runs finished") as caught:
        compare(workload, ["fcfs", "easy", "lxf"], seeds=2, workers=workers, progress=stop)
    found = caught.value.comparison
    assert found.interrupted
    assert len(found.runs) == 2


def test_prints_nothing(workload, capfd):
    compare(workload, ["fcfs", "easy"])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dispatchers": ["nope"]}, "unknown dispatcher 'nope'"),
        ({"dispatchers": ["easy", "easy"]}, "dispatcher 'easy' is given twice"),
        ({"dispatchers": []}, "at least one dispatcher"),
        ({"predictors": ["nope"]}, "unknown predictor 'nope'"),
        ({"seeds": 0}, "seeds must be a whole number >= 1, got 0"),
        ({"seeds": "9-3"}, "got '9-3', whose last seed is before its first"),
        ({"seeds": [1, 1]}, "distinct seeds"),
        ({"warm_up": "95%", "cool_down": "10%"}, "no job of 80 is left between"),
        ({"warm_up": "soon"}, "warm_up: expected a share of the jobs such as 5%"),
        ({"jitter": -1}, "compare: jitter, seconds, must be a whole number >= 0, got -1"),
        ({"jitter": 1.5}, "compare: jitter, seconds, must be a whole number >= 0, got 1.5"),
        ({"jitter": "soon"}, "compare: jitter: expected a time such as 90s, .*, got 'soon'"),
        ({"workers": 0}, "workers must be >= 1, got 0"),
        ({"overrun": "stop"}, "expected one of run, kill, resubmit"),
    ],
)
def test_bad_arguments(workload, options, message):
    with pytest.raises(InputError, match=message):
        compare(**{"workload": workload, "dispatchers": ["easy"], **options})


def test_users_react(tmp_path):
    """Resamples react too; the comparison with recorded submissions is beside it, and a wrong word is refused."""
    simulate("lublin:jobs=400,processors=32,load=0.8,users=12,seed=1", "fcfs").to_swf(tmp_path / "t.swf")
    found = compare(tmp_path / "t.swf", ["easy", "easy-sjbf"], seeds="5-6", users="react", check_invariants=True)
    assert not found.failures
    assert found.basis == "resamples"
    assert (found.users, found.replay.users, found.replay.replay) == ("react", "replay", None)
    assert len(found.runs) == len(found.replay.runs) == 4
    assert found.conclusions()["ratio"].iloc[0] != found.replay.conclusions()["ratio"].iloc[0]
    with pytest.raises(InputError, match="users must be one of replay, react"):
        compare(tmp_path / "t.swf", "easy", users="open")
