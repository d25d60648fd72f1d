"""Statistics against plain hand computation."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcdispatch.analysis.curves import (
    Detail,
    schedule,
)
from hpcdispatch.analysis.statistics import (
    describe,
    fairness,
    jain,
    prediction,
    run_time_class,
    statistics_by_class,
)
from hpcdispatch.simulation import job_metrics
from hpcdispatch.simulation.metrics import used_between, width_class, width_name
from hpcdispatch.simulation.plots.curves import Grid, busy_time, distribution, over_time, stacked

NAN = float("nan")
HOUR = 3600


def jobs(**columns):
    """Return jobs that all ran at once, but for the columns given."""
    count = len(next(iter(columns.values())))
    base = {
        "id": [str(number) for number in range(count)],
        "submit": [0] * count,
        "runtime": [100] * count,
        "user": ["a"] * count,
        "units": [1] * count,
        "wait": [0] * count,
        "predicted": [100] * count,
        "status": ["completed"] * count,
    }
    frame = pd.DataFrame(base | columns)
    frame["run"] = frame["runtime"]
    frame["start"] = frame["submit"] + frame["wait"]
    frame["end"] = frame["start"] + frame["run"]
    return frame


def attempts(of):
    """Return one stay a job."""
    return pd.DataFrame({name: of[name] for name in ("id", "start", "end", "units")} | {"useful": of["run"]})


def test_describe():
    found = describe(np.array([4.0, 1.0, 2.0, 3.0, 10.0]))
    assert found == pytest.approx({"n": 5, "mean": 4, "median": 3, "p90": 7.6, "p95": 8.8, "p99": 9.76, "max": 10})
    nothing = describe(np.array([]))
    assert nothing.pop("n") == 0
    assert all(math.isnan(value) for value in nothing.values())


def test_classes_of_run_time():
    run = np.array([0, 3599, 3600, 5 * HOUR, 5 * HOUR + 1], dtype=float)
    assert run_time_class(run).tolist() == ["< 1 h", "< 1 h", "1-5 h", "1-5 h", "> 5 h"]


@given(units=st.integers(1, 100_000), capacity=st.integers(1, 100_000))
def test_a_width_lies_in_its_class(units, capacity):
    units = min(units, capacity)
    exponent = int(width_class(np.array([units]), capacity)[0])
    share = Fraction(units, capacity)
    assert share <= Fraction(1, 2**exponent)
    assert exponent == 10 or share > Fraction(1, 2 ** (exponent + 1))


def test_widths_have_names():
    assert [width_name(exponent) for exponent in (0, 1, 2, 10)] == [
        "1/2 to 1",
        "1/4 to 1/2",
        "1/8 to 1/4",
        "up to 1/1024",
    ]
    assert width_class(np.array([0, 200]), 128).tolist() == [10, 0]


def test_groups():
    metrics = job_metrics(jobs(wait=[0, 100, 300], runtime=[100, 100, 5]))
    found = statistics_by_class(metrics, np.array(["a", "b", "b"]), ["b", "a", "c"]).set_index(["class", "metric"])
    assert list(dict.fromkeys(found.index.get_level_values(0))) == ["b", "a"]
    assert found.loc[("b", "wait"), ["n", "mean", "max"]].tolist() == [2, 200, 300]
    assert found.loc[("b", "slowdown"), "mean"] == (2 + 61) / 2
    assert found.loc[("b", "bounded_slowdown"), "mean"] == (2 + 30.5) / 2


def test_jain():
    assert jain(np.array([3.0, 3.0, 3.0])) == 1
    assert jain(np.array([1.0, 0.0, 0.0, 0.0])) == 0.25
    assert jain(np.array([1.0, 3.0])) == 0.8
    assert math.isnan(jain(np.zeros(2)))


def test_fairness():
    frame = jobs(wait=[0, 25 * HOUR, 73 * HOUR, 100], user=["a", "a", "b", "-1"], runtime=[HOUR] * 4)
    before = pd.Series([0.0, 26 * HOUR, 100.0], index=["0", "1", "3"])
    found = fairness(frame, job_metrics(frame), before)
    assert found["wait_max"] == 73 * HOUR
    assert (found["over_24h"], found["over_72h"], found["users"]) == (2, 1, 2)
    assert found["jain"] == pytest.approx((13.5 + 74) ** 2 / (2 * (13.5**2 + 74**2)))
    assert (found["longer"], found["longer_share"]) == (0, 0)
    same = fairness(frame, job_metrics(frame), pd.Series([0, 0, 73 * HOUR, 99], index=frame["id"]))
    assert (same["longer"], same["longer_share"]) == (2, 0.5)


def test_fairness_without_a_baseline_or_users():
    frame = jobs(wait=[5], user=[""])
    found = fairness(frame, job_metrics(frame))
    assert found["users"] == 0
    assert all(math.isnan(found[name]) for name in ("jain", "longer", "longer_share"))


def test_prediction():
    frame = jobs(runtime=[100, 100, 100, 100, 7], predicted=[100, 200, 50, 120, 9])
    frame["status"] = ["completed"] * 4 + ["rejected"]
    found = prediction(frame)
    assert found == {"predicted_jobs": 4, "mae": (0 + 100 + 50 + 20) / 4, "under": 0.25, "over": 0.5, "near": 0.5}
    assert prediction(frame.iloc[:0])["predicted_jobs"] == 0


@given(st.lists(st.floats(0.01, 99.0), max_size=30))
def test_a_distribution_is_that_of_the_values(values):
    grid = Grid(-3, 2, 20)
    array = np.array(values)
    x, y = distribution(grid, grid.counts(array), len(array), 1000)
    assert y == pytest.approx([(array <= place).mean() for place in x])
    assert not len(array) or y[-1] == 1
    few, _ = distribution(grid, grid.counts(array), len(array), 3)
    assert len(few) <= 3


def test_values_below_the_grid_count_at_its_first_place():
    grid = Grid(0, 2, 10)
    x, y = distribution(grid, grid.counts(np.array([0.0, 0.0, 50.0])), 3, 100)
    assert (x[0], y[0]) == (1, pytest.approx(2 / 3))


def test_work_between_edges():
    edges = np.array([0.0, 10.0, 20.0, 30.0])
    found = busy_time(edges, np.array([0, 5, 15]), np.array([5, 25, 15]), np.array([1, 2, 9]))
    assert found.tolist() == [15, 20, 10]


def test_loads_over_time():
    frame = jobs(submit=[0, 0], wait=[0, 50], runtime=[50, 50], units=[2, 4])
    found = over_time(frame, attempts(frame), 4, 10)
    assert found["utilization"].tolist() == pytest.approx([0.5] * 5 + [1.0] * 5)
    assert found["queue"].tolist() == pytest.approx([1.0] * 5 + [0.0] * 5)
    assert used_between(attempts(frame), 4, 25, 75) == 0.75
    assert math.isnan(used_between(attempts(frame), 4, 5, 5))


def test_a_job_that_starts_twice_waits_twice():
    frame = jobs(submit=[0], wait=[40], runtime=[40])
    frame["end"] = 100
    stays = pd.DataFrame({"start": [20, 60], "end": [40, 100], "useful": [0, 40], "units": 1})
    assert over_time(frame, stays, 1, 5)["queue"].tolist() == [1, 0, 1, 0, 0]


def test_stacks_take_the_lowest_free_place():
    start, end, units = (np.array(values) for values in ([0, 0, 0, 5, 6], [5, 9, 6, 9, 9], [2, 1, 2, 1, 3]))
    rows = list(zip(*(column.tolist() for column in stacked(start, end, units)), strict=True))
    assert rows == [(0, 0, 2), (1, 2, 3), (2, 3, 5), (3, 0, 1), (4, 1, 2), (4, 3, 5)]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 20), st.integers(1, 5)), max_size=20))
def test_stacks_never_overlap(intervals):
    intervals.sort()
    table = np.array(intervals, dtype=np.int64).reshape(-1, 3)
    begin = table[:, 0]
    end = table[:, 0] + table[:, 1]
    units = table[:, 2]
    index, low, high = stacked(begin, end, units)
    assert np.bincount(index, weights=high - low, minlength=len(units)).tolist() == units.tolist()
    for one in range(len(index)):
        for other in range(one):
            in_time = begin[index[one]] < end[index[other]] and begin[index[other]] < end[index[one]]
            assert not (in_time and low[one] < high[other] and low[other] < high[one])


def test_a_piece_of_a_schedule_keeps_the_largest():
    frame = jobs(submit=[100, 100, 100, 900], runtime=[10, 20, 30, 5], units=[1, 2, 3, 4])
    shown, hidden = schedule(frame, attempts(frame), (0, 25), 2)
    assert hidden == 1
    assert shown[["job", "begin", "end", "units", "low", "high"]].to_numpy().tolist() == [
        ["2", 0, 30, 3, 0, 3],
        ["1", 0, 20, 2, 3, 5],
    ]
    nothing, _ = schedule(frame, attempts(frame), (40, 50), 2)
    assert nothing.empty


def test_many_contenders_are_drawn_less_finely():
    assert Detail.of(1) == Detail()
    few, many = Detail.of(50), Detail.of(5000)
    assert few.points > many.points >= 100
    assert many == Detail(100, 60, 40)
