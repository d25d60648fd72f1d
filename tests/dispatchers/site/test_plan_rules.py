"""Rules of a site that are ready to use: worked examples, their text form, and the independent check."""

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import create_dispatcher
from hpcdispatch.dispatchers.cp import create_constraints
from hpcdispatch.dispatchers.site import AtMostOf, Deadline, NeverTogether, PowerByHour, Precedence, ShareOf
from hpcdispatch.simulation import InvariantError, check, simulate
from hpcdispatch.workloads import Job, Machine, Workload

POOL = Machine.pool(4)
NODES = Machine.homogeneous(4, core=1)
FORMS = ["hcp3", "pcp-fast", "pcp3", "pcp", "hcp"]
HOUR, DAY, WEEK = 3600, 86_400, 604_800


def workload(*rows, machine=POOL):
    """Return jobs named 1, 2, ... of rows of (submit, run time, cores, user[, name])."""
    jobs = [
        Job(str(number), submit, runtime, runtime, cores, user=user, name=more[0] if more else "")
        for number, (submit, runtime, cores, user, *more) in enumerate(rows, 1)
    ]
    return Workload(tuple(jobs), machine)


def starts(jobs, form, rule):
    """Simulate under a rule, check it, and return the starts."""
    result = simulate(jobs, f"{form}{',' if ':' in form else ':'}constraints={rule}")
    check(jobs, result)
    return result.jobs["start"].tolist()


THREE = ((0, 100, 1, "a", "prep"), (0, 50, 1, "b", "post"), (0, 30, 1, "c", "post"))
#: A rule, and the starts of THREE. Without rules all start at 0.
CASES = [
    ("never-together(a;b)", {(0, 100, 0), (50, 0, 0)}),
    ("never-together(a;?)", {(0, 100, 100), (50, 0, 0), (80, 30, 0)}),
    ("never-together(post;post;by=name)", {(0, 0, 50), (0, 30, 0)}),
    ("at-most(name;1)", {(0, 0, 50), (0, 30, 0)}),
    ("at-most(name;1;prep)", {(0, 0, 0)}),
    ("precedence(1;2)", {(0, 100, 0)}),
    ("precedence(post;prep)", {(50, 0, 0)}),
    ("precedence(7;2)+precedence(no*;1)", {(0, 0, 0)}),
    ("precedence(1;2)+never-together(a;c)", {(0, 100, 100), (30, 130, 0)}),
    ("deadline(110)", {(0, 0, 0)}),
    ("power-by-hour(2;0;1)", {(0, 0, 50), (0, 30, 0), (30, 0, 0), (0, 100, 100)}),
    ("power-by-hour(20;0;1;watts=10)", {(0, 0, 50), (0, 30, 0), (30, 0, 0), (0, 100, 100)}),
    ("power-by-hour(0;23;1;otherwise=3)", {(HOUR, HOUR, HOUR)}),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("rule", "expected"), CASES)
def test_each_rule_is_kept(form, rule, expected):
    for machine in (POOL, NODES):
        assert tuple(starts(workload(*THREE, machine=machine), form, rule)) in expected


