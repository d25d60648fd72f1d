"""Constraints that plug in: what each does, that no shortcut passes them by, and what is said when one fails."""

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import ConstraintProgramming, create_dispatcher
from hpcdispatch.dispatchers.cp import (
    Closed,
    Deadline,
    Licence,
    Maintenance,
    PowerCap,
    RunningLimit,
    SiteConstraint,
    constraints,
    create_constraints,
)
from hpcdispatch.simulation import check, simulate
from hpcdispatch.testing import check_dispatcher, cluster, pool, tiny
from hpcdispatch.workloads import Job, Machine, Workload

POOL, NODES = Machine.pool(4), Machine.homogeneous(4, core=1)
FORMS = ["hcp3", "pcp-fast", "pcp3", "hcp3:blocked=2", "hcp1", "pcp1", "hcp", "pcp"]


def run(rows, dispatcher, machine=POOL, **options):
    """Simulate rows of (submit, runtime, walltime, cores[, user[, queue[, name]]]); return the result, checked."""
    jobs = [
        Job(str(i), *row[:3], nodes=row[3], **dict(zip(("user", "queue", "name"), row[4:], strict=False)))
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
THREE = [(0, 10, 10, 1, "a", "x", "abaqus1"), (0, 20, 20, 1, "a", "y", "abaqus2"), (0, 30, 30, 1, "b", "y", "vasp")]


@pytest.mark.parametrize(("form", "machine"), [("hcp3", POOL), ("pcp-fast", NODES), ("pcp3", NODES), ("hcp", NODES)])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("limit:most=1", [0, 10, 0]),
        ("limit:most=1/by=queue", {(0, 0, 20), (0, 30, 0)}),
        ("limit:most=2/of=core/by=all", [0, 0, 10]),
        ("limit:most=1/by=all/user=a", [0, 10, 0]),
        ("licence:count=1/job=abaqus*", [0, 10, 0]),
        ("licence:count=3/each=2/per=slot/queue=y", {(0, 0, 20), (0, 30, 0)}),
        ("power:cap=250/watts=core:100", [0, 0, 10]),
        ("limit:most=1+limit:most=1/by=queue", {(0, 30, 0), (0, 10, 30)}),
    ],
)
def test_what_runs_at_the_same_time(form, machine, text, expected):
    found = starts(THREE, with_constraints(form, text), machine)
    assert tuple(found) in expected if isinstance(expected, set) else found == expected


@pytest.mark.parametrize("form", FORMS)
def test_the_only_candidate_waits_for_what_runs(form):
    # 2 comes alone, fits, and waits for the licence that 1 has.
    rows = [(0, 50, 80, 1, "a"), (5, 10, 10, 1, "b"), (6, 10, 10, 1, "b")]
    assert starts(rows, with_constraints(form, "licence:count=1")) in ([0, 50, 60], [0, 60, 50])


@pytest.mark.parametrize("form", FORMS)
def test_a_job_that_outran_its_prediction_still_draws_power(form):
    # 1 was to end at 20 and runs until 100.
    rows = [(0, 100, 20, 1), (30, 10, 10, 1)]
    assert starts(rows, with_constraints(form, "power:cap=100/watts=core:60")) == [0, 100]


@pytest.mark.parametrize("form", FORMS)
def test_no_job_runs_into_a_maintenance(form):
    # The window is [50, 80) on nodes 0 and 1. 2 might run until 60 and goes elsewhere; 3 needs three nodes until 50.
    rows = [(0, 5, 45, 3), (5, 10, 55, 2), (6, 10, 44, 3)]
    result = run(rows, with_constraints(form, "maintenance:begin=50/end=80/nodes=0-1"), NODES)
    assert result.jobs["start"].tolist() in ([0, 5, 80], [0, 80, 6])
    by_id = result.jobs.set_index("id")
    if by_id["start"]["2"] == 5:
        assert sorted(by_id["placement"]["2"]) == [2, 3]


@pytest.mark.parametrize("form", FORMS)
def test_jobs_wait_for_the_end_of_a_maintenance_of_all_nodes(form):
    rows = [(0, 10, 30, 2), (1, 10, 60, 1), (60, 10, 10, 1)]
    for machine in (POOL, NODES):
        assert starts(rows, with_constraints(form, "maintenance:begin=50/end=80"), machine) == [0, 80, 80]


