"""The study of how often intervals hold."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from hpcdispatch.analysis.conclusions import conclusions
from hpcdispatch.bench.studies import coverage
from hpcdispatch.simulation.events import compiled_events
from hpcdispatch.workloads import generate, write


@pytest.fixture(autouse=True)
def _same_worth(monkeypatch):
    monkeypatch.setattr(compiled_events, "WORTH", compiled_events.WORTH)


@pytest.mark.nightly
def test_each_metric_has_its_table():
    small = ["--loads", "0.8", "--jobs", "100", "--samples", "20", "--trials", "10", "--controls", "1", "--traces", "1"]
    found = CliRunner().invoke(coverage.main, small)
    assert found.exit_code == 0, found.output
    for metric in coverage.METRICS:
        assert f"Coverage of the intervals: {metric}" in found.output
    for metric in coverage.MEANS:
        assert f"Coverage of the intervals of single means: {metric}" in found.output
    assert found.output.count("| 0.8 | easy-sjbf |") == len(coverage.METRICS) + len(coverage.MEANS)
    assert found.output.count("| 0.8 | easy |") == len(coverage.MEANS)


def test_halves_are_held_against_each_other(tmp_path):
    path = tmp_path / "t.swf"
    write(generate("lublin:jobs=300,processors=32,load=0.8", seed=3), path)
    found = CliRunner().invoke(coverage.main, ["--halves", "--resamples", "10", str(path)])
    assert found.exit_code == 0, found.output
    assert found.output.count("| t | ") == len(coverage.RIVALS)
    assert "--halves: expected traces" in CliRunner().invoke(coverage.main, ["--halves"]).output


def test_only_metrics_that_hold_are_called_95_percent():
    rng = np.random.default_rng(0)
    names = (*coverage.METRICS, "slowdown_mean")
    rows = [
        {"workload": "w", "seed": seed, "sample": seed, "contender": dispatcher, **dict.fromkeys(names, value)}
        for seed in range(10)
        for dispatcher, value in (("easy", rng.uniform(9, 11)), ("lxf", rng.uniform(7, 9)))
    ]
    told = {name: bool(conclusions(pd.DataFrame(rows), "easy", name)["tested"].iloc[0]) for name in names}
    assert [name for name, tested in told.items() if not tested] == ["bounded_slowdown_mean", "slowdown_mean"]
