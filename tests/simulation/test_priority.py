"""Jobs that enter the queue at one instant are in order of priority, submission and trace, for any dispatcher."""

from dataclasses import replace

import pytest

from hpcdispatch.dispatchers import registry
from hpcdispatch.dispatchers.backfilling import counted
from hpcdispatch.simulation import check, simulate
from hpcdispatch.testing import assert_same_records
from hpcdispatch.workloads import Job, Machine, Workload, generate
from hpcdispatch.workloads.job import MOST_PRIORITY

MACHINES = {"pool": Machine.pool(4), "nodes": Machine.homogeneous(4, core=1)}
#: Priorities of jobs that take the whole machine, and their order of starts.
PRIORITIES = (0, 5, -3, 5, MOST_PRIORITY, -MOST_PRIORITY, 0)
ORDER = [4, 1, 3, 0, 6, 2, 5]


def whole_machine_jobs(**others):
    return [
        Job(str(place), submit=0, runtime=60, walltime=60, nodes=4, priority=priority, **others)
        for place, priority in enumerate(PRIORITIES)
    ]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dispatcher", registry.names())
def test_equal_jobs_start_by_priority(dispatcher, machine):
    workload = Workload(whole_machine_jobs(), MACHINES[machine])
    result = simulate(workload, dispatcher)
    check(workload, result)
    assert result.jobs["start"].argsort().tolist() == ORDER
    assert result.jobs["end"].max() == 60 * len(ORDER)


@pytest.mark.parametrize("dispatcher", ["fcfs", "easy", "conservative", "rounds", "rbs", "lookahead", "slurm"])
def test_jobs_that_one_end_lets_in_start_by_priority(dispatcher):
    jobs = [
        Job("first", submit=0, runtime=100, walltime=100),
        *(replace(job, submit=place) for place, job in enumerate(whole_machine_jobs(depends=(("first", "afterok"),)))),
    ]
    workload = Workload(sorted(jobs, key=lambda job: job.submit), MACHINES["pool"])
    result = simulate(workload, dispatcher)
    check(workload, result)
    starts = result.jobs.set_index("id")["start"].drop("first")
    assert starts.sort_values(kind="stable").index.tolist() == [str(place) for place in ORDER]


@pytest.mark.parametrize("dispatcher", ["easy", "easy-sjbf", "sjf"])
def test_long_queues_have_the_order_of_short_ones(dispatcher, monkeypatch):
    workload = generate("lublin", jobs=700, processors=64, load=6.0, seed=2)
    jobs = [
        replace(job, submit=job.submit // 3600 * 3600, priority=place % 3) for place, job in enumerate(workload.jobs)
    ]
    workload = workload.with_jobs(jobs)
    monkeypatch.setattr(counted, "LONG", 50)
    result = simulate(workload, dispatcher)
    assert result.decisions["queued"].max() > 2 * counted.LONG
    monkeypatch.setattr(counted, "LONG", len(jobs))
    assert_same_records(result, simulate(workload, dispatcher))
    plain = simulate(workload.with_jobs([replace(job, priority=0) for job in jobs]), dispatcher)
    assert (plain.jobs["start"] != result.jobs["start"]).any()


@pytest.mark.parametrize("priority", [1.5, "3", True, None, MOST_PRIORITY + 1])
def test_a_priority_is_a_whole_number(priority):
    with pytest.raises(ValueError, match="job 1: priority must be a whole number >= -4294967295"):
        Job("1", 0, 1, 1, priority=priority)
