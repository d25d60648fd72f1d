"""Placements of jobs that start now, against all placements. The number of slots of each demand that fit."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.placing import can_be_placed, left_now, problems

from hpcdispatch.models import Problem
from hpcdispatch.models.cp.packing import PackingModel, place_now, slots_asked


def of_the_instant(problem):
    """Return the problem in which only the jobs that start now have nodes."""
    return replace(problem.pooled, free_now=np.maximum(left_now(problem), 0))


def placed_at_once(problem, jobs):
    """Return whether jobs have places now, by trying all."""
    ones = np.ones(len(jobs))
    return can_be_placed(
        Problem(ones, problem.slots[jobs], problem.demand[jobs], ones, problem.free_now), (0,) * len(jobs)
    )


@pytest.mark.parametrize("greedy", [True, False])
@given(problems(most_jobs=5), st.data())
@settings(max_examples=number_of_inputs(80))
def test_says_what_trying_all_says(greedy, problem, data):
    problem = of_the_instant(problem)
    starts = np.array([data.draw(st.integers(0, 1)) for _ in range(problem.jobs)])
    with patch("hpcdispatch.models.cp.packing.TRIES", 30 if greedy else 0):
        places = place_now(problem, starts, 1.0)
    now = np.flatnonzero(starts == 0)
    assert places.possible == placed_at_once(problem, now)
    if places.possible:
        assert (places.counts.sum(axis=1) == np.where(starts == 0, problem.slots, 0)).all()
        assert (places.counts.T @ problem.demand <= problem.free_now).all()
    else:
        assert set(places.core) <= set(now.tolist())
        assert not placed_at_once(problem, np.array(places.core))


def test_a_thousand_nodes_of_one_kind_are_no_more_than_the_slots():
    ones = np.ones(2, dtype=int)
    problem = Problem(ones, ones * 2, ones[:, None] * 3, ones, np.array([[5000]]), free_now=np.full((1000, 1), 5))
    assert PackingModel(problem, np.arange(2)).size == 8


def test_a_model_that_is_too_large_says_nothing():
    many = np.ones(40, dtype=int)
    problem = Problem(many, many, many[:, None] * 3, many, np.array([[200]]), free_now=np.full((39, 1), 5))
    with patch("hpcdispatch.models.cp.packing.TRIES", 0), patch("hpcdispatch.models.cp.packing.LARGEST", 10):
        assert place_now(problem, np.zeros(40, dtype=int)).possible is None


@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 2**32))
def test_are_those_of_every_job_and_node(jobs, nodes, seed):
    rng = np.random.default_rng(seed)
    demand = rng.integers(0, 3, (jobs, 2))
    slots = rng.integers(1, 4, jobs)
    demand[:, 0] += demand.sum(axis=1) == 0
    free = rng.integers(-1, 6, (nodes, 2))
    ones = np.ones(jobs, dtype=np.int64)
    pool = np.maximum(free, 0).sum(axis=0, keepdims=True)
    problem = Problem(duration=ones, slots=slots, demand=demand, weight=ones, capacity=pool)
    slots_of, room = slots_asked(replace(problem, free_now=free))
    for place, kind in enumerate(sorted(map(tuple, set(map(tuple, demand.tolist()))))):
        wanted = [many if (demand[job] >= kind).all() else 0 for job, many in enumerate(slots.tolist())]
        assert slots_of[:, place].tolist() == wanted
        fit = [min(max(have, 0) // need for have, need in zip(row, kind, strict=True) if need) for row in free.tolist()]
        assert room[place] == sum(min(each, sum(wanted)) for each in fit)


def test_are_none_where_places_do_not_matter():
    one = np.ones(1, dtype=np.int64)
    problem = Problem(duration=one, slots=one, demand=one[:, None], weight=one, capacity=4 * one[:, None])
    assert [each.shape for each in slots_asked(problem)] == [(1, 0), (0,)]
