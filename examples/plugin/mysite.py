"""An objective and a constraint of your own: see the entry points in pyproject.toml."""

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
