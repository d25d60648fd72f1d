"""Options that are checked against their annotations."""

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest

from hpcdispatch.base.checks import Checked, number, whole


@dataclass(frozen=True)
class Parts(Checked):
    kind: Literal["a", "b"] = "a"
    jobs: Annotated[int, whole(1, 10, "all are in memory")] = 1
    most: Annotated[int | None, whole(0)] = None
    share: Annotated[float | None, number(least=0, below=1)] = None
    factor: Annotated[float, number(above=1, infinite=True)] = 2.0
    name: str | None = None


@dataclass(frozen=True)
class More(Parts):
    extra: Annotated[int, whole(2)] = 2


@pytest.mark.parametrize("kind", [Parts, More])
def test_allowed_values(kind):
    made = kind(kind="b", jobs=10, most=0, share=0, factor=float("inf"), name=None)
    assert (made.jobs, made.most, made.share) == (10, 0, 0)
    assert kind(most=None, share=None) == kind()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": "c"}, "kind must be one of a, b, got 'c'"),
        ({"jobs": 0}, "jobs must be a whole number >= 1 and <= 10, got 0"),
        ({"jobs": 11}, r"jobs must be a whole number >= 1 and <= 10 \(all are in memory\), got 11"),
        ({"jobs": None}, "jobs must be a whole number >= 1 and <= 10, got None"),
        ({"jobs": True}, "jobs must be a whole number"),
        ({"most": -1}, "most must be a whole number >= 0, got -1"),
        ({"share": 1}, "share must be a number >= 0 and < 1 or none, got 1"),
        ({"factor": 1}, "factor must be a number > 1, got 1"),
        ({"factor": None}, "factor must be a number > 1, got None"),
        ({"extra": 1}, "extra must be a whole number >= 2, got 1"),
    ],
)
def test_other_values(given, message):
    with pytest.raises(ValueError, match=message):
        More(**given)
