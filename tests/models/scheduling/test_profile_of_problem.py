"""What is free beside what is held, against a count second by second."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hpcdispatch.models import Problem


@given(st.integers(0, 6), st.integers(0, 2**32))
def test_is_that_of_every_second(held, seed):
    rng = np.random.default_rng(seed)
    begin = rng.integers(0, 5, held)
    end = begin + rng.integers(1, 6, held)
    node = np.zeros(held, dtype=np.int64)
    capacity = rng.integers(3, 9, (1, 2))
    amount = rng.integers(0, 3, (held, 2))
    one = np.ones(1, dtype=np.int64)
    problem = Problem(
        duration=one,
        slots=one,
        demand=np.ones((1, 2), dtype=np.int64),
        weight=one,
        capacity=capacity,
        held_from=begin,
        held_to=end,
        held_node=node,
        held_amount=amount,
    )
    times, free = problem.profile
    assert times.tolist() == sorted({0, *begin.tolist(), *end.tolist()})
    for step, time in enumerate(times.tolist()):
        expected = capacity[0].copy()
        for place in np.flatnonzero((begin <= time) & (time < end)).tolist():
            expected -= amount[place]
        assert free[step].tolist() == expected.tolist()
