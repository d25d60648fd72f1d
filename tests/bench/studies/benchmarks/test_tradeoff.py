"""The curve of the look-ahead dispatcher's patience."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from hpcdispatch.base import InputError
from hpcdispatch.bench.studies.benchmarks.tradeoff import curve, main
from hpcdispatch.workloads import generate, write

SPEC = "lublin:jobs=150,processors=32,load=0.9"


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "small.swf"
    write(generate("lublin:jobs=120,processors=32,load=0.9", seed=3), path)
    return path


@pytest.mark.nightly
def test_a_table_a_trace(trace):
    options = ["--patience", "0.5", "--patience", "inf", "--seeds", "2", "--baseline", "easy", "--baseline", "lxf"]
    done = CliRunner().invoke(main, [f"{trace}:20:100", SPEC, *options])
    assert done.exit_code == 0, done.output
    rows = [line for line in done.output.splitlines() if line.startswith("| ")]
    named = ["dispatcher", "---", "easy", "lxf", "lookahead:patience=0.5", "lookahead:patience=inf"]
    assert [row.split("|")[1].strip() for row in rows] == named * 2
    assert f"{trace}:20:100, 2 samples" in done.output


def test_ratios_are_to_the_best_baseline():
    found = curve(SPEC, [0.9], ["easy", "lxf"], seeds=1)
    rows = found.table.set_index("dispatcher")
    assert found.best("wait_mean") == rows.loc[["easy", "lxf"], "wait_mean"].min()
    columns = ["wait_mean", "bounded_slowdown_mean", "wait_max"]
    better = rows.loc[["easy", "lxf"], columns] > rows.loc["lookahead:patience=0.9", columns]
    assert found.beaten("lookahead:patience=0.9") == better.to_numpy().sum()
    assert found.beaten("easy") + found.beaten("lxf") <= 6


def test_a_slice_is_of_the_trace(trace):
    assert curve(f"{trace}:20:100", [0.9], ["easy"], seeds=1).table["runs"].tolist() == [1, 1]
    with pytest.raises(InputError, match=r"nowhere\.swf: no such file"):
        curve("nowhere.swf", [0.9], ["easy"], seeds=1)
