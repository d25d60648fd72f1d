"""A constraint for all sites: whoever plans, nothing starts that it forbids."""

from dataclasses import replace

import numpy as np
import pytest

from hpcdispatch.models.cp import Family
from hpcdispatch.simulation import simulate, violations
from hpcdispatch.workloads import Job, Machine, Workload
from hpcdispatch.workloads.job import ResourceMap

#: Slots from which on a job is wide.
WIDE = 4


class OneWideAtATime(Family):
    """Of wide jobs no two of a plan run at once; lists know nothing of it."""

    def add_to(self, variables):
        slots = variables.problem.slots.tolist()
        variables.model.add_no_overlap(
            job.interval for job, wide in zip(variables.jobs, slots, strict=True) if wide >= WIDE
        )

    def holds(self, problem, starts):
        wide = np.flatnonzero((problem.slots >= WIDE) & (starts >= 0))
        wide = wide[np.argsort(starts[wide])]
        return bool((starts[wide[1:]] >= (starts + problem.duration)[wide[:-1]]).all())


class ShortestFirst(OneWideAtATime):
    """The same, of which lists know that no wide job starts before the shortest one has ended."""

    def narrow(self, problem):
        wide = np.flatnonzero(problem.slots >= WIDE)
        later = wide[np.argsort(problem.duration[wide], kind="stable")][1:]
        earliest = problem.earliest.copy()
        earliest[later] = np.maximum(earliest[later], problem.duration[wide].min(initial=0))
        return replace(problem, earliest=earliest)


def burst():
    """Sixteen jobs, six at a time, on a machine that has room for several wide ones."""
    rng = np.random.default_rng(4)
    machine = Machine(("core",), np.full((24, 1), 2), "24 nodes")
    jobs = []
    for number in range(16):
        runtime = int(rng.integers(50, 400))
        slots = WIDE if number % 2 else 1
        amounts = ResourceMap({"core": 1 + number % 2})
        jobs.append(Job(f"job{number}", 100 * (number // 6), runtime, 2 * runtime, slots, amounts))
    return Workload(tuple(jobs), machine)


def most_wide_at_once(result, workload):
    """Return how many wide jobs start at one instant at most."""
    wide = np.array([job.nodes >= WIDE for job in workload.jobs])
    starts = result.jobs["start"].to_numpy()[wide]
    return int(np.unique(starts, return_counts=True)[1].max())


NAMES = (
    "hcp3", "pcp3", "hcp1", "pcp3:solver=fluid", "pcp3:solver=none", "hcp3:blocked=2", "hcp3:molds=true", "hcp:d=0.05",
    "pcp3:horizon=all,d=0.05", "pcp3:d=0.05",
)  # fmt: skip


@pytest.mark.parametrize("family", [OneWideAtATime(), ShortestFirst()], ids=["asked", "narrowing"])
@pytest.mark.parametrize("name", NAMES)
def test_no_plan_breaks_it(monkeypatch, name, family):
    workload = burst()
    assert most_wide_at_once(simulate(workload, name), workload) > 1
    monkeypatch.setattr("hpcdispatch.dispatchers.cp.cp_plan.FOR_ALL", (family,))
    result = simulate(workload, name)
    assert most_wide_at_once(result, workload) == 1
    assert not list(violations(workload, result))
    assert result.summary()["completed"] == len(workload.jobs)
