import math
from typing import Literal

import numpy as np
import pytest

from hpcdispatch.base.checks import check_choice, check_number, check_whole


def test_whole_numbers_come_back_as_python_ints():
    assert type(check_whole("n", np.int64(3), 1)) is int


@pytest.mark.parametrize("value", [0, 6, 2.0, True, "3", None])
def test_what_is_no_whole_number_in_range(value):
    with pytest.raises(ValueError, match=rf"^n must be a whole number >= 1 and <= 5, got {value!r}$"):
        check_whole("n", value, 1, 5)


@pytest.mark.parametrize(
    ("bounds", "value", "wanted"),
    [
        ({}, math.nan, "a number"),
        ({"least": 0}, -1, "a number >= 0"),
        ({"above": 0, "most": 1}, 0, "a number > 0 and <= 1"),
        ({"above": 0, "most": 1}, 1.5, "a number > 0 and <= 1"),
        ({"least": 0, "below": 1}, 1, "a number >= 0 and < 1"),
        ({"least": 0, "none": True}, math.inf, "a number >= 0 or none"),
        ({"least": 0}, None, "a number >= 0"),
        ({"least": 0}, True, "a number >= 0"),
    ],
)
def test_what_is_no_number_in_range(bounds, value, wanted):
    with pytest.raises(ValueError, match=rf"^x must be {wanted}, got {value!r}$"):
        check_number("x", value, **bounds)


def test_numbers_in_range_pass():
    check_number("x", np.float64(0.5), above=0, below=1)
    check_number("x", 1, least=1, most=1)
    check_number("x", None, least=1, none=True)


@pytest.mark.parametrize("choices", [Literal["a", "b"], ("a", "b")])
def test_choices(choices):
    check_choice("kind", "a", choices)
    with pytest.raises(ValueError, match=r"^kind must be one of a, b, got 'c'$"):
        check_choice("kind", "c", choices)
