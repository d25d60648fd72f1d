"""Constraints as plug-ins. Each has an effect, no shortcut skips it, and failures give an error."""

from dataclasses import replace

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import ConstraintProgramming, create_dispatcher
from hpcdispatch.dispatchers.cp import (
    Closed,
    Deadline,
    SiteConstraint,
    constraints,
    create_constraints,
)
from hpcdispatch.simulation import check, simulate
from hpcdispatch.testing import check_dispatcher, cluster, pool, tiny
from hpcdispatch.workloads import Job, Limit, Machine, Power, Reservation, Workload

POOL = Machine.pool(4)
NODES = Machine.homogeneous(4, core=1)
FORMS = ["hcp3", "pcp-fast", "pcp3", "hcp3:blocked=2", "hcp1", "pcp1", "hcp", "pcp"]


def run(rows, dispatcher, machine=POOL, **options):
    """Simulate and check rows of (submit, runtime, walltime, cores[, user[, queue[, licences]]]); return the result."""
    jobs = [
        Job(str(i), *row[:3], nodes=row[3], **dict(zip(("user", "queue", "licences"), row[4:], strict=False)))
        for i, row in enumerate(rows, 1)
    ]
    workload = Workload(tuple(jobs), machine)
    result = simulate(workload, dispatcher, **options)
    check(workload, result)
    return result


def starts(*arguments, **options):
    return run(*arguments, **options).jobs["start"].tolist()


def with_constraints(form, text):
    return f"{form}{',' if ':' in form else ':'}constraints={text}"


# All three fit together.
THREE = [(0, 10, 10, 1, "a", "x", {"abaqus": 1}), (0, 20, 20, 1, "a", "y", {"abaqus": 1}), (0, 30, 30, 1, "b", "y")]


@pytest.mark.parametrize(("form", "machine"), [("hcp3", POOL), ("pcp-fast", NODES), ("pcp3", NODES), ("hcp", NODES)])
@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({"limits": [Limit(1)]}, [0, 10, 0]),
        ({"limits": [Limit(1, by="queue")]}, {(0, 0, 20), (0, 30, 0)}),
        ({"limits": [Limit(2, of="core", by="all")]}, [0, 0, 10]),
        ({"limits": [Limit(1, by="all", user="a")]}, [0, 10, 0]),
        ({"licences": {"abaqus": 1}}, [0, 10, 0]),
        ({"power": Power({"core": 100}, cap=250)}, [0, 0, 10]),
        ({"power": Power({"core": 100}, idle=50, cap=300)}, [0, 0, 10]),
        ({"limits": [Limit(1), Limit(1, by="queue")]}, {(0, 30, 0), (0, 10, 30)}),
    ],
)
def test_what_runs_at_the_same_time(form, machine, rules, expected):
    found = starts(THREE, form, replace(machine, **{"licences": {"abaqus": 9}, **rules}))
    assert tuple(found) in expected if isinstance(expected, set) else found == expected


@pytest.mark.parametrize("form", FORMS)
def test_the_only_candidate_waits_for_what_runs(form):
    # 2 comes alone, fits, and waits for the licence that 1 has.
    rows = [(0, 50, 80, 1, "a", "", {"x": 1}), (5, 10, 10, 1, "b", "", {"x": 1}), (6, 10, 10, 1, "b", "", {"x": 1})]
    assert starts(rows, form, replace(POOL, licences={"x": 1})) in ([0, 50, 60], [0, 60, 50])


@pytest.mark.parametrize("form", FORMS)
def test_a_job_that_outran_its_prediction_still_draws_power(form):
    # 1 was to end at 20 and runs until 100.
    rows = [(0, 100, 20, 1), (30, 10, 10, 1)]
    assert starts(rows, form, replace(POOL, power=Power({"core": 60}, cap=100))) == [0, 100]


@pytest.mark.parametrize("form", FORMS)
def test_no_job_runs_into_a_maintenance(form):
    # The window is [50, 80) on nodes 0 and 1. Job 2 might run until 60 and goes elsewhere. Job 3 needs three nodes
    # until 50.
    rows = [(0, 5, 45, 3), (5, 10, 55, 2), (6, 10, 44, 3)]
    result = run(rows, form, replace(NODES, reservations=[Reservation(50, 80, "0-1")]))
    assert result.jobs["start"].tolist() in ([0, 5, 80], [0, 80, 6])
    by_id = result.jobs.set_index("id")
    if by_id["start"]["2"] == 5:
        assert sorted(by_id["placement"]["2"]) == [2, 3]


