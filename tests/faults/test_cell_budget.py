import pytest

from hpcdispatch.base import InputError
from hpcdispatch.bench.campaigns.execution import Store, plan_campaign, run_campaign
from hpcdispatch.simulation import Budget

TEXT = """dispatchers = ["fcfs"]
cell_budget = {budget}

[[workload]]
source = "lublin:jobs=20,processors=32"
"""


def test_a_cell_beyond_its_budget_fails_with_the_reason(tmp_path):
    file = tmp_path / "campaign.toml"
    file.write_text(TEXT.format(budget="{ decisions = 3, seconds = 3600 }"))
    plan = plan_campaign(file)
    store = Store(tmp_path / "store")
    [(cell, error)] = run_campaign(plan, store).failed
    assert error.type == "BudgetError"
    assert error.message.endswith("expected an end within the budget of 3 decisions, got none")
    file.write_text(TEXT.format(budget="{ decisions = 1000 }"))
    enough = plan_campaign(file)
    assert enough.cells[0].key == cell.key
    assert len(run_campaign(enough, store, retry=True).done) == 1


def test_seconds_of_a_budget_are_a_duration(tmp_path):
    file = tmp_path / "campaign.toml"
    file.write_text(TEXT.format(budget='{ seconds = "1h30m" }'))
    assert plan_campaign(file).cells[0].budget.seconds == 5400
    assert Budget(seconds="1h30m") == Budget(seconds=5400)
    file.write_text(TEXT.format(budget='{ seconds = "soon" }'))
    with pytest.raises(InputError, match=r"campaign\.toml:2: cell_budget seconds: .*expected a time such as 90s"):
        plan_campaign(file)
    with pytest.raises(ValueError, match="budget: seconds: expected a time such as 90s"):
        Budget(seconds="soon")
    with pytest.raises(ValueError, match="budget: seconds must be a number > 0"):
        Budget(seconds="0s")


def test_a_budget_out_of_range_is_refused(tmp_path):
    file = tmp_path / "campaign.toml"
    file.write_text(TEXT.format(budget="{ decisions = 0 }"))
    with pytest.raises(
        InputError, match=r"campaign\.toml:2: cell_budget decisions: expected greater than or equal to 1"
    ):
        plan_campaign(file)
