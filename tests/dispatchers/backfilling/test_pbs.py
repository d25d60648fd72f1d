"""PBS: queues by priority, first come first served within each. EASY behind the first waiting job."""

import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from random_workloads import workloads

from hpcdispatch.dispatchers import PBS
from hpcdispatch.simulation import check, simulate
from hpcdispatch.testing import assert_same_records
from hpcdispatch.workloads import Job, Machine, Workload

POOL = Machine.pool(4)


def jobs(*rows):
    return Workload(
        tuple(
            Job(str(place), submit, run, run, 1, {"core": cores}, queue=queue)
            for place, (submit, run, cores, queue) in enumerate(rows)
        ),
        POOL,
    )


def starts(workload, spec):
    return simulate(workload, spec).jobs["start"].tolist()


@settings(max_examples=number_of_inputs(25))
@given(workloads())
def test_one_queue_is_easy(workload):
    easy = simulate(workload, "easy")
    for spec in ("pbs", "pbs:queues=none;such"):
        found = simulate(workload, spec)
        check(workload, found)
        assert_same_records(easy, found)


def test_the_first_queue_goes_first_and_is_served_in_order():
    waiting = jobs((0, 10, 4, "b"), (1, 10, 4, "b"), (2, 10, 4, "a"), (3, 10, 4, "a"), (4, 10, 4, "c"))
    assert starts(waiting, "pbs:queues=a;b") == [0, 30, 10, 20, 40]
    assert starts(waiting, "pbs") == [0, 10, 20, 30, 40]


def test_backfilling_delays_no_first_job_of_the_first_queue():
    waiting = jobs((0, 10, 3, "b"), (1, 20, 1, "b"), (1, 5, 1, "b"), (2, 10, 4, "a"))
    # Job 2 fits until the job of queue a may start. Job 1 does not. At 1 no job of queue a waits yet.
    assert starts(waiting, "pbs:queues=a") == [0, 1, 10, 21]
    later = jobs((0, 10, 3, "b"), (2, 10, 4, "a"), (2, 20, 1, "b"), (2, 5, 1, "b"))
    assert starts(later, "pbs:queues=a") == [0, 10, 20, 2]


def test_a_queue_is_named_once():
    with pytest.raises(ValueError, match="queues must name each queue once, got 'a' 2 times"):
        PBS(queues="a;b;a")
