"""The compiled step profile against every second."""

import numpy as np
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.models.profiles.amounts import earliest, hold, latest, make_steps


def ints(values):
    return np.array(values, dtype=np.int64)


class TestSteps:
    @settings(max_examples=number_of_inputs(100))
    @given(
        st.lists(st.tuples(st.integers(0, 20), st.integers(1, 10), st.integers(1, 3)), max_size=6),
        st.integers(0, 4),
        st.integers(1, 8),
        st.integers(0, 25),
    )
    def test_the_first_and_the_last_start_that_fit(self, held, need, duration, time):
        steps = make_steps(20, 1)
        seconds = np.full(100, 4)
        steps.at[0] = 0
        steps.free[0, 0] = 4
        count = 1
        for start, length, amount in held:
            count = hold(steps, count, start, start + length, ints([amount]), 1)
            seconds[start : start + length] -= amount
        fits = [start for start in range(60) if not need or seconds[start : start + duration].min() >= need]
        assert earliest(steps, count, ints([need]), duration, time) == min(start for start in fits if start >= time)
        past = [start for start in fits if 2 <= start <= time]
        assert latest(steps, count, ints([need]), duration, 2, time) == max(past, default=-1)

    def test_what_is_given_back_is_free_again(self):
        steps = make_steps(20, 2)
        steps.at[0] = 0
        steps.free[0] = ints([4, 2])
        count = 1
        count = hold(steps, count, 3, 9, ints([4, 1]), 1)
        assert earliest(steps, count, ints([1, 0]), 4, 0) == 9
        count = hold(steps, count, 3, 9, ints([4, 1]), -1)
        assert earliest(steps, count, ints([1, 0]), 4, 0) == 0
        assert (steps.free[:count] == [4, 2]).all()

    def test_what_never_fits(self):
        steps = make_steps(4, 1)
        steps.at[0], steps.free[0] = 0, ints([4])
        assert earliest(steps, 1, ints([5]), 1, 0) == -1
