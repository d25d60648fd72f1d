"""Single bits of stored files that turn over; a night flips more."""

import random

import pytest

from faults.flips import Files


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return Files(tmp_path_factory.mktemp("flips"))


@pytest.mark.parametrize(("kind", "count"), [("cell", 60), ("result", 60), ("campaign", 200), ("trace", 2)], ids=str)
def test_a_flipped_bit_is_found_or_changes_nothing(files, kind, count):
    rng = random.Random(f"1 {kind}")
    became = {files.flip(kind, rng) for _ in range(count)}
    assert became <= {"refused", "the same"} or (kind == "trace" and all("lines" not in each for each in became))
