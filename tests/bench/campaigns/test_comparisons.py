"""Several workloads in one comparison: names, tables, plots, reports and mistakes."""

import matplotlib as mpl
import pytest

import hpcdispatch as hd
from hpcdispatch.base import InputError
from hpcdispatch.testing import pool, tiny

LOADS = {f"load {load}": f"lublin:jobs=60,processors=32,load={load}" for load in (0.5, 0.9)}


@pytest.fixture(scope="module")
def comparisons(tmp_path_factory):
    return hd.compare(LOADS, ["fcfs", "easy", "lxf"], seeds=2, out=tmp_path_factory.mktemp("store") / "results")


def test_each_workload_is_compared_as_alone(comparisons):
    for name, workload in LOADS.items():
        alone = hd.compare(workload, ["fcfs", "easy", "lxf"], seeds=2)
        for column in ("dispatcher", "predictor", "runs", "wait_mean", "wait_mean_low", "utilization_high"):
            assert list(comparisons[name].table[column]) == list(alone.table[column])
        assert comparisons.best()[name] == alone.best()
    assert list(comparisons) == list(LOADS)
    assert not comparisons.interrupted
    assert comparisons.failures == {}


def test_tables_name_the_workload(comparisons):
    for table in (comparisons.table, comparisons.runs, comparisons.conclusions()):
        assert table.columns[0] == "workload"
        assert list(dict.fromkeys(table["workload"])) == list(LOADS)
    assert len(comparisons.table) == 6
    assert len(comparisons.runs) == 12
    assert "load 0.9  lxf" in repr(comparisons)
    assert comparisons._repr_html_().count("<tr>") == 7


def test_one_plot_has_the_ratios_of_all(comparisons):
    with mpl.rc_context({"backend": "Agg"}):
        axes = comparisons.plot.ratios(baseline="easy")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(LOADS)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["lxf", "fcfs"]
    marks = [line.get_xdata() for line in axes.lines if line.get_linestyle() == "None"]
    rows = comparisons.conclusions("wait_mean", "easy")
    for name, ratios in zip(LOADS, marks, strict=True):
        assert list(ratios) == list(rows[rows["workload"] == name]["ratio"])
    mpl.pyplot.close(axes.figure)


@pytest.mark.nightly
def test_one_report_has_all_workloads(comparisons, tmp_path):
    text = comparisons.report(tmp_path / "report.html").read_text()
    assert all(name in text for name in LOADS)


def test_a_list_is_named_by_its_sources():
    several = hd.compare([tiny(), "lublin:jobs=20", pool(20)], "easy")
    assert list(several) == [tiny().provenance.source, "lublin:jobs=20", pool(20).provenance.source]
    assert list(hd.compare([tiny()], "easy")) == [tiny().provenance.source]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([tiny(), tiny()], "is given twice; name each"),
        ([], "expected at least one workload, got none"),
        ({1: tiny()}, "names of workloads must be texts, got 1"),
        ([tiny(), "nothing"], "nothing: no such file"),
    ],
)
def test_mistakes_are_told_before_any_run(given, message):
    with pytest.raises(InputError, match=message):
        hd.compare(given, "easy")


def test_an_unknown_workload_is_told(comparisons):
    with pytest.raises(InputError, match=r"expected a workload of load 0.5; load 0.9, got 'load 1'"):
        comparisons["load 1"]
    assert comparisons.get("load 1") is None
    with pytest.raises(InputError, match="expected a metric"):
        comparisons.plot.ratios("waits")
