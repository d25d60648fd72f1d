"""Plug-ins that do what none should: a result as of a good one, or an error of one line."""

import pytest

from faults.hostile import CASES, PLACES, failure, good, install

#: One of each kind of end; nights try all.
FEW = ("dispatch: len", "answer: leaving", "drawn: None")
_WHOLE = [pytest.param(case, marks=pytest.mark.nightly) for case in CASES if case not in FEW]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return where the package is, and what a good plug-in leads to."""
    where = tmp_path_factory.mktemp("hostile")
    install(where)
    return where, good(where)


@pytest.mark.parametrize("case", [*FEW, *_WHOLE])
def test_a_hostile_plug_in(folder, case):
    assert not failure(folder[0], case, folder[1])


def test_the_kinds_are_many():
    assert len(CASES) >= 80
    assert {place for place, _ in CASES.values()} == set(PLACES)
