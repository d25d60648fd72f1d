"""Four constraints and two objectives of a site on whole plans, each written from scratch.

Register one as an entry point in the group ``hpcdispatch.constraints`` or ``hpcdispatch.objectives``, or pass an
object: ``ConstraintProgramming(constraints=[JobAfterJob("17", "18")])``.
"""

import math
from itertools import combinations

from hpcdispatch.dispatchers.cp import PlanConstraint, PlanGoal


class JobAfterJob(PlanConstraint):
    """Job `then` starts after job `first` has ended."""

    name = "precedence"

    def __init__(self, first: str, then: str) -> None:
        self.first, self.then = first, then

    def add_to(self, plan):
        if self.then not in plan.jobs:
            return
        first = plan.jobs.get(self.first) or plan.running.get(self.first)
        if first is not None:
            plan.model.add(plan.jobs[self.then].start >= first.end)
        elif self.first in plan.waiting:  # It is not part of this plan.
            plan.model.add(plan.jobs[self.then].start >= 1)

    def holds(self, plan):
        then = plan.jobs.get(self.then)
        if then is None or then.start is None:
            return True
        first = plan.jobs.get(self.first) or plan.running.get(self.first)
        if first is None:
            return self.first not in plan.waiting
        return first.end is not None and first.end <= then.start


class OneWidePerUser(PlanConstraint):
    """Of each user at most one job of `slots` or more runs at a time."""

    name = "one-wide"

    def __init__(self, slots: int) -> None:
        self.slots = slots

    def add_to(self, plan):
        for one, other in combinations(self.wide(plan.jobs), 2):
            if one.job.user == other.job.user:
                plan.model.add_no_overlap([one.interval, other.interval])
        for running in self.wide(plan.running):
            for planned in self.wide(plan.jobs):
                if planned.job.user == running.job.user:
                    plan.model.add(planned.start >= running.end)

    def holds(self, plan):
        known = [job for job in self.wide(plan.jobs) + self.wide(plan.running) if job.start is not None]
        return not any(
            one.job.user == other.job.user and one.start < other.end and other.start < one.end
            for one, other in combinations(known, 2)
        )

    def wide(self, jobs):
        return [job for job in jobs.values() if job.job.nodes >= self.slots]


class Apart(PlanConstraint):
    """Two jobs never share a node."""

    name = "apart"

    def __init__(self, one: str, other: str) -> None:
        self.pair = (one, other)

    def add_to(self, plan):
        planned = [plan.jobs[job] for job in self.pair if job in plan.jobs]
        running = [plan.running[job] for job in self.pair if job in plan.running]
        for node in range(plan.machine.nodes):
            here = [job.on[node] for job in planned if node in job.on]
            plan.model.add(sum(here) + sum(node in job.nodes for job in running) <= 1)

    def holds(self, plan):
        pair = [jobs[job] for job in self.pair for jobs in (plan.jobs, plan.running) if job in jobs]
        return len(pair) < 2 or not set(pair[0].nodes) & set(pair[1].nodes)


class PowerProfile(PlanConstraint):
    """Running jobs draw at most `caps[hour of the day]` watts, `watts` for each core."""

    name = "power-profile"

    def __init__(self, caps, watts: int = 10) -> None:
        self.caps, self.watts = caps, watts

    def draw(self, planned) -> int:
        return self.watts * planned.job.nodes * planned.job.per_node.get("core", 0)

    def cap(self, time: int) -> int:
        return self.caps[time // 3600 % 24]

    def add_to(self, plan):
        most = max(self.caps)
        hours = range(plan.now // 3600 * 3600, plan.now + plan.horizon, 3600)
        intervals, demands = [], []
        for begin in hours:  # What a cap is below the highest one is drawn by a job that is always there.
            length = min(begin + 3600, plan.now + plan.horizon) - max(begin, plan.now)
            intervals.append(plan.model.new_fixed_size_interval_var(max(begin - plan.now, 0), length, f"cap[{begin}]"))
            demands.append(most - self.cap(begin))
        for job in plan.running.values():
            intervals.append(plan.model.new_fixed_size_interval_var(0, job.end, f"draw[{job.job.id}]"))
            demands.append(self.draw(job))
        intervals += [job.interval for job in plan.jobs.values()]
        demands += [self.draw(job) for job in plan.jobs.values()]
        plan.model.add_cumulative(intervals, demands, most)

    def holds(self, plan):
        known = [job for job in (*plan.jobs.values(), *plan.running.values()) if job.start is not None]
        last = max((job.end for job in known), default=0)
        hours = range(3600 - plan.now % 3600, last, 3600)
        times = {0, *hours, *(job.start for job in known if job.start > 0)}
        return all(
            sum(self.draw(job) for job in known if job.start <= time < job.end) <= self.cap(plan.now + time)
            for time in times
        )

    def next_change(self, now):
        return (now // 3600 + 1) * 3600


class Makespan(PlanGoal):
    """The time at which the last job of the plan ends."""

    name = "makespan"

    def expression(self, plan):
        last = plan.model.new_int_var(0, plan.horizon, "makespan")
        plan.model.add_max_equality(last, [job.end for job in plan.jobs.values()])
        return last

    def cost(self, plan):
        return max(job.end for job in plan.jobs.values())


class SquaredLateness(PlanGoal):
    """The sum of the squares of the minutes that jobs start after `grace` seconds of waiting: not linear."""

    name = "squared-lateness"

    def __init__(self, grace: int = 600) -> None:
        self.grace = grace

    def expression(self, plan):
        squares = []
        for name, job in plan.jobs.items():
            most = (plan.horizon + max(plan.now - job.job.submit, 0)) // 60 + 1
            late = plan.model.new_int_var(0, most, f"minutes[{name}]")
            square = plan.model.new_int_var(0, most**2, f"square[{name}]")
            plan.model.add(60 * late >= job.start + plan.now - job.job.submit - self.grace)
            plan.model.add_multiplication_equality(square, [late, late])
            squares.append(square)
        return sum(squares)

    def cost(self, plan):
        waits = (job.start + plan.now - job.job.submit - self.grace for job in plan.jobs.values())
        return sum(math.ceil(max(wait, 0) / 60) ** 2 for wait in waits)
