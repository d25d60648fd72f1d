"""The check of a schedule against constraints: each that is broken is seen, though its own methods say nothing."""

from dataclasses import replace

import pytest

from hpcdispatch.dispatchers import ConstraintProgramming
from hpcdispatch.dispatchers.cp import (
    Closed,
    Deadline,
    Licence,
    Maintenance,
    PowerCap,
    RunningLimit,
    SiteConstraint,
    create_constraints,
)
from hpcdispatch.simulation import InvariantError, check, simulate
from hpcdispatch.testing import tiny
from hpcdispatch.workloads import Job, Machine, Workload

#: Two jobs side by side in [0, 40) and [0, 90) on nodes 0 and 1; the second requested 50 s.
JOBS = (
    Job("1", 0, 40, 60, user="a", queue="x", name="abaqus", per_node={"core": 2}),
    Job("2", 0, 90, 50, user="a", queue="x", name="vasp", per_node={"core": 2}),
)
WORKLOAD = Workload(JOBS, Machine.homogeneous(2, core=2))
BROKEN = [
    ("limit:most=1", "2 of jobs of user a taken at t=0, there are 1"),
    ("limit:most=3/of=core/by=queue", "4 of core of queue x taken at t=0, there are 3"),
    ("limit:most=0/by=all/job=v*", "1 of jobs of all  taken at t=0, there are 0"),
    ("licence:count=1", "2 of licences taken at t=0, there are 1"),
    ("licence:count=1/each=2/job=abaqus", "2 of licences taken at t=0, there are 1"),
    ("power:cap=39.5/watts=core:10", "40 of watts taken at t=0, there are 39.5"),
    ("maintenance:begin=39/end=41/nodes=0", r"job 1 on node 0 in \[0, 40\), closed in \[39, 41\)"),
    ("maintenance:begin=5/end=6/every=40/nodes=1", r"job 2 on node 1 in \[0, 90\), closed in \[5, 6\)"),
    ("deadline:at=39/job=abaqus", "job 1 ends at 40, must have by 39"),
    ("deadline:within=39/job=abaqus", "job 1 ends at 40, must have by 39"),
]
KEPT = [
    "limit:most=2", "limit:most=2/of=core/by=queue/job=v*", "licence:count=1/job=v*", "power:cap=40/watts=core:10",
    "maintenance:begin=40/end=50/nodes=0", "maintenance:begin=50/end=80/nodes=1", "deadline:at=40/job=abaqus",
    "deadline:at=50/job=vasp", "deadline:at=1/kind=soft", "limit:most=0/user=b",
]  # fmt: skip


@pytest.fixture
def result():
    return simulate(WORKLOAD, "fcfs")


@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_what_is_broken_is_named(result, text, message):
    constraints = create_constraints(text)
    with pytest.raises(InvariantError, match=f"constraint {constraints[0].name}: {message}"):
        check(WORKLOAD, result, constraints)


@pytest.mark.parametrize("text", KEPT)
def test_what_is_kept_passes(result, text):
    # The second job runs for 40 s more than it requested: nobody could know.
    check(WORKLOAD, result, create_constraints(text))


def test_a_job_that_is_killed_at_its_request_answers_for_all_of_its_stay(result):
    killed = replace(result, manifest={**result.manifest, "overrun": "kill"})
    with pytest.raises(InvariantError, match=r"job 2 on node 1 in \[0, 90\), closed in \[50, 80\)"):
        check(WORKLOAD, killed, create_constraints("maintenance:begin=50/end=80/nodes=1"))


@pytest.mark.parametrize(
    ("constraint", "method", "nothing"),
    [
        (PowerCap(30, {"core": 10}), "uses", {}),
        (Licence(1), "uses", {}),
        (RunningLimit(1), "uses", {}),
        (Maintenance(30, 45), "closed", ()),
        (Deadline(within=39, job="abaqus"), "latest_end", None),
    ],
)
def test_a_constraint_that_says_nothing_is_found_out(monkeypatch, constraint, method, nothing):
    # The dispatcher goes by what the constraint says; the check does not.
    good = simulate(WORKLOAD, ConstraintProgramming(constraints=constraint), overrun="kill")
    check(WORKLOAD, good)
    monkeypatch.setattr(type(constraint), method, lambda self, *_: nothing)
    bad = simulate(WORKLOAD, ConstraintProgramming(constraints=constraint), overrun="kill")
    with pytest.raises(InvariantError, match=f"constraint {constraint.name}: "):
        check(WORKLOAD, bad)


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (
            {"uses": lambda self, job: {"x": job.nodes}, "most": lambda self, what: 1},
            "2 of x taken at t=0, there are 1",
        ),
        ({"closed": lambda self, begin, end: [Closed((0,), 10, 20)]}, r"job 1 in \[0, 40\) on nodes that are closed"),
        ({"earliest": lambda self, job, now: max(now, 7)}, "job 1 starts at 0, may from 7 on"),
        ({"latest_end": lambda self, job: 30}, "job 1 ends at 40, must have by 30"),
    ],
)
def test_any_other_is_checked_by_what_it_says(result, methods, message):
    constraint = type("Own", (SiteConstraint,), methods)()
    with pytest.raises(InvariantError, match=f"constraint Own: {message}"):
        check(WORKLOAD, result, [constraint])


def test_a_result_has_the_constraints_of_its_dispatcher():
    result = simulate(tiny(), "hcp3:constraints=limit:most=1/by=all")
    assert [type(part) for part in result.constraints] == [RunningLimit]
    free = simulate(tiny(), "hcp3")
    assert free.constraints == ()
    with pytest.raises(InvariantError, match="constraint limit"):
        check(tiny(), replace(free, constraints=result.constraints))


def test_one_that_cannot_be_asked_is_named(result):
    def lost(*_):
        raise KeyError("rack")

    with pytest.raises(InvariantError, match="constraint mine: cannot be checked: KeyError: 'rack'"):
        check(WORKLOAD, result, [type("Mine", (SiteConstraint,), {"name": "mine", "latest_end": lost})()])