@pytest.mark.parametrize("form", ["hcp3", "pcp-fast", "pcp3"])
def test_a_share_returns_next_week(form):
    """A share of two core hours is enough for two of the three jobs of user a."""
    rows = [(0, HOUR, 1, "a"), (0, HOUR, 1, "a"), (0, HOUR, 1, "a"), (0, HOUR, 4, "b"), (0, HOUR, 3, "a")]
    result = simulate(workload(*rows), f"{form}:constraints=share(user;2;a)")
    check(workload(*rows), result)
    assert result.jobs["status"].tolist() == ["completed"] * 4 + ["rejected"]
    assert "takes 10800 of core seconds in one period, there are 7200" in result.jobs["reason"].iloc[4]
    assert sorted(start // WEEK for start in result.jobs["start"][:4]) == [0, 0, 0, 1]


def test_a_job_that_no_hour_admits_is_rejected():
    result = simulate(workload((0, 13 * HOUR, 3, "a"), (0, 60, 1, "a")), "hcp3:constraints=power-by-hour(2;8;20)")
    assert result.jobs["status"].tolist() == ["rejected", "completed"]
    assert result.jobs["reason"].iloc[0] == "constraint power-by-hour: leaves it no place ever"


def test_jobs_that_reach_into_the_day_wait_for_the_next_night():
    jobs = workload((7 * HOUR, 2 * HOUR, 3, "a"), (19 * HOUR, 3 * HOUR, 3, "a"))
    assert starts(jobs, "hcp3", "power-by-hour(2;8;20)") == [20 * HOUR, 22 * HOUR]


def test_starts_of_this_week_count_after_the_jobs_ended():
    jobs = workload((0, HOUR, 2, "a"), (2 * HOUR, HOUR, 1, "a"))
    assert starts(jobs, "hcp3", "share(user;2)") == [0, WEEK]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("never-together(a;b)", "jobs 1 and 2 both run at t=0"),
        ("at-most(name;1)", "2 of jobs of name post taken at t=0, there are 1"),
        ("precedence(1;2)", "job 2 starts at 0, before the end of job 1 at 100"),
        ("share(name;1)+share(user;1;of=core;period=60)", "name post takes 1.5 hours from 0 on, may take 1"),
        ("power-by-hour(2;0;1)", "3 watts at t=0, may be 2"),
        ("deadline(60)", "job 1 ends at 100, must have by 60"),
    ],
)
def test_a_broken_rule_is_found(rule, message):
    rows = THREE if "share" not in rule else [(0, 2700, 1, user, name) for _, _, _, user, name in THREE]
    jobs = workload(*rows)
    with pytest.raises(InvariantError, match=message):
        check(jobs, simulate(jobs, "fcfs"), create_constraints(rule))


@pytest.mark.parametrize("rule", [rule for rule, _ in CASES if "no*" not in rule and "prep)" not in rule])
def test_a_rule_that_says_nothing_is_found(rule, monkeypatch):
    jobs = workload(*THREE)
    result = simulate(jobs, "fcfs")
    if rule.startswith(("deadline", "at-most(name;1;")):
        check(jobs, result, create_constraints(rule))
        return
    for kind in (NeverTogether, Precedence, PowerByHour, ShareOf):
        monkeypatch.setattr(kind, "holds", lambda self, plan: True)
    monkeypatch.setattr(PowerByHour, "earliest", lambda self, job, now: now)
    monkeypatch.setattr(AtMostOf, "uses", lambda self, job: {})
    with pytest.raises(InvariantError):
        check(jobs, result, create_constraints(rule))


def test_a_text_names_values_by_place_or_key():
    first, second, third, fourth = create_constraints(
        "never-together(a;b;by=group) + at-most(user;2)+share(group; 500; of=core)+deadline:within=10/kind=soft"
    )
    assert (first.one, first.other, first.by) == ("a", "b", "group")
    assert (second.by, second.count, third.hours, third.of) == ("user", 2, 500, "core")
    assert isinstance(fourth, Deadline)
    inner = create_dispatcher("evict:over=pcp-fast:m=50/constraints=never-together(a;b)+at-most(user;2)").over
    assert [type(part) for part in inner.constraints] == [NeverTogether, AtMostOf]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("never-together(a)", "option 'other' must be given"),
        ("never-together(a;b;user;x)", "expected at most 3 values"),
        ("never-together(a;one=b)", "option 'one' is given twice"),
        ("never-together(a;b", "expected NAME\\(value;key=value\\), with one pair of brackets"),
        ("at-most(user;0)", "count must be a whole number >= 1, got 0"),
        ("at-most(node;2)", "expected one of user, group, name, queue, got 'node'"),
        ("at-most(user;two)", "at-most: option 'count'"),
        ("share(user;2;of=core;weeks=2)", "unknown option 'weeks'"),
        ("power-by-hour(4;8;8)", "begin and end must differ, got 8 and 8"),
        ("power-by-hour(4;8;25)", "end must be a whole number"),
        ("never(a;b)", "unknown constraint 'never'"),
    ],
)
def test_a_text_says_what_is_wrong(text, message):
    with pytest.raises(InputError, match=message):
        create_dispatcher(f"pcp-fast:constraints={text}")


def test_a_resource_that_the_machine_lacks_is_named():
    with pytest.raises(InputError, match="of must be a resource of the machine \\(core\\), got 'gpu'"):
        simulate(workload(*THREE), "hcp3:constraints=share(user;2;of=gpu)")
