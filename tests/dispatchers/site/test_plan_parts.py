"""Constraints and objectives of a site on whole plans: those of the examples, and bad ones."""

import importlib.util
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import ConstraintProgramming
from hpcdispatch.dispatchers.cp import Goal, Objective, PlanConstraint, PlanGoal
from hpcdispatch.dispatchers.site import NeverTogether, restrictions
from hpcdispatch.simulation import InvariantError, check, simulate
from hpcdispatch.workloads import Job, Machine, Workload

EXAMPLES = Path(__file__).parents[3] / "examples" / "plan_constraints.py"
SPEC = importlib.util.spec_from_file_location("plan_constraints", EXAMPLES)
examples = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(examples)

NODES = Machine(("core",), np.array([[4], [4], [4]]))
#: HCP, the short form of PCP, PCP, and PCP with all jobs in the model.
FORMS = {
    "hcp": {"formulation": "hcp"},
    "pcp-fast": {},
    "pcp": {"horizon": "all"},
    "pcp1": {"horizon": "all", "version": 1, "ewt": "600"},
    "pcp0": {"horizon": "all", "version": 0, "ewt": "600"},
}


def workload(*rows, machine=NODES):
    """Return jobs named 1, 2, ... from rows of (submit, runtime, slots, cores, user)."""
    return Workload(
        tuple(
            Job(str(number), submit, runtime, runtime, slots, {"core": cores}, user=user)
            for number, (submit, runtime, slots, cores, user) in enumerate(rows, 1)
        ),
        machine,
    )


def run(jobs, checked=True, **options):
    """Simulate, check and return the result. Constraints that fail cannot be checked."""
    result = simulate(jobs, ConstraintProgramming(**options))
    check(jobs, result, None if checked else ())
    return result


def starts(result):
    return result.jobs["start"].tolist()


THREE = ((0, 100, 1, 2, "a"), (0, 50, 1, 2, "a"), (0, 30, 2, 1, "b"))


