"""When waiting jobs will start, and what came of it."""

from dataclasses import replace

import numpy as np
import pytest

from hpcdispatch.analysis.kept_forecasts import KeptForecast, judge, keep, read_kept
from hpcdispatch.analysis.start_forecasts import LEARNED, RunTimeDraws, forecast_starts
from hpcdispatch.base import InputError
from hpcdispatch.predictors import create
from hpcdispatch.workloads import Ended, Job, Machine, MachineState, RunningSince, Workload

NODE = Machine.homogeneous(1, core=4)
RUNS = Job("runs", 900, 1000, 1000, per_node={"core": 4}, user="ann")
WAITS = Job("waits", 950, 1000, 1000, per_node={"core": 4}, user="ann")


def past(*runtimes, walltime=1000):
    return tuple(
        Ended(Job(f"p{number}", 0, runtime, walltime, per_node={"core": 4}, user="ann"), 0)
        for number, runtime in enumerate(runtimes)
    )


def forecast(ended, elapsed=50, predictor=LEARNED, **options):
    state = MachineState(1000, (RunningSince("runs", 1000 - elapsed, (0,)),), ended=ended)
    return forecast_starts(Workload((RUNS, WAITS), NODE), state, "fcfs", create(predictor), **options)["waits"]


def test_where_all_ran_alike_nothing_is_open():
    found = forecast(past(*[100] * 10), predictor="walltime", arrivals=False, draws=4)
    assert (found.low, found.median, found.high) == (1050, 1050, 1050)


def test_without_a_past_the_request_counts():
    assert forecast((), arrivals=False, draws=4).median == 1950


def test_a_wider_past_is_a_wider_interval():
    found = forecast(past(*range(60, 560, 10)), arrivals=False, draws=60)
    # Of run times of 60 to 550 s, evenly, those above 50: a tenth are below 110, a tenth above 500.
    assert found.low == pytest.approx(1060, abs=40)
    assert found.high == pytest.approx(1450, abs=60)
    assert found.low < found.median < found.high


def test_what_has_run_for_long_runs_on():
    assert forecast(past(*range(60, 560, 10)), elapsed=400 - 310, arrivals=False).low >= 1000
    state = MachineState(1000, ended=past(*range(60, 560, 10)))
    draws = RunTimeDraws(state, create(LEARNED), np.random.default_rng(0))
    assert min(draws.draw(RUNS, 400) for _ in range(50)) > 400


@pytest.mark.parametrize("predictor", ["empirical:by=user,least=5", "ranges", "regression:least=5", "last2"])
def test_draws_are_within_the_request(predictor):
    draws = RunTimeDraws(
        MachineState(1000, ended=past(10, 500, 900, 20, 700, 30)), create(predictor), np.random.default_rng(0)
    )
    found = [draws.draw(replace(RUNS, walltime=600), 5) for _ in range(40)]
    assert 5 < min(found) < max(found) <= 600


def test_who_comes_makes_jobs_wait_longer():
    ended = tuple(Ended(replace(each.job, submit=900), 900) for each in past(*[40] * 30))
    alone, among = (forecast(ended, arrivals=come, draws=30).high for come in (False, True))
    shortest = [forecast(ended, arrivals=come).low for come in (False, True)]
    assert alone <= among
    assert shortest[0] >= 1000


def test_forecasts_are_the_same_again():
    assert forecast(past(*range(60, 560, 10)), seed=3) == forecast(past(*range(60, 560, 10)), seed=3)


def test_what_was_kept_is_judged(tmp_path):
    path = tmp_path / "folder" / "kept.jsonl"
    made = [KeptForecast(0, "a", 10, 20, 30, 500), KeptForecast(0, "b", 10, 20, 30), KeptForecast(0, "c", 1, 2, 3)]
    keep(path, made[:1])
    keep(path, made[1:])
    assert read_kept(path) == made
    score = judge(made, {"a": 30, "b": 320}, (10, 300))
    assert (score.known, score.unknown, score.covered) == (2, 1, 0.5)
    assert score.near == {10: 0.5, 300: 1.0}
    assert (score.deviation, score.slurm) == (155, 470)
    assert judge(made, {}, (10,)).known == 0


ODD = b'{"made": 1, "job": "a", "low": "soon", "median": 2, "high": 3}'


@pytest.mark.parametrize("line", [b"{}", b"[1]", b"no", b"\xff", b"[" * 100_000, ODD])
def test_what_is_no_forecast_is_refused(tmp_path, line):
    (tmp_path / "kept").write_bytes(line + b"\n")
    with pytest.raises(InputError, match=r"kept:1: expected a forecast in JSON"):
        read_kept(tmp_path / "kept")
    with pytest.raises(InputError, match="expected forecasts that were kept"):
        read_kept(tmp_path / "none")
