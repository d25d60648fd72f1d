"""How claims are judged, counted and told."""

import pytest

from hpcdispatch.bench.studies.reproductions.claims import (
    by_construction,
    calibrated,
    elsewhere,
    given,
    less,
    more,
    row,
    within,
)
from hpcdispatch.bench.studies.reproductions.outcome import Claim, ComparedFigure, Parameter, Precondition
from hpcdispatch.bench.studies.reproductions.outcome_tables import (
    conditions,
    numbers,
    tally,
    unprinted,
    verdict,
    verdicts,
)


@pytest.mark.parametrize(
    ("values", "below", "above"),
    [
        ((0.8, 0.9, 0.85), True, False),
        ((1.2, 1.15, 1.25), False, True),
        ((1.2, 1.1, 1.3), None, None),
        ((0.9, 1.2, 1.0), None, None),
        ((0.5, 0.5), None, None),
        ((1.0, 1.0, 1.0), False, None),
    ],
)
def test_the_interval_of_the_ratio_decides(values, below, above):
    named = ("a", [10 * value for value in values])
    other = ("b", [10.0] * len(values))
    assert less("", named, other).holds is below
    assert more("", named, other).holds is above


def test_less_takes_a_factor_and_shows_the_numbers():
    named = ("a", [10.3, 10.3, 10.3])
    other = ("b", [10.0, 10.0, 10.0])
    found = less("a is no worse", named, other, "no worse", factor=1.05, timed=True)
    assert found == Claim("a is no worse", True, "a 10.3; b 10.0: +3.0% [+3.0, +3.0]; the paper: no worse", timed=True)


def test_nearly_nothing_decides_nothing():
    base = ("b", [3252.0, 3250.0, 3254.0])
    longer = ("a", [3254.0, 3252.0, 3256.0])
    assert less("", base, longer).holds is None
    assert more("", longer, base, strictly=True).holds is None
    assert more("", longer, base, factor=0.9).holds is True
    assert more("", base, base, strictly=True).holds is False


def test_claims_in_other_settings_say_so():
    [claim] = elsewhere([Claim("x", True, "1")], "the trace of 2022")
    assert (claim.setting, claim.counts) == ("the trace of 2022", True)


def test_nothing_is_decided_without_a_number():
    nan = float("nan")
    assert less("", ("a", [nan] * 3), ("b", [1.0] * 3)).holds is None
    assert less("", ("a", [1.0] * 3), ("b", [0.0] * 3)).evidence == "a 1.00; b 0.00; no ratio"
    assert less("", ("a", [0.0] * 3), ("b", [0.0] * 3)).holds is False


@pytest.mark.parametrize(
    ("values", "holds"), [([45, 50, 55], True), ([5, 6, 7], False), ([39, 41, 50], None), ([50.0], None)]
)
def test_a_share_must_lie_within_limits_in_every_sample(values, holds):
    assert within("", "h", values, 40, 60, "about 50%").holds is holds


def test_a_row_has_no_number_where_there_is_none():
    assert row("a", "m", [float("nan")] * 3) == ComparedFigure("a", "m", None)
    assert row("a", "m", [1.0, 1.0]) == ComparedFigure("a", "m", 1.0, None, 1.0, 1.0)


def test_published_numbers_stand_beside_measured_ones():
    rows = [
        ComparedFigure("a", "m", 1.25, 3.0, 1.0, 1.5, 2),
        ComparedFigure("b", "m", None),
        ComparedFigure("a", "n", 1000.0),
    ]
    sheet = numbers(rows)
    assert sheet.columns == ["", "m", "paper", "n"]
    assert sheet.rows == [["a", "1.25 [1.00, 1.50]", "3", "1,000"], ["b", "-", "", ""]]
    assert numbers([ComparedFigure("a", "m", 1.0), ComparedFigure("a", "n", 2.0)]).rows == [["m", "1"], ["n", "2"]]


def test_claims_are_counted_and_told():
    claims = [Claim("x", True, "1"), Claim("y", None, "2"), Claim("z", None, "3")]
    assert tally(claims) == "1 hold (1 not decided without it), 2 not decided"
    assert [line[1] for line in verdicts(claims).rows] == ["holds", "not decided", "not decided"]


MET = Precondition("nodes > 1", True, "64")
UNMET = Precondition("at least two queues", False, "1")


def test_what_cannot_fail_and_what_cannot_be_tested_is_not_counted():
    held = Claim("x", True, "1")
    claims = [held, by_construction(held), calibrated(held), *given([held, Claim("y", False, "2")], [MET, UNMET])]
    failed = by_construction(Claim("z", False, "3"))
    assert tally([*claims, failed, calibrated(failed)]).startswith("1 hold (1 not decided without it), 2 do not (not")
    assert tally(claims) == (
        "1 hold (1 not decided without it) (not counted: 1 by construction, 1 calibrated, 2 not testable here)"
    )
    words = ["holds", "holds, by construction", "holds, calibrated", "not testable here", "not testable here"]
    assert [verdict(claim) for claim in claims] == words
    assert verdicts(claims).rows[-1] == ["y", "not testable here", "2; not met: at least two queues (1)"]
    assert [claim.counts for claim in claims] == [True, False, False, False, False]


def test_preconditions_that_are_met_change_nothing():
    assert given([Claim("x", False, "1")], [MET]) == (Claim("x", False, "1"),)


def test_a_claim_about_a_system_that_is_not_what_it_should_be_fails():
    broken = Precondition("both modes", False, "0%", of_system=True)
    [found] = given([Claim("x", True, "1")], [MET, broken])
    assert (found.holds, found.counts, found.evidence) == (False, True, "1; not so: both modes (0%)")
    [found] = given([Claim("x", True, "1")], [broken, UNMET])
    assert (found.holds, found.counts) == (None, False)  # the jobs do not test it


def test_preconditions_add_up():
    small = Precondition("100 candidates", False, "3")
    (claim,) = given(given([Claim("x", True, "1")], [UNMET]), [small, MET])
    assert (claim.holds, claim.unmet) == (None, "at least two queues (1); 100 candidates (3)")
    assert claim.measured is True


def test_the_ratio_is_that_of_the_means():
    found = less("", ("a", [1.0, 10.0, 1.0]), ("b", [2.0, 8.0, 2.0]))
    assert found.holds is None
    assert found.evidence.startswith("a 4.00; b 4.00: +0.0%")  # the mean of the ratios is -25%


def test_preconditions_and_parameters_are_tables():
    assert conditions([MET, UNMET]).rows == [["nodes > 1", "met", "64"], ["at least two queues", "not met", "1"]]
    assert unprinted([Parameter("nodes", "40", "the window", "flat")]).rows == [["nodes", "40", "the window", "flat"]]