@pytest.mark.parametrize("form", FORMS)
class TestExamples:
    def test_precedence(self, form):
        options = FORMS[form]
        assert starts(run(workload(*THREE), **options)) == [0, 0, 0]
        assert starts(run(workload(*THREE), **options, constraints=[examples.JobAfterJob("1", "2")])) == [0, 100, 0]
        assert starts(run(workload(*THREE), **options, constraints=[examples.JobAfterJob("2", "1")])) == [50, 0, 0]

    def test_a_successor_waits_for_a_job_that_is_not_in_the_plan(self, form):
        """Job 2 does not fit until job 1 has ended. Job 3, which would fit, comes after it."""
        jobs = workload((0, 100, 1, 4, "a"), (1, 10, 3, 4, "a"), (2, 10, 1, 1, "a"))
        assert starts(run(jobs, **FORMS[form]))[2] < 100
        assert starts(run(jobs, **FORMS[form], constraints=[examples.JobAfterJob("2", "3")])) == [0, 100, 110]

    def test_one_wide_job_per_user(self, form):
        jobs = workload((0, 100, 2, 2, "a"), (0, 50, 2, 2, "a"), (0, 30, 2, 1, "b"), (10, 5, 2, 1, "a"))
        result = run(jobs, **FORMS[form], constraints=[examples.OneWidePerUser(2)])
        of_a = sorted(
            (begin, end)
            for begin, end, job in zip(result.jobs["start"], result.jobs["end"], jobs.jobs, strict=True)
            if job.user == "a"
        )
        assert all(end <= begin for (_, end), (begin, _) in pairwise(of_a))
        assert set(result.jobs["status"]) == {"completed"}

    def test_two_jobs_never_share_a_node(self, form):
        jobs = workload((0, 100, 1, 1, "a"), (0, 50, 1, 1, "a"), (0, 30, 2, 1, "b"))
        result = run(jobs, **FORMS[form], constraints=[examples.Apart("1", "2")])
        assert set(result.jobs["status"]) == {"completed"}
        if form not in {"hcp", "pcp-fast"}:  # There the nodes are not in the model, and one of both waits.
            assert starts(result) == [0, 0, 0]
        overlap = abs(starts(result)[0] - starts(result)[1]) < 50
        assert overlap == (form not in {"hcp", "pcp-fast"})

    def test_a_power_profile(self, form):
        jobs = workload((0, 100, 1, 1, "a"), (0, 50, 1, 1, "a"), (0, 30, 2, 1, "b"))
        result = run(jobs, **FORMS[form], constraints=[examples.PowerProfile([10, 20] * 12)])
        # One core at a time in the first hour. Job 3 needs two and waits for the second.
        assert sorted(starts(result))[0] == 0
        assert starts(result)[2] == 3600
        assert {begin // 3600 for begin in starts(result)[:2]} == {0}
        assert abs(starts(result)[0] - starts(result)[1]) >= 50


@pytest.mark.parametrize("form", ["hcp", "pcp-fast", "pcp"])
def test_the_makespan_is_another_objective(form):
    """Three of four jobs fit side by side: the slowdown starts the short ones first, the makespan the long one."""
    jobs = workload((0, 100, 3, 4, "a"), (1, 100, 1, 4, "a"), *((1, 40, 1, 4, "a") for _ in range(3)))
    plain = run(jobs, **FORMS[form])
    other = run(jobs, **FORMS[form], objective=examples.Makespan())
    assert (plain.jobs["end"].max(), other.jobs["end"].max()) == (240, 200)
    planned = other.decisions[other.decisions["used"].isin(["list", "local search", "cp-sat"])]
    assert (planned["objective"] > 0).all()


def test_an_objective_that_is_not_linear_is_minimised():
    jobs = workload((0, 600, 3, 4, "a"), (1, 600, 3, 4, "b"), (1, 60, 3, 4, "c"))
    linear = starts(run(jobs))
    assert linear == [0, 660, 600]
    squared = run(jobs, objective=examples.SquaredLateness(0)).decisions
    # At 600 s: 10^2 for the job that starts, and 11^2 for that behind it.
    assert squared.set_index("time").loc[600, "objective"] == pytest.approx(10**2 + 11**2)


class Tardiness(Goal):
    """Linear terms: a second costs 1 after the due time, of jobs of user b alone."""

    name = "tardiness"

    def objective(self, waiting, now):
        rates = np.array([float(entry.job.user == "b") for entry in waiting])
        return Objective(rates, np.zeros(len(waiting), dtype=np.int64), 0.0)


@pytest.mark.parametrize("form", ["hcp", "pcp-fast", "pcp"])
def test_a_rate_of_zero_is_allowed(form):
    jobs = workload((0, 100, 3, 4, "x"), (1, 10, 3, 4, "a"), (2, 500, 3, 4, "b"))
    assert starts(run(jobs, **FORMS[form])) == [0, 100, 110]
    assert starts(run(jobs, **FORMS[form], objective=Tardiness())) == [0, 600, 100]
    none = workload((0, 100, 3, 4, "x"), (1, 10, 3, 4, "a"), (2, 500, 3, 4, "c"))
    assert set(run(none, **FORMS[form], objective=Tardiness()).jobs["status"]) == {"completed"}


class Bad(PlanConstraint):
    """A constraint that fails from a time on, in one of its methods."""

    name = "bad"

    def __init__(self, since, add_to=lambda plan: None, holds=lambda plan: True):
        self.since = since
        self.methods = (add_to, holds)

    def add_to(self, plan):
        return self.methods[0](plan) if plan.now >= self.since else None

    def holds(self, plan):
        return self.methods[1](plan) if plan.now >= self.since else True


def fail(plan):
    raise RuntimeError("broken\nover two lines")


def starting(plan):
    return any(job.start == 0 for job in plan.jobs.values())


CROWD = [(0, 100, 3, 4, "a"), *((1, 20 + 10 * number, 2, 3, "b") for number in range(4))]
BAD = {
    "raise": ({"holds": fail}, r"constraint bad at 100 s for job \d.*: RuntimeError: broken over two lines"),
    "type": ({"holds": lambda plan: None}, r"constraint bad at 100 s for job \d.*: holds must return True or False"),
    "never": ({"holds": lambda plan: not starting(plan)}, r"constraint bad at 100 s for job \d.*: its holds refuses"),
}


@pytest.mark.parametrize("form", ["hcp", "pcp-fast", "pcp"])
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_constraint_is_named_in_one_line_and_loses_no_job(kind, form):
    methods, message = BAD[kind]
    result = run(workload(*CROWD), kind == "never", **FORMS[form], constraints=[Bad(100, **methods)])
    failures = [text for text in result.decisions["failure"] if text]
    assert failures
    assert all("\n" not in text and len(text) < 500 for text in failures)
    assert any(re.match(message, text) for text in failures), failures
    if kind == "never":  # No job may start, even alone.
        assert result.jobs["status"].tolist() == ["completed", *["rejected"] * 4]
        assert all(
            reason == "constraint bad: never admits it, even with nothing else waiting, at 100 s on an empty machine"
            for reason in result.jobs["reason"][1:]
        )
    else:  # Each runs alone.
        assert result.jobs["status"].tolist() == ["completed"] * 5
        runs = sorted(zip(result.jobs["start"], result.jobs["end"], strict=True))
        assert all(end <= begin for (_, end), (begin, _) in pairwise(runs))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "methods",
    [
        {"holds": fail},
        {"add_to": fail},
        {"holds": lambda plan: 7},
        {"add_to": fail, "holds": fail},
        {"add_to": lambda plan: plan.model.add(plan.jobs[min(plan.jobs)].start < 0)},
        {"add_to": lambda plan: plan.model.add_bool_or([])},
    ],
)
def test_a_constraint_that_fails_at_once_loses_no_job(methods, form):
    result = run(workload(*CROWD), "holds" not in methods, **FORMS[form], constraints=[Bad(0, **methods)])
    assert set(result.jobs["status"]) == {"completed"}
    if "holds" in methods:
        assert result.decisions["failure"].str.match("constraint bad at 0 s for job 1").any()


