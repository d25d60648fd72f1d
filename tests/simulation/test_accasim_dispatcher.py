"""AccaSim's schedulers in our engine, beside its own simulator."""

import logging
import random
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from drawn import number_of_inputs
from stock_accasim import stock_starts

from hpcdispatch.base import InputError
from hpcdispatch.bench.campaigns.comparison import compare
from hpcdispatch.simulation import (
    ActionError,
    SimulationError,
    accasim_dispatcher,
    check,
    simulate,
)
from hpcdispatch.simulation.accasim_compat import EASYBackfilling, FirstFit, FirstInFirstOut, SchedulerBase
from hpcdispatch.simulation.events import decisions
from hpcdispatch.workloads import Job, Machine, Workload, generate

# isort: split
from accasim.base.allocator_class import BestFit
from accasim.base.scheduler_class import LongestJobFirst, ShortestJobFirst

SCHEDULERS = (FirstInFirstOut, LongestJobFirst, ShortestJobFirst, EASYBackfilling)


def workload(jobs=150, nodes=16, seed=1, **options):
    drawn = generate("lublin", jobs=jobs, processors=nodes, load=0.9, seed=seed, **options)
    # AccaSim mishandles jobs of 0 s.
    jobs = [replace(job, nodes=job.per_node["core"], per_node={"core": 1}) for job in drawn.jobs if job.runtime > 0]
    return Workload(jobs, Machine.homogeneous(nodes, core=1))


def starts(result):
    return dict(zip(result.jobs["id"], result.jobs["start"], strict=True))


@pytest.mark.parametrize("allocator", [FirstFit, BestFit])
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_gives_the_starts_of_accasim(tmp_path, scheduler, allocator):
    for seed in (1, 2, 5)[: number_of_inputs(3, 1)]:  # of others AccaSim goes through days second by second
        jobs = workload(seed=seed)
        result = simulate(jobs, accasim_dispatcher(scheduler(allocator())))
        check(jobs, result)
        assert starts(result) == stock_starts(tmp_path, jobs, scheduler(allocator()))
    assert result.jobs["wait"].max() > 0


@pytest.mark.nightly
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_gives_the_starts_of_accasim_on_many_jobs(tmp_path, scheduler):
    jobs = workload(2000, 64)
    assert starts(simulate(jobs, accasim_dispatcher(scheduler(FirstFit())))) == stock_starts(
        tmp_path, jobs, scheduler(FirstFit())
    )


def test_the_schedulers_differ():
    jobs = workload()
    found = {tuple(simulate(jobs, accasim_dispatcher(make(FirstFit()))).jobs["start"]) for make in SCHEDULERS}
    assert len(found) == 4


@pytest.mark.parametrize(
    ("scheduler", "ours"), [(FirstInFirstOut, "fcfs"), (ShortestJobFirst, "sjf"), (LongestJobFirst, "ljf")]
)
def test_list_schedulers_are_ours(scheduler, ours):
    jobs = workload()
    assert starts(simulate(jobs, accasim_dispatcher(scheduler(FirstFit())))) == starts(simulate(jobs, ours))


@pytest.mark.parametrize("overrun", ["kill", "resubmit"])
def test_jobs_may_come_back(overrun):
    jobs = [Job(id=str(number), submit=number, runtime=90, walltime=40, nodes=1 + number % 3) for number in range(12)]
    jobs = Workload(jobs, Machine.homogeneous(4, core=2))
    result = simulate(jobs, accasim_dispatcher(EASYBackfilling(FirstFit())), overrun=overrun)
    check(jobs, result)
    assert (result.jobs["attempts"].max() > 1) == (overrun == "resubmit")


def test_sees_predictions_and_nodes_of_several_kinds():
    machine = Machine(("core", "gpu"), np.array([[4, 0], [4, 0], [8, 2], [4, 0]]))
    job = Job(id="0", submit=0, runtime=30, walltime=600, nodes=1)
    jobs = [replace(job, id=str(number), per_node={"core": 4, "gpu": number % 2}) for number in range(8)]
    jobs = Workload(jobs, machine)
    result = simulate(jobs, accasim_dispatcher(ShortestJobFirst(FirstFit())), "oracle")
    check(jobs, result)
    assert all(nodes.tolist() == [2] for nodes in result.jobs["placement"][1::2])


