"""Random decisions and simulations under rules over whole plans, against an independent model."""

import pytest
from ruled.decisions import FORMS, OwnBefore, simulated, wrong

from hpcdispatch.dispatchers.site import Precedence


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [40, pytest.param(3000, marks=pytest.mark.nightly)])
def test_decisions_keep_the_rules_and_lose_no_job(form, count):
    found = {seed: told for seed in range(count) if (told := wrong(seed, FORMS[form]))}
    assert not found


@pytest.mark.parametrize("kind", [Precedence, OwnBefore])
def test_the_model_notices_a_rule_that_is_left_out(kind, monkeypatch):
    monkeypatch.setattr(kind, "holds", lambda self, plan: True)
    monkeypatch.setattr(kind, "add_to", lambda self, plan: None)
    assert any(wrong(seed, FORMS["hcp"]) for seed in range(60))


@pytest.mark.parametrize("options", [{}, {"m": 1}, {"budget": 0.0}, {"formulation": "hcp", "solver": "none"}], ids=str)
@pytest.mark.parametrize("count", [15, pytest.param(750, marks=pytest.mark.nightly)])
def test_simulations_keep_the_rules_and_lose_no_job(options, count):
    found = {seed: lost for seed in range(count) if (lost := simulated(seed, options))}
    assert not found
