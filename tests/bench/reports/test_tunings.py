"""What portfolios chose, as the report shows it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from hpcdispatch.bench.reports.figures import figures_of
from hpcdispatch.bench.reports.saved_results import runs_of
from hpcdispatch.bench.reports.study import study
from hpcdispatch.bench.reports.summaries import tables_of
from hpcdispatch.bench.reports.tunings import numbered
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import generate

SPEC = "lublin:jobs=200,processors=32,load=0.9"
PORTFOLIO = "portfolio:of=lxf+easy,every=6h,window=1d"


@pytest.fixture(scope="module")
def result():
    return simulate(generate(SPEC, seed=1), PORTFOLIO, seed=1)


@pytest.fixture(scope="module")
def tuned(result, tmp_path_factory):
    """Return the study of a portfolio beside EASY."""
    out = tmp_path_factory.mktemp("tuned")
    result.save(out / "portfolio")
    simulate(generate(SPEC, seed=1), "easy", seed=1).save(out / "easy")
    return study(runs_of(out))


def test_the_strip_of_a_portfolio_is_what_its_decisions_say(tuned, result):
    [workload] = tuned.workloads
    found = numbered(tuned.tunings[workload])
    assert set(found["contender"]) == {PORTFOLIO}
    tunings = result.decisions[result.decisions["tuned"] == 1]
    assert len(tunings) > 3
    assert found["candidate"].tolist()[1:-1] == tunings["chosen"].tolist()
    assert found["seconds"].tolist()[1:-1] == (tunings["time"] - result.jobs["submit"].min()).tolist()
    assert found["gain"].tolist()[1:-1] == pytest.approx(tunings["gain"].tolist())
    figure = figures_of(tuned, workload)["tunings-figure"]
    assert "1: " in figure.note
    assert len(figure.data) == len(found)


def test_the_table_of_a_portfolio_adds_up(tuned):
    [workload] = tuned.workloads
    table = tables_of(tuned, workload)["tunings"]
    shares = [row[3].value for row in table.cells]
    assert sum(shares) == pytest.approx(100)
    found = numbered(tuned.tunings[workload])
    chosen = found["candidate"].tolist()
    changes = sum(one != other for one, other in pairwise(chosen))
    assert sum(row[4].value for row in table.cells) == changes


def test_without_a_portfolio_there_is_no_strip(tmp_path):
    simulate(generate(SPEC, seed=1), "easy", seed=1).save(tmp_path / "easy")
    made = study(runs_of(tmp_path))
    [workload] = made.workloads
    assert "tunings" not in tables_of(made, workload)
    assert "tunings-figure" not in figures_of(made, workload)