@pytest.mark.parametrize("form", FORMS)
def test_jobs_wait_for_the_end_of_a_maintenance_of_all_nodes(form):
    rows = [(0, 10, 30, 2), (1, 10, 60, 1), (60, 10, 10, 1)]
    for machine in (POOL, NODES):
        assert starts(rows, form, replace(machine, reservations=[Reservation(50, 80)])) == [0, 80, 80]


def test_a_maintenance_comes_again():
    # Open in [20, 100), [120, 200), ... on all nodes.
    rows = [(0, 50, 50, 4), (1, 60, 60, 4), (2, 90, 90, 4)]
    result = run(rows, "pcp3", replace(NODES, reservations=[Reservation(0, 20, every=100)]))
    assert result.jobs["start"].tolist() == [20, 120, -1]
    assert result.jobs["reason"].iloc[2] == "constraint maintenance: leaves it no place ever"


@pytest.mark.parametrize("form", FORMS)
def test_a_job_that_cannot_meet_its_deadline_is_rejected(form):
    # Job 3 can start at 40 at the earliest. It must by 60 - 30 = 30.
    rows = [(0, 40, 40, 4), (1, 10, 10, 4, "", "late"), (2, 30, 30, 4, "", "urgent")]
    result = run(rows, with_constraints(form, "deadline:at=60/queue=urgent"))
    assert result.jobs["status"].tolist() == ["completed", "completed", "rejected"]
    reason = result.jobs["reason"].iloc[2]
    assert reason == "constraint deadline: must have ended by 60, and may run for 30 s from 40 on"


@pytest.mark.parametrize("form", ["hcp3", "pcp-fast", "pcp3"])
def test_a_plan_keeps_deadlines(form):
    # At 40 the shorter job costs more a second. The longer one must start by then.
    rows = [(0, 40, 40, 4), (1, 10, 10, 4), (2, 60, 60, 4, "", "urgent")]
    assert starts(rows, form) == [0, 40, 50]
    assert starts(rows, with_constraints(form, "deadline:at=105/queue=urgent")) == [0, 100, 40]


@pytest.mark.parametrize("form", ["hcp3", "pcp-fast", "pcp3"])
def test_deadlines_that_exclude_each_other_are_on_record(form):
    rows = [(0, 40, 40, 4), (1, 20, 20, 4, "", "urgent"), (2, 25, 25, 4, "", "urgent")]
    result = run(rows, with_constraints(form, "deadline:at=70/queue=urgent"))
    assert sorted(result.jobs["status"]) == ["completed", "completed", "rejected"]
    at = result.decisions.set_index("time").loc[40]
    assert at["failure"] == "no schedule keeps every deadline"


def test_a_soft_deadline_raises_what_a_second_costs():
    rows = [(0, 40, 40, 4), (1, 10, 10, 4), (2, 60, 60, 4, "", "urgent")]
    soft = Deadline(at=105, kind="soft", queue="urgent", weight=100)
    assert starts(rows, ConstraintProgramming(constraints=soft)) == [0, 100, 40]
    job = Job("1", 0, 60, 60, queue="urgent")
    # At 45 it has to start. Its slack 120 s earlier is twice its walltime.
    assert [soft.factor(job, now) for now in (45, 1000)] == [101, 101]
    assert soft.factor(Job("1", 0, 60, 60, queue="urgent"), -75) == pytest.approx(1 + 100 * np.exp(-1))
    assert soft.factor(Job("1", 0, 60, 60), 45) == 1
    assert soft.latest_end(job) is None


def test_what_can_never_run_is_rejected_with_the_reason():
    rows = [(0, 10, 10, 3), (0, 10, 10, 1)]
    result = run(rows, "hcp3", replace(POOL, power=Power({"core": 10}, cap=20)))
    assert result.jobs["status"].tolist() == ["rejected", "completed"]
    assert result.jobs["reason"].iloc[0] == "constraint power: takes 30000 of mW, there are 20000"


def test_a_job_that_misses_its_last_chance_is_rejected():
    # Job 2 is longer than the gap between two windows. Before the first window the machine is busy for too long.
    rows = [(0, 40, 40, 4), (1, 90, 90, 4)]
    result = run(rows, "pcp3", replace(NODES, reservations=[Reservation(100, 110, [2], every=80)]))
    assert result.jobs["reason"].tolist() == ["", "constraint maintenance: leaves it no place ever"]


