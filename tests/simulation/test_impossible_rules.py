"""Rules that cannot hold are refused in one line that names the rule, or reject the jobs that they concern."""

from dataclasses import replace

import pytest

from hpcdispatch.simulation import VainRuleWarning, simulate
from hpcdispatch.simulation.vain_rules import vain_rules
from hpcdispatch.workloads import Job, Limit, Machine, Outage, Power, Reservation, Workload

NODES = Machine.homogeneous(4, core=1)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"reservations": [Reservation(5, 10, [7])]}, "reservation: nodes must lie in 0..3, got 7"),
        ({"outages": [Outage(5, 10, [9])]}, "outage: nodes must lie in 0..3, got 9"),
        ({"reservations": [Reservation(0, 100, every=100)]}, "leaves no node to other jobs at any time"),
        (
            {"reservations": [Reservation(5, 10, [0], amounts={"core": 5})]},
            "reservation: asks for 5 of core on node 0, which has 1",
        ),
        (
            {"reservations": [Reservation(5, 10, [0], amounts={"gpu": 1})]},
            "reservation: unknown resource 'gpu'; the machine has: core",
        ),
    ],
)
def test_a_rule_beside_the_machine_is_refused(rules, message):
    with pytest.raises(ValueError, match=message) as refused:
        replace(NODES, **rules)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("cap", [100, ((0, 900), (50, 400))])
def test_a_cap_below_the_idle_power_is_refused(cap):
    with pytest.raises(ValueError, match="power: cap must be > idle = 500 watts"):
        Power({"core": 10}, idle=500, cap=cap, every=None if cap == 100 else 100)


@pytest.mark.parametrize("dispatcher", ["easy", "conservative", "lxf", "rbs"])
@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ({"limits": [Limit(0)]}, "constraint limit: takes 1 of jobs of user ann, there are 0"),
        ({"limits": [Limit(1, of="core")]}, "constraint limit: takes 2 of core of user ann, there are 1"),
        ({"licences": {"x": 3}}, "constraint licences: takes 5 of x, there are 3"),
        ({"power": Power({"core": 10}, idle=5, cap=15)}, "constraint power: takes 20000 of mW, there are 10000"),
        ({"reservations": [Reservation(50, 100, every=100)]}, "constraint maintenance: leaves it no place ever"),
        ({"reservations": [Reservation(0, 10**9)]}, "constraint maintenance: leaves it no place ever"),
        (
            {"power": Power({"core": 10}, idle=5, cap=((0, 40), (50, 15)), every=100)},
            "constraint power: never leaves it 20000 of mW for its walltime",
        ),
    ],
)
def test_a_rule_that_no_job_can_meet_rejects_the_jobs(rules, reason, dispatcher):
    jobs = [Job(str(number), number, 10, 100, 2, user="ann", licences={"x": 5}) for number in range(3)]
    if "licences" not in rules:
        jobs = [replace(job, licences={}) for job in jobs]
    with pytest.warns(VainRuleWarning):
        result = simulate(Workload(jobs, replace(NODES, **rules)), dispatcher, overrun="kill")
    assert result.jobs["reason"].tolist() == [reason] * 3


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"limits": [Limit(0)]}, "limit of 0 jobs per user: rejects all jobs under it; the least that one needs is 1"),
        ({"limits": [Limit(0, user="a*")]}, r"limit of 0 jobs per user, user a\*: rejects all"),
        ({"licences": {"x": 3}}, r"licences x 3: rejects all jobs under it; the least that one needs is 5 x \(job 0\)"),
        ({"power": Power({"core": 10}, idle=5, cap=15)}, "power: cap of 10,000 mW above the idle machine: rejects all"),
        (
            {"reservations": [Reservation(50, 100, every=100)]},
            "reservation of the machine: no job of 3 has a place beside closed nodes at any time; the shortest",
        ),
    ],
)
def test_a_rule_that_no_job_can_meet_is_named_at_the_start(rules, message):
    jobs = [Job(str(number), number, 10, 100, 2, user="ann", licences={"x": 5}) for number in range(3)]
    if "licences" not in rules:
        jobs = [replace(job, licences={}) for job in jobs]
    with pytest.warns(VainRuleWarning, match=message) as told:
        simulate(Workload(jobs, replace(NODES, **rules)), "easy", overrun="kill")
    assert len(told) == 1
    assert "\n" not in str(told[0].message)


def test_a_rule_that_some_job_meets_is_not_named():
    rules = {"limits": [Limit(1, of="core"), Limit(0, user="bob")], "reservations": [Reservation(50, 100, every=100)]}
    jobs = [Job("wide", 0, 10, 100, 2, user="ann"), Job("fits", 0, 10, 20, 1, user="ann")]
    result = simulate(Workload(jobs, replace(NODES, **rules)), "easy", overrun="kill")
    assert result.jobs["status"].tolist() == ["rejected", "completed"]


@pytest.mark.parametrize("dispatcher", ["easy", "conservative", "lxf", "hcp3"])
def test_a_job_that_misses_its_last_chance_is_rejected(dispatcher):
    # Job 2 is longer than the time between two closures. Before the first one the machine is busy for too long.
    machine = replace(NODES, reservations=[Reservation(100, 110, [2], every=80)])
    jobs = [Job("1", 0, 40, 40, 4), Job("2", 1, 90, 90, 4)]
    result = simulate(Workload(jobs, machine), dispatcher, overrun="kill")
    assert result.jobs["reason"].tolist() == ["", "constraint maintenance: leaves it no place ever"]


@pytest.mark.parametrize("dispatcher", ["easy", "conservative", "lxf", "hcp3", "rbs", "lookahead"])
def test_jobs_start_when_an_outage_ends_that_was_not_announced(dispatcher):
    machine = replace(NODES, outages=[Outage(20, 30, announced=False)], reservations=[Reservation(900, 950)])
    jobs = [Job(str(number), submit, 10, 10, 4) for number, submit in enumerate((0, 5, 22))]
    result = simulate(Workload(jobs, machine), dispatcher, overrun="kill")
    assert result.jobs["start"].tolist() == [0, 10, 30]


def test_many_kinds_of_jobs_without_a_place_are_told():
    jobs = [Job(str(number), number, 10, 100 + number, 2) for number in range(80)]
    closed = Workload(jobs, replace(NODES, reservations=[Reservation(0, 10**9)]))
    with pytest.warns(VainRuleWarning, match="no job of 80 has a place beside closed nodes"):
        simulate(closed, "easy", overrun="kill")


def test_a_job_that_is_submitted_after_a_closure_has_a_place():
    late = [Job(str(number), number * 10**8, 10, 100 + number, 2) for number in range(80)]
    workload = Workload(late, replace(NODES, reservations=[Reservation(0, 10**9)]))
    assert not list(vain_rules(workload))
