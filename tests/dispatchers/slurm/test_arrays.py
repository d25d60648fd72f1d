"""Tasks of job arrays: the limit on running tasks, and the reservations."""

import numpy as np
import pytest

from hpcdispatch.dispatchers import Slurm
from hpcdispatch.models.slurm.backfill import BackfillRules, backfill_pass
from hpcdispatch.models.slurm.jobs import Cluster, SlurmQueue, SlurmRun, job_table
from hpcdispatch.models.slurm.limits import ARRAY_TASKS, no_limits
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, MachineState, RunningSince, Workload, read, write


def array_jobs(*arrays):
    """Return one job of one core and one minute per given array. The text ``""`` is no array."""
    return [Job(str(place), 0, 60, 60, per_node={"core": 1}, array=array) for place, array in enumerate(arrays)]


def starts(jobs, state=None, cores=8, **options):
    workload = Workload(tuple(jobs), Machine.homogeneous(1, core=cores))
    given = {"batch_sched_delay": 0, "bf_interval": 1, "bf_resolution": 1} | options
    result = simulate(workload, Slurm(**given), state=state)
    check(workload, result)
    return result.jobs["start"].tolist()


def test_no_more_tasks_run_at_a_time_than_their_array_allows():
    assert starts(array_jobs("7%2", "7%2", "7%2", "7%2", "7%2", "8%1", "")) == [0, 0, 60, 60, 120, 0, 0]


@pytest.mark.parametrize("array", ["7", ""])
def test_without_a_limit_all_run(array):
    assert starts(array_jobs(*[array] * 3)) == [0, 0, 0]


def test_tasks_that_run_at_the_beginning_count():
    state = MachineState(10, (RunningSince("0", 0), RunningSince("1", 5)))
    assert starts(array_jobs("7%2", "7%2", "7%2"), state)[2] == 60


def test_tasks_that_are_held_back_hold_up_no_job_behind():
    wide = Job("wide", 1, 60, 60, 7, {"core": 1})
    assert starts([*array_jobs("7%1", "7%1"), wide], bf_interval=600)[2] == 1


def test_an_array_counts_as_one_job_where_few_are_looked_at():
    jobs = array_jobs("7%1", "7%1", "7%1", "", "")
    # One job more than the depth is tried. The others are tried when a job ends.
    found = starts(jobs, default_queue_depth=1, bf_interval=600, sched_interval=600)
    assert found == [0, 60, 120, 0, 60]


def planned(tasks, jobs=4, window=3600):
    """Return the planned starts of array tasks on a node that is busy until 1100. Also return what is left of it."""
    cores = np.ones((jobs, 1), int)
    slots = np.ones(jobs, int)
    limit = np.full(jobs, 60)
    tried = SlurmQueue(0 * slots, slots, slots > 0, cores, limit, 0 * cores, 0 * cores, np.arange(1, jobs + 1))
    table = job_table([SlurmRun(1100, np.array([0]), np.array([1]), (1,))], tried, 1)
    caps = no_limits(jobs)._replace(array=np.zeros(jobs, int), tasks=np.array([tasks], ARRAY_TASKS))
    backfill_pass(
        tried,
        Cluster(np.zeros((1, 1), int), np.ones((1, 1), bool), 0, np.ones(1, int)),
        table,
        1000,
        BackfillRules(window, 1, 100, 2),
        caps,
    )
    return table.start[1:].tolist()


def test_nodes_are_reserved_for_so_many_tasks_of_an_array():
    # Slurm reserves for more tasks than may run at a time, if any may.
    assert planned((1, 3)) == [1100, 1160, 1220, -1]
    assert planned((0, 3)) == [-1] * 4


def test_tasks_that_are_not_tried_leave_their_turn_to_others():
    waits = [Job(str(place), 1, 60, 60, per_node={"core": 8}, array="7") for place in range(3)]
    jobs = [Job("long", 0, 600, 600, 1, {"core": 7}), *waits, Job("last", 1, 60, 60, per_node={"core": 1})]
    given = {"bf_max_job_test": 2, "bf_interval": 5}
    assert starts(jobs, bf_max_job_array_resv=1, **given)[4] == 5
    assert starts(jobs, bf_max_job_array_resv=2, **given)[4] >= 600


def test_the_array_is_kept_in_a_file(tmp_path):
    workload = Workload(tuple(array_jobs("7%2", "")), Machine.homogeneous(1, core=8))
    write(workload, tmp_path / "a.jsonl")
    assert [job.array for job in read(tmp_path / "a.jsonl").jobs] == ["7%2", ""]
