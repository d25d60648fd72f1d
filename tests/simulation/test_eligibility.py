"""Begin times, holds, dependencies and limits of arrays hold under every dispatcher."""

from dataclasses import replace

import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from random_workloads import workloads

from hpcdispatch.base import InputError
from hpcdispatch.simulation import InvariantError, check, simulate, state_at
from hpcdispatch.workloads import Job, Machine, Workload

POOL = Machine.pool(4)
EACH = ["fcfs", "easy", "conservative", "lookahead", "hcp3", "rounds", "rbs", "slurm"]


def run(jobs, dispatcher="easy", machine=POOL, **given):
    workload = Workload(jobs, machine)
    result = simulate(workload, dispatcher, **given)
    check(workload, result)
    return {row.id: row for row in result.jobs.itertuples(index=False)}


def job(id_, submit=0, runtime=10, walltime=None, depends=(), **fields):
    return Job(id_, submit, runtime, runtime if walltime is None else walltime, depends=depends, **fields)


@pytest.mark.parametrize(
    ("condition", "runtime", "starts"),
    [
        # The other job starts at 0. It runs 50 s and is killed at its walltime of 20 s.
        ("after", 10, 0),
        ("after", 50, 0),
        ("afterok", 10, 10),
        ("afterok", 50, None),
        ("afternotok", 10, None),
        ("afternotok", 50, 20),
        ("afterany", 10, 10),
        ("afterany", 50, 20),
    ],
)
@pytest.mark.parametrize("delay", [0, 30])
def test_a_condition_is_met_when_the_other_job_is_so_far(condition, runtime, starts, delay):
    found = run([job("a", 0, runtime, 20), job("b", 0, depends=(("a", condition, delay),))], overrun="kill")["b"]
    if starts is None:
        status = "completed" if runtime == 10 else "killed"
        assert (found.status, found.start) == ("rejected", -1)
        assert found.reason == f"its dependency {condition}:a can never be met: job a is {status}"
    else:
        assert (found.start, found.eligible, found.wait) == (starts + delay, starts + delay, 0)


def test_waits_and_slowdowns_count_from_when_a_job_became_eligible():
    jobs = [job("a", 0, 100, nodes=4), job("b", 0, 100, depends=(("a", "afterok"),), nodes=4)]
    result = simulate(Workload(jobs, POOL), "easy")
    assert result.jobs["wait"].tolist() == [0, 0]
    assert result.summary()["slowdown_mean"] == 1


def test_a_job_that_became_eligible_queues_behind_those_that_came_before():
    jobs = [job("a", 0, 10, nodes=4), job("b", 1, depends=(("a", "after", 5),), nodes=4), job("c", 2, nodes=4)]
    found = run(jobs, "fcfs")
    assert [found[name].start for name in "acb"] == [0, 10, 20]


def test_a_chain_is_rejected_as_a_whole():
    jobs = [
        job("a", 0, 50, 20),
        job("b", depends=(("a", "afterok"),)),
        job("c", depends=(("b", "afterok"),)),
        job("d", depends=(("c", "afterany"),)),
    ]
    found = run(jobs, overrun="kill")
    assert [found[name].status for name in "abcd"] == ["killed", "rejected", "rejected", "completed"]
    assert found["d"].start == 20


@pytest.mark.parametrize(
    "lost", [{"nodes": 9}, {"depends": (("a", "afternotok"), ("", "singleton"))}, {"depends": (("", "singleton"),)}]
)
def test_a_singleton_waits_for_all_earlier_jobs_of_its_name(lost):
    # Job c leaves without a start at 10, at its submission, or waits itself.
    fields = {"user": "u", "name": "n"}
    single = (("", "singleton", 5),)
    jobs = [
        job("a", 0, 10, **fields),
        job("b", 0, 50, **fields),
        job("c", 1, 10, **{**fields, **lost}),
        job("d", 2, 10, depends=single, **fields),
        job("e", 3, 10, depends=single, **fields),
    ]
    if "nodes" in lost:
        jobs[2] = replace(jobs[2], depends=(("", "singleton"),))
    starts = [run(jobs, dispatcher)[name].start for dispatcher in ("fcfs", "easy") for name in "cde"]
    expected = [-1, 55, 70] if lost != {"depends": (("", "singleton"),)} else [50, 65, 80]
    assert starts == 2 * expected
    workload = Workload(jobs, POOL)
    for at in (5, 30):
        left, state = state_at(workload, "easy", at=at)
        rest = simulate(left, "easy", state=state).jobs.set_index("id")
        assert rest["start"][["d", "e"]].tolist() == expected[1:]


def test_a_held_job_never_starts_and_no_job_that_waits_for_it():
    found = run([job("a", hold=True), job("b", 1, depends=(("a", "afterany"),)), job("c", 1)])
    assert [found[name].status for name in "abc"] == ["rejected", "rejected", "completed"]
    assert found["a"].reason == "it is held and never released"
    assert found["b"].reason == "its dependency afterany:a can never be met: job a is held"


@pytest.mark.parametrize("dispatcher", EACH)
def test_a_job_that_cannot_run_ends_for_those_that_wait_for_it(dispatcher):
    jobs = [job("a", nodes=9), job("b", depends=(("a", "afterany"),)), job("c", depends=(("a", "afterok"),))]
    found = run(jobs, dispatcher)
    assert [found[name].status for name in "abc"] == ["rejected", "completed", "rejected"]


