"""Plots of results: their content against hand computation, for every kind of result."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from combinations import each_value
from matplotlib import pyplot as plt
from matplotlib.collections import PolyCollection

from hpcdispatch.base import InputError
from hpcdispatch.simulation import job_metrics, simulate
from hpcdispatch.simulation.plots import gantt
from hpcdispatch.simulation.plots.axes import legend_above
from hpcdispatch.workloads import Job, Machine, Power, Workload, generate

METHODS = ("gantt", "utilization", "queue", "waits", "slowdown_by_size", "power", "lost_work")
POOL = dataclasses.replace(Machine.pool(8), power=Power({"core": 100}, idle=50))
NODES = dataclasses.replace(Machine.homogeneous(4, core=4), power=POOL.power)


def job(number, submit=0, runtime=3600, nodes=1, **fields):
    return Job(id=str(number), submit=submit, runtime=runtime, walltime=runtime, nodes=nodes, **fields)


RESULTS = {
    "empty": [],
    "one job": [job(0)],
    "one second": [job(0, runtime=1)],
    "never started": [job(0, nodes=99)],
    "one of two started": [job(0), job(1, nodes=99)],
    "late": [job(0, submit=10**6), job(1, submit=10**6 + 5, nodes=8)],
    "odd names": [job(number, user=user) for number, user in enumerate(["_a", "$x$", "<b>", "", "-1", "u" * 300, "ü"])],
}


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def busy():
    workload = generate("lublin", jobs=300, processors=32, users=12, seed=3)
    return simulate(dataclasses.replace(workload, machine=dataclasses.replace(POOL, capacity=[[32]])), "easy")


@pytest.mark.parametrize(("machine", "name", "method"), each_value([POOL, NODES], list(RESULTS), list(METHODS)))
def test_draws_any_result(machine, name, method):
    axes = getattr(simulate(Workload(RESULTS[name], machine), "fcfs").plot, method)()
    axes.figure.canvas.draw()
    assert axes.get_title().endswith("under fcfs")
    if name in ("empty", "never started"):
        assert [text.get_text() for text in axes.texts] == ["no job has run"]
    else:
        assert axes.get_xlabel()
        assert axes.get_ylabel()


@pytest.mark.parametrize("method", METHODS)
def test_draws_where_it_is_told(busy, method):
    figure, (left, right) = plt.subplots(1, 2, figsize=(5, 2))
    plt.figure()
    assert getattr(busy.plot, method)(ax=left) is left
    assert left.has_data()
    assert not right.has_data()
    assert plt.gcf() is not figure
    with pytest.raises(InputError, match="ax: expected one matplotlib Axes, such as plt"):
        getattr(busy.plot, method)(ax=figure)


def bars(axes):
    """Return left, right, low and high of each bar, and its colour."""
    (drawn,) = (found for found in axes.collections if isinstance(found, PolyCollection))
    boxes = [path.get_extents() for path in drawn.get_paths()]
    corners = np.array([(box.x0, box.x1, box.y0, box.y1) for box in boxes])
    return corners, [tuple(colour) for colour in drawn.get_facecolors()]


def test_bars_have_the_area_of_the_work(busy):
    corners, _ = bars(busy.plot.gantt())
    area = ((corners[:, 1] - corners[:, 0]) * (corners[:, 3] - corners[:, 2])).sum() * 86400
    stays = busy.attempts
    assert area == pytest.approx(((stays["end"] - stays["start"]) * stays["units"]).sum(), rel=1e-6)
    assert corners[:, 3].max() <= 32


def overlaps(corners):
    for index, (left, right, low, high) in enumerate(corners):
        for x0, x1, y0, y1 in corners[:index]:
            if left < x1 - 1e-9 and x0 < right - 1e-9 and low < y1 - 1e-9 and y0 < high - 1e-9:
                yield index


def test_bars_stand_on_their_nodes():
    jobs = [
        job(0, nodes=2, per_node={"core": 4}, user="a"),
        job(1, nodes=1, per_node={"core": 2}, user="b"),
        job(2, nodes=1, per_node={"core": 2}, user="a"),
        job(3, submit=60, nodes=2, per_node={"core": 4}, user="b"),
    ]
    result = simulate(Workload(jobs, NODES), "easy")
    corners, colours = bars(result.plot.gantt())
    assert not list(overlaps(corners))
    assert len(corners) == 4 + (np.diff(np.sort(result.jobs["placement"][3]))[0] > 1)
    whole = corners[corners[:, 3] - corners[:, 2] == 2]
    half = corners[corners[:, 3] - corners[:, 2] == 0.5]
    first = min(result.jobs["placement"][0])
    assert (whole[0, 2], whole[0, 3]) == (first, first + 2)
    assert {np.floor(low) for low in half[:, 2]} == {result.jobs["placement"][1][0]}
    assert len(set(colours)) == 2


def test_colours_show_users_queues_and_waits():
    jobs = [job(0, user="a", queue="x", nodes=8), job(1, user="b", queue="x", nodes=8)]
    plots = simulate(Workload(jobs, POOL), "fcfs").plot
    for color, names, different in (("user", ["user a", "user b"], 2), ("queue", ["queue x"], 1)):
        axes = plots.gantt(color=color)
        assert [text.get_text() for text in axes.get_legend().get_texts()] == names
        assert len(set(bars(axes)[1])) == different
    axes = plots.gantt(color="wait")
    legend = axes.get_legend()
    shown = {text.get_text(): patch for text, patch in zip(legend.get_texts(), legend.get_patches(), strict=True)}
    assert bars(axes)[1] == [tuple(shown[name].get_facecolor()) for name in ("wait < 1 min", "< 6 h")]


def test_areas_have_the_area_of_the_work(busy, monkeypatch):
    monkeypatch.setattr(gantt, "MOST_BARS", 100)
    axes = busy.plot.gantt()
    assert axes.get_title() == "Schedule under easy: 300 stays, as areas"
    covered = 0.0
    for area in axes.collections:
        x, y = area.get_paths()[0].vertices.T
        covered += abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2
    stays = busy.attempts
    assert covered * 86400 == pytest.approx(((stays["end"] - stays["start"]) * stays["units"]).sum(), rel=1e-3)
    assert axes.get_legend().get_texts()[-1].get_text() == "5 other users"


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ((10**8, 10**9), "expected a part of 0 to"),
        (("2d", "1d"), "the first below the second"),
        ((5, 5), "the first below the second"),
        (7, r"expected \(from, to\) after the first submission"),
        (("a", "b"), r"expected \(from, to\)"),
        ((-5, 5), r"expected \(from, to\)"),
        ((1, 2, 3), r"expected \(from, to\)"),
    ],
)
def test_a_window_outside_is_an_error(busy, window, said):
    with pytest.raises(InputError, match=said):
        busy.plot.gantt(window=window)
    assert not plt.get_fignums()


def test_a_window_shows_a_part(busy):
    axes = busy.plot.gantt(window=("12h", 86400))
    assert axes.get_xlim() == (12, 24)
    corners, _ = bars(axes)
    assert corners[:, 0].max() < 24
    assert corners[:, 1].min() > 12


def test_an_unknown_colour_is_an_error(busy):
    with pytest.raises(InputError, match="color: expected one of user, queue, wait, got 'blue'"):
        busy.plot.gantt(color="blue")


def test_curves_say_what_the_summary_says(busy):
    summary = busy.summary()
    x, y = busy.plot.utilization().lines[0].get_data()
    assert np.average(y[:-1], weights=np.diff(x)) == pytest.approx(100 * summary["occupancy"], rel=1e-6)
    x, y = busy.plot.queue().lines[0].get_data()
    assert np.trapezoid(y[:-1], dx=x[1] - x[0]) > 0
    assert y[:-1].sum() * np.diff(x)[0] * 86400 == pytest.approx(busy.jobs["wait"].sum(), rel=1e-6)


def test_waits_are_an_empirical_distribution():
    result = simulate(Workload([job(number, nodes=8) for number in range(4)], POOL), "fcfs")
    x, y = result.plot.waits().lines[0].get_data()
    assert y.max() == 100
    for wait, share in ((1, 25), (3500, 25), (3700, 50), (7300, 75), (11000, 100)):
        assert y[np.searchsorted(x, wait, side="right") - 1] == share


def test_slowdowns_are_means_of_classes(busy):
    axes = busy.plot.slowdown_by_size()
    metrics = job_metrics(busy.jobs)
    wide = busy.jobs["units"] > 16
    assert axes.get_xticklabels()[-1].get_text() == "≤ 1"
    assert axes.lines[0].get_ydata()[-1] == pytest.approx(metrics.loc[wide, "bounded_slowdown"].mean())


@pytest.mark.parametrize("size", [(12, 6), (6, 3), (2, 2), (1, 1)])
@pytest.mark.parametrize("names", [2, 8, 40])
def test_a_legend_fits(size, names):
    axes = plt.subplots(figsize=size)[1]
    handles = [axes.plot([0, 1], [0, number], label="x")[0] for number in range(names)]
    axes.set_ylim(0, names)
    legend_above(axes, handles, ["a name of some length" for _ in handles], names)
    axes.figure.canvas.draw()
    box = legend_box(axes)
    room = axes.get_window_extent()
    assert box.height <= 0.75 * room.height
    if size[0] > 2:
        assert box.x1 <= room.x1 + 2
        assert axes.transData.transform((0, names))[1] <= box.y0 + 3, "the legend covers the curves"


def legend_box(axes):
    return axes.get_legend().get_window_extent()


def test_a_result_is_shown_in_a_few_lines(busy):
    shown = repr(busy)
    assert shown.startswith("Result of easy with walltime predictions on lublin:")
    assert f"{len(busy.jobs):,}: 300 completed" in shown
    assert shown.count("\n") < 12
    assert "<table>" in busy._repr_html_()
    for jobs in RESULTS.values():
        result = simulate(Workload(jobs, POOL), "fcfs")
        assert repr(result).count("\n") < 12
        assert repr(result.plot)
    for name in ("jobs", "attempts", "decisions", "timings"):
        assert "some are not loaded" in repr(dataclasses.replace(busy, **{name: pd.DataFrame()}))


def test_power_is_that_of_jobs_and_the_idle_machine():
    result = simulate(Workload([job(0, runtime=4000), job(1, submit=2000, runtime=6000, nodes=7)], POOL), "fcfs")
    (line,) = result.plot.power().lines
    assert line.get_ydata()[0] == pytest.approx(0.15)
    assert line.get_ydata().max() == pytest.approx(0.85)
    assert line.get_ydata()[-1] == pytest.approx(0.75)
    bare = simulate(Workload([job(0)], Machine.pool(8)), "fcfs")
    with pytest.raises(InputError, match="fcfs: expected a machine with power, got none"):
        bare.plot.power()


def test_lost_work_adds_up():
    result = simulate(generate("lublin:jobs=100,processors=16", seed=1), "easy", failures="mtbf=10d,repair=1h")
    (line,) = result.plot.lost_work().lines
    assert line.get_ydata()[0] == 0
    assert line.get_ydata()[-1] == pytest.approx(result.summary()["lost_core_hours"])
    assert result.summary()["lost_core_hours"] > 0
