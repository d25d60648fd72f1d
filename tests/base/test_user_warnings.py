"""Warnings name the line of the caller, however many functions of hpcdispatch lie between."""

import inspect

import pytest

import hpcdispatch as hd
from hpcdispatch.analysis import evaluate_predictors
from hpcdispatch.simulation import PredictionWarning, UnheededWarning
from hpcdispatch.testing import pool
from hpcdispatch.workloads import Job, Machine, Workload


class Long:
    def predict(self, job, now):
        return 2.0 * job.walltime

    def observe(self, job):
        pass


ALONE = Workload([Job("a", 0, 5, 9, exclusive=True)], Machine.pool(4))


@pytest.mark.parametrize(
    ("call", "category"),
    [
        (lambda: hd.simulate(pool(20), "easy", Long(), overrun="kill"), PredictionWarning),
        (lambda: hd.simulation.simulate(pool(20), "easy", Long(), overrun="kill"), PredictionWarning),
        (lambda: hd.simulate(ALONE, "easy"), UnheededWarning),
        (lambda: evaluate_predictors(ALONE, "walltime"), UnheededWarning),
        (lambda: hd.compare(ALONE, ["fcfs", "easy"]), UnheededWarning),
    ],
)
def test_a_warning_names_the_callers_line(call, category):
    with pytest.warns(category) as told:
        call()
    line = inspect.getsourcelines(call)[1]
    assert {(each.filename, each.lineno) for each in told if each.category is category} == {(__file__, line)}


def test_a_trace_without_walltimes(tmp_path):
    path = tmp_path / "trace.swf"
    path.write_text(
        "; MaxProcs: 4\n1 0 0 5 1 -1 -1 1 -1 -1 1 1 1 1 1 1 -1 -1\n2 1 0 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n"
    )
    with pytest.warns(UserWarning, match="default_walltime") as told:
        hd.read(path)
    assert {each.filename for each in told} == {__file__}


def test_a_warning_of_a_worker_names_the_callers_line():
    def call():
        hd.compare("lublin:jobs=30,processors=64", "easy", [Long()], overrun="kill", seeds=2, workers=2)

    with pytest.warns(PredictionWarning) as told:
        call()
    line = inspect.getsourcelines(call)[1] + 1
    assert {(each.filename, each.lineno) for each in told} == {(__file__, line)}
