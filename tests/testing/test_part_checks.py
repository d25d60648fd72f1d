"""What the package for authors catches, and what it lets pass."""

import random
import sys
import threading

import numpy as np
import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from random_workloads import jobs, machines, workloads

from hpcdispatch.dispatchers import FCFS, Start
from hpcdispatch.predictors import LastTwo, Walltime
from hpcdispatch.simulation import InvariantError, simulate
from hpcdispatch.testing import (
    assert_same_records,
    check_dispatcher,
    check_predictor,
    cluster,
    moldable,
    overrunning,
    pool,
    samples,
    stochastic,
    tiny,
    urgent,
)


class Greedy(FCFS):
    """First come, first served, and something it should not do."""

    def __init__(self, sin):
        super().__init__()
        object.__setattr__(self, "sin", sin)

    def dispatch(self, state):
        return self.sin(state) or super().dispatch(state)


def dispatcher(sin):
    return Greedy(lambda state: sin(state) and None)


@pytest.mark.parametrize(
    ("sin", "message"),
    [
        (lambda s: s.queue[0].job.runtime, "on tiny.. with overrun=run, .*job a: the run time was read"),
        (lambda s: getattr(s.queue[0].job, "runtime", None), "the run time was read"),
        (lambda s: setattr(s.queue[0], "predicted", 1), "the state was changed at t=0; copy what is to be modified"),
        (lambda s: s.free.setflags(write=True), "state was changed|cannot set WRITEABLE flag"),
        (lambda s: sys.stdout.write("hello"), "printed 'hello"),
        (lambda s: sys.stderr.write("hello"), "printed 'hello"),
        (lambda s: random.random(), "drew from the process-wide random state"),
        (lambda s: np.random.rand(), "drew from the process-wide random state"),  # noqa: NPY002
        (lambda s: threading.Thread(target=threading.Event().wait, args=(2,)).start(), "left a thread running"),
    ],
)
def test_a_dispatcher_that_breaks_a_rule(sin, message):
    with pytest.raises((AssertionError, ValueError), match=message):
        check_dispatcher(lambda: dispatcher(sin), [tiny()])


def test_answers_that_are_no_actions():
    with pytest.raises(AssertionError, match="expected actions at t=0, got 'a'"):
        check_dispatcher(Greedy(lambda state: ["a"]), [tiny()])


class Forgetful(FCFS):
    """Starts the second job later from the second simulation on. It has no reset."""

    begun = 0

    def dispatch(self, state):
        actions = super().dispatch(state)
        if state.now == 0:
            Forgetful.begun += 1
            return actions if Forgetful.begun == 1 else actions[:1]
        return actions


def test_a_dispatcher_that_is_not_deterministic():
    with pytest.raises(
        AssertionError, match=r"the first run and the same object, used again, differ in jobs: start of"
    ):
        check_dispatcher(Forgetful(), [tiny()])


def test_what_a_predictor_may_not_do():
    class Bad(Walltime):
        def __init__(self, predict):
            self.sin = predict

        def predict(self, job, now):
            return self.sin(job)

    for sin, message in (
        (lambda job: job.runtime, "job a: the run time of a job was read before it ended"),
        (lambda job: -1, "job a: a prediction must be >= 0 s, got -1"),
        (lambda job: float("nan"), "a prediction must be >= 0 s, got nan"),
        (lambda job: None, "a prediction must be >= 0 s, got None"),
        (lambda job: sys.stdout.write("x") or 1, "printed 'x"),
        (lambda job: random.random(), "drew from the process-wide random state"),
    ):
        with pytest.raises(AssertionError, match=message):
            check_predictor(lambda sin=sin: Bad(sin), [tiny()])
    check_predictor(lambda: Bad(lambda job: job.runtime), [tiny()], oracle=True)

    def caught(job):
        try:
            return job.runtime
        except AssertionError:
            return job.walltime

    with pytest.raises(AssertionError, match="job a: the run time of a job was read before it ended"):
        check_predictor(lambda: Bad(caught), [tiny()])

    class Known(Bad):
        reads_runtimes = True

    check_predictor(lambda: Known(lambda job: job.runtime), [tiny()])


def test_a_predictor_that_does_not_forget():
    class Counts(Walltime):
        seen = 0

        def observe(self, job):
            self.seen += 1

        def predict(self, job, now):
            return 10 + self.seen

    with pytest.raises(AssertionError, match=r"the first run and the same object after reset\(\) differ in jobs: pred"):
        check_predictor(Counts, [tiny()])


