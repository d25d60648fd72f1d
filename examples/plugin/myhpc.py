"""A predictor, a dispatcher, an objective and a constraint of your own: see the entry points in pyproject.toml."""

from bisect import insort

import numpy as np

from hpcdispatch.dispatchers import Start, space_of
from hpcdispatch.dispatchers.cp import Goal, Objective, SiteConstraint


class Usual:
    """The run time that most jobs of this user and requested time stayed below.

    The parameters of the constructor are its options, converted by their types: ``usual:quantile=0.8``.
    """

    def __init__(self, quantile: float = 0.9, least: int = 3) -> None:
        if not 0 <= quantile < 1:
            raise ValueError(f"quantile must be in [0, 1), got {quantile}")
        self.quantile, self.least = quantile, least
        self.seen = {}

    def reset(self):
        """Forget everything, for the next simulation."""
        self.seen.clear()

    def predict(self, job, now):
        """Return seconds; the requested time as long as too little is known."""
        known = self.seen.get((job.user, job.walltime), [])
        if len(known) < self.least:
            return job.walltime
        return min(known[int(self.quantile * len(known))], job.walltime)

    def observe(self, job):
        """Learn the run time of a job that has ended."""
        insort(self.seen.setdefault((job.user, job.walltime), []), job.runtime)


class SmallestArea:
    """The least work (cores times predicted time) first, but nobody passes who waits longer than `patience`."""

    def __init__(self, patience: int = 86400) -> None:
        self.patience = patience

    def dispatch(self, state):
        """Return what starts now and where: called whenever a job has come or gone and one waits."""

        def late(job):
            return state.now - job.since > self.patience

        def rank(job):
            work = job.nodes * job.demand[state.machine.primary] * job.predicted
            return (0, job.since) if late(job) else (1, work)

        space, actions = space_of(state), []
        for job in sorted(state.queue, key=rank):
            placement = space.place(job.nodes, job.demand)
            if placement is not None:
                actions.append(Start(job, placement))
            elif late(job):
                break
        return actions


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
        self.streams, self.queue, self.opens = streams, queue, opens

    def uses(self, job):
        """Return what a job takes while it runs, by a name of your choice."""
        return {"streams": job.nodes} if job.queue == self.queue else {}

    def most(self, what):
        """Return how much of it there is."""
        return self.streams

    def earliest(self, job, now):
        """Return when a job may start, from now on."""
        return max(now, self.opens) if job.queue == self.queue else now
