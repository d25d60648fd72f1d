"""Compiled steps give the records of the engine for the same dispatcher as a plug-in."""

from dataclasses import replace

import numpy as np
import pytest
from combinations import each_value
from drawn import number_of_inputs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcdispatch.dispatchers import EASY, EASYSJBF, FCFS, LXF, SJF
from hpcdispatch.simulation import Budget, check, simulate
from hpcdispatch.simulation.events import compiled_events
from hpcdispatch.testing import assert_same_records, pool
from hpcdispatch.workloads import Job, Machine, Reservation, Shape, Workload, generate
from hpcdispatch.workloads.job_columns import JobColumns

#: Machine, the amounts of a slot, and the number of slots that fit.
MACHINES = {
    "pool": (Machine.pool(8), [{"core": 1}, {"core": 2}]),
    "nodes": (Machine(("core", "mem"), np.array([[4, 8], [2, 9], [1, 9], [5, 1]])), [{"core": 2, "mem": 1}]),
}


class PlugIn:
    """Decides as another dispatcher does, which the engine cannot know."""

    def __init__(self, over):
        self.dispatch = over.dispatch


@pytest.fixture(autouse=True)
def worth_it(monkeypatch):
    monkeypatch.setattr(compiled_events, "WORTH", 1)


@st.composite
def crowds(draw, kind):
    machine, slots = MACHINES[kind]
    number = st.integers
    jobs, now = [], 0
    for id_ in range(draw(number(1, 90))):
        now += draw(st.sampled_from([0, 0, 0, 1, 7]))
        runtime = draw(number(0, 30))
        walltime = draw(number(1, 25))
        nodes = draw(number(1, 9))
        per_node = draw(st.sampled_from(slots))
        priority = draw(st.sampled_from([0, 0, 3, -2]))
        jobs.append(Job(str(id_), now, runtime, walltime, nodes=nodes, per_node=per_node, priority=priority))
    return Workload(tuple(jobs), machine)


@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize("overrun", ["run", "kill"])
@pytest.mark.parametrize("predictor", ["walltime", "oracle"])
@given(data=st.data())
@settings(max_examples=number_of_inputs(12), suppress_health_check=[HealthCheck.too_slow])
def test_has_the_records_of_the_engine(kind, overrun, predictor, data):
    workload = data.draw(crowds(kind))
    dispatcher = data.draw(st.sampled_from([EASY(), FCFS()]))
    result = simulate(workload, dispatcher, predictor, overrun=overrun)
    assert_same_records(result, simulate(workload, PlugIn(dispatcher), predictor, overrun=overrun))
    check(workload, result)


@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize("overrun", ["run", "kill"])
@pytest.mark.parametrize("predictor", ["walltime", "oracle"])
@given(data=st.data())
@settings(max_examples=number_of_inputs(12), suppress_health_check=[HealthCheck.too_slow])
def test_decides_after_each_event(kind, overrun, predictor, data):
    drawn = data.draw(crowds(kind))
    jobs = tuple(replace(job, priority=0) for job in drawn.jobs)
    workload = Workload(jobs, drawn.machine)
    dispatcher = data.draw(st.sampled_from([EASY(), EASYSJBF(reserve_by="walltimes"), FCFS(), LXF()]))
    options = {"overrun": overrun, "same_instant": "sequence"}
    result = simulate(workload, dispatcher, predictor, **options)
    assert_same_records(result, simulate(workload, PlugIn(dispatcher), predictor, **options))


@pytest.mark.parametrize("dispatcher", [EASY(), FCFS(), EASYSJBF(reserve_by="walltimes"), SJF(), LXF()])
def test_has_them_with_a_long_queue_and_in_many_steps(monkeypatch, dispatcher):
    # More jobs wait than are passed over together. The records come in parts.
    monkeypatch.setattr("hpcdispatch.dispatchers.backfilling.compiled_traces._DECISIONS", 50)
    told = []
    workload = generate("lublin", jobs=1200, processors=64, load=6.0, seed=2)
    result = simulate(workload, dispatcher, progress=told.append)
    assert result.decisions["queued"].max() > 200
    assert told == sorted(told)
    assert told[-1] == len(workload)
    assert len(told) > 10
    assert_same_records(result, simulate(workload, PlugIn(dispatcher)))


@pytest.fixture
def compiled(monkeypatch):
    """Return whether a simulation is one of compiled steps."""
    taken = []
    step = compiled_events.CompiledEvents.next_events
    monkeypatch.setattr(compiled_events.CompiledEvents, "next_events", lambda self: taken.append(1) or step(self))

    def simulated(workload, dispatcher="easy", predictor="walltime", **options):
        taken.clear()
        simulate(workload, dispatcher, predictor, **options)
        return bool(taken)

    return simulated


