"""Rules for every dispatcher that decides size and start together. Small cases and drawn ones."""

from cross.cases import drawn_workload
from hpcdispatch.models.moldable import DowneyLaw
from hpcdispatch.simulation import simulate, violations
from hpcdispatch.workloads import Job, Machine, Shape, Workload, generate, mold

CORES = 4


def moldable(number, submit, sizes):
    """Return a job with some sizes, (cores, seconds). The first is its request."""
    (cores, time), *others = sizes
    shapes = tuple(Shape(1, time, time, {"core": cores}) for cores, time in others)
    return Job(str(number), submit, time, time, 1, {"core": cores}, shapes=shapes)


def on_pool(jobs):
    return Workload(jobs, Machine.pool(CORES))


def two_that_share(spec, unit):
    """Return the ends of two jobs. They take 10 units on the whole machine, or 12 on half of it."""
    jobs = [moldable(place, 0, [(4, 10 * unit), (2, 12 * unit)]) for place in range(2)]
    return simulate(on_pool(jobs), spec).jobs["end"].tolist()


def check_waiting_for_a_mode(spec, unit):
    """A job waits for the whole machine to end at 9 units instead of 31. It does not if one core ends at 8."""
    for narrow, start, shape in ((30, 5, 0), (7, 1, -1)):
        busy = moldable("busy", 0, [(3, 5 * unit)])
        jobs = [busy, moldable("m", 1, [(1, narrow * unit), (4, 4 * unit)])]
        rows = simulate(on_pool(jobs), spec).jobs
        assert rows["start"].tolist() == [0, start if start == 1 else start * unit]
        assert rows["shape"].iloc[1] == shape


def check_invariants(workload, spec, overrun):
    """Return the result. No schedule breaks a rule, and some jobs run on a shape."""
    result = simulate(workload, spec, overrun=overrun)
    assert list(violations(workload, result)) == []
    assert (result.jobs["shape"] >= 0).sum() > 3
    return result


def molded_workload(seed, kind):
    return mold(drawn_workload(seed, kind), DowneyLaw(), 4, 1)


def check_rigid_jobs(name, jobs):
    """Jobs without a choice are planned as always."""
    workload = generate(f"lublin:jobs={jobs},processors=32,load=1.1", seed=3)
    check_same(*(simulate(workload, f"{name}:molds={molds}") for molds in ("false", "true")))


def check_repeatable(spec, jobs):
    """The records are the same twice."""
    workload = mold(generate(f"lublin:jobs={jobs},processors=32,load=1.1", seed=3), DowneyLaw(), 4, 1)
    check_same(*(simulate(workload, spec) for _ in range(2)))


def check_same(first, second):
    assert first.jobs.equals(second.jobs)
    assert first.decisions.equals(second.decisions)
