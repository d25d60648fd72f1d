"""A past under another dispatcher."""

import pytest

from hpcdispatch.dispatchers import WarmStart
from hpcdispatch.simulation import check, simulate
from hpcdispatch.testing import assert_same_records
from hpcdispatch.workloads import generate

WORKLOAD = generate("lublin:jobs=60,processors=16,load=1.3", seed=4)


def run(spec):
    result = simulate(WORKLOAD, spec)
    check(WORKLOAD, result)
    return result


def test_none_and_all_of_the_jobs_are_the_two_by_themselves():
    assert_same_records(run("warm-start:jobs=0,first=fcfs,over=sjf"), run("sjf"))
    assert_same_records(run("warm-start:jobs=60,first=fcfs,over=sjf"), run("fcfs"))


def test_the_second_takes_over_with_the_first_job_behind_the_past():
    both = run("warm-start:jobs=30,first=fcfs,over=hcp3:m=50/k=1")
    since = WORKLOAD.jobs[30].submit
    before = both.decisions["time"] < since
    assert both.decisions.loc[before, "candidates"].isna().all()
    assert both.decisions.loc[~before, "candidates"].notna().all()
    past = both.jobs["start"] < since
    assert past.any()
    assert (both.jobs["start"][past] == run("fcfs").jobs["start"][past]).all()


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="jobs must be a whole number >= 0, got -1"):
        WarmStart(jobs=-1)