def test_a_slow_constraint_is_asked_a_bounded_number_of_times():
    calls = []
    slow = Bad(0, holds=lambda plan: bool(calls.append(plan.now)) or not starting(plan) or plan.now % 7 == 0)
    result = run(workload(*CROWD), constraints=[slow])
    assert max(calls.count(now) for now in set(calls)) < 300
    assert len(result.decisions) < 200


LIMIT = 100_000


@pytest.mark.parametrize(
    ("form", "count", "options"),
    [
        *(
            (form, count, options)
            for form in ("hcp", "pcp-fast", "pcp")
            for count, options in ((0, {"m": 1}), (3, {"budget": 0.0}), (4, {"m": 2}))
        ),
        *((form, count, {}) for form in ("hcp", "pcp-fast") for count in (5, 7)),
        # With all jobs in the model each decision takes its whole budget. Nights have the default one.
        ("pcp", 5, {"budget": 0.001}),
        *(pytest.param("pcp", count, {}, marks=pytest.mark.nightly) for count in (5, 7)),
    ],
)
def test_a_predecessor_outside_of_the_plan_does_not_lose_its_successor(form, count, options):
    """B fits while A and r run, and must wait for A, which is less urgent."""
    jobs = [
        Job("r", 0, 1000, 1000, 1, {"core": 1}),
        Job("A", 1, 500, LIMIT, 1, {"core": 2}),
        Job("B", 2, 10, 10, 1, {"core": 1}),
        *(Job(f"C{place}", 10 * place + 10, 500, LIMIT, 1, {"core": 2}) for place in range(count)),
    ]
    result = run(
        Workload(jobs, Machine.pool(2)), **FORMS[form], constraints=[examples.JobAfterJob("A", "B")], **options
    )
    times = result.jobs.set_index("id")
    assert set(times["status"]) == {"completed"}
    assert times["start"]["B"] >= times["end"]["A"]


class Later(PlanConstraint):
    """No job may start now."""

    name = "later"

    def __init__(self, until):
        self.until = until

    def add_to(self, plan):
        for job in plan.jobs.values():
            plan.model.add(job.start >= (1 if plan.now < self.until else 0))

    def holds(self, plan):
        return plan.now >= self.until or not starting(plan)


