"""An objective, a constraint, an order and a metric of your own: see the entry points in pyproject.toml."""

import numpy as np

from hpcdispatch.dispatchers.cp import Goal, Objective, SiteConstraint


class CoreHours(Goal):
    """Every second that a job waits costs its cores to some power: ``hcp3:objective=core-hours:power=0.5``."""

    name = "core-hours"

    def __init__(self, power: float = 1.0) -> None:
        self.power = power

    def objective(self, waiting, now):
        """Return what a second costs, above 0, for each waiting job; when that begins; and what is constant."""
        cores = np.array([job.nodes * max(job.demand[0], 1) for job in waiting])
        return Objective(cores**self.power, None, 0.0)


class Scratch(SiteConstraint):
    """Jobs of a queue share a file system: at most `streams` node slots of them at once, and none before `opens`."""

    name = "scratch"

    def __init__(self, streams: int, queue: str = "io", opens: int = 0) -> None:
        self.streams = streams
        self.queue = queue
        self.opens = opens

    def uses(self, job):
        """Return what a job takes while it runs, by a name of your choice."""
        return {"streams": job.nodes} if job.queue == self.queue else {}

    def most(self, what):
        """Return how much of it there is."""
        return self.streams

    def earliest(self, job, now):
        """Return when a job may start, from now on."""
        return max(now, self.opens) if job.queue == self.queue else now


class SmallUsersFirst:
    """Jobs of users with few cores at work first, among them the shortest: ``easy:order=small-users:per=64``."""

    def __init__(self, per: int = 1) -> None:
        if per < 1:
            raise ValueError(f"per must be at least 1, got {per}")
        self.per = per

    def ranks(self, state):
        """Return a number for each waiting job: the lowest goes first, equal ones in order of submission."""
        busy = {}
        for job in state.running:
            busy[job.job.user] = busy.get(job.job.user, 0) + job.nodes * job.demand[0]
        share = np.array([busy.get(job.job.user, 0) // self.per for job in state.queue])
        return share * 1e9 + state.queue.predicted


def overnight(result):
    """Return the share of jobs submitted by day, from 8 to 18 h, that start on the same day."""
    jobs = result.jobs[result.jobs["start"] >= 0]
    hour = jobs["submit"] % 86_400 // 3600
    day = jobs[(hour >= 8) & (hour < 18)]
    same = day["start"] // 86_400 == day["submit"] // 86_400
    return {"same_day": float(same.mean()) if len(day) else float("nan")}