def test_an_object_serves_several_simulations_and_machines():
    dispatcher = accasim_dispatcher(EASYBackfilling(FirstFit()))
    wide = workload(60, 16)
    narrow = workload(60, 8)
    first = starts(simulate(wide, dispatcher))
    simulate(narrow, dispatcher)
    assert starts(simulate(wide, dispatcher)) == first
    assert starts(simulate(wide, deepcopy(dispatcher))) == first
    found = compare(wide, [dispatcher, "easy"])
    assert found.table["dispatcher"].tolist() == ["EBF-FF", "easy"]
    assert not found.failures


def test_leaves_logging_and_random_numbers_alone(caplog):
    dispatcher = accasim_dispatcher(FirstInFirstOut(FirstFit()))
    before = random.getstate()
    levels = (logging.getLogger("accasim").handlers[:], hasattr(logging.Logger, "trace"))
    with caplog.at_level(logging.DEBUG, "accasim"):
        simulate(workload(30), dispatcher)
    assert random.getstate() == before
    assert (logging.getLogger("accasim").handlers, hasattr(logging.Logger, "trace")) == levels
    assert not [record for record in caplog.records if record.name == "accasim"]


def scheduler_of(plan):
    class Own(SchedulerBase):
        def __init__(self):
            super().__init__(0)

        def get_id(self):
            return "own"

        def scheduling_method(self, cur_time, es, es_dict):
            return plan(cur_time, es), []

    return accasim_dispatcher(Own())


@pytest.mark.parametrize(
    ("plan", "error", "said"),
    [
        (lambda now, jobs: [(now, jobs[0].id, ["node_9"])], ActionError, r"names of nodes\), .* got \(0, '0', \['n"),
        (lambda now, jobs: [(now, "other", ["node_1"])], ActionError, "id of a waiting job"),
        (lambda now, jobs: [(now + 1, jobs[0].id, ["node_1"])], ActionError, "own at t=0: expected"),
        (lambda now, jobs: [jobs[0].id], ActionError, "own at t=0: expected"),
        (lambda now, jobs: [(now, job.id, ["node_1"]) for job in jobs], ActionError, "job 1"),
        (lambda now, jobs: [(now, jobs[0].id, ["node_1", "node_2"])], ActionError, "job 0"),
        (lambda now, jobs: jobs[0].duration, SimulationError, "schedulers see expected_duration only"),
        (lambda now, jobs: [(None, job.id, []) for job in jobs], SimulationError, "was asked 50 times in a row"),
    ],
)
def test_what_cannot_be_is_an_error(plan, error, said, monkeypatch):
    monkeypatch.setattr(decisions, "_IDLE_SECONDS", 50)
    jobs = [Job(id=str(number), submit=0, runtime=9, walltime=9, nodes=1) for number in range(2)]
    with pytest.raises(error, match=said):
        simulate(Workload(jobs, Machine.homogeneous(2, core=1)), scheduler_of(plan))


def test_wakes_at_the_time_of_a_plan():
    def plan(now, jobs):
        return [(now, job.id, ["node_1"]) if now >= 50 else (50, job.id, []) for job in jobs[:1]]

    jobs = [Job(id="0", submit=3, runtime=9, walltime=9, nodes=1)]
    assert simulate(Workload(jobs, Machine.homogeneous(1, core=1)), scheduler_of(plan)).jobs["start"].tolist() == [50]


def test_a_rejected_job_is_recorded():
    class Refusing(FirstInFirstOut):
        def scheduling_method(self, cur_time, es, es_dict):
            return [job for job in es if job.id != "1"], ["1"] * any(job.id == "1" for job in es)

    jobs = [Job(id=str(number), submit=0, runtime=9, walltime=9, nodes=1) for number in range(3)]
    result = simulate(Workload(jobs, Machine.pool(1)), accasim_dispatcher(Refusing(FirstFit())))
    assert result.jobs["status"].tolist() == ["completed", "rejected", "completed"]
    assert result.jobs["reason"][1] == "rejected by Refusing-FIFO-FirstFit"


@pytest.mark.parametrize("wrong", ["easy", FirstInFirstOut, None])
def test_takes_schedulers_only(wrong):
    with pytest.raises(InputError, match=r"an object of AccaSim's SchedulerBase, such as FirstInFirstOut\(FirstFit"):
        accasim_dispatcher(wrong)
