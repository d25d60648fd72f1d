"""Ends of endless simulations. What plug-ins may do to a simulation."""

import sys

import numpy as np
import pytest

from hpcdispatch.dispatchers import FCFS, Start, Stop, Wake
from hpcdispatch.predictors import Walltime
from hpcdispatch.simulation import Budget, BudgetError, Result, SimulationError, budget, simulate
from hpcdispatch.workloads import Job, Machine, Workload

WORKLOAD = Workload([Job("1", 0, 100, 100)], Machine.pool(4))


class Restless:
    """Starts the job and kills it, for ever."""

    def dispatch(self, state):
        if state.running:
            return [Stop(state.running[0], "kill"), Wake(state.now + 1)]
        return [Start(state.queue[0], np.zeros(1, dtype=int)), Wake(state.now + 1)]


class Reporting(FCFS):
    told = "time"

    def report(self):
        return {self.told: 1}


class Answering(Walltime):
    def __init__(self, answer):
        self.answer = answer

    def predict(self, job, now):
        return self.answer(job) if callable(self.answer) else self.answer


def test_a_livelock_is_found_by_lack_of_progress(monkeypatch):
    monkeypatch.setattr(budget, "PATIENCE", 100)
    with pytest.raises(SimulationError, match=r"Restless at t=\d+: 100 decisions in a row without any progress"):
        simulate(WORKLOAD, Restless())


def test_a_parent_that_looks_from_time_to_time_may_wait_for_the_next_job(monkeypatch):
    class Polling(FCFS):
        def dispatch(self, state):
            return [*super().dispatch(state), *[Wake(state.now + 1)] * (state.now < 4000)]

    monkeypatch.setattr(budget, "PATIENCE", 100)
    workload = Workload([Job("1", 0, 10, 10), Job("2", 4000, 10, 10)], Machine.pool(4))
    assert len(simulate(workload, Polling()).decisions) > 4000
    far = Workload([Job("1", 0, 100, 100), Job("2", 4000, 10, 10)], Machine.pool(4))
    with pytest.raises(SimulationError, match="without any progress"):
        simulate(far, Restless())


def test_budgets():
    with pytest.raises(BudgetError, match="Restless at t=25: expected an end within the budget of 50 decisions"):
        simulate(WORKLOAD, Restless(), budget=Budget(decisions=50))
    with pytest.raises(BudgetError, match=r"within the budget of 0\.001 s, got none"):
        simulate(WORKLOAD, Restless(), budget=Budget(seconds=0.001))
    assert len(simulate(WORKLOAD, "easy", budget=Budget(decisions=50, seconds=1000)).jobs) == 1
    with pytest.raises(ValueError, match="budget: decisions must be a whole number >= 1"):
        Budget(decisions=0)


@pytest.mark.parametrize("answer", ["5", None, [], 1e300, float("nan"), -1, 10**400], ids=repr)
def test_a_prediction_that_is_no_time(answer):
    with pytest.raises(SimulationError, match=r"^Answering at t=0: job 1: a prediction must be >= 0 s.*, got "):
        simulate(WORKLOAD, "easy", Answering(answer))


def test_what_a_part_raises_names_part_job_and_time(monkeypatch):
    def raises(*_):
        raise KeyError("boom")

    def leaves(*_):
        sys.exit(0)

    with pytest.raises(SimulationError, match=r"^Answering at t=0: job 1: predict raised KeyError: 'boom'$"):
        simulate(WORKLOAD, "easy", Answering(raises))
    monkeypatch.setattr(Walltime, "observe", raises)
    with pytest.raises(SimulationError, match=r"^Walltime at t=100: job 1: observe raised KeyError: 'boom'$"):
        simulate(WORKLOAD, "easy", Walltime())
    monkeypatch.setattr(FCFS, "dispatch", leaves)
    with pytest.raises(SimulationError, match=r"^FCFS at t=0: dispatch raised SystemExit: 0$"):
        simulate(WORKLOAD, FCFS())


@pytest.mark.parametrize("call", ["predict", "observe", "correct", "distribution"])
@pytest.mark.parametrize("times", ["runtime", "walltime"])
def test_a_predictor_that_changes_a_job_is_stopped(monkeypatch, call, times):
    def cheats(self, job, *_):
        object.__setattr__(job, times, 1)
        return 5

    monkeypatch.setattr(Answering, call, cheats, raising=False)
    workload = Workload([Job("1", 0, 100, 100)], Machine.pool(4))
    with pytest.raises(SimulationError, match=rf"^Answering at t=\d+: job 1: {call} changed the times of the job"):
        simulate(workload, "easy", Answering(50))


@pytest.mark.parametrize("call", ["correct", "distribution"])
@pytest.mark.parametrize("answer", ["x", [1], {"values": 1}, np.array([1, 2])], ids=repr)
def test_another_answer_of_no_meaning_is_the_predictors(monkeypatch, call, answer):
    monkeypatch.setattr(Answering, call, lambda *_: answer, raising=False)
    with pytest.raises(SimulationError, match=r"^Answering at t=\d+: job 1: a (prediction|distribution) must .*, got "):
        simulate(WORKLOAD, "easy", Answering(50))


@pytest.mark.parametrize("error", [BaseException, GeneratorExit, StopIteration, RecursionError])
def test_whatever_a_part_raises(error):
    def raises(*_):
        raise error("boom")

    with pytest.raises(SimulationError, match=rf"^Answering at t=0: job 1: predict raised {error.__name__}: boom$"):
        simulate(WORKLOAD, "easy", Answering(raises))


@pytest.mark.parametrize("key", ["time", 5])
def test_a_report_may_not_take_the_names_of_the_engine(monkeypatch, key):
    monkeypatch.setattr(Reporting, "told", key)
    with pytest.raises(SimulationError, match="Reporting at t=0: report: expected keys that are texts other than time"):
        simulate(WORKLOAD, Reporting())


def test_what_no_table_holds_is_said_with_the_dispatcher(tmp_path, monkeypatch):
    monkeypatch.setattr(Reporting, "report", lambda self: {"x": object()})
    with pytest.raises(SimulationError, match=r"^Reporting: decisions .* cannot be saved: ArrowInvalid: .* column x "):
        simulate(WORKLOAD, Reporting()).save(tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_result_is_saved_whole_or_not_at_all(tmp_path, monkeypatch):
    result = simulate(WORKLOAD, "easy")
    good = tmp_path / "good"
    result.save(good)
    result.jobs["odd"] = [object()]
    for folder in (tmp_path / "bad", good):
        with pytest.raises(Exception, match="object"):
            result.save(folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good"]
    assert len(Result.load(good).jobs) == 1