def test_a_maintenance_comes_again():
    # Open in [20, 100), [120, 200), ... on all nodes.
    text = "maintenance:begin=0/end=20/every=100"
    rows = [(0, 50, 50, 4), (1, 60, 60, 4), (2, 90, 90, 4)]
    result = run(rows, with_constraints("pcp3", text), NODES)
    assert result.jobs["start"].tolist() == [20, 120, -1]
    assert result.jobs["reason"].iloc[2] == "constraint maintenance: leaves it no place ever"
    windows = list(Maintenance(0, 20, nodes=[0], every=100).closed(90, 210))
    assert windows == [Closed((0,), 100, 120), Closed((0,), 200, 220)]
    assert list(Maintenance(5, 20, nodes=[0], every=100).closed(20, 105)) == []


@pytest.mark.parametrize("form", FORMS)
def test_a_job_that_cannot_meet_its_deadline_is_rejected(form):
    # 3 could start at 40 at the earliest and must by 60 - 30 = 30.
    rows = [(0, 40, 40, 4), (1, 10, 10, 4, "", "late"), (2, 30, 30, 4, "", "urgent")]
    result = run(rows, with_constraints(form, "deadline:at=60/queue=urgent"))
    assert result.jobs["status"].tolist() == ["completed", "completed", "rejected"]
    reason = result.jobs["reason"].iloc[2]
    assert reason == "constraint deadline: must have ended by 60, and may run for 30 s from 40 on"


@pytest.mark.parametrize("form", ["hcp3", "pcp-fast", "pcp3"])
def test_a_plan_keeps_deadlines(form):
    # At 40 the shorter job costs more a second; the longer one must start by then.
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
    # At 45 it has to start; 120 s before it has twice its walltime of slack.
    assert [soft.factor(job, now) for now in (45, 1000)] == [101, 101]
    assert soft.factor(Job("1", 0, 60, 60, queue="urgent"), -75) == pytest.approx(1 + 100 * np.exp(-1))
    assert soft.factor(Job("1", 0, 60, 60), 45) == 1
    assert soft.latest_end(job) is None


def test_what_can_never_run_is_rejected_with_the_reason():
    rows = [(0, 10, 10, 3), (0, 10, 10, 1)]
    result = run(rows, with_constraints("hcp3", "power:cap=20/watts=core:10"))
    assert result.jobs["status"].tolist() == ["rejected", "completed"]
    assert result.jobs["reason"].iloc[0] == "constraint power: takes 30000 of mW, there are 20000"


def test_a_job_that_misses_its_last_chance_is_rejected():
    # 2 is longer than the gap between two windows; before the first of them the machine is taken until it is too late.
    rows = [(0, 40, 40, 4), (1, 90, 90, 4)]
    result = run(rows, with_constraints("pcp3", "maintenance:begin=100/end=110/every=80/nodes=2"), NODES)
    assert result.jobs["reason"].tolist() == ["", "constraint maintenance: leaves it no place ever"]


def test_constraints_that_exclude_each_other_are_named():
    # Alone each leaves a place: before 100, and after 100.
    text = "limit:most=5+maintenance:begin=0/end=100+deadline:at=90"
    result = run([(0, 10, 10, 1)], with_constraints("hcp3", text), NODES)
    assert result.jobs["reason"].tolist() == ["constraints maintenance and deadline exclude each other for it"]


def test_a_cap_that_is_broken_already_lets_nothing_start():
    # What runs is the other dispatcher's; from then on nothing starts until it fits again.
    rows = [(0, 50, 50, 1), (0, 60, 60, 1), (10, 10, 10, 1)]
    inner = ConstraintProgramming(constraints="limit:most=1/by=all")

    class Late:
        def reset(self, machine, rng):
            inner.reset(machine, rng)

        def dispatch(self, state):
            return (create_dispatcher("fcfs") if state.now == 0 else inner).dispatch(state)

    assert starts(rows, Late()) == [0, 0, 60]


@pytest.mark.parametrize("text", [
    "power:cap=900/watts=core:10;gpu:50", "licence:count=2/job=*", "deadline:within=9000/kind=soft",
    "maintenance:begin=100/end=1000/every=90000+limit:most=4/by=all+power:cap=900/watts=core:10",
])  # fmt: skip
def test_every_constraint_keeps_the_rules(text):
    # Among them: the same records again, no run time read, and the schedule through the check of all constraints.
    check_dispatcher(with_constraints("hcp3:iterations=50", text), [cluster(8)], ("kill",), ("last2",))
    check_dispatcher(with_constraints("pcp3:iterations=50", text), [cluster(8)], ("resubmit",), ("walltime",))


