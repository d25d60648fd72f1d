"""Durations as text, and back."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcdispatch.base.time_texts import seconds_of, time_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.31, "0.3s"),
        (9.96, "10s"),
        (45.4, "45s"),
        (59.6, "1m"),
        (750, "12m30s"),
        (3599.6, "1h"),
        (7530, "2h06m"),
        (86399, "1d"),
        (510_991, "5d22h"),
        (-300, "-5m"),
        (math.nan, "-"),
        (math.inf, "-"),
    ],
)
def test_two_units(seconds, text):
    assert time_text(seconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(510_991, "5d21h56m31s"), (86400, "1d"), (3605, "1h05s"), (0, "0s")])
def test_all_units(seconds, text):
    assert time_text(seconds, 4) == text


@given(st.integers(0, 10**9))
def test_all_units_are_read_back(seconds):
    assert seconds_of(time_text(seconds, 4)) == seconds


@given(st.floats(0, 1e9))
def test_two_units_are_near(seconds):
    text = time_text(seconds)
    shown = float(text[:-1]) if "." in text else seconds_of(text)
    assert abs(shown - seconds) <= max(0.051 if seconds < 9.95 else 0.5, 0.021 * seconds)
