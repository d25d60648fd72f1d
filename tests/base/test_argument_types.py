"""The argument of a wrong type is named once a call has failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np
import pytest

from hpcdispatch.base import FloatArray, InputError
from hpcdispatch.base.argument_types import names_wrong_types


class Law(Protocol):
    def mean(self) -> float: ...


class Uniform:
    def mean(self):
        return 0.5


@names_wrong_types
def mean_of(
    law: Law,
    values: Sequence[float] | FloatArray = (),
    kind: Literal["a", "b"] = "a",
    names: Mapping[str, int] | None = None,
    missing: NotThere = None,  # noqa: F821 - a name that only type checkers know
    *,
    count: int = 1,
) -> Any:
    """Use each argument so that a wrong one fails."""
    return law.mean() + sum(values) + {"a": 0, "b": 1}[kind] + sum((names or {}).values()) + [0, 1][count]


@pytest.mark.parametrize(
    ("args", "given", "message"),
    [
        ((None,), {}, "mean_of: law: expected Law, got None"),
        ((Uniform(), "many"), {}, r"values: expected Sequence\[float\] \| FloatArray, got 'many'"),
        ((Uniform(), object()), {}, "values: expected .*, got <object"),
        ((Uniform(),), {"kind": "c"}, "kind: expected Literal.*, got 'c'"),
        ((Uniform(),), {"names": [3]}, "names: expected .*, got .3"),
        ((Uniform(),), {"count": "one"}, "count: expected int, got 'one'"),
    ],
)
def test_a_wrong_type_is_named(args, given, message):
    with pytest.raises(InputError, match=message) as raised:
        mean_of(*args, **given)
    assert "\n" not in str(raised.value)


def test_other_errors_are_as_they_were():
    with pytest.raises(IndexError):
        mean_of(Uniform(), count=5)
    with pytest.raises(TypeError, match="unexpected keyword argument 'cont'"):
        mean_of(Uniform(), cont=1)
    with pytest.raises(TypeError):
        mean_of(Uniform(), [None])


def test_an_error_that_no_type_causes_stays():
    @names_wrong_types
    def read(path: str) -> None:
        raise FileNotFoundError(path)

    with pytest.raises(FileNotFoundError, match="3"):
        read(3)


def test_a_name_within_a_word_names_no_argument():
    @names_wrong_types
    def root(n: float) -> float:
        return float(n) ** 0.5

    with pytest.raises(InputError, match="n: expected float, got 'many'"):
        root("many")


def test_an_error_that_names_the_argument_stays():
    @names_wrong_types
    def half(count: int) -> int:
        raise ValueError(f"count must be even, got {count}")

    with pytest.raises(ValueError, match=r"count must be even, got 1\.5"):
        half(1.5)


def test_generators_name_it_too():
    @names_wrong_types
    def doubled(values: Sequence[int]):
        for each in values:
            yield 2 * each

    assert list(doubled([1, 2])) == [2, 4]
    with pytest.raises(InputError, match=r"values: expected .*, got None"):
        list(doubled(None))


def test_what_works_is_not_checked():
    assert mean_of(Uniform(), np.array([1.0]), missing=object(), count=np.int64(1)) == 2.5
