"""Random decisions and simulations under rules: those of the package, and the same ones written as own constraints."""

from collections import Counter

import numpy as np
from oracles.ruled_decisions import random_ruled

from hpcdispatch.dispatchers import ConstraintProgramming, Running, Start, State, Waiting
from hpcdispatch.dispatchers.protocol import JobView, Reject
from hpcdispatch.dispatchers.site import AtMostOf, NeverTogether, PlanConstraint, Precedence
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Workload

NOW = 1000
FORMS = {"hcp": {"formulation": "hcp"}, "pcp-fast": {}, "pcp": {"horizon": "all"}}


class Own(PlanConstraint):
    """A rule of pairs, as a user would write it: `forbids` tells which two planned jobs may not overlap."""

    def forbids(self, one, other):
        raise NotImplementedError

    def add_to(self, plan):
        jobs = list(plan.jobs.values())
        for place, one in enumerate(jobs):
            for other in jobs[:place]:
                if self.forbids(one.job, other.job):
                    plan.model.add_no_overlap([one.interval, other.interval])
            for run in plan.running.values():
                if self.forbids(one.job, run.job):
                    plan.model.add(one.start >= max(run.end, 1))

    def holds(self, plan):
        known = [job for job in (*plan.jobs.values(), *plan.running.values()) if job.start is not None]
        return not any(
            self.forbids(one.job, other.job) and one.start < other.end and other.start < one.end
            for one in plan.jobs.values()
            for other in known
            if one.start is not None and one is not other
        )


class OwnApart(Own):
    """Jobs of two users never overlap."""

    name = "own-apart"

    def __init__(self, one, other):
        self.users = {one, other}

    def forbids(self, one, other):
        return {one.user, other.user} == self.users


class OwnBefore(PlanConstraint):
    """A job starts after another one has ended."""

    name = "own-before"

    def __init__(self, first, then):
        self.first, self.then = first, then

    def add_to(self, plan):
        if self.then not in plan.jobs:
            return
        first = plan.jobs.get(self.first) or plan.running.get(self.first)
        if first is not None:
            plan.model.add(plan.jobs[self.then].start >= first.end)
        elif self.first in plan.waiting:
            plan.model.add(plan.jobs[self.then].start >= 1)

    def holds(self, plan):
        then = plan.jobs.get(self.then)
        first = plan.jobs.get(self.first) or plan.running.get(self.first)
        if then is None or then.start is None:
            return True
        if first is None:
            return then.start > 0 or self.first not in plan.waiting
        return first.end is not None and first.end <= then.start


class OwnMost(PlanConstraint):
    """At most some jobs of each user at a time."""

    name = "own-most"

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
    """Return the constraints of a case: rules of the package, or own ones."""
    before, apart = (OwnBefore, OwnApart) if own else (Precedence, NeverTogether)
    found = [before(first, then) for first, then in case.before]
    found += [apart(one, other) for one, other in case.apart]
    if case.most is not None:
        found.append(OwnMost(case.most) if own else AtMostOf("user", case.most))
    return found


def state_of(case):
    """Return the state of a case, with its running and waiting jobs."""
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


def wrong(seed, options, counts=None):
    """Return what is wrong with one random decision. Odd seeds have own constraints.

    Parameters
    ----------
    seed, options
        Of the decision, and of the dispatcher.
    counts
        A counter that decisions, their rules and what was compared are added to.
    """
    counts = Counter() if counts is None else counts
    case = random_ruled(np.random.default_rng(seed))
    own = bool(seed % 2)
    constraints = rules(case, own)
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
    counts.update(decisions=1, precedences=len(case.before), exclusions=len(case.apart), caps=case.most is not None)
    counts.update({"decisions under own constraints": own and bool(constraints), "starts": len(started)})
    proved = report["status"] == "optimal" and report["used"] in {"list", "local search", "cp-sat"}
    if proved and report["blocked"] == 0 and report["objective"] is not None and not report["postponed"]:
        best = case.least_cost(capped=not own)
        counts["proved optima compared"] += 1
        if abs(report["objective"] - best) > 1e-3 * max(best, 1):
            found.append(f"objective {report['objective']}, least {best}")
    return found


def simulated(seed, options, counts=None):
    """Return what is wrong with a simulation of the waiting jobs of a random decision, with short arrivals."""
    counts = Counter() if counts is None else counts
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
    counts.update({"simulations": 1, "jobs simulated": len(jobs), "jobs lost": len(lost)})
    return lost["reason"].tolist()
