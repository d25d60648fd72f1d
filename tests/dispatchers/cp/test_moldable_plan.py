"""HCP that decides size and start together: its plans against trying everything, and what it must keep."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from cross.cases import MACHINES, MODES, drawn_workload
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import create_dispatcher
from hpcdispatch.models.moldable import DowneyLaw
from hpcdispatch.simulation import check, simulate, violations
from hpcdispatch.workloads import Job, Machine, Shape, Workload, generate, mold

CORES = 4
#: Long enough for CP-SAT to prove all of what is tried here.
THOROUGH = "hcp3:molds=true,d=1,d_max=1"


def moldable(number, submit, sizes):
    """Return a job with the first of some sizes, (cores, seconds), as its request."""
    (cores, time), *others = sizes
    shapes = tuple(Shape(1, time, time, {"core": cores}) for cores, time in others)
    return Job(str(number), submit, time, time, 1, {"core": cores}, shapes=shapes)


def least(jobs, fixed=()):
    """Return the least sum of ends over the fastest times that jobs have, some of them at 0 in a mode that is given."""
    best, horizon = None, sum(max(time for _, time in sizes) for sizes in jobs)
    fixed = dict(fixed)
    ways = [
        [(sizes[fixed[job]], 0)] if job in fixed
        else [((cores, time), start) for cores, time in sizes for start in range(horizon - time + 1)]
        for job, sizes in enumerate(jobs)
    ]  # fmt: skip
    for chosen in product(*ways):
        cost = sum(Fraction(start + mode[1], min(time for _, time in sizes))
                   for (mode, start), sizes in zip(chosen, jobs, strict=True))  # fmt: skip
        if best is None or cost < best:
            used = [sum(n for (n, time), start in chosen if start <= at < start + time) for at in range(horizon)]
            if max(used) <= CORES:
                best = cost
    return best


SIZES = st.lists(st.tuples(st.integers(1, CORES), st.integers(1, 4)), min_size=1, max_size=3)


@given(st.lists(SIZES, min_size=2, max_size=3).filter(lambda jobs: sum(map(len, jobs)) <= 6))
@settings(max_examples=15)
def test_who_starts_and_how_wide_is_part_of_a_best_schedule(jobs):
    workload = Workload([moldable(place, 0, sizes) for place, sizes in enumerate(jobs)], Machine.pool(CORES))
    result = simulate(workload, THOROUGH)
    check(workload, result)
    first, best = result.decisions.iloc[0], least(jobs)
    assert first["proved"]
    assert first["objective"] == pytest.approx(float(best), rel=1e-4)
    rows = result.jobs
    now = {place: int(rows["shape"].iloc[place]) + 1 for place in np.flatnonzero(rows["start"] == 0).tolist()}
    # Whole weights are rounded, to one part in a million.
    assert float(least(jobs, now.items())) == pytest.approx(float(best), rel=1e-4)


def test_two_jobs_share_what_each_for_itself_would_take_alone():
    """Side by side both end at 12; SA takes all for the first, so that the second ends at 20."""
    jobs = [moldable(place, 0, [(4, 10), (2, 12)]) for place in range(2)]
    ends = {
        name: simulate(Workload(jobs, Machine.pool(CORES)), name).jobs["end"].tolist()
        for name in ("hcp3:molds=true", "sa:over=hcp3", "hcp3")
    }
    assert ends == {"hcp3:molds=true": [12, 12], "sa:over=hcp3": [10, 20], "hcp3": [10, 20]}


def test_a_job_waits_for_a_mode_that_ends_sooner():
    """At 9 instead of 31; but not where one core is enough to end at 8."""
    for narrow, start, shape in ((30, 5, 0), (7, 1, -1)):
        jobs = [moldable("busy", 0, [(3, 5)]), moldable("m", 1, [(1, narrow), (4, 4)])]
        result = simulate(Workload(jobs, Machine.pool(CORES)), "hcp3:molds=true")
        assert result.jobs["start"].tolist() == [0, start]
        assert result.jobs["shape"].iloc[1] == shape


@pytest.mark.parametrize(
    ("overrun", "kind", "options"),
    [
        *product(MODES, MACHINES, [""]),
        ("run", "pool", ",objective=excess-wait"),
        ("kill", "nodes", ",solver=none"),
        ("resubmit", "nodes", ",filter=pool"),
    ],
)  # fmt: skip
def test_every_schedule_keeps_the_invariants(overrun, kind, options):
    workload = mold(drawn_workload(5, kind), DowneyLaw(), 4, 1)
    if kind == "nodes":  # Shapes with other slots than the request's, too.
        one_core = {"core": 1}
        jobs = [
            replace(job, shapes=(*job.shapes, Shape(1, job.runtime, job.walltime, one_core))) for job in workload.jobs
        ]
        workload = Workload(jobs, workload.machine)
    result = simulate(workload, f"hcp3:molds=true{options}", overrun=overrun)
    assert list(violations(workload, result)) == []
    assert (result.jobs["shape"] >= 0).sum() > 3
    assert result.summary()["completed"] == len(result.jobs) or overrun == "kill"


def test_jobs_without_a_choice_are_planned_as_always():
    workload = generate("lublin:jobs=70,processors=32,load=1.1", seed=3)
    for spec in ("hcp3", "hcp2"):
        rigid, molded = (simulate(workload, f"{spec}:molds={molds}") for molds in ("false", "true"))
        assert rigid.jobs.equals(molded.jobs)
        assert rigid.decisions.equals(molded.decisions)


def test_the_same_twice_and_copies_of_it_agree():
    workload = mold(generate("lublin:jobs=50,processors=32,load=1.1", seed=3), DowneyLaw(), 4, 1)
    first, second = (simulate(workload, "hcp3:molds=true") for _ in range(2))
    assert first.jobs.equals(second.jobs)
    assert first.decisions.equals(second.decisions)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("pcp3:molds=true", "pcp3.*molds"),
        ("hcp:molds=true", "hcp.*molds"),
        ("hcp3:molds=true,blocked=3", "molds must be false with blocked, which knows rigid jobs alone"),
        ("hcp3:molds=true,constraints=limit:most=4", "molds must be false with constraints"),
        ("hcp3:molds=true,solver=fluid", "molds must be false with solver fluid"),
        ("sa:over=hcp3:molds=true", "expected a dispatcher of rigid jobs, got one that chooses shapes itself"),
    ],
)  # fmt: skip
def test_what_is_refused(spec, message):
    with pytest.raises(InputError, match=message):
        create_dispatcher(spec)
