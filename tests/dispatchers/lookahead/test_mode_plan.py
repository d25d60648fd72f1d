"""The look-ahead dispatcher that decides size and start together."""

import pytest
from cross.cases import MACHINES, MODES, drawn_workload

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import create_dispatcher
from hpcdispatch.models.moldable import DowneyLaw
from hpcdispatch.simulation import simulate, violations
from hpcdispatch.workloads import Job, Machine, Shape, Workload, generate, mold

CORES = 4


def moldable(number, submit, sizes):
    """Return a job with the first of some sizes, (cores, seconds), as its request."""
    (cores, time), *others = sizes
    shapes = tuple(Shape(1, time, time, {"core": cores}) for cores, time in others)
    return Job(str(number), submit, time, time, 1, {"core": cores}, shapes=shapes)


@pytest.mark.parametrize("overrun", MODES)
@pytest.mark.parametrize("kind", MACHINES)
def test_every_schedule_keeps_the_invariants(overrun, kind):
    workload = mold(drawn_workload(6, kind), DowneyLaw(), 4, 1)
    result = simulate(workload, "lookahead:molds=true", overrun=overrun)
    assert list(violations(workload, result)) == []
    assert (result.jobs["shape"] >= 0).sum() > 3


def test_two_jobs_share_what_each_for_itself_would_take_alone():
    jobs = [moldable(place, 0, [(4, 100), (2, 120)]) for place in range(2)]
    result = simulate(Workload(jobs, Machine.pool(CORES)), "lookahead:molds=true")
    assert result.jobs["end"].tolist() == [120, 120]
    assert result.jobs["shape"].tolist() == [0, 0]


def test_a_job_waits_for_a_size_on_which_it_ends_sooner():
    for narrow, start, shape in ((300, 50, 0), (70, 1, -1)):
        jobs = [moldable("busy", 0, [(3, 50)]), moldable("m", 1, [(1, narrow), (4, 40)])]
        result = simulate(Workload(jobs, Machine.pool(CORES)), "lookahead:molds=true")
        assert result.jobs["start"].tolist() == [0, start]
        assert result.jobs["shape"].iloc[1] == shape


def test_jobs_without_a_choice_are_planned_as_always():
    workload = generate("lublin:jobs=80,processors=32,load=1.1", seed=3)
    rigid, molded = (simulate(workload, f"lookahead:molds={molds}") for molds in ("false", "true"))
    assert rigid.jobs.equals(molded.jobs)
    assert rigid.decisions.equals(molded.decisions)


def test_the_same_twice():
    workload = mold(generate("lublin:jobs=80,processors=32,load=1.1", seed=3), DowneyLaw(), 4, 1)
    first, second = (simulate(workload, "lookahead:molds=true") for _ in range(2))
    assert first.jobs.equals(second.jobs)
    assert first.decisions.equals(second.decisions)


def test_nobody_chooses_over_it():
    with pytest.raises(InputError, match="got one that chooses shapes itself"):
        create_dispatcher("sa:over=lookahead:molds=true")
