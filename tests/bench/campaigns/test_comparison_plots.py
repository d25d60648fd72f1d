"""What a comparison shows: its best, its results, its plots and its page."""

import gc
from pathlib import Path

import numpy as np
import pytest
from combinations import some
from matplotlib import pyplot as plt

from hpcdispatch.base import InputError
from hpcdispatch.bench.campaigns.comparison import METRICS, compare
from hpcdispatch.workloads import Job, Machine, Workload, generate

METHODS = ("gantt", "ratios", "utilization", "queue", "waits", "slowdown_by_size")


class Failing:
    """Raises an error at its first decision."""

    name = "failing"

    def dispatch(self, state):
        raise RuntimeError("no")


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def workload():
    return generate("lublin", jobs=200, processors=16, load=0.4, seed=2)


@pytest.fixture(scope="module")
def found(workload):
    return compare(workload, ["easy", "fcfs", "lxf"], seeds=3)


@pytest.mark.parametrize("method", some(METHODS, 3))
def test_draws_each_contender(found, method):
    axes = getattr(found.plot, method)()
    axes.figure.canvas.draw()
    assert axes.get_title()
    if method == "ratios":
        assert [label.get_text() for label in axes.get_yticklabels()] == ["fcfs", "lxf"]
    elif method != "gantt":
        assert [text.get_text() for text in axes.get_legend().get_texts()] == ["easy", "fcfs", "lxf"]
    given = plt.subplots()[1]
    assert getattr(found.plot, method)(ax=given) is given


def test_the_best_has_the_least_mean_wait(found):
    means = found.runs.groupby("dispatcher")["wait_mean"].mean()
    assert found.best() == means.idxmin()
    assert found.best("utilization") == found.runs.groupby("dispatcher")["utilization"].mean().idxmax()
    assert found.plot.gantt().get_title() == f"Schedule under {found.best()}"
    with pytest.raises(InputError, match="best: expected a metric of wait_mean"):
        found.best("wait")


def test_ratios_are_those_of_the_means(found):
    means = found.runs.groupby("dispatcher")["wait_mean"].mean()
    axes = found.plot.ratios(baseline="fcfs")
    assert [text.get_text() for text in axes.texts] == [
        f"{means[name] / means['fcfs']:.3g}" for name in ("easy", "lxf")
    ]
    assert axes.get_xlabel() == "ratio of the mean wait (interval, 3 resamples)"
    interval = axes.lines[0].get_xdata()
    point = axes.lines[1].get_xdata()
    assert interval[0] <= point[0] <= interval[1]
    for metric in METRICS:
        found.plot.ratios(metric)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda plot: plot.ratios("wait"), "metric: expected one of wait_mean"),
        (lambda plot: plot.ratios(baseline="eazy"), "baseline: expected one of easy; fcfs; lxf, got 'eazy'"),
        (lambda plot: plot.gantt(dispatcher="eazy"), "dispatcher: expected one of easy; fcfs; lxf, got 'eazy'"),
        (lambda plot: plot.ratios(ax=3), "ax: expected one matplotlib Axes"),
    ],
)
def test_what_is_not_there_is_an_error(found, call, said):
    with pytest.raises(InputError, match=said):
        call(found.plot)


def test_results_are_at_hand(found):
    for row in found.runs.to_dict("records"):
        assert found.result(row["dispatcher"], seed=row["seed"]).summary()["wait_mean"] == row["wait_mean"]
    with pytest.raises(InputError, match=r"expected a finished run of easy; fcfs; lxf, seeds 0 to 2; got 'easy', .* 9"):
        found.result("easy", seed=9)


def test_predictors_are_named_where_they_differ(workload):
    found = compare(workload, ["easy"], ["walltime", "oracle"])
    assert found.best() in ("easy, walltime", "easy, oracle")
    assert found.plot.ratios().get_title() == "Mean wait relative to easy, walltime"
    with pytest.raises(InputError, match="expected a finished run of easy, walltime; easy, oracle"):
        found.result("easy")
    assert found.result("easy, oracle").manifest["predictor"] == "oracle"


@pytest.mark.nightly
def test_writes_a_page(found, tmp_path):
    page = found.report(tmp_path / "new" / "report.html")
    assert page.read_text(encoding="utf-8").count("lxf")
    with pytest.raises(InputError, match=r"report: expected a file such as .*report.html, got a folder"):
        found.report(tmp_path)


@pytest.mark.nightly
def test_the_page_has_no_other_runs_of_a_store(workload, tmp_path):
    compare(workload, ["sjf"], out=tmp_path / "store")
    found = compare(workload, ["easy"], out=tmp_path / "store")
    files = found.report(tmp_path / "report.html").with_name("report_files")
    assert "sjf" not in (files / "leaderboard.csv").read_text(encoding="utf-8")


def test_the_results_go_with_the_comparison(workload):
    found = compare(workload, ["fcfs"])
    folder = Path(found.store.folder)
    assert folder.is_dir()
    del found
    gc.collect()
    assert not folder.exists()


def test_failed_runs_are_told(workload):
    found = compare(workload, [Failing()])
    with pytest.raises(InputError, match=r"best: no run has finished; the first error: SimulationError: .*no"):
        found.best()
    assert "1 failed: SimulationError" in repr(found)
    assert found.plot.ratios().texts[0].get_text() == "no run has finished"
    with pytest.raises(InputError, match="no run has finished"):
        found.plot.gantt()
    for method in METHODS[2:]:
        assert getattr(found.plot, method)().texts[0].get_text() == "no job has run"
    both = compare(workload, [Failing(), "easy"])
    assert both.best() == "easy"
    assert both.plot.waits().has_data()


def test_one_contender_and_no_waits_have_no_ratio():
    jobs = [Job(id=str(number), submit=number, runtime=60, walltime=60, nodes=1) for number in range(3)]
    found = compare(Workload(jobs, Machine.pool(8)), ["easy", "fcfs"])
    assert found.plot.ratios().texts[0].get_text() == "no ratio: one contender, or a mean wait of 0"
    assert found.plot.waits().lines[0].get_ydata()[-1] == 100


def test_is_shown_in_a_few_lines(found):
    shown = repr(found)
    assert shown.startswith("Comparison on lublin:jobs=200")
    assert "9 runs, seeds 0 to 2" in shown
    assert [line.split()[0] for line in shown.splitlines()[2:]] == ["easy", "fcfs", "lxf"]
    assert found._repr_html_().count("<tr>") == 4
    assert np.isfinite(found.table["wait_mean"]).all()