def test_takes_what_no_other_part_decides(compiled):
    workload = pool(40)
    assert compiled(workload)
    assert compiled(workload, "fcfs", "oracle", overrun="kill")
    assert not compiled(workload, PlugIn(EASY()))
    assert all(compiled(workload, name) for name in ("easy-sjbf", "fcfs:blocked=skip", "sjf", "ljf", "lxf"))
    assert compiled(workload, "easy:reserve_by=walltimes")
    assert compiled(workload, "pbs")
    others = "pbs:queues=a", "easy:order=lxf", "easy:depth=2", "easy:backfill=ljf", "easy:strict=no", "fcfs:order=f1"
    assert not any(compiled(workload, name) for name in others)
    assert not compiled(workload, "easy", "last2")
    assert not compiled(workload, overrun="resubmit")
    assert compiled(workload, same_instant="sequence")
    assert not compiled(workload, same_instant="arrivals-first")
    assert not compiled(workload, budget=Budget(decisions=10**6))


def test_leaves_what_is_no_number_to_the_engine(compiled, monkeypatch):
    job = Job("1", 0, 5, 5)
    two = Machine.homogeneous(2, core=4)
    assert compiled(Workload((job, Job("2", 3, 5, 5)), two))
    assert not compiled(Workload((job, Job("2", 3, 5, 5, per_node={"core": 2})), two), "fcfs")
    moldable = Job("2", 3, 5, 5, shapes=(Shape(2, 3, 3),))
    assert not compiled(Workload((job, moldable), two))
    assert not compiled(Workload((job, Job("2", 3, 5, 5)), two), "easy:placement=best-fit")
    monkeypatch.setattr(compiled_events, "WORTH", 3)
    assert not compiled(Workload((job, Job("2", 3, 5, 5)), two))


def test_makes_no_object_a_job(monkeypatch):
    workload = generate("lublin", jobs=200, processors=64, seed=2)
    assert isinstance(workload.jobs, JobColumns)
    monkeypatch.setattr(JobColumns, "_jobs", None)
    assert len(simulate(workload, "easy").jobs) == 200


@pytest.mark.parametrize("kind", MACHINES)
@given(data=st.data(), rng=st.randoms(use_true_random=False))
@settings(max_examples=number_of_inputs(30), suppress_health_check=[HealthCheck.too_slow])
def test_has_the_records_of_the_engine_where_jobs_wait_for_others(kind, data, rng):
    workload = data.draw(crowds(kind))
    fits = [job for job in workload.jobs if job.nodes <= workload.machine.slots(job.per_node)]
    jobs = fits[:1]
    for place, job in enumerate(fits[1:], 1):
        others = {jobs[rng.randrange(place)].id for _ in range(rng.choice([0, 0, 1, 2]))}
        jobs.append(replace(job, depends=tuple((id_, rng.choice(["afterok", "afterany"])) for id_ in sorted(others))))
    workload = Workload(jobs, workload.machine)
    dispatcher = data.draw(st.sampled_from([EASY(), FCFS(), EASYSJBF(), LXF()]))
    result = simulate(workload, dispatcher)
    check(workload, result)
    assert_same_records(result, simulate(workload, PlugIn(dispatcher)))


@pytest.mark.parametrize(
    ("rule", "dispatcher", "overrun"),
    each_value(
        [Reservation(20_000, 50_000), Reservation(5000, 9000, every=250_000), Reservation(0, 7000, every=200_000)],
        [EASY(), EASY(reserve_by="walltimes")],
        ["run", "kill"],
    ),
)
def test_has_the_records_of_the_engine_beside_a_maintenance(monkeypatch, compiled, rule, dispatcher, overrun):
    for seed in range(3):
        workload = generate("lublin", jobs=250, processors=64, load=(0.7, 1.0, 1.3)[seed], seed=seed)
        jobs = [replace(job, walltime=min(job.walltime, 190_000)) for job in workload.jobs]
        jobs[9] = replace(jobs[9], depends=((jobs[3].id, "afterany"),))
        workload = Workload(jobs, replace(workload.machine, reservations=(rule,)))
        monkeypatch.setattr(compiled_events, "WORTH", 1)
        result = simulate(workload, dispatcher, overrun=overrun)
        assert compiled(workload, dispatcher, overrun=overrun)
        monkeypatch.setattr(compiled_events, "WORTH", 10**9)
        assert_same_records(result, simulate(workload, dispatcher, overrun=overrun))
        check(workload, result)
