"""Random decisions and simulations under rules over whole plans, against an independent model."""

import numpy as np
import pytest
from oracles.ruled_decisions import random_ruled

from hpcdispatch.dispatchers import ConstraintProgramming, Running, Start, State, Waiting
from hpcdispatch.dispatchers.protocol import JobView, Reject
from hpcdispatch.dispatchers.site import AtMostOf, NeverTogether, PlanConstraint, Precedence
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Workload

NOW = 1000
FORMS = {"hcp": {"formulation": "hcp"}, "pcp-fast": {}, "pcp": {"horizon": "all"}}


class AtMost(PlanConstraint):
    """At most some jobs of each user at a time, written for whole plans alone."""

    name = "own"

    def __init__(self, most):
        self.most_jobs = most

    def add_to(self, plan):
        for user in {job.job.user for job in plan.jobs.values()}:
            spans = [job.interval for job in plan.jobs.values() if job.job.user == user]
            for run in plan.running.values():
                if run.job.user == user:
                    spans.append(plan.model.new_fixed_size_interval_var(0, run.end, "busy"))
            plan.model.add_cumulative(spans, [1] * len(spans), self.most_jobs)

    def holds(self, plan):
        known = [job for job in (*plan.jobs.values(), *plan.running.values()) if job.start is not None]
        return all(
            sum(peer.start <= job.start < peer.end for peer in known if peer.job.user == job.job.user) <= self.most_jobs
            for job in known
            if job.job.id in plan.jobs
        )


def rules(case, own):
    """Return the constraints of a case. The cap is a rule of the product, or one of its own."""
    found = [Precedence(first, then) for first, then in case.before]
    found += [NeverTogether(one, other) for one, other in case.apart]
    if case.most is not None:
        found.append(AtMost(case.most) if own else AtMostOf("user", case.most))
    return found


def state_of(case):
    machine = Machine.pool(case.capacity)
    running, queue = [], []
    for place, row in enumerate(case.running):
        view = JobView(Job(row.id, 0, 5000, 5000, row.amount, user=row.user), machine)
        entry = Running(view, NOW - 50, np.zeros(row.amount, dtype=np.int64), (1,), place)
        entry.predicted_end = NOW + row.seconds
        running.append(entry)
    for place, row in enumerate(case.waiting):
        job = Job(row.id, NOW - row.waited, row.seconds, row.seconds, row.amount, user=row.user)
        queue.append(Waiting(JobView(job, machine), row.seconds, job.submit, 0, 100 + place, (1,)))
    free = np.array([[case.capacity - sum(row.amount for row in case.running)]])
    return State(NOW, queue, running, free, machine)


def wrong(seed, options):
    """Return what is wrong with one random decision."""
    case = random_ruled(np.random.default_rng(seed))
    constraints = rules(case, seed % 2)
    own = case.most is not None and bool(seed % 2)
    dispatcher = ConstraintProgramming(constraints=constraints, **options)
    state = state_of(case)
    dispatcher.reset(state.machine, np.random.default_rng(0))
    actions = dispatcher.dispatch(state)
    report = dispatcher.report()
    started = {action.job.job.id for action in actions if isinstance(action, Start)}
    rejected = [action.job.job.id for action in actions if isinstance(action, Reject)]
    found = [case.broken(started)] if case.broken(started) else []
    if rejected:
        found.append(f"rejects {rejected}")
    if not started and not case.running and case.must_start():
        found.append("starts nothing on an empty machine")
    proved = report["status"] == "optimal" and report["used"] in {"list", "local search", "cp-sat"}
    if proved and not own and report["blocked"] == 0 and report["objective"] is not None and not report["postponed"]:
        best = case.least_cost()
        if abs(report["objective"] - best) > 1e-3 * max(best, 1):
            found.append(f"objective {report['objective']}, least {best}")
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [40, pytest.param(3000, marks=pytest.mark.nightly)])
def test_decisions_keep_the_rules_and_lose_no_job(form, count):
    found = {seed: told for seed in range(count) if (told := wrong(seed, FORMS[form]))}
    assert not found


def test_the_model_notices_a_rule_that_is_left_out(monkeypatch):
    monkeypatch.setattr(Precedence, "holds", lambda self, plan: True)
    monkeypatch.setattr(Precedence, "add_to", lambda self, plan: None)
    assert any(wrong(seed, FORMS["hcp"]) for seed in range(60))


def simulated(seed, options):
    """Return what is wrong with a simulation of the waiting jobs of a random decision, with short arrivals."""
    rng = np.random.default_rng(seed)
    case = random_ruled(rng)
    jobs = [
        Job(
            row.id,
            int(rng.integers(0, 9)),
            row.seconds,
            row.seconds + int(rng.integers(0, 9)),
            row.amount,
            user=row.user,
        )
        for row in case.waiting
    ]
    workload = Workload(tuple(sorted(jobs, key=lambda job: job.submit)), Machine.pool(case.capacity))
    result = simulate(workload, ConstraintProgramming(constraints=rules(case, seed % 2), **options))
    check(workload, result)
    lost = result.jobs[result.jobs["status"] != "completed"]
    return lost["reason"].tolist()


@pytest.mark.parametrize("options", [{}, {"m": 1}, {"budget": 0.0}, {"formulation": "hcp", "solver": "none"}], ids=str)
@pytest.mark.parametrize("count", [15, pytest.param(750, marks=pytest.mark.nightly)])
def test_simulations_keep_the_rules_and_lose_no_job(options, count):
    found = {seed: lost for seed in range(count) if (lost := simulated(seed, options))}
    assert not found