def test_the_text_names_every_built_in_one():
    assert constraints.names() == ["deadline", "licence", "limit", "maintenance", "power"]
    made = create_constraints("limit:most=2 + power:cap=1e3/watts=core:2.5;gpu:10")
    assert [type(part) for part in made] == [RunningLimit, PowerCap]
    assert made[1].watts == {"core": 2.5, "gpu": 10}
    assert create_constraints(["limit:most=2", Licence(3)])[1].count == 3
    assert create_constraints("") == ()
    inner = create_dispatcher("evict:over=hcp3:m=50/constraints=limit:most=2//by=queue").over
    assert (inner.options.m, inner.constraints[0].by) == (50, "queue")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("powr:cap=1", r"unknown constraint 'powr' \(did you mean power\?\); known: .*deadline.*licence"),
        ("power:cap=1", r"constraint power: option 'watts' must be given \(text\)"),
        ("power:cap=0/watts=core:1", "constraint power: cap must be > 0 watts and finite, got 0.0"),
        ("power:cap=9/watts=core", "constraint power: watts must be name:number;name:number .*, got 'core'"),
        ("power:cap=9/watts=core:-1", "with numbers >= 0, got 'core:-1'"),
        ("limit:most=2/by=rack", "option 'by': expected one of user, group, queue, all, got 'rack'"),
        ("limit:most=-1", "constraint limit: most must be a whole number >= 0, got -1"),
        ("licence:count=2/pool=1", "constraint licence: unknown option 'pool'; known: count, job, queue"),
        ("maintenance:begin=5/end=5", "constraint maintenance: end must be > begin = 5, got 5"),
        ("maintenance:begin=5/end=9/nodes=a", "nodes must be all, or indices and ranges such as 0-15;20, got 'a'"),
        ("maintenance:begin=5/end=9/every=3", "every must be a whole number >= 4, got 3"),
        ("deadline:kind=soft", "constraint deadline: within or at must be given, got neither"),
        ("limit:most=1+", "unknown constraint ''"),
    ],
)
def test_an_option_says_what_is_wrong(text, message):
    with pytest.raises(InputError, match=message):
        create_dispatcher(f"hcp3:constraints={text}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("power:cap=9/watts=gpu:1", "constraint power: watts: unknown resource 'gpu'; the machine has: core"),
        ("limit:most=9/of=gpu", "constraint limit: of: unknown resource 'gpu'; the machine has: core"),
        ("maintenance:begin=1/end=2/nodes=0-4", r"constraint maintenance: nodes must lie in 0\.\.3, got 4"),
    ],
)
def test_what_does_not_fit_the_machine_is_said_before_the_simulation(text, message):
    with pytest.raises(InputError, match=message):
        run([(0, 1, 1, 1)], f"hcp3:constraints={text}", NODES)


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


def test_jobs_of_which_one_fails_later_are_held_back_and_at_last_rejected():
    workload = pool(30)
    since = workload.jobs[10].submit
    result = simulate(workload, ConstraintProgramming(constraints=Failing("uses", since)))
    late = result.jobs["submit"] >= since
    assert (result.jobs["status"][~late] == "completed").all()
    assert result.jobs["reason"][late].str.match(r"constraint failing at \d+ s for job \d+: KeyError: 'rack'").all()
    assert (result.decisions["failure"][result.decisions["time"] >= since] != "").all()


def test_nothing_starts_while_one_fails_to_say_what_is_closed():
    workload = pool(30)
    since = workload.jobs[10].submit
    result = simulate(workload, ConstraintProgramming(constraints=Failing("closed", since)))
    check(workload, result)
    assert (result.jobs["start"] < since).all()
    left = result.jobs[result.jobs["start"] < 0]
    assert len(left) >= 20
    assert left["reason"].str.match(r"constraint failing at \d+ s.*: KeyError: 'rack'").all()


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
    even, odd = timed("even", lambda now: now + now % 2), timed("odd", lambda now: now + 1 - now % 2)
    assert reasons(even) == reasons(odd) == {""}
    assert reasons(even, odd) == {"constraints even and odd exclude each other for it"}


def test_a_job_that_waits_until_its_time_has_passed_is_rejected():
    # Until 5 any start is early enough; the second job finds the machine full until then.
    early = timed("early", lambda now: now if now < 5 else 10**9)
    jobs = (Job("1", 0, 10, 10, nodes=4), Job("2", 1, 10, 10))
    result = simulate(Workload(jobs, Machine.pool(4)), ConstraintProgramming(constraints=early))
    assert result.jobs["reason"].tolist() == ["", "constraint early: leaves it no place ever"]
