"""Times on the command line."""

import click
import pytest

from hpcdispatch.cli.durations import Duration, Number, SecondsOrDuration, Whole


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("90", 90),
        ("90s", 90),
        ("15m", 900),
        ("1h30m", 5400),
        (" 2D ", 172800),
        ("1h5", 3605),
        ("1d2h3m4s", 93784),
        ("1d12h", 129600),
        ("1.5h", 5400),
        ("12 h", 43200),
        ("2-00:00:00", 172800),
        ("1-12", 129600),
        ("1-12:30", 131400),
        ("1:30:00", 5400),
        ("30:00", 1800),
    ],
)
def test_is_read_as_seconds(text, seconds):
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize(("text", "seconds"), [("0.5", 0.5), ("300", 300), ("5m", 300), ("1:30:00", 5400)])
def test_seconds_are_a_number_or_a_duration(text, seconds):
    assert SecondsOrDuration(min=0).convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "m", "1e3", "-5m", "30m1h", "soon", "2-", "1:2:3:4", "1,5h", "inf"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(click.BadParameter, match="expected a time such as 90s, 15m, 2h, 1d12h or 2-00:00:00, got"):
        Duration().convert(text, None, None)


def test_a_least_time_is_held():
    with pytest.raises(click.BadParameter, match="expected at least 60 s, got '59'"):
        Duration(60).convert("59", None, None)


@pytest.mark.parametrize("text", ["nan", "-nan", "inf", "1e999", "x", "2"])
def test_a_number_is_finite_and_in_its_range(text):
    assert Number(0, 1).convert("0.5", None, None) == 0.5
    with pytest.raises(click.BadParameter):
        Number(0, 1 if text == "2" else None).convert(text, None, None)


@pytest.mark.parametrize("text", ["-1", "9007199254740993", "1" * 5000, "1.0", "nan", ""])
def test_a_whole_number_has_a_bound(text):
    assert Whole(0).convert("9007199254740992", None, None) == 2**53
    with pytest.raises(click.BadParameter):
        Whole(0).convert(text, None, None)
