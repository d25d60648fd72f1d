"""Which jobs may be started in a fixed order."""

import numpy as np

from hpcdispatch.models import Problem, comparable


def test_only_jobs_that_ask_for_the_same_are_ordered():
    problem = Problem(
        np.array([5, 5, 5, 6]), np.array([1, 1, 1, 1]), np.array([[1], [1], [1], [1]]), np.array([3, 1, 2, 9]),
        np.array([[1]]), due=np.array([0, 9, 0, 0]),
    )  # fmt: skip
    assert list(comparable(problem)) == [[0, 2, 1]]
