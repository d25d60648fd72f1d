"""Old names of public classes."""

import importlib
import warnings

import pytest

OLD = (
    ("dispatchers.portfolio", "Goal", "PortfolioGoal"),
    ("dispatchers.portfolio", "Outcome", "ReplayMetrics"),
    ("models", "Budget", "DecisionBudget"),
    ("models", "Limit", "SolverLimit"),
    ("models.cp", "Budget", "DecisionBudget"),
    ("models.cp", "Limit", "SolverLimit"),
    ("learn", "Snapshot", "EnvironmentSnapshot"),
)


@pytest.mark.parametrize(("module", "old", "new"), OLD)
def test_old_name_warns_with_the_new_one(module, old, new):
    package = importlib.import_module(f"hpcdispatch.{module}")
    with pytest.warns(DeprecationWarning, match=rf"{module}\.{old} is now {new}; .* version 0\.3") as issued:
        assert getattr(package, old) is getattr(package, new)
    assert issued[0].filename == __file__
    with pytest.warns(DeprecationWarning, match=new):
        exec(f"from hpcdispatch.{module} import {old}", {})


def test_other_names_are_as_before():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for module, old, new in OLD:
            package = importlib.import_module(f"hpcdispatch.{module}")
            assert getattr(package, new).__name__ == new
            assert old not in package.__all__
            with pytest.raises(AttributeError, match="Unknown"):
                package.Unknown  # noqa: B018
