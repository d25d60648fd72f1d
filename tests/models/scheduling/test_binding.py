"""Resources that are left out, against schedules that look at all of them."""

import numpy as np
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.models import Problem, improve, list_schedule
from hpcdispatch.models.profiles.amounts import AmountSteps, copy_steps, earliest, hold, make_steps
from hpcdispatch.models.scheduling.binding import binding


def ints(values):
    return np.array(values, dtype=np.int64)


def test_one_that_is_asked_for_in_proportion_and_is_there_in_abundance_is_left_out():
    need = ints([[4, 2, 0], [8, 8, 0], [1, 1, 0]])
    free = ints([[10, 10, 0], [12, 40, 3]])
    assert binding(need, free).tolist() == [0]


def test_a_ratio_above_that_of_what_is_free_binds():
    # The second job requests twice as much of the second resource as of the first. Only 1.9 times as much is free.
    assert binding(ints([[4, 2], [5, 10], [5, 9]]), ints([[10, 19]])).tolist() == [0, 1]
    assert binding(ints([[4, 2], [5, 10], [5, 9]]), ints([[10, 20]])).tolist() == [0]


def test_nothing_binds_where_there_is_enough_for_all():
    assert binding(ints([[4, 2], [5, 1]]), ints([[9, 3], [12, 9]])).tolist() == []


def test_of_two_that_are_always_alike_one_stays():
    assert len(binding(ints([[3, 3], [5, 5]]), ints([[6, 6], [0, 0]]))) == 1


def test_a_job_that_asks_for_the_second_alone_keeps_it():
    assert binding(ints([[3, 1], [0, 1], [2, 0]]), ints([[3, 1], [4, 1]])).tolist() == [0, 1]


def test_huge_amounts_do_not_overflow():
    # 3 * 2**61 of the first would wrap around to less than what the second has.
    amounts = ints([[2**31, 3], [2**31 - 1, 2]])
    assert binding(amounts, ints([[2**32 - 3, 4], [2**61, 4]])).tolist() == [0, 1]


def test_more_held_than_there_is_binds():
    assert 1 in binding(ints([[1, 1], [2, 2]]), ints([[2, -1], [9, 9]])).tolist()


@st.composite
def problems(draw):
    jobs = draw(st.integers(1, 8))
    resources = draw(st.integers(1, 3))
    amount = st.integers(0, 5)
    demand = draw(st.lists(st.lists(amount, min_size=resources, max_size=resources), min_size=jobs, max_size=jobs))
    if resources > 1 and draw(st.booleans()):  # In proportion, so that one is often left out.
        for row in demand:
            row[1] = row[0] // draw(st.integers(1, 2))
    held = draw(st.lists(st.tuples(st.integers(1, 9), *resources * [st.integers(0, 3)]), max_size=4))
    durations = draw(st.lists(st.integers(1, 9), min_size=jobs, max_size=jobs))
    weights = draw(st.lists(st.integers(1, 9), min_size=jobs, max_size=jobs))
    spare = draw(st.lists(st.integers(0, 6), min_size=resources, max_size=resources))
    held_amount = ints([row[1:] for row in held]).reshape(-1, resources)
    capacity = ints(demand).max(axis=0) + held_amount.sum(axis=0) + ints(spare)
    return Problem(
        ints(durations),
        np.ones(jobs, dtype=np.int64),
        ints(demand),
        ints(weights),
        capacity[None],
        held_from=np.zeros(len(held), dtype=np.int64),
        held_to=ints([row[0] for row in held]),
        held_node=np.zeros(len(held), dtype=np.int64),
        held_amount=held_amount,
    )


def with_all(problem, order):
    """Return the starts of an order where every resource is looked at."""
    times, free = problem.profile
    steps = make_steps(len(times) + 2 * problem.jobs + 1, free.shape[1])
    count = len(times)
    copy_steps(AmountSteps(times, np.ascontiguousarray(free)), count, steps)
    starts = np.zeros(problem.jobs, dtype=np.int64)
    for job in order:
        starts[job] = earliest(steps, count, problem.need[job], problem.duration[job], 0)
        count = hold(steps, count, starts[job], starts[job] + problem.duration[job], problem.need[job], 1)
    return starts


@settings(max_examples=number_of_inputs(60), deadline=None)
@given(problems(), st.integers(0, 2**32 - 1))
def test_schedules_are_those_that_look_at_every_resource(problem, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(problem.jobs)
    assert list_schedule(problem, order).starts.tolist() == with_all(problem, order).tolist()
    found, best = improve(problem, order, 20, rng)
    assert found.cost == problem.cost(with_all(problem, best))
