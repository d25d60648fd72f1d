"""HCP with joint decisions on size and start. Its plans against every alternative, and its guarantees."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from combinations import each_value
from cross.cases import MACHINES, MODES
from cross.moldable_plans import (
    CORES,
    check_invariants,
    check_repeatable,
    check_rigid_jobs,
    check_waiting_for_a_mode,
    moldable,
    molded_workload,
    on_pool,
    two_that_share,
)
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import create_dispatcher
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Shape, Workload

#: Long enough for CP-SAT to prove all of what is tried here.
THOROUGH = "hcp3:molds=true,d=1,d_max=1"


def least(jobs, fixed=()):
    """Return the least sum of ends over fastest times. Some jobs start at 0 in a given mode."""
    best = None
    horizon = sum(max(time for _, time in sizes) for sizes in jobs)
    fixed = dict(fixed)
    ways = [
        [(sizes[fixed[job]], 0)]
        if job in fixed
        else [((cores, time), start) for cores, time in sizes for start in range(horizon - time + 1)]
        for job, sizes in enumerate(jobs)
    ]
    for chosen in product(*ways):
        cost = sum(
            Fraction(start + mode[1], min(time for _, time in sizes))
            for (mode, start), sizes in zip(chosen, jobs, strict=True)
        )
        if best is None or cost < best:
            used = [sum(n for (n, time), start in chosen if start <= at < start + time) for at in range(horizon)]
            if max(used) <= CORES:
                best = cost
    return best


SIZES = st.lists(st.tuples(st.integers(1, CORES), st.integers(1, 4)), min_size=1, max_size=3)


@given(st.lists(SIZES, min_size=2, max_size=3).filter(lambda jobs: sum(map(len, jobs)) <= 6))
@settings(max_examples=number_of_inputs(15))
def test_starts_and_widths_are_those_of_a_best_schedule(jobs):
    workload = on_pool([moldable(place, 0, sizes) for place, sizes in enumerate(jobs)])
    result = simulate(workload, THOROUGH)
    check(workload, result)
    first = result.decisions.iloc[0]
    best = least(jobs)
    assert first["proved"]
    assert first["objective"] == pytest.approx(float(best), rel=1e-4)
    rows = result.jobs
    now = {place: int(rows["shape"].iloc[place]) + 1 for place in np.flatnonzero(rows["start"] == 0).tolist()}
    # Whole weights are rounded, to one part in a million.
    assert float(least(jobs, now.items())) == pytest.approx(float(best), rel=1e-4)


def test_two_jobs_share_what_each_for_itself_would_take_alone():
    """Side by side both end at 12. SA gives all to the first. The second then ends at 20."""
    ends = {name: two_that_share(name, unit=1) for name in ("hcp3:molds=true", "sa:over=hcp3", "hcp3")}
    assert ends == {"hcp3:molds=true": [12, 12], "sa:over=hcp3": [10, 20], "hcp3": [10, 20]}


def test_a_job_waits_for_a_mode_that_ends_sooner():
    check_waiting_for_a_mode("hcp3:molds=true", unit=1)


@pytest.mark.parametrize(
    ("overrun", "kind", "options"),
    [
        *each_value(MODES, MACHINES, [""]),
        ("run", "pool", ",objective=excess-wait"),
        ("kill", "nodes", ",solver=none"),
        ("resubmit", "nodes", ",iterations=20"),
    ],
)
def test_every_schedule_keeps_the_invariants(overrun, kind, options):
    workload = molded_workload(5, kind)
    if kind == "nodes":  # Shapes with other slots than the request's, too.
        one_core = {"core": 1}
        jobs = [
            replace(job, shapes=(*job.shapes, Shape(1, job.runtime, job.walltime, one_core))) for job in workload.jobs
        ]
        workload = Workload(jobs, workload.machine)
    result = check_invariants(workload, f"hcp3:molds=true{options}", overrun)
    assert result.summary()["completed"] == len(result.jobs) or overrun == "kill"


def test_jobs_without_a_choice_are_planned_as_always():
    for name in ("hcp3", "hcp2"):
        check_rigid_jobs(name, 70)


def test_the_same_twice():
    check_repeatable("hcp3:molds=true", 50)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("pcp3:molds=true", "pcp3: molds must be false with formulation pcp, whose model places one request a job"),
        ("hcp:molds=true", r"hcp: molds must be false with all jobs in the model \(version 0\)"),
        ("hcp3:molds=true,blocked=3", "molds must be false with blocked, whose profile takes one request a job"),
        ("hcp3:molds=true,constraints=deadline:at=4", "constraints, which are on the request of a job"),
        ("sa:over=hcp3:molds=true", "expected a dispatcher of rigid jobs, got one that chooses shapes itself"),
    ],
)
def test_what_is_refused(spec, message):
    with pytest.raises(InputError, match=message):
        create_dispatcher(spec)
