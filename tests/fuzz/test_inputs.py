"""Any file or option gives a result or a one-line error. No record is lost."""

import pytest

from fuzz.targets import TARGETS, attempt


@pytest.mark.parametrize("target", TARGETS)
# By day a part of the seeds for each target; nightly-fuzz draws many more.
@pytest.mark.parametrize(
    "part", [0, pytest.param(1, marks=pytest.mark.nightly), pytest.param(2, marks=pytest.mark.nightly)]
)
def test_one_line_or_a_result(target, part, tmp_path):
    for seed in range(part * 15, part * 15 + 15):
        try:
            attempt(target, seed, tmp_path)
        except Exception as error:
            raise AssertionError(f"{target}, seed {seed}: {type(error).__name__}: {error}") from error
