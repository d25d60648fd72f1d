"""What a replay is worth."""

import math

import numpy as np
import pytest

from hpcdispatch.models.portfolio.goals import Means, PortfolioGoal, ReplayMetrics


def outcome(waits, fresh=None):
    waits = np.array(waits, dtype=float)
    fresh = np.ones(len(waits), dtype=bool) if fresh is None else np.array(fresh)
    return ReplayMetrics(waits, np.maximum(1.0, (waits + 100) / 100), fresh)


def test_a_ratio_of_means_is_a_difference_of_costs():
    less = outcome([40, 40])
    more = outcome([140, 140])
    assert Means(slowdown=0).cost(more) - Means(slowdown=0).cost(less) == pytest.approx(math.log(2))
    assert Means(wait=0).cost(more) == pytest.approx(math.log(2.4))


def test_no_jobs_cost_the_least_there_is():
    assert Means().cost(outcome([])) == pytest.approx(math.log(60) / 2)
    assert Means().tail(outcome([])) == 0


def test_only_jobs_submitted_in_the_window_count_for_the_bound():
    assert Means().tail(outcome([10, 900], [True, False])) == 10
    assert Means(bound="p99").tail(outcome(range(101))) == 99
    assert Means(bound="none").tail(outcome([900])) == 0


def test_the_slack_is_a_factor():
    assert Means(slack=1.5).allows(150, 100)
    assert not Means(slack=1.5).allows(151, 100)


def test_a_goal_of_ones_own_has_no_bound():
    goal = PortfolioGoal()
    assert goal.allows(goal.tail(outcome([900])), 0.0)
    with pytest.raises(NotImplementedError):
        goal.cost(outcome([]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"wait": -1}, "wait must be a number >= 0, got -1"),
        ({"wait": 0, "slowdown": 0}, "one of the weights must be above 0"),
        ({"bound": "mean"}, "bound must be one of longest, p99, none, got 'mean'"),
        ({"slack": 0}, "slack must be a number > 0, got 0"),
        ({"slowdown": math.inf}, "slowdown must be a number >= 0, got inf"),
    ],
)
def test_bad_input_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Means(**given)
