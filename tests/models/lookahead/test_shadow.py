"""The shadow schedule against EASY."""

import numpy as np

from hpcdispatch.models.lookahead.shadow import CLOCK, begin_with, lengthen, open_shadow, replay
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import generate


def shadow_of(workload, known):
    """Return a shadow of a pool workload in which the first `known` jobs have ended."""
    jobs = lengthen(open_shadow(workload.machine.capacity[0], 0), len(workload))
    frame = workload.frame()
    jobs.submit[:] = jobs.arrival[:] = frame["submit"]
    jobs.duration[:] = frame["walltime"]
    jobs.need[:, 0] = [job.nodes * job.per_node["core"] for job in workload.jobs]
    jobs.run[:known] = frame["runtime"][:known]
    jobs.known[:known] = 1
    jobs.start[:] = -1
    return jobs


class TestShadow:
    workload = generate("lublin:jobs=400,processors=32,load=0.9", seed=3)
    easy = simulate(workload, "easy").jobs

    def test_it_is_easy_where_everything_is_known(self):
        jobs = shadow_of(self.workload, 400)
        longest = replay(jobs, 400, 10**9, jobs.run[:0])
        assert jobs.start.tolist() == self.easy["start"].tolist()
        assert longest == self.easy["wait"].max()

    def test_it_stops_where_an_end_is_unknown_and_goes_on_when_it_is_known(self):
        jobs = shadow_of(self.workload, 200)
        replay(jobs, 400, 10**9, jobs.run[:0])
        done = jobs.start >= 0
        assert 100 < done.sum() < 400
        assert (jobs.start[done] == self.easy["start"].to_numpy()[done]).all()
        first_unknown = self.easy["start"].to_numpy()[200:].min()
        assert jobs.state[CLOCK] <= first_unknown + 1
        jobs.run[200:] = self.workload.frame()["runtime"][200:]
        jobs.known[200:] = 1
        replay(jobs, 400, 10**9, jobs.run[:0])
        assert jobs.start.tolist() == self.easy["start"].tolist()

    def test_it_does_not_run_ahead(self):
        jobs = shadow_of(self.workload, 400)
        now = int(self.easy["start"].median())
        replay(jobs, 400, now, jobs.run[:0])
        assert jobs.state[CLOCK] <= now
        assert (jobs.start <= now).all()

    def test_it_goes_on_from_what_runs(self):
        """Guards against a schedule in which what runs has yet to come, and its run time counts as a wait."""
        start, end = self.easy["start"].to_numpy(), self.easy["end"].to_numpy()
        at = int(np.median(start))
        runs, rest = np.flatnonzero((start < at) & (end > at)), np.flatnonzero(start >= at)
        assert len(runs) > 1
        order = np.concatenate((runs, rest))
        jobs = lengthen(open_shadow(self.workload.machine.capacity[0], at), len(order))
        all_known = shadow_of(self.workload, 400)
        for begun, whole in zip(jobs[:6], all_known[:6], strict=True):
            begun[:] = whole[order]
        jobs.arrival[:] = np.maximum(jobs.submit, at)
        jobs.start[:] = -1
        begin_with(jobs, np.arange(len(runs)), start[runs])
        longest = replay(jobs, len(order), 10**9, jobs.run[:0])
        assert jobs.start.tolist() == start[order].tolist()
        assert longest == self.easy["wait"].to_numpy()[rest].max()
