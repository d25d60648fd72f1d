"""Emissions and cost by a signal of the grid, and jobs that wait for a better hour."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import hpcdispatch as hd
from hpcdispatch.base import InputError
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Power, Signal, Workload, wait_for_better_hours

HOUR = 3600
#: Nights of 100 g, days of 400 g.
TWO_LEVELS = Signal(np.arange(0, 96) * HOUR, np.tile([100.0] * 12 + [400.0] * 12, 4))


def alone(*jobs):
    return Workload(jobs, replace(Machine.pool(4), power=Power({"core": 100}, idle=0)))


def test_the_saving_of_one_job_is_that_by_hand():
    workload = alone(Job("a", 13 * HOUR, 2 * HOUR, 2 * HOUR, 4))
    now, later = (
        simulate(each, "easy").with_signal(TWO_LEVELS).summary()
        for each in (workload, wait_for_better_hours(workload, TWO_LEVELS, "12h"))
    )
    assert now["emissions_kg"] == pytest.approx(0.4 * 2 * 0.4)  # 400 W, 2 h, 400 g
    assert later["emissions_kg"] == pytest.approx(0.4 * 2 * 0.1)
    assert later["put_off_mean"] == 11 * HOUR
    assert now["energy_kwh"] == later["energy_kwh"] == pytest.approx(0.8)


def test_idle_nodes_and_prices_count():
    machine = replace(Machine.pool(4), power=Power({"core": 100}, idle=50))
    price = Signal(np.array([0, HOUR]), np.array([30.0, -10.0]), "price")
    result = simulate(Workload([Job("a", 0, 2 * HOUR, 2 * HOUR)], machine), "easy").with_signal(price)
    # 100 W of the job and 50 W of the idle machine: an hour at 30, an hour at -10 per MWh.
    assert result.summary()["energy_cost"] == pytest.approx((150 * 30 - 150 * 10) / 1e6)
    assert result.attempts["energy_cost"].sum() == pytest.approx(100 * (30 - 10) / 1e6)


def test_a_saved_result_has_them(tmp_path):
    result = simulate(alone(Job("a", 0, HOUR, HOUR, 2)), "easy").with_signal(TWO_LEVELS)
    loaded = hd.Result.load(result.save(tmp_path / "kept"))
    assert loaded.summary()["emissions_kg"] == result.summary()["emissions_kg"] > 0


def test_jobs_begin_at_the_best_time_of_all():
    rng = np.random.default_rng(3)
    signal = Signal(np.arange(0, 60) * 10, rng.integers(0, 9, 60).astype(float))
    jobs = [Job(str(at), int(at), 5, int(rng.integers(1, 90)), 1) for at in np.sort(rng.integers(0, 300, 40))]
    jobs = [replace(job, id=str(place)) for place, job in enumerate(jobs)]
    delayed = wait_for_better_hours(alone(*jobs), signal, 120)
    for job, moved in zip(jobs, delayed.jobs, strict=True):
        every = [float(signal.total(at, at + job.walltime)) for at in range(job.submit, job.submit + 121)]
        begin = max(moved.begin, moved.submit)
        assert every[begin - job.submit] == pytest.approx(min(every))
        assert begin - job.submit == every.index(min(every)) or every[begin - job.submit] == min(every)


@pytest.mark.parametrize("dispatcher", ["easy", "conservative", "sjf"])
def test_none_is_put_off_for_longer_than_allowed(dispatcher):
    workload = hd.generate("lublin:jobs=80,processors=16,load=0.5", seed=2)
    times = np.arange(0, int(workload.columns.submit[-1]) + 40 * 86400, HOUR)
    signal = Signal(times, 100 + 50 * np.sin(times / 86400 * 2 * np.pi))
    powered = Workload(workload.jobs, replace(workload.machine, power=Power({"core": 10})))
    waiting = wait_for_better_hours(powered, signal, "6h")
    result = simulate(waiting, dispatcher)
    check(waiting, result)
    put_off = result.jobs["eligible"] - result.jobs["submit"]
    assert 0 < put_off.max() <= 6 * HOUR
    same = wait_for_better_hours(powered, signal, 0)
    assert simulate(same, dispatcher).jobs["start"].equals(simulate(powered, dispatcher).jobs["start"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,co2\n0,1\n", "expected the columns time and one of g_per_kwh, price_per_mwh in the first line"),
        ("", "expected the columns time"),
        ("time,g_per_kwh\n0,1\n60,x\n", ":3: expected a whole number of seconds and a number, got '60,x'"),
        ("time,g_per_kwh\n0,1\n60,\n", ":3: expected a whole number of seconds and a number, got '60,'"),
        ("time,g_per_kwh\n0,1\n60,nan\n", "expected a number at t=60, got nan"),
        ("time,g_per_kwh\n0,1\n60,-2\n", "expected a number at t=60, got -2.0"),
        ("time,g_per_kwh\n0,1\n60,1\n30,1\n", "expected times that rise, got 30 after 60"),
        ("time,g_per_kwh\n0,1\n60,1\n120,1\n600,1\n", "a gap from t=120 to 600; other steps take 1m"),
        ("time,g_per_kwh\n0,1\n", "expected two steps or more"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path, text, message):
    path = tmp_path / "signal.csv"
    path.write_text(text)
    with pytest.raises(InputError) as told:
        Signal.read(path)
    assert message in str(told.value)
    assert str(path) in str(told.value)
    assert "\n" not in str(told.value)


def test_a_signal_that_ends_before_the_schedule_is_named():
    short = Signal(np.array([0, HOUR]), np.array([1.0, 2.0]), name="short.csv")
    result = simulate(alone(Job("a", 0, 3 * HOUR, 3 * HOUR)), "easy")
    told = r"short.csv: it tells of t=0 to 7,200, and is asked for 0 to 10,800"
    with pytest.raises(InputError, match=told):
        result.with_signal(short)
    with pytest.raises(InputError, match=r"asked for 0 to 14,400"):
        wait_for_better_hours(alone(Job("a", 0, HOUR, HOUR)), short, "3h")
    with pytest.raises(InputError, match="expected a machine with power, got none"):
        simulate(hd.generate("lublin:jobs=5,processors=8"), "easy").with_signal(short)


def test_recorded_power_counts_before_watts_by_amount():
    jobs = [Job("a", 0, 100, 100, 2), Job("b", 0, 100, 100, 2), Job("c", 0, 50, 50, 4)]
    records = pd.DataFrame({"power": [900.0, np.nan, 0.0], "energy": [1.0, 70_000.0, np.nan]})
    workload = replace(alone(*jobs), records=records)
    result = simulate(workload, "easy")
    assert result.attempts["watts"].tolist() == [900, 700, 400]  # as recorded, by its energy, by its amounts
    assert result.summary()["power_peak_kw"] == pytest.approx(1.6)
    assert result.summary()["energy_kwh"] == pytest.approx((900 * 100 + 700 * 100 + 400 * 50) / 3.6e6)
    known = replace(workload, machine=Machine.pool(4), records=records.assign(power=[900, 700, 10]))
    assert simulate(known, "easy").attempts["watts"].tolist() == [900, 700, 10]
    unknown = replace(workload, machine=Machine.pool(4))
    assert "watts" not in simulate(unknown, "easy").attempts
