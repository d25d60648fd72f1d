"""When waiting jobs will start, and what came of it."""

from dataclasses import replace

import numpy as np
import pytest

from hpcdispatch.analysis.kept_forecasts import KeptForecast, judge, keep, read_kept
from hpcdispatch.analysis.start_forecasts import EARLIER, LATER, LEARNED, RunTimeDraws, forecast_starts
from hpcdispatch.base import InputError
from hpcdispatch.predictors import create
from hpcdispatch.workloads import EndedJob, Job, Machine, MachineState, RunningSince, Workload

NODE = Machine.homogeneous(1, core=4)
RUNS = Job("runs", 900, 1000, 1000, per_node={"core": 4}, user="ann")
WAITS = Job("waits", 950, 1000, 1000, per_node={"core": 4}, user="ann")


def past(*runtimes, walltime=1000):
    return tuple(
        EndedJob(Job(f"p{number}", 0, runtime, walltime, per_node={"core": 4}, user="ann"), 0)
        for number, runtime in enumerate(runtimes)
    )


def forecast(ended, elapsed=50, predictor=LEARNED, **options):
    state = MachineState(1000, (RunningSince("runs", 1000 - elapsed, (0,)),), ended=ended)
    return forecast_starts(Workload((RUNS, WAITS), NODE), state, "fcfs", create(predictor), **options)["waits"]


def test_where_all_ran_alike_the_interval_is_what_the_model_misses():
    found = forecast(past(*[100] * 10), predictor="walltime", arrivals=False, draws=4)
    assert (found.low, found.median, found.high) == (1000 + 50 * EARLIER, 1050, 1000 + 50 * LATER)


def test_a_job_that_never_starts_has_no_forecast():
    wide = replace(WAITS, id="wide", hold=True)
    state = MachineState(1000, (RunningSince("runs", 950, (0,)),))
    found = forecast_starts(Workload((RUNS, WAITS, wide), NODE), state, "fcfs", create(LEARNED), draws=4)
    assert list(found) == ["waits"]


def test_no_job_is_forecast_before_its_begin():
    state = MachineState(1000, (RunningSince("runs", 950, (0,)),))
    late = replace(WAITS, begin=9000)
    found = forecast_starts(Workload((RUNS, late), NODE), state, "fcfs", create(LEARNED), draws=4)["waits"]
    assert found.low == found.median == 9000 <= found.high


def test_jobs_to_come_stand_for_themselves():
    # Tasks of arrays become jobs of their own. So do jobs that waited for others or in a reservation.
    ended = tuple(
        EndedJob(replace(each.job, array=f"{number}%1", depends=(("p0", "afterok"),) * bool(number), submit=900), 900)
        for number, each in enumerate(past(*[40] * 30))
    )
    assert forecast(ended, 30, draws=10).high >= 1000


def test_an_array_that_runs_whole_is_known():
    machine = Machine.homogeneous(2, core=4)
    tasks = [replace(RUNS, id=f"5_{task}", array="5%3") for task in range(2)]
    jobs = (*tasks, replace(WAITS, array="6%2"), replace(WAITS, id="more"))
    state = MachineState(1000, tuple(RunningSince(f"5_{task}", 950, (task,)) for task in range(2)))
    found = forecast_starts(Workload(jobs, machine), state, "slurm", create(LEARNED), draws=4)
    assert set(found) == {"waits", "more"}


def test_without_a_past_the_request_counts():
    assert forecast((), arrivals=False, draws=4).median == 1950


def test_a_wider_past_is_a_wider_interval():
    found = forecast(past(*range(60, 560, 10)), arrivals=False, draws=60)
    # Run times are even from 60 to 550 s. A tenth are below 110, a tenth above 500.
    assert found.low == pytest.approx(1000 + 60 * EARLIER, abs=30)
    assert found.high == pytest.approx(1000 + 450 * LATER, abs=60)
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


def test_later_jobs_make_jobs_wait_longer():
    ended = tuple(EndedJob(replace(each.job, submit=900), 900) for each in past(*[40] * 30))
    alone, among = (forecast(ended, 30, arrivals=come, draws=30).high for come in (False, True))
    assert 1000 <= alone <= among


def drawn(*runtimes, elapsed=0, walltime=600, kept=(), of=200):
    """Return run times drawn for a running job from ended jobs. Their walltimes are `kept` as recorded."""
    ended = past(*runtimes) + tuple(
        replace(each, job=replace(each.job, id=f"kept {number}"))
        for number, time in enumerate(kept)
        for each in past(time, walltime=time)
    )
    draws = RunTimeDraws(MachineState(1000, ended=ended), create(LEARNED), np.random.default_rng(0))
    return np.array([draws.draw(replace(RUNS, walltime=walltime), elapsed) for _ in range(of)])


def test_what_outlives_all_that_is_known_ends_anywhere_before_its_request():
    found = drawn(*[50] * 9, elapsed=60)
    assert 60 < found.min() < 80
    assert 400 < found.max() <= 600
    assert np.median(found) == pytest.approx(190, abs=40)  # the square root of 60 x 600
    assert (drawn(*[50] * 9, elapsed=600) == 601).all()


def test_run_times_that_the_request_does_not_allow_are_not_drawn():
    found = drawn(*range(100, 1000, 10), walltime=300)
    assert found.max() <= 300
    assert (found == 300).mean() < 0.1  # no job was cut at its walltime, though most ran longer than 300 s
    assert np.median(found) == pytest.approx(200, abs=20)


def test_requests_are_reached_as_often_as_they_were():
    assert (drawn(*[50] * 15, kept=[300] * 5) == 600).mean() == pytest.approx(0.25, abs=0.1)
    assert (drawn(*[50] * 15, kept=[300] * 5, elapsed=100) == 600).mean() > 0.8  # none but those ran so long


def test_forecasts_are_the_same_again():
    assert forecast(past(*range(60, 560, 10)), seed=3) == forecast(past(*range(60, 560, 10)), seed=3)


def test_what_was_kept_is_judged(tmp_path):
    path = tmp_path / "folder" / "kept.jsonl"
    made = [KeptForecast(0, "a", 10, 20, 30, 500), KeptForecast(0, "b", 10, 20, 30), KeptForecast(0, "c", 1, 2, 3)]
    keep(path, made[:1])
    keep(path, made[1:])
    assert read_kept(path, KeptForecast, "forecast") == made
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
        read_kept(tmp_path / "kept", KeptForecast, "forecast")
    with pytest.raises(InputError, match="expected forecasts that were kept"):
        read_kept(tmp_path / "none", KeptForecast, "forecast")
