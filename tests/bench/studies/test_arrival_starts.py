"""What a job is told when it comes: nobody starts later than that."""

from dataclasses import replace

import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.base import InputError
from hpcdispatch.bench.studies.arrival_starts import arrival_starts
from hpcdispatch.bench.studies.branching import Branch, branches
from hpcdispatch.workloads import Job, Machine, Workload

NUMBERS = st.tuples(st.integers(0, 30), st.integers(1, 20), st.integers(-5, 20), st.integers(1, 8))


@settings(max_examples=number_of_inputs(10))
@given(
    st.lists(NUMBERS, min_size=1, max_size=12), st.sets(st.tuples(st.integers(1, 8), st.integers(1, 20)), min_size=1)
)
def test_no_job_starts_later_than_told_and_a_job_told_now_starts_now(numbers, requests):
    jobs = [
        Job(str(place), submit, runtime, max(1, runtime + more), per_node={"core": cores})
        for place, (submit, runtime, more, cores) in enumerate(sorted(numbers))
    ]
    workload = Workload(jobs, Machine.pool(8))
    told = arrival_starts(workload, {place: sorted(requests) for place in range(len(jobs))})
    asked = [
        (place, request, replace(job, per_node={"core": request[0]}, runtime=request[1], walltime=request[1]))
        for place, job in enumerate(jobs)
        for request in sorted(requests)
    ]
    ends = branches(workload, "conservative", "walltime", [Branch(job) for *_, job in asked], overrun="kill")
    for (place, request, job), end in zip(asked, ends, strict=True):
        start = told[place].starts[request]
        assert end.start <= start
        assert (end.start == job.submit) or start > job.submit


JOBS = Workload(
    [Job("a", 0, 10, 10, per_node={"core": 3}), Job("b", 5, 9, 9), Job("c", 5, 9, 9), Job("d", 5, 9, 9, 9)],
    Machine.pool(4),
)


def test_a_later_job_of_the_same_second_is_not_there_yet():
    told = arrival_starts(JOBS, {1: [(1, 9), (2, 9)], 2: [(1, 9)]})
    assert [told[place].present for place in (1, 2)] == [1, 2]
    assert told[1].starts == {(1, 9): 5, (2, 9): 10}
    assert told[2].starts == {(1, 9): 10}


def test_a_request_that_never_fits_has_no_start():
    assert arrival_starts(JOBS, {0: [(5, 1)]})[0].starts == {(5, 1): None}


@pytest.mark.parametrize("place", [3, 4])
def test_a_job_that_never_comes_is_named(place):
    with pytest.raises(InputError, match=f"asked: expected places of jobs that can run, 0 to 3, got {place}"):
        arrival_starts(JOBS, {place: [(1, 1)]})


def test_a_machine_of_nodes_is_refused():
    with pytest.raises(InputError, match="expected a pool of one resource, got 2 nodes"):
        arrival_starts(Workload([Job("a", 0, 1, 1)], Machine.homogeneous(2, core=4)), {0: [(1, 1)]})
