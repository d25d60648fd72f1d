"""Times on the command line."""

import click
import pytest

from hpcdispatch.cli.durations import Duration, clock


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
    ],
)
def test_is_read_as_seconds(text, seconds):
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "m", "1.5h", "-5m", "30m1h", "soon"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(click.BadParameter, match="expected a time such as 90s, 15m or 1h30m, got"):
        Duration().convert(text, None, None)


def test_a_least_time_is_held():
    with pytest.raises(click.BadParameter, match="expected at least 60 s, got '59'"):
        Duration(60).convert("59", None, None)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (59.2, "1:00"), (61.0000000001, "1:01"), (3599, "59:59"), (3600, "1:00:00")]
)
def test_is_shown_rounded_up(seconds, text):
    assert clock(seconds) == text
