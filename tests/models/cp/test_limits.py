"""The calls of the solver, and the budget of a decision."""

import pytest

from hpcdispatch.models import DecisionBudget, SolverLimit


def test_the_limit_doubles_until_its_most_or_so_many_restarts():
    def limits(limit, calls):
        attempts, seconds = limit.attempts(), []
        for second, (found, better) in zip(attempts, calls, strict=False):
            seconds.append(second)
            attempts.note(proved=False, found=found, better=better)
        return seconds

    vain = [(False, False)] * 9
    assert limits(SolverLimit(1, 16, None), vain) == [1, 2, 4, 8, 16]
    assert limits(SolverLimit(1, 16, None), [(False, False), (True, True), *vain]) == [1, 2]
    assert limits(SolverLimit(1, 16, 2), vain) == [1, 2, 4]
    assert limits(SolverLimit(1, 64, 2), [(True, True), (True, False), (True, True), (True, False), *vain]) == [
        1,
        2,
        4,
        8,
        16,
    ]
    assert limits(SolverLimit(1, 64, 0), [(True, True), *vain]) == [1]
    assert limits(SolverLimit(3, 3), vain) == [3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0, 1), "limit must be 0 < first <= most"), ((2, 1), "got first 2 and most 1"), ((1, 1, -1), "restarts must be")],
)
def test_a_limit_says_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        SolverLimit(*arguments)


def test_a_budget_pays_for_what_it_has_room_for():
    budget = DecisionBudget(1.0)
    assert budget.pay(0.6)
    assert not budget.exceeded
    assert not budget.pay(0.6)
    assert (budget.exceeded, budget.left) == (True, pytest.approx(0.4))


def test_a_budget_cuts_counts_and_limits():
    budget = DecisionBudget(1.0)
    assert budget.count(10, 0.05) == 10
    assert budget.part(0.4) == 0.4
    assert not budget.exceeded
    assert budget.count(10, 0.25) == 2
    assert budget.exceeded
    assert budget.part(0.4) == pytest.approx(0.0)
    budget.charge(3)
    assert budget.left == 0
    assert DecisionBudget().left == float("inf")
