"""What held the machine while a job waited."""

import pytest
from click.testing import CliRunner

from hpcdispatch.base import InputError
from hpcdispatch.bench.studies.benchmarks.longest_wait import held_back, longest_waiter, main
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import Job, Machine, Workload

# Of 4 cores 3 are held until 10. Then the second runs until 30, beside it from 2 on one that came after the wide one.
ROWS = [(0, 10, 3), (1, 20, 3), (2, 40, 4), (2, 15, 1)]


@pytest.fixture
def done():
    jobs = [Job(str(i), submit, run, run, nodes=cores) for i, (submit, run, cores) in enumerate(ROWS, 1)]
    workload = Workload(tuple(jobs), Machine.pool(4))
    return workload, simulate(workload, "easy")


def test_the_wait_is_shared_out_among_those_that_ran_came_before_and_overtook(done):
    workload, result = done
    assert longest_waiter(result) == "3"
    found = held_back(result, workload.machine, "3")
    assert (found.wait, found.units, found.overtakers, found.last) == (28, 4, 1, "2")
    assert found.running == pytest.approx(3 * 8 / (4 * 28))
    assert found.older == pytest.approx(3 * 20 / (4 * 28))
    assert found.overtaking == pytest.approx(15 / (4 * 28))
    assert found.idle == pytest.approx(1 - (24 + 60 + 15) / (4 * 28))
    assert found.room == 0


def test_room_that_a_job_was_not_given_is_counted():
    # It fits beside the first from 1 on, but the job that is first in the queue goes first.
    rows = [(0, 10, 3), (1, 20, 4), (2, 40, 1)]
    jobs = [Job(str(i), submit, run, run, nodes=cores) for i, (submit, run, cores) in enumerate(rows, 1)]
    workload = Workload(tuple(jobs), Machine.pool(4))
    found = held_back(simulate(workload, "fcfs"), workload.machine, "3")
    assert (found.wait, found.room, found.last) == (28, 8, "2")


def test_jobs_that_did_not_start_are_refused(done):
    workload, result = done
    with pytest.raises(InputError, match="job 9: expected one that has started"):
        held_back(result, workload.machine, "9")


def test_the_command_prints_a_row_a_dispatcher():
    given = ["lublin:jobs=60,processors=16", "--dispatcher", "easy", "--dispatcher", "sjf", "--markdown"]
    printed = CliRunner().invoke(main, given)
    assert printed.exit_code == 0, printed.output
    assert [line.split(" |")[0] for line in printed.output.splitlines() if line.startswith("| `")] == [
        "| `easy`",
        "| `sjf`",
    ]
    assert CliRunner().invoke(main, ["nowhere.swf"]).exit_code == 1
