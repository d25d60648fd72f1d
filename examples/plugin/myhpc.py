"""A predictor and a dispatcher of your own, registered by the entry points in pyproject.toml."""

from bisect import insort

from hpcdispatch.dispatchers import Start, space_of


class Usual:
    """The run time that most jobs of this user and walltime stayed below.

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
        """Return seconds; the walltime as long as too little is known."""
        known = self.seen.get((job.user, job.walltime), [])
        if len(known) < self.least:
            return job.walltime
        return min(known[int(self.quantile * len(known))], job.walltime)

    def observe(self, job):
        """Learn the run time of a job that has ended."""
        insort(self.seen.setdefault((job.user, job.walltime), []), job.runtime)


class SmallestArea:
    """The least work (cores times predicted time) first, behind jobs that wait longer than `patience`."""

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
