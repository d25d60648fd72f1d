"""Workflows by their runs: what is found, drawn and reproduced."""

from io import BytesIO

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from workflow_runs import workflow_runs

from hpcdispatch.analysis import analyze, class_table, phase_table, summary_table
from hpcdispatch.base import InputError
from hpcdispatch.bench.reports.workflow_figure import KINDS, picture
from hpcdispatch.models import COMPLEXITIES


def runs(**times):
    """Return runs with the times of each workflow at sizes 100, 200, ..."""
    return pd.concat(
        [
            pd.DataFrame({"workflow": name, "size": 100.0 * np.arange(1, len(values) + 1), "time": values})
            for name, values in times.items()
        ]
    )


def test_workflows_come_by_their_median_with_their_ranges():
    found = analyze(runs(slow=np.arange(100.0, 201), fast=np.arange(0.0, 11)))
    assert [one.name for one in found] == ["fast", "slow"]
    assert found[0].range == {"min": 0, "p10": 1, "median": 5, "p90": 9, "max": 10}
    assert found[1].range == {"min": 100, "p10": 110, "median": 150, "p90": 190, "max": 200}


@pytest.mark.parametrize(
    ("times", "note"),
    [
        (2.0 * np.arange(1, 30), ""),
        (np.full(30, 4.0), "the time does not vary"),
        (100.0 - np.arange(1, 30), "the time falls as the size grows: Spearman -1.00"),
        (
            50.0 + np.arange(200) * 7919 % 101,
            "unpredictable from the size: correlation with the size -?0.0., limit 0.7",
        ),
        (np.r_[np.linspace(0, 1, 60), 300, 301], "grows as none of the classes does: Spearman 1.00"),
        (np.array([1.0, 2.0]), "fewer than 3 different sizes: 2"),
    ],
)
def test_notes_say_what_the_size_does_not(times, note):
    found = {one.name: one for one in analyze(runs(this=times, other=[1, 2, 3]))}
    assert pd.Series([found["this"].note]).str.fullmatch(note).all(), found["this"].note


def test_the_limit_of_the_correlation_can_be_moved():
    table = workflow_runs()
    table = table[table["workflow"] == "grows"]
    assert "correlation with the best class 0.90" in analyze(table, explains=0.95)[0].note
    assert analyze(table, explains=0.5)[0].note == ""


def test_small_units_are_asked_for():
    table = runs(this=np.arange(1.0, 9))
    table["size"] /= 100
    assert "use a smaller unit" in analyze(table)[0].note


def test_too_few_sizes_everywhere_are_refused():
    with pytest.raises(InputError, match="expected at least 3 different sizes to fit, got 2 in any workflow"):
        analyze(runs(one=[1, 2], two=[3]))


def test_tables_have_every_class_and_what_is_best():
    found = analyze(workflow_runs())
    classes = class_table(found)
    assert classes.groupby("workflow")["class"].agg(tuple).map(lambda names: names == tuple(COMPLEXITIES)).all()
    summary = summary_table(found).set_index("workflow")
    best = classes[classes["verdict"] == "best"].set_index("workflow")
    assert best["class"].to_dict() == summary["best"].to_dict()
    assert best["mse"].to_dict() == summary["mse"].to_dict()
    assert summary.loc["varies", "best"] == "1"
    assert (classes["mse"] < classes["left_out_mse"]).all()


@pytest.mark.nightly
def test_pictures():
    found = analyze(runs(unfit=[0.0, 0.0], zero=np.zeros(5), **{"_$x$ \u732b": 5.0 + np.arange(9.0)}))
    shown = {kind: picture(found, "bytes", "s", kind) for kind in KINDS}
    assert matplotlib.image.imread(BytesIO(shown["png"])).shape[1] == 1280
    assert b"unfit" in shown["svg"]
    assert shown["pdf"].startswith(b"%PDF")
    assert all(picture(found, "bytes", "s", kind) == shown[kind] for kind in ("svg", "pdf"))


def test_a_picture_has_the_ranges_of_all_workflows_and_the_runs_of_the_first():
    found = analyze(runs(**{f"w{number}": number + np.arange(3.0) for number in range(14)}))
    shown = picture(found, "bytes", "s", "svg")
    assert b"runs of the first 12 of 14" in shown
    assert shown.count(b"<!-- w11") == 2
    assert shown.count(b"<!-- w13") == 1


def test_the_phase_that_varies_is_what_the_time_follows():
    rng = np.random.default_rng(0)
    runs = pd.DataFrame({"registration": rng.normal(3, 0.2, 1011), "fusion": rng.gamma(2, 4, 1011), "other": 9})
    table = phase_table(runs, ["registration", "fusion"]).set_index("phase")
    assert table.loc["fusion", "correlation"] == pytest.approx(
        np.corrcoef(runs["fusion"], runs.iloc[:, :2].sum(axis=1))[0, 1]
    )
    assert table.loc["fusion", "correlation"] > 0.99
    assert abs(table.loc["registration", "correlation"]) < 0.15
    assert table.loc["registration", "variation"] < 0.1 < table.loc["fusion", "variation"]
    assert table["share"].sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("columns", "phases", "message"),
    [
        ({"a": [1.0]}, ["b"], "phases: expected a column 'b', got columns a"),
        ({"a": [1.0]}, [], "expected at least one phase and one run"),
        ({"a": []}, ["a"], "expected at least one phase and one run"),
        ({"a": [1.0, -2.0]}, ["a"], "run 2: a: expected a time >= 0, got -2"),
    ],
)
def test_what_are_no_phases_is_named(columns, phases, message):
    with pytest.raises(InputError, match=message):
        phase_table(pd.DataFrame(columns), phases)
