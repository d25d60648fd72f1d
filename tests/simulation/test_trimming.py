"""Amounts of a workload, and what lies between them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcdispatch.base import InputError
from hpcdispatch.simulation import Cut, Window, steady_state
from hpcdispatch.simulation.trimming import NOTHING

SUBMIT = np.array([30, 0, 10, 20, 40])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5%", Cut(5, "%")),
        ("0.5 %", Cut(0.5, "%")),
        ("200 jobs", Cut(200, "jobs")),
        ("3600 s", Cut(3600, "s")),
        (" 12h ", Cut(43_200, "s")),
        ("1.5 d", Cut(129_600, "s")),
        ("1d12h", Cut(129_600, "s")),
        ("1 job", Cut(1, "jobs")),
        ("0", NOTHING),
        ("0 jobs", NOTHING),
        ("none", NOTHING),
    ],
)
def test_an_amount_has_a_unit(text, expected):
    assert Cut.parse(text) == expected
    assert Cut.parse(str(expected)) == expected


@pytest.mark.parametrize(
    "text", ["", "5", "-1 s", "101%", "-5%", "x%", "1 y", "nan", "inf", "1.5 jobs", "1e3 s", "1,5%"]
)
def test_a_bad_amount(text):
    with pytest.raises(
        InputError,
        match=r"expected a share of the jobs such as 5%, a number such as 200 jobs, or .*, got ",
    ):
        Cut.parse(text)


@pytest.mark.parametrize(
    ("warm_up", "cool_down", "expected"),
    [
        ("0", "0", [30, 0, 10, 20, 40]),
        ("20%", "0", [30, 10, 20, 40]),
        ("39%", "0", [30, 10, 20, 40]),
        ("0", "40%", [0, 10, 20]),
        ("10 s", "0", [30, 10, 20, 40]),
        ("11 s", "5 s", [30, 20]),
        ("20%", "15 s", [10, 20]),
        ("2 jobs", "1 jobs", [30, 20]),
    ],
)
def test_what_is_left_between_warm_up_and_cool_down(warm_up, cool_down, expected):
    assert SUBMIT[steady_state(SUBMIT, Cut.parse(warm_up), Cut.parse(cool_down))].tolist() == expected


@pytest.mark.parametrize("cuts", [("50 s", "0"), ("2 jobs", "60%"), ("9 jobs", "0"), ("0", "100%")])
def test_nothing_left_is_an_error(cuts):
    with pytest.raises(InputError, match=r"(warm-up|cool-down) .*: no job of 5 is left between"):
        steady_state(SUBMIT, *map(Cut.parse, cuts))
    assert not len(steady_state(np.array([], dtype=int), Cut(50), NOTHING))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10 s:20 s", (10, 20)),
        ("20%:60%", (10, 30)),
        ("0:100%", (0, 40)),
        ("1 jobs:1 h", (10, 3600)),
        ("0:9 jobs", (0, 40)),
    ],
)
def test_a_window_counts_from_the_first_submission(text, expected):
    window = Window.parse(text)
    assert window.seconds(SUBMIT + 1000) == expected
    assert Window.parse(str(window)) == window


@pytest.mark.parametrize("text", ["", "5%", "5%:", ":5%", "1:2", "5%:4%", "2 d:2 d", "1 h:60 s", "a:b"])
def test_a_bad_window(text):
    with pytest.raises(InputError, match="expected START:END"):
        Window.parse(text)


@pytest.mark.parametrize("text", ["41 s:50 s", "100%:20 s", "90%:95%"])
def test_a_window_outside(text):
    with pytest.raises(InputError, match=f"window {text}: expected a stretch that begins by the last submission, 40 s"):
        Window.parse(text).seconds(SUBMIT)


@given(st.lists(st.integers(0, 1000), min_size=1), st.integers(0, 60), st.integers(0, 60))
def test_as_many_are_left_out_as_was_said(submit, first, last):
    count = len(submit)
    if first + last >= count:
        return
    times = np.array(submit)
    chosen = steady_state(times, Cut(first, "jobs"), Cut(last, "jobs"))
    assert chosen.sum() == count - first - last
    assert sorted(times[chosen]) == sorted(times)[first : count - last]