def test_constraints_that_exclude_each_other_are_named():
    # Alone each leaves a place: before 100, and after 100.
    machine = replace(NODES, limits=[Limit(5)], reservations=[Reservation(0, 100)])
    result = run([(0, 10, 10, 1)], with_constraints("hcp3", "deadline:at=90"), machine)
    assert result.jobs["reason"].tolist() == ["constraints deadline and maintenance exclude each other for it"]


def test_a_cap_that_is_broken_already_lets_nothing_start():
    # The other dispatcher started the running jobs. From then on nothing starts until it fits again.
    rows = [(0, 50, 50, 1), (0, 60, 60, 1), (10, 10, 10, 1)]
    inner = ConstraintProgramming(constraints=OneJob())

    class Late:
        def reset(self, machine, rng):
            inner.reset(machine, rng)

        def dispatch(self, state):
            return (create_dispatcher("fcfs") if state.now == 0 else inner).dispatch(state)

    assert starts(rows, Late()) == [0, 0, 60]


class OneJob(SiteConstraint):
    """At most one job runs."""

    name = "one"

    def uses(self, job):
        return {"jobs": 1}

    def most(self, what):
        return 1


@pytest.mark.parametrize(
    "rules",
    [
        {"power": Power({"core": 10, "gpu": 50}, cap=900)},
        {"reservations": [Reservation(100, 1000, every=90_000)]},
        {
            "limits": [Limit(4, by="all")],
            "power": Power({"core": 10}, cap=900),
            "reservations": [Reservation(100, 1000)],
        },
    ],
)
def test_every_rule_of_a_machine_is_kept(rules):
    # The checks include equal records in a second run. No run time is read. The schedule must pass all rules.
    workload = cluster(8)
    workload = replace(workload, machine=replace(workload.machine, **rules))
    check_dispatcher("hcp3:iterations=50", [workload], ("kill",), ("last2",))
    check_dispatcher("pcp3:iterations=50", [workload], ("resubmit",), ("walltime",))


def test_a_constraint_keeps_the_rules():
    text = "deadline:within=9000/kind=soft"
    check_dispatcher(with_constraints("hcp3:iterations=50", text), [cluster(8)], ("kill",), ("last2",))
    check_dispatcher(with_constraints("pcp3:iterations=50", text), [cluster(8)], ("resubmit",), ("walltime",))


def test_the_text_names_every_built_in_one():
    rules = [
        "at-most",
        "deadline",
        "never-together",
        "power-by-hour",
        "precedence",
        "same-rack",
        "share",
        "spread-over",
    ]
    assert constraints.names() == rules
    made = create_constraints("deadline:at=2 + deadline:within=10/kind=soft")
    assert [part.kind for part in made] == ["hard", "soft"]
    assert create_constraints(["deadline:at=2", Deadline(at=3)])[1].at == 3
    assert create_constraints("") == ()
    inner = create_dispatcher("evict:over=hcp3:m=50/constraints=deadline:at=2//queue=x").over
    assert (inner.options.m, inner.constraints[0].which.queue) == (50, "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("deadlin:at=1", r"unknown constraint 'deadlin' \(did you mean deadline\?\); known: at-most, deadline"),
        ("limit:most=2", "unknown constraint 'limit': it is 'limits' of the machine now, which every dispatcher obeys"),
        ("deadline:at=5+maintenance:begin=5/end=9", "unknown constraint 'maintenance': it is 'reservations' of the"),
        ("licence:count=2", "it is 'licences' of the machine now"),
        ("power:cap=9", "it is 'power' of the machine now"),
        ("deadline:kind=soft", "constraint deadline: within or at must be given, got neither"),
        ("deadline:at=1+", "unknown constraint ''"),
    ],
)
def test_an_option_says_what_is_wrong(text, message):
    with pytest.raises(InputError, match=message):
        create_dispatcher(f"hcp3:constraints={text}")


def test_what_is_no_constraint():
    with pytest.raises(InputError, match="expected a name or a SiteConstraint, got 3"):
        ConstraintProgramming(constraints=[3])


class Failing(SiteConstraint):
    """Fails in one method, for jobs that are submitted from some time on."""

    name = "failing"

    def __init__(self, method, since):
        self.method, self.since = method, since

    def _ask(self, method, now, answer):
        if method == self.method and now >= self.since:
            raise KeyError("rack")
        return answer

    def uses(self, job):
        return self._ask("uses", job.submit, {"runs": 1})

    def most(self, what):
        return 3

    def closed(self, begin, end):
        return self._ask("closed", begin, ())

    def factor(self, job, now):
        return self._ask("factor", now, 1.0)