def test_starts_that_are_put_off_again_and_again_are_told():
    """A job runs for a day while others are put off each second."""
    jobs = workload((0, 86_400, 1, 1, "a"), (5, 10, 1, 1, "a"), (6, 20, 1, 1, "a"))

    class SometimesLater(Later):
        def holds(self, plan):
            return plan.now < 5 or super().holds(plan)

    result = run(jobs, constraints=[SometimesLater(80_000)])
    assert set(result.jobs["status"]) == {"completed"}
    assert len(result.decisions) < 100
    told = result.decisions["failure"].str.extract(
        r"^constraint later at (\d+) s: put off (\d+) planned starts in a row; next attempt at (\d+) s$"
    )
    assert told.notna().all(axis=1).sum() > 20
    # The pauses are an hour at most.
    assert result.jobs["start"].max() < 80_000 + 3_700


def test_a_cycle_costs_one_job_with_the_reason():
    cycle = [examples.JobAfterJob("2", "1"), examples.JobAfterJob("1", "2")]
    result = run(workload(*THREE, (0, 10, 1, 1, "c")), constraints=[*cycle, examples.JobAfterJob("1", "4")])
    assert sorted(result.jobs["status"]) == ["completed"] * 3 + ["rejected"]
    rejected = result.jobs[result.jobs["status"] == "rejected"]
    assert rejected["id"].tolist() == ["2"]
    assert rejected["reason"].iloc[0].startswith("constraint precedence: it waits for jobs that wait for it, at ")
    assert (result.decisions["failure"].str.contains("it waits for jobs that wait for it")).any()


def recorded(rows, **options):
    """Return the record at 100 s and the jobs that start then, with CP-SAT and by lists alone."""
    found = []
    for more in ({}, {"solver": "none"}):
        result = run(workload(*rows), iterations=0, **options, **more)
        record = result.decisions.set_index("time").loc[100]
        found.append((record, set(result.jobs.loc[result.jobs["start"] == 100, "id"])))
    return found


@pytest.mark.parametrize(
    ("jobs", "changed"),
    [
        # (run time, slots, cores): other jobs start than by lists, or the same ones with another plan behind them.
        ([(76, 3, 4), (71, 3, 4), (30, 1, 2), (37, 3, 4), (5, 2, 4), (20, 3, 1), (58, 3, 2), (44, 1, 3)], True),
        ([(35, 1, 2), (52, 3, 2), (15, 2, 3), (98, 3, 4), (26, 3, 1), (69, 1, 1), (80, 1, 3), (34, 1, 3)], False),
    ],
)
def test_the_record_tells_what_cp_sat_gains_over_lists(jobs, changed):
    (record, started), (listed, by_lists) = recorded([(0, 100, 3, 4, "x"), *((1, *job, "a") for job in jobs)])
    assert record["used"] == "cp-sat"
    assert record["gain"] > 0
    assert record["gain"] == pytest.approx(listed["objective"] - record["objective"], rel=1e-2)
    assert (listed["gain"], listed["changed"]) == (0, False)
    assert record["changed"] == changed == (started != by_lists)


@pytest.mark.parametrize(
    ("jobs", "constraint", "changed"),
    [
        # No list keeps the rule. Lists start the two jobs of users a and b by priority, CP-SAT those of b alone.
        ([(200, 1, 4, "a"), *[(10, 1, 4, "b")] * 4], NeverTogether("a", "b"), True),
        ([(60, 3, 4, "a"), (10, 3, 4, "a"), (10, 3, 4, "a")], examples.JobAfterJob("2", "3"), False),
    ],
)
def test_the_record_tells_what_cp_sat_changes_where_no_list_keeps_the_rules(jobs, constraint, changed):
    rows = [(0, 100, 3, 4, "x"), *((place, *job) for place, job in enumerate(jobs, 1))]
    (record, started), (listed, by_lists) = recorded(rows, constraints=[constraint])
    assert (record["used"], listed["used"]) == ("cp-sat", "list")
    assert np.isnan(record["gain"])
    assert record["changed"] == changed == (started != by_lists)


