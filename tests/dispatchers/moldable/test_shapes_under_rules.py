"""Moldable jobs under rules of the machine: which of their requests may start, and what runs of them count."""

from dataclasses import replace

import pytest
from ruled_dispatchers import Blind

from hpcdispatch.dispatchers import Start, space_of
from hpcdispatch.simulation import VainRuleWarning, simulate, violations
from hpcdispatch.workloads import Job, Limit, Machine, Power, Reservation, Shape, Workload

POOL = Machine.pool(8)
#: There are 600 s before the first closure, and 200 s between two.
CLOSING = replace(POOL, reservations=[Reservation(600, 650, every=250)])
FIRST = Job("0", 0, 150, 150, 8, {"core": 1})

MOLDABLE = ["easy", "conservative", "sa", "sa:over=easy", "hcp3:molds=true", "lookahead", "rbs", "slurm", "evict"]


@pytest.mark.parametrize("dispatcher", [*MOLDABLE, Blind()])
def test_a_job_whose_request_a_limit_never_allows_gets_its_first_shape_that_may_start(dispatcher):
    shapes = Shape(5, 4, 4), Shape(2, 10, 10), Shape(1, 20, 20)
    job = Job("1", 0, 5, 5, 4, {"core": 1}, user="ann", shapes=shapes)
    workload = Workload([job], replace(POOL, limits=[Limit(3, of="core")]))
    result = simulate(workload, dispatcher, overrun="kill")

    assert result.jobs[["shape", "end"]].to_numpy().tolist() == [[1, 10]]
    assert list(violations(workload, result)) == []


@pytest.mark.parametrize("dispatcher", ["easy", "sa", "hcp3:molds=true", Blind()])
def test_a_job_without_any_request_that_a_limit_allows_is_rejected(dispatcher):
    job = Job("1", 0, 5, 5, 4, {"core": 1}, user="ann", shapes=(Shape(5, 4, 4),))
    with pytest.warns(VainRuleWarning, match="the least that one needs is 4 core"):
        result = simulate(Workload([job], replace(POOL, limits=[Limit(3, of="core")])), dispatcher, overrun="kill")

    assert result.jobs["reason"].tolist() == ["constraint limit: takes 4 of core of user ann, there are 3"]


@pytest.mark.parametrize("dispatcher", [*MOLDABLE[:6], *MOLDABLE[7:], Blind()])
def test_a_job_that_misses_its_last_chance_gets_a_shape_that_still_has_one(dispatcher):
    # Its own request of 500 s fits before the first closure only, and another job runs until 150 s.
    job = Job("1", 0, 300, 500, 8, {"core": 1}, shapes=(Shape(4, 100, 150),))
    workload = Workload([FIRST, job], CLOSING)
    result = simulate(workload, dispatcher, overrun="kill")

    assert result.jobs[["shape", "end"]].to_numpy().tolist() == [[-1, 150], [0, 250]]
    assert list(violations(workload, result)) == []


@pytest.mark.parametrize("dispatcher", ["sa:by=narrowest", "sa:by=narrowest,over=easy"])
def test_a_job_that_misses_its_last_chance_on_its_size_chooses_again(dispatcher):
    job = Job("1", 0, 100, 150, 8, {"core": 1}, shapes=(Shape(4, 300, 500),))
    workload = Workload([FIRST, job], CLOSING)
    result = simulate(workload, dispatcher, overrun="kill")

    assert result.jobs["end"].tolist() == [150, 250]


class OnFirstShape:
    """Starts each moldable job on its first shape."""

    def __init__(self, on_profile):
        self.on_profile = on_profile

    def dispatch(self, state):
        room, starts = state.profile(), []
        space = space_of(state)
        for job in state.queue:
            shape = 0 if job.job.shapes else None
            wanted = job.job.shapes[0] if job.job.shapes else job
            if self.on_profile:
                fit = room.earliest(job, shape, before=state.now + 1)
                nodes = None if fit is None else fit[1]
            else:
                nodes = space.place(wanted.nodes, wanted.demand)
            if nodes is not None:
                room.take(job, state.now, nodes, shape)
                starts.append(Start(job, nodes, shape=shape))
        return starts


@pytest.mark.parametrize("on_profile", [True, False])
@pytest.mark.parametrize("rules", [{"limits": [Limit(4, of="core")]}, {"power": Power({"core": 10}, idle=5, cap=45)}])
def test_a_running_job_counts_with_its_shape(rules, on_profile):
    wide = Job("1", 0, 100, 100, 2, {"core": 1}, user="ann", shapes=(Shape(4, 50, 50),))
    workload = Workload([wide, Job("2", 10, 10, 10, 2, {"core": 1}, user="ann")], replace(POOL, **rules))
    result = simulate(workload, OnFirstShape(on_profile), overrun="kill")

    assert result.jobs["start"].tolist() == [0, 50]
    assert list(violations(workload, result)) == []
