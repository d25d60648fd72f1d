"""The event loop: dependencies, eligibility, capacity over time, and continuation."""

import numba
import numpy as np
import pytest

from hpcdispatch.models.backfilling.easy import SUBMISSION
from hpcdispatch.models.backfilling.job_queue import NEVER
from hpcdispatch.models.events import open_events, run_easy, run_in_order
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import generate


def opened(jobs, capacity, **options):
    """Return a simulation of (submit, run time, cores) on a pool."""
    submit, work, cores = np.array(jobs, dtype=np.int64).T.copy()
    return open_events(submit, work, work, work, cores[:, None], np.array([capacity]), **options)


def run(events, until=NEVER, most=1000, run_one=run_in_order, options=(SUBMISSION, False, False)):
    """Run until a time. Return the starts by job, and the jobs by end."""
    decisions = np.empty((most, 4), dtype=np.int64)
    ended = np.empty(1000, dtype=np.int64)
    order = []
    while True:
        rows, gone = run_one(events, until, decisions, ended, *options)
        order += ended[:gone].tolist()
        if not rows and not gone:
            break
    count = int(events.queue.counts.rows[0])
    starts = dict(zip(events.queue.jobs.order[:count].tolist(), events.queue.start[:count].tolist(), strict=True))
    return starts, order


def test_read_only_amounts_are_no_type_of_their_own():
    """Guards against a second compilation of the whole loop."""
    times, amount = np.zeros(3, dtype=np.int64), np.ones((3, 1), dtype=np.int64)
    types = set()
    for writeable in (True, False):
        amount.flags.writeable = writeable
        types.add(numba.typeof(open_events(times, times, times, times, amount, np.array([4]))))
    assert len(types) == 1


def test_successors_wait_for_all_their_predecessors():
    # Job 2 waits for 0 and 1, job 3 for 2. Job 4 waits for none.
    links = np.array([0, 1, 2, 3, 3, 3]), np.array([2, 2, 3])
    events = opened([(0, 10, 1), (0, 25, 1), (0, 5, 1), (0, 5, 1), (1, 2, 1)], 8, successors=links)
    starts, order = run(events)
    assert starts == {0: 0, 1: 0, 2: 25, 3: 30, 4: 1}
    assert order == [4, 0, 1, 2, 3]


def test_a_successor_queues_behind_jobs_that_came_before_it_was_free():
    links = np.array([0, 1, 1, 1]), np.array([1])
    events = opened([(0, 10, 4), (1, 5, 4), (2, 5, 4)], 4, successors=links)
    assert run(events)[0] == {0: 0, 2: 10, 1: 15}


def test_a_job_enters_when_it_is_eligible():
    events = opened([(0, 10, 4), (0, 10, 4)], 8, eligible=np.array([0, 50]))
    assert run(events)[0] == {0: 0, 1: 50}


def test_nothing_runs_into_a_closed_time():
    # Closed in [15, 40). The second would end at 20. The third ends at 15.
    events = opened([(0, 10, 4), (1, 10, 4), (2, 5, 2)], 4, closed=np.array([[15, 40], [90, 99]]))
    assert run(events, run_one=run_easy, options=(False, False, False))[0] == {0: 0, 2: 10, 1: 40}


@pytest.mark.parametrize("most", [1, 1000])
@pytest.mark.parametrize("step", [5000, NEVER])
def test_goes_on_from_where_it_stopped(most, step):
    workload = generate("lublin", jobs=300, processors=32, load=1.0, seed=2)
    expected = simulate(workload, "easy").jobs["start"].tolist()
    columns = workload.columns
    times = columns.submit, columns.runtime, columns.walltime, columns.walltime
    events = open_events(*times, columns.amounts("core")[:, None], workload.machine.capacity[0])
    until = 0
    while until < 10**7:
        until = min(until, NEVER - step) + step
        run(events, until, most, run_easy, (False, False, False))
    assert events.queue.start.tolist() == expected