def test_what_a_constraint_leaves_no_start_is_rejected_once_nothing_runs():
    never = Bad(0, holds=lambda plan: plan.jobs.get("2") is None or plan.jobs["2"].start is None)
    result = run(workload((0, 100, 3, 4, "a"), (5, 10, 1, 1, "a"), (6, 10, 1, 1, "a")), constraints=[never])
    assert result.jobs["status"].tolist() == ["completed", "rejected", "completed"]
    assert "constraint bad" in result.jobs["reason"].iloc[1]


@pytest.mark.parametrize("change", [None, 60], ids=["late", "changing"])
def test_what_an_empty_machine_waits_for_in_vain_is_rejected_with_the_reason(change, monkeypatch):
    """A constraint that puts a job off each time, and one that announces changes and admits nothing."""
    monkeypatch.setattr(restrictions, "_CHANGES", 40)

    class Later(Bad):
        name = "later"

        def add_to(self, plan):
            for job in plan.jobs.values():
                plan.model.add(job.start >= 1)

        def next_change(self, now):
            return None if change is None else now + change

    result = run(
        workload((0, 100, 3, 4, "a"), (5, 10, 1, 1, "a")), constraints=[Later(0, holds=lambda plan: not starting(plan))]
    )
    assert result.jobs["status"].tolist() == ["rejected"] * 2
    assert set(result.jobs["reason"].str.contains("constraint later: puts it off again and again, at ")) == {True}
    assert len(result.decisions) < 100


def test_a_plan_that_waits_for_its_hour_is_not_in_vain():
    caps = [0] * 23 + [40]
    jobs = workload((0, 100, 3, 4, "a"), (5, 10, 1, 1, "a"))
    result = run(jobs, constraints=[examples.PowerProfile(caps, watts=1)])
    assert result.jobs["status"].tolist() == ["completed"] * 2
    assert result.jobs["start"].min() >= 23 * 3600


def test_a_check_sees_starts_that_break_a_constraint_on_plans():
    jobs = workload(*THREE)
    apart = run(jobs, constraints=[examples.JobAfterJob("1", "2")])
    check(jobs, apart)
    with pytest.raises(InvariantError, match=r"precedence: does not hold at t=0, at which there start: 3, 2, 1"):
        check(jobs, run(jobs), [examples.JobAfterJob("1", "2")])
    with pytest.raises(InvariantError, match=r"constraint bad: cannot be checked: RuntimeError: broken"):
        check(jobs, apart, [Bad(0, holds=fail)])


class BadGoal(PlanGoal):
    """An objective that fails from a time on."""

    name = "bad"

    def __init__(self, since, cost=lambda plan: 1.0, expression=lambda plan: plan.jobs[min(plan.jobs)].start):
        self.since = since
        self.methods = (cost, expression)

    def cost(self, plan):
        return self.methods[0](plan) if plan.now >= self.since else 1.0

    def expression(self, plan):
        return self.methods[1](plan) if plan.now >= self.since else plan.jobs[min(plan.jobs)].start


@pytest.mark.parametrize("form", ["hcp", "pcp-fast", "pcp"])
@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"cost": lambda plan: float("nan")}, "cost must be a finite number, got nan"),
        ({"cost": lambda plan: "much"}, "cost must be a finite number, got 'much'"),
        ({"cost": fail}, "RuntimeError: broken over two lines"),
    ],
)
def test_an_objective_that_fails_later_leaves_the_slowdown(methods, message, form):
    result = run(workload(*CROWD), **FORMS[form], objective=BadGoal(100, **methods))
    assert set(result.jobs["status"]) == {"completed"}
    failures = [text for text in result.decisions["failure"] if text]
    assert failures
    assert re.match(f"objective bad at 100 s for job 2 .*: {message}", failures[0]), failures
    assert starts(result) == starts(run(workload(*CROWD), **FORMS[form]))


def test_an_objective_of_which_cp_sat_cannot_make_anything_is_named():
    goal = BadGoal(0, expression=lambda plan: "much")
    with pytest.raises(
        InputError, match="objective bad at 0 s for job 1: expression must be one of CP-SAT's, got 'much'"
    ):
        run(workload((0, 100, 3, 4, "a")), objective=goal)