def test_a_correction_must_be_a_time():
    class Corrects(Walltime):
        def __init__(self, answer):
            self.answer = answer

        def predict(self, job, now):
            return 1

        def correct(self, job, elapsed, misses):
            return self.answer

    with pytest.raises(AssertionError, match=r"on tiny.. .*job a: a correction must be a finite time, got nan"):
        check_predictor(lambda: Corrects(float("nan")), [tiny()])
    check_predictor(lambda: Corrects(0), [tiny()])  # it knows no better


def test_a_schedule_that_is_wrong(monkeypatch):
    # The engine lets none pass. A validator with a finding is named with the case.
    def refuse(workload, result):
        raise InvariantError("node 0 is on fire")

    monkeypatch.setattr("hpcdispatch.testing.part_checks.check", refuse)
    with pytest.raises(InvariantError, match=r"fcfs on tiny\(\) with overrun=run, predictor=walltime: node 0 is on"):
        check_dispatcher("fcfs", [tiny()])


@pytest.mark.parametrize("given", ["easy", "easy:placement=best-fit", FCFS, FCFS(), lambda: FCFS("best-fit")])
def test_every_way_to_name_a_dispatcher(given):
    check_dispatcher(given, [tiny()], overruns=["run"], predictors=["walltime"])


@pytest.mark.parametrize("given", ["last2", "last2:count=3", Walltime, Walltime(), lambda: LastTwo(count=1)])
def test_every_way_to_name_a_predictor(given):
    check_predictor(given, [tiny()], overruns=["run"])


def test_the_samples_have_what_goes_wrong():
    assert [len(workload) for workload in samples()] == [5, 80, 80, 60, 40, 40, 24]
    assert any(job.runtime == 0 for job in pool().jobs)
    assert len({job.submit for job in pool().jobs}) < len(pool())
    assert sum(job.runtime > job.walltime for job in overrunning().jobs) > 10
    assert any(job.per_node.get("gpu") for job in cluster().jobs)
    assert len(np.unique(cluster().machine.capacity, axis=0)) == 2
    assert any(len(job.shapes) == 2 and job.checkpoint for job in moldable().jobs)
    assert any(job.kind == "on-demand" for job in moldable().jobs)
    assert {job.law is None for job in stochastic().jobs} == {True, False}
    deadlines = {job.deadline for job in urgent().jobs if job.kind == "on-demand"}
    assert min(deadlines) == 0 < max(deadlines)
    assert any(job.checkpoint and job.checkpoint.system_size and job.checkpoint.interval for job in urgent().jobs)
    for workload in samples():
        # All can run, and there is something to decide.
        result = simulate(workload, "fcfs")
        assert (result.jobs["status"] == "completed").all()
        assert result.summary()["wait_max"] > 0


@pytest.mark.parametrize("make", [pool, cluster, overrunning, moldable, stochastic, urgent])
def test_samples_depend_on_the_seed_alone(make):
    assert make(seed=4).digest() == make(seed=4).digest() != make(seed=5).digest()
    assert len(make(17)) == 17


def test_the_docstring_of_tiny_is_right():
    assert simulate(tiny(), "fcfs").jobs["start"].tolist() == [0, 0, 100, 160, 160]
    assert simulate(tiny(), "easy").jobs["start"].tolist() == [0, 0, 100, 20, 160]


def test_records_that_differ():
    one = simulate(tiny(), "fcfs")
    other = simulate(tiny(), "easy")
    assert_same_records(one, simulate(tiny(), "fcfs"))
    with pytest.raises(AssertionError, match="here differ in jobs: start of row 3 is 160 and 20"):
        assert_same_records(one, other, "here")
    with pytest.raises(AssertionError, match="two runs differ in jobs: id of row 0 is a and 1"):
        assert_same_records(one, simulate(pool(), "fcfs"))


@given(st.data())
@settings(max_examples=number_of_inputs(50))
def test_strategies_draw_jobs_that_fit(data):
    machine = data.draw(machines())
    job = data.draw(jobs(machine, moldable=True))
    assert machine.slots(job.per_node) >= job.nodes
    for shape in job.shapes:
        assert machine.slots(shape.per_node) >= shape.nodes
    workload = data.draw(workloads())
    assert [job.id for job in workload.jobs] == [str(index + 1) for index in range(len(workload))]


def test_a_start_elsewhere_is_another_record():
    class Last(FCFS):
        def dispatch(self, state):
            free = np.flatnonzero(state.free[:, 0])
            return [Start(state.queue[0], free[-state.queue[0].nodes :])] if len(free) else []

    workload = moldable(5)
    with pytest.raises(AssertionError, match=r"differ in jobs: placement of row 0"):
        assert_same_records(simulate(workload.head(1), FCFS()), simulate(workload.head(1), Last()))