@pytest.mark.parametrize("method", ["uses", "closed", "factor"])
def test_one_that_fails_at_first_is_named(method):
    with pytest.raises(InputError, match=r"constraint failing at .*: KeyError: 'rack'"):
        simulate(tiny(), ConstraintProgramming(constraints=Failing(method, 0)))


@pytest.mark.parametrize("method", ["uses", "closed"])
def test_jobs_of_which_one_fails_later_run_alone(method):
    workload = pool(30)
    since = workload.jobs[10].submit
    result = simulate(workload, ConstraintProgramming(constraints=Failing(method, since)))
    assert (result.jobs["status"] == "completed").all()
    if method == "closed":
        late = result.jobs[result.jobs["start"] > since].sort_values(["start", "end"])
        assert (late["start"].to_numpy()[1:] >= late["end"].to_numpy()[:-1]).all()
    failed = result.decisions[result.decisions["failure"] != ""]
    assert failed["failure"].str.match(r"constraint failing at \d+ s.*: KeyError: 'rack'").all()
    assert len(failed) >= 20


def test_where_one_fails_to_weigh_jobs_the_list_schedule_is_followed():
    workload = cluster(30)
    result = simulate(workload, ConstraintProgramming(constraints=Failing("factor", 2000)))
    check(workload, result)
    failed = result.decisions[result.decisions["failure"] != ""]
    assert failed["failure"].str.match(r"constraint failing at \d+ s.*: KeyError: 'rack'").all()
    assert set(failed["used"]) <= {"list", "none"}
    assert "unknown" in set(failed["status"])


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [
        ("uses", {"a": -1}, "uses: a must be a whole number >= 0, got -1"),
        ("uses", {"a": 0.5}, "uses: a must be a whole number >= 0, got 0.5"),
        ("uses", {"a": 1}, "NotImplementedError: jobs use a, and most"),
        ("closed", [Closed((9,), 0, 5)], r"closed: expected nodes in 0\.\.0 and begin < end"),
        ("closed", [Closed((0.5,), 0, 5)], r"closed: expected nodes in 0\.\.0 and begin < end"),
        ("closed", [Closed((0,), 0, float("inf"))], r"closed: expected nodes in 0\.\.0 and begin < end"),
        ("closed", [Closed((0,), 0, 10**30)], r"closed: expected nodes in 0\.\.0 and begin < end"),
        ("closed", [Closed((), 0, 5)], r"closed: expected nodes in 0\.\.0 and begin < end"),
        ("closed", [5], r"closed: expected nodes in 0\.\.0 and begin < end, got 5"),
        ("closed", [Closed((0,), 5, 5)], r"closed: expected nodes in 0\.\.0 and begin < end"),
        ("earliest", -1, "earliest must be a whole number >= 0, got -1"),
        ("latest_end", "soon", "latest_end must be a whole number >= 0, got 'soon'"),
        ("factor", 0, "factor must be a number > 0, got 0"),
    ],
)
def test_a_wrong_answer_is_named(method, answer, message):
    part = type("Part", (SiteConstraint,), {method: lambda self, *_: answer})()
    with pytest.raises(InputError, match=f"constraint Part at .*: {message}"):
        simulate(tiny(), ConstraintProgramming(constraints=part))


def timed(name, earliest):
    return type("Timed", (SiteConstraint,), {"name": name, "earliest": lambda self, job, now: earliest(now)})()


def reasons(*constraints):
    jobs = (Job("1", 0, 10, 10), Job("2", 3, 10, 10))
    result = simulate(
        Workload(jobs, Machine.pool(4)), ConstraintProgramming(constraints=list(constraints)), overrun="kill"
    )
    return set(result.jobs["reason"])


def test_one_that_puts_a_job_off_for_ever_is_named():
    assert reasons(timed("later", lambda now: now + 1)) == {"constraint later: leaves it no place ever"}


def test_two_that_are_never_met_at_once_are_named():
    even = timed("even", lambda now: now + now % 2)
    odd = timed("odd", lambda now: now + 1 - now % 2)
    assert reasons(even) == reasons(odd) == {""}
    assert reasons(even, odd) == {"constraints even and odd exclude each other for it"}


def test_a_job_that_waits_until_its_time_has_passed_is_rejected():
    # Until 5 any start is early enough. The machine is full until then for the second job.
    early = timed("early", lambda now: now if now < 5 else 10**9)
    jobs = (Job("1", 0, 10, 10, nodes=4), Job("2", 1, 10, 10))
    result = simulate(Workload(jobs, Machine.pool(4)), ConstraintProgramming(constraints=early))
    assert result.jobs["reason"].tolist() == ["", "constraint early: leaves it no place ever"]
