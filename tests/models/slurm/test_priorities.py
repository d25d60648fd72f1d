"""Factors and fair tree, against what a real Slurm printed."""

import numpy as np
import pytest

from hpcdispatch.models.slurm.priorities import (
    Association,
    Factors,
    Weights,
    decay_over,
    job_size,
    priorities,
    rank_users,
)


def account(shares, *users):
    return Association(shares, children=list(users), usage=sum(user.usage for user in users))


def user(usage, shares=1):
    return Association(shares, user=True, usage=usage)


def test_users_are_ranked_branch_by_branch_as_sshare_printed_them():
    root, ann, ben, cat = (user(usage) for usage in (0, 921, 759, 659))
    tree = account(1, root, account(10, ann), account(20, ben), account(30, cat))
    tree.usage = 921 + 759 + 659
    rank_users(tree, 4)
    assert [each.factor for each in (root, cat, ben, ann)] == [1.0, 0.75, 0.5, 0.25]


def test_users_that_tie_share_a_rank_and_the_next_one_loses_as_many():
    users = [user(10), user(10), user(30), user(10, shares=0)]
    rank_users(account(1, *users), 4)
    assert [each.factor for each in users] == [1.0, 1.0, 0.5, 0.25]


def test_accounts_without_usage_tie_and_are_not_merged():
    first = user(0)
    second = user(0)
    third = user(5)
    rank_users(account(1, account(1, first), account(1, second), account(1, third)), 3)
    assert [each.factor for each in (first, second, third)] == [1.0, 1.0, pytest.approx(1 / 3)]


def test_priorities_are_those_of_recorded_submissions():
    # InitPrio of jobs 1, 2, 4 and 8 of the record: 2 nodes of 4 cores; 6 of 4; 8 of 2; a single core.
    size = [job_size(2 / 16, 8 / 64), job_size(6 / 16, 24 / 64), job_size(8 / 16, 16 / 64), job_size(1 / 16, 1 / 64)]
    fair = np.ones(4)
    part = np.array([0.2, 1.0, 0.2, 1.0])
    weights = Weights(1000, 2000, 300, 500, 600)
    assert priorities(weights, Factors(np.zeros(4), fair, np.array(size), part)).tolist() == [2137, 2612, 2212, 2511]
    old = priorities(weights, Factors(np.array([60.0, 900.0]), np.zeros(2), np.zeros(2), np.zeros(2)))
    assert old.tolist() == [100, 1000]
    assert priorities(Weights(0, 0, 0, 0, 1), Factors(*np.zeros((4, 1)))).tolist() == [1]


def test_usage_halves_nearly_and_small_jobs_can_be_favoured():
    assert decay_over(600, 600) == pytest.approx(0.5, abs=3e-4)
    assert decay_over(0, 600) == 1.0
    assert job_size(0.25, 0.5) == 0.375
    assert job_size(0.25, 0.5, small=True) == 0.625
