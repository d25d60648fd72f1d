"""The check of a schedule against constraints. It finds each broken one, even if its own methods are silent."""

from dataclasses import replace

import pytest

from hpcdispatch.dispatchers import ConstraintProgramming
from hpcdispatch.dispatchers.amount_rules import LicencesLeft, PowerCap, RunningLimit
from hpcdispatch.dispatchers.cp import (
    Closed,
    Deadline,
    SiteConstraint,
    create_constraints,
)
from hpcdispatch.simulation import InvariantError, check, simulate
from hpcdispatch.testing import tiny
from hpcdispatch.workloads import Job, Limit, Machine, Outage, Power, Reservation, Workload

#: Two jobs run side by side in [0, 40) and [0, 90) on nodes 0 and 1. The second requested 50 s.
JOBS = (
    Job("1", 0, 40, 60, user="a", queue="x", name="abaqus", per_node={"core": 2}, licences={"mpi": 1}),
    Job("2", 0, 90, 50, user="a", queue="x", name="vasp", per_node={"core": 2}, licences={"mpi": 1}),
)
WORKLOAD = Workload(JOBS, replace(Machine.homogeneous(2, core=2), licences={"mpi": 2}))
BROKEN = [
    ("deadline:at=39/job=abaqus", "job 1 ends at 40, must have by 39"),
    ("deadline:within=39/job=abaqus", "job 1 ends at 40, must have by 39"),
]
KEPT = ["deadline:at=40/job=abaqus", "deadline:at=50/job=vasp", "deadline:at=1/kind=soft"]
#: Rules of the machine that the schedule breaks, and others that it keeps.
BROKEN_RULES = [
    ({"limits": [Limit(1)]}, "limit: 2 of jobs of user a taken at t=0, there are 1"),
    ({"limits": [Limit(3, of="core", by="queue")]}, "limit: 4 of core of queue x taken at t=0, there are 3"),
    ({"limits": [Limit(0, by="all", queue="?")]}, "limit: 1 of jobs of all  taken at t=0, there are 0"),
    ({"licences": {"mpi": 1}}, "licences: 2 of mpi taken at t=0, there are 1"),
    ({"licences": {"abaqus": 3}}, "licences: 1 of mpi taken at t=0, there are 0"),
    ({"power": Power({"core": 10}, cap=39.5)}, "power: 40 watts at t=0, the cap is 39.5"),
    ({"power": Power({"core": 10}, idle=5, cap=44)}, "power: 45 watts at t=0, the cap is 44"),
    ({"reservations": [Reservation(39, 41, "0")]}, r"job 1 on node 0 in \[0, 40\), closed in \[39, 41\)"),
    ({"reservations": [Reservation(5, 6, [1], every=40)]}, r"job 2 on node 1 in \[0, 90\), closed in \[5, 6\)"),
    ({"reservations": [Reservation(49, 60, floating=True)]}, r"job 2 on node 1 in \[0, 90\), closed in \[49, 60\)"),
    ({"reservations": [Reservation(5, 9, amounts={"core": 1})]}, "node 0 at t=5: 2 of core in use, 1 beside"),
    ({"outages": [Outage(30, 35, [1], announced=False)]}, r"job 2 in \[0, 90\) on nodes that are down in \[30, 35\)"),
]
KEPT_RULES = [
    {"limits": [Limit(2)]},
    {"limits": [Limit(0, user="b")]},
    {"licences": {"mpi": 2}},
    {"power": Power({"core": 10}, cap=40)},
    {"reservations": [Reservation(40, 50, "0")]},
    {"reservations": [Reservation(50, 80, "1")]},
    {"reservations": [Reservation(60, 80, floating=True)]},
    {"reservations": [Reservation(60, 70, amounts={"core": 1})]},
    {"outages": [Outage(90, 95)]},
]


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
    # The second job overruns its walltime by 40 s. This is not predictable.
    check(WORKLOAD, result, create_constraints(text))


@pytest.mark.parametrize(("rules", "message"), BROKEN_RULES)
def test_a_rule_that_is_broken_is_named(result, rules, message):
    workload = replace(WORKLOAD, machine=replace(WORKLOAD.machine, **rules))
    with pytest.raises(InvariantError, match=message):
        check(workload, result)


@pytest.mark.parametrize("rules", KEPT_RULES)
def test_a_rule_that_is_kept_passes(result, rules):
    check(replace(WORKLOAD, machine=replace(WORKLOAD.machine, **rules)), result)


def test_a_job_that_is_killed_at_its_request_answers_for_all_of_its_stay(result):
    killed = replace(result, manifest={**result.manifest, "overrun": "kill"})
    with pytest.raises(InvariantError, match=r"job 2 on node 1 in \[0, 90\), closed in \[50, 80\)"):
        check(replace(WORKLOAD, machine=replace(WORKLOAD.machine, reservations=[Reservation(50, 80, "1")])), killed)


@pytest.mark.parametrize(
    ("dispatcher", "rules", "owner", "method", "nothing"),
    [
        ("fcfs", {"power": Power({"core": 10}, cap=30)}, PowerCap, "uses", {}),
        ("fcfs", {"licences": {"mpi": 1}}, LicencesLeft, "uses", {}),
        ("fcfs", {"limits": [Limit(1)]}, RunningLimit, "uses", {}),
        ("hcp3", {"power": Power({"core": 10}, cap=30)}, PowerCap, "uses", {}),
        ("hcp3", {"licences": {"mpi": 1}}, LicencesLeft, "uses", {}),
        ("hcp3", {"limits": [Limit(1)]}, RunningLimit, "uses", {}),
        ("hcp3", {"reservations": [Reservation(30, 45)]}, Reservation, "closures", ()),
    ],
)
def test_a_rule_that_says_nothing_is_found_out(monkeypatch, dispatcher, rules, owner, method, nothing):
    # The dispatcher follows the rule's constraint methods. The check does not.
    workload = replace(WORKLOAD, machine=replace(WORKLOAD.machine, **rules))
    check(workload, simulate(workload, dispatcher, overrun="kill"))
    monkeypatch.setattr(owner, method, lambda self, *_: nothing)
    with pytest.raises(InvariantError):
        check(workload, simulate(workload, dispatcher, overrun="kill"))


def test_a_constraint_that_says_nothing_is_found_out(monkeypatch):
    constraint = Deadline(within=39, job="abaqus")
    check(WORKLOAD, simulate(WORKLOAD, ConstraintProgramming(constraints=constraint), overrun="kill"))
    monkeypatch.setattr(Deadline, "latest_end", lambda self, *_: None)
    bad = simulate(WORKLOAD, ConstraintProgramming(constraints=constraint), overrun="kill")
    with pytest.raises(InvariantError, match="constraint deadline: "):
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
    result = simulate(tiny(), "hcp3:constraints=deadline:at=50")
    assert [type(part) for part in result.constraints] == [Deadline]
    free = simulate(tiny(), "hcp3")
    assert free.constraints == ()
    with pytest.raises(InvariantError, match="constraint deadline"):
        check(tiny(), replace(free, constraints=result.constraints))


def test_one_that_cannot_be_asked_is_named(result):
    def lost(*_):
        raise KeyError("rack")

    with pytest.raises(InvariantError, match="constraint mine: cannot be checked: KeyError: 'rack'"):
        check(WORKLOAD, result, [type("Mine", (SiteConstraint,), {"name": "mine", "latest_end": lost})()])
