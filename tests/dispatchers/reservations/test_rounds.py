"""Round-based greedy scheduling on examples worked out by hand."""

import pytest

from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Workload


def run(rows, machine=None, **options):
    """Simulate rows of (submit, runtime, walltime, cores) on four cores; return the starts."""
    jobs = [
        Job(str(i), submit, runtime, walltime, nodes=cores)
        for i, (submit, runtime, walltime, cores) in enumerate(rows, 1)
    ]
    workload = Workload(tuple(jobs), machine or Machine.pool(4))
    result = simulate(workload, "rounds", **options)
    check(workload, result)
    return result.jobs["start"].tolist()


@pytest.fixture(params=["pool", "nodes"])
def machine(request):
    return Machine.pool(4) if request.param == "pool" else Machine.homogeneous(4, core=1)


def test_the_largest_area_first(machine):
    # Areas 40, 120, 50, 60: 2 at 0, 4 at 30, 3 does not fit beside it and follows at 50, 1 at 75.
    assert run([(0, 10, 10, 4), (0, 30, 30, 4), (0, 25, 25, 2), (0, 20, 20, 3)], machine) == [75, 0, 50, 30]


def test_reservations_stand_when_a_job_ends_early(machine):
    assert run([(0, 5, 100, 4), (0, 50, 96, 4)], machine) == [0, 100]


def test_a_job_of_the_round_moves_into_a_gap_only_as_a_whole(machine):
    # After 5 there is a gap of 95 s: 3 (80) fits, 2 (96) does not; what 3 leaves behind stays empty.
    assert run([(0, 5, 100, 4), (0, 50, 96, 4), (0, 80, 80, 4)], machine) == [0, 100, 5]


def test_later_jobs_fill_gaps_or_wait_for_the_next_round(machine):
    rows = [(0, 5, 100, 4), (0, 50, 96, 4), (1, 60, 95, 4), (1, 60, 96, 4), (1, 20, 37, 4), (1, 9, 35, 4)]
    # 3 fits the gap from 5 to 100, and 6 what it leaves of it from 65 on. The round is over when 2 has ended, at 150;
    # then 4 and 5, by area.
    assert run(rows, machine) == [0, 100, 5, 150, 246, 65]


def test_a_later_job_must_end_within_the_round(machine):
    # Beside 1 there is room for ever, but the round ends at 100.
    assert run([(0, 100, 100, 1), (10, 20, 91, 1), (10, 20, 90, 1)], machine) == [0, 100, 10]


def test_the_next_round_waits_for_all_of_this_one(machine):
    assert run([(0, 10, 10, 1), (0, 50, 50, 1), (5, 40, 60, 4)], machine) == [0, 0, 50]


def test_a_job_that_overruns_delays_the_others(machine):
    assert run([(0, 150, 100, 4), (0, 50, 90, 4)], machine) == [0, 150]
    assert run([(0, 150, 100, 4), (0, 50, 90, 4)], machine, overrun="kill") == [0, 100]