@pytest.mark.parametrize("dispatcher", EACH)
def test_no_job_starts_before_its_begin_time(dispatcher):
    found = run([job("a", begin=600), job("b", 5)], dispatcher)
    assert found["a"].start >= 600 == found["a"].eligible
    assert found["b"].start < 600


@pytest.mark.parametrize("array", ["7%0", "7%", "%2", "7%x", "7%1%2", "7%-1"])
def test_a_limit_of_an_array_that_is_none_is_refused(array):
    with pytest.raises(ValueError, match="job a: array: expected a name, or name%N with N >= 1 tasks"):
        Job("a", 0, 1, 1, 1, {"core": 1}, array=array)


@pytest.mark.parametrize("dispatcher", EACH)
@pytest.mark.parametrize("most", [1, 2])
def test_tasks_of_an_array_run_so_many_at_a_time(dispatcher, most):
    found = run([job(f"7_{task}", 0, 100, array=f"7%{most}") for task in range(4)], dispatcher)
    starts = sorted(row.start for row in found.values())
    ends = sorted(row.end for row in found.values())
    assert all(begin >= end for begin, end in zip(starts[most:], ends, strict=False))
    assert {row.eligible for row in found.values()} == {0}


def test_two_limits_of_an_array_are_refused():
    with pytest.raises(InputError, match=r"array '7': expected the same limit of running tasks .* got 1 and 2"):
        Workload([job("7_0", array="7%1"), job("7_1", array="7"), job("7_2", array="7%2")], POOL)


def test_too_many_running_tasks_are_found():
    jobs = [job(f"7_{task}", 0, 100, array="7%2") for task in range(3)]
    result = simulate(Workload([replace(each, array="7") for each in jobs], POOL), "easy")
    with pytest.raises(InvariantError, match="array: 3 of tasks of array 7 taken at t=0, there are 2"):
        check(Workload(jobs, POOL), result)


@pytest.mark.parametrize("dispatcher", EACH)
@pytest.mark.parametrize("kind", ["after", "afterany", "afterok"])
def test_a_task_may_depend_on_another_of_its_array(dispatcher, kind):
    # It may enter the queue while the other still takes the one place of the array.
    jobs = [
        job("7_0", 0, 100, array="7%1"),
        job("7_1", 0, 100, array="7%1", depends=(("7_0", kind, 4),)),
        job("7_2", 50, 100, array="7%1", depends=(("7_0", "after"), ("7_1", kind))),
        job("8", 50, 30, depends=(("7_1", "after"),)),
    ]
    found = run(jobs, dispatcher)
    assert sorted(found[name].start // 100 for name in ("7_0", "7_1", "7_2")) == [0, 1, 2]
    assert found["7_1"].eligible == (4 if kind == "after" else 104)


@pytest.mark.parametrize("same_instant", ["batch", "sequence"])
@pytest.mark.parametrize("dispatcher", EACH)
def test_workflows_hold_under_every_dispatcher(dispatcher, same_instant):
    jobs = [job(str(number), 5 * number, 30 + number, nodes=1 + number % 3) for number in range(12)]
    kinds = ("afterok", "afterany", "after")
    jobs = [
        each if number < 2 else replace(each, depends=((str(number // 2), kinds[number % 3], number % 2 * 40),))
        for number, each in enumerate(jobs)
    ]
    found = run(jobs, dispatcher, same_instant=same_instant)
    assert {row.status for row in found.values()} == {"completed"}


@settings(max_examples=number_of_inputs(25), deadline=None)
@given(workloads().filter(len), st.randoms(use_true_random=False), st.sampled_from(["run", "kill", "resubmit"]))
def test_drawn_dependencies_hold(workload, rng, overrun):
    jobs = list(workload.jobs)
    for place in range(1, len(jobs)):
        if rng.random() < 0.5:
            other = jobs[rng.randrange(place)].id
            kind = rng.choice(["after", "afterok", "afternotok", "afterany"])
            jobs[place] = replace(jobs[place], depends=((other, kind, rng.choice([0, 7])),), begin=rng.choice([0, 50]))
    made = Workload(jobs, workload.machine)
    for dispatcher in ("easy", "conservative"):
        check(made, simulate(made, dispatcher, overrun=overrun))


def test_a_simulation_goes_on_from_a_state_with_what_jobs_still_wait_for():
    jobs = [
        job("a", 0, 100),
        job("b", 0, 200),
        job("c", 0, depends=(("a", "afterok", 50), ("b", "after", 10))),
        job("d", 0, depends=(("b", "afterany"),)),
        job("e", 0, begin=700),
        job("f", 0, 5, depends=(("c", "after"),)),
    ]
    workload = Workload(jobs, POOL)
    whole = simulate(workload, "easy").jobs.set_index("id")
    for at in (50, 120, 160, 205):
        left, state = state_at(workload, "easy", at=at)
        rest = simulate(left, "easy", state=state).jobs.set_index("id")
        assert rest["start"].to_dict() == whole.loc[rest.index, "start"].to_dict()


@pytest.mark.parametrize("change", [{"start": 5}, {"eligible": 5}])
def test_a_start_before_a_dependency_is_met_is_found(change):
    workload = Workload([job("a", 0, 100), job("b", 0, depends=(("a", "afterok"),))], POOL)
    result = simulate(workload, "easy")
    for name, value in change.items():
        result.jobs.loc[1, name] = value
    with pytest.raises(InvariantError):
        check(workload, result)
