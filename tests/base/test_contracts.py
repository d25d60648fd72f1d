"""Contracts of parts: members with defaults, faults, and a row of the documentation for each."""

from pathlib import Path

import pytest

from hpcdispatch.base.contracts import PredictorContract
from hpcdispatch.dispatchers.protocol import DispatcherContract

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "plugins.md"
CONTRACTS = {"## A predictor": PredictorContract, "## A dispatcher": DispatcherContract}


class Plain:
    def predict(self, job, now):
        return 1

    def observe(self, job):
        pass


def test_a_plain_class_has_the_defaults():
    contract = PredictorContract(Plain())
    assert (contract.correct, contract.correction, contract.above_walltime) == (None, "tsafrir", False)
    assert contract.faults() == []


def test_another_attribute_of_a_near_name_is_no_fault():
    part = Plain()
    part.count = 3
    part.names = ["a"]
    assert PredictorContract(part).faults() == []


def test_members_are_read_from_the_part():
    part = Plain()
    part.above_walltime = True
    assert PredictorContract(part).above_walltime is True


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("reset", 3, "reset must be a method, got 3"),
        ("above_walltime", "yes", "above_walltime must be of type bool, got 'yes'"),
        ("predictMany", list, "predictMany is not read; it is called predict_many"),
    ],
)
def test_faults_are_told(name, value, message):
    part = Plain()
    setattr(part, name, value)
    assert PredictorContract(part).faults() == [message]


@pytest.mark.parametrize(("heading", "contract"), CONTRACTS.items())
def test_the_documentation_has_each_member(heading, contract):
    section = PAGE.read_text(encoding="utf-8").partition(f"{heading}\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    missing = [name for name in contract.members() if not any(f"`{name}" in row for row in rows)]
    assert missing == []
