"""How many slots of each demand are asked for now, and fit, against a count job by job and node by node."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hpcdispatch.models import Problem
from hpcdispatch.models.cp.starting import slots_asked


@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 2**32))
def test_are_those_of_every_job_and_node(jobs, nodes, seed):
    rng = np.random.default_rng(seed)
    demand, slots = rng.integers(0, 3, (jobs, 2)), rng.integers(1, 4, jobs)
    demand[:, 0] += demand.sum(axis=1) == 0
    free, ones = rng.integers(-1, 6, (nodes, 2)), np.ones(jobs, dtype=np.int64)
    pool = np.maximum(free, 0).sum(axis=0, keepdims=True)
    problem = Problem(duration=ones, slots=slots, demand=demand, weight=ones, capacity=pool)
    asked = slots_asked(replace(problem, free_now=free))
    for place, kind in enumerate(sorted(map(tuple, set(map(tuple, demand.tolist()))))):
        wanted = [many if (demand[job] >= kind).all() else 0 for job, many in enumerate(slots.tolist())]
        assert asked.slots[:, place].tolist() == wanted
        fit = [min(max(have, 0) // need for have, need in zip(row, kind, strict=True) if need) for row in free.tolist()]
        assert asked.room[place] == sum(min(each, sum(wanted)) for each in fit)


def test_are_none_where_places_do_not_matter():
    one = np.ones(1, dtype=np.int64)
    problem = Problem(duration=one, slots=one, demand=one[:, None], weight=one, capacity=4 * one[:, None])
    assert [each.shape for each in slots_asked(problem)] == [(1, 0), (0,)]
